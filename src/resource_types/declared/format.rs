//! The format of a type's YAML file: what the type is, and the calls that make, change, show and
//! remove one. `docs/adding-a-resource-type.md` explains it by example.

use crate::model::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::besides::PropertyCall;
use super::calls::{Busy, Call, Create, Delete, Update};
use super::id::Id;
use super::local::{Changes, Local};
use super::members::Members;
use super::ready::Ready;
use super::software::Configured;
use super::stack::Stack;
use super::translation::Translation;
use super::waits::Waits;
use crate::model::Action;
use crate::resource_types::finders::Finders;
use crate::resource_types::python;
use crate::resource_types::rules::Rule;
use crate::resource_types::schema::{AttributeSchema, Properties, Support};
use crate::resource_types::types::Program;

/// A resource type as its file declares it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// `OS::Neutron::Net`.
    #[serde(rename = "type")]
    pub type_name: String,
    /// Heat's name of the class, which its messages and generated templates show: `Net`.
    pub class: String,
    #[serde(default)]
    pub description: String,
    #[serde(default)]
    pub support: Support,
    /// The type that is to be used instead of this one.
    #[serde(default)]
    pub successor: Option<String>,
    /// The type that takes the place of this one without anything made anew.
    #[serde(default)]
    pub substitute: Option<String>,
    /// The service of the catalog that is called.
    #[serde(default)]
    pub service: Option<String>,
    /// The extension of the service, by its alias, that brings the collection.
    #[serde(default)]
    pub extension: Option<String>,
    /// The custom constraint that what is made satisfies.
    #[serde(default)]
    pub makes: Option<String>,
    /// What runs the type beside or in the place of the calls below.
    #[serde(default)]
    pub(crate) program: Option<Program>,
    /// The longest physical name.
    #[serde(default = "physical_name_limit")]
    pub physical_name_limit: usize,
    /// Any property is taken and none is looked at (OS::Heat::None).
    #[serde(default)]
    pub accepts_anything: bool,
    /// The deletion policy Snapshot is possible.
    #[serde(default)]
    pub snapshots: bool,
    #[serde(default)]
    pub properties: Properties,
    /// What the resource's update policy may say.
    #[serde(default)]
    pub update_policy: Properties,
    #[serde(default)]
    pub attributes: IndexMap<String, AttributeSchema>,
    /// Any name may be asked for as an attribute: what there is shows when the resource is made.
    #[serde(default)]
    pub any_attribute: bool,
    /// Attributes have different things to show at different paths.
    #[serde(default)]
    pub attribute_paths: bool,
    /// Older names of properties, and names that stand for ids.
    #[serde(default)]
    pub translation: Vec<Translation>,
    /// What several properties must or must not be together.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// The properties that the type's own rules read first: where values count for nothing else,
    /// these must be readable all the same.
    #[serde(default)]
    pub rules_read: Vec<String>,
    /// The type's own rules come before its schema.
    #[serde(default)]
    pub rules_first: bool,
    /// The properties and attributes whose values are secrets.
    #[serde(default)]
    pub secrets: Vec<String>,
    /// Its rules beyond the schema are those of Amazon's types.
    #[serde(default)]
    pub amazons: bool,
    /// Resources of the stack that must exist first though nothing refers to them.
    #[serde(default)]
    pub after: Vec<After>,

    /// The key around the object in bodies; none: the object is the body.
    #[serde(default)]
    pub wrap: Option<String>,
    /// The key around a list of objects; the plural of `wrap` when left out.
    #[serde(default)]
    pub list: Option<String>,
    /// Where the objects are: calls that name no path of their own go there.
    #[serde(default)]
    pub at: Option<String>,
    /// What the physical id is.
    #[serde(default)]
    pub id: Id,
    /// The microversion whose bodies these are.
    #[serde(default)]
    pub microversion: Option<String>,
    /// The property that names the object; unset, the physical name takes its place.
    #[serde(default)]
    pub name: Option<String>,
    /// A field in which the object keeps the physical name when its own name is the user's.
    #[serde(default)]
    pub token: Option<String>,
    #[serde(default)]
    pub body: BodyRules,
    #[serde(default)]
    pub create: Option<Create>,
    /// How a lost creation is looked for, when not by a list at the path of `create`.
    #[serde(default)]
    pub find: Option<Call>,
    #[serde(default)]
    pub show: Option<Call>,
    #[serde(default)]
    pub ready: Option<Ready>,
    /// Answers to a creation, an update or a deletion that mean `not now`.
    #[serde(default)]
    pub busy: Option<Busy>,
    #[serde(default)]
    pub update: Option<Update>,
    #[serde(default)]
    pub delete: Option<Delete>,
    /// Further calls, each for one property, after the creation and before the update.
    #[serde(default)]
    pub calls: Vec<PropertyCall>,
    /// Lists and maps whose entries are calls of their own.
    #[serde(default)]
    pub members: Vec<Members>,
    /// What the type does something of its own for, of SUSPEND, RESUME, CHECK and SNAPSHOT.
    #[serde(default)]
    pub acts: Vec<Action>,
    /// The states that a CHECK takes; without them that the object is there is enough.
    #[serde(default)]
    pub(super) healthy: Healthy,
    /// What an object has that no definition says, and that goes with it.
    #[serde(default)]
    pub holds: Option<String>,
    /// Each update of the stack makes the resource anew, without a word.
    #[serde(default)]
    pub renewed: bool,
    /// Properties that are not compared with the object: others may see to them too.
    #[serde(default)]
    pub unobserved: Vec<String>,
    /// When a failed resource keeps its object instead of being replaced.
    #[serde(default)]
    pub failed: Option<Failed>,

    /// The resource is there once it was signaled often enough.
    #[serde(default)]
    pub waits: Option<Waits>,
    /// The resource is a stack.
    #[serde(default)]
    pub stack: Option<Stack>,
    /// The resource is a software configuration.
    #[serde(default)]
    pub software_config: Option<Configured>,
    /// Hearth alone keeps the resource: what becomes of it needs neither calls nor time.
    #[serde(default)]
    pub local: Option<Local>,

    /// The finders that the file may name.
    #[serde(skip)]
    pub(crate) finders: Finders,
}

