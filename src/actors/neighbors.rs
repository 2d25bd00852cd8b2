//! A look at other resources of the same stack.

use std::sync::Arc;

use actix::prelude::*;

use super::claims::unknown;
use super::look::{Look, ResourceNamed, ResourceReferred};
use super::resource::Resource;
use super::services::{SENDS_MAX, Services};
use super::shell::{Inhabit, Shell};
use super::stack::Stack;
use crate::model::taint::plain;
use crate::model::{ResourceName, StackId};
use crate::openstack::CloudError;
use crate::resource_types::asks::{Neighbor, NeighborKnown};
use crate::resource_types::stack_user;

/// What there is of a stack's resource.
pub(super) async fn seen(
    services: &Arc<Services>,
    stack: StackId,
    known: &NeighborKnown,
) -> Result<Option<Neighbor>, CloudError> {
    let knowledge = Resource::knowledge(services);
    let look = move |resource: &Resource| {
        let text = |name: &str| Some(plain(resource.data.get(name)?.clone()).as_str()?.to_owned());
        let user = text(stack_user::USER).zip(text(stack_user::PROJECT));
        let is_policy = resource.inspected(&[], &knowledge).is_some_and(|(driver, subject)| {
            driver.program().admits(&subject.properties).is_some()
        });
        Neighbor { user, is_policy }
    };
    let silent = || unknown("the stack does not answer".to_owned());
    for _ in 0..SENDS_MAX {
        let resource = match known {
            NeighborKnown::Name(name) => {
                services.ask_of(stack, || ResourceNamed(name.as_str().into())).await
            }
            NeighborKnown::Reference(reference) => {
                services.ask_of(stack, || ResourceReferred(reference.clone())).await
            }
        };
        let Some(resource) = resource.ok_or_else(silent)? else { return Ok(None) };
        if let Ok(neighbor) = resource.send(Look(Box::new(look.clone()))).await {
            return Ok(Some(neighbor));
        }
    }
    Err(silent())
}

/// The resources of a type that have a value for a property.
#[derive(Clone, Copy)]
pub(super) struct Alike<'a> {
    pub(super) of_type: &'static str,
    pub(super) property: &'static str,
    pub(super) value: &'a str,
}

impl Alike<'_> {
    /// What those of a stack are in the cloud.
    pub(super) async fn ids(
        self,
        services: &Arc<Services>,
        stack: StackId,
    ) -> Result<Vec<String>, CloudError> {
        let silent = || unknown("the stack does not answer".to_owned());
        let names = services.ask_of(stack, || NamesOfType(self.of_type)).await;
        let mut ids = Vec::new();
        for name in names.ok_or_else(silent)? {
            ids.extend(self.id(services, stack, name).await?);
        }
        Ok(ids)
    }

    /// The same of one resource.
    async fn id(
        self,
        services: &Arc<Services>,
        stack: StackId,
        name: ResourceName,
    ) -> Result<Option<String>, CloudError> {
        let knowledge = Resource::knowledge(services);
        let (property, value) = (self.property, self.value.to_owned());
        let look = move |resource: &Resource| {
            let (_, subject) = resource.inspected(&[], &knowledge)?;
            let is_alike = subject.properties.get(property)? == value.as_str();
            subject.physical_id.filter(|_| is_alike)
        };
        let silent = || unknown("the stack does not answer".to_owned());
        for _ in 0..SENDS_MAX {
            let resource = services.ask_of(stack, || ResourceNamed(name.clone())).await;
            let Some(resource) = resource.ok_or_else(silent)? else { return Ok(None) };
            if let Ok(id) = resource.send(Look(Box::new(look.clone()))).await {
                return Ok(id);
            }
        }
        Err(silent())
    }
}

/// Asks for the names of the resources of a type.
#[derive(Message)]
#[rtype(result = "Vec<ResourceName>")]
struct NamesOfType(&'static str);

impl Handler<NamesOfType> for Shell<Stack> {
    type Result = Vec<ResourceName>;

    fn handle(&mut self, of_type: NamesOfType, _ctx: &mut Context<Self>) -> Self::Result {
        let Some(known) = self.view().known() else { return Vec::new() };
        let registry = Arc::clone(&Stack::knowledge(&self.services).registry);
        let names = known.definition.resources().keys();
        let is_meant =
            |name: &&ResourceName| registry.driver_type(&known.definition, name) == Some(of_type.0);
        names.filter(is_meant).cloned().collect()
    }
}
