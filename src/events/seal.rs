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

    fn seal<E: Event>(
        &mut self,
        event: &E,
        revision: StreamRevision,
        at: DateTime<Utc>,
        meta: Arc<Meta>,
    ) -> Result<NewEvent, SealError> {
        self.learn(event);
        let mut kept = NewEvent::of(event, at, meta)?;
        // As the JSON of the mark has it.
        let is_marked = kept.body.contains(&MARK.replace('\0', "\\u0000"));
        if is_marked || may_be_sealed(&kept.body) {
            let body = serde_json::from_str(&kept.body)?;
            let body = match &self.scope {
                Some(scope) => self.vault.seal(scope.as_str(), &self.place(revision), body)?,
                None => return Err(SealError::NoScope { stream: self.stream.clone() }),
            };
            kept.body = body.to_string();
        }
        Ok(kept)
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

fn may_be_sealed(body: &str) -> bool {
    body.contains(r#""sealed":"#)
}
