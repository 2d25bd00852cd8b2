//! Groups of instances that a launch configuration says, with a template in the place of instances.

use hearth::model::JsonMap;
use serde_json::{Value, json};

use super::declared::{Declared, OBJECT};
use super::group::{MEMBERS_MAX, any_bounds};
use super::inside::{DEPTH_MAX, Files, Inside, any_within, within};
use super::template::Template;
use crate::support::chance::Chance;

/// What instances are made of.
pub(super) const LAUNCH: &str = "AWS::AutoScaling::LaunchConfiguration";
/// What a template stands behind.
pub(super) const TYPE: &str = "AWS::EC2::Instance";
/// That template.
pub(super) const FILE: &str = "instance.yaml";
/// A group of instances whose size policies change.
pub(super) const SCALING: &str = "AWS::AutoScaling::AutoScalingGroup";

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Instances {
    /// What an instance is.
    pub(super) behind: Template,
    pub(super) size: u64,
    /// The bounds, where policies change the size.
    pub(super) bounds: Option<(u64, u64)>,
    /// How many change at once.
    batch: Option<u64>,
    pause_secs: u64,
}

/// What instances are made of at random.
pub(super) fn any_configuration(chance: &mut Chance) -> Declared {
    let image = chance.below(3).to_string();
    Declared::of(LAUNCH, json!({ "ImageId": image, "InstanceType": "small" }))
}

/// An object that has the image for its value, and perhaps others.
fn any_instance(chance: &mut Chance) -> Template {
    let mut template = any_within(chance, DEPTH_MAX);
    let object = Declared::of(OBJECT, json!({ "value": { "get_param": "ImageId" } }));
    template.resources.insert("d".to_owned(), object);
    template
}

impl Instances {
    pub(super) fn any(chance: &mut Chance) -> Instances {
        Instances {
            behind: any_instance(chance),
            size: chance.below(MEMBERS_MAX + 1),
            bounds: (!chance.one_in(3)).then(|| any_bounds(chance)),
            batch: chance.one_in(2).then(|| 1 + chance.below(2)),
            pause_secs: if chance.one_in(2) { 5 } else { 0 },
        }
    }

    pub(super) fn write(&self, own: &JsonMap, place: &str, files: &mut Files) -> Value {
        let mut behind = within(&self.behind, place, files);
        for (name, kind) in [("ImageId", "string"), ("InstanceType", "string"), ("Tags", "json")] {
            behind["parameters"][name] = json!({ "type": kind });
        }
        files.insert(FILE.to_owned(), behind.to_string());
        let mut properties = json!(own);
        properties["AvailabilityZones"] = json!(["nova"]);
        let (type_name, policy) = match self.bounds {
            Some((min, max)) => {
                properties["MinSize"] = min.into();
                properties["MaxSize"] = max.into();
                properties["Cooldown"] = 0.into();
                if self.size > 0 {
                    properties["DesiredCapacity"] = self.size.clamp(min, max).into();
                }
                (SCALING, "AutoScalingRollingUpdate")
            }
            None => {
                properties["Size"] = self.size.into();
                ("OS::Heat::InstanceGroup", "RollingUpdate")
            }
        };
        let mut resource = json!({ "type": type_name, "properties": properties });
        if let Some(batch) = self.batch {
            resource["update_policy"] = json!({ policy: { "MinInstancesInService": 0,
                "MaxBatchSize": batch, "PauseTime": format!("PT{}S", self.pause_secs) } });
        }
        resource
    }

    pub(super) fn change(&mut self, chance: &mut Chance) {
        match chance.below(4) {
            0 => self.size = chance.below(MEMBERS_MAX + 1),
            1 => self.batch = chance.one_in(2).then(|| 1 + chance.below(2)),
            2 if self.bounds.is_some() => self.bounds = Some(any_bounds(chance)),
            _ => self.behind = any_instance(chance),
        }
    }

    /// The members' template, by their names and what each is given.
    pub(super) fn members(&self, members: impl Iterator<Item = (String, JsonMap)>) -> Template {
        let member = |(name, given): (String, JsonMap)| {
            (name, Declared::nested(Inside::Template(self.behind.clone()), given))
        };
        Template { resources: members.map(member).collect() }
    }
}
