//! Templates of the simulation: few resources that refer to one another, and what they come to.

use std::collections::BTreeMap;

use hearth::model::JsonMap;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::inside::{Files, Inside, POLICY, type_of};
use crate::support::chance::Chance;
use crate::support::world::hot;

/// The model cloud's one type.
pub(super) const OBJECT: &str = "Model::Cloud::Object";
pub(super) const TEST_RESOURCE: &str = "OS::Heat::TestResource";
/// What signals are sent to, and who waits for them.
pub(super) const HANDLE: &str = "AWS::CloudFormation::WaitConditionHandle";
pub(super) const CONDITION: &str = "AWS::CloudFormation::WaitCondition";
const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

/// The resources of a template, each after those that it refers to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub(super) struct Template {
    pub(super) resources: IndexMap<String, Declared>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Declared {
    #[serde(rename = "type", default = "object")]
    pub(super) type_name: String,
    #[serde(default)]
    pub(super) properties: JsonMap,
    #[serde(default)]
    pub(super) depends_on: Vec<String>,
    #[serde(default)]
    pub(super) retain: bool,
    /// Where it waits for its user.
    #[serde(default)]
    pub(super) hooks: Vec<String>,
    /// What stands behind it, where its work is a child stack.
    #[serde(skip)]
    pub(super) inside: Option<Inside>,
}

impl Declared {
    /// Whether it keeps a value.
    pub(super) fn has_value(&self) -> bool {
        let is_own = self.type_name == OBJECT || self.type_name == TEST_RESOURCE;
        is_own || matches!(self.inside, Some(Inside::Template(_)))
    }
}

fn object() -> String {
    OBJECT.to_owned()
}

/// What `get_resource` and `get_attr` come to.
pub(super) trait Lookup {
    fn reference(&self, name: &str) -> Value;
    fn attribute(&self, name: &str, attribute: &str) -> Value;
    fn parameter(&self, name: &str) -> Value;
}

impl Template {
    /// As it is sent to the engine.
    pub(super) fn hot(&self) -> Value {
        self.write("", &mut Files::new())
    }

    /// The templates behind its types, by the names of their files.
    pub(super) fn files(&self) -> Files {
        let mut files = Files::new();
        self.write("", &mut files);
        files
    }

    /// As it is sent, in its place in the tree; the templates behind its types become files.
    pub(super) fn write(&self, place: &str, files: &mut Files) -> Value {
        let resources = self.resources.iter().map(|(name, declared)| {
            let mut resource = declared.write(&format!("{place}{name}"), files);
            resource["depends_on"] = json!(declared.depends_on);
            if declared.retain {
                resource["deletion_policy"] = "Retain".into();
            }
            (name.clone(), resource)
        });
        hot(Value::Object(resources.collect()))
    }

    /// The environment that comes with it.
    pub(super) fn environment(&self) -> JsonMap {
        let mut registry = json!({ "resources": self.hooks() });
        for file in self.files().into_keys() {
            let type_name = type_of(&file);
            registry[type_name] = file.into();
        }
        JsonMap::from_iter([("resource_registry".to_owned(), registry)])
    }

    /// Where resources wait for their user.
    fn hooks(&self) -> Value {
        let entry = |(name, declared): (&String, &Declared)| {
            let mut entry = match &declared.inside {
                Some(Inside::Template(within)) => within.hooks(),
                _ => json!({}),
            };
            if !declared.hooks.is_empty() {
                entry["hooks"] = json!(declared.hooks);
            }
            (name.clone(), entry)
        };
        Value::Object(self.resources.iter().map(entry).collect())
    }

    /// A template at random.
    pub(super) fn any(chance: &mut Chance) -> Template {
        let mut template = Template::default();
        for name in NAMES {
            if chance.one_in(2) {
                let declared = template.any_resource(chance);
                template.resources.insert(name.to_owned(), declared);
            }
        }
        template
    }

