//! Types whose work is a child stack: what such a type says of itself. Which definition the child
//! should have now, and by which steps it gets there, is all that a type decides; `nesting` is the
//! program that all of them share, and `actors/nested` carries it out.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use indexmap::IndexMap;
use serde_json::Value;

use super::asks::Asks;
use super::groups::Adjustment;
use super::job::{Change, Subject, UpdateKind, Work};
use crate::model::{Action, JsonMap, ResourceName, Status};
use crate::openstack::Elsewhere;
use crate::resource_types::failure::Failure;
use crate::template::{NestedTemplate, StackDefinition};

/// What a type says of its child stack. Pure: the same question has the same answer, and nothing
/// is asked but by `look`.
pub trait Nested: Send + Sync + 'static {
    /// Whether the cloud is asked something before the child is defined.
    fn looks(&self, _subject: &Subject) -> bool {
        false
    }

    /// What it is asked: resource data that the child is defined with.
    fn look(
        &self,
        _cloud: &Asks<'_>,
        _subject: &Subject,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        Ok(BTreeMap::new())
    }

    /// The definition that the child should have in the end.
    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure>;

    /// The next definition on the way there, `None` when the child is there. `memory` is what the
    /// step before left for this one, null at first. A type in batches tells them apart by it.
    fn next(&self, ask: &ChildAsk<'_>, memory: &Value) -> Result<Option<ChildStep>, Failure> {
        match memory {
            Value::Null => Ok(Some(ChildStep::last(self.wanted(ask)?))),
            _ => Ok(None),
        }
    }

    /// The child before there is anything, with no more than its first member: what is validated
    /// and shown. A group of none has one too `even_if_empty`.
    fn sample(&self, ask: &ChildAsk<'_>, _even_if_empty: bool) -> Result<ChildWanted, Failure> {
        self.wanted(ask)
    }

    /// The types of its members that are looked up before anything is made, as the properties name
    /// them; `None` where there is no member to be validated. The error is what is wrong with a value
    /// that was `forgiven` until now, by property, and is needed here.
    fn member_types<'a>(
        &self,
        _properties: &'a JsonMap,
        _forgiven: &IndexMap<String, String>,
    ) -> Result<Option<Vec<&'a Value>>, String> {
        Ok(Some(Vec::new()))
    }

    /// The property that says what each member is, of which what is there already is looked at while
    /// it waits for the value of a parameter.
    fn member_in_part(&self) -> Option<&'static str> {
        None
    }

    /// The properties that have the child's parameters; none are those of the type itself.
    fn parameters(&self) -> Option<&str> {
        None
    }

    /// Where in the properties the maps stand that go into the child's template as they are.
    fn payload(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// What is settled before the first step, where later ones build on it: from then on it is
    /// what the first step has for its memory.
    fn plan(&self, _ask: &ChildAsk<'_>) -> Option<ChildPlan> {
        None
    }

    /// What `get_resource` gives for another resource of the stack whose definition the child's is
    /// made with, if there is one.
    fn uses(&self, _subject: &Subject) -> Option<String> {
        None
    }

    /// Whether policies may change the size of the group.
    fn scales(&self) -> bool {
        false
    }

    /// What `get_resource` gives for the load balancers that are told of the group's members.
    fn balancers(&self, _subject: &Subject) -> Vec<String> {
        Vec::new()
    }

    /// The subject of a load balancer that shares requests out to these members of a group; `None`
    /// where it is none.
    fn with_members(&self, _subject: &Subject, _members: &[Value]) -> Option<Subject> {
        None
    }

    /// How long a group rests after a change of its size.
    fn cooldown_secs(&self, _subject: &Subject) -> Option<i64> {
        None
    }

    /// The size of a group now and after an adjustment; `None` where they are the same.
    fn adjusted(
        &self,
        _subject: &Subject,
        _child: &ChildSeen,
        _adjustment: &Adjustment,
    ) -> Option<(usize, usize)> {
        None
    }

    /// The definition of the child for a size.
    fn resized(&self, ask: &ChildAsk<'_>, _size: usize) -> Result<ChildWanted, Failure> {
        self.wanted(ask)
    }

    /// How a change of the type's own properties is carried out, where the schema does not say it.
    fn on_change(&self, _change: Change<'_>) -> Option<UpdateKind> {
        None
    }

    /// Where the child is to stand, if not here.
    fn elsewhere<'a>(&self, _subject: &'a Subject) -> Elsewhere<'a> {
        Elsewhere::default()
    }

    /// Whether the child stands beside the resource's stack, and not within it.
    fn stands_beside(&self) -> bool {
        false
    }

    /// What `get_resource` gives once there is a child.
    fn reference(&self, subject: &Subject) -> Value {
        subject.physical_id.as_deref().into()
    }

    /// An attribute, from the child as it is; `None` where it has none of that name.
    fn attribute(&self, _subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        child.outputs.get(name).cloned()
    }

    /// Whether an attribute that the child does not have is the list of its members' own.
    fn lists_members(&self) -> bool {
        false
    }

    /// The names of all attributes that the child has now.
    fn attribute_names(&self, child: &ChildSeen) -> Vec<String> {
        child.outputs.keys().cloned().collect()
    }
}

