//! Templates of the simulation: few resources that refer to one another.

use std::collections::BTreeMap;

use hearth::model::JsonMap;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::declared::{Before, CONDITION, Declared, Deletion, HANDLE, any_hooks, any_resource};
use super::inside::{Files, Inside, type_of};
use super::values::refers_to;
use crate::support::chance::Chance;
use crate::support::world::hot;

const NAMES: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

/// The resources of a template, each after those that it refers to.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub(super) struct Template {
    pub(super) resources: IndexMap<String, Declared>,
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
            if declared.deletion != Deletion::Delete {
                resource["deletion_policy"] = declared.deletion.word().into();
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
            declared.mend();
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
                    declared.change_deletion(chance);
                }
            }
            3 | 4 if self.resources[index].inside.is_some() => {
                if let Some(inside) = &mut self.resources[index].inside {
                    inside.change(chance);
                }
            }
            _ => {
                let before: Before = self
                    .resources
                    .iter()
                    .take(index)
                    .map(|(n, it)| (n.clone(), it.clone()))
                    .collect();
                if let Some((_, declared)) = self.resources.get_index_mut(index) {
                    declared.change(&before, chance);
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
            declared.properties.retain(|property, value| {
                let right = |name: &String| {
                    known.get(name).is_some_and(|used| Declared::may_use(property, used))
                };
                refers_to(value).iter().all(right)
            });
            let needs = declared.needs();
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
