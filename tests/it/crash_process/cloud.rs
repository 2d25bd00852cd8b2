//! What the cloud holds, by kind and id, to compare it with what the stacks say.

use std::collections::{BTreeMap, BTreeSet};

use hearth::sandbox::RunningSandbox;
use serde_json::Value;

use super::story::Story;

/// Resource types, and the sandbox's name for what they stand for.
const KINDS: [(&str, &str); 6] = [
    ("OS::Neutron::Net", "networks"),
    ("OS::Neutron::Subnet", "subnets"),
    ("OS::Neutron::Port", "ports"),
    ("OS::Neutron::SecurityGroup", "security_groups"),
    ("OS::Cinder::Volume", "volumes"),
    ("OS::Nova::Server", "servers"),
];

/// The ids of each kind.
#[derive(Clone, Debug, Default)]
pub(super) struct CloudSeen(BTreeMap<&'static str, BTreeSet<String>>);

impl CloudSeen {
    /// What the cloud holds now.
    pub(super) fn of(sandbox: &RunningSandbox) -> Self {
        let state = sandbox.state();
        let mut seen = Self::default();
        for (_, kind) in KINDS {
            for row in rows(&state, kind) {
                // Made by the cloud for a project, with its first use.
                if kind == "security_groups" && row["name"] == "default" {
                    continue;
                }
                seen.0.entry(kind).or_default().insert(row["id"].as_str().unwrap().to_owned());
            }
        }
        seen
    }

    /// Adds the object of a resource, if its type has one. It must be the only one to have it.
    pub(super) fn add(&mut self, resource_type: &str, id: &str) {
        if let Some((_, kind)) = KINDS.iter().find(|(name, _)| *name == resource_type) {
            let fresh = self.0.entry(kind).or_default().insert(id.to_owned());
            assert!(fresh, "two resources have the {kind} {id}");
        }
    }

    /// The cloud holds this and nothing else, but for what is left of failed updates: those keep
    /// what was replaced until the next one.
    pub(super) fn assert_all_of(&self, cloud: &Self, stories: &[Story]) {
        for (_, kind) in KINDS {
            let none = BTreeSet::new();
            let said = self.0.get(kind).unwrap_or(&none);
            let there = cloud.0.get(kind).unwrap_or(&none);
            let missing: Vec<_> = said.difference(there).collect();
            assert!(
                missing.is_empty(),
                "{kind} that stacks have and the cloud has not: {missing:?}"
            );
            let orphans: Vec<_> = there.difference(said).collect();
            let excused = stories.iter().any(Story::may_keep_replaced);
            assert!(orphans.is_empty() || excused, "{kind} of no stack: {orphans:?}");
        }
    }
}

/// The rows of a kind.
pub(super) fn rows<'a>(state: &'a Value, kind: &str) -> impl Iterator<Item = &'a Value> {
    state[kind]["rows"].as_array().into_iter().flatten()
}

/// One row of a kind.
pub(super) fn row<'a>(state: &'a Value, kind: &str, id: &str) -> &'a Value {
    let found = rows(state, kind).find(|row| row["id"] == id);
    found.unwrap_or_else(|| panic!("the cloud has no {kind} {id}"))
}
