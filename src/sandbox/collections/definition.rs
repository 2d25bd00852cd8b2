//! The format of a collection in `services/*.yaml`.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::super::doc::Doc;
use super::deed::Action;
use super::values::Shape;
use crate::model::JsonMap;

/// A collection of objects that are kept as they are given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Collection {
    /// Its path within the service. `{pool}` stands for the id of an object of the collection
    /// `pool`, which these are parts of: they go with it.
    pub(super) at: String,
    /// The key around a list; the one around an object with an s when left out.
    #[serde(default)]
    pub(super) list: String,
    /// Begins the names of errors: `AddressScope` is not found, in use, …
    #[serde(default)]
    pub(super) class: String,
    /// The attribute that is in the path of one object; the service makes it unless it is given.
    #[serde(default = "id")]
    pub(super) id: String,
    #[serde(default)]
    pub(super) ids: Ids,
    /// What is made with the id of one that is there is that one.
    #[serde(default)]
    pub(super) again: bool,
    /// Another attribute that finds one object.
    #[serde(default)]
    pub(super) also_by: Option<String>,
    /// The name of its table, where it is not `SERVICE.COLLECTION`.
    #[serde(default)]
    pub(super) table: Option<String>,
    #[serde(default)]
    pub(super) owner: Owner,
    /// Only administrators create, change and delete.
    #[serde(default)]
    pub(super) admin: bool,
    /// Only administrators set these to anything but what they are unset.
    #[serde(default)]
    pub(super) admin_sets: Vec<String>,
    /// Objects have times, a revision and tags.
    #[serde(default)]
    pub(super) standard: bool,
    #[serde(default)]
    pub(super) body: Body,
    #[serde(default)]
    pub(super) update: Update,
    #[serde(default)]
    pub(super) create: Create,
    /// One for each key (a project), whether or not it was ever set: unset values until then, and
    /// again after a deletion.
    #[serde(default)]
    pub(super) lasting: bool,
    /// One at most within its parent: the path of the list is its own, and it has no key around it.
    #[serde(default)]
    pub(super) single: bool,
    /// Lists begin with what was made last.
    #[serde(default)]
    pub(super) newest_first: bool,
    /// A list has nothing around it.
    #[serde(default)]
    pub(super) bare_list: bool,
    /// An administrator's lists have no more than his own project's objects, too, until he asks for
    /// `all_tenants`.
    #[serde(default)]
    pub(super) all_tenants: bool,
    /// `AT/detail` is the list as well.
    #[serde(default)]
    pub(super) detail: bool,
    #[serde(default)]
    pub(super) statuses: Statuses,
    pub(super) attributes: IndexMap<String, Attribute>,
    /// Attributes that have no value until one is given: rules find it.
    #[serde(default)]
    pub(super) open: Vec<String>,
    /// Where further fields go: a map among the attributes, or `.`, the object itself.
    #[serde(default)]
    pub(super) rest: Option<String>,
    /// Other names that requests may use for attributes.
    #[serde(default)]
    pub(super) renamed: BTreeMap<String, String>,
    /// The only values of attributes.
    #[serde(default)]
    pub(super) values: BTreeMap<String, Vec<Value>>,
    /// The least and the largest value of attributes.
    #[serde(default)]
    pub(super) ranges: BTreeMap<String, [i64; 2]>,
    /// Attributes that are taken and never shown.
    #[serde(default)]
    pub(super) hidden: Vec<String>,
    /// Fields that the service sets in a new object, and in a changed one: values in which
    /// `{now}`, `{micros}`, `{fresh}`, `{user}`, `{project}` and fields of the object are filled in.
    #[serde(default)]
    pub(super) made: IndexMap<String, Value>,
    #[serde(default)]
    pub(super) changed: IndexMap<String, Value>,
    /// Fields that are only shown; the same, and `{base}` is the sandbox's address.
    #[serde(default)]
    pub(super) shown: IndexMap<String, Value>,
    /// Fields that show objects of other collections.
    #[serde(default)]
    pub(super) shows: IndexMap<String, Shows>,
    /// Fields that only administrators see.
    #[serde(default)]
    pub(super) admin_sees: Vec<String>,
    /// Maps of which others than administrators see no more than these keys.
    #[serde(default)]
    pub(super) others_see: BTreeMap<String, Vec<String>>,
    /// The fields that a creation answers with, if not all.
    #[serde(default)]
    pub(super) created: Vec<String>,
    /// Query keys that are no filters.
    #[serde(default)]
    pub(super) no_filters: Vec<String>,
    /// Whether a list takes nothing in its query but how it is paged and sorted.
    #[serde(default)]
    pub(super) refuses_filters: bool,
    /// Attributes that name objects of other collections (`COLLECTION` of the same service or
    /// `SERVICE.COLLECTION`): those must be there, and stay meanwhile.
    #[serde(default)]
    pub(super) refers: BTreeMap<String, String>,
    /// The same, but the object goes with the other one.
    #[serde(default)]
    pub(super) goes_with: BTreeMap<String, String>,
    /// The same, but the attribute is null once the other one is gone.
    #[serde(default)]
    pub(super) forgets: BTreeMap<String, String>,
    /// An attribute that names an object, and the attribute of that one which then names this.
    #[serde(default)]
    pub(super) sets: BTreeMap<String, String>,
    /// A list of the object's own that keeps it while it is not empty.
    #[serde(default)]
    pub(super) kept_while: Option<String>,
    /// Attributes that no two objects of an owner have alike.
    #[serde(default)]
    pub(super) unique: Vec<Vec<String>>,
    #[serde(default)]
    pub(super) states: Option<States>,
    /// Whose work this is: the other object is at work while this one changes, and nothing of it
    /// can be changed meanwhile.
    #[serde(default)]
    pub(super) root: Option<Root>,
    /// What is done to an object beside changing it, by name.
    #[serde(default)]
    pub(super) actions: BTreeMap<String, Action>,
    /// Attributes that are maps with paths of their own: `/{id}/extra_specs/{key}`.
    #[serde(default)]
    pub(super) maps: Vec<String>,
    /// The rules in Rust that stand beside all this.
    #[serde(default)]
    pub(super) hook: Option<String>,
    /// The service's words for what is not there, in use, alike and at work; `{id}` stands for the
    /// id, and in `busy` for that of the root.
    #[serde(default)]
    pub(super) missing: Option<String>,
    #[serde(default)]
    pub(super) in_use: Option<String>,
    #[serde(default)]
    pub(super) alike: Option<String>,
    #[serde(default)]
    pub(super) busy: Option<String>,

    /// Where it is from; set when the file is read.
    #[serde(skip)]
    pub(super) service: String,
    #[serde(skip)]
    pub(super) wrap: String,
    #[serde(skip)]
    pub(super) errors: Errors,
    #[serde(skip)]
    pub(super) page_max: usize,
}