    /// The same template, with a change or a few.
    pub(super) fn changed(&self, chance: &mut Chance) -> Template {
        let mut next = self.clone();
        for _ in 0..=chance.below(3) {
            next.change(chance);
        }
        next
    }

    /// The same, with no resource that is told to fail.
    pub(super) fn mended(mut self) -> Template {
        for declared in self.resources.values_mut() {
            declared.properties.shift_remove("fail");
            if let Some(inside) = &mut declared.inside {
                inside.mend();
            }
        }
        let handles: Vec<String> = self.named(HANDLE).map(str::to_owned).collect();
        self.resources.retain(|_, declared| {
            let waits_for = declared.properties.get("Handle").map(refers_to);
            let is_right = |names: Vec<String>| names.iter().all(|name| handles.contains(name));
            declared.type_name != CONDITION || waits_for.is_some_and(is_right)
        });
        self.drop_forward_references();
        self
    }

    /// The names of a type's resources.
    fn named<'a>(&'a self, type_name: &'a str) -> impl Iterator<Item = &'a str> {
        let of_type = move |(_, declared): &(&String, &Declared)| declared.type_name == type_name;
        self.resources.iter().filter(of_type).map(|(name, _)| name.as_str())
    }

    fn change(&mut self, chance: &mut Chance) {
        let count = self.resources.len() as u64;
        if count == 0 || chance.one_in(5) {
            let free: Vec<_> =
                NAMES.iter().filter(|name| !self.resources.contains_key(**name)).collect();
            if !free.is_empty() {
                let name = free[chance.below(free.len() as u64) as usize];
                let declared = self.any_resource(chance);
                self.resources.insert((*name).to_owned(), declared);
            }
            return;
        }
        let index = chance.below(count) as usize;
        match chance.below(6) {
            0 => {
                self.resources.shift_remove_index(index);
            }
            1 => {
                // The other way round: who was used uses now.
                let other = chance.below(count) as usize;
                self.resources.swap_indices(index, other);
            }
            2 if chance.one_in(2) => {
                if let Some((_, declared)) = self.resources.get_index_mut(index) {
                    declared.hooks = any_hooks(chance);
                }
            }
            2 => {
                if let Some((_, declared)) = self.resources.get_index_mut(index) {
                    let may = declared.inside.is_none() && !declared.retain;
                    declared.retain = may && chance.one_in(3);
                }
            }
            3 | 4 if self.resources[index].inside.is_some() => {
                if let Some(inside) = &mut self.resources[index].inside {
                    inside.change(chance);
                }
            }
            _ => {
                let before: IndexMap<String, Declared> = self
                    .resources
                    .iter()
                    .take(index)
                    .map(|(n, it)| (n.clone(), it.clone()))
                    .collect();
                let keeps = chance.one_in(2);
                if let Some((_, declared)) = self.resources.get_index_mut(index) {
                    let fresh = any_resource(&before, chance);
                    if declared.inside.is_some() {
                        declared.properties = any_given(&before, chance);
                    } else if keeps && fresh.type_name == declared.type_name {
                        declared.properties.extend(fresh.properties);
                    } else {
                        *declared = fresh;
                    }
                }
            }
        }
        self.drop_forward_references();
    }

    /// What is referred to stands before its user.
    fn drop_forward_references(&mut self) {
        let mut known: BTreeMap<String, Declared> = BTreeMap::new();
        self.resources.retain(|name, declared| {
            declared.depends_on.retain(|name| known.contains_key(name));
            let needs = match declared.type_name.as_str() {
                CONDITION => Some("Handle"),
                POLICY => Some("auto_scaling_group_id"),
                _ => None,
            };
            declared.properties.retain(|key, value| {
                let right = |name: &String| {
                    known.get(name).is_some_and(|used| match key.as_str() {
                        "Handle" => used.type_name == HANDLE,
                        "auto_scaling_group_id" => used.scales(),
                        "uses" => used.inside.is_none() && used.has_value(),
                        _ => used.has_value(),
                    })
                };
                refers_to(value).iter().all(right)
            });
            let stays = needs.is_none_or(|needed| declared.properties.contains_key(needed));
            if stays {
                known.insert(name.clone(), declared.clone());
            }
            stays
        });
        // What depends on a condition that went has nothing to wait for.
        let names: Vec<String> = self.resources.keys().cloned().collect();
        for declared in self.resources.values_mut() {
            declared.depends_on.retain(|name| names.contains(name));
        }
    }

