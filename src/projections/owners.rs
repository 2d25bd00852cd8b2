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

/// Whose the streams are that were met so far: looked up once, whoever asks. Of a stream that is
/// nobody's that is remembered, too.
#[derive(Default)]
pub(super) struct Owners(Mutex<HashMap<StreamId, Option<Arc<Owner>>>>);

impl Owners {
    /// What is remembered of a stream.
    pub(super) fn known(&self, stream: &StreamId) -> Option<Option<Arc<Owner>>> {
        self.lock().get(stream).cloned()
    }

    /// Remembers what was looked up.
    pub(super) fn remember(&self, stream: &StreamId, owner: Option<Arc<Owner>>) {
        let mut owners = self.lock();
        if owners.len() >= OWNERS_MAX {
            owners.clear();
        }
        owners.insert(stream.clone(), owner);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<StreamId, Option<Arc<Owner>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
