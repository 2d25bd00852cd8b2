//! Groups as types whose work is a child stack: which definition their members' stack has next.

use std::collections::BTreeMap;
use std::time::Duration;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::batches::{Batch, Pace};
use super::capacity::Adjustment;
use super::instance::{INSTANCE, from_instance, instance, names_instance};
use super::member_stack::{
    Group, MEMBERS_MAX, MemberStack, MemberState, check_size, count, section,
};
use super::outputs::Read;
use super::resource_group::REMOVED;
use super::scaling_group::{Scaled, Scaling};
use super::{chain, deployments, resource_group, scaling_group};
use crate::model::{JsonMap, Status};
use crate::resource_types::asks::Asks;
use crate::resource_types::child::{
    ChildAsk, ChildPlan, ChildSeen, ChildStep, ChildWanted, MemberSeen, Nested, ResourceUsed,
};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Subject, Work};
use crate::template::NestedTemplate;

/// OS::Heat::ResourceGroup.
pub(crate) struct ResourceGroup;

/// OS::Heat::ResourceChain.
pub(crate) struct ResourceChain;

/// A group of deployments, and the type of its members.
pub(crate) struct DeploymentGroup(pub(crate) String);

/// One of the groups that grow and shrink.
pub(crate) struct ScalingGroup(pub(crate) Scaled);

/// A definition on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// No member yet.
    Empty,
    /// All members as they should be in the end.
    Whole,
    Batch(Batch),
}

/// Where a group stands on its way.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Way {
    /// How many members there were at its start.
    from: usize,
    /// How many stages are behind it.
    at: usize,
}

impl Way {
    fn of(memory: &Value) -> Way {
        serde_json::from_value(memory.clone()).unwrap_or_default()
    }
}

/// The stages of an action, and the pause between them.
struct Stages {
    stages: Vec<Stage>,
    pause_secs: f64,
}

impl Stages {
    fn at_once() -> Self {
        Self { stages: vec![Stage::Whole], pause_secs: 0.0 }
    }

    fn in_batches(batches: Vec<Batch>, pace: Pace) -> Self {
        let stages = batches.into_iter().map(Stage::Batch).collect();
        Self { stages, pause_secs: pace.pause_secs }
    }

    /// The minutes that are left for the work of a stage when all pauses are taken off; none where
    /// there are no pauses.
    fn minutes_left(&self, timeout: Duration) -> Result<Option<u32>, Failure> {
        let batches = self.stages.iter().filter(|stage| matches!(stage, Stage::Batch(_))).count();
        let pauses = self.pause_secs * batches.saturating_sub(1) as f64;
        if pauses >= timeout.as_secs_f64() {
            let text = "The current update policy will result in stack update timeout.";
            return Err(Failure::Invalid(text.to_owned()));
        }
        let left = (timeout.as_secs_f64() - pauses) / 60.0;
        Ok((pauses > 0.0).then_some(left.ceil() as u32))
    }

    /// The stage that is next, and what is to be remembered for the one after it.
    fn next(&self, way: Way) -> Option<(Stage, Value, f64)> {
        let stage = *self.stages.get(way.at)?;
        let is_last = way.at + 1 == self.stages.len();
        let memory = match is_last {
            true => Value::Null,
            false => json!(Way { at: way.at + 1, ..way }),
        };
        // Before the first batch there is nothing to wait for.
        let rests = matches!(stage, Stage::Batch(_)) && !is_last;
        Some((stage, memory, if rests { self.pause_secs } else { 0.0 }))
    }
}

