//! Sends the requests of a case through HTTP, and compares what is seen of the stack.

use std::time::Duration;

use hearth::events::vault::Placed;
use hearth::model::{StackId, Status};
use hearth::projections::{EventQuery, EventRow, StackRow};
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::step::Step;
use crate::api::app::{Answered, App};
use crate::support::wait::sought;

/// How long a case waits for what must come.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// A stack in the midst of its case.
pub(super) struct Life<'a> {
    app: &'a App,
    name: String,
    files: &'a IndexMap<String, Value>,
    stack: Option<StackId>,
    snapshots: IndexMap<String, String>,
    abandoned: Value,
    /// What was looked at already, by the path of the stack's resource.
    known: IndexMap<String, Known>,
}

#[derive(Default)]
struct Known {
    /// The lines of the event list, of each stack that has stood there.
    lines: IndexMap<StackId, usize>,
    ids: IndexMap<String, Option<String>>,
}

impl<'a> Life<'a> {
    pub(super) fn new(app: &'a App, name: String, files: &'a IndexMap<String, Value>) -> Self {
        Self {
            app,
            name,
            files,
            stack: None,
            snapshots: IndexMap::new(),
            abandoned: Value::Null,
            known: IndexMap::new(),
        }
    }

    pub(super) async fn take(&mut self, step: &Step) -> Result<(), String> {
        if let Some(once) = &step.once {
            self.wait_for(once).await?;
        }
        let before = self.seen().await;
        let (usual, answered) = self.send(step).await?;
        if let Some(wanted) = &step.refused {
            if !step.ask.is_empty() && self.seen().await != before {
                return Err(format!("something changed: {}", answered.text));
            }
            let body = answered.json();
            let error = &body["error"];
            let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
            let found = format!("{} {}: {}", answered.status, text("type"), text("message"));
            return same(&found, wanted, "refused");
        }
        let wanted = step.code.unwrap_or(usual);
        if answered.status != wanted {
            return Err(format!("{} and not {wanted}: {}", answered.status, answered.text));
        }
        self.remember(step, &answered);
        if let Some(wanted) = &step.answer {
            has(&answered.json(), wanted).map_err(|at| format!("{at} in {}", answered.text))?;
        }
        if let Some(wanted) = &step.changes {
            compare_changes(&answered.json(), wanted)?;
        }
        if let Some(end) = &step.end {
            self.reach(end).await?;
        }
        let stack = self.stack.ok_or("no stack")?;
        self.catch_up().await;
        self.compare("", stack, step, step.end.is_some()).await?;
        for (path, seen) in &step.inside {
            let inner = self.inner(path).await?;
            self.compare(path, inner, seen, step.end.is_some()).await?;
        }
        Ok(())
    }

