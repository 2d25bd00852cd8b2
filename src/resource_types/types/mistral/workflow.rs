//! OS::Mistral::Workflow: the definition is a text, and a signal runs it. It is known by its name.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use uuid::Uuid;

use super::execution::{self, Run, workflows};
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::{JsonMap, Refusal};
use crate::openstack::{Method, Request, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{
    Beat, Change, Learned, LocalOutcome, Said, SignalOutcome, Signaled, StackUser, Subject,
    UpdateKind, Work,
};
use crate::resource_types::presigned::{self, Door};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stack_user::{self, Proof};
use crate::resource_types::stage::{Stages, stages};

pub(in crate::resource_types::types) struct Workflow;

/// Resource data: the runs that signals began, the last one first, and where it is signaled.
const EXECUTIONS: &str = "executions";
const ADDRESS: &str = "ec2_signed_url";

/// How many runs are known: each event has them all, and one step deletes them. Of more the oldest
/// are deleted.
const RUNS_MAX: usize = 100;

/// More than one resource's runs ever are.
const COUNTED_MAX: u128 = 1 << 48;

const DEFINITIONS: &str = "/v2/workflows";
const TEXT: &str = "text/plain";

stages! {
    /// What a workflow goes through, besides what its user does.
    enum Stage {
        /// Others may have one of the name.
        Look = "look" Looks,
        Make = "make" Changes,
        Change = "change" Changes,
        DropRuns = "drop_runs" Changes,
        DropUser = "drop_user" Changes,
        Find = "find_workflow" Looks,
        Drop = "drop" Changes,
    }
}

impl ResourceType for Workflow {
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        let has_beats = match work {
            Work::Create | Work::Update { .. } | Work::Delete => true,
            Work::Act(action) => declared.acts(*action) && StackUser::made(subject).is_some(),
        };
        (!has_beats).then(|| Ok(LocalOutcome::default()))
    }

    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create => stack_user::first(Value::Null),
            Work::Update { .. } => Stage::Change.step(),
            Work::Delete => Stage::DropRuns.step(),
            Work::Act(_) => stack_user::enabling(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let then = || if is_named(subject) { Stage::Look.step() } else { Stage::Make.step() };
        if let Some(beat) = stack_user::make(cloud, subject, step, Proof::Key, then) {
            return beat;
        }
        if let Some(beat) = stack_user::keep(cloud, work, subject, step) {
            return beat;
        }
        let Some(stage) = Stage::of(step) else { return declared.plain_beat(beating) };
        match stage {
            Stage::Look => {
                let known = shown(cloud, &name_of(subject))?.map(|_| name_of(subject));
                Ok(Declared::noted(subject, known.into_iter().collect(), Stage::Make.step()))
            }
            Stage::Make => make(declared, beating),
            Stage::Change => {
                let put = Request::new(Method::Put, workflows(), DEFINITIONS)
                    .query("namespace", "")
                    .query("scope", "private");
                let name = sent(declared, cloud, subject, put)?;
                let learned = Learned { physical_id: Some(name), ..Learned::default() };
                Ok(Beat::Done { learned })
            }
            Stage::DropRuns => {
                for id in runs(subject) {
                    execution::delete(cloud, id)?;
                }
                let data = BTreeMap::from([(EXECUTIONS.to_owned(), Value::Null)]);
                let learned = Learned { data, ..Learned::default() };
                Ok(next(learned, Stage::DropUser.step()))
            }
            Stage::DropUser => {
                let learned = stack_user::remove(cloud, subject)?;
                Ok(next(
                    learned,
                    match &subject.physical_id {
                        Some(_) => Stage::Drop.step(),
                        None => Stage::Find.step(),
                    },
                ))
            }
            // The answer that told of it may have been lost.
            Stage::Find => {
                let name = name_of(subject);
                // Nobody else's has the physical name; of another name, it was looked before.
                let is_ours = !is_named(subject)
                    || (declared.may_be_made(subject) && !Declared::is_others(subject, &name));
                if !is_ours || shown(cloud, &name)?.is_none() {
                    return Ok(done());
                }
                let learned = Learned { physical_id: Some(name), ..Learned::default() };
                Ok(next(learned, Stage::Drop.step()))
            }
            Stage::Drop => {
                let name = subject.physical_id.clone().unwrap_or_default();
                match cloud.send(Request::delete(workflows(), place(&name))) {
                    Ok(_) => Ok(done()),
                    Err(error) if error.is_not_found() => Ok(done()),
                    Err(error) => Err(error.into()),
                }
            }
        }
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        declared.change_by_schema(subject, changed, true)
    }

    fn replace_failed(&self, at: At<'_>) -> Result<bool, Failure> {
        let At { cloud, subject, .. } = at;
        match &subject.physical_id {
            Some(name) if is_named(subject) => Ok(shown(cloud, name)?.is_none()),
            _ => Ok(true),
        }
    }

    fn reference(&self, declared: &Declared, subject: &Subject) -> Value {
        match (&subject.physical_id, is_named(subject)) {
            (None, true) => name_of(subject).into(),
            _ => declared.plain_reference(subject),
        }
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { cloud, subject, .. } = at;
        Ok(match name {
            "data" => Some(json!({
                "name": subject.physical_id,
                "input": subject.properties.get("input"),
            })),
            "alarm_url" => Some(subject.data.get(ADDRESS).cloned().unwrap_or_default()),
            "executions" => {
                let shown = runs(subject).map(|id| shown_run(cloud, id));
                Some(shown.collect::<Result<Vec<_>, _>>()?.into())
            }
            _ => None,
        })
    }

    /// A definition is no more than text, which the service may write otherwise.
    fn observes(&self, _subject: &Subject, _name: &str, _update_allowed: bool) -> bool {
        false
    }

    fn signal(&self, _subject: &Subject, _details: &Value) -> Signaled {
        Signaled::Work
    }

    fn carry_out_signal(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        details: &Value,
    ) -> Result<SignalOutcome, Failure> {
        let properties = &subject.properties;
        let property = |name: &str| properties.get(name).cloned().unwrap_or_default();
        let (input, params) = match property("use_request_body_as_input") == true {
            true => (details.clone(), Value::Null),
            false => (details["input"].clone(), details["params"].clone()),
        };
        let own = property("input");
        check_signal(&own, &input, &params)?;
        let mut all = own.as_object().cloned().unwrap_or_default();
        all.extend(input.as_object().cloned().unwrap_or_default());
        // Without any it is null, as in Heat.
        let input = if own.is_null() { Value::Null } else { all.into() };
        let mut all = property("params").as_object().cloned().unwrap_or_default();
        all.extend(params.as_object().cloned().unwrap_or_default());
        let name = name_of(subject);
        let run = Run {
            id: next_id(subject),
            workflow: &name,
            description: "",
            input: &input,
            params: &all,
        };
        let begun = run.begin(cloud)?;
        let mut all: Vec<&str> = [begun.as_str()].into_iter().chain(runs(subject)).collect();
        for oldest in all.split_off(RUNS_MAX.min(all.len())) {
            match execution::delete(cloud, oldest) {
                Err(error) if error.is_transient() => return Err(error),
                // One that goes on is left to its user.
                Ok(()) | Err(_) => {}
            }
        }
        let data = BTreeMap::from([(EXECUTIONS.to_owned(), all.join(",").into())]);
        Ok(SignalOutcome { said: Said::Details, data, ..SignalOutcome::default() })
    }
}