/// A group as its rules see it.
fn with_group<T>(
    subject: &Subject,
    child: Option<&ChildSeen>,
    then: impl FnOnce(&Group<'_>) -> T,
) -> T {
    let stack = child.map(member_stack);
    let reads: Vec<Read> = subject.reads.iter().map(|key| Read::of(key)).collect();
    then(&Group {
        name: subject.name.as_ref().map_or("", |name| name.as_str()),
        properties: &subject.properties,
        update_policy: &subject.update_policy,
        data: &subject.data,
        reads: &reads,
        stack: stack.as_ref(),
    })
}

fn member_stack(child: &ChildSeen) -> MemberStack {
    let state = |member: &MemberSeen| MemberState {
        name: member.name.to_string(),
        failed: member.status == Status::Failed,
        created_at: member.created_at,
        reference: Some(member.reference.clone()),
    };
    MemberStack::new(child.template.clone(), child.members.iter().map(state).collect())
}

fn made(template: Value) -> ChildWanted {
    ChildWanted {
        template: NestedTemplate::Made(template),
        parameters: JsonMap::new(),
        timeout_mins: None,
        keeps_files: false,
    }
}

/// The step to the next stage; `None` behind the last.
fn step(
    stages: &Stages,
    way: Way,
    timeout: Duration,
    wanted: impl FnOnce(Stage) -> ChildWanted,
) -> Result<Option<ChildStep>, Failure> {
    let timeout_mins = stages.minutes_left(timeout)?;
    Ok(stages.next(way).map(|(stage, memory, pause_secs)| {
        let mut wanted = ChildWanted { timeout_mins, ..wanted(stage) };
        // Before the last step some members are still as they were.
        wanted.keeps_files |= !memory.is_null();
        ChildStep { memory, pause_secs, ..ChildStep::last(wanted) }
    }))
}

/// How many members a sample of a group has.
fn sampled(size: usize, even_if_empty: bool) -> usize {
    if even_if_empty { 1 } else { size.min(1) }
}

/// Whether an update gives the members a new definition.
fn redefines(work: &Work, property: &str) -> bool {
    matches!(work, Work::Update { changed, .. } if changed.contains(property))
}

impl ResourceGroup {
    fn stages(group: &Group<'_>, work: &Work, way: Way) -> Stages {
        let batches = match work {
            Work::Create => resource_group::creation(group),
            _ if redefines(work, "resource_def") => resource_group::rolling(group, way.from),
            Work::Update { .. } | Work::Delete | Work::Act(_) => None,
        };
        let Some((batches, pace)) = batches else { return Stages::at_once() };
        let mut stages = Stages::in_batches(batches, pace);
        if *work == Work::Create {
            stages.stages.insert(0, Stage::Empty);
        }
        stages
    }

    fn template(group: &Group<'_>, stage: Stage) -> Value {
        let removed = resource_group::kept_removed(group);
        let size = match stage {
            Stage::Empty => 0,
            Stage::Whole => resource_group::size(group),
            Stage::Batch(batch) => return resource_group::batch(group, &removed, batch),
        };
        resource_group::whole(group, &resource_group::names(&removed, size), false)
    }
}

impl Nested for ResourceGroup {
    fn member_types<'a>(
        &self,
        properties: &'a JsonMap,
        forgiven: &IndexMap<String, String>,
    ) -> Result<Option<Vec<&'a Value>>, String> {
        if count(properties, "count") == 0 {
            return Ok(None);
        }
        if let Some(message) = forgiven.get("resource_def") {
            return Err(message.clone());
        }
        let member = properties.get("resource_def").and_then(Value::as_object);
        Ok(member.map(|member| member.get("type").into_iter().collect()))
    }

    fn member_in_part(&self) -> Option<&'static str> {
        Some("resource_def")
    }

    fn payload(&self) -> &'static [&'static [&'static str]] {
        &[&["resource_def", "properties"], &["resource_def", "metadata"]]
    }

    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        with_group(ask.subject, ask.child, |group| {
            let size = resource_group::size(group);
            check_size(size, ask.room, group.properties.get("resource_def"))?;
            let names = resource_group::names(&resource_group::removed(group), size);
            Ok(made(resource_group::whole(group, &names, false)))
        })
    }

    fn sample(&self, ask: &ChildAsk<'_>, even_if_empty: bool) -> Result<ChildWanted, Failure> {
        with_group(ask.subject, ask.child, |group| {
            let size = sampled(resource_group::size(group), even_if_empty);
            let names = resource_group::names(&resource_group::removed(group), size);
            Ok(made(resource_group::whole(group, &names, true)))
        })
    }

    fn plan(&self, ask: &ChildAsk<'_>) -> Option<ChildPlan> {
        with_group(ask.subject, ask.child, |group| {
            let removed = resource_group::removed(group);
            let changes = removed != resource_group::kept_removed(group);
            if !changes && !redefines(ask.work, "resource_def") {
                return None;
            }
            let way = Way { from: resource_group::present(group, &removed), at: 0 };
            let text = resource_group::removed_text(&removed);
            let data = changes.then(|| (REMOVED.to_owned(), text.into()));
            Some(ChildPlan { memory: json!(way), data: data.into_iter().collect() })
        })
    }

    fn next(&self, ask: &ChildAsk<'_>, memory: &Value) -> Result<Option<ChildStep>, Failure> {
        let way = Way::of(memory);
        with_group(ask.subject, ask.child, |group| {
            let size = resource_group::size(group);
            check_size(size, ask.room, group.properties.get("resource_def"))?;
            let stages = Self::stages(group, ask.work, way);
            step(&stages, way, ask.timeout, |stage| made(Self::template(group, stage)))
        })
    }

    fn attribute(&self, subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        with_group(subject, Some(child), |group| {
            resource_group::attribute(group, &Read::of(name), &child.outputs)
        })
    }

    fn lists_members(&self) -> bool {
        true
    }

    fn attribute_names(&self, _child: &ChildSeen) -> Vec<String> {
        ["refs", "refs_map", "attributes", "removed_rsrc_list"].map(str::to_owned).into()
    }
}

