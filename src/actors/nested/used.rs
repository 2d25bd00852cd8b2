//! Another resource of the stack, by what `get_resource` gives for it: what a child is made with
//! beside its own resource, or whom a signal is for.

use actix::prelude::*;

use crate::actors::resource::Resource;
use crate::actors::services::Services;
use crate::actors::shell::{Inhabit, Shell};
use crate::actors::stack_actor::ResourceReferred;
use crate::model::Secret;
use crate::resource_types::child::{Nested, ResourceUsed};
use crate::resource_types::{DriverError, Subject};

/// A resource that is used, nothing in it sealed, and its secrets.
pub(super) struct Used {
    pub(super) resource: ResourceUsed,
    pub(super) secrets: Vec<Secret<String>>,
}

/// Asks a resource what it is made of; `None` before it is.
#[derive(Message)]
#[rtype(result = "Option<Used>")]
struct Describe;

impl Handler<Describe> for Shell<Resource> {
    type Result = Option<Used>;

    fn handle(&mut self, _: Describe, _ctx: &mut Context<Self>) -> Self::Result {
        let knowledge = Resource::knowledge(&self.services);
        let definition = self.machine.definition.as_ref()?;
        let subject = self.machine.subject(definition, &knowledge);
        let resource = ResourceUsed {
            properties: subject.properties,
            metadata: subject.metadata,
            data: subject.data,
        };
        Some(Used { resource, secrets: self.machine.secrets(definition, &knowledge) })
    }
}

/// The resource that a type uses, if it uses one.
pub(super) async fn used(
    services: &Services,
    nested: &dyn Nested,
    subject: &Subject,
) -> Result<Option<Used>, DriverError> {
    let Some(reference) = nested.uses(subject) else { return Ok(None) };
    let missing = || {
        let message = format!("Resource ({reference}) reference can not be found.");
        DriverError::fatal("ValueError", message)
    };
    let lost = || DriverError {
        transient: true,
        ..DriverError::fatal("Error", "The stack does not answer at present.")
    };
    let stack = subject.stack_id.unwrap_or_default();
    let asked = services.ask_of(stack, || ResourceReferred(reference.clone())).await;
    let resource = asked.ok_or_else(lost)?.ok_or_else(missing)?;
    let described = resource.send(Describe).await.map_err(|_| lost())?;
    Ok(Some(described.ok_or_else(missing)?))
}
