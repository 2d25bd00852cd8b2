//! Looks at a child: whether it is as it should be, and its attributes.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::used::used;
use super::{See, Seen, child_of, make};
use crate::actors::resource::Nesting;
use crate::actors::services::Services;
use crate::model::{JsonMap, Secret, StackId};
use crate::resource_types::child::{ChildAsk, Nested};
use crate::resource_types::{Driver, DriverError, Subject, Work};

/// Whether a child differs from what it should be, or anything in it is not well. What cannot be
/// told is left to the update.
pub(in crate::actors) async fn differs(
    services: &Arc<Services>,
    driver: &dyn Driver,
    nested: &dyn Nested,
    subject: &Subject,
    nesting: &Nesting,
) -> bool {
    let child = child_of(subject.resource_id.unwrap_or_default());
    let Some(Some(seen)) = services.ask_of(child, || See).await else { return true };
    match is_same(services, driver, nested, subject, nesting, &seen).await {
        Ok(same) => !same || !is_well(services, seen).await,
        Err(_) => true,
    }
}

async fn is_same(
    services: &Arc<Services>,
    driver: &dyn Driver,
    nested: &dyn Nested,
    subject: &Subject,
    nesting: &Nesting,
    seen: &Seen,
) -> Result<bool, DriverError> {
    let (known, parent) = make::parent(services, subject, nesting).await?;
    let properties = driver.properties(&subject.properties);
    let filled = Subject { properties, ..subject.clone() };
    let used = used(services, nested, &filled).await?;
    let ask = ChildAsk {
        work: &Work::Update { before: JsonMap::new(), changed: Default::default() },
        subject: &filled,
        definition: &known.definition,
        child: Some(&seen.child),
        used: used.as_ref().map(|used| &used.resource),
        timeout: parent.timeout(services),
        now: services.clock.now(),
        chance: &|bytes| services.clock.fill(bytes),
    };
    let wanted = nested.wanted(&ask)?;
    let definition = make::define(services, &known.definition, subject, nesting, &wanted)
        .map_err(|refusal| DriverError::fatal(refusal.class, refusal.message))?;
    let known = seen.known.as_ref();
    Ok(known.is_some_and(|known| known.definition.is_same_as(&definition)))
}

/// Whether nothing in a stack is sick, nor in the stacks within it.
fn is_well(services: &Arc<Services>, seen: Seen) -> BoxFuture<'_, bool> {
    async move {
        if !seen.is_well {
            return false;
        }
        for within in seen.within {
            let Some(Some(seen)) = services.ask_of(within, || See).await else { return false };
            if !is_well(services, seen).await {
                return false;
            }
        }
        true
    }
    .boxed()
}

/// Attributes of a resource from its child, and the secrets among them; an empty list asks for
/// all.
pub(in crate::actors) async fn attributes(
    services: &Services,
    driver: &dyn Driver,
    nested: &dyn Nested,
    subject: &Subject,
    wanted: &[String],
) -> (JsonMap, Vec<Secret<String>>) {
    let child: Option<StackId> = subject.physical_id.as_ref().and_then(|id| id.parse().ok());
    let Some(child) = child else { return Default::default() };
    let Some(Some(seen)) = services.ask_of(child, || See).await else { return Default::default() };
    let properties = driver.properties(&subject.properties);
    let subject = Subject { properties, ..subject.clone() };
    let names = match wanted {
        [] => nested.attribute_names(&seen.child),
        wanted => wanted.to_vec(),
    };
    let values = names.into_iter().filter_map(|name| {
        let value = nested.attribute(&subject, &seen.child, &name)?;
        Some((name, value))
    });
    (values.collect(), seen.secrets)
}
