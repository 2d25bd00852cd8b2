//! OS::Mistral::ExternalResource: each action is the run of a workflow, if it has one, and what the
//! runs put out is kept.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::execution::{self, Run};
use crate::events::resource::Step;
use crate::model::{Action, JsonMap};
use crate::resource_types::declared::{Beating, Declared, PlainStage, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Change, Learned, Subject, UpdateKind, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(in crate::resource_types::types) struct ExternalResource;

/// Resource data: what the runs have put out, as JSON.
const OUTPUTS: &str = "outputs";
/// The longest id that a run may give.
const ID_MAX: usize = 255;

stages! {
    /// What an action goes through.
    enum Stage {
        Begin = "begin" Changes,
        End = "end" Looks,
    }
}

impl ResourceType for ExternalResource {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match action(declared, work, subject) {
            Some(_) => Stage::Begin.step(),
            None => PlainStage::Done.step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        match Stage::of(step) {
            Some(Stage::Begin) => {
                let Some(action) = action(declared, work, subject) else { return Ok(done()) };
                let properties = declared.properties(&subject.properties);
                let mut params = action["params"].as_object().cloned().unwrap_or_default();
                if subject.physical_id.is_some() {
                    let mut env = params.get("env").cloned().unwrap_or_else(|| json!({}));
                    env["heat_extresource_data"] = outputs(subject).into();
                    params.insert("env".to_owned(), env);
                }
                let run = Run {
                    id: own_id(work, subject),
                    workflow: action["workflow"].as_str().unwrap_or_default(),
                    description: properties["description"].as_str().unwrap_or_default(),
                    input: &properties["input"],
                    params: &params,
                };
                let id = run.begin(cloud)?;
                Ok(next(Learned::default(), Stage::End.with(id.into())))
            }
            Some(Stage::End) => {
                let id = step.state.as_str().unwrap_or_default();
                end(subject, &execution::shown(cloud, id)?, id)
            }
            None => declared.plain_beat(beating),
        }
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, before, changed } = change;
        let properties = declared.properties(&subject.properties);
        let before = declared.properties(before);
        let input = |of: &JsonMap, name: &Value| of["input"].get(python::text(name)).cloned();
        let named = properties["replace_on_change_inputs"].as_array().into_iter().flatten();
        let mut named = named.filter(|name| input(&properties, name) != input(&before, name));
        match named.next() {
            Some(_) => declared.replaced_by_class(subject),
            None => declared.change_by_schema(subject, changed, true),
        }
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let kept = at.subject.data.get(OUTPUTS).cloned().unwrap_or_default();
        Ok((name == "output").then_some(kept))
    }

    /// What there is, the workflows alone know.
    fn object(&self, _at: At<'_>) -> Result<Option<Value>, Failure> {
        Ok(Some(Value::Null))
    }
}

/// The name of what is to be done, where a workflow may see to it.
fn name_of(work: &Work) -> Option<&'static str> {
    match work {
        Work::Create => Some("CREATE"),
        Work::Update { .. } => Some("UPDATE"),
        Work::Delete => Some("DELETE"),
        Work::Act(Action::Suspend) => Some("SUSPEND"),
        Work::Act(Action::Resume) => Some("RESUME"),
        Work::Act(_) => None,
    }
}

/// The id of an action's run, the same however often it is asked for.
fn own_id(work: &Work, subject: &Subject) -> Uuid {
    let traversal = subject.traversal.as_ref().map(|it| it.0.to_string()).unwrap_or_default();
    let name = name_of(work).unwrap_or_default();
    let digest = Sha256::digest(format!("{}\n{traversal}\n{name}", subject.physical_name));
    let (first, _) = digest.split_at(size_of::<Uuid>());
    Uuid::from_slice(first).unwrap_or_default()
}

/// The workflow of what is to be done, with its parameters.
fn action(declared: &Declared, work: &Work, subject: &Subject) -> Option<Value> {
    let name = name_of(work)?;
    let actions = declared.properties(&subject.properties).shift_remove("actions")?;
    actions.get(name).filter(|action| action.is_object()).cloned()
}

/// What the runs so far have put out.
fn outputs(subject: &Subject) -> JsonMap {
    let kept = subject.data.get(OUTPUTS).map(execution::read).unwrap_or_default();
    kept.as_object().cloned().unwrap_or_default()
}

/// What becomes of an action by how its run stands.
fn end(subject: &Subject, run: &Value, id: &str) -> Result<Beat, Failure> {
    let state = run["state"].as_str().unwrap_or_default();
    match state {
        "IDLE" | "RUNNING" | "PAUSED" => return Ok(Beat::Wait { after: None }),
        "SUCCESS" => {}
        "ERROR" | "CANCELLED" => return Err(Failure::Failed(python::text(&run["state_info"]))),
        _ => {
            let text = "Mistral execution is in unknown state.";
            return Err(Failure::unknown_status(text, state));
        }
    }
    let output = execution::read(&run["output"]);
    let given = output.get("resource_id").map(python::text).filter(|id| !id.is_empty());
    let physical_id = given.unwrap_or_else(|| id.to_owned()).chars().take(ID_MAX).collect();
    let mut all = outputs(subject);
    all.extend(output.as_object().cloned().unwrap_or_default());
    let data = BTreeMap::from([(OUTPUTS.to_owned(), python::json(&all.into()).into())]);
    Ok(Beat::Done {
        learned: Learned { physical_id: Some(physical_id), data, ..Learned::default() },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_action_has_one_run() {
        let subject = Subject { physical_name: "a".to_owned(), ..Subject::default() };
        let id = |work| own_id(&work, &subject);
        assert_eq!(id(Work::Create), id(Work::Create));
        assert_ne!(id(Work::Create), id(Work::Delete));
        let other = Subject { physical_name: "b".to_owned(), ..Subject::default() };
        assert_ne!(id(Work::Create), own_id(&Work::Create, &other));
    }

    #[test]
    fn what_a_run_puts_out_is_kept_and_may_name_the_resource() {
        let data = BTreeMap::from([(OUTPUTS.to_owned(), json!("{\"a\": 1}"))]);
        let subject = Subject { data, ..Subject::default() };
        let run = json!({ "state": "SUCCESS", "output": "{\"resource_id\": 7, \"b\": 2}" });
        let Ok(Beat::Done { learned }) = end(&subject, &run, "run") else {
            unreachable!("it is done")
        };
        assert_eq!(learned.physical_id.as_deref(), Some("7"));
        let kept = execution::read(&learned.data[OUTPUTS]);
        assert_eq!(kept, json!({ "a": 1, "resource_id": 7, "b": 2 }));
    }

    #[test]
    fn a_run_that_failed_says_why() {
        let run = json!({ "state": "ERROR", "state_info": "no such thing" });
        let failed = end(&Subject::default(), &run, "run").unwrap_err();
        assert_eq!(failed.to_string(), "no such thing");
        let run = json!({ "state": "PAUSED" });
        assert_eq!(end(&Subject::default(), &run, "run").unwrap(), Beat::Wait { after: None });
    }
}
