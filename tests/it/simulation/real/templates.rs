//! Templates of real types, at random, out of a table of what each may be given.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hearth::model::JsonMap;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Sandbox;
use crate::simulation::declared::Declared;
use crate::simulation::template::Template;
use crate::simulation::values::refers_to;
use crate::simulation::world::World;
use crate::support::chance::Chance;

const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// How many numbers there are for what must be told apart, and for parts of addresses.
const NUMBERS: u64 = 60_000;
const SMALL_NUMBERS: u64 = 250;

/// What a type may be given.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kind {
    /// Where the sandbox has its objects.
    pub(super) table: String,
    /// Whether others make objects there too.
    #[serde(default)]
    pub(super) shares_table: bool,
    /// Properties that the service completes.
    #[serde(default)]
    pub(super) completed: Vec<String>,
    /// The property that no two objects of the cloud may share.
    #[serde(default)]
    pub(super) unique: Option<String>,
    values: IndexMap<String, Vec<Value>>,
    #[serde(default)]
    refers: IndexMap<String, String>,
}

/// The types, each after those that it refers to.
pub(super) fn kinds() -> &'static IndexMap<String, Kind> {
    static KINDS: OnceLock<IndexMap<String, Kind>> = OnceLock::new();
    KINDS.get_or_init(|| {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/simulation/real.yaml");
        serde_yaml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
    })
}

impl Kind {
    /// A resource of the type; `None` where there is nothing that it needs.
    fn any(&self, type_name: &str, before: &Template, chance: &mut Chance) -> Option<Declared> {
        let mut used = BTreeMap::new();
        for (called, to) in &self.refers {
            let there = before.resources.iter().filter(|(_, declared)| declared.type_name == *to);
            let there: Vec<&String> = there.map(|(name, _)| name).collect();
            used.extend(chance.one_of(&there).map(|name| (called.as_str(), name.as_str())));
        }
        let mut properties = JsonMap::new();
        for (name, values) in &self.values {
            let possible: Vec<Value> =
                values.iter().filter_map(|value| filled(value, &used, chance)).collect();
            let value = chance.one_of(&possible)?;
            if !value.is_null() {
                properties.insert(name.clone(), value);
            }
        }
        Some(Declared::of(type_name, Value::Object(properties)))
    }

    /// Whether it can be without a property.
    fn does_without(&self, property: &str) -> bool {
        self.values[property].contains(&Value::Null)
    }
}

