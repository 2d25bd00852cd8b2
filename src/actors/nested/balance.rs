//! The load balancers of a group, which share requests out to its members: they are told whenever
//! those have changed.

use serde_json::Value;

use super::asks::{See, end_of, meta, sight, tell};
use super::beating::Beating;
use super::turn::{ChildBeat, Defined};
use crate::actors::executor;
use crate::actors::look::{Look, ResourceReferred};
use crate::actors::resource::{Nesting, Resource};
use crate::actors::shell::Inhabit;
use crate::model::{Action, CommandId, JsonMap, Status, TraversalId};
use crate::resource_types::declared::nesting::ChildStage;
use crate::resource_types::stage::Stages;
use crate::resource_types::{Failure, Work};

impl Beating<'_> {
    /// Tells the group's load balancers who its members are, and awaits that. The same `id` tells
    /// once.
    pub(super) async fn balance(&self, id: CommandId) -> Result<(), Failure> {
        let balancers = self.beat.nested.balancers(&self.beat.filled());
        if balancers.is_empty() {
            return Ok(());
        }
        let seen = self.services.ask_of(self.beat.child(), || See).await;
        let mut members = seen.flatten().ok_or_else(silent)?.child.members;
        members.retain(|it| it.action != Action::Delete && it.status != Status::Failed);
        members.sort_by(|left, right| {
            (left.created_at, &left.name).cmp(&(right.created_at, &right.name))
        });
        let members: Vec<Value> = members.into_iter().map(|member| member.reference).collect();
        for balancer in balancers {
            self.tell_balancer(&balancer, &members, id).await?;
        }
        Ok(())
    }

    async fn tell_balancer(
        &self,
        reference: &str,
        members: &[Value],
        id: CommandId,
    ) -> Result<(), Failure> {
        let Beating { services, session, asked, attempt, .. } = *self;
        let unsupported = || {
            let text = format!("Unsupported resource '{reference}' in LoadBalancerNames");
            Failure::Failed(text)
        };
        let stack = self.beat.subject.stack_id.unwrap_or_default();
        let found = services.ask_of(stack, || ResourceReferred(reference.to_owned())).await;
        let balancer = found.ok_or_else(silent)?.ok_or_else(unsupported)?;
        let knowledge = Resource::knowledge(services);
        let look = move |resource: &Resource| {
            let (driver, subject) = resource.inspected(&[], &knowledge)?;
            let nesting = resource.nesting(resource.definition.as_ref()?, TraversalId(id.0));
            Some((driver, subject, nesting))
        };
        let looked = balancer.send(Look(Box::new(look))).await.map_err(|_| silent())?;
        let (driver, subject, nesting): (_, _, Nesting) = looked.ok_or_else(unsupported)?;
        let nested = driver.nests().ok_or_else(unsupported)?;
        let mut subject = nested.with_members(&subject, members).ok_or_else(unsupported)?;
        let look = executor::run(services, session, |cloud| nested.look(cloud, &subject)).await;
        subject.data.extend(look?);
        let work = Work::Update { before: JsonMap::new(), changed: Default::default() };
        let beat = ChildBeat {
            driver: driver.as_ref(),
            nested,
            work: &work,
            subject: &subject,
            step: &ChildStage::Define.step(),
            nesting: &nesting,
            ..self.beat
        };
        let balancing = Beating { services, session, beat, asked, attempt };
        let sight = sight(services, &beat).await?.ok_or_else(silent)?;
        let defined = beat.defined(&sight, &self.moment())?;
        let Defined::Child(defined) = defined else { return Err(unsupported()) };
        let telling = balancing.telling(&sight, *defined).await?;
        let meta = meta(asked, telling.id);
        let told = tell(services, beat.child(), &meta, &telling.command).await;
        told.ok_or_else(silent)?.map_err(Failure::from)?;
        let end = end_of(services, beat.child()).await.ok_or_else(silent)?;
        match end.status {
            Status::Failed => Err(Failure::Child(end.reason)),
            Status::InProgress | Status::Complete => Ok(()),
        }
    }
}

fn silent() -> Failure {
    Failure::Silent("A load balancer does not answer at present.".to_owned())
}
