//! The values of other resources while a plan is made: what is known of them beforehand.

use std::borrow::Borrow;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::fates::Outlook;
use super::{Change, Found, Planning};
use crate::actors::resource::Resource;
use crate::actors::stack::{Known, attribute_of};
use crate::model::{Refusal, ResourceName};
use crate::template::{ResourceValues, attribute_key, select};

/// What is known of a stack's resources, as far as the plan has come.
pub(super) struct Foreseen<'a, R> {
    pub(super) planning: &'a Planning,
    pub(super) known: &'a Arc<Known>,
    pub(super) found: &'a Found<R>,
    pub(super) outlooks: HashMap<ResourceName, Outlook>,
    /// Whether a value was asked for that is not known beforehand. The answer then is what there
    /// is now.
    pub(super) asked: Cell<bool>,
    /// Whether a value was asked for that is surely another, and is not known beforehand.
    pub(super) made_up: Cell<bool>,
}

impl<'a, R: Borrow<Resource>> Foreseen<'a, R> {
    pub(super) fn new(planning: &'a Planning, known: &'a Arc<Known>, found: &'a Found<R>) -> Self {
        let (asked, made_up) = (Cell::new(false), Cell::new(false));
        Self { planning, known, found, outlooks: HashMap::new(), asked, made_up }
    }

    pub(super) fn present(&self, name: &ResourceName) -> Option<&'a Resource> {
        self.found.resources.get(name).map(|found| found.resource.borrow())
    }
}

impl<R: Borrow<Resource>> ResourceValues for Foreseen<'_, R> {
    fn reference(&self, name: &ResourceName) -> Option<Value> {
        let outlook = self.outlooks.get(name)?;
        self.asked.set(self.asked.get() || !outlook.is_reference_sure);
        self.made_up.set(self.made_up.get() || outlook.is_made_up);
        Some(outlook.reference.clone())
    }

    fn attribute(&self, name: &ResourceName, attribute: &str) -> Result<Option<Value>, Refusal> {
        let Some(outlook) = self.outlooks.get(name) else { return Ok(None) };
        let known = self.present(name).filter(|resource| {
            // An attribute that nobody has read yet is looked up when the time comes.
            resource.attributes.contains_key(attribute)
        });
        let is_sure = outlook.most == Change::Unchanged && known.is_some();
        self.asked.set(self.asked.get() || !is_sure);
        match known {
            Some(resource) if is_sure => attribute_of(&resource.attributes, attribute),
            Some(resource) => Ok(attribute_of(&resource.attributes, attribute).unwrap_or_default()),
            None => Ok(None),
        }
    }

    fn attribute_at(
        &self,
        name: &ResourceName,
        attribute: &str,
        path: &[Value],
    ) -> Result<Option<Value>, Refusal> {
        if self.known.reads_paths(name, &self.planning.stack.registry) {
            return self.attribute(name, &attribute_key(attribute, path));
        }
        let value = self.attribute(name, attribute)?;
        Ok(value.and_then(|value| select(&value, path)))
    }
}