impl Nested for ResourceChain {
    fn member_types<'a>(
        &self,
        properties: &'a JsonMap,
        _forgiven: &IndexMap<String, String>,
    ) -> Result<Option<Vec<&'a Value>>, String> {
        Ok(Some(chain::types(properties).iter().collect()))
    }

    fn payload(&self) -> &'static [&'static [&'static str]] {
        &[&["resource_properties"]]
    }

    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        with_group(ask.subject, ask.child, |group| {
            let size = chain::types(group.properties).len();
            check_size(size, ask.room, group.properties.get("resource_properties"))?;
            Ok(made(chain::template(group)))
        })
    }

    fn attribute(&self, subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        let found =
            with_group(subject, Some(child), |_| chain::attribute(&Read::of(name), &child.outputs));
        // Where the template does not read them, the members themselves are asked.
        let refs = || child.members.iter().map(|member| member.reference.clone());
        found.or_else(|| (name == "refs").then(|| refs().collect()))
    }

    fn lists_members(&self) -> bool {
        true
    }

    fn attribute_names(&self, _child: &ChildSeen) -> Vec<String> {
        ["refs", "attributes"].map(str::to_owned).into()
    }
}

impl DeploymentGroup {
    fn stages(group: &Group<'_>, work: &Work, way: Way) -> Stages {
        let batches = match work {
            Work::Create => deployments::batches(group, "batch_create", 0),
            Work::Update { .. } => deployments::batches(group, "rolling_update", way.from),
            Work::Delete | Work::Act(_) => None,
        };
        let Some((batches, pace)) = batches else { return Stages::at_once() };
        let mut stages = Stages::in_batches(batches, pace);
        if *work == Work::Create {
            stages.stages.insert(0, Stage::Empty);
        }
        stages
    }

    fn template(&self, group: &Group<'_>, stage: Stage) -> Value {
        match stage {
            Stage::Empty => deployments::whole(group, &self.0, &[]),
            Stage::Whole => deployments::whole(group, &self.0, &deployments::names(group)),
            Stage::Batch(batch) => deployments::batch(group, &self.0, batch),
        }
    }
}

