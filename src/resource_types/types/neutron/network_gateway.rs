//! OS::Neutron::NetworkGateway: its devices are those that it was made with.

use std::collections::BTreeSet;

use crate::model::JsonMap;
use crate::resource_types::declared::{Declared, Special};
use crate::resource_types::driver::{Subject, UpdateKind};

pub(crate) struct NetworkGateway;

impl Special for NetworkGateway {
    fn on_change(
        &self,
        declared: &Declared,
        subject: &Subject,
        _before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> UpdateKind {
        match changed.contains("devices") {
            true => declared.replaced(subject),
            false => declared.plain_on_change(subject, changed),
        }
    }
}
