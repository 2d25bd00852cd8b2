//! `hearth replay STACK --resource NAME --calls`: what a resource's type asked, what was answered,
//! and what the type's program comes to when it is run again by these answers.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};

use super::time;
use crate::actors::executor::Rerun;
use crate::actors::resource::{Knowledge, Replayed, Resource};
use crate::actors::shell::Aggregate;
use crate::cli::stack_log::StackLog;
use crate::events::resource::AnswersKept;
use crate::events::seal::Seals;
use crate::events::vault::Vault;
use crate::events::{RecordedEvent, ResourceEvent, StreamId};
use crate::model::{ResourceId, ResourceName, Status};
use crate::openstack::{Body, CloudError};
use crate::resource_types::Beat;
use crate::resource_types::asks::{Answer, Ask};

/// The beats of every incarnation of a resource, in the order of the log.
pub(super) fn replayed(
    log: &StackLog,
    name: &str,
    takes: impl Fn(&RecordedEvent) -> bool,
    vault: Option<Arc<Vault>>,
    knowledge: &Knowledge,
) -> Result<Vec<Value>, String> {
    if !log.names.values().any(|known| known.as_str() == name) {
        return Err(format!("the stack has no resource {name}"));
    }
    let ids: HashMap<StreamId, ResourceId> =
        log.resources.keys().map(|id| (StreamId::resource(*id), *id)).collect();
    let mut folds: BTreeMap<ResourceId, Fold> = BTreeMap::new();
    let mut beats = Vec::new();
    for (of, event) in log.in_order().into_iter().filter(|(_, event)| takes(event)) {
        let Some(of) = of else { continue };
        let Some(id) = ids.get(&event.stream).copied() else { continue };
        let body = decoded(id, event, of, vault.as_ref(), &mut folds)?;
        if of.as_str() == name {
            if let ResourceEvent::AnswersKept(kept) = &body {
                let fold = folds.get(&id).map(|fold| &fold.resource);
                let replayed = fold.map(|resource| resource.replay(kept, knowledge));
                beats.push(beat(event, id, kept, replayed));
            } else if let Some(Value::Object(last)) = beats.last_mut()
                && last.get("recorded").is_none_or(Value::is_null)
                && let Some(recorded) = recorded(&body)
            {
                let is_same = last.get("outcome") == Some(&recorded);
                last.insert("recorded".to_owned(), recorded);
                last.insert("same".to_owned(), is_same.into());
            }
        }
        if let Some(fold) = folds.get_mut(&id) {
            fold.resource.apply(&body, event.at);
        }
    }
    Ok(beats)
}

struct Fold {
    resource: Resource,
    seals: Option<Seals>,
}

/// An event of a resource, its seals opened where there are keys.
fn decoded(
    id: ResourceId,
    event: &Arc<RecordedEvent>,
    name: &ResourceName,
    vault: Option<&Arc<Vault>>,
    folds: &mut BTreeMap<ResourceId, Fold>,
) -> Result<ResourceEvent, String> {
    let fold = folds.entry(id).or_insert_with(|| Fold {
        resource: Resource::named(id, name.clone()),
        seals: vault.map(|vault| Seals::of(Arc::clone(vault), event.stream.clone())),
    });
    match &mut fold.seals {
        Some(seals) => seals.open(event).map_err(|error| error.to_string()),
        None => event.decode().map_err(|error| error.to_string()),
    }
}

fn beat(
    event: &RecordedEvent,
    id: ResourceId,
    kept: &AnswersKept,
    replayed: Option<Result<Replayed, String>>,
) -> Value {
    let mut beat = json!({
        "position": event.position,
        "at": time(event.at),
        "resource_id": id,
        "searched": kept.searched,
    });
    match replayed {
        Some(Ok(replayed)) => {
            beat["action"] = json!(replayed.action.to_string());
            beat["stage"] = json!(replayed.stage);
            let asked = replayed.rerun.asked.iter();
            beat["asks"] = asked.map(|(ask, answer)| asked_json(ask, answer, &replayed)).collect();
            beat["outcome"] = outcome(&replayed.rerun, &replayed);
        }
        other => {
            let asks = kept.answers.iter().map(|kept| json!({ "ask": kept.ask }));
            beat["asks"] = asks.collect();
            beat["not_replayed"] = json!(other.and_then(Result::err));
        }
    }
    beat
}

fn asked_json(
    ask: &Ask,
    answer: &Option<Result<Answer, CloudError>>,
    replayed: &Replayed,
) -> Value {
    let bodies: Vec<Value> = match ask {
        Ask::Call(request)
        | Ask::CallThere(request)
        | Ask::CallInDomain(request)
        | Ask::CallAsUser { request, .. } => vec![sent(&request.body)],
        Ask::Calls(requests) => requests.iter().map(|request| sent(&request.body)).collect(),
        _ => Vec::new(),
    };
    let mut shown = json!({ "ask": replayed.masked_text(&ask.to_string()) });
    let bodies: Vec<Value> = bodies.iter().filter(|body| !body.is_null()).cloned().collect();
    if !bodies.is_empty() {
        shown["sent"] = replayed.masked(&Value::Array(bodies));
    }
    match answer {
        None => shown["answer"] = "not kept".into(),
        Some(Err(error)) => shown["error"] = replayed.masked_text(&told(error)).into(),
        Some(Ok(answer)) => shown["answer"] = replayed.masked(&answered(answer)),
    }
    shown
}