impl Declaration {
    /// Whether an entry of a list stands for the object.
    pub(super) fn has_entry(&self) -> bool {
        self.find.as_ref().is_some_and(|find| !find.has.is_empty())
    }

    /// Whether no update ever changes or replaces the resource, however it stands.
    pub fn is_kept(&self) -> bool {
        self.local.as_ref().is_some_and(|local| local.changes == Changes::Ignored)
    }
}

/// How properties become the fields of a body.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyRules {
    /// Dotted path of a property, and the name of its field where it differs.
    #[serde(default)]
    pub fields: IndexMap<String, String>,
    /// Properties that are no field.
    #[serde(default)]
    pub omit: Vec<String>,
    /// Properties whose keys become fields.
    #[serde(default)]
    pub merge: Vec<String>,
    /// Properties that are left out while they are empty.
    #[serde(default)]
    pub omit_empty: Vec<String>,
    /// Properties that are sent as text though they are numbers.
    #[serde(default)]
    pub as_text: Vec<String>,
    /// Properties that are null for these values.
    #[serde(default)]
    pub null_when: IndexMap<String, Vec<Value>>,
    /// Properties that are left out for these values.
    #[serde(default)]
    pub omit_when: IndexMap<String, Vec<Value>>,
    /// Properties that go beside the object, under these keys.
    #[serde(default)]
    pub beside: IndexMap<String, String>,
    /// What is sent for a property that an update unsets, where that is not null.
    #[serde(default)]
    pub unset: IndexMap<String, Value>,
    /// The body as a template, in the place of all of the above but `unset`.
    #[serde(default)]
    pub shape: Option<Value>,
    /// What is left out besides.
    #[serde(default)]
    pub nulls: Nulls,
}

/// What bodies leave out besides what is unset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nulls {
    #[default]
    Plain,
    /// Nulls within maps and lists.
    Deep,
    /// What is empty.
    Empty,
}

/// The states that a CHECK takes: one, or each of a list, as its words tell.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Healthy {
    One(String),
    Any(Vec<String>),
}

impl Default for Healthy {
    fn default() -> Self {
        Healthy::Any(Vec::new())
    }
}

impl Healthy {
    /// Whether it takes a state; without any it takes all.
    pub(super) fn takes(&self, status: &str) -> bool {
        match self {
            Healthy::One(healthy) => healthy == status,
            Healthy::Any(all) => all.is_empty() || all.iter().any(|healthy| healthy == status),
        }
    }

    /// What was expected, as a CHECK says it.
    pub(super) fn expected(&self) -> String {
        match self {
            Healthy::One(healthy) => healthy.clone(),
            Healthy::Any(all) => python::text(&all.clone().into()),
        }
    }
}

/// A FAILED resource keeps its object unless that is gone or in one of these states.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failed {
    #[serde(default)]
    pub field: Option<String>,
    #[serde(default)]
    pub replaced_when: Vec<String>,
}

/// Resources of a type whose property has the same value come first.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct After {
    #[serde(rename = "type")]
    pub type_name: String,
    /// Dotted paths: a property of theirs, and the one of ours that equals it. Entries of lists are
    /// each looked at.
    pub theirs: String,
    pub ours: String,
    /// Ours are the properties of the resources of this type that are referred to.
    #[serde(default)]
    pub through: Option<String>,
    /// Where there is nothing at `ours`: the names of these resources stand for it.
    #[serde(default)]
    pub or: Option<Named>,
    /// What is not set, of theirs or of an entry of ours, may come to be any.
    #[serde(default)]
    pub any: bool,
}

/// The resources of a type with a property that equals one of ours.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    #[serde(rename = "type")]
    pub type_name: String,
    pub theirs: String,
    pub ours: String,
}

fn physical_name_limit() -> usize {
    255
}
