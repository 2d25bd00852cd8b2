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
use crate::actors::stack::ChildEnd;
use crate::model::{Action, CommandId, JsonMap, Status, TraversalId};
use crate::resource_types::child::MemberSeen;
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
        let members = references(seen.flatten().ok_or_else(silent)?.child.members);
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
        let look = executor::look(services, session, |cloud| nested.look(cloud, &subject)).await;
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
        balanced(end_of(services, beat.child()).await.ok_or_else(silent)?)
    }
}

/// What `get_resource` gives for the members that requests are shared out to, the oldest first:
/// those that failed or are about to go get none.
fn references(mut members: Vec<MemberSeen>) -> Vec<Value> {
    members.retain(|it| it.action != Action::Delete && it.status != Status::Failed);
    members
        .sort_by(|left, right| (left.created_at, &left.name).cmp(&(right.created_at, &right.name)));
    members.into_iter().map(|member| member.reference).collect()
}

/// What comes of a balancer that was told of the members, by the end of its child stack.
fn balanced(end: ChildEnd) -> Result<(), Failure> {
    match end.status {
        Status::Failed => Err(Failure::Child(end.reason)),
        Status::InProgress | Status::Complete => Ok(()),
    }
}

fn silent() -> Failure {
    Failure::Silent("A load balancer does not answer at present.".to_owned())
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, Utc};
    use serde_json::json;

    use super::*;

    /// Members as they stand, by name, second of their creation, action and status.
    fn seen(members: &[(&str, i64, Action, Status)]) -> Vec<MemberSeen> {
        let at = |second| DateTime::<Utc>::from_timestamp(second, 0).unwrap();
        let member = |&(name, created, action, status): &(&str, i64, Action, Status)| MemberSeen {
            name: name.into(),
            action,
            status,
            physical_id: None,
            reference: json!(format!("id of {name}")),
            created_at: at(created),
            changed_at: at(created),
        };
        members.iter().map(member).collect()
    }

    #[test]
    fn requests_are_shared_out_to_those_that_stand_the_oldest_first_and_by_name() {
        let members = seen(&[
            ("new", 3, Action::Create, Status::InProgress),
            ("b", 1, Action::Create, Status::Complete),
            ("gone", 0, Action::Delete, Status::InProgress),
            ("a", 1, Action::Update, Status::Complete),
            ("broken", 2, Action::Create, Status::Failed),
        ]);
        assert_eq!(references(members), ["id of a", "id of b", "id of new"]);
    }

    #[test]
    fn a_balancer_that_fails_fails_the_group_in_its_own_words() {
        let end = |status| ChildEnd {
            action: Action::Update,
            status,
            reason: "boom".to_owned(),
            deleted: false,
            reference: None,
        };
        assert_eq!(balanced(end(Status::Complete)), Ok(()));
        assert_eq!(balanced(end(Status::Failed)), Err(Failure::Child("boom".to_owned())));
    }
}
