//! The whole cloud's state, and the one way to change it: a request that is kept or undone whole.

use std::io;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::barbican::Barbican;
use super::cinder::Cinder;
use super::collections::Collections;
use super::config::SandboxConfig;
use super::glance::Glance;
use super::keystone::Keystone;
use super::later::{self, Later};
use super::neutron::Neutron;
use super::nova::Nova;
use super::seed;
use super::store::{Journal, Rows, Table};
use super::swift::Swift;
use super::zaqar::Zaqar;
use super::{barbican, cinder, collections, glance, keystone, neutron, nova, swift, zaqar};
use crate::clock::Clock;
use crate::private_files;

/// Everything that the sandbox knows.
pub(super) struct Cloud {
    pub(super) config: Arc<SandboxConfig>,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) keystone: Keystone,
    pub(super) neutron: Neutron,
    pub(super) nova: Nova,
    pub(super) cinder: Cinder,
    pub(super) glance: Glance,
    pub(super) swift: Swift,
    pub(super) zaqar: Zaqar,
    pub(super) barbican: Barbican,
    /// What `services/*.yaml` describe.
    pub(super) collections: Collections,
    pub(super) laters: Table<Later>,
    journal: Option<Journal>,
    /// When the first of `laters` is due; checked on every request, so it is not searched for.
    next_due: Option<DateTime<Utc>>,
}

impl Cloud {
    /// The cloud as it was left, or a new one with the usual users, images and networks.
    pub(super) fn open(
        config: Arc<SandboxConfig>,
        clock: Arc<dyn Clock>,
        collections: Collections,
    ) -> io::Result<Cloud> {
        let mut cloud = Cloud {
            config: Arc::clone(&config),
            clock,
            keystone: Keystone::new(),
            neutron: Neutron::new(),
            nova: Nova::new(),
            cinder: Cinder::new(),
            glance: Glance::new(),
            swift: Swift::new(),
            zaqar: Zaqar::new(),
            barbican: Barbican::new(),
            collections,
            laters: Table::new("laters"),
            journal: None,
            next_due: None,
        };
        if let Some(directory) = &config.data {
            private_files::make_dir(directory)?;
            let path = directory.join("sandbox.journal");
            for path in [directory, &path] {
                if private_files::tighten(path)? {
                    tracing::info!(path = %path.display(), "others could use it and no longer can");
                }
            }
            cloud.journal = Some(Journal::open(&path, &mut cloud.tables())?);
        }
        if cloud.keystone.is_empty() {
            seed::plant(&mut cloud);
        }
        seed::plant_stack_users(&mut cloud);
        seed::set_passwords(&mut cloud);
        cloud.commit()?;
        cloud.find_next_due();
        Ok(cloud)
    }

    /// A copy without a journal, on another clock.
    pub(super) fn copy(&self, clock: Arc<dyn Clock>) -> Cloud {
        Cloud {
            config: Arc::clone(&self.config),
            clock,
            keystone: self.keystone.clone(),
            neutron: self.neutron.clone(),
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

    /// Carries out what is due, then the request. What is refused changes nothing.
    pub(super) fn answer(&mut self, ask: &Ask) -> Answer {
        if self.settle(ask.at).is_err() {
            return answer::keystone(503, "The sandbox cannot write its journal.");
        }
        match route(self, ask) {
            Ok(answer) => match self.commit() {
                Ok(()) => answer,
                Err(error) => {
                    tracing::error!(%error, "the sandbox cannot write its journal");
                    answer::keystone(503, "The sandbox cannot write its journal.")
                }
            },
            Err(refusal) => {
                self.undo();
                refusal
            }
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

    /// Carries out everything that is due by now.
    pub(super) fn settle(&mut self, now: DateTime<Utc>) -> io::Result<()> {
        // A turn may plan another one that is due at once.
        while self.next_due.is_some_and(|due| due <= now) {
            let mut due: Vec<(DateTime<Utc>, String)> = self
                .laters
                .iter()
                .filter(|(_, later)| later.at <= now)
                .map(|(id, later)| (later.at, id.to_owned()))
                .collect();
            due.sort();
            for (at, id) in due {
                if let Some(later) = self.laters.remove(&id) {
                    later::carry_out(self, &later.turn, at);
                }
            }
            self.find_next_due();
            self.commit()?;
        }
        Ok(())
    }

    /// Plans a turn.
    pub(super) fn plan(&mut self, later: Later) {
        let due = self.next_due.map_or(later.at, |due| due.min(later.at));
        self.next_due = Some(due);
        let id = self.fresh_id();
        self.laters.insert(&id, later);
    }

    /// Forgets the turns that fit.
    pub(super) fn unplan(&mut self, fits: impl Fn(&later::Turn) -> bool) {
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
        tables.extend(self.neutron.tables());
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
    fn commit(&mut self) -> io::Result<()> {
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

    fn undo(&mut self) {
        for table in self.tables() {
            table.undo();
        }
    }

    fn find_next_due(&mut self) {
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

/// The first part of the path names the service.
fn route(cloud: &mut Cloud, ask: &Ask) -> Reply {
    let path: Vec<&str> = ask.path.iter().map(String::as_str).collect();
    match path.as_slice() {
        [] | ["identity"] => Ok(keystone::versions(ask)),
        ["identity", "v3", rest @ ..] | ["v3", rest @ ..] => keystone::answer(cloud, ask, rest),
        ["compute", rest @ ..] => nova::answer(cloud, ask, rest),
        ["network", rest @ ..] => neutron::answer(cloud, ask, rest),
        ["image", rest @ ..] => glance::answer(cloud, ask, rest),
        ["volume", rest @ ..] => cinder::answer(cloud, ask, rest),
        ["object-store", rest @ ..] => swift::answer(cloud, ask, rest),
        // Signed addresses name Swift's own path, and some clients put nothing before it.
        ["v1", account, ..] if account.starts_with("AUTH_") => swift::answer(cloud, ask, &path),
        ["key-manager", rest @ ..] => barbican::answer(cloud, ask, rest),
        ["messaging", rest @ ..] => zaqar::answer(cloud, ask, rest),
        ["healthcheck"] => Ok(Answer::text(200, "text/plain; charset=UTF-8", "OK")),
        [service, rest @ ..] => collections::service(cloud, ask, service, rest)
            .unwrap_or_else(|| Err(answer::keystone(404, "The resource could not be found."))),
    }
}