fn is_named(subject: &Subject) -> bool {
    subject.properties.get("name").and_then(Value::as_str).is_some_and(|name| !name.is_empty())
}

fn name_of(subject: &Subject) -> String {
    match subject.properties.get("name").and_then(Value::as_str) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => subject.physical_name.clone(),
    }
}

fn place(name: &str) -> String {
    format!("{DEFINITIONS}/{}", path_segment(name))
}

/// The workflow of a name, where there is one.
fn shown(cloud: &Asks<'_>, name: &str) -> Result<Option<Value>, Failure> {
    match cloud.send(Request::get(workflows(), place(name)).query("namespace", "")) {
        Ok(answer) => Ok(Some(answer.json()?)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn make(declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let name = name_of(subject);
    let may_be_there = beating.is_unanswered() && !Declared::is_others(subject, &name);
    let name = match may_be_there && shown(cloud, &name)?.is_some() {
        true => name,
        false => {
            let post = Request::post(workflows(), DEFINITIONS)
                .query("scope", "private")
                .query("namespace", "");
            sent(declared, cloud, subject, post)?
        }
    };
    let mut learned = Declared::made(subject, Some(name));
    if let Some(address) = presigned::address(cloud, subject, Door::Signal)? {
        learned.data.insert(ADDRESS.to_owned(), address.into());
    }
    Ok(Beat::Done { learned })
}

/// Sends the definition; the name that it then has.
fn sent(
    declared: &Declared,
    cloud: &Asks<'_>,
    subject: &Subject,
    request: Request,
) -> Result<String, Failure> {
    let name = name_of(subject);
    let properties = declared.properties(&subject.properties);
    let text = serde_yaml::to_string(&sorted(&definition(&name, &properties)))
        .map_err(|error| Failure::Invalid(error.to_string()))?;
    let answer = cloud.send(request.bytes(TEXT, text))?.json()?;
    let made = answer["workflows"][0]["name"].as_str();
    Ok(made.map_or(name, str::to_owned))
}

/// The definition in Mistral's language.
fn definition(name: &str, properties: &JsonMap) -> Value {
    let mut workflow = JsonMap::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            workflow.insert(key.to_owned(), value);
        }
    };
    let property = |name: &str| properties.get(name).cloned().unwrap_or_default();
    for key in ["type", "description", "tags", "output"] {
        put(key, property(key));
    }
    if let Value::Object(input) = property("input") {
        put("input", input.keys().cloned().collect());
    }
    let tasks = property("tasks");
    let tasks = tasks.as_array().into_iter().flatten();
    let tasks = tasks.map(|task| (python::text(&task["name"]), definition_of(task)));
    put("tasks", Value::Object(tasks.collect()));
    if let Value::Object(defaults) = property("task_defaults") {
        let said = defaults.iter().filter(|(_, value)| crate::model::python::is_truthy(value));
        put("task-defaults", dashed(said));
    }
    json!({ "version": "2.0", name: workflow })
}

fn definition_of(task: &Value) -> Value {
    let said = task.as_object().into_iter().flatten();
    dashed(said.filter(|(key, value)| *key != "name" && !value.is_null()))
}

/// Mistral has dashes where Heat has underscores.
fn dashed<'a>(fields: impl Iterator<Item = (&'a String, &'a Value)>) -> Value {
    fields.map(|(key, value)| (key.replace('_', "-"), value.clone())).collect::<JsonMap>().into()
}

