//! Groups of deployments: a member for each server, changed in batches. To the model cloud a
//! deployment is an object that knows its server and its configuration.

use std::collections::BTreeMap;

use hearth::actors::resource::BeatCall;
use hearth::resource_types::{Beat, Failure, Work};
use serde_json::{Value, json};

use super::cloud::{Cloud, Fate, done, next};
use super::declared::Declared;
use super::template::Template;
use crate::support::chance::Chance;

/// A member.
pub(super) const DEPLOYMENT: &str = "OS::Heat::SoftwareDeployment";
const NAMES: [&str; 3] = ["one", "two", "three"];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Deployments {
    /// By the names of the members.
    servers: BTreeMap<String, String>,
    config: String,
    /// How many change at once.
    batch: Option<u64>,
    pause_secs: u64,
}

impl Deployments {
    pub(super) fn any(chance: &mut Chance) -> Deployments {
        let named = NAMES.into_iter().filter(|_| chance.one_in(2));
        let names: Vec<&str> = named.collect();
        let mut server = |name: &str| (name.to_owned(), format!("server-{}", chance.below(2)));
        Deployments {
            servers: names.into_iter().map(&mut server).collect(),
            config: format!("config-{}", chance.below(3)),
            batch: chance.one_in(2).then(|| 1 + chance.below(2)),
            pause_secs: if chance.one_in(2) { 5 } else { 0 },
        }
    }

    pub(super) fn write(&self) -> Value {
        let mut resource = json!({ "type": "OS::Heat::SoftwareDeploymentGroup", "properties": {
            "servers": self.servers, "config": self.config, "signal_transport": "NO_SIGNAL" } });
        if let Some(batch) = self.batch {
            let policy = json!({ "max_batch_size": batch, "pause_time": self.pause_secs });
            resource["update_policy"] = json!({ "batch_create": policy, "rolling_update": policy });
        }
        resource
    }

    pub(super) fn change(&mut self, chance: &mut Chance) {
        let other = Deployments::any(chance);
        match chance.below(4) {
            0 => self.config = other.config,
            1 => self.batch = other.batch,
            _ => self.servers = other.servers,
        }
    }

    /// The members' template.
    pub(super) fn template(&self) -> Template {
        let member = |(name, server): (&String, &String)| {
            let properties = json!({ "server": server, "config": self.config });
            (name.clone(), Declared::of(DEPLOYMENT, properties))
        };
        Template { resources: self.servers.iter().map(member).collect() }
    }
}

impl Cloud {
    /// A beat of a deployment.
    pub(super) fn deploy(&mut self, call: &BeatCall, fate: Fate) -> Result<Beat, Failure> {
        let subject = &call.subject;
        match (call.step.name.as_str(), &call.work) {
            ("plan", Work::Create | Work::Update { .. }) => Ok(next(None, "deploy", true)),
            ("plan", Work::Delete) => Ok(next(None, "remove", true)),
            ("plan", Work::Act(_)) | ("give_up", _) => Ok(done()),
            ("deploy", Work::Update { .. }) if subject.physical_id.is_some() => {
                self.present(subject)?.properties = subject.properties.clone();
                Ok(next(None, "wait", false))
            }
            ("deploy", _) => {
                let id = self.make(subject, call.attempt, fate);
                Ok(next(Some(id), "wait", false))
            }
            ("remove", _) => {
                let found = self.find(&subject.physical_name);
                if let Some(id) = subject.physical_id.clone().or(found) {
                    self.delete(&id);
                }
                Ok(done())
            }
            ("wait", _) => self.look(subject),
            (other, _) => panic!("the model cloud knows no step {other:?} of a deployment"),
        }
    }
}
