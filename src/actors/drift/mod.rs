//! How a stack's resources differ in the cloud from what is on record: looked at now, field by
//! field. A check looks too, and what it finds is on record, as is what a schedule's look finds.

mod due;
mod settle;

use std::time::Duration;

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use serde_json::Value;

use crate::actors::asks::{RequestContext, StackSummary};
use crate::actors::engine::Engine;
use crate::actors::executor;
use crate::actors::resource::Resource;
use crate::actors::shell::Inhabit;
use crate::model::taint::{mask_repeated, masked};
use crate::model::{JsonMap, Refusal, ResourceId, ResourceName, StackId};
use crate::openstack::Session;
use crate::resource_types::Reality;
use crate::resource_types::asks::Asks;

/// How many resources are looked at together.
const LOOKS_AT_ONCE: usize = 8;
/// How long one look may take.
const LOOK_MAX: Duration = Duration::from_secs(20);

/// What a look at a resource has found.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// All that can be compared is as it is on record.
    Same,
    Differs(Vec<FieldFound>),
    Gone,
    /// There is nothing yet, or nothing of its own that could be compared.
    NotCompared,
    /// The cloud did not say, and why.
    Unknown(String),
}

/// A property that is another in the cloud, secrets masked.
#[derive(Clone, Debug, PartialEq)]
pub struct FieldFound {
    pub name: String,
    pub recorded: Value,
    pub live: Value,
}

/// A resource that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct LookedAt {
    /// Its name, behind those that lead to it through stacks within.
    pub path: String,
    pub type_name: String,
    pub physical_id: Option<String>,
    pub found: Found,
}

impl Engine {
    /// Compares every resource of a stack, and of those within it, with what there is in the cloud.
    pub async fn drift(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<Vec<LookedAt>, Refusal> {
        let summary = self.summary(who, stack).await?;
        let session = match &self.services.cloud {
            Some(cloud) => who.session(cloud, &who.caller.project_id),
            None => Session::detached(&self.services.clock),
        };
        self.drift_within(&session, summary, String::new()).await
    }

    fn drift_within<'a>(
        &'a self,
        session: &'a Session,
        stack: StackSummary,
        within: String,
    ) -> BoxFuture<'a, Result<Vec<LookedAt>, Refusal>> {
        async move {
            let looks = stack.incarnations.into_iter().map(|(name, id)| {
                let path = format!("{within}{name}");
                self.look(session, path, (name, id))
            });
            let looked: Vec<_> =
                futures::stream::iter(looks).buffered(LOOKS_AT_ONCE).collect().await;
            let mut found = Vec::with_capacity(looked.len());
            for looked in looked {
                let (looked, child) = looked?;
                let below = format!("{}/", looked.path);
                found.push(looked);
                let child = match child {
                    Some(child) => self.summary_of(child).await?,
                    None => None,
                };
                if let Some(child) = child {
                    found.extend(self.drift_within(session, child, below).await?);
                }
            }
            Ok(found)
        }
        .boxed()
    }

    /// Looks at one resource; also the stack that stands for it.
    async fn look(
        &self,
        session: &Session,
        path: String,
        (name, id): (ResourceName, ResourceId),
    ) -> Result<(LookedAt, Option<StackId>), Refusal> {
        let mut resource = self.services.resource(id).await?;
        resource.name = name;
        let knowledge = Resource::knowledge(&self.services);
        let inspected = resource
            .inspected(&[], &knowledge)
            .filter(|(driver, _)| resource.physical_id.is_some() && driver.nests().is_none());
        let found = match inspected {
            None => Found::NotCompared,
            Some((driver, subject)) => {
                let compare = |cloud: &Asks<'_>| driver.reality(cloud, &subject);
                let look = executor::look(&self.services, session, compare);
                match tokio::time::timeout(LOOK_MAX, look).await {
                    Ok(Ok(Reality::Gone)) => Found::Gone,
                    Ok(Ok(Reality::Differs(live))) => self.differing(&resource, live),
                    Ok(Err(error)) => Self::unknown(&resource, &error.told()),
                    Err(_) => Found::Unknown("it was not answered in time".to_owned()),
                }
            }
        };
        let child = resource.child_stack();
        let (type_name, physical_id) = (resource.type_name, resource.physical_id);
        Ok((LookedAt { path, type_name, physical_id, found }, child))
    }

    fn differing(&self, resource: &Resource, live: JsonMap) -> Found {
        let Some(definition) = resource.definition.as_ref().filter(|_| !live.is_empty()) else {
            return Found::Same;
        };
        let recorded = live.keys().map(|name| {
            let recorded = definition.properties.get(name).cloned();
            (name.clone(), recorded.unwrap_or_default())
        });
        let knowledge = Resource::knowledge(&self.services);
        let recorded = resource.as_live(recorded.collect(), &knowledge);
        let fields = resource.as_live(live, &knowledge).into_iter().map(|(name, live)| {
            let recorded = recorded.get(&name).map(masked).unwrap_or_default();
            FieldFound { recorded, live: masked(&live), name }
        });
        Found::Differs(fields.collect())
    }

    /// Why the cloud did not say, without the secrets that it repeats.
    fn unknown(resource: &Resource, why: &str) -> Found {
        Found::Unknown(mask_repeated(why, &resource.secrets()))
    }
}