fn sent(body: &Body) -> Value {
    match body {
        Body::None => Value::Null,
        Body::Json(value) => value.clone(),
        Body::Bytes { bytes, .. } => format!("{} bytes", bytes.len()).into(),
    }
}

fn answered(answer: &Answer) -> Value {
    let response = |response: &crate::openstack::Response| {
        let body =
            response.json().unwrap_or_else(|_| format!("{} bytes", response.bytes().len()).into());
        json!({ "status": response.status, "body": body })
    };
    match answer {
        Answer::Response(it) => response(it),
        Answer::Responses(them) => them
            .iter()
            .map(|it| match it {
                Ok(it) => response(it),
                Err(error) => json!({ "error": told(error) }),
            })
            .collect(),
        Answer::Object(object) => object.clone(),
        Answer::Text(text) => json!(text),
        Answer::Names { project, user } => json!({ "project": project, "user": user }),
        Answer::Token(_) => "a token".into(),
        Answer::Microversion(version) => json!(version.map(|version| version.to_string())),
        Answer::Reached(is_elsewhere) => json!(is_elsewhere),
        Answer::Software(Err(refusal)) => json!({ "error": refusal.to_string() }),
        Answer::Software(Ok(_)) => "done".into(),
        Answer::Alarm(Err(refusal)) => json!({ "error": refusal.to_string() }),
        Answer::Alarm(Ok(())) => "done".into(),
        Answer::Claimed(id) => json!(id),
        Answer::Shares(shares) => json!(shares),
        Answer::Neighbor(neighbor) => json!(neighbor),
        Answer::Neighbors(ids) => json!(ids),
        Answer::ChildDefinition(Err(failure)) => json!({ "error": failure.class() }),
        Answer::ChildDefinition(Ok(_)) => "done".into(),
        Answer::Id(id) => json!(id),
        Answer::Done => "done".into(),
    }
}

fn told(error: &CloudError) -> String {
    format!("{}: {error}", error.class())
}

/// What the program comes to; null where an answer is missing.
fn outcome(rerun: &Rerun, replayed: &Replayed) -> Value {
    match &rerun.outcome {
        None => Value::Null,
        Some(Ok(Beat::Next { learned, next })) => then(learned.physical_id.as_deref(), &next.name),
        Some(Ok(Beat::Done { .. })) => "done".into(),
        Some(Ok(Beat::Wait { .. })) => "wait".into(),
        Some(Ok(Beat::Replace { .. })) => "replace".into(),
        Some(Err(failure)) => {
            replayed.masked_text(&format!("fails with {}", failure.class())).into()
        }
    }
}

fn then(physical_id: Option<&str>, next: &str) -> Value {
    match physical_id {
        Some(id) => format!("{id}, then {next}").into(),
        None => format!("then {next}").into(),
    }
}

/// What the log says that a beat came to, in the words of [`outcome`].
fn recorded(event: &ResourceEvent) -> Option<Value> {
    Some(match event {
        ResourceEvent::CallAnswered(body) => then(body.physical_id.as_deref(), &body.next.name),
        ResourceEvent::ReplacementRequired(_) => "replace".into(),
        ResourceEvent::ActionSettled(body) if body.status == Status::Failed => {
            let class = body.reason.split(':').next().unwrap_or_default();
            format!("fails with {class}").into()
        }
        ResourceEvent::ActionSettled(_) => "done".into(),
        _ => return None,
    })
}

/// Says of the beats whose answers cannot be read why that is so.
pub(super) fn explain(beats: &mut [Value], why: &str) {
    for beat in beats.iter_mut().filter(|beat| beat["outcome"].is_null()) {
        beat["not_replayed"] = why.into();
    }
}

/// The beats for a person to read.
pub(super) fn as_text(beats: &[Value]) -> String {
    let mut text = String::new();
    let word = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for beat in beats {
        let again = if beat["searched"] == true { ", after a lost answer" } else { "" };
        let stage = match beat.get("stage") {
            Some(stage) => format!("{} {}", word(&beat["action"]), word(stage)),
            None => format!("not replayed: {}", word(&beat["not_replayed"])),
        };
        let position = word(&beat["position"]);
        text.push_str(&format!("{position:>6}  {}  {stage}{again}\n", word(&beat["at"])));
        for ask in beat["asks"].as_array().into_iter().flatten() {
            text.push_str(&format!("        {}\n", word(&ask["ask"])));
            for (key, arrow) in [("sent", ">"), ("answer", "<"), ("error", "<")] {
                if let Some(value) = ask.get(key) {
                    text.push_str(&format!("          {arrow} {}\n", word(value)));
                }
            }
        }
        match (beat.get("outcome"), beat.get("recorded")) {
            (Some(Value::Null), Some(recorded)) => {
                let why = beat.get("not_replayed").and_then(Value::as_str);
                let line =
                    why.unwrap_or("an answer is not kept, or today's program asks otherwise");
                text.push_str(&format!("        = {} ({line})\n", word(recorded)));
            }
            (Some(outcome), Some(recorded)) if outcome == recorded => {
                text.push_str(&format!("        = {}\n", word(outcome)));
            }
            (Some(outcome), Some(recorded)) => {
                let line = format!("{}; today {}", word(recorded), word(outcome));
                text.push_str(&format!("        ≠ {line}\n"));
            }
            _ => {}
        }
    }
    if text.is_empty() {
        text.push_str("No answers are kept of this resource: it asks nothing, or has not yet.\n");
    }
    text
}
