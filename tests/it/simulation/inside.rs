//! What stands behind a resource whose work is a child stack: a template, a stack beside, a group.

use std::collections::BTreeMap;

use hearth::model::JsonMap;
use serde_json::{Value, json};

use super::template::{Declared, OBJECT, Template, any_given, any_resource};
use crate::support::chance::Chance;

/// The texts of templates, by the names of their files.
pub(super) type Files = BTreeMap<String, String>;

/// What changes the size of a group.
pub(super) const POLICY: &str = "OS::Heat::ScalingPolicy";
/// A group whose size policies change.
pub(super) const SCALING: &str = "OS::Heat::AutoScalingGroup";
/// How deep a tree is.
const DEPTH_MAX: u64 = 2;
/// The most members of a group.
const MEMBERS_MAX: u64 = 3;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Inside {
    /// The properties are its parameters, and its outputs the attributes.
    Template(Template),
    /// A stack of its own.
    Beside(Template),
    Group(Group),
}

/// Members that are alike.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) member: Box<Declared>,
    pub(super) size: u64,
    /// The bounds, where policies change the size.
    pub(super) bounds: Option<(u64, u64)>,
    /// Those of a group by number that are not to be.
    pub(super) removed: Vec<String>,
    /// How many change at once.
    batch: Option<u64>,
    pause_secs: u64,
}

/// The name of the type that a file stands behind.
pub(super) fn type_of(file: &str) -> String {
    format!("Sim::{}", file.trim_end_matches(".yaml"))
}

impl Declared {
    pub(super) fn scales(&self) -> bool {
        matches!(&self.inside, Some(Inside::Group(group)) if group.bounds.is_some())
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
        };
        json!({ "type": type_name, "properties": properties })
    }
}

