//! The format of `services/*.yaml`: a service and its collections.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use super::super::answer::{self, Answer};
use super::values::Shape;

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Service {
    /// Its type in the catalog; also the first part of its path.
    #[serde(rename = "service")]
    pub(super) kind: String,
    /// Its name in the catalog.
    pub(super) name: String,
    pub(super) errors: Errors,
    /// Aliases and names of Neutron's extensions that the collections come with.
    #[serde(default)]
    pub(super) extensions: BTreeMap<String, String>,
    /// By the key around one object.
    pub(super) collections: BTreeMap<String, Collection>,
}

/// Whose error bodies a service has.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Errors {
    Neutron,
    Octavia,
    Keystone,
    Nova,
}

/// A collection of objects that are kept as they are given.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Collection {
    /// Its path within the service.
    pub(super) at: String,
    /// The key around a list; the one around an object with an s when left out.
    #[serde(default)]
    pub(super) list: String,
    /// Begins the names of errors: `AddressScope` is not found, in use, …
    #[serde(default)]
    pub(super) class: String,
    /// The attribute that is in the path of one object.
    #[serde(default = "id")]
    pub(super) id: String,
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
    pub(super) attributes: IndexMap<String, Attribute>,
    /// The only values of attributes.
    #[serde(default)]
    pub(super) values: BTreeMap<String, Vec<Value>>,
    /// Attributes that name objects of other collections: those must be there, and stay meanwhile.
    #[serde(default)]
    pub(super) refers: BTreeMap<String, String>,
    /// The same, but the object goes with the other one.
    #[serde(default)]
    pub(super) goes_with: BTreeMap<String, String>,
    /// Fields of the collections in Rust that name an object and keep it: `port.qos_policy_id`.
    #[serde(default)]
    pub(super) kept_by: Vec<String>,
    /// Attributes that no two objects of an owner have alike.
    #[serde(default)]
    pub(super) unique: Vec<Vec<String>>,
    #[serde(default)]
    pub(super) states: Option<States>,
    /// The service's words for what is not there and what is in use; `{id}` stands for the id.
    #[serde(default)]
    pub(super) missing: Option<String>,
    #[serde(default)]
    pub(super) in_use: Option<String>,

    /// Where it is from; set when the file is read.
    #[serde(skip)]
    pub(super) service: String,
    #[serde(skip)]
    pub(super) wrap: String,
    #[serde(skip, default = "neutron")]
    pub(super) errors: Errors,
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
    /// POST alone.
    Post,
    /// POST and PUT.
    Put,
    Nobody,
}

/// What an object is until its creation and its deletion are through.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct States {
    pub(super) field: String,
    /// At first, and then.
    pub(super) made: [String; 2],
    /// While it goes.
    pub(super) dropped: String,
}

fn id() -> String {
    "id".to_owned()
}

fn neutron() -> Errors {
    Errors::Neutron
}

impl Service {
    /// Reads a file; the error says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Service, String> {
        let mut service: Service = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        for (wrap, collection) in &mut service.collections {
            collection.service.clone_from(&service.kind);
            collection.wrap.clone_from(wrap);
            collection.errors = service.errors;
            if collection.list.is_empty() {
                collection.list = format!("{wrap}s");
            }
            if collection.class.is_empty() {
                collection.class = class(wrap);
            }
            let names = collection.values.keys().chain(collection.references().map(|it| it.0));
            let names =
                names.chain(collection.unique.iter().flatten()).chain(&collection.admin_sets);
            for name in names {
                if !collection.attributes.contains_key(name) {
                    return Err(format!("{wrap} has no attribute {name}"));
                }
            }
        }
        Ok(service)
    }
}

impl Collection {
    /// Attributes that name other objects, and the collections of those.
    pub(super) fn references(&self) -> impl Iterator<Item = (&String, &String)> {
        self.refers.iter().chain(&self.goes_with)
    }

    pub(super) fn fault(&self, status: u16, kind: &str, text: impl Into<String>) -> Answer {
        let text: String = text.into();
        match self.errors {
            Errors::Neutron => answer::neutron(status, kind, text),
            Errors::Octavia => answer::octavia(status, text),
            Errors::Keystone => answer::keystone(status, text),
            Errors::Nova => answer::nova(status, text),
        }
    }

    pub(super) fn not_found(&self, id: &str) -> Answer {
        let text = match &self.missing {
            Some(text) => text.replace("{id}", id),
            None => format!("{} {id} could not be found.", self.class),
        };
        self.fault(404, &format!("{}NotFound", self.class), text)
    }

    pub(super) fn stays(&self, id: &str) -> Answer {
        let text = match &self.in_use {
            Some(text) => text.replace("{id}", id),
            None => format!("{} {id} is in use.", self.class),
        };
        self.fault(409, &format!("{}InUse", self.class), text)
    }

    pub(super) fn bad_request(&self, text: impl Into<String>) -> Answer {
        self.fault(400, "HTTPBadRequest", text)
    }

    pub(super) fn forbidden(&self, verb: &str) -> Answer {
        match self.errors {
            Errors::Neutron => {
                let text = format!("rule:{verb}_{} is disallowed by policy", self.wrap);
                self.fault(403, "PolicyNotAuthorized", text)
            }
            _ => self.fault(403, "", "Policy does not allow this request to be performed."),
        }
    }
}

/// `port_pair` as part of an error's name: `PortPair`.
pub(super) fn class(wrap: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    wrap.split('_').filter_map(capital).collect()
}
