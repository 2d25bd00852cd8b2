//! A look at another resource of the same stack.

use std::sync::Arc;

use super::claims::unknown;
use super::look::{Look, ResourceNamed, ResourceReferred};
use super::resource::Resource;
use super::services::{SENDS_MAX, Services};
use super::shell::Inhabit;
use crate::model::StackId;
use crate::model::taint::plain;
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