impl Nested for DeploymentGroup {
    fn payload(&self) -> &'static [&'static [&'static str]] {
        &[&["input_values"]]
    }

    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        with_group(ask.subject, ask.child, |group| {
            deployments::check(group, ask.room)?;
            Ok(made(self.template(group, Stage::Whole)))
        })
    }

    fn sample(&self, ask: &ChildAsk<'_>, _even_if_empty: bool) -> Result<ChildWanted, Failure> {
        Ok(with_group(ask.subject, ask.child, |group| {
            let mut names = deployments::names(group);
            names.truncate(1);
            made(deployments::whole(group, &self.0, &names))
        }))
    }

    fn plan(&self, ask: &ChildAsk<'_>) -> Option<ChildPlan> {
        let from = ask.child.map_or(0, |child| child.members.len());
        matches!(ask.work, Work::Update { .. })
            .then(|| ChildPlan { memory: json!(Way { from, at: 0 }), data: BTreeMap::new() })
    }

    fn next(&self, ask: &ChildAsk<'_>, memory: &Value) -> Result<Option<ChildStep>, Failure> {
        let way = Way::of(memory);
        with_group(ask.subject, ask.child, |group| {
            deployments::check(group, ask.room)?;
            let stages = Self::stages(group, ask.work, way);
            step(&stages, way, ask.timeout, |stage| made(self.template(group, stage)))
        })
    }

    fn attribute(&self, _subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        deployments::attribute(&Read::of(name), &child.outputs)
    }

    fn attribute_names(&self, _child: &ChildSeen) -> Vec<String> {
        deployments::attribute_names()
    }
}

impl ScalingGroup {
    fn stages(&self, group: &Group<'_>, work: &Work, way: Way) -> Stages {
        let rolling = match redefines(work, self.0.kind.definition_property()) {
            true => self.0.kind.rolling(group, way.from),
            false => None,
        };
        let Some((batches, pace)) = rolling else { return Stages::at_once() };
        let mut stages = Stages::in_batches(batches, pace);
        // The size comes last.
        stages.stages.push(Stage::Whole);
        stages
    }

    /// Whether it is known what a member is made of, before anything is.
    fn is_known(&self, ask: &ChildAsk<'_>, group: &Group<'_>) -> Result<bool, Failure> {
        if self.0.kind != Scaling::Heat {
            // What is taken from an instance is not.
            let is_whole = |used: &ResourceUsed| !used.properties.contains_key(INSTANCE);
            return Ok(ask.used.is_some_and(is_whole));
        }
        let Some(member) = section(group.properties, "resource") else { return Ok(false) };
        match member.get("type") {
            None => Err(Failure::MissingKey("Resource member is missing \"type\"")),
            Some(type_name) => Ok(!type_name.is_null()),
        }
    }

    fn definition(&self, ask: &ChildAsk<'_>, group: &Group<'_>) -> Value {
        match self.0.kind {
            Scaling::Heat => scaling_group::member(group),
            Scaling::Instances | Scaling::Aws => {
                let data = ask.subject.data.clone();
                let itself = || ResourceUsed { data, ..ResourceUsed::default() };
                let used = ask.used.cloned().unwrap_or_else(itself);
                let reference = ask.subject.physical_id.as_deref().unwrap_or(group.name);
                instance(group, &self.0, &used, reference)
            }
        }
    }

    /// The members' stack with a batch, and what it needs: what the instances stand for, and the
    /// files of members that are as they were.
    fn scaled(&self, ask: &ChildAsk<'_>, group: &Group<'_>, batch: Batch) -> ChildWanted {
        let definition = self.definition(ask, group);
        let template = self.0.kind.template(group, &definition, batch, ask.chance);
        let mut members =
            self.0.kind.language().members(&template).into_iter().flat_map(|it| it.values());
        let keeps_files = members.any(|member| *member != definition);
        let mut wanted = ChildWanted { keeps_files, ..made(template) };
        if self.0.kind != Scaling::Heat {
            let registry = json!({ self.0.member.as_str(): self.0.stands_for });
            wanted.parameters.insert("resource_registry".to_owned(), registry);
        }
        wanted
    }

    fn batch(&self, group: &Group<'_>, stage: Stage) -> Batch {
        match stage {
            Stage::Empty => Batch { capacity: 0, changes: 0 },
            Stage::Batch(batch) => batch,
            Stage::Whole => {
                let capacity = self.0.kind.size(group);
                // What a rolling update that failed has changed is brought back by its rollback.
                let changes = if self.0.kind == Scaling::Heat { capacity } else { 0 };
                Batch { capacity, changes }
            }
        }
    }
}

impl Nested for ScalingGroup {
    fn payload(&self) -> &'static [&'static [&'static str]] {
        &[&["resource", "properties"], &["resource", "metadata"]]
    }

    fn looks(&self, subject: &Subject) -> bool {
        self.0.kind == Scaling::Aws && names_instance(subject)
    }

