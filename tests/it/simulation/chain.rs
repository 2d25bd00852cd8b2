//! Chains: members of several types, one after the other, that are given the same.

use serde_json::{Value, json};

use super::declared::{Declared, OBJECT, TEST_RESOURCE};
use super::inside::{DEPTH_MAX, Files, Inside, any_within};
use super::template::Template;
use crate::support::chance::Chance;

/// The most members of a chain.
const MEMBERS_MAX: u64 = 3;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chain {
    pub(super) members: Vec<Declared>,
    value: String,
    concurrent: bool,
}

impl Chain {
    pub(super) fn any(chance: &mut Chance, depth: u64) -> Chain {
        Chain {
            members: (0..chance.below(MEMBERS_MAX + 1)).map(|_| any_link(chance, depth)).collect(),
            value: chance.below(3).to_string(),
            concurrent: chance.one_in(3),
        }
    }

    pub(super) fn write(&self, place: &str, files: &mut Files) -> Value {
        let link = |(at, member): (usize, &Declared)| {
            member.write(&format!("{place}-{at}"), files)["type"].clone()
        };
        let types: Vec<Value> = self.members.iter().enumerate().map(link).collect();
        json!({ "type": "OS::Heat::ResourceChain", "properties": {
            "resources": types, "concurrent": self.concurrent,
            "resource_properties": { "value": self.value } } })
    }

    pub(super) fn change(&mut self, chance: &mut Chance) {
        match chance.below(6) {
            0 => self.value = chance.below(3).to_string(),
            1 => self.concurrent = !self.concurrent,
            2 | 3 => self.members.push(any_link(chance, DEPTH_MAX)),
            _ if self.members.is_empty() => {}
            _ => {
                let at = chance.below(self.members.len() as u64) as usize;
                match chance.one_in(2) {
                    true => drop(self.members.remove(at)),
                    false => self.members[at] = any_link(chance, DEPTH_MAX),
                }
            }
        }
        self.members.truncate(MEMBERS_MAX as usize);
    }

    /// The members' template.
    pub(super) fn template(&self) -> Template {
        let given = json!({ "value": self.value }).as_object().cloned().unwrap();
        let member = |(at, member): (usize, &Declared)| {
            (at.to_string(), Declared { properties: given.clone(), ..member.clone() })
        };
        Template { resources: self.members.iter().enumerate().map(member).collect() }
    }
}

/// A member of a chain.
fn any_link(chance: &mut Chance, depth: u64) -> Declared {
    match chance.below(4) {
        0 if depth < DEPTH_MAX => {
            Declared::nested(Inside::Template(any_within(chance, depth + 1)), Default::default())
        }
        0 | 1 => Declared::of(TEST_RESOURCE, json!({})),
        _ => Declared::of(OBJECT, json!({})),
    }
}