/// Whose error bodies a service has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Errors {
    #[default]
    Neutron,
    /// Mistral's too.
    Octavia,
    Keystone,
    /// Cinder's and Manila's too.
    Nova,
    Barbican,
    Designate,
    Magnum,
    Blazar,
    Ironic,
}

/// What ids look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ids {
    #[default]
    Uuid,
    /// 32 digits.
    Hex,
    /// Counted from 1.
    Number,
}

/// Who sees an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Owner {
    /// Its project, and everybody while it is `shared`.
    #[default]
    Project,
    /// Everybody: it has no project.
    Nobody,
}

/// How an object is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Body {
    /// Under its key.
    #[default]
    Wrapped,
    /// By itself.
    Bare,
    /// By itself in requests, under its key in answers.
    SentBare,
    /// In requests as YAML text, whose top-level keys are names of objects; by itself in answers.
    Yaml,
}

/// What changes an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Update {
    #[default]
    Put,
    Patch,
    /// A PATCH with a list of operations.
    JsonPatch,
    Never,
}

/// What makes an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Create {
    #[default]
    Post,
    /// A PUT to the path that it will have.
    Put,
}

/// What the answers' status codes are.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Statuses {
    pub(super) create: u16,
    pub(super) update: u16,
    pub(super) delete: u16,
    pub(super) in_use: u16,
}

