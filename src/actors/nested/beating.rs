//! A beat to be made, and all that it is made with.

use std::sync::Arc;

use super::turn::ChildBeat;
use crate::actors::services::Services;
use crate::clock::Moment;
use crate::events::Meta;
use crate::openstack::Session;
use crate::resource_types::Attempt;

/// A beat to be made.
pub(in crate::actors) struct Beating<'a> {
    pub(in crate::actors) services: &'a Arc<Services>,
    pub(in crate::actors) session: &'a Session,
    pub(in crate::actors) beat: ChildBeat<'a>,
    pub(in crate::actors) asked: &'a Meta,
    pub(in crate::actors) attempt: Attempt,
}

impl Beating<'_> {
    /// The present one, for a decision.
    pub(super) fn moment(&self) -> Moment<'_> {
        Moment::of(self.services.clock.as_ref())
    }
}