    /// Sends the request, and gives with its answer the status code that it has where all is well.
    async fn send(&self, request: &Step) -> Result<(u16, Answered), String> {
        let path = match self.stack {
            Some(id) => format!("/stacks/{}/{id}", self.name),
            None => "/stacks".to_owned(),
        };
        let ask = |verb: &'static str, path: String, body: Option<Value>| async move {
            self.app.ask(verb, &path, body).await
        };
        let action = |action: Value| ask("POST", format!("{path}/actions"), Some(action));
        let Step { create, update, patch, preview, .. } = request;
        if create.is_some() {
            let mut body = request.body(self.files);
            body["stack_name"] = self.name.clone().into();
            return Ok((201, ask("POST", "/stacks".into(), Some(body)).await));
        }
        if request.adopt {
            let mut body = request.body(self.files);
            body["stack_name"] = self.name.clone().into();
            body["adopt_stack_data"] = self.abandoned.to_string().into();
            return Ok((201, ask("POST", "/stacks".into(), Some(body)).await));
        }
        let body = request.body(self.files);
        if update.is_some() {
            return Ok((202, ask("PUT", path.clone(), Some(body)).await));
        }
        if patch.is_some() {
            return Ok((202, ask("PATCH", path.clone(), Some(body)).await));
        }
        if preview.is_some() {
            return Ok((200, ask("PUT", format!("{path}/preview"), Some(body)).await));
        }
        if request.delete {
            return Ok((204, ask("DELETE", path.clone(), None).await));
        }
        if request.abandon {
            return Ok((200, ask("DELETE", format!("{path}/abandon"), None).await));
        }
        if let Some(name) = &request.act {
            return Ok((200, action(json!({ name.as_str(): null })).await));
        }
        if let Some(name) = &request.snapshot {
            let body = json!({ "name": name });
            return Ok((200, ask("POST", format!("{path}/snapshots"), Some(body)).await));
        }
        if let Some(name) = &request.restore {
            let id = &self.snapshots[name];
            return Ok((202, ask("POST", format!("{path}/snapshots/{id}/restore"), None).await));
        }
        for (target, is_unhealthy) in [(&request.mark, true), (&request.heal, false)] {
            let Some(target) = target else { continue };
            let path = self.path_of(target).await?;
            let body = json!({ "mark_unhealthy": is_unhealthy, "resource_status_reason": "seen" });
            return Ok((200, ask("PATCH", path, Some(body)).await));
        }
        if let Some((target, details)) = request.signal.iter().next() {
            let path = format!("{}/signal", self.path_of(target).await?);
            return Ok((200, ask("POST", path, Some(details.clone())).await));
        }
        if let [verb, below, body @ ..] = &request.ask[..] {
            let path = format!("{path}{}", below.as_str().unwrap_or_default());
            let verb = match verb.as_str() {
                Some("POST") => "POST",
                Some("PUT") => "PUT",
                Some("PATCH") => "PATCH",
                Some("DELETE") => "DELETE",
                _ => "GET",
            };
            return Ok((200, ask(verb, path, body.first().cloned()).await));
        }
        let below = request.get.as_deref().unwrap_or_default();
        Ok((200, ask("GET", format!("{path}{below}"), None).await))
    }

    /// The stack and its newest event, unless it is at work and changes by itself.
    async fn seen(&self) -> Option<(StackRow, Option<EventRow>)> {
        self.catch_up().await;
        let id = self.stack?;
        let stack = self.app.views.stack(id).await.unwrap()?;
        if stack.status == Status::InProgress {
            return None;
        }
        let query = EventQuery { limit: Some(1), ..EventQuery::default() };
        Some((stack, self.app.views.events(id, query).await.unwrap().pop()))
    }

    fn remember(&mut self, request: &Step, answered: &Answered) {
        if request.create.is_some() || request.adopt {
            let id = answered.json()["stack"]["id"].as_str().unwrap_or_default().to_owned();
            self.stack = id.parse().ok();
            self.known.clear();
        }
        if let Some(name) = &request.snapshot {
            let id = answered.json()["id"].as_str().unwrap_or_default().to_owned();
            self.snapshots.insert(name.clone(), id);
        }
        if request.abandon {
            self.abandoned = answered.json();
        }
    }

    /// The stack behind a resource, by the path of names that leads there.
    async fn inner(&self, path: &str) -> Result<StackId, String> {
        let mut stack = self.stack.ok_or("no stack")?;
        for name in path.split('.').filter(|name| !name.is_empty()) {
            let rows = self.app.views.resources(stack).await.unwrap();
            let row = rows.into_iter().find(|row| row.name.as_str() == name);
            let id = row.and_then(|row| row.physical_id).and_then(|id| id.parse().ok());
            stack = id.ok_or_else(|| format!("no stack behind {path}"))?;
        }
        Ok(stack)
    }

    /// The URL of a resource by its path.
    async fn path_of(&self, target: &str) -> Result<String, String> {
        let (above, name) = target.rsplit_once('.').unwrap_or(("", target));
        let stack = self.inner(above).await?;
        let of = self.app.views.stack(stack).await.unwrap().ok_or("no such stack")?;
        Ok(format!("/stacks/{}/{stack}/resources/{name}", of.name))
    }

    async fn catch_up(&self) {
        self.app.views.after(self.app.log.durable_position()).await.unwrap();
    }

    async fn wait_for(&self, once: &str) -> Result<(), String> {
        let comes = async || {
            self.catch_up().await;
            let (above, name) = once.rsplit_once('.').unwrap_or(("", once));
            let is_there = match once.contains(' ') {
                true => self.events(self.stack.unwrap()).await.iter().any(|it| fits_line(it, once)),
                false => match self.inner(above).await {
                    Ok(stack) => {
                        self.app.views.resources(stack).await.unwrap().iter().any(|row| {
                            row.name.as_str() == name && row.status == Status::InProgress
                        })
                    }
                    Err(_) => false,
                },
            };
            match is_there {
                true => Ok(()),
                false => Err(format!("{:#?}", self.events(self.stack.unwrap()).await)),
            }
        };
        let came = sought(WAIT_MAX, &[self.app], comes).await;
        came.map_err(|instead| format!("{once} never comes: {instead}"))
    }

    /// Waits until neither the stack nor a resource of it is at work, and the stack is in a state.
    async fn reach(&self, end: &str) -> Result<(), String> {
        let id = self.stack.ok_or("no stack")?;
        let reached = async || {
            self.catch_up().await;
            let stack = self.app.views.stack(id).await.unwrap().ok_or("no such stack")?;
            let resources = self.app.views.resources(id).await.unwrap();
            let state = format!("{}_{}", stack.action, stack.status);
            if state == end && resources.iter().all(|row| row.status != Status::InProgress) {
                return Ok(());
            }
            let events = self.events(id).await;
            Err(format!("{state}: {}\n{events:#?}", stack.reason))
        };
        let came = sought(WAIT_MAX, &[self.app], reached).await;
        came.map_err(|instead| format!("not {end}, but {instead}"))
    }

    async fn compare(
        &mut self,
        path: &str,
        stack: StackId,
        seen: &Step,
        is_over: bool,
    ) -> Result<(), String> {
        let shown = self.app.views.stack_shown(stack).await.unwrap().ok_or("no such stack")?;
        let events = self.events(stack).await;
        let rows = self.app.views.resources(stack).await.unwrap();
        let known = self.known.entry(path.to_owned()).or_default();
        let lines = known.lines.entry(stack).or_default();
        let news = &events[*lines..];
        if let Some(reason) = &seen.reason {
            same(&shown.stack.reason, reason, "the reason")?;
        }
        if let Some(wanted) = &seen.events {
            compare_lines(news, wanted)?;
        }
        if let Some(wanted) = &seen.each {
            let mut by_name: IndexMap<&str, Vec<String>> = IndexMap::new();
            for line in news {
                let (name, rest) = line.split_once(' ').unwrap_or_default();
                by_name.entry(name).or_default().push(rest.to_owned());
            }
            by_name.sort_keys();
            let mut names: Vec<&str> = wanted.keys().map(String::as_str).collect();
            names.sort_unstable();
            if by_name.keys().ne(names.iter()) {
                return Err(format!("{news:#?} of others than {names:?}"));
            }
            for (name, lines) in by_name {
                compare_lines(&lines, &wanted[name]).map_err(|told| format!("{name}: {told}"))?;
            }
        }
        let mut left = news.iter();
        for wanted in &seen.among {
            if !left.any(|line| fits_line(line, wanted)) {
                return Err(format!("no {wanted} in its place among {news:#?}"));
            }
        }
        if is_over {
            *lines = events.len();
        }
        let mut states: Vec<String> =
            rows.iter().map(|row| format!("{} {}_{}", row.name, row.action, row.status)).collect();
        states.sort_unstable();
        if seen.resources.as_ref().is_some_and(|wanted| *wanted != states) {
            return Err(format!("the resources are {states:?}"));
        }
        if let Some(wanted) = &seen.outputs_are {
            let open = |placed: &Placed| self.app.opened(stack, placed);
            let outputs = shown.outputs.iter().map(|it| (it.key.clone(), open(&it.placed)));
            let outputs: serde_json::Map<String, Value> = outputs.collect();
            has(&Value::Object(outputs.clone()), &Value::Object(wanted.clone()))
                .map_err(|at| format!("{at} in the outputs {outputs:?}"))?;
        }
        let found: IndexMap<String, Option<String>> =
            rows.into_iter().map(|row| (row.name.to_string(), row.physical_id)).collect();
        for name in seen.kept.iter().chain(&seen.replaced) {
            let is_kept = found.get(name) == known.ids.get(name);
            if is_kept != seen.kept.contains(name) {
                let how = if is_kept { "kept" } else { "replaced" };
                return Err(format!("{name} is {how}: {events:#?}"));
            }
        }
        for (name, id) in found {
            let is_new = !known.ids.contains_key(&name) || seen.replaced.contains(&name);
            if is_over && is_new {
                known.ids.insert(name, id);
            }
        }
        Ok(())
    }

    /// The event list, oldest first: `NAME STATE: REASON`; stacks are called `web`, and those
    /// behind resources `web-` and the way there.
    async fn events(&self, stack: StackId) -> Vec<String> {
        let query = EventQuery { descending: Some(false), ..EventQuery::default() };
        let events = self.app.views.events(stack, query).await.unwrap();
        let own = self.app.views.stack(stack).await.unwrap().map(|row| row.name.to_string());
        let line = |event: &EventRow| {
            let is_own = own.as_deref() == Some(&event.name);
            let name = if is_own { "web" } else { event.name.as_str() };
            format!("{name} {}_{}: {}", event.action, event.status, event.reason)
        };
        events.iter().map(line).collect()
    }
}