/// A value with its numbers, and the resources that it refers to; `None` where one is not there.
fn filled(value: &Value, used: &BTreeMap<&str, &str>, chance: &mut Chance) -> Option<Value> {
    Some(match value {
        Value::String(text) if text == "{m}" => json!(1 + chance.below(NUMBERS)),
        Value::String(text) if text.contains("{n}") || text.contains("{m}") => {
            let mut text = text.clone();
            for (mark, numbers) in [("{n}", SMALL_NUMBERS), ("{m}", NUMBERS)] {
                while text.contains(mark) {
                    text = text.replacen(mark, &(1 + chance.below(numbers)).to_string(), 1);
                }
            }
            json!(text)
        }
        Value::String(text) => match text.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
            Some(called) => json!(used.get(called)?),
            None => value.clone(),
        },
        Value::Array(items) => {
            let items = items.iter().map(|item| filled(item, used, chance));
            Value::Array(items.collect::<Option<_>>()?)
        }
        Value::Object(map) => {
            let entries =
                map.iter().map(|(key, it)| Some((key.clone(), filled(it, used, chance)?)));
            Value::Object(entries.collect::<Option<_>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

/// A template at random.
fn any(chance: &mut Chance) -> Template {
    let mut template = Template::default();
    for name in NAMES {
        if !chance.one_in(3) {
            let declared = any_resource(&template, chance);
            template.resources.insert(name.to_owned(), declared);
        }
    }
    template
}

/// A resource at random; what others can use comes first where there is nothing to use.
fn any_resource(before: &Template, chance: &mut Chance) -> Declared {
    loop {
        let at = chance.below(kinds().len() as u64) as usize;
        let (type_name, kind) = kinds().get_index(at).unwrap();
        let mut declared = kind.any(type_name, before, chance);
        if let Some(declared) = &mut declared
            && chance.one_in(5)
        {
            let names: Vec<String> = before.resources.keys().cloned().collect();
            declared.depends_on = chance.one_of(&names).into_iter().collect();
        }
        if let Some(declared) = declared {
            return declared;
        }
    }
}

/// The same template, with a change or a few.
fn changed(template: &Template, chance: &mut Chance) -> Template {
    let mut next = template.clone();
    for _ in 0..=chance.below(3) {
        change(&mut next, chance);
    }
    drop_lost_references(&mut next);
    next
}

fn change(template: &mut Template, chance: &mut Chance) {
    let count = template.resources.len() as u64;
    if count == 0 || chance.one_in(4) {
        let free = NAMES.iter().filter(|name| !template.resources.contains_key(**name));
        let free: Vec<&&str> = free.collect();
        if let Some(name) = chance.one_of(&free) {
            let declared = any_resource(template, chance);
            template.resources.insert((**name).to_owned(), declared);
        }
        return;
    }
    let index = chance.below(count) as usize;
    if chance.one_in(5) {
        template.resources.shift_remove_index(index);
        return;
    }
    let before =
        Template { resources: template.resources.iter().take(index).map(cloned).collect() };
    let (_, declared) = template.resources.get_index_mut(index).unwrap();
    if chance.one_in(8) {
        *declared = any_resource(&before, chance);
        return;
    }
    let kind = &kinds()[&declared.type_name];
    let Some(fresh) = kind.any(&declared.type_name, &before, chance) else { return };
    // Most changes are of one property; those that refer to others go together.
    let names: Vec<String> =
        fresh.properties.keys().chain(declared.properties.keys()).cloned().collect();
    let Some(name) = chance.one_of(&names) else { return };
    let refers = |it: &Declared, name: &str| {
        it.properties.get(name).is_some_and(|value| !refers_to(value).is_empty())
    };
    let together = refers(&fresh, &name) || refers(declared, &name);
    for other in names {
        if other != name && !(together && (refers(&fresh, &other) || refers(declared, &other))) {
            continue;
        }
        match fresh.properties.get(&other) {
            Some(value) => drop(declared.properties.insert(other, value.clone())),
            None => drop(declared.properties.shift_remove(&other)),
        }
    }
}

fn cloned((name, declared): (&String, &Declared)) -> (String, Declared) {
    (name.clone(), declared.clone())
}

/// What refers to something that is not there, or is something else now, goes.
fn drop_lost_references(template: &mut Template) {
    let mut known: IndexMap<String, String> = IndexMap::new();
    template.resources.retain(|name, declared| {
        let kind = &kinds()[&declared.type_name];
        declared.depends_on.retain(|name| known.contains_key(name));
        let is_there = |used: &String| {
            let is_of = |of: &String| kind.refers.values().any(|to| to == of);
            known.get(used).is_some_and(is_of)
        };
        declared.properties.retain(|property, value| {
            refers_to(value).iter().all(is_there) || !kind.does_without(property)
        });
        let stays = declared.properties.values().all(|value| refers_to(value).iter().all(is_there));
        if stays {
            known.insert(name.clone(), declared.type_name.clone());
        }
        stays
    });
}

impl World {
    /// The first template of a life of real types; its cloud comes with it.
    pub(in crate::simulation) fn any_real_template(&mut self) -> Template {
        self.real = Some(Sandbox::new(self.clock.clone()).into());
        let template = any(&mut self.chance);
        self.plant_bystanders(&template);
        template
    }

    /// A template with a change or a few.
    pub(in crate::simulation) fn changed(&mut self, template: &Template) -> Template {
        match self.is_real() {
            true => changed(template, &mut self.chance),
            false => template.changed(&mut self.chance),
        }
    }

    /// Whether a resource may be said to be unhealthy: the one that replaces it stands beside it.
    pub(in crate::simulation) fn may_be_marked(&self, template: &Template, name: &str) -> bool {
        let kind = template.resources.get(name).and_then(|it| kinds().get(&it.type_name));
        kind.is_none_or(|kind| kind.unique.is_none())
    }

    /// A template for an update that must succeed: what takes the place of something that failed
    /// stands beside it for a while, so that names are new where no two objects share one.
    pub(in crate::simulation) fn reachable(&mut self, template: &Template) -> Template {
        let mut next = self.changed(template);
        if !self.is_real() {
            return next.mended();
        }
        for declared in next.resources.values_mut() {
            let kind = kinds().get(&declared.type_name);
            let unique = kind.and_then(|kind| kind.unique.as_deref());
            if let Some(Value::String(name)) = unique.and_then(|it| declared.properties.get_mut(it))
            {
                name.insert(0, 'p');
            }
        }
        next
    }
}
