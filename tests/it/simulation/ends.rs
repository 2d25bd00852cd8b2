//! What a tree of stacks that came to rest must be: what the newest revision of its root says, one
//! object each, one child stack for each resource whose work is one.

use std::collections::{BTreeMap, BTreeSet};

use hearth::actors::resource::Resource;
use hearth::actors::stack::Stack;
use hearth::model::{Action, JsonMap, ResourceId, ResourceName, StackId, Status};
use serde_json::{Value, json};

use super::folds::token;
use super::inside::{Group, Inside, POLICY, SCALING, output_of};
use super::run::ROOT;
use super::template::{CONDITION, Declared, HANDLE, Lookup, OBJECT, Template, evaluated};
use super::world::World;

/// What a stack is at present, and what is said of it.
struct Present<'a> {
    world: &'a World,
    stack: &'a Stack,
    template: &'a Template,
    parameters: JsonMap,
}

/// What a tree must have, all in all.
#[derive(Default)]
struct Tally {
    objects: usize,
    /// Objects of what was never made to its end.
    unmade: BTreeSet<String>,
    stacks: BTreeSet<StackId>,
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
        if let Some(stack) = self.living().find(|stack| stack.in_progress()) {
            wrongs.push(format!("it rests while {} is in {}", stack.name, stack.action));
        }
        wrongs.extend(self.orphans());
        wrongs.extend(self.children_apart());
        if stack.status == Status::Complete && self.reached {
            let template = match stack.action {
                Action::Delete => Template::default(),
                _ => self.revision_says(id),
            };
            let present =
                Present { world: self, stack, template: &template, parameters: JsonMap::new() };
            let mut tally = Tally::default();
            present.compare(&mut tally, &mut wrongs);
            wrongs.extend(self.surplus(id, &tally));
        }
        wrongs
    }

    /// The stacks that are not deleted.
    fn living(&self) -> impl Iterator<Item = &Stack> {
        self.folds.stacks.values().filter(|stack| stack.exists() && !stack.is_deleted())
    }

    /// The stacks that are suspended, or were to be.
    pub(super) fn suspended(&self) -> Vec<StackId> {
        let suspended = self.living().filter(|stack| stack.action == Action::Suspend);
        suspended.map(|stack| stack.id).collect()
    }

    /// Objects that no incarnation of a stack answers for, and stacks that none does.
    fn orphans(&self) -> Vec<String> {
        let rows = self.living().flat_map(|stack| stack.rows.keys());
        let known: BTreeMap<String, &Resource> = rows
            .filter_map(|id| self.folds.resources.get(id))
            .map(|resource| (token(resource), resource))
            .collect();
        let held = self.cloud.held().filter(|(_, object)| !known.contains_key(&object.token));
        let objects = held.map(|(id, it)| format!("{id} ({}) belongs to nobody", it.token));
        let nested = self.living().filter(|stack| stack.name.as_str() != ROOT);
        // A child has the name that its resource has in the cloud.
        let alone = nested.filter(|stack| !known.contains_key(stack.name.as_str()));
        let stacks = alone.map(|stack| format!("the stack {} belongs to nobody", stack.name));
        objects.chain(stacks).collect()
    }

    /// Children that are not where their resource says that they went.
    fn children_apart(&self) -> Vec<String> {
        let went = |resource: &&Resource| {
            let acts = matches!(resource.action, Action::Suspend | Action::Resume | Action::Check);
            // Who marks a resource does not go down, and what scales changes by itself.
            let is_told = resource.reason == "state changed";
            let scales = resource.definition.as_ref().is_some_and(|it| it.driver_type == SCALING);
            acts && is_told && !scales && resource.status == Status::Complete
        };
        let child = |resource: &Resource| {
            let child = self.folds.stacks.get(&resource.child_stack()?)?;
            let alone = self.resumed.contains(&child.id);
            let apart =
                !alone && (child.action, child.status) != (resource.action, Status::Complete);
            let (action, is) = (resource.action, self.state(child.id));
            apart.then(|| format!("{} is {action}_COMPLETE, its stack {is}", resource.name))
        };
        self.folds.resources.values().filter(went).filter_map(child).collect()
    }

    /// What there is beside what a tree must have.
    fn surplus(&self, root: StackId, tally: &Tally) -> Vec<String> {
        let mut wrongs = Vec::new();
        let held = || self.cloud.held().filter(|(_, object)| !tally.unmade.contains(&object.token));
        if held().count() != tally.objects {
            let tokens: Vec<_> = held().map(|(_, object)| &object.token).collect();
            wrongs.push(format!("the cloud holds {tokens:?} for {} objects", tally.objects));
        }
        let more = self.living().filter(|it| it.id != root && !tally.stacks.contains(&it.id));
        wrongs.extend(more.map(|stack| format!("the stack {} is one too many", stack.name)));
        wrongs
    }

    /// All that there is in the stack that a resource has, where it has one.
    fn note_within(&self, resource: &Resource, tally: &mut Tally) {
        tally.unmade.insert(token(resource));
        let Some(child) = resource.child_stack().and_then(|id| self.folds.stacks.get(&id)) else {
            return;
        };
        tally.stacks.insert(child.id);
        for within in child.rows.keys().filter_map(|id| self.folds.resources.get(id)) {
            self.note_within(within, tally);
        }
    }

    /// How many live objects a name has.
    pub(super) fn count(&self, name: &str) -> usize {
        let resources = self.folds.resources.values();
        let own = resources.filter(|resource| resource.name.as_str() == name);
        let ids = own.filter_map(|resource| resource.physical_id.as_ref());
        ids.filter(|id| self.cloud.held().any(|(held, _)| held == *id)).count()
    }
}

