//! What a server does for the log beside serving: it keeps the newest checkpoint outside of it and
//! all that is durable in its file, and lets go of what nothing can need any more.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use futures::StreamExt;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use crate::actors::Engine;
use crate::clock::Clock;
use crate::events::log::{Filter, LogError, OwnedLog, aside, looked_aside};
use crate::events::vault::Vault;
use crate::events::{Position, RecordedEvent, StackEvent, forget};
use crate::model::{Action, StackId, Status};
use crate::projections::Views;

/// How often the newest checkpoint is put beside the log, and the log brought into its file.
const SETTLE_EVERY: Duration = Duration::from_secs(60);
/// How often configurations and deployments that were deleted are looked for.
const SWEEP_EVERY: Duration = Duration::from_secs(600);
/// How long after its deletion a configuration is kept, for those who are still reading it.
const SOFTWARE_KEPT: TimeDelta = TimeDelta::minutes(10);
/// How long after its deletion a stack's key is kept, for the last who ask for the stack.
const KEY_KEPT: Duration = Duration::from_secs(10);
/// The pause before a log that could not be read is read again.
const RETRY_PAUSE: Duration = Duration::from_secs(10);
/// How many keys are looked at in one go.
const PAGE_KEYS: usize = 256;

/// With what it works.
#[derive(Clone)]
pub(super) struct UpkeepParts {
    pub(super) log: Arc<dyn OwnedLog>,
    pub(super) vault: Arc<Vault>,
    pub(super) engine: Engine,
    pub(super) views: Views,
    pub(super) clock: Arc<dyn Clock>,
}

/// At work until it is dropped.
pub(super) struct Upkeep(Vec<JoinHandle<()>>);

impl Upkeep {
    /// Starts it. Needs a running actix system.
    pub(super) fn start(parts: UpkeepParts) -> Self {
        Self(vec![
            actix::spawn(settle(parts.log.clone())),
            actix::spawn(sweep_software(parts.clone())),
            actix::spawn(destroy_keys(parts)),
        ])
    }
}

impl Drop for Upkeep {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

async fn settle(log: Arc<dyn OwnedLog>) {
    let mut due = interval(SETTLE_EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        if let Err(error) = log.settle().await {
            tracing::error!(%error, "the checkpoint beside the log is an old one");
        }
    }
}

async fn sweep_software(parts: UpkeepParts) {
    let mut due = interval(SWEEP_EVERY);
    due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        due.tick().await;
        let parts = parts.clone();
        aside(async move {
            let before = parts.clock.now() - SOFTWARE_KEPT;
            let (log, clock) = (parts.log.as_ref(), parts.clock.as_ref());
            match forget::purge_deleted_software(log, clock, before).await {
                Ok(gone) if gone.events > 0 => {
                    tracing::info!(gone.configs, gone.deployments, gone.events, "purged");
                }
                Ok(_) => {}
                Err(error) => tracing::warn!(%error, "deleted configurations stay for now"),
            }
        })
        .await;
    }
}

/// Destroys the keys of stacks as they are deleted, and of those that a crash left over.
async fn destroy_keys(parts: UpkeepParts) {
    let followed = parts.log.durable_position();
    tokio::join!(destroy_left_over(&parts), follow_deletions(&parts, followed));
}

async fn destroy_left_over(parts: &UpkeepParts) {
    let mut after = String::new();
    loop {
        let from = after.clone();
        let page = match looked_aside(&parts.log, move |log| log.keys(&from, PAGE_KEYS)).await {
            Ok(page) => page,
            Err(error) => {
                tracing::warn!(%error, "keys that a crash left over stay for now");
                tokio::time::sleep(RETRY_PAUSE).await;
                continue;
            }
        };
        let Some((last, _)) = page.last() else { return };
        after.clone_from(last);
        for (scope, _) in page.into_iter().filter(|(scope, _)| scope.starts_with("stack-")) {
            destroy(parts, scope).await;
        }
    }
}

/// Destroys the keys of stacks that are deleted after a position, until the log is closed.
async fn follow_deletions(parts: &UpkeepParts, mut followed: Position) {
    loop {
        let mut events = parts.log.subscribe(followed, Filter { kinds: vec!["stack"] });
        let error = loop {
            match events.next().await {
                Some(Ok(event)) => {
                    followed = event.position;
                    if let Some(root) = ended_root(&event) {
                        actix::spawn(destroy_tree(parts.clone(), root, followed));
                    }
                }
                Some(Err(error)) => break error,
                None => return,
            }
        };
        tracing::warn!(%error, "keys of stacks that are deleted stay for now");
        tokio::time::sleep(RETRY_PAUSE).await;
    }
}

/// Destroys the keys of a stack that was deleted at a position, and of those within it, once nobody
/// asks for them any more.
async fn destroy_tree(parts: UpkeepParts, root: StackId, at: Position) {
    parts.engine.everybody_told(at).await;
    tokio::time::sleep(KEY_KEPT).await;
    let tree = match parts.views.tree(root).await {
        Ok(tree) => tree,
        Err(error) => return tracing::warn!(%error, "keys stay until the next start"),
    };
    for id in tree {
        destroy(&parts, format!("stack-{id}")).await;
    }
}

/// The stack, if it is gone with this event.
fn ended_root(event: &RecordedEvent) -> Option<StackId> {
    let id = event.stream.as_str().strip_prefix("stack-")?;
    match event.decode() {
        Ok(StackEvent::TraversalSettled(body))
            if body.action == Action::Delete && body.status == Status::Complete =>
        {
            id.parse().ok().map(StackId)
        }
        _ => None,
    }
}

async fn destroy(parts: &UpkeepParts, scope: String) {
    let parts = parts.clone();
    aside(async move {
        // One that never had a key, or has none any more, needs nothing.
        if matches!(parts.log.find_key(&scope), Ok(None) | Err(LogError::KeyDestroyed(_))) {
            return;
        }
        match forget::destroy_if_ended(parts.log.as_ref(), &parts.vault, &scope).await {
            Ok(true) => tracing::debug!(scope, "a key was destroyed"),
            Ok(false) => {}
            Err(error) => tracing::warn!(scope, %error, "a key stays until the next start"),
        }
    })
    .await;
}
