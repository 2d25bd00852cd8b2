//! Taking events in: all views move by a batch of them at once, or not at all.

use std::collections::BTreeSet;

use rusqlite::{Connection, Transaction};
use uuid::Uuid;

use super::error::ViewError;
use super::store::{self, Checkpoint};
use super::{alarms, landmarks, metrics, purged, resources, software, stacks, webhooks, written};
use crate::events::{Position, ProjectEvent, RecordedEvent};
use crate::model::{AlarmId, Changes, ConfigId, DeploymentId, ProjectId, ResourceId, StackId};

/// Events that are taken in at once; nothing of them is there before they are committed.
pub(super) struct Batch<'a> {
    transaction: Transaction<'a>,
    landmarks: &'a mut landmarks::Writer,
    sums: written::Sums,
    last: Option<Checkpoint>,
    has_purged: bool,
    changed: Changed,
}

/// Whose events a batch had.
#[derive(Default)]
pub(super) struct Changed {
    projects: BTreeSet<ProjectId>,
    /// One of them may be anybody's.
    all: bool,
}

impl Changed {
    fn add(&mut self, project: Option<ProjectId>, event: &RecordedEvent) {
        match project {
            Some(project) => {
                self.projects.insert(project);
            }
            // What it was about is gone, and with it whose that was.
            None => {
                self.all |=
                    matches!(event.stream.kind(), "stack" | "resource" | "config" | "deployment");
            }
        }
    }

    /// Lets those know who keep what they have read.
    pub(super) fn note(&self, changes: &Changes) {
        match self.all {
            true => changes.note_all(),
            false => self.projects.iter().for_each(|project| changes.note(project)),
        }
    }
}

/// What a batch came to.
pub(super) struct Taken {
    /// The place of its last event, if it had one.
    pub(super) reached: Option<Position>,
    /// Whether something was purged, so that the file may have pages that hold nothing.
    pub(super) has_purged: bool,
    pub(super) changed: Changed,
}

impl<'a> Batch<'a> {
    /// Its `landmarks` are the same for all batches that follow each other.
    pub(super) fn begin(
        db: &'a mut Connection,
        landmarks: &'a mut landmarks::Writer,
    ) -> Result<Self, ViewError> {
        let transaction = db.transaction()?;
        let sums = written::Sums::default();
        Ok(Self {
            transaction,
            landmarks,
            sums,
            last: None,
            has_purged: false,
            changed: Changed::default(),
        })
    }

    pub(super) fn take(&mut self, event: &RecordedEvent) -> Result<(), ViewError> {
        apply(&self.transaction, event)?;
        let owner = self.landmarks.note(&self.transaction, event)?;
        let project = self.sums.count(&self.transaction, event, owner)?;
        self.changed.add(project, event);
        self.has_purged |= event.stream.kind() == "purge";
        self.last = Some(Checkpoint { position: event.position, hash: event.hash });
        Ok(())
    }

    pub(super) fn commit(self) -> Result<Taken, ViewError> {
        let taken = Taken {
            reached: self.last.as_ref().map(|last| last.position),
            has_purged: self.has_purged,
            changed: self.changed,
        };
        if let Some(last) = self.last {
            self.sums.write(&self.transaction)?;
            self.landmarks.write(&self.transaction)?;
            store::move_checkpoint(&self.transaction, &last)?;
            self.transaction.commit()?;
        }
        Ok(taken)
    }
}

/// Takes in one event. One that cannot be read is passed over: the others still count.
pub(super) fn apply(db: &Connection, event: &RecordedEvent) -> Result<(), ViewError> {
    let Some((kind, id)) = event.stream.as_str().split_once('-') else { return Ok(()) };
    let taken = match (kind, Uuid::try_parse(id)) {
        ("stack", Ok(id)) => {
            event.decode().map(|body| stacks::apply(db, StackId(id), event, &body))
        }
        ("resource", Ok(id)) => {
            event.decode().map(|body| resources::apply(db, ResourceId(id), event, &body))
        }
        ("project", _) => {
            let project = ProjectId(id.to_owned());
            let taken = |body: ProjectEvent| {
                webhooks::apply(db, &project, event, &body).map_err(ViewError::from)
            };
            event.decode().map(taken)
        }
        ("config", Ok(id)) => {
            event.decode().map(|body| software::apply_config(db, ConfigId(id), event, &body))
        }
        ("deployment", Ok(id)) => {
            let id = DeploymentId(id);
            event.decode().map(|body| software::apply_deployment(db, id, event, &body))
        }
        ("alarm", Ok(id)) => {
            let taken =
                |body| alarms::apply(db, AlarmId(id), event, &body).map_err(ViewError::from);
            event.decode().map(taken)
        }
        ("metrics", _) => {
            let taken = |body| metrics::apply(db, event, &body).map_err(ViewError::from);
            event.decode().map(taken)
        }
        ("purge", _) => event.decode().map(|body| purged::apply(db, &body)),
        _ => return Ok(()),
    };
    taken.unwrap_or_else(|error| {
        tracing::error!(position = %event.position, %error, "an event cannot be read");
        Ok(())
    })
}
