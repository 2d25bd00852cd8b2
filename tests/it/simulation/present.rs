//! A stack beside what its template says: one incarnation for each resource, and in it what the
//! properties come to, down into the stacks within.

use std::collections::BTreeSet;

use hearth::actors::resource::Resource;
use hearth::actors::stack::Stack;
use hearth::model::taint;
use hearth::model::{Action, JsonMap, StackId, Status};
use serde_json::{Value, json};

use super::cloud::property_of;
use super::declared::{CONDITION, Declared, HANDLE, OBJECT};
use super::deployments::DEPLOYMENT;
use super::group::Group;
use super::inside::{Inside, output_of};
use super::instances::{Instances, LAUNCH};
use super::policy::Policy;
use super::rules::is_act;
use super::template::Template;
use super::values::{Lookup, evaluated};
use super::world::World;

/// What a stack is at present, and what is said of it.
pub(super) struct Present<'a> {
    pub(super) world: &'a World,
    pub(super) stack: &'a Stack,
    pub(super) template: &'a Template,
    pub(super) parameters: JsonMap,
}

/// What a tree must have, all in all.
#[derive(Default)]
pub(super) struct Tally {
    pub(super) objects: usize,
    /// Objects of what was never made to its end.
    pub(super) unmade: BTreeSet<String>,
    pub(super) stacks: BTreeSet<StackId>,
}

impl Present<'_> {
    fn resource(&self, name: &str) -> Option<&Resource> {
        self.world.resource(self.stack.id, name)
    }

    /// Where reality is not what the template says.
    pub(super) fn compare(&self, tally: &mut Tally, wrongs: &mut Vec<String>) {
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
            // Somebody may have said since that it is not healthy.
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
        if self.world.is_real() {
            return;
        }
        let type_name = declared.type_name.as_str();
        if [HANDLE, CONDITION, LAUNCH].contains(&type_name) || Policy::of(type_name).is_some() {
            return;
        }
        let is_object = [OBJECT, DEPLOYMENT].contains(&type_name);
        tally.objects += usize::from(is_object);
        let Some(id) = &resource.physical_id else {
            return wrongs.push(format!("{name} has no physical id"));
        };
        let object = self.world.cloud.objects.get(id);
        if is_object && object.is_none() {
            return wrongs.push(format!("{name}'s {id} is gone"));
        }
        for property in ["value", "late", "key", "uses", "server", "config"] {
            let real = match object {
                Some(object) => object.properties.get(property),
                None if property == "value" => resource.data.get(property),
                None => continue,
            };
            // What was signaled counts as secret, and so does what is made of it.
            let real = real.cloned().map(taint::plain);
            let says = declared.properties.get(property);
            let says = says.map(|value| taint::plain(evaluated(value, self)));
            // What has no value is an empty text.
            let says = says.map(|says| if says.is_null() { "".into() } else { says });
            // The type's default.
            let says = says.or_else(|| object.is_none().then(|| "test_string".into()));
            // A test resource keeps the text it has where it is told to keep none.
            let keeps =
                object.is_none() && says.as_ref().and_then(Value::as_str).is_none_or(str::is_empty);
            if real != says && !keeps {
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
        // A suspension that failed has changed nothing of what there is.
        let is_made = child.status == Status::Complete || is_act(child.action);
        let is_healthy = is_made && !child.is_deleted();
        // A change of the size is the group's own affair.
        if !is_healthy && !declared.scales() {
            wrongs.push(format!("{name}'s stack is {}_{}", child.action, child.status));
        }
        let members;
        let template = match inside {
            Inside::Template(template) | Inside::Beside(template) => template,
            Inside::Group(group) => {
                members = self.members(name, group, child, wrongs);
                &members
            }
            Inside::Chain(chain) => {
                members = chain.template();
                &members
            }
            Inside::Deployments(deployments) => {
                members = deployments.template();
                &members
            }
            Inside::Instances(instances) => {
                members = self.instances(name, instances, child, wrongs);
                &members
            }
        };
        if !is_healthy {
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
        if let Some(bounds) = group.bounds {
            wrongs.extend(out_of(bounds, name, child));
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

/// The instances that a group must have: each is what it was made of, unless batches change it.
impl Present<'_> {
    fn instances(
        &self,
        name: &str,
        instances: &Instances,
        child: &Stack,
        wrongs: &mut Vec<String>,
    ) -> Template {
        let bounds = instances.bounds.unwrap_or((instances.size, instances.size));
        wrongs.extend(out_of(bounds, name, child));
        let resources = child.rows.keys().filter_map(|id| self.world.folds.resources.get(id));
        let given = |resource: &Resource| {
            let definition = resource.definition.clone().unwrap_or_default();
            (resource.name.to_string(), definition.properties)
        };
        instances.members(resources.map(given))
    }
}

/// What is wrong with a size that must stand between bounds.
fn out_of((min, max): (u64, u64), name: &str, child: &Stack) -> Option<String> {
    let size = child.rows.len() as u64;
    let is_out = !(min..=max).contains(&size);
    is_out.then(|| format!("{name} has {size} members, and not {min} to {max}"))
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
        let property = property_of(attribute);
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
