//! A stack of real types at rest beside what the sandbox holds: nothing twice, nothing of nobody,
//! what its revision says, and everything else as it was.

use std::collections::BTreeMap;

use hearth::actors::resource::Resource;
use hearth::actors::stack::Stack;
use hearth::model::{Action, JsonMap, Status};
use hearth::resource_types::Subject;
use hearth::resource_types::recorded::life::Life;
use serde_json::{Value, json};

use super::templates::{Kind, kinds};
use crate::simulation::folds::{is_gone, token};
use crate::simulation::template::Template;
use crate::simulation::values::{Lookup, evaluated};
use crate::simulation::world::World;

/// What comes and goes by itself.
const NOT_COMPARED: [&str; 1] = ["tokens"];

/// The rows of a table.
fn rows<'a>(state: &'a Value, table: &str) -> impl Iterator<Item = &'a Value> {
    state[table]["rows"].as_array().into_iter().flatten()
}

/// The bystanders, and how the cloud shows them.
#[derive(Default)]
struct Made(BTreeMap<String, (String, JsonMap)>);

impl Lookup for Made {
    fn reference(&self, name: &str) -> Value {
        self.0[name].0.clone().into()
    }

    fn attribute(&self, name: &str, attribute: &str) -> Value {
        self.0[name].1["show"][attribute].clone()
    }

    fn parameter(&self, _name: &str) -> Value {
        Value::Null
    }
}

impl World {
    /// Somebody else's objects, of the same as a template says, stand in the cloud.
    pub(in crate::simulation) fn plant_bystanders(&mut self, template: &Template) {
        let registry = self.stack_knowledge.registry.clone();
        let mut cloud = self.real.as_ref().unwrap().borrow_mut();
        let mut made = Made::default();
        for (name, declared) in &template.resources {
            let subject =
                Subject { physical_name: format!("somebody-s-{name}"), ..Subject::default() };
            let mut life =
                Life::new(&registry, &declared.type_name, subject, cloud.facts()).unwrap();
            let unique = kinds()[&declared.type_name].unique.as_deref();
            let given = declared.properties.iter().map(|(property, value)| {
                let value = match unique == Some(property) {
                    true => json!(format!("x{}", value.as_str().unwrap())),
                    false => evaluated(value, &made),
                };
                (property.clone(), value)
            });
            life.create(given.collect(), &mut *cloud).unwrap();
            let id = life.subject.physical_id.clone().unwrap_or_default();
            made.0.insert(name.clone(), (id, life.shown(&mut *cloud).unwrap()));
        }
        let before = cloud.state();
        cloud.before = before;
    }

    /// What is wrong with the cloud, whatever the stack came to.
    pub(in crate::simulation) fn wrong_in_cloud(
        &self,
        stack: &Stack,
        template: Option<&Template>,
    ) -> Vec<String> {
        let Some(cloud) = &self.real else { return Vec::new() };
        let mut cloud = cloud.borrow_mut();
        let state = cloud.state();
        let before = &cloud.before;
        let mut wrongs = Vec::new();
        for (table, held) in before.as_object().unwrap() {
            if NOT_COMPARED.contains(&table.as_str()) {
                continue;
            }
            for row in held["rows"].as_array().unwrap() {
                if !rows(&state, table).any(|now| now == row) {
                    let now = rows(&state, table).find(|now| now["id"] == row["id"]);
                    wrongs.push(format!("somebody's {row} in {table} is {now:?} now"));
                }
            }
        }
        for kind in kinds().values() {
            assert!(!state[&kind.table].is_null(), "there is no table {}", kind.table);
        }
        let is_new = |table: &str, row: &Value| !rows(before, table).any(|old| old == row);
        let own: Vec<&Resource> =
            self.folds.resources.values().filter(|it| it.stack.is_some()).collect();
        for kind in kinds().values().filter(|kind| !kind.shares_table) {
            for row in rows(&state, &kind.table).filter(|row| is_new(&kind.table, row)) {
                let id = name_of(row);
                let of = |resource: &&&Resource| resource.physical_id.as_ref() == Some(&id);
                let owners = own.iter().filter(of).filter(|it| !is_gone(it)).count();
                // The answer to the call that made it may be lost for ever, and what has no mark
                // is anybody's whose creation is in doubt.
                let text = row.to_string();
                let is_in_doubt = |it: &Resource| {
                    it.unanswered && kind_of(it).is_some_and(|of| of.table == kind.table)
                };
                let is_called = own
                    .iter()
                    .any(|it| !is_gone(it) && (text.contains(&token(it)) || is_in_doubt(it)));
                if owners > 1 || (owners == 0 && !is_called && !is_part(row)) {
                    wrongs.push(format!("{id} in {} belongs to {owners}: {row}", kind.table));
                }
            }
        }
        if stack.is_deleted() && stack.status == Status::Complete {
            for (table, held) in state.as_object().unwrap() {
                for row in held["rows"].as_array().unwrap() {
                    if is_new(table, row) && !NOT_COMPARED.contains(&table.as_str()) {
                        wrongs.push(format!("{row} is left in {table}"));
                    }
                }
            }
        }
        let Some(template) = template else { return wrongs };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for (name, declared) in &template.resources {
            let kind = &kinds()[&declared.type_name];
            let Some(resource) = self.resource(stack.id, name) else { continue };
            if !resource.is_made {
                continue;
            }
            *counts.entry(&kind.table).or_default() += 1;
            let id = resource.physical_id.as_deref().unwrap_or_default();
            let row = rows(&state, &kind.table).find(|row| {
                let known = name_of(row);
                known == id || Some(known.as_str()) == id.rsplit('/').next()
            });
            let Some(row) = row else {
                wrongs.push(format!("{name}'s {id} is not in {}", kind.table));
                continue;
            };
            if stack.action != Action::Delete {
                wrongs.extend(unlike(name, kind, &declared.properties, row));
            }
        }
        for (table, count) in counts {
            let shares = kinds().values().any(|kind| kind.table == table && kind.shares_table);
            let held =
                rows(&state, table).filter(|row| is_new(table, row) && !is_part(row)).count();
            if held != count && !shares {
                wrongs.push(format!("there are {held} in {table}, and not {count}"));
            }
        }
        wrongs
    }
}

/// The kind of a resource by its newest definition.
fn kind_of(resource: &Resource) -> Option<&'static Kind> {
    let definition = resource.definition.as_ref().or(resource.target.as_deref())?;
    kinds().get(&definition.driver_type)
}

/// What a row is known by.
fn name_of(row: &Value) -> String {
    match (&row["id"], &row["name"]) {
        (Value::Null, Value::String(name)) => name.clone(),
        (Value::String(id), _) => id.clone(),
        (id, _) => id.to_string(),
    }
}

/// Whether a row is there because of another.
fn is_part(row: &Value) -> bool {
    row["device_owner"].as_str().is_some_and(|owner| !owner.is_empty())
}

/// Where a row is not what properties say, as far as they have the same names.
fn unlike(name: &str, kind: &Kind, properties: &JsonMap, row: &Value) -> Vec<String> {
    let is_plain = |value: &Value| value.is_string() || value.is_number() || value.is_boolean();
    let differs = |(key, said): &(&String, &Value)| {
        let real = row.get(*key).filter(|real| real != said && !real.is_object());
        is_plain(said) && !kind.completed.contains(key) && real.is_some()
    };
    let told = |(key, said)| format!("{name}'s {key} is {} and not {said}", row[key]);
    properties.iter().filter(differs).map(told).collect()
}