fn same(found: &str, wanted: &str, what: &str) -> Result<(), String> {
    match fits(found, wanted) {
        true => Ok(()),
        false => Err(format!("{what}:\n  {found}\n  and not\n  {wanted}")),
    }
}

fn compare_lines(news: &[String], wanted: &[String]) -> Result<(), String> {
    let is_same = news.len() == wanted.len()
        && news.iter().zip(wanted).all(|(line, wanted)| fits_line(line, wanted));
    match is_same {
        true => Ok(()),
        false => Err(format!("{news:#?}\nand not {wanted:#?}")),
    }
}

/// Whether a preview names what it should; kinds that are not mentioned are empty.
fn compare_changes(answer: &Value, wanted: &IndexMap<String, Vec<String>>) -> Result<(), String> {
    let changes = answer["resource_changes"].as_object().cloned().unwrap_or_default();
    for (kind, named) in changes {
        let text = |of: &Value, key: &str| of[key].as_str().unwrap_or_default().to_owned();
        let named = named.as_array().cloned().unwrap_or_default();
        let mut found: Vec<String> = named
            .iter()
            .map(|of| format!("{} {}", text(of, "resource_name"), text(of, "resource_type")))
            .collect();
        found.sort_unstable();
        if found != wanted.get(&kind).cloned().unwrap_or_default() {
            return Err(format!("{kind} are {found:?}"));
        }
    }
    Ok(())
}

