//! Groups that grow and shrink: OS::Heat::AutoScalingGroup, and those of CloudFormation, whose
//! members are instances of a launch configuration. The oldest members go first.

use serde::Deserialize;
use serde_json::Value;

use super::batches::{Batch, Pace, of_scaling};
use super::capacity::{Bounds, Kind, adjusted};
use super::member_stack::{Group, MEMBERS_MAX, MemberStack, count, section};
use super::members::{self, Change};
use super::outputs::{Language, Read, at, map, output_name};
use super::pace::{aws_pace, heat_pace};
use crate::model::JsonMap;

/// How many characters the name of a member has.
const NAME_CHARS: usize = 12;

/// Which of the types a group is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scaling {
    /// OS::Heat::AutoScalingGroup.
    Heat,
    /// OS::Heat::InstanceGroup, whose size is given.
    Instances,
    /// AWS::AutoScaling::AutoScalingGroup.
    Aws,
}

/// A type of groups.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Scaled {
    pub(crate) kind: Scaling,
    /// The type of instances, and the one that it stands for in their stack.
    #[serde(default)]
    pub(crate) member: String,
    #[serde(default)]
    pub(crate) stands_for: String,
}

impl Scaling {
    pub(crate) fn language(self) -> Language {
        match self {
            Scaling::Heat => Language::Hot,
            Scaling::Instances | Scaling::Aws => Language::Cfn,
        }
    }

