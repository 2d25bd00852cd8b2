//! Where events enter the log and come back from it: marked parts of their bodies are sealed on the
//! way in, bound to stream, revision and path, and bear their marks again on the way out.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::log::{Head, LogError};
use super::vault::{Vault, VaultError};
use super::{Event, Meta, NewEvent, RecordedEvent, StreamId, StreamRevision};
use crate::model::taint::MARK;

/// Why an event cannot enter the log.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    #[error("an event cannot be written as JSON")]
    Json(#[from] serde_json::Error),
    #[error("{stream} has a secret and no scope to seal it in")]
    NoScope { stream: StreamId },
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// The seals of one stream.
#[derive(Clone)]
pub struct Seals {
    vault: Arc<Vault>,
    stream: StreamId,
    /// Whose key seals; most streams say it in their first event.
    scope: Option<StreamId>,
}

impl Seals {
    /// The seals of a stream of which nothing was read yet.
    pub fn of(vault: Arc<Vault>, stream: StreamId) -> Self {
        let is_own = matches!(stream.kind(), "stack" | "project");
        Self { vault, scope: is_own.then(|| stream.clone()), stream }
    }

    /// The same with the scope that is known beforehand.
    pub fn scoped(self, scope: StreamId) -> Self {
        Self { scope: Some(scope), ..self }
    }

    /// Events as they are kept from a head on.
    pub fn seal_all<E: Event>(
        &mut self,
        events: &[E],
        head: Head,
        at: DateTime<Utc>,
        meta: &Arc<Meta>,
    ) -> Result<Vec<NewEvent>, SealError> {
        let revisions = (head.next..).map(StreamRevision);
        let placed = events.iter().zip(revisions);
        placed.map(|(event, revision)| self.seal(event, revision, at, Arc::clone(meta))).collect()
    }

    /// The scope whose key has to be looked up or made, by `make_ready`, so that `seal_all` does not
    /// wait for the log's server.
    pub fn waits_for<E: Event>(&self, events: &[E]) -> Option<StreamId> {
        let said = events.iter().rev().find_map(Event::scope);
        let scope = said.or_else(|| self.scope.clone())?;
        let needs_key = |event: &E| event.encode().is_ok_and(|body| needs_seal(&body));
        let waits = self.vault.waits_for(scope.as_str()) && events.iter().any(needs_key);
        waits.then_some(scope)
    }

    fn seal<E: Event>(
        &mut self,
        event: &E,
        revision: StreamRevision,
        at: DateTime<Utc>,
        meta: Arc<Meta>,
    ) -> Result<NewEvent, SealError> {
        self.learn(event);
        let mut kept = NewEvent::of(event, at, meta)?;
        if needs_seal(&kept.body) {
            let body = serde_json::from_str(&kept.body)?;
            let body = match &self.scope {
                Some(scope) => self.vault.seal(scope.as_str(), &self.place(revision), body)?,
                None => return Err(SealError::NoScope { stream: self.stream.clone() }),
            };
            kept.body = body.to_string();
        }
        Ok(kept)
    }

    /// Has the key at hand by which a stream's events are opened, so that `open` does not wait for the
    /// log's server. Errors: the key cannot be looked up now.
    pub async fn warm<E: Event>(&mut self, events: &[Arc<RecordedEvent>]) -> Result<(), LogError> {
        if !events.iter().any(|event| may_be_sealed(&event.body)) {
            return Ok(());
        }
        // Most streams say in their first event whose key it is.
        if let Some(Ok(first)) = events.first().map(|first| first.decode::<E>()) {
            self.learn(&first);
        }
        let Some(scope) = &self.scope else { return Ok(()) };
        match self.vault.warm(scope.as_str()).await {
            Err(VaultError::Log(error)) => Err(error),
            // Whoever opens is told what is wrong with it.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// The event as it was. What was sealed elsewhere makes the stream a damaged one; what nobody
    /// can open any more, because its key was destroyed, is null.
    pub fn open<E: Event>(&mut self, event: &RecordedEvent) -> Result<E, LogError> {
        let damaged = |error: &dyn std::fmt::Display| LogError::Damaged(error.to_string());
        let typed: E = event.decode().map_err(|error| damaged(&error))?;
        self.learn(&typed);
        let Some(scope) = self.scope.as_ref().filter(|_| may_be_sealed(&event.body)) else {
            return Ok(typed);
        };
        let body: Value = serde_json::from_str(&event.body).map_err(|error| damaged(&error))?;
        let place = self.place(event.revision);
        let opened = match self.vault.open_at(scope.as_str(), &place, body.clone()) {
            Err(VaultError::Log(LogError::KeyDestroyed(_))) => Vault::emptied(&body),
            // The key cannot be looked up now: that says nothing of the stream.
            Err(VaultError::Log(error)) => return Err(error),
            opened => opened.map_err(|error| damaged(&error))?,
        };
        E::decode(&event.event_type, event.version, &opened.to_string())
            .map_err(|error| damaged(&error))
    }

    fn learn(&mut self, event: &impl Event) {
        self.scope = event.scope().or(self.scope.take());
    }

    fn place(&self, revision: StreamRevision) -> String {
        format!("{}/{}", self.stream, revision.0)
    }
}

fn needs_seal(body: &str) -> bool {
    // As the JSON of the mark has it.
    body.contains(&MARK.replace('\0', "\\u0000")) || may_be_sealed(body)
}

fn may_be_sealed(body: &str) -> bool {
    body.contains(r#""sealed":"#)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::log::MemoryLog;
    use super::super::software::{ConfigCreated, ConfigDeleted};
    use super::super::stack::{OutputResolved, OutputsChanged};
    use super::super::vault::{MasterKey, Placed};
    use super::super::{ConfigEvent, Position, StackEvent};
    use super::*;
    use crate::clock::{Clock, SimulatedClock};
    use crate::model::taint::{plain, taint};
    use crate::model::{ConfigId, ProjectId, StackId};

    fn vault() -> Arc<Vault> {
        let clock = Arc::new(SimulatedClock::new(7));
        Arc::new(Vault::new(Arc::new(MemoryLog::new()), MasterKey::fresh(&*clock), clock))
    }

    fn told(first: &str, second: &str) -> StackEvent {
        let output = |key: &str, value: &str| OutputResolved {
            key: key.to_owned(),
            description: String::new(),
            value: taint(value.into()),
            error: None,
        };
        OutputsChanged { outputs: vec![output("a", first), output("b", second)] }.into()
    }

    /// The event as the log has it, its body changed by somebody.
    fn recorded(
        stream: &StreamId,
        revision: u64,
        kept: &NewEvent,
        change: impl FnOnce(&mut Value),
    ) -> RecordedEvent {
        let mut body = serde_json::from_str(&kept.body).unwrap();
        change(&mut body);
        RecordedEvent {
            position: Position(revision + 1),
            stream: stream.clone(),
            revision: StreamRevision(revision),
            event_type: kept.event_type.into(),
            version: kept.version,
            at: kept.at,
            meta: kept.meta.clone(),
            body: body.to_string().into(),
            hash: [0; 32],
        }
    }

    #[test]
    fn passwords_that_change_places_make_a_damaged_stream_and_are_not_used() {
        let (vault, clock) = (vault(), SimulatedClock::new(1));
        let stream = StreamId::stack(StackId(clock.fresh_id()));
        let mut seals = Seals::of(vault.clone(), stream.clone());
        let events = [told("one", "two"), told("three", "four")];
        let head = Head::default();
        let kept = seals.seal_all(&events, head, clock.now(), &Arc::default()).unwrap();
        assert!(!kept[0].body.contains("one"), "{}", kept[0].body);
        let value = |event: &NewEvent, at: usize| {
            let body: Value = serde_json::from_str(&event.body).unwrap();
            body["outputs"][at]["value"].clone()
        };
        let opened = seals.open::<StackEvent>(&recorded(&stream, 1, &kept[1], |_| {})).unwrap();
        assert_eq!(opened, events[1]);
        let mut damaged = |revision, change: &dyn Fn(&mut Value)| {
            let event = recorded(&stream, revision, &kept[revision as usize], |it| change(it));
            matches!(seals.open::<StackEvent>(&event), Err(LogError::Damaged(_)))
        };
        let other = value(&kept[0], 1);
        assert!(damaged(0, &|body| body["outputs"][0]["value"] = other.clone()), "another leaf");
        assert!(damaged(0, &|body| {
            body["outputs"][0]["value"]["sealed"] = other["sealed"].clone();
        }));
        let earlier = value(&kept[0], 0);
        assert!(damaged(1, &|body| body["outputs"][0]["value"] = earlier.clone()), "an old one");
        assert!(damaged(1, &|body| {
            let at = body["outputs"][0]["value"]["at"].clone();
            body["outputs"][0]["value"] = json!({ "sealed": earlier["sealed"], "at": at });
        }));
    }

    #[test]
    fn a_stream_learns_from_its_first_event_whose_key_seals_it() {
        let (vault, clock) = (vault(), SimulatedClock::new(1));
        let id = ConfigId(clock.fresh_id());
        let stream = StreamId::config(id);
        let created = ConfigEvent::from(ConfigCreated {
            config_id: id,
            project_id: ProjectId::from("p1"),
            name: None,
            group: None,
            content: taint("echo hunter2".into()),
        });
        let head = Head::default();
        let mut seals = Seals::of(vault.clone(), stream.clone());
        let events = [created.clone(), ConfigDeleted { config_id: id }.into()];
        let kept = seals.seal_all(&events, head, clock.now(), &Arc::default()).unwrap();
        let body: Value = serde_json::from_str(&kept[0].body).unwrap();
        let place = format!("{stream}/0/content");
        let placed = Placed { place, value: body["content"].clone() };
        assert_eq!(vault.open("project-p1", &placed).unwrap(), "echo hunter2");
        let mut fresh = Seals::of(vault, stream.clone());
        let opened = fresh.open::<ConfigEvent>(&recorded(&stream, 0, &kept[0], |_| {})).unwrap();
        assert_eq!(opened, created);
    }

    #[tokio::test]
    async fn what_nobody_can_open_any_more_is_null() {
        let (vault, clock) = (vault(), SimulatedClock::new(1));
        let stream = StreamId::stack(StackId(clock.fresh_id()));
        let mut seals = Seals::of(vault.clone(), stream.clone());
        let head = Head::default();
        let kept = seals.seal_all(&[told("one", "two")], head, clock.now(), &Arc::default());
        let kept = kept.unwrap().remove(0);
        vault.destroy(stream.as_str()).await.unwrap();
        let event = recorded(&stream, 0, &kept, |_| {});
        let StackEvent::OutputsChanged(changed) = seals.open(&event).unwrap() else {
            panic!("another event")
        };
        assert_eq!(plain(changed.outputs[0].value.clone()), Value::Null);
    }
}
