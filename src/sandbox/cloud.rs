//! The whole cloud's state, and how a change of it is kept or undone whole.

use std::io;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::barbican::state::Barbican;
use super::cinder::state::Cinder;
use super::collections::state::Collections;
use super::config::SandboxConfig;
use super::glance::state::Glance;
use super::keystone::state::Keystone;
use super::later::{Later, Turn};
use super::nova::state::Nova;
use super::store::{Journal, Rows, Table};
use super::swift::state::Swift;
use super::zaqar::state::Zaqar;
use crate::clock::Clock;

/// Everything that the sandbox knows.
pub(super) struct Cloud {
    pub(super) config: Arc<SandboxConfig>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) keystone: Keystone,
    pub(super) nova: Nova,
    pub(super) cinder: Cinder,
    pub(super) glance: Glance,
    pub(super) swift: Swift,
    pub(super) zaqar: Zaqar,
    pub(super) barbican: Barbican,
    /// What `services/*.yaml` describe.
    pub(super) collections: Collections,
    pub(super) laters: Table<Later>,
    pub(super) journal: Option<Journal>,
    /// When the first of `laters` is due; checked on every request, so it is not searched for.
    pub(super) next_due: Option<DateTime<Utc>>,
}

impl Cloud {
    /// A copy without a journal, on another clock.
    pub(super) fn copy(&self, clock: Arc<dyn Clock>) -> Cloud {
        Cloud {
            config: Arc::clone(&self.config),
            clock,
            keystone: self.keystone.clone(),
            nova: self.nova.clone(),
            cinder: self.cinder.clone(),
            glance: self.glance.clone(),
            swift: self.swift.clone(),
            zaqar: self.zaqar.clone(),
            barbican: self.barbican.clone(),
            collections: self.collections.clone(),
            laters: self.laters.clone(),
            journal: None,
            next_due: self.next_due,
        }
    }

    /// The service that the first part of a path leads to.
    pub(super) fn service(&self, first: &str) -> Option<String> {
        let known = match first {
            "v3" | "identity" => "identity",
            "v1" => "object-store",
            "compute" | "network" | "image" | "volume" | "object-store" | "key-manager"
            | "messaging" => first,
            _ => &self.collections.services().find(|service| service.kind == first)?.kind,
        };
        Some(known.to_owned())
    }

    /// Plans a turn.
    pub(super) fn plan(&mut self, later: Later) {
        let due = self.next_due.map_or(later.at, |due| due.min(later.at));
        self.next_due = Some(due);
        let id = self.fresh_id();
        self.laters.insert(&id, later);
    }

    /// Forgets the turns that fit.
    pub(super) fn unplan(&mut self, fits: impl Fn(&Turn) -> bool) {
        for id in self.laters.ids_where(|later| fits(&later.turn)) {
            self.laters.remove(&id);
        }
    }

    /// A UUID with dashes.
    pub(super) fn fresh_id(&self) -> String {
        self.clock.fresh_id().to_string()
    }

    /// 32 hex digits, as Keystone's ids.
    pub(super) fn fresh_hex(&self) -> String {
        self.clock.fresh_id().simple().to_string()
    }

    /// A fresh UUID itself.
    pub(super) fn fresh_uuid(&self) -> Uuid {
        self.clock.fresh_id()
    }

    /// Every table, in the order in which the journal writes them.
    pub(super) fn tables(&mut self) -> Vec<&mut dyn Rows> {
        let mut tables: Vec<&mut dyn Rows> = Vec::with_capacity(32);
        tables.extend(self.keystone.tables());
        tables.extend(self.nova.tables());
        tables.extend(self.cinder.tables());
        tables.extend(self.glance.tables());
        tables.extend(self.swift.tables());
        tables.extend(self.zaqar.tables());
        tables.extend(self.barbican.tables());
        tables.extend(self.collections.tables());
        tables.push(&mut self.laters);
        tables
    }

    /// Writes the changes of this request to the journal and keeps them, or neither.
    pub(super) fn commit(&mut self) -> io::Result<()> {
        let mut journal = self.journal.take();
        let mut tables = self.tables();
        let outcome = match &mut journal {
            Some(journal) => write(journal, &mut tables),
            None => Ok(()),
        };
        for table in &mut tables {
            match outcome {
                Ok(()) => table.keep(),
                Err(_) => table.undo(),
            }
        }
        self.journal = journal;
        outcome
    }

    /// Takes the changes of this request back.
    pub(super) fn undo(&mut self) {
        for table in self.tables() {
            table.undo();
        }
    }

    /// Finds when the first of what is planned is due.
    pub(super) fn find_next_due(&mut self) {
        self.next_due = self.laters.values().map(|later| later.at).min();
    }
}

fn write(journal: &mut Journal, tables: &mut [&mut dyn Rows]) -> io::Result<()> {
    let mut entries = Vec::new();
    let mut count = 0;
    for table in tables.iter() {
        count += table.write_changes(&mut entries)?;
    }
    if count == 0 {
        return Ok(());
    }
    journal.append(&entries, count)?;
    if let Err(error) = journal.rewrite_if_outdated(tables) {
        // The long journal is as good as a short one.
        tracing::warn!(%error, "the sandbox could not write its journal anew");
    }
    Ok(())
}