/// The same with the keys of all maps in their order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let map: BTreeMap<&String, Value> =
                map.iter().map(|(key, value)| (key, sorted(value))).collect();
            map.into_iter().map(|(key, value)| (key.clone(), value)).collect::<JsonMap>().into()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

/// The runs that signals have begun.
fn runs(subject: &Subject) -> impl Iterator<Item = &str> {
    let known = subject.data.get(EXECUTIONS).and_then(Value::as_str).unwrap_or_default();
    known.split(',').filter(|id| !id.is_empty())
}

/// The id of the next run: the resource's own, counted on from that of the last one, so that a signal
/// that is carried out once more begins no other.
fn next_id(subject: &Subject) -> Uuid {
    let own = subject.resource_id.unwrap_or_default().0.as_u128();
    let last = runs(subject).next().and_then(|id| Uuid::try_parse(id).ok());
    // An id that the service chose counts nothing.
    let counted = last.map(|id| id.as_u128() ^ own).filter(|number| *number < COUNTED_MAX);
    let number = counted.unwrap_or_else(|| runs(subject).count() as u128);
    Uuid::from_u128(own ^ (number + 1))
}

fn shown_run(cloud: &Asks<'_>, id: &str) -> Result<Value, Failure> {
    let run = execution::shown(cloud, id)?;
    Ok(json!({
        "id": run["id"],
        "workflow_name": run["workflow_name"],
        "created_at": run["created_at"],
        "updated_at": run["updated_at"],
        "state": run["state"],
        "input": execution::read(&run["input"]),
        "output": execution::read(&run["output"]),
    }))
}