    /// What the instance was made from that stands for a launch configuration.
    fn look(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        from_instance(cloud, subject)
    }

    fn wanted(&self, ask: &ChildAsk<'_>) -> Result<ChildWanted, Failure> {
        with_group(ask.subject, ask.child, |group| {
            check_size(self.0.kind.size(group), ask.room, group.properties.get("resource"))?;
            Ok(self.scaled(ask, group, self.batch(group, Stage::Whole)))
        })
    }

    fn sample(&self, ask: &ChildAsk<'_>, even_if_empty: bool) -> Result<ChildWanted, Failure> {
        with_group(ask.subject, ask.child, |group| {
            let size = sampled(self.0.kind.size(group), even_if_empty);
            let capacity = if self.is_known(ask, group)? { size } else { 0 };
            Ok(self.scaled(ask, group, Batch { capacity, changes: 0 }))
        })
    }

    fn plan(&self, ask: &ChildAsk<'_>) -> Option<ChildPlan> {
        let from = ask.child.map_or(0, |child| child.members.len());
        redefines(ask.work, self.0.kind.definition_property())
            .then(|| ChildPlan { memory: json!(Way { from, at: 0 }), data: BTreeMap::new() })
    }

    fn uses(&self, subject: &Subject) -> Option<String> {
        let name = match self.0.kind {
            Scaling::Heat => return None,
            Scaling::Instances | Scaling::Aws => "LaunchConfigurationName",
        };
        subject.properties.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    fn next(&self, ask: &ChildAsk<'_>, memory: &Value) -> Result<Option<ChildStep>, Failure> {
        let way = Way::of(memory);
        with_group(ask.subject, ask.child, |group| {
            check_size(self.0.kind.size(group), ask.room, group.properties.get("resource"))?;
            let stages = self.stages(group, ask.work, way);
            let scaled = |stage| self.scaled(ask, group, self.batch(group, stage));
            let step = step(&stages, way, ask.timeout, scaled)?;
            // Heat sends all members each time; after a rolling update all of them are updated.
            let revisits = way.at > 0 && stages.stages.len() > 1;
            Ok(step.map(|step| ChildStep { revisits: revisits && step.memory.is_null(), ..step }))
        })
    }

    fn scales(&self) -> bool {
        self.0.kind != Scaling::Instances
    }

    fn balancers(&self, subject: &Subject) -> Vec<String> {
        let names = subject.properties.get("LoadBalancerNames").and_then(Value::as_array);
        let names = names.into_iter().flatten().filter_map(Value::as_str);
        names.map(str::to_owned).collect()
    }

    fn attribute(&self, subject: &Subject, child: &ChildSeen, name: &str) -> Option<Value> {
        with_group(subject, Some(child), |group| {
            self.0.kind.attribute(group, &Read::of(name), &child.outputs)
        })
    }

    fn attribute_names(&self, _child: &ChildSeen) -> Vec<String> {
        let names: &[&str] = match self.0.kind {
            Scaling::Heat => &["outputs", "outputs_list", "current_size", "refs", "refs_map"],
            Scaling::Instances | Scaling::Aws => &["InstanceList"],
        };
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn cooldown_secs(&self, subject: &Subject) -> Option<i64> {
        with_group(subject, None, |group| self.0.kind.cooldown_secs(group))
    }

    fn adjusted(
        &self,
        subject: &Subject,
        child: &ChildSeen,
        adjustment: &Adjustment,
    ) -> Option<(usize, usize)> {
        with_group(subject, Some(child), |group| {
            let from = group.stack.map_or(0, MemberStack::size);
            let Adjustment { by, kind, step_min, .. } = *adjustment;
            let to = self.0.kind.adjusted_size(group, by, kind, step_min).min(MEMBERS_MAX);
            (from != to).then_some((from, to))
        })
    }

    fn resized(&self, ask: &ChildAsk<'_>, size: usize) -> Result<ChildWanted, Failure> {
        with_group(ask.subject, ask.child, |group| {
            // One more than there is room for is refused as all of them would be.
            let capacity = size.min(ask.room.saturating_add(1));
            Ok(self.scaled(ask, group, Batch { capacity, changes: 0 }))
        })
    }
}