impl Present<'_> {
    fn resource(&self, name: &str) -> Option<&Resource> {
        self.world.resource(self.stack.id, name)
    }

    /// Where reality is not what the template says.
    fn compare(&self, tally: &mut Tally, wrongs: &mut Vec<String>) {
        let (stack, template) = (self.stack, self.template);
        let named: BTreeSet<&str> = stack.rows.values().map(|row| row.name.as_str()).collect();
        let wanted: BTreeSet<&str> = template.resources.keys().map(String::as_str).collect();
        if named != wanted || stack.rows.len() != wanted.len() {
            let rows: Vec<_> = stack.rows.values().map(|row| row.name.to_string()).collect();
            wrongs.push(format!("{} has {rows:?}, its template {wanted:?}", stack.name));
        }
        for (name, declared) in &template.resources {
            let Some(resource) = self.resource(name) else { continue };
            // A snapshot of what was never made is complete, as in Heat.
            if !resource.is_made {
                self.world.note_within(resource, tally);
                continue;
            }
            // Somebody may have said since that it is not well.
            if resource.status != Status::Complete && resource.action != Action::Check {
                wrongs.push(format!("{name} is {}_{}", resource.action, resource.status));
            }
            match &declared.inside {
                Some(inside) => self.compare_child(name, declared, inside, tally, wrongs),
                None => self.compare_object(name, declared, resource, tally, wrongs),
            }
        }
    }

    fn compare_object(
        &self,
        name: &str,
        declared: &Declared,
        resource: &Resource,
        tally: &mut Tally,
        wrongs: &mut Vec<String>,
    ) {
        if [HANDLE, CONDITION, POLICY].contains(&declared.type_name.as_str()) {
            return;
        }
        let is_object = declared.type_name == OBJECT;
        tally.objects += usize::from(is_object);
        let Some(id) = &resource.physical_id else {
            return wrongs.push(format!("{name} has no physical id"));
        };
        let object = self.world.cloud.objects.get(id);
        if is_object && object.is_none() {
            return wrongs.push(format!("{name}'s {id} is gone"));
        }
        for property in ["value", "late", "key", "uses"] {
            let real = match object {
                Some(object) => object.properties.get(property),
                None if property == "value" => resource.data.get(property),
                None => continue,
            };
            let says = declared.properties.get(property);
            let says = says.map(|value| evaluated(value, self));
            // What has no value is an empty text.
            let says = says.map(|says| if says.is_null() { "".into() } else { says });
            // The type's default.
            let says = says.or_else(|| object.is_none().then(|| "test_string".into()));
            // A test resource keeps the text it has where it is told to keep none.
            let keeps =
                object.is_none() && says.as_ref().and_then(Value::as_str).is_none_or(str::is_empty);
            if real != says.as_ref() && !keeps {
                let stack = &self.stack.name;
                wrongs.push(format!("{stack}: {name}'s {property} is {real:?}, and not {says:?}"));
            }
        }
    }

    fn compare_child(
        &self,
        name: &str,
        declared: &Declared,
        inside: &Inside,
        tally: &mut Tally,
        wrongs: &mut Vec<String>,
    ) {
        let Some(child) = self.child(name) else {
            return wrongs.push(format!("{name} has no stack"));
        };
        tally.stacks.insert(child.id);
        let is_well = child.status == Status::Complete && !child.is_deleted();
        // A change of the size is the group's own affair.
        if !is_well && !declared.scales() {
            wrongs.push(format!("{name}'s stack is {}_{}", child.action, child.status));
        }
        let members;
        let template = match inside {
            Inside::Template(template) | Inside::Beside(template) => template,
            Inside::Group(group) => {
                members = self.members(name, group, child, wrongs);
                &members
            }
        };
        if !is_well {
            if let Some(resource) = self.resource(name) {
                self.world.note_within(resource, tally);
            }
            return;
        }
        let parameters = self.given(declared);
        let within = Present { world: self.world, stack: child, template, parameters };
        within.compare(tally, wrongs);
    }

    /// The stack of a resource.
    fn child(&self, name: &str) -> Option<&Stack> {
        self.world.folds.stacks.get(&self.resource(name)?.child_stack()?)
    }

    /// The parameters of a child.
    fn given(&self, declared: &Declared) -> JsonMap {
        let value = |(name, value): (&String, &Value)| (name.clone(), evaluated(value, self));
        declared.properties.iter().map(value).collect()
    }

    /// The members that a group must have.
    fn members(
        &self,
        name: &str,
        group: &Group,
        child: &Stack,
        wrongs: &mut Vec<String>,
    ) -> Template {
        if let Some((min, max)) = group.bounds {
            let size = child.rows.len() as u64;
            if !(min..=max).contains(&size) {
                wrongs.push(format!("{name} has {size} members, and not {min} to {max}"));
            }
            return group.members(child.rows.values().map(|row| row.name.to_string()));
        }
        let data = self.resource(name).and_then(|resource| resource.data.get("name_blacklist"));
        let removed = data.and_then(Value::as_str).unwrap_or_default();
        let removed: Vec<&str> = removed.split(',').collect();
        let numbers = (0..).map(|number: u64| number.to_string());
        let left = numbers.filter(|number| !removed.contains(&number.as_str()));
        group.members(left.take(group.size as usize))
    }
}

