//! What a stack that came to rest must be: what its newest revision says, one object each.

use std::collections::BTreeSet;

use hearth::actors::resource::Resource;
use hearth::actors::stack::Stack;
use hearth::model::{Action, ResourceId, ResourceName, StackId, Status};
use serde_json::Value;

use super::folds::token;
use super::template::{CONDITION, Declared, HANDLE, Lookup, OBJECT, Template, evaluated};
use super::world::World;

/// What a stack's present incarnations are.
struct Present<'a> {
    world: &'a World,
    stack: &'a Stack,
}

impl World {
    /// A stack as its log says it.
    pub(super) fn stack(&self, id: StackId) -> &Stack {
        &self.folds.stacks[&id]
    }

    /// `ACTION_STATUS` of a stack.
    pub(super) fn state(&self, id: StackId) -> String {
        let stack = self.stack(id);
        format!("{}_{}", stack.action, stack.status)
    }

    /// The template that a stack's newest revision says.
    pub(super) fn revision_says(&self, id: StackId) -> Template {
        let newest = self.stack(id).revision().and_then(|revision| revision.source.clone());
        newest.map(|source| self.source(&source).clone()).unwrap_or_default()
    }

    /// The physical id that counts for a name.
    pub(super) fn physical_id(&self, id: StackId, name: &str) -> Option<String> {
        self.folds.resources.get(&self.incarnation(id, name)?)?.physical_id.clone()
    }

    /// The incarnation that counts for a name.
    pub(super) fn incarnation(&self, id: StackId, name: &str) -> Option<ResourceId> {
        self.stack(id).incarnations().get(&ResourceName::from(name)).copied()
    }

    fn resource(&self, id: StackId, name: &str) -> Option<&Resource> {
        self.folds.resources.get(&self.incarnation(id, name)?)
    }

    /// Everything that is wrong with a stack at rest.
    pub(super) fn check_end(&mut self, id: StackId) {
        let wrongs = self.wrong_at_rest(id);
        self.wrongs.extend(wrongs);
    }

    fn wrong_at_rest(&self, id: StackId) -> Vec<String> {
        let stack = self.stack(id);
        if stack.in_progress() || !stack.deferred.is_empty() {
            return vec![format!("it rests in {}", self.state(id))];
        }
        let mut wrongs = Vec::new();
        if let Some(resource) =
            self.folds.resources.values().find(|it| it.stack.is_some() && it.in_progress())
        {
            wrongs.push(format!("it rests while {} is in {}", resource.name, resource.action));
        }
        wrongs.extend(self.orphans(stack));
        if stack.status == Status::Complete && self.reached {
            let template = match stack.action {
                Action::Delete => Template::default(),
                _ => self.revision_says(id),
            };
            wrongs.extend(self.differences(stack, &template));
        }
        wrongs
    }

    /// Objects that no incarnation of the stack answers for.
    fn orphans(&self, stack: &Stack) -> Vec<String> {
        let known: BTreeSet<String> =
            stack.rows.keys().filter_map(|id| self.folds.resources.get(id)).map(token).collect();
        let held = self.cloud.held().filter(|(_, object)| !known.contains(&object.token));
        held.map(|(id, object)| format!("{id} ({}) belongs to nobody", object.token)).collect()
    }

    /// Where reality is not what a template says.
    fn differences(&self, stack: &Stack, template: &Template) -> Vec<String> {
        let mut wrongs = Vec::new();
        let named: BTreeSet<&str> = stack.rows.values().map(|row| row.name.as_str()).collect();
        let wanted: BTreeSet<&str> = template.resources.keys().map(String::as_str).collect();
        if named != wanted || stack.rows.len() != wanted.len() {
            let rows: Vec<_> = stack.rows.values().map(|row| row.name.to_string()).collect();
            wrongs.push(format!("the stack has {rows:?}, its template {wanted:?}"));
        }
        let present = Present { world: self, stack };
        let is_unmade = |name: &String| {
            // A snapshot of what was never made is complete, as in Heat.
            let resource = self.resource(stack.id, name);
            resource.is_some_and(|it| !it.is_made)
        };
        let is_object =
            |(name, it): &(&String, &Declared)| it.type_name == OBJECT && !is_unmade(name);
        let objects = template.resources.iter().filter(is_object).count();
        let unmade: Vec<String> = named
            .iter()
            .filter(|name| is_unmade(&(**name).to_owned()))
            .filter_map(|name| self.resource(stack.id, name).map(token))
            .collect();
        let held = self.cloud.held().filter(|(_, object)| !unmade.contains(&object.token));
        if held.count() != objects {
            let held: Vec<_> = self.cloud.held().map(|(_, object)| &object.token).collect();
            wrongs.push(format!("the cloud holds {held:?} for {wanted:?}"));
        }
        for (name, declared) in &template.resources {
            if declared.type_name == HANDLE || declared.type_name == CONDITION {
                continue;
            }
            if is_unmade(name) {
                continue;
            }
            let Some(id) = self.physical_id(stack.id, name) else {
                wrongs.push(format!("{name} has no physical id"));
                continue;
            };
            let Some(resource) = self.resource(stack.id, name) else { continue };
            // Somebody may have said since that it is not well.
            if resource.status != Status::Complete && resource.action != Action::Check {
                wrongs.push(format!("{name} is {}_{}", resource.action, resource.status));
            }
            let object = self.cloud.objects.get(&id);
            if declared.type_name == OBJECT && object.is_none() {
                wrongs.push(format!("{name}'s {id} is gone"));
                continue;
            }
            for property in ["value", "late", "key", "uses"] {
                let real = match object {
                    Some(object) => object.properties.get(property),
                    None if property == "value" => resource.data.get(property),
                    None => continue,
                };
                let says = declared.properties.get(property);
                let says = says.map(|value| evaluated(value, &present));
                // What has no value is an empty text.
                let says = says.map(|says| if says.is_null() { "".into() } else { says });
                // The type's default.
                let says = says.or_else(|| object.is_none().then(|| "test_string".into()));
                // A test resource keeps the text it has where it is told to keep none.
                let keeps = object.is_none()
                    && says.as_ref().and_then(Value::as_str).is_none_or(str::is_empty);
                if real != says.as_ref() && !keeps {
                    wrongs.push(format!("{name}'s {property} is {real:?}, and not {says:?}"));
                }
            }
        }
        wrongs
    }

    /// How many live objects a name has.
    pub(super) fn count(&self, name: &str) -> usize {
        let resources = self.folds.resources.values();
        let own = resources.filter(|resource| resource.name.as_str() == name);
        let ids = own.filter_map(|resource| resource.physical_id.as_ref());
        ids.filter(|id| self.cloud.held().any(|(held, _)| held == *id)).count()
    }
}

impl Lookup for Present<'_> {
    fn reference(&self, name: &str) -> Value {
        // What was never made is known by its name.
        self.world.physical_id(self.stack.id, name).unwrap_or_else(|| name.to_owned()).into()
    }

    fn attribute(&self, name: &str, attribute: &str) -> Value {
        let Some(id) = self.world.physical_id(self.stack.id, name) else { return Value::Null };
        let property = if attribute == "output" { "value" } else { attribute };
        if let Some(object) = self.world.cloud.objects.get(&id) {
            return object.properties.get(property).cloned().unwrap_or_default();
        }
        let resource = self.world.resource(self.stack.id, name);
        resource.and_then(|resource| resource.data.get(property)).cloned().unwrap_or_default()
    }
}
