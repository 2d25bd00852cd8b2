//! The cloud at work: opened, asked, and what is due carried out.

use std::io;
use std::sync::Arc;

use chrono::{DateTime, Utc};

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::barbican::state::Barbican;
use super::cinder::state::Cinder;
use super::cloud::Cloud;
use super::collections::state::Collections;
use super::config::SandboxConfig;
use super::glance::state::Glance;
use super::keystone::state::Keystone;
use super::later::Turn;
use super::nova::state::Nova;
use super::seed;
use super::store::{Journal, Table};
use super::swift::state::Swift;
use super::zaqar::state::Zaqar;
use super::{barbican, cinder, collections, glance, keystone, neutron, nova, swift, trove, zaqar};
use crate::clock::Clock;
use crate::private_files;

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
        cinder::modernize(&mut cloud);
        if cloud.keystone.is_empty() {
            seed::plant(&mut cloud);
        }
        seed::plant_stack_users(&mut cloud);
        seed::set_passwords(&mut cloud);
        cloud.commit()?;
        cloud.find_next_due();
        Ok(cloud)
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
                    carry_out(self, &later.turn, at);
                }
            }
            self.find_next_due();
            self.commit()?;
        }
        Ok(())
    }
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
        ["database", rest @ ..] => trove::answer(cloud, ask, rest),
        ["messaging", rest @ ..] => zaqar::answer(cloud, ask, rest),
        ["healthcheck"] => Ok(Answer::text(200, "text/plain; charset=UTF-8", "OK")),
        [service, rest @ ..] => collections::service(cloud, ask, service, rest)
            .unwrap_or_else(|| Err(answer::keystone(404, "The resource could not be found."))),
    }
}

/// Lets a turn happen. What it was about may be gone by then.
fn carry_out(cloud: &mut Cloud, turn: &Turn, at: DateTime<Utc>) {
    match turn {
        Turn::Server { id, end } => nova::server_ends(cloud, id, end, at),
        Turn::Attachment { server, volume, attached } => {
            nova::attachment_ends(cloud, server, volume, *attached, at);
        }
        Turn::Volume { id, end } => cinder::volume_ends(cloud, id, end, at),
        Turn::Snapshot { id, status } => {
            collections::object_ends(cloud, "volumev3.snapshot", (id, status.as_deref()), at);
        }
        Turn::Backup { id, status } => {
            collections::object_ends(cloud, "volumev3.backup", (id, status.as_deref()), at);
        }
        Turn::FloatingIp { id } => neutron::floating_ip_ends(cloud, id, at),
        Turn::Object { of, id, state } => {
            collections::object_ends(cloud, of, (id, state.as_deref()), at);
        }
        Turn::Image { id } => glance::image_ends(cloud, id, at),
    }
}
