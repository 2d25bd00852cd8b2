//! Recorded lives of resources, played against the types' programs: what another engine was given,
//! asked and answered (`recorded_calls.json`), and what Hearth asks on the same.

mod answers;
pub mod life;
mod made;
mod shown;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use self::answers::Recorded;
use self::life::{End, Life};
use super::asks::Facts;
use super::job::Subject;
use super::registry::Registry;
use crate::clock::{Clock, SimulatedClock};
use crate::model::{Action, IndexMap, JsonMap, ProjectId, ResourceId, StackId};
use crate::openstack::CfnPlaces;
use crate::resource_types::failure::Failure;

/// A file of recorded lives, by types. Placeholders (`{ref:network}`) stand for the values of the
/// table.
#[derive(Clone, Debug, Deserialize)]
pub struct Recording {
    placeholders: BTreeMap<String, String>,
    types: IndexMap<String, RecordedType>,
}

/// What was recorded of a type, or what Hearth asks in its place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedType {
    /// The properties at the creation.
    pub given: JsonMap,
    /// Those that one update changes.
    #[serde(default)]
    pub updated: JsonMap,
    /// By the operation, in order.
    pub requests: IndexMap<String, Vec<RecordedRequest>>,
    /// Requests that turn names into ids, by the operation.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub lookups: IndexMap<String, Vec<RecordedRequest>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<RecordedAnswer>,
    /// Why an operation failed, or that the resource is replaced instead.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub ends: IndexMap<String, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedRequest {
    pub service: String,
    pub method: String,
    /// As it was sent to the service, without the query.
    pub path: String,
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    pub query: JsonMap,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Value>,
    /// Which of the type's answers it got.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    pub status: u16,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub body: Value,
}

/// What goes wrong once in a life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trouble {
    pub what: TroubleKind,
    /// Which of the life's changes or looks it meets, or after which beat the process is killed.
    pub at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TroubleKind {
    RequestLost,
    AnswerLost,
    Refused,
    LookRefused,
    Killed,
}

/// What came of a life.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// How often something was to be changed.
    pub changes: usize,
    /// How often a service was asked what there is.
    pub looks: usize,
    pub beats: usize,
    /// The paths of what was made and not deleted.
    pub left: Vec<String>,
    /// The last change of each kind that was carried out, by method and path.
    pub effects: BTreeMap<String, Option<Value>>,
}

/// The operations of a life, in order.
const OPERATIONS: [&str; 10] = [
    "create",
    "show",
    "check",
    "suspend",
    "resume",
    "snapshot",
    "delete_snapshot",
    "signal",
    "update",
    "delete",
];

impl Recording {
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// The recorded types, in the order of the file.
    pub fn types(&self) -> impl Iterator<Item = (&String, &RecordedType)> {
        self.types.iter()
    }

    /// What Hearth asks in the life that was recorded of a type; `None` where it cannot make such
    /// resources.
    pub fn play(&self, registry: &Registry, type_name: &str) -> Option<RecordedType> {
        Some(self.play_through(registry, type_name, None)?.0)
    }

    /// The same while something goes wrong, and what comes of it.
    pub fn play_through(
        &self,
        registry: &Registry,
        type_name: &str,
        trouble: Option<Trouble>,
    ) -> Option<(RecordedType, Outcome)> {
        let recorded = self.types.get(type_name)?;
        let concrete: RecordedType = self.concrete(recorded)?;
        let facts = Facts {
            now: SimulatedClock::new(1).now(),
            stack_user_role: Some("heat_stack_user".to_owned()),
            auth_url: "http://identity.test/v3".to_owned(),
            region: None,
            cfn_places: CfnPlaces::default(),
        };
        let mut life = Life::new(registry, type_name, self.subject(), facts)?;
        let mut played = RecordedType {
            given: recorded.given.clone(),
            updated: recorded.updated.clone(),
            ..RecordedType::default()
        };
        let mut world = Recorded::new(&concrete, self.value("{project}"), trouble);
        for operation in OPERATIONS {
            // Only what was done then is done now.
            let is_recorded = concrete.requests.contains_key(operation);
            if !is_recorded && !matches!(operation, "create" | "update" | "delete") {
                continue;
            }
            world.begin(operation);
            let end = operate(&mut life, operation, &concrete, &mut world);
            let (requests, lookups) = world.asked();
            if !requests.is_empty() {
                played.requests.insert(operation.to_owned(), requests);
            }
            if !lookups.is_empty() {
                played.lookups.insert(operation.to_owned(), lookups);
            }
            let (end, has_failed) = match end {
                Ok(End::Done | End::Nothing) => continue,
                Ok(End::Replaced(reason)) => (format!("replaced: {reason}"), false),
                Err(error) => (error.told(), true),
            };
            played.ends.insert(operation.to_owned(), end);
            if has_failed && trouble.is_some() {
                // A deletion that failed is asked for again; all else is deleted.
                if operation == "delete_snapshot" {
                    drop(life.delete_snapshot(&mut world));
                }
                world.begin("delete");
                drop(life.delete(&mut world));
                break;
            }
        }
        Some((self.abstracted(&played)?, world.outcome()))
    }

    fn subject(&self) -> Subject {
        let id = |name: &str| Uuid::try_parse(self.value(name)).unwrap_or_default();
        Subject {
            stack_id: Some(StackId(id("{stack}"))),
            stack_name: Some("stk".into()),
            project_id: Some(ProjectId(self.value("{project}").to_owned())),
            // What Heat's engine gives an id of its own has the resource's in Hearth.
            resource_id: Some(ResourceId(id("{id}"))),
            name: Some("r".into()),
            physical_name: self.value("{phys}").to_owned(),
            ..Subject::default()
        }
    }

    fn value<'a>(&'a self, placeholder: &'a str) -> &'a str {
        self.placeholders.get(placeholder).map_or(placeholder, String::as_str)
    }

    /// The same with values in the place of placeholders.
    fn concrete(&self, of: &RecordedType) -> Option<RecordedType> {
        replaced(of, self.placeholders.iter())
    }

    /// The same with placeholders in the place of values.
    fn abstracted(&self, of: &RecordedType) -> Option<RecordedType> {
        replaced(of, self.placeholders.iter().map(|(name, value)| (value, name)))
    }
}

/// Texts within replaced by others; a longer one comes before one that it contains.
fn replaced<'a>(
    of: &RecordedType,
    texts: impl Iterator<Item = (&'a String, &'a String)>,
) -> Option<RecordedType> {
    let mut texts: Vec<_> = texts.filter(|(from, _)| !from.is_empty()).collect();
    texts.sort_by_key(|(from, _)| std::cmp::Reverse(from.len()));
    let mut text = serde_json::to_string(of).ok()?;
    for (from, to) in texts {
        text = text.replace(from, to);
    }
    serde_json::from_str(&text).ok()
}

fn operate(
    life: &mut Life<'_>,
    operation: &str,
    recorded: &RecordedType,
    world: &mut Recorded<'_>,
) -> Result<End, Failure> {
    match operation {
        "create" => life.create(recorded.given.clone(), world),
        "show" => life.shown(world).map(|_| End::Done),
        "check" => life.act(Action::Check, world),
        "suspend" => life.act(Action::Suspend, world),
        "resume" => life.act(Action::Resume, world),
        "snapshot" => life.act(Action::Snapshot, world),
        "delete_snapshot" => life.delete_snapshot(world),
        "signal" => life.signal(world),
        "update" if recorded.updated.is_empty() => Ok(End::Nothing),
        "update" => life.update(&recorded.updated, world),
        "delete" => life.delete(world),
        _ => Ok(End::Nothing),
    }
}