    fn any_resource(&self, chance: &mut Chance) -> Declared {
        any_resource(&self.resources, chance)
    }
}

/// No hook, most of the time.
fn any_hooks(chance: &mut Chance) -> Vec<String> {
    const HOOKS: [&str; 6] =
        ["pre-create", "post-create", "pre-update", "post-update", "pre-delete", "post-delete"];
    let hooks = HOOKS.into_iter().filter(|_| chance.one_in(5));
    hooks.map(str::to_owned).collect()
}

/// A handle, or somebody who waits for one.
fn any_waiting(before: &IndexMap<String, Declared>, chance: &mut Chance) -> Declared {
    let handle = before.iter().find(|(_, declared)| declared.type_name == HANDLE);
    let (type_name, properties) = match handle {
        Some((name, _)) => {
            (CONDITION, json!({ "Handle": { "get_resource": name }, "Timeout": 60 }))
        }
        None => (HANDLE, json!({})),
    };
    Declared {
        type_name: type_name.to_owned(),
        properties: properties.as_object().cloned().unwrap_or_default(),
        depends_on: Vec::new(),
        retain: false,
        hooks: if chance.one_in(8) { any_hooks(chance) } else { Vec::new() },
        inside: None,
    }
}

/// What a template behind a type is given.
pub(super) fn any_given(before: &IndexMap<String, Declared>, chance: &mut Chance) -> JsonMap {
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
    before: &IndexMap<String, Declared>,
    chance: &mut Chance,
    which: impl Fn(&Declared) -> bool,
) -> Option<String> {
    let names: Vec<&String> =
        before.iter().filter(|(_, it)| which(it)).map(|(name, _)| name).collect();
    let name = (!names.is_empty()).then(|| names[chance.below(names.len() as u64) as usize]);
    name.filter(|_| chance.one_in(2)).cloned()
}

pub(super) fn any_resource(before: &IndexMap<String, Declared>, chance: &mut Chance) -> Declared {
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
    Declared {
        type_name: if is_object { OBJECT } else { TEST_RESOURCE }.to_owned(),
        properties,
        depends_on: some(chance).into_iter().collect(),
        retain: chance.one_in(12),
        hooks: if chance.one_in(8) { any_hooks(chance) } else { Vec::new() },
        inside: None,
    }
}

/// The resources that a value refers to.
fn refers_to(value: &Value) -> Vec<String> {
    match value {
        Value::Object(call) => match (call.get("get_resource"), call.get("get_attr")) {
            (Some(name), _) => name.as_str().map(str::to_owned).into_iter().collect(),
            (None, Some(path)) => path[0].as_str().map(str::to_owned).into_iter().collect(),
            (None, None) => call.values().flat_map(refers_to).collect(),
        },
        Value::Array(items) => items.iter().flat_map(refers_to).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}

/// A property with its references looked up.
pub(super) fn evaluated(value: &Value, lookup: &dyn Lookup) -> Value {
    match value {
        Value::Object(call) => {
            if let Some(name) = call.get("get_resource").and_then(Value::as_str) {
                return lookup.reference(name);
            }
            if let Some(name) = call.get("get_param").and_then(Value::as_str) {
                return lookup.parameter(name);
            }
            match call.get("get_attr").and_then(Value::as_array).map(Vec::as_slice) {
                Some([Value::String(name), Value::String(attribute)]) => {
                    lookup.attribute(name, attribute)
                }
                _ => value.clone(),
            }
        }
        Value::Array(items) => items.iter().map(|item| evaluated(item, lookup)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}
