//! Groups of members that are alike, by number or between bounds.

use serde_json::{Value, json};

use super::declared::{Declared, OBJECT};
use super::inside::{DEPTH_MAX, Files, Inside, any_within, within};
use super::template::Template;
use crate::support::chance::Chance;

/// A group whose size policies change.
pub(super) const SCALING: &str = "OS::Heat::AutoScalingGroup";
/// The most members of a group.
pub(super) const MEMBERS_MAX: u64 = 3;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Group {
    pub(super) member: Box<Declared>,
    pub(super) size: u64,
    /// The bounds, where policies change the size.
    pub(super) bounds: Option<(u64, u64)>,
    /// Those of a group by number that are not to be.
    removed: Vec<String>,
    /// How many change at once.
    batch: Option<u64>,
    pause_secs: u64,
}

/// The bounds of a size.
pub(super) fn any_bounds(chance: &mut Chance) -> (u64, u64) {
    (chance.below(2), 1 + chance.below(MEMBERS_MAX))
}

impl Group {
    pub(super) fn any(chance: &mut Chance, depth: u64, scales: bool) -> Group {
        Group {
            member: Box::new(any_member(chance, depth)),
            size: chance.below(MEMBERS_MAX + 1),
            bounds: scales.then(|| any_bounds(chance)),
            removed: Vec::new(),
            batch: chance.one_in(2).then(|| 1 + chance.below(2)),
            pause_secs: if chance.one_in(2) { 5 } else { 0 },
        }
    }

    pub(super) fn write(&self, place: &str, files: &mut Files) -> Value {
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

    pub(super) fn change(&mut self, chance: &mut Chance) {
        match chance.below(6) {
            0 | 1 => self.size = chance.below(MEMBERS_MAX + 1),
            2 => {
                let any = chance.below(MEMBERS_MAX).to_string();
                self.removed = if chance.one_in(2) { vec![any] } else { Vec::new() };
            }
            3 => self.batch = chance.one_in(2).then(|| 1 + chance.below(2)),
            4 if self.bounds.is_some() => self.bounds = Some(any_bounds(chance)),
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

/// A member of a group.
fn any_member(chance: &mut Chance, depth: u64) -> Declared {
    if depth < DEPTH_MAX && chance.one_in(3) {
        let template = any_within(chance, depth + 1);
        let properties = json!({ "value": "%index%" }).as_object().cloned().unwrap();
        return Declared::nested(Inside::Template(template), properties);
    }
    let text = chance.below(3).to_string();
    let mut properties = json!({ "value": if chance.one_in(2) { "%index%" } else { &text } });
    if chance.one_in(3) {
        properties["key"] = chance.below(2).to_string().into();
    }
    if chance.one_in(3) {
        properties["late"] = chance.below(2).to_string().into();
    }
    Declared::of(OBJECT, properties)
}
