//! Snapshots as the engine is asked for them.

use std::sync::Arc;

use actix::prelude::*;
use serde_json::Value;

use super::asks::{Accepted, RequestContext};
use super::definition;
use super::drop_snapshot::opened;
use super::engine::Engine;
use super::services::Services;
use super::shell::Shell;
use super::sourced::Sourced;
use super::stack::{Snapshot, Stack, StackCommand, TakeSnapshot, snapshot_not_found};
use crate::events::stack::ResourceKept;
use crate::model::{Action, Refusal, StackId, Status, TraversalId};
use crate::template::StackSource;

/// Asks a stack for one of its snapshots and the revision that it keeps.
#[derive(Message)]
#[rtype(result = "Option<(Snapshot, Option<Sourced>)>")]
struct SnapshotNumbered(TraversalId);

impl Handler<SnapshotNumbered> for Shell<Stack> {
    type Result = Option<(Snapshot, Option<Sourced>)>;

    fn handle(&mut self, numbered: SnapshotNumbered, _ctx: &mut Context<Self>) -> Self::Result {
        let snapshot = self.machine.snapshots.get(&numbered.0)?;
        Some((snapshot.clone(), self.machine.sourced(snapshot.revision)))
    }
}

impl Engine {
    /// Accepts a snapshot; its id is there at once.
    pub async fn take_snapshot(
        &self,
        who: &RequestContext,
        stack: StackId,
        name: Option<String>,
    ) -> Result<(Accepted, TraversalId), Refusal> {
        let summary = self.summary(who, stack).await?;
        let trustor = self.ensure(who, &summary).await?;
        let limit = self.services.limits.max_snapshots_per_stack;
        let take = TakeSnapshot {
            snapshot: TraversalId(self.services.clock.fresh_id()),
            name,
            limit: limit.filter(|_| !who.caller.is_admin()),
            trustor: Some(trustor),
        };
        let receipt =
            self.ask_stack(stack, who, || StackCommand::TakeSnapshot(take.clone())).await?;
        let accepted = Accepted { stack, name: summary.head.name, position: receipt.position };
        Ok((accepted, take.snapshot))
    }

    /// Accepts the deletion of a snapshot.
    pub async fn delete_snapshot(
        &self,
        who: &RequestContext,
        stack: StackId,
        snapshot: TraversalId,
    ) -> Result<Accepted, Refusal> {
        let summary = self.summary(who, stack).await?;
        let trustor = Some(self.ensure(who, &summary).await?);
        let command = || StackCommand::DeleteSnapshot { snapshot, trustor: trustor.clone() };
        let receipt = self.ask_stack(stack, who, command).await?;
        Ok(Accepted { stack, name: summary.head.name, position: receipt.position })
    }

    /// Accepts the definition that a snapshot keeps as the stack's new one.
    pub async fn restore_snapshot(
        &self,
        who: &RequestContext,
        stack: StackId,
        id: TraversalId,
    ) -> Result<Accepted, Refusal> {
        let summary = self.summary(who, stack).await?;
        let found = self.ask_of(stack, || SnapshotNumbered(id)).await?;
        let (snapshot, sourced) = found.ok_or_else(|| snapshot_not_found(id))?;
        if (snapshot.action, snapshot.status) != (Action::Create, Status::Complete) {
            let text = "Restoring incomplete snapshot is not supported.";
            return Err(Refusal::new("NotSupported", text));
        }
        let mut source = definition::open(&self.services, stack, sourced.as_ref()).await?;
        for kept in &snapshot.resources {
            restore(&self.services, &mut source, kept);
        }
        let known = self.prepare(who, &mut source, summary.place()).await?;
        let trustor = self.ensure(who, &summary).await?;
        let settings = summary.revision.settings.clone();
        let revise = self.revise(trustor, stack, source, Arc::new(known), settings).await?;
        let command = || StackCommand::Restore(Box::new(revise.clone()));
        let receipt = self.ask_stack(stack, who, command).await?;
        Ok(Accepted { stack, name: summary.head.name, position: receipt.position })
    }
}

/// Changes a resource in the template as its type restores it.
fn restore(services: &Services, source: &mut StackSource, kept: &ResourceKept) {
    let Some(driver) = services.registry.driver(&kept.driver_type) else { return };
    let (section, key) = match source.template.get("Resources") {
        Some(_) => ("Resources", "Properties"),
        None => ("resources", "properties"),
    };
    let resource = source.template.get_mut(section).and_then(|all| all.get_mut(kept.name.as_str()));
    let Some(Value::Object(resource)) = resource else { return };
    let properties = resource.entry(key).or_insert_with(|| Value::Object(Default::default()));
    if let Value::Object(properties) = properties {
        for (name, value) in driver.program().restored(properties, &opened(&kept.data)) {
            if value.is_null() {
                properties.shift_remove(&name);
            } else {
                properties.insert(name, value);
            }
        }
    }
}