/// Whether a value has all that is wanted of it; else where it has not.
fn has(found: &Value, wanted: &Value) -> Result<(), String> {
    match (found, wanted) {
        (Value::Object(found), Value::Object(wanted)) => {
            wanted.iter().try_for_each(|(key, wanted)| {
                has(found.get(key).unwrap_or(&Value::Null), wanted)
                    .map_err(|at| format!("{key}.{at}"))
            })
        }
        (Value::Array(found), Value::Array(wanted)) if found.len() == wanted.len() => {
            found.iter().zip(wanted).try_for_each(|(found, wanted)| has(found, wanted))
        }
        (Value::String(found), Value::String(wanted)) if fits(found, wanted) => Ok(()),
        (found, wanted) if found == wanted => Ok(()),
        (found, wanted) => Err(format!("{found} and not {wanted}")),
    }
}

fn fits_line(line: &str, wanted: &str) -> bool {
    match wanted.contains(": ") {
        true => fits(line, wanted),
        false => line.split_once(": ").is_some_and(|(state, _)| state == wanted),
    }
}

/// Whether a text is a wanted one, in which `…` is anything.
fn fits(text: &str, wanted: &str) -> bool {
    let mut parts = wanted.split('…');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        match rest.find(part) {
            Some(place) => rest = &rest[place + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || wanted.ends_with('…')
}
