//! Stacks that a resource has in another region or cloud: the same beats, spoken to the Heat there
//! through its API. Nothing of such a stack is in the log here but that it was made.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::asks::parent;
use super::beating::Beating;
use super::turn::ChildBeat;
use crate::actors::previewed::{FarAsk, Preview, PreviewWithin, PreviewedResource};
use crate::actors::services::Services;
use crate::events::resource::Step;
use crate::model::Action;
use crate::model::taint;
use crate::openstack::{CloudError, Request, Service, Session, path_segment};
use crate::resource_types::child::{ChildAsk, ChildSeen, Nested};
use crate::resource_types::declared::nesting::ChildStage;
use crate::resource_types::stage::{Stages, stages};
use crate::resource_types::{Attempt, Beat, Failure, Learned, Subject, Work};

/// The session there, where a resource's stack is to stand somewhere else than here.
pub(super) async fn elsewhere(
    services: &Services,
    session: &Session,
    nested: &dyn Nested,
    subject: &Subject,
) -> Result<Option<Session>, CloudError> {
    match services.cloud {
        Some(_) => session.elsewhere(&nested.elsewhere(subject), &heat()).await,
        None => Ok(None),
    }
}

fn heat() -> Service {
    Service::of_type("orchestration")
}

stages! {
    /// What a stack elsewhere goes through.
    enum Stage {
        Create = "remote_create" Changes,
        Update = "remote_update" Changes,
        Act = "remote_act" Changes,
        Delete = "remote_delete" Changes,
        Wait = "remote_wait" Looks,
    }
}

fn next(next: Step) -> Beat {
    Beat::Next { learned: Learned::default(), next }
}

fn done() -> Beat {
    Beat::Done { learned: Learned::default() }
}

/// Makes one beat there.
pub(super) async fn beat(beating: &Beating<'_>, there: &Session) -> Result<Beat, Failure> {
    let subject = beating.beat.subject;
    let step = beating.beat.step;
    let Some(stage) = Stage::of(step) else {
        return match ChildStage::of(step) {
            Some(ChildStage::Define) if subject.physical_id.is_none() => {
                Ok(next(Stage::Create.step()))
            }
            Some(ChildStage::Define) => Ok(next(Stage::Update.step())),
            // What is abandoned stays.
            Some(ChildStage::Delete) if subject.abandons => Ok(done()),
            Some(ChildStage::Delete) => Ok(next(Stage::Delete.step())),
            Some(ChildStage::Act) => Ok(next(Stage::Act.step())),
            Some(ChildStage::Settle | ChildStage::Pause) | None => settle(beating, there).await,
        };
    };
    match stage {
        Stage::Create => create(beating, there).await,
        Stage::Update => {
            let mut body = definition(beating).await?;
            body["disable_rollback"] = true.into();
            there.send(request(Request::put, subject, "").json(body)).await?;
            Ok(next(Stage::Wait.with("UPDATE".into())))
        }
        Stage::Act => {
            let Work::Act(action) = *beating.beat.work else { return Ok(done()) };
            let word = action.as_str().to_lowercase();
            let body = json!({ word: null });
            there.send(request(Request::post, subject, "/actions").json(body)).await?;
            Ok(next(Stage::Wait.with(action.as_str().into())))
        }
        Stage::Delete => {
            let Some(id) = found(there, subject).await? else { return Ok(done()) };
            let known = Subject { physical_id: Some(id.clone()), ..subject.clone() };
            match there.send(request(Request::delete, &known, "")).await {
                Ok(_) => {}
                Err(error) if error.is_not_found() => return Ok(done()),
                Err(error) => return Err(error.into()),
            }
            let learned = Learned { physical_id: Some(id), ..Learned::default() };
            Ok(Beat::Next { learned, next: Stage::Wait.with("DELETE".into()) })
        }
        Stage::Wait => settle(beating, there).await,
    }
}

/// The id of the stack there: the one known, or that of the name.
async fn found(there: &Session, subject: &Subject) -> Result<Option<String>, Failure> {
    if let Some(id) = &subject.physical_id {
        return Ok(Some(id.clone()));
    }
    let request = Request::get(heat(), "/stacks").query("stack_name", &subject.physical_name);
    let listed = there.send(request).await?.json()?;
    let mut stacks = listed["stacks"].as_array().into_iter().flatten();
    let named = stacks.find(|stack| stack["stack_name"] == subject.physical_name.as_str());
    Ok(named.and_then(|stack| stack["id"].as_str()).map(str::to_owned))
}

async fn create(beating: &Beating<'_>, there: &Session) -> Result<Beat, Failure> {
    let former = match beating.attempt {
        Attempt::First => None,
        Attempt::Unanswered => found(there, beating.beat.subject).await?,
    };
    let id = match former {
        Some(id) => id,
        None => {
            let mut body = definition(beating).await?;
            body["stack_name"] = beating.beat.subject.physical_name.as_str().into();
            body["disable_rollback"] = true.into();
            let made = there.send(Request::post(heat(), "/stacks").json(body)).await?.json()?;
            let missing = || Failure::Failed("The stack that was made has no id.".to_owned());
            made["stack"]["id"].as_str().ok_or_else(missing)?.to_owned()
        }
    };
    let learned = Learned { physical_id: Some(id), ..Learned::default() };
    Ok(Beat::Next { learned, next: Stage::Wait.with("CREATE".into()) })
}

