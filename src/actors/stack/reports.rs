//! How the incarnations of a stack stand, and how many of them are at work: that is asked after
//! every command.

use std::collections::HashMap;
use std::ops::Deref;

use crate::actors::resource::Report;
use crate::model::ResourceId;

/// The newest word of each incarnation.
#[derive(Default)]
pub struct Reports {
    all: HashMap<ResourceId, Box<Report>>,
    /// How many of them have anything left to be done.
    at_work: usize,
}

impl Reports {
    /// Notes how an incarnation stands.
    pub(super) fn insert(&mut self, report: Box<Report>) {
        self.at_work += usize::from(report.at_work());
        let former = self.all.insert(report.id, report);
        self.at_work -= former.iter().filter(|former| former.at_work()).count();
    }

    /// Forgets one of which nothing is left.
    pub(super) fn remove(&mut self, id: ResourceId) {
        let former = self.all.remove(&id);
        self.at_work -= former.iter().filter(|former| former.at_work()).count();
    }

    /// Whether any has anything left to be done.
    pub(super) fn any_at_work(&self) -> bool {
        self.at_work > 0
    }
}

impl Deref for Reports {
    type Target = HashMap<ResourceId, Box<Report>>;

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}