    /// The output that has the members' ids.
    fn ids(self) -> &'static str {
        match self {
            Scaling::Heat => "refs_map",
            Scaling::Instances | Scaling::Aws => "references",
        }
    }

    /// The property whose change gives the members a new definition.
    pub(crate) fn definition_property(self) -> &'static str {
        match self {
            Scaling::Heat => "resource",
            Scaling::Instances | Scaling::Aws => "LaunchConfigurationName",
        }
    }

    /// How long a group rests after it was adjusted, in seconds.
    pub(crate) fn cooldown_secs(self, group: &Group<'_>) -> Option<i64> {
        let name = match self {
            Scaling::Heat => "cooldown",
            Scaling::Aws => "Cooldown",
            Scaling::Instances => return None,
        };
        group.properties.get(name).and_then(Value::as_f64).map(|seconds| seconds as i64)
    }

    /// The sizes that a group may have.
    fn bounds(self, group: &Group<'_>) -> Bounds {
        let number = |name: &str, unset: i64| {
            group.properties.get(name).and_then(Value::as_f64).map_or(unset, |it| it as i64)
        };
        match self {
            Scaling::Heat => {
                Bounds { min: number("min_size", 0), max: number("max_size", i64::MAX) }
            }
            Scaling::Aws => Bounds { min: number("MinSize", 0), max: number("MaxSize", i64::MAX) },
            Scaling::Instances => Bounds { min: 0, max: i64::MAX },
        }
    }

    /// The size that is asked for; zero is as good as none.
    fn desired(self, group: &Group<'_>) -> Option<usize> {
        let name = match self {
            Scaling::Heat => "desired_capacity",
            Scaling::Aws => "DesiredCapacity",
            Scaling::Instances => "Size",
        };
        Some(count(group.properties, name)).filter(|size| *size > 0)
    }

    /// How many members there are to be in the end.
    pub(crate) fn size(self, group: &Group<'_>) -> usize {
        match group.stack {
            None => self.first_size(group),
            Some(_) => self.updated_size(group),
        }
    }

    /// How many members a new group has.
    fn first_size(self, group: &Group<'_>) -> usize {
        match (self, self.desired(group)) {
            (_, Some(size)) => size,
            (Scaling::Instances, None) => 0,
            (Scaling::Heat | Scaling::Aws, None) => {
                let least = usize::try_from(self.bounds(group).min).unwrap_or(0);
                least.min(MEMBERS_MAX + 1)
            }
        }
    }

    /// How many members the group has after an update.
    fn updated_size(self, group: &Group<'_>) -> usize {
        let current = group.stack.map_or(0, MemberStack::size);
        match self {
            Scaling::Instances => count(group.properties, "Size"),
            Scaling::Heat | Scaling::Aws => {
                let wanted = self.desired(group).unwrap_or(current);
                self.adjusted_size(group, wanted as f64, Kind::Exact, None)
            }
        }
    }

    /// How many members the group has after an adjustment.
    pub(crate) fn adjusted_size(
        self,
        group: &Group<'_>,
        adjustment: f64,
        kind: Kind,
        step_min: Option<i64>,
    ) -> usize {
        let current = group.stack.map_or(0, MemberStack::size);
        let current = i64::try_from(current).unwrap_or(i64::MAX);
        adjusted(current, adjustment, kind, step_min, self.bounds(group)).min(MEMBERS_MAX + 1)
    }

    /// The batches in which the members get a new definition, where there is a policy for that.
    pub(crate) fn rolling(self, group: &Group<'_>, current: usize) -> Option<(Vec<Batch>, Pace)> {
        let pace = match self {
            Scaling::Heat => heat_pace(section(group.properties, "rolling_updates")?),
            Scaling::Instances => aws_pace(section(group.update_policy, "RollingUpdate")?),
            Scaling::Aws => aws_pace(section(group.update_policy, "AutoScalingRollingUpdate")?),
        };
        let target = self.desired(group).map_or(current, |size| size.min(current));
        Some((of_scaling(target, current, pace), pace))
    }

    /// The template of a batch. New members have names by chance.
    pub(crate) fn template(
        self,
        group: &Group<'_>,
        definition: &Value,
        batch: Batch,
        chance: &dyn Fn(&mut [u8]),
    ) -> Value {
        let language = self.language();
        let old = group.stack.map_or_else(Vec::new, |it| it.defined(language, it.members.iter()));
        let change = Change {
            total: batch.capacity,
            changes: batch.changes,
            definition: &|_| definition.clone(),
        };
        let next = members::next(&old, &change, std::iter::repeat_with(|| member_name(chance)));
        let names: Vec<String> = next.iter().map(|member| member.name.clone()).collect();
        let outputs = self.outputs(group.reads, &names);
        language.template(next.into_iter().map(|it| (it.name, it.definition)), outputs)
    }

    /// What the template gives out of its members: always by name, because their order is not
    /// known before they are there.
    fn outputs(self, reads: &[Read], members: &[String]) -> JsonMap {
        let language = self.language();
        let mut outputs = JsonMap::new();
        for read in reads {
            if let Some((path, _)) = self.by_member(read) {
                let value = map(members, |name| language.attribute(name, &path));
                outputs.insert(self.output(&path), value);
            }
        }
        outputs.insert(self.ids().to_owned(), map(members, |name| language.reference(name)));
        outputs
    }

    fn output(self, path: &[Value]) -> String {
        match self {
            Scaling::Heat => {
                let path = std::iter::once("outputs".into()).chain(path.iter().cloned());
                output_name(&path.collect::<Vec<_>>())
            }
            Scaling::Instances | Scaling::Aws => "InstanceList".to_owned(),
        }
    }

    /// The path within each member that an attribute is made of, and how.
    fn by_member(self, read: &Read) -> Option<(Vec<Value>, Shape)> {
        if self != Scaling::Heat {
            let is_list = read.name == "InstanceList";
            return is_list.then(|| (vec!["PublicIp".into()], Shape::Text));
        }
        if let Some((place, path)) = read.of_member() {
            let place = place.parse().ok();
            return (!path.is_empty()).then_some((path, Shape::One(place)));
        }
        match (read.name.as_str(), read.path.as_slice()) {
            ("outputs", path @ [_, ..]) => Some((path.to_vec(), Shape::Map)),
            ("outputs_list", path @ [_, ..]) => Some((path.to_vec(), Shape::List)),
            _ => None,
        }
    }

    /// An attribute, of the outputs of the members' stack. `None`: the outputs do not have it.
    pub(crate) fn attribute(
        self,
        group: &Group<'_>,
        read: &Read,
        outputs: &JsonMap,
    ) -> Option<Value> {
        let stack = group.stack?;
        if self == Scaling::Heat && read.name == "current_size" {
            return Some(stack.size().into());
        }
        if let Some((path, shape)) = self.by_member(read) {
            return Some(shape.of(outputs.get(&self.output(&path))?, stack));
        }
        if self != Scaling::Heat {
            return Some(Value::Null);
        }
        let ids = outputs.get(self.ids())?;
        Some(match (read.of_member(), read.name.as_str()) {
            (Some((place, _)), _) => Shape::One(place.parse().ok()).of(ids, stack),
            (None, "refs") => at(&Shape::List.of(ids, stack), &read.path),
            (None, "refs_map") => at(&Shape::Map.of(ids, stack), &read.path),
            (None, _) => Value::Null,
        })
    }
}