impl Lookup for Present<'_> {
    fn reference(&self, name: &str) -> Value {
        // What was never made is known by its name.
        self.world.physical_id(self.stack.id, name).unwrap_or_else(|| name.to_owned()).into()
    }

    fn attribute(&self, name: &str, attribute: &str) -> Value {
        let declared = self.template.resources.get(name);
        if let Some(Inside::Template(template)) = declared.and_then(|it| it.inside.as_ref()) {
            let (Some(declared), Some(child)) = (declared, self.child(name)) else {
                return Value::Null;
            };
            let Some(of) = output_of(template) else { return "".into() };
            let parameters = self.given(declared);
            let within = Present { world: self.world, stack: child, template, parameters };
            return within.attribute(of, attribute);
        }
        let Some(id) = self.world.physical_id(self.stack.id, name) else { return Value::Null };
        let property = if attribute == "output" { "value" } else { attribute };
        if let Some(object) = self.world.cloud.objects.get(&id) {
            return object.properties.get(property).cloned().unwrap_or_default();
        }
        self.resource(name).and_then(|it| it.data.get(property)).cloned().unwrap_or_default()
    }

    fn parameter(&self, name: &str) -> Value {
        let given = self.parameters.get(name).filter(|value| !value.is_null());
        given.cloned().unwrap_or_else(|| if name == "uses" { json!([]) } else { "".into() })
    }
}