/// What the stack there is made of.
async fn definition(beating: &Beating<'_>) -> Result<Value, Failure> {
    let (known, parent) = parent(beating.services, &beating.beat).await?;
    let ChildBeat { nested, work, .. } = beating.beat;
    let moment = beating.moment();
    let subject = beating.beat.filled();
    let ask = ChildAsk {
        work,
        subject: &subject,
        definition: &known.definition,
        child: None,
        used: None,
        templates: beating.services.registry.operator_templates(),
        room: beating.services.limits.tree().room(),
        timeout: parent.timeout(beating.services.limits.stack_action_timeout),
        now: moment.now,
        chance: &|bytes| moment.fill(bytes),
    };
    question(nested, &ask)
}

/// What a stack there is made of, as its API is told.
pub(in crate::actors) fn question(
    nested: &dyn Nested,
    ask: &ChildAsk<'_>,
) -> Result<Value, Failure> {
    let wanted = nested.wanted(ask)?;
    let source = ask.definition.source();
    let mut body = json!({
        "template": ask.subject.properties.get("template"),
        "files": source.files,
        "environment": taint::plain_map(source.environment),
        "parameters": wanted.parameters,
    });
    if let Some(minutes) = wanted.timeout_mins {
        body["timeout_mins"] = minutes.into();
    }
    Ok(body)
}

fn request(verb: impl Fn(Service, String) -> Request, subject: &Subject, rest: &str) -> Request {
    let name = path_segment(&subject.physical_name);
    let id = path_segment(subject.physical_id.as_deref().unwrap_or_default());
    verb(heat(), format!("/stacks/{name}/{id}{rest}"))
}

async fn settle(beating: &Beating<'_>, there: &Session) -> Result<Beat, Failure> {
    let wanted = beating.beat.step.state.as_str().unwrap_or_default();
    let stack = match show(there, beating.beat.subject).await {
        Ok(stack) => stack,
        Err(error) if error.is_not_found() && wanted == Action::Delete.as_str() => {
            return Ok(done());
        }
        Err(error) => return Err(error.into()),
    };
    let state = stack["stack_status"].as_str().unwrap_or_default();
    let (action, status) = state.split_once('_').unwrap_or((state, ""));
    let reason = stack["stack_status_reason"].as_str().unwrap_or_default();
    match status {
        _ if action != wanted => Ok(Beat::Wait { after: None }),
        "IN_PROGRESS" => Ok(Beat::Wait { after: None }),
        "COMPLETE" => Ok(done()),
        "FAILED" => Err(Failure::in_error(state, reason)),
        _ => Err(Failure::unknown_status("Resource failed", state)),
    }
}

async fn show(there: &Session, subject: &Subject) -> Result<Value, CloudError> {
    let shown = there.send(request(Request::get, subject, "")).await?.json()?;
    Ok(shown["stack"].clone())
}

/// The stack there as its resource's attributes need it. `None`: it stands here.
pub(super) async fn seen(
    services: &Arc<Services>,
    session: &Session,
    nested: &dyn Nested,
    subject: &Subject,
) -> Option<Result<ChildSeen, CloudError>> {
    let there = elsewhere(services, session, nested, subject).await.transpose()?;
    let shown = async { show(&there?, subject).await };
    Some(shown.await.map(|stack| {
        let outputs = stack["outputs"].as_array().into_iter().flatten().filter_map(|output| {
            Some((output["output_key"].as_str()?.to_owned(), output["output_value"].clone()))
        });
        ChildSeen { outputs: outputs.collect(), ..ChildSeen::default() }
    }))
}

/// Asks the Heats of other places what a plan's updates would do to the stacks there.
pub(in crate::actors) fn ask_elsewhere<'a>(
    services: &'a Arc<Services>,
    session: &'a Session,
    plan: &'a mut Preview,
) -> BoxFuture<'a, ()> {
    async move {
        let Preview { updated, within, .. } = plan;
        for within in within.iter_mut() {
            ask_elsewhere(services, session, &mut within.plan).await;
        }
        for entry in updated {
            let Some(far) = entry.far.take() else { continue };
            match previewed(services, session, entry, far).await {
                Ok(found) => within.extend(found),
                Err(error) => {
                    tracing::warn!(%error, "a stack elsewhere cannot be asked for a plan");
                    entry.why.push_str("; what changes there cannot be asked now");
                }
            }
        }
    }
    .boxed()
}

async fn previewed(
    services: &Services,
    session: &Session,
    entry: &PreviewedResource,
    far: FarAsk,
) -> Result<Option<PreviewWithin>, CloudError> {
    let driver = services.registry.driver(&far.type_name);
    let Some(nested) = driver.as_ref().and_then(|driver| driver.nests()) else { return Ok(None) };
    let subject = Subject {
        properties: entry.properties.clone(),
        physical_id: entry.physical_id.clone(),
        physical_name: far.stack_name,
        ..Subject::default()
    };
    let Some(there) = elsewhere(services, session, nested, &subject).await? else {
        return Ok(None);
    };
    let asked = request(Request::put, &subject, "/preview").json(far.body);
    let changes = there.send(asked).await?.json()?["resource_changes"].take();
    let of = |kind: &str| -> Vec<PreviewedResource> {
        let told = changes[kind].as_array().into_iter().flatten();
        let text = |told: &Value, key: &str| told[key].as_str().unwrap_or_default().to_owned();
        let resource = |told: &Value| PreviewedResource {
            name: text(told, "resource_name"),
            type_name: text(told, "resource_type"),
            ..PreviewedResource::default()
        };
        told.map(resource).collect()
    };
    let plan = Preview {
        unchanged: of("unchanged"),
        updated: of("updated"),
        replaced: of("replaced"),
        added: of("added"),
        deleted: of("deleted"),
        ..Preview::default()
    };
    let (resource, name) = (entry.name.clone(), subject.physical_name);
    Ok(Some(PreviewWithin { resource, name, stack: None, plan }))
}
