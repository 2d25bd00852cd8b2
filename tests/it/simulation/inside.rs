//! What stands behind a resource whose work is a child stack: a template, a stack beside, a group.

use std::collections::BTreeMap;

use hearth::model::JsonMap;
use serde_json::{Value, json};

use super::chain::Chain;
use super::declared::{Declared, OBJECT, any_given, any_resource};
use super::deployments::Deployments;
use super::group::Group;
use super::instances::{self, Instances};
use super::policy::{Policy, any_policy};
use super::template::Template;
use crate::support::chance::Chance;

/// The texts of templates, by the names of their files.
pub(super) type Files = BTreeMap<String, String>;

/// How deep a tree is.
pub(super) const DEPTH_MAX: u64 = 2;
/// What stands for a resource in a tree, whatever is behind it.
const NESTED: &str = "Sim::Nested";

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Inside {
    /// The properties are its parameters, and its outputs the attributes.
    Template(Template),
    /// A stack of its own.
    Beside(Template),
    Group(Group),
    Chain(Chain),
    Instances(Instances),
    Deployments(Deployments),
}

/// The name of the type that a file stands behind.
pub(super) fn type_of(file: &str) -> String {
    match file == instances::FILE {
        true => instances::TYPE.to_owned(),
        false => format!("Sim::{}", file.trim_end_matches(".yaml")),
    }
}

impl Declared {
    /// A resource behind which something stands.
    pub(super) fn nested(inside: Inside, properties: JsonMap) -> Declared {
        let type_name = NESTED.to_owned();
        Declared { type_name, properties, inside: Some(inside), ..Declared::default() }
    }

    /// Whether policies change its size.
    pub(super) fn scales(&self) -> bool {
        match &self.inside {
            Some(Inside::Group(group)) => group.bounds.is_some(),
            Some(Inside::Instances(instances)) => instances.bounds.is_some(),
            Some(
                Inside::Template(_) | Inside::Beside(_) | Inside::Chain(_) | Inside::Deployments(_),
            )
            | None => false,
        }
    }

    /// As it is sent, in its place in the tree.
    pub(super) fn write(&self, place: &str, files: &mut Files) -> Value {
        let (type_name, properties) = match &self.inside {
            None => (self.type_name.clone(), json!(self.properties)),
            Some(Inside::Template(template)) => {
                let file = format!("{place}.yaml");
                let text = within(template, place, files).to_string();
                files.insert(file.clone(), text);
                (type_of(&file), json!(self.properties))
            }
            Some(Inside::Beside(template)) => {
                let template = within(template, place, files).to_string();
                let properties = json!({ "template": template, "parameters": self.properties });
                ("OS::Heat::Stack".to_owned(), properties)
            }
            Some(Inside::Group(group)) => return group.write(place, files),
            Some(Inside::Chain(chain)) => return chain.write(place, files),
            Some(Inside::Deployments(deployments)) => return deployments.write(),
            Some(Inside::Instances(instances)) => {
                return instances.write(&self.properties, place, files);
            }
        };
        json!({ "type": type_name, "properties": properties })
    }
}

/// A template of a child stack: it is given a value and the objects that it uses.
pub(super) fn within(template: &Template, place: &str, files: &mut Files) -> Value {
    let mut written = template.write(&format!("{place}-"), files);
    written["parameters"] = json!({
        "value": { "type": "string", "default": "" },
        "uses": { "type": "json", "default": [] },
    });
    let output = match output_of(template) {
        Some(name) => json!({ "get_attr": [name, "output"] }),
        None => "".into(),
    };
    written["outputs"] = json!({ "output": { "value": output } });
    written
}

/// The resource whose value a template gives out.
pub(super) fn output_of(template: &Template) -> Option<&String> {
    template.resources.iter().find(|(_, it)| it.has_value()).map(|(name, _)| name)
}

impl Inside {
    /// Anything.
    fn any(chance: &mut Chance, depth: u64) -> Inside {
        match chance.below(10) {
            0..=2 => Inside::Template(any_within(chance, depth + 1)),
            3 => Inside::Beside(any_within(chance, depth + 1)),
            4 => Inside::Chain(Chain::any(chance, depth + 1)),
            5 => Inside::Deployments(Deployments::any(chance)),
            kind => Inside::Group(Group::any(chance, depth + 1, kind > 7)),
        }
    }