/// A template of a child stack: it is given a value and the objects that it uses.
fn within(template: &Template, place: &str, files: &mut Files) -> Value {
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

impl Group {
    fn write(&self, place: &str, files: &mut Files) -> Value {
        let member = self.member.write(&format!("{place}-m"), files);
        let batch = |least: &str| {
            json!({ least: 0, "max_batch_size": self.batch.unwrap_or(1),
                "pause_time": self.pause_secs })
        };
        if self.member.inside.is_none() {
            // Members that are as they were may be of the type that stood here.
            let none = within(&Template::default(), place, files).to_string();
            files.insert(format!("{place}-m.yaml"), none);
        }
        if let Some((min, max)) = self.bounds {
            let mut properties = json!({
                "resource": member, "min_size": min, "max_size": max, "cooldown": 0 });
            if self.size > 0 {
                properties["desired_capacity"] = self.size.clamp(min, max).into();
            }
            if self.batch.is_some() {
                properties["rolling_updates"] = batch("min_in_service");
            }
            return json!({ "type": SCALING, "properties": properties });
        }
        let mut resource = json!({ "type": "OS::Heat::ResourceGroup", "properties": {
            "resource_def": member, "count": self.size } });
        if !self.removed.is_empty() {
            resource["properties"]["removal_policies"] = json!([{ "resource_list": self.removed }]);
        }
        if self.batch.is_some() {
            let mut create = batch("min_in_service");
            if let Some(create) = create.as_object_mut() {
                create.shift_remove("min_in_service");
            }
            resource["update_policy"] =
                json!({ "batch_create": create, "rolling_update": batch("min_in_service") });
        }
        resource
    }

    fn change(&mut self, chance: &mut Chance) {
        match chance.below(5) {
            0 | 1 => self.size = chance.below(MEMBERS_MAX + 1),
            2 => {
                let any = chance.below(MEMBERS_MAX).to_string();
                self.removed = if chance.one_in(2) { vec![any] } else { Vec::new() };
            }
            3 => self.batch = chance.one_in(2).then(|| 1 + chance.below(2)),
            _ => *self.member = any_member(chance, DEPTH_MAX),
        }
    }

    /// The members' template, by their names.
    pub(super) fn members(&self, names: impl IntoIterator<Item = String>) -> Template {
        let member = |name: String| match self.bounds {
            Some(_) => (name, (*self.member).clone()),
            None => (name.clone(), indexed(&self.member, &name)),
        };
        Template { resources: names.into_iter().map(member).collect() }
    }
}

/// A member with its name for the variable.
fn indexed(member: &Declared, name: &str) -> Declared {
    let text = json!(member.properties).to_string().replace("%index%", name);
    Declared { properties: serde_json::from_str(&text).unwrap(), ..member.clone() }
}

impl Inside {
    /// Anything.
    fn any(chance: &mut Chance, depth: u64) -> Inside {
        match chance.below(8) {
            0..=2 => Inside::Template(any_within(chance, depth + 1)),
            3 => Inside::Beside(any_within(chance, depth + 1)),
            kind => {
                let scales = kind > 5;
                Inside::Group(Group {
                    member: Box::new(any_member(chance, depth + 1)),
                    size: chance.below(MEMBERS_MAX + 1),
                    bounds: scales.then(|| (chance.below(2), 1 + chance.below(MEMBERS_MAX))),
                    removed: Vec::new(),
                    batch: chance.one_in(2).then(|| 1 + chance.below(2)),
                    pause_secs: if chance.one_in(2) { 5 } else { 0 },
                })
            }
        }
    }

    pub(super) fn change(&mut self, chance: &mut Chance) {
        match self {
            Inside::Template(template) | Inside::Beside(template) => {
                *template = template.changed(chance);
            }
            Inside::Group(group) => group.change(chance),
        }
    }

    /// Nothing in it is told to fail.
    pub(super) fn mend(&mut self) {
        match self {
            Inside::Template(template) | Inside::Beside(template) => {
                *template = std::mem::take(template).mended();
            }
            Inside::Group(group) => {
                group.member.properties.shift_remove("fail");
                if let Some(inside) = &mut group.member.inside {
                    inside.mend();
                }
            }
        }
    }
}

/// Any resource whose work is a child stack.
pub(super) fn any_nested(template: &Template, chance: &mut Chance, depth: u64) -> Declared {
    let inside = Inside::any(chance, depth);
    let properties = match &inside {
        Inside::Group(_) => JsonMap::new(),
        Inside::Template(_) | Inside::Beside(_) => any_given(&template.resources, chance),
    };
    Declared {
        // Another kind behind the same name is another type.
        type_name: "Sim::Nested".to_owned(),
        properties,
        depends_on: Vec::new(),
        retain: false,
        hooks: Vec::new(),
        inside: Some(inside),
    }
}

/// What a policy asks of one of a template's groups.
pub(super) fn any_policy(template: &Template, chance: &mut Chance) -> Option<Declared> {
    let (group, _) = template.resources.iter().find(|(_, declared)| declared.scales())?;
    let kinds = ["change_in_capacity", "exact_capacity"];
    let by = [-1, 1, 2][chance.below(3) as usize];
    let properties = json!({
        "auto_scaling_group_id": { "get_resource": group },
        "adjustment_type": kinds[chance.below(2) as usize],
        "scaling_adjustment": by,
        "cooldown": 0,
    });
    Some(Declared {
        type_name: POLICY.to_owned(),
        properties: properties.as_object().cloned().unwrap(),
        depends_on: Vec::new(),
        retain: false,
        hooks: Vec::new(),
        inside: None,
    })
}

/// The template of a child stack.
fn any_within(chance: &mut Chance, depth: u64) -> Template {
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
    }
    template
}

/// A member of a group.
fn any_member(chance: &mut Chance, depth: u64) -> Declared {
    if depth < DEPTH_MAX && chance.one_in(3) {
        let template = any_within(chance, depth + 1);
        let properties = json!({ "value": "%index%" });
        return Declared {
            type_name: "Sim::Nested".to_owned(),
            properties: properties.as_object().cloned().unwrap(),
            depends_on: Vec::new(),
            retain: false,
            hooks: Vec::new(),
            inside: Some(Inside::Template(template)),
        };
    }
    let text = chance.below(3).to_string();
    let mut properties = json!({ "value": if chance.one_in(2) { "%index%" } else { &text } });
    if chance.one_in(3) {
        properties["key"] = chance.below(2).to_string().into();
    }
    if chance.one_in(3) {
        properties["late"] = chance.below(2).to_string().into();
    }
    Declared {
        type_name: OBJECT.to_owned(),
        properties: properties.as_object().cloned().unwrap(),
        depends_on: Vec::new(),
        retain: false,
        hooks: Vec::new(),
        inside: None,
    }
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
        self.resources.values().any(|declared| declared.type_name == POLICY)
    }

    /// What stands for stacks is added, where it is not there.
    pub(super) fn grow(&mut self, chance: &mut Chance, seldom: u64) {
        for (name, more) in [("n", 1), ("g", 2)] {
            if !self.resources.contains_key(name) && chance.one_in(seldom * more) {
                let declared = any_nested(self, chance, 0);
                self.resources.insert(name.to_owned(), declared);
            }
        }
        if !self.resources.contains_key("p")
            && let Some(policy) = any_policy(self, chance)
        {
            self.resources.insert("p".to_owned(), policy);
        }
    }
}
