//! Templates of the simulation: few resources that refer to one another, and what they come to.

use hearth::model::JsonMap;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::chance::Chance;
use crate::support::world::hot;

/// The model cloud's one type.
pub(super) const OBJECT: &str = "Model::Cloud::Object";
const TEST_RESOURCE: &str = "OS::Heat::TestResource";
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
}

fn object() -> String {
    OBJECT.to_owned()
}

/// What `get_resource` and `get_attr` come to.
pub(super) trait Lookup {
    fn reference(&self, name: &str) -> Value;
    fn attribute(&self, name: &str, attribute: &str) -> Value;
}

impl Template {
    /// As it is sent to the engine.
    pub(super) fn hot(&self) -> Value {
        let resources = self.resources.iter().map(|(name, declared)| {
            let mut resource = json!({
                "type": declared.type_name,
                "properties": declared.properties,
                "depends_on": declared.depends_on,
            });
            if declared.retain {
                resource["deletion_policy"] = "Retain".into();
            }
            (name.clone(), resource)
        });
        hot(Value::Object(resources.collect()))
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

    /// Whether no resource is told to fail.
    pub(super) fn mended(mut self) -> Template {
        for declared in self.resources.values_mut() {
            declared.properties.shift_remove("fail");
        }
        self
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
            2 => {
                if let Some((_, declared)) = self.resources.get_index_mut(index) {
                    declared.retain = !declared.retain && chance.one_in(3);
                }
            }
            _ => {
                let before: Vec<String> = self.resources.keys().take(index).cloned().collect();
                let keeps = chance.one_in(2);
                if let Some((_, declared)) = self.resources.get_index_mut(index) {
                    let fresh = any_resource(&before, chance);
                    if keeps && fresh.type_name == declared.type_name {
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
        let names: Vec<String> = self.resources.keys().cloned().collect();
        for (index, declared) in self.resources.values_mut().enumerate() {
            let known = |name: &str| names[..index].iter().any(|before| before == name);
            declared.depends_on.retain(|name| known(name));
            declared.properties.retain(|_, value| refers_to(value).iter().all(|name| known(name)));
        }
    }

    fn any_resource(&self, chance: &mut Chance) -> Declared {
        let before: Vec<String> = self.resources.keys().cloned().collect();
        any_resource(&before, chance)
    }
}

fn any_resource(before: &[String], chance: &mut Chance) -> Declared {
    let some = |chance: &mut Chance| {
        let name =
            (!before.is_empty()).then(|| &before[chance.below(before.len() as u64) as usize]);
        name.filter(|_| chance.one_in(2)).cloned()
    };
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
        if let Some(name) = some(chance) {
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
