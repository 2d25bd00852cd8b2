//! What a create or an update would do: plain data.

use serde_json::Value;

use super::stack::Known;
use crate::model::{Action, JsonMap, StackId};
use crate::template::OutputValue;

/// What becomes of a resource; the order is that of what is announced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    #[default]
    Unchanged,
    Updated,
    Replaced,
    Added,
}

/// A plan: the resources by what becomes of them, in the template's order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Preview {
    pub unchanged: Vec<PreviewedResource>,
    pub updated: Vec<PreviewedResource>,
    pub replaced: Vec<PreviewedResource>,
    pub added: Vec<PreviewedResource>,
    pub deleted: Vec<PreviewedResource>,
    /// What is suspended or resumed.
    pub acted: Vec<(Action, PreviewedResource)>,
    /// The parameters as shown, hidden ones masked.
    pub parameters: JsonMap,
    pub description: String,
    /// What a create would put out, as far as it is known beforehand.
    pub outputs: Vec<OutputValue>,
    /// The plans of the stacks within it, where they were asked for.
    pub within: Vec<PreviewWithin>,
}

/// The plan of a stack within another.
#[derive(Clone, Debug, PartialEq)]
pub struct PreviewWithin {
    /// The resource that stands for the stack.
    pub resource: String,
    pub name: String,
    /// `None` where it is about to be made.
    pub stack: Option<StackId>,
    pub plan: Preview,
}

/// A resource in a plan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreviewedResource {
    pub name: String,
    pub type_name: String,
    pub description: String,
    pub physical_id: Option<String>,
    /// The stack that stands for it by now, where there is one.
    pub child: Option<StackId>,
    pub properties: JsonMap,
    pub metadata: JsonMap,
    /// The attributes that it will have; null where nothing is known before it is made.
    pub attributes: JsonMap,
    pub requires: Vec<String>,
    /// What leads to the change; empty where nothing changes.
    pub why: String,
    /// The properties that differ, where it is made or changed by a plan.
    pub differs: Vec<Difference>,
    /// What goes with it that nothing brings back, where it goes or is replaced.
    pub loses: Option<String>,
    /// It is suspended and stays so, until the stack is resumed.
    pub stays_suspended: bool,
    /// Of a resource that goes: what there is in the cloud stays.
    pub is_kept: bool,
    /// What becomes of it at least, where that is less: a value is not known beforehand.
    pub least: Option<Change>,
    /// The resources of the stack that it stands for, where there is one.
    pub nested: Option<PreviewNested>,
    /// What the Heat of another place is asked, where its stack stands there and is updated.
    pub far: Option<FarAsk>,
}

/// A property that is not what it was, secrets masked.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Difference {
    pub name: String,
    /// Null where there was none.
    pub old: Value,
    /// `None` where it is not known beforehand.
    pub new: Option<Value>,
}

/// The question to another Heat what an update of a stack there would do.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FarAsk {
    pub type_name: String,
    pub stack_name: String,
    /// The body of its preview.
    pub body: Value,
}

/// The stack that a planned resource stands for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PreviewNested {
    pub name: String,
    pub resources: Vec<PreviewedResource>,
}

impl Preview {
    /// The resources of which this becomes.
    pub(super) fn of_change(&mut self, change: Change) -> &mut Vec<PreviewedResource> {
        match change {
            Change::Unchanged => &mut self.unchanged,
            Change::Updated => &mut self.updated,
            Change::Replaced => &mut self.replaced,
            Change::Added => &mut self.added,
        }
    }
}

/// A plan without resources.
pub(super) fn blank(known: &Known) -> Preview {
    Preview {
        parameters: known.definition.shown_parameters(),
        description: known.definition.description().to_owned(),
        ..Preview::default()
    }
}
