//! What is to be seen around a child stack: the stack that its resource stands in, the child as it
//! is, and another resource that it is made with. Pure; the actors are asked by `asks`.

use std::sync::Arc;
use std::time::Duration;

use super::own_child;
use crate::actors::resource::{Resource, StackIdentity};
use crate::actors::stack::{self, Known, StackView};
use crate::events::stack::{Owner, RevisionAccepted};
use crate::model::{IndexMap, ResourceId, ResourceName, StackId, StackName, StackRevision};
use crate::resource_types::child::{ChildSeen, ResourceUsed};

/// All that a child's definition is made of beside its resource.
pub struct Sight {
    /// The definition of the stack that the resource stands in, as of the resource's own revision.
    pub known: Arc<Known>,
    pub parent: Parent,
    /// The child as it is; `None` before it exists.
    pub seen: Option<Seen>,
    pub used: Option<Used>,
}

/// What a child's definition is made of, lent.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub known: &'a Known,
    pub seen: Option<&'a Seen>,
    pub used: Option<&'a ResourceUsed>,
    /// How long an action of the stack may take that the resource stands in.
    pub timeout: Duration,
}

impl Sight {
    pub(super) fn around(&self, unless_said: Duration) -> Around<'_> {
        Around {
            known: &self.known,
            seen: self.seen.as_ref(),
            used: self.used.as_ref().map(|used| &used.resource),
            timeout: self.parent.timeout(unless_said),
        }
    }
}

/// The stack that a resource stands in.
pub struct Parent {
    pub known: Option<Arc<Known>>,
    pub revision: RevisionAccepted,
    pub identity: StackIdentity,
    pub owner: Option<Owner>,
    /// It goes on from where it was suspended, or back from wherever it was: so does what is in it.
    pub from_rest: bool,
}

impl Parent {
    /// The stack, as of one of its revisions.
    pub fn of(stack: StackView<'_>, revision: StackRevision) -> Option<Self> {
        Some(Self {
            known: stack.known_of(revision).cloned(),
            revision: stack.revision_of(revision)?.clone(),
            identity: stack.identity(),
            owner: stack.owner.clone(),
            from_rest: stack.rests_in_part
                || stack.revision().is_some_and(|newest| newest.back_to.is_some()),
        })
    }

    /// The stack that the whole tree stands in.
    pub(super) fn root(&self) -> StackId {
        self.owner.as_ref().map_or(self.identity.id, |owner| owner.root)
    }

    /// How long an action of the stack may take.
    pub(super) fn timeout(&self, unless_said: Duration) -> Duration {
        let minutes = self.revision.settings.timeout_mins;
        minutes.map_or(unless_said, |minutes| Duration::from_secs(u64::from(minutes) * 60))
    }
}

/// A child as its resource sees it.
pub struct Seen {
    pub name: StackName,
    pub child: ChildSeen,
    pub known: Option<Arc<Known>>,
    pub is_healthy: bool,
    /// The incarnations that count.
    pub ids: IndexMap<ResourceName, ResourceId>,
    /// Those that a new definition would go on with, and what is there under other names.
    pub going_on: IndexMap<ResourceName, ResourceId>,
    /// What else there is, which goes with the next change.
    pub left_over: Vec<(ResourceName, ResourceId)>,
    /// The children within it.
    pub within: Vec<StackId>,
}

impl Seen {
    /// A stack as it is; `None` where there is none.
    pub fn of(stack: StackView<'_>, knowledge: &stack::Knowledge) -> Option<Self> {
        if !stack.exists() || stack.is_deleted() {
            return None;
        }
        let child = stack.seen(knowledge);
        let nests = |name: &ResourceName| {
            let registry = &knowledge.registry;
            let known = stack.known();
            let driver_type = known.and_then(|it| registry.driver_type(&it.definition, name));
            let driver = driver_type.and_then(|it| registry.driver(it));
            driver.is_some_and(|driver| driver.nests().is_some())
        };
        let nesting = child.members.iter().filter(|member| nests(&member.name));
        let ids = stack.incarnations();
        let within = nesting
            .filter_map(|it| own_child(*ids.get(&it.name)?, it.physical_id.as_deref()))
            .collect();
        let (known, is_healthy) = (stack.known().cloned(), stack.is_healthy());
        Some(Self {
            name: stack.name.clone(),
            ids,
            going_on: stack.going_on_anew(),
            left_over: stack.left_over(),
            within,
            child,
            known,
            is_healthy,
        })
    }
}

/// A resource that is used, with marks on its secrets.
pub struct Used {
    pub resource: ResourceUsed,
}

impl Used {
    /// What a resource is made of; `None` before it is.
    pub fn of(resource: &Resource) -> Option<Self> {
        let definition = resource.definition.as_ref()?;
        let resource = ResourceUsed {
            properties: definition.properties.clone(),
            metadata: definition.metadata.clone(),
            data: resource.data.clone().into_iter().collect(),
        };
        Some(Self { resource })
    }
}

#[cfg(test)]
mod tests {
    use super::super::child_of;
    use super::super::story::{given_made, group};
    use super::*;
    use crate::actors::resource::Outcome;
    use crate::actors::stack::story::{Story, act, delete, given, reported, revise, update};
    use crate::model::{Action, Status};

    #[test]
    fn a_stack_that_is_gone_is_not_seen_and_one_that_goes_is() {
        let seen = |story: &Story| Seen::of(story.view(), &story.knowledge).is_some();
        let story = given("net").when_all_are_done().when(delete());
        assert!(seen(&story));
        assert!(!seen(&story.when_all_are_done()));
    }

    #[test]
    fn a_stack_with_what_a_replacement_has_left_is_not_healthy() {
        let healthy = |story: &Story| Seen::of(story.view(), &story.knowledge).unwrap().is_healthy;
        let made = given("net port:net").when_all_are_done();
        assert!(healthy(&made));
        let story = made.when(update(revise("net port:net")));
        let story = story.when_it_ends("net", Outcome::Replace).when_done("net");
        let story = story.when_it_fails("port", "boom").when(act(Action::Check));
        let story = story.when_all_are_done();
        assert_eq!(story.stack.status, Status::Complete);
        assert!(!healthy(&story));
        let seen = Seen::of(story.view(), &story.knowledge).unwrap();
        assert_eq!(seen.left_over.len(), 1);
    }

    #[test]
    fn the_children_within_a_child_are_those_of_its_own_resources() {
        let inner = group(1);
        let properties = serde_json::json!({ "count": 1, "resource_def": inner });
        let outer = serde_json::json!({
            "type": "OS::Heat::ResourceGroup", "properties": properties });
        let mut story = given_made(&outer);
        let member = story.child.incarnations()["0"];
        for (physical_id, within) in
            [(child_of(member, 0), vec![child_of(member, 0)]), (StackId::default(), vec![])]
        {
            let mut report = story.child.report("0");
            report.physical_id = Some(physical_id.to_string());
            story.child = story.child.when(reported(report));
            assert_eq!(story.seen().unwrap().within, within);
        }
    }

    #[test]
    fn an_action_has_the_time_of_the_revision_that_the_resource_is_of() {
        let mut short = revise("net");
        short.settings.timeout_mins = Some(5);
        let story = given("net").when(update(short));
        let timeout = |number| {
            let parent = Parent::of(story.view(), StackRevision(number)).unwrap();
            parent.timeout(Duration::from_secs(60))
        };
        assert_eq!((timeout(1), timeout(2)), (Duration::from_secs(60), Duration::from_secs(300)));
    }
}