/// What a type decides with.
pub struct ChildAsk<'a> {
    pub work: &'a Work,
    /// Its properties have their defaults.
    pub subject: &'a Subject,
    /// The definition of the stack that the resource stands in.
    pub definition: &'a StackDefinition,
    /// The child as it is; `None` before it exists.
    pub child: Option<&'a ChildSeen>,
    /// The resource that the type uses.
    pub used: Option<&'a ResourceUsed>,
    /// The operator's own templates, by the options that name them.
    pub templates: &'a OperatorTemplates,
    /// How many resources the child may have.
    pub room: usize,
    /// How long an action of the stack may take.
    pub timeout: Duration,
    pub now: DateTime<Utc>,
    /// Randomness, for names. A step that is taken twice is carried out once.
    pub chance: &'a dyn Fn(&mut [u8]),
}

/// Templates that an operator has in the place of Hearth's own, by the options that name them.
pub type OperatorTemplates = BTreeMap<String, String>;

/// Another resource of the stack, as a type uses it.
#[derive(Clone, Debug, Default)]
pub struct ResourceUsed {
    pub properties: JsonMap,
    pub metadata: JsonMap,
    pub data: BTreeMap<String, Value>,
}

/// What is settled before the first step.
#[derive(Clone, Debug, Default)]
pub struct ChildPlan {
    pub memory: Value,
    /// Resource data to be remembered with it; null removes.
    pub data: BTreeMap<String, Value>,
}

/// The definition that a child should have; environment and files are its parent's.
#[derive(Clone, Debug)]
pub struct ChildWanted {
    pub template: NestedTemplate,
    pub parameters: JsonMap,
    /// `None` is the parent's own.
    pub timeout_mins: Option<u32>,
    /// Some of it is as it was: files that the child has and its parent no longer has stay.
    pub keeps_files: bool,
}

/// A step on the way: a create or an update of the child, which is awaited.
#[derive(Clone, Debug)]
pub struct ChildStep {
    pub wanted: ChildWanted,
    /// For the step after it; null says that there is none.
    pub memory: Value,
    /// The pause between this step and the one after it, in seconds.
    pub pause_secs: f64,
    /// [`TraversalOptions::revisits`](crate::model::TraversalOptions::revisits) of the traversal.
    pub revisits: bool,
}

impl ChildStep {
    /// A step that is the last.
    pub fn last(wanted: ChildWanted) -> Self {
        Self { wanted, memory: Value::Null, pause_secs: 0.0, revisits: false }
    }
}

/// A child stack as it is, with marks on secrets.
#[derive(Clone, Debug, Default)]
pub struct ChildSeen {
    pub template: Value,
    pub action: Action,
    pub status: Status,
    /// In the order of its template.
    pub members: Vec<MemberSeen>,
    /// As they resolve now; one that does not is null.
    pub outputs: JsonMap,
    /// Why outputs do not resolve.
    pub failed_outputs: BTreeMap<String, String>,
}

/// A resource of a child stack.
#[derive(Clone, Debug, Default)]
pub struct MemberSeen {
    pub name: ResourceName,
    pub action: Action,
    pub status: Status,
    pub physical_id: Option<String>,
    /// What `get_resource` gives.
    pub reference: Value,
    pub created_at: DateTime<Utc>,
    /// When it came to stand as it does.
    pub changed_at: DateTime<Utc>,
}

/// The resource data that has what the child itself gives for its reference.
pub(crate) const REFERENCE: &str = "OS::stack_id";

/// The name by which a child is known everywhere.
pub(crate) fn arn(subject: &Subject) -> Value {
    let project = subject.project_id.clone().unwrap_or_default();
    let (name, id) = (&subject.physical_name, subject.physical_id.as_deref().unwrap_or_default());
    format!("arn:openstack:heat::{project}:stacks/{name}/{id}").into()
}