/// How values by member are put together.
enum Shape {
    Map,
    List,
    /// Joined by commas; nothing where there are none.
    Text,
    /// The one at a place, the oldest first.
    One(Option<usize>),
}

impl Shape {
    /// Members that failed are left out.
    fn of(&self, values: &Value, stack: &MemberStack) -> Value {
        let of = |name: &str| values.get(name).cloned();
        let healthy = || stack.healthy().filter_map(|it| Some((it.name.clone(), of(&it.name)?)));
        match self {
            Shape::Map => Value::Object(healthy().collect()),
            Shape::List => healthy().map(|(_, value)| value).collect(),
            Shape::Text => {
                let texts =
                    healthy().map(|(_, value)| value.as_str().unwrap_or("0.0.0.0").to_owned());
                let text = texts.collect::<Vec<_>>().join(",");
                if text.is_empty() { Value::Null } else { text.into() }
            }
            Shape::One(place) => {
                let member = place.and_then(|place| stack.healthy().nth(place));
                member.and_then(|member| of(&member.name)).unwrap_or_default()
            }
        }
    }
}

/// The definition of a member of any type; what is no part of a definition is left out.
pub(crate) fn member(group: &Group<'_>) -> Value {
    const PARTS: [&str; 7] = [
        "type",
        "properties",
        "metadata",
        "depends_on",
        "deletion_policy",
        "update_policy",
        "external_id",
    ];
    let declared = section(group.properties, "resource").into_iter().flatten();
    let parts = declared.filter(|(key, _)| PARTS.contains(&key.as_str()));
    parts.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// The name of a new member.
fn member_name(chance: &dyn Fn(&mut [u8])) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut bytes = [0; NAME_CHARS];
    chance(&mut bytes);
    bytes.iter().map(|byte| char::from(LETTERS[usize::from(byte % 32)])).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chrono::DateTime;
    use serde_json::json;

    use super::super::member_stack::MemberState;
    use super::*;
    use crate::clock::{Clock, SimulatedClock};

    fn object(value: Value) -> JsonMap {
        value.as_object().cloned().unwrap_or_default()
    }

    /// Members in the order of their creation; a name with `!` failed.
    fn stack(members: &[&str]) -> MemberStack {
        let name = |text: &&str| text.trim_end_matches('!').to_owned();
        let state = |(at, text): (usize, &&str)| MemberState {
            name: name(text),
            failed: text.ends_with('!'),
            created_at: DateTime::from_timestamp(at as i64, 0).unwrap_or_default(),
            reference: None,
        };
        let definitions: JsonMap =
            members.iter().map(|text| (name(text), json!({ "type": "old" }))).collect();
        let states = members.iter().enumerate().map(state).collect();
        MemberStack::new(json!({ "resources": definitions }), states)
    }

    fn given<T>(
        properties: Value,
        members: Option<&[&str]>,
        then: impl FnOnce(&Group<'_>) -> T,
    ) -> T {
        let stack = members.map(stack);
        then(&Group {
            name: "g",
            properties: &object(properties),
            update_policy: &JsonMap::new(),
            data: &BTreeMap::new(),
            reads: &[],
            stack: stack.as_ref(),
        })
    }

    fn sizes(desired: Value, members: &[&str]) -> (usize, usize) {
        let mut properties = json!({ "min_size": 1, "max_size": 4 });
        if !desired.is_null() {
            properties["desired_capacity"] = desired;
        }
        let heat = Scaling::Heat;
        given(properties, Some(members), |it| (heat.first_size(it), heat.updated_size(it)))
    }

    #[test]
    fn the_size_is_what_is_asked_for_or_what_is_there() {
        assert_eq!(sizes(json!(3), &[]), (3, 3));
        assert_eq!(sizes(json!(9), &["a"]), (9, 4));
        assert_eq!(sizes(Value::Null, &["a", "b"]), (1, 2));
        assert_eq!(sizes(Value::Null, &["a", "b!"]), (1, 1));
        assert_eq!(sizes(json!(0), &["a", "b"]), (1, 2));
    }

    fn members_after(members: &[&str], batch: Batch) -> Vec<(String, Value)> {
        given(json!({}), Some(members), |group| {
            let clock = SimulatedClock::new(1);
            let chance = |bytes: &mut [u8]| clock.fill(bytes);
            let made = Scaling::Heat.template(group, &json!({ "type": "new" }), batch, &chance);
            let members = object(made["resources"].clone());
            members.into_iter().map(|(name, member)| (name, member["type"].clone())).collect()
        })
    }

    #[test]
    fn failed_members_go_first_and_then_the_oldest() {
        let left = members_after(&["c", "b!", "a"], Batch { capacity: 2, changes: 0 });
        assert_eq!(left, [("c".to_owned(), json!("old")), ("a".to_owned(), json!("old"))]);
        let left = members_after(&["c", "b!", "a"], Batch { capacity: 1, changes: 0 });
        assert_eq!(left, [("a".to_owned(), json!("old"))]);
    }

    #[test]
    fn new_members_have_names_of_their_own() {
        let grown = members_after(&["a"], Batch { capacity: 3, changes: 0 });
        let names: Vec<String> = grown.into_iter().map(|(name, _)| name).skip(1).collect();
        assert!(names.iter().all(|name| name.len() == NAME_CHARS), "{names:?}");
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn a_batch_changes_the_oldest_first() {
        let changed = members_after(&["a", "b"], Batch { capacity: 2, changes: 1 });
        assert_eq!(changed, [("a".to_owned(), json!("new")), ("b".to_owned(), json!("old"))]);
    }

    #[test]
    fn all_members_are_changed_in_batches() {
        let policy = json!({ "min_in_service": 0, "max_batch_size": 2, "pause_time": 3 });
        let made = |properties: Value| {
            given(properties, Some(&["a", "b", "c"]), |it| Scaling::Heat.rolling(it, 3))
        };
        let Some((batches, pace)) = made(json!({ "rolling_updates": policy })) else { panic!() };
        assert_eq!((batches.len(), pace.pause_secs), (2, 3.0));
        let (batches, _) =
            made(json!({ "rolling_updates": policy, "desired_capacity": 2 })).unwrap_or_default();
        assert_eq!(batches, [Batch { capacity: 2, changes: 2 }]);
    }

    #[test]
    fn attributes_know_the_members_by_age() {
        let outputs = object(json!({
            "refs_map": { "a": 1, "b": 2, "c": 3 },
            "outputs, ip": { "a": "x", "b": "y", "c": "z" } }));
        let cases = [
            ("current_size", vec![], json!(2)),
            ("refs", vec![], json!([3, 1])),
            ("refs", vec![json!(0)], json!(3)),
            ("refs_map", vec![], json!({ "a": 1, "c": 3 })),
            ("outputs", vec![json!("ip")], json!({ "a": "x", "c": "z" })),
            ("outputs_list", vec![json!("ip")], json!(["z", "x"])),
            ("resource.1.ip", vec![], json!("x")),
            ("resource.0", vec![], json!(3)),
            ("resource.5", vec![], Value::Null),
        ];
        for (name, path, wanted) in cases {
            let read = Read { name: name.to_owned(), path };
            let found = given(json!({}), Some(&["c", "b!", "a"]), |group| {
                Scaling::Heat.attribute(group, &read, &outputs)
            });
            assert_eq!(found, Some(wanted), "{read:?}");
        }
    }

    #[test]
    fn the_stack_gives_values_out_by_member() {
        let reads = ["outputs_list", "outputs"]
            .map(|name| Read { name: name.to_owned(), path: vec!["ip".into()] });
        let outputs = Scaling::Heat.outputs(&reads, &["a".to_owned()]);
        let wanted = json!({
            "outputs, ip": { "a": { "get_attr": ["a", "ip"] } },
            "refs_map": { "a": { "get_resource": "a" } } });
        assert_eq!(Value::Object(outputs), wanted);
        let read = Read { name: "InstanceList".to_owned(), path: vec![] };
        let outputs = Scaling::Aws.outputs(&[read], &["a".to_owned()]);
        let wanted = json!({
            "InstanceList": { "a": { "Fn::GetAtt": ["a", "PublicIp"] } },
            "references": { "a": { "Ref": "a" } } });
        assert_eq!(Value::Object(outputs), wanted);
    }
}
