//! A resource of a template, and any of them at random.

use hearth::model::JsonMap;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::inside::Inside;
use super::instances::LAUNCH;
use super::policy::{POLICIES, Policy};
use crate::support::chance::Chance;

/// The model cloud's one type.
pub(super) const OBJECT: &str = "Model::Cloud::Object";
pub(super) const TEST_RESOURCE: &str = "OS::Heat::TestResource";
/// What signals are sent to, and who waits for them.
pub(super) const HANDLE: &str = "AWS::CloudFormation::WaitConditionHandle";
pub(super) const CONDITION: &str = "AWS::CloudFormation::WaitCondition";

/// The resources before another one, by their names.
pub(super) type Before = IndexMap<String, Declared>;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declared {
    #[serde(rename = "type", default = "object")]
    pub(super) type_name: String,
    #[serde(default)]
    pub(super) properties: JsonMap,
    #[serde(default)]
    pub(super) depends_on: Vec<String>,
    #[serde(default)]
    pub(super) deletion: Deletion,
    /// Where it waits for its user.
    #[serde(default)]
    pub(super) hooks: Vec<String>,
    /// What stands behind it, where its work is a child stack.
    #[serde(skip)]
    pub(super) inside: Option<Inside>,
}

/// What a deletion leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
pub(super) enum Deletion {
    #[default]
    Delete,
    Retain,
    Snapshot,
}

impl Deletion {
    /// As templates say it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Deletion::Delete => "Delete",
            Deletion::Retain => "Retain",
            Deletion::Snapshot => "Snapshot",
        }
    }
}

impl Declared {
    /// A resource of a type, with nothing but properties.
    pub(super) fn of(type_name: &str, properties: Value) -> Declared {
        Declared {
            type_name: type_name.to_owned(),
            properties: properties.as_object().cloned().unwrap(),
            ..Declared::default()
        }
    }

    /// Whether it keeps a value.
    pub(super) fn has_value(&self) -> bool {
        let is_own = self.type_name == OBJECT || self.type_name == TEST_RESOURCE;
        is_own || matches!(self.inside, Some(Inside::Template(_)))
    }

    /// Whether its properties are what a template behind it is given.
    pub(super) fn is_given(&self) -> bool {
        matches!(self.inside, Some(Inside::Template(_) | Inside::Beside(_)))
    }

    /// The property without which it is nothing.
    pub(super) fn needs(&self) -> Option<&'static str> {
        match self.type_name.as_str() {
            CONDITION => return Some("Handle"),
            _ if matches!(self.inside, Some(Inside::Instances(_))) => {
                return Some("LaunchConfigurationName");
            }
            _ => {}
        }
        Policy::of(&self.type_name).map(|policy| policy.group)
    }

    /// Whether one of its properties may refer to another resource.
    pub(super) fn may_use(property: &str, used: &Declared) -> bool {
        match property {
            "Handle" => used.type_name == HANDLE,
            "LaunchConfigurationName" => used.type_name == LAUNCH,
            "uses" => used.inside.is_none() && used.has_value(),
            _ if POLICIES.iter().any(|policy| policy.group == property) => used.scales(),
            _ => used.has_value(),
        }
    }

    /// It is not told to fail.
    pub(super) fn mend(&mut self) {
        self.properties.shift_remove("fail");
        if let Some(inside) = &mut self.inside {
            inside.mend();
        }
    }

    /// Gives its deletion another policy, or none.
    pub(super) fn change_deletion(&mut self, chance: &mut Chance) {
        self.deletion = match chance.below(6) {
            0 | 1 if self.deletion == Deletion::Delete => Deletion::Retain,
            2 | 3 if self.deletion == Deletion::Delete && self.type_name == OBJECT => {
                Deletion::Snapshot
            }
            _ => Deletion::Delete,
        };
    }

    /// Gives it other properties, or makes it another resource; what stands behind it stays.
    pub(super) fn change(&mut self, before: &Before, chance: &mut Chance) {
        let keeps = chance.one_in(2);
        let fresh = any_resource(before, chance);
        if self.is_given() {
            self.properties = any_given(before, chance);
        } else if self.type_name == LAUNCH {
            *self = super::instances::any_configuration(chance);
        } else if self.inside.is_some() {
            // Its properties say what it is made of.
        } else if keeps && fresh.type_name == self.type_name {
            self.properties.extend(fresh.properties);
        } else {
            *self = fresh;
        }
    }
}

