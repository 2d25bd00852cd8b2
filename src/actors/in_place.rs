//! The values of resources that a plan leaves in their place.

use std::collections::HashMap;

use serde_json::Value;

use super::resource::{Knowledge, Resource};
use crate::model::{IndexMap, Refusal, ResourceName};
use crate::template::ResourceValues;

/// What becomes of a resource.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Change {
    Unchanged,
    Updated,
    Replaced,
    Added,
}

/// Resources as they are, where a plan leaves them in their place. What one that is updated gives
/// for its attributes is not known beforehand.
pub(super) struct InPlace<'a> {
    pub(super) present: &'a IndexMap<ResourceName, Resource>,
    pub(super) knowledge: &'a Knowledge,
    pub(super) changes: HashMap<ResourceName, Change>,
}

impl InPlace<'_> {
    fn kept(&self, name: &ResourceName, updated: bool) -> Option<&Resource> {
        let is_kept = match self.changes.get(name)? {
            Change::Unchanged => true,
            Change::Updated => updated,
            Change::Replaced | Change::Added => false,
        };
        self.present.get(name).filter(|_| is_kept)
    }
}

impl ResourceValues for InPlace<'_> {
    fn reference(&self, name: &ResourceName) -> Option<Value> {
        let kept = self.kept(name, true);
        let reference = kept.and_then(|resource| resource.report(self.knowledge).reference);
        reference.or_else(|| Some(name.as_str().into()))
    }

    fn attribute(&self, name: &ResourceName, attribute: &str) -> Result<Option<Value>, Refusal> {
        let kept = self.kept(name, false);
        Ok(kept.and_then(|resource| resource.attributes.get(attribute)).cloned())
    }
}