impl Default for Statuses {
    fn default() -> Self {
        Self { create: 201, update: 200, delete: 204, in_use: 409 }
    }
}

/// `[shape, who sets it, what it is unset]`; without the last it has to be given.
#[derive(Debug, Deserialize)]
#[serde(from = "Written")]
pub(super) struct Attribute {
    pub(super) shape: Shape,
    pub(super) set_by: SetBy,
    pub(super) unset: Option<Value>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Required(Shape, SetBy),
    Optional(Shape, SetBy, Value),
}

impl From<Written> for Attribute {
    fn from(written: Written) -> Self {
        match written {
            Written::Required(shape, set_by) => Self { shape, set_by, unset: None },
            Written::Optional(shape, set_by, unset) => Self { shape, set_by, unset: Some(unset) },
        }
    }
}

/// Which requests set an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SetBy {
    /// Creations alone.
    Post,
    /// Creations and changes.
    Put,
    Nobody,
}

/// What an object is until what is done to it is through.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct States {
    pub(super) field: String,
    /// At first, and then.
    pub(super) made: [String; 2],
    /// After a change, and then.
    #[serde(default)]
    pub(super) changed: Option<[String; 2]>,
    /// While it goes; it is gone at once when left out.
    #[serde(default)]
    pub(super) dropped: Option<String>,
    /// It goes from these alone, and is in use in any other; from all when left out.
    #[serde(default)]
    pub(super) goes_from: Vec<String>,
    /// How long each takes.
    #[serde(default)]
    pub(super) takes: Takes,
    /// Fields that are set with the state that it comes to, as in a changed object.
    #[serde(default)]
    pub(super) reached: IndexMap<String, Value>,
}

/// A latency of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Takes {
    #[default]
    Object,
    Volume,
}

impl States {
    /// Whether an object of this state is at work.
    pub(super) fn is_busy(&self, state: &str) -> bool {
        let changing = self.changed.as_ref().map(|changed| &changed[0]);
        let busy = [Some(&self.made[0]), changing, self.dropped.as_ref()];
        busy.into_iter().flatten().any(|busy| busy == state)
    }

    /// Whether an object may be deleted as it is.
    pub(super) fn may_go(&self, row: &JsonMap) -> bool {
        let state = row.text(&self.field);
        self.goes_from.is_empty() || self.goes_from.iter().any(|from| from == state)
    }
}

/// How the object that works is found.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Root {
    /// Its collection; an object of that one is its own root.
    pub(super) of: String,
    /// Attributes that name it, or another object of its; the first that is set. Without any it
    /// is the root of the parent.
    #[serde(default)]
    pub(super) by: Vec<String>,
}

/// Which objects a field shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Shows {
    /// Their collections.
    pub(super) of: Vec<String>,
    /// Their attribute that names this one; their parent when left out.
    #[serde(default)]
    pub(super) by: Option<String>,
    #[serde(default, rename = "as")]
    pub(super) form: ShownAs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ShownAs {
    /// A list of maps with an id each.
    #[default]
    Refs,
    /// A list of ids.
    Ids,
    /// The id of the first, or null.
    One,
    /// A list of what they are.
    Whole,
}

fn id() -> String {
    "id".to_owned()
}

impl Collection {
    /// Attributes that name other objects, and the collections of those.
    pub(super) fn references(&self) -> impl Iterator<Item = (&String, &String)> {
        self.refers.iter().chain(&self.goes_with).chain(&self.forgets)
    }

    /// The collection whose objects these are parts of.
    pub(super) fn parent(&self) -> Option<&str> {
        self.at.split('/').find_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    /// `service.wrap`.
    pub(super) fn full_name(&self) -> String {
        format!("{}.{}", self.service, self.wrap)
    }
}