/// Refuses what no run can be given.
fn check_signal(own: &Value, input: &Value, params: &Value) -> Result<(), Refusal> {
    let refused = |what: String| Err(Refusal::validation(format!("Signal data error: {what}")));
    if let Value::Object(input) = input {
        let unknown = input.keys().find(|key| own.get(key.as_str()).is_none());
        if let Some(unknown) = unknown {
            return refused(format!("Unknown input {unknown}"));
        }
    } else if !input.is_null() {
        return refused(format!("Input in signal data must be a map, find a {}", class(input)));
    }
    match params {
        Value::Object(_) | Value::Null => Ok(()),
        params => refused(format!("Params must be a map, find a {}", class(params))),
    }
}

/// What Python calls the class of a value.
fn class(value: &Value) -> &'static str {
    match value {
        Value::Null => "<class 'NoneType'>",
        Value::Bool(_) => "<class 'bool'>",
        Value::Number(number) if number.is_f64() => "<class 'float'>",
        Value::Number(_) => "<class 'int'>",
        Value::String(_) => "<class 'str'>",
        Value::Array(_) => "<class 'list'>",
        Value::Object(_) => "<class 'dict'>",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_definition_is_written_as_heat_writes_it() {
        let properties = json!({
            "type": "direct",
            "input": { "key": "value" },
            "output": null,
            "tasks": [
                { "name": "t0", "action": "std.noop", "on_success": ["u"], "retry": null },
                { "name": "u", "workflow": "other" },
            ],
            "task_defaults": { "wait_after": 1, "pause_before": false },
        });
        let properties = properties.as_object().cloned().unwrap();
        let text = serde_yaml::to_string(&sorted(&definition("name", &properties))).unwrap();
        let wanted = "name:\n  input:\n  - key\n  task-defaults:\n    wait-after: 1\n  tasks:\n    \
                      t0:\n      action: std.noop\n      on-success:\n      - u\n    u:\n      \
                      workflow: other\n  type: direct\nversion: '2.0'\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn a_run_never_has_the_id_of_one_that_is_forgotten() {
        let mut subject = Subject { resource_id: Some(Default::default()), ..Subject::default() };
        let mut begun = Vec::new();
        for _ in 0..2 * RUNS_MAX {
            let id = next_id(&subject).to_string();
            assert!(!begun.contains(&id), "{id}");
            begun.insert(0, id);
            let known = begun[..begun.len().min(RUNS_MAX)].join(",");
            subject.data.insert(EXECUTIONS.to_owned(), known.into());
        }
        subject.data.insert(EXECUTIONS.to_owned(), "00000000-0000-4000-8000-000000000001".into());
        assert_eq!(next_id(&subject), Uuid::from_u128(2));
    }

    #[test]
    fn a_signal_gives_what_the_workflow_takes() {
        let own = json!({ "a": 1 });
        assert!(check_signal(&own, &json!({ "a": 2 }), &Value::Null).is_ok());
        let text = |input: Value, params: Value| {
            check_signal(&own, &input, &params).unwrap_err().message.to_string()
        };
        let wanted = "Signal data error: Unknown input b";
        assert_eq!(text(json!({ "b": 2 }), Value::Null), wanted);
        let wanted = "Signal data error: Input in signal data must be a map, find a <class 'str'>";
        assert_eq!(text(json!("b"), Value::Null), wanted);
        let wanted = "Signal data error: Params must be a map, find a <class 'list'>";
        assert_eq!(text(Value::Null, json!([])), wanted);
    }
}
