//! Whose the streams of the log are, remembered for all who want some of their events.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::events::StreamId;
use crate::model::{ProjectId, ResourceName, StackId};

/// How many owners are remembered before they are looked up again.
const OWNERS_MAX: usize = 4_096;

/// Whose a stream is, which never changes.
#[derive(Debug)]
pub(super) enum Owner {
    Project(ProjectId),
    Stack {
        id: StackId,
        project: ProjectId,
        /// What it stands within, the nearest first.
        within: Vec<StackId>,
        /// The name of the resource, where the stream is one's.
        resource: Option<ResourceName>,
    },
}

/// Whose the streams are that were met so far: looked up once, whoever asks. One that is nobody's
/// yet may be somebody's later, and is looked up again.
#[derive(Default)]
pub(super) struct Owners(Mutex<HashMap<StreamId, Arc<Owner>>>);

impl Owners {
    /// What is remembered of a stream.
    pub(super) fn known(&self, stream: &StreamId) -> Option<Arc<Owner>> {
        self.lock().get(stream).cloned()
    }

    /// Remembers what was looked up.
    pub(super) fn remember(&self, stream: &StreamId, owner: Arc<Owner>) {
        let mut owners = self.lock();
        if owners.len() >= OWNERS_MAX {
            owners.clear();
        }
        owners.insert(stream.clone(), owner);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<StreamId, Arc<Owner>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