fn object() -> String {
    OBJECT.to_owned()
}

/// No hook, most of the time.
pub(super) fn any_hooks(chance: &mut Chance) -> Vec<String> {
    const HOOKS: [&str; 6] =
        ["pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete"];
    let hooks = HOOKS.into_iter().filter(|_| chance.one_in(5));
    hooks.map(str::to_owned).collect()
}

/// A handle, or somebody who waits for one.
fn any_waiting(before: &Before, chance: &mut Chance) -> Declared {
    let handle = before.iter().find(|(_, declared)| declared.type_name == HANDLE);
    let waiting = match handle {
        Some((name, _)) => {
            Declared::of(CONDITION, json!({ "Handle": { "get_resource": name }, "Timeout": 60 }))
        }
        None => Declared::of(HANDLE, json!({})),
    };
    Declared { hooks: if chance.one_in(8) { any_hooks(chance) } else { Vec::new() }, ..waiting }
}

/// What a template behind a type is given.
pub(super) fn any_given(before: &Before, chance: &mut Chance) -> JsonMap {
    let value = match any_of(before, chance, Declared::has_value) {
        Some(name) => json!({ "get_attr": [name, "output"] }),
        None => json!(chance.below(3).to_string()),
    };
    let mut given = JsonMap::from_iter([("value".to_owned(), value)]);
    let is_object = |declared: &Declared| declared.type_name == OBJECT;
    if let Some(name) = any_of(before, chance, is_object) {
        given.insert("uses".to_owned(), json!([{ "get_resource": name }]));
    }
    given
}

/// One of some resources, or none.
fn any_of(
    before: &Before,
    chance: &mut Chance,
    which: impl Fn(&Declared) -> bool,
) -> Option<String> {
    let names: Vec<&String> =
        before.iter().filter(|(_, it)| which(it)).map(|(name, _)| name).collect();
    let name = (!names.is_empty()).then(|| names[chance.below(names.len() as u64) as usize]);
    name.filter(|_| chance.one_in(2)).cloned()
}

pub(super) fn any_resource(before: &Before, chance: &mut Chance) -> Declared {
    if chance.one_in(6) {
        return any_waiting(before, chance);
    }
    let some = |chance: &mut Chance| any_of(before, chance, Declared::has_value);
    let used =
        |chance: &mut Chance| any_of(before, chance, |it| it.has_value() && it.inside.is_none());
    let is_object = !chance.one_in(4);
    let mut properties = JsonMap::new();
    let value = match some(chance) {
        Some(name) if chance.one_in(2) => json!({ "get_attr": [name, "output"] }),
        _ => json!(chance.below(3).to_string()),
    };
    properties.insert("value".into(), value);
    if is_object {
        if chance.one_in(3) {
            properties.insert("late".into(), json!(chance.below(2).to_string()));
        }
        if chance.one_in(3) {
            properties.insert("key".into(), json!(chance.below(2).to_string()));
        }
        if let Some(name) = used(chance) {
            properties.insert("uses".into(), json!([{ "get_resource": name }]));
        }
    } else {
        properties.insert("update_replace".into(), json!(chance.one_in(2)));
        if chance.one_in(4) {
            properties.insert("fail".into(), json!(true));
        }
    }
    let mut declared = Declared {
        type_name: if is_object { OBJECT } else { TEST_RESOURCE }.to_owned(),
        properties,
        depends_on: some(chance).into_iter().collect(),
        ..Declared::default()
    };
    if chance.one_in(6) {
        declared.change_deletion(chance);
    }
    if chance.one_in(8) {
        declared.hooks = any_hooks(chance);
    }
    declared
}
