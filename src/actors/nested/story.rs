//! Given a resource whose work is a child stack, its beats: by the machines of the stack around it,
//! of the resource and of the child, without an actor.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{ChildBeat, ChildDefined, Defined, Parent, Seen, Sight, Telling};
use crate::actors::resource::story as resource;
use crate::actors::resource::{Resource, ResourceCommand};
use crate::actors::stack::story as stack;
use crate::clock::Moment;
use crate::model::{ResourceName, TraversalId};
use crate::resource_types::{Beat, Declared, Failure};

/// A resource `a`, the stack around it and its child.
pub(super) struct Story {
    pub(super) parent: stack::Story,
    pub(super) resource: resource::Story,
    pub(super) child: stack::Story,
    pub(super) driver: Arc<Declared>,
}

/// A resource whose create has begun.
pub(super) fn given(declared: &Value) -> Story {
    given_in(&json!({ "resources": { "a": declared } }))
}

/// The same in a template.
pub(super) fn given_in(template: &Value) -> Story {
    given_with(template, &BTreeMap::new())
}

/// The same in a template with files.
pub(super) fn given_with(template: &Value, files: &BTreeMap<String, String>) -> Story {
    let revise = stack::revise_with(template, files);
    let mut parent = stack::given_nothing().when(stack::create(revise));
    while let Some(before) = parent.at_work().filter(|name| name != "a") {
        parent = parent.when_done(&before);
    }
    let converge = parent.converged("a").clone();
    let mut resource = resource::given_nothing();
    resource.resource = Resource::named(parent.incarnations()["a"], ResourceName::from("a"));
    let resource = resource.when(ResourceCommand::Converge(Box::new(converge)));
    let driver_type = &resource.call().unwrap().driver_type;
    let driver = parent.knowledge.registry.driver(driver_type).unwrap();
    Story { parent, resource, child: stack::given_nothing(), driver }
}

/// A resource whose child is made.
pub(super) fn given_made(declared: &Value) -> Story {
    given(declared).when_told().when_child_is_done()
}

/// A group of test resources.
pub(super) fn group(count: usize) -> Value {
    let member = json!({ "type": "OS::Heat::TestResource" });
    let properties = json!({ "count": count, "resource_def": member });
    json!({ "type": "OS::Heat::ResourceGroup", "properties": properties })
}

/// A group of test resources that policies scale up to three.
pub(super) fn scaling_group(size: usize) -> Value {
    let member = json!({ "type": "OS::Heat::TestResource" });
    let properties = json!({ "min_size": size, "max_size": 3, "cooldown": 60, "resource": member });
    json!({ "type": "OS::Heat::AutoScalingGroup", "properties": properties })
}

impl Story {
    /// The beat that the resource makes.
    pub(super) fn beat(&self) -> ChildBeat<'_> {
        let call = self.resource.call().unwrap();
        ChildBeat {
            knowledge: &self.parent.knowledge,
            driver: &self.driver,
            nested: self.driver.nests().unwrap(),
            work: &call.work,
            subject: &call.subject,
            step: &call.step,
            nesting: call.nesting.as_ref().unwrap(),
        }
    }

    /// The present one.
    pub(super) fn moment(&self) -> Moment<'_> {
        Moment::of(self.parent.clock.as_ref())
    }

    /// What there is around the child.
    pub(super) fn sight(&self) -> Sight {
        let parent = Parent::of(self.parent.view(), self.beat().nesting.revision).unwrap();
        Sight { known: parent.known.clone().unwrap(), parent, seen: self.seen(), used: None }
    }

    /// The child as its resource sees it.
    pub(super) fn seen(&self) -> Option<Seen> {
        Seen::of(self.child.view(), &self.child.knowledge)
    }

    /// What the beat tells the child by its definition.
    pub(super) fn telling(&self) -> Telling {
        let (beat, sight) = (self.beat(), self.sight());
        match beat.defined(&sight, &self.moment()).unwrap() {
            Defined::Beat(beat) => panic!("nothing is to be told: {beat:?}"),
            Defined::Child(defined) => self.tells(*defined, &sight),
        }
    }

    /// How the child is told a definition.
    pub(super) fn tells(&self, defined: ChildDefined, sight: &Sight) -> Telling {
        let mut revise = stack::revise_to(defined.definition);
        revise.options = defined.options;
        self.beat().telling(sight, (&defined.step, defined.then), revise, "alice").unwrap()
    }

    /// The child is told that, and the resource goes on.
    pub(super) fn when_told(mut self) -> Self {
        let Telling { command, then, .. } = self.telling();
        self.child = self.child.when(command);
        self.when_answered(Ok(then))
    }

    /// All that the child is at ends, and the beat that awaits it is answered.
    pub(super) fn when_child_is_done(mut self) -> Self {
        self.child = self.child.when_all_are_done();
        self.when_child_has_ended()
    }

    /// The beat that awaits the child's end is answered.
    pub(super) fn when_child_has_ended(self) -> Self {
        let end = self.child.view().end(&self.child.knowledge).unwrap();
        let answer = self.beat().ended(&end, self.seen().as_ref(), &self.moment());
        self.when_answered(answer)
    }

    /// The stack has the resource brought to other properties.
    pub(super) fn when_changed(mut self, properties: &Value) -> Self {
        let mut converge = self.parent.converged("a").clone();
        converge.traversal = TraversalId(uuid::Uuid::from_u128(2));
        let definition = converge.definition.as_mut().unwrap();
        definition.properties.extend(properties.as_object().cloned().unwrap_or_default());
        self.resource = self.resource.when(ResourceCommand::Converge(Box::new(converge)));
        self
    }

    fn when_answered(mut self, answer: Result<Beat, Failure>) -> Self {
        self.resource = self.resource.when_answered(answer);
        self
    }
}