    pub(super) fn change(&mut self, chance: &mut Chance) {
        match self {
            Inside::Template(template) | Inside::Beside(template) => {
                *template = template.changed(chance);
            }
            Inside::Group(group) => group.change(chance),
            Inside::Chain(chain) => chain.change(chance),
            Inside::Instances(instances) => instances.change(chance),
            Inside::Deployments(deployments) => deployments.change(chance),
        }
    }

    /// Nothing in it is told to fail.
    pub(super) fn mend(&mut self) {
        match self {
            Inside::Template(template) | Inside::Beside(template) => {
                *template = std::mem::take(template).mended();
            }
            Inside::Group(group) => group.member.mend(),
            Inside::Chain(chain) => chain.members.iter_mut().for_each(Declared::mend),
            Inside::Instances(instances) => {
                instances.behind = std::mem::take(&mut instances.behind).mended();
            }
            Inside::Deployments(_) => {}
        }
    }
}

/// Any resource whose work is a child stack.
pub(super) fn any_nested(template: &Template, chance: &mut Chance, depth: u64) -> Declared {
    let inside = Inside::any(chance, depth);
    let mut nested = Declared::nested(inside, JsonMap::new());
    if nested.is_given() {
        nested.properties = any_given(&template.resources, chance);
    }
    if chance.one_in(8) {
        nested.change_deletion(chance);
    }
    nested
}

/// The template of a child stack.
pub(super) fn any_within(chance: &mut Chance, depth: u64) -> Template {
    let mut template = Template::default();
    for name in ["a", "b", "c"] {
        if chance.one_in(2) {
            let mut declared = any_resource(&template.resources, chance);
            if declared.type_name == OBJECT && chance.one_in(2) {
                declared.properties.insert("value".to_owned(), json!({ "get_param": "value" }));
            }
            if declared.type_name == OBJECT && chance.one_in(2) {
                declared.properties.insert("uses".to_owned(), json!({ "get_param": "uses" }));
            }
            template.resources.insert(name.to_owned(), declared);
        }
    }
    if depth < DEPTH_MAX && chance.one_in(3) {
        let declared = any_nested(&template, chance, depth);
        template.resources.insert("n".to_owned(), declared);
        template.add_policy("n", "p", chance);
    }
    template
}

impl Template {
    /// A tree at random: few resources, and some that stand for stacks.
    pub(super) fn any_tree(chance: &mut Chance) -> Template {
        let mut template = Template::default();
        for name in ["a", "b"] {
            if chance.one_in(2) {
                let declared = any_resource(&template.resources, chance);
                template.resources.insert(name.to_owned(), declared);
            }
        }
        template.grow(chance, 1);
        template
    }

    /// Whether a policy changes the size of a group in it.
    pub(super) fn scales(&self) -> bool {
        self.resources.values().any(|declared| Policy::of(&declared.type_name).is_some())
    }

    /// What stands for stacks is added, where it is not there.
    pub(super) fn grow(&mut self, chance: &mut Chance, seldom: u64) {
        for (name, more) in [("n", 1), ("g", 2)] {
            if !self.resources.contains_key(name) && chance.one_in(seldom * more) {
                let declared = match name == "g" && chance.one_in(2) {
                    true => {
                        let group = Inside::Group(Group::any(chance, 1, true));
                        Declared::nested(group, JsonMap::new())
                    }
                    false => any_nested(self, chance, 0),
                };
                self.resources.insert(name.to_owned(), declared);
            }
        }
        if !self.resources.contains_key("i") && chance.one_in(seldom * 6) {
            self.resources.insert("l".to_owned(), instances::any_configuration(chance));
            let instances = Instances::any(chance);
            let of = json!({ "LaunchConfigurationName": { "get_resource": "l" } });
            let properties = of.as_object().cloned().unwrap();
            let declared = Declared::nested(Inside::Instances(instances), properties);
            self.resources.insert("i".to_owned(), declared);
        }
        self.add_policy("g", "p", chance);
        self.add_policy("i", "q", chance);
    }

    /// What changes the size of a group, where there is a group.
    fn add_policy(&mut self, group: &str, name: &str, chance: &mut Chance) {
        if self.resources.get(group).is_some_and(Declared::scales)
            && !self.resources.contains_key(name)
        {
            self.resources.insert(name.to_owned(), any_policy(group, chance));
        }
    }
}
