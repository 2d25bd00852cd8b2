//! What a process that died in the middle of a creation has left: names of stacks that never came to
//! be, which keep a password from being let go and count among those that a project may have, and
//! keys of passwords that no project has. As long as nobody asks for anything all of that is nobody's.

use std::collections::{BTreeSet, HashSet};
use std::sync::{MutexGuard, PoisonError};

use tracing::{info, warn};

use super::credentials::{PASSWORD_KEYS, password_key};
use super::engine::Engine;
use super::project::{Project, ProjectCommand};
use super::project_actor::Names;
use super::shell::fold;
use crate::events::log::{EventLog, LogError, looked_aside};
use crate::events::seal::Seals;
use crate::events::{StreamId, StreamRevision};
use crate::model::{ProjectId, Refusal, StackId, StackName};

/// How many keys or projects are read at once.
const PAGE: usize = 256;

impl Engine {
    /// Gives back the names of stacks that never came to be, and destroys the keys of passwords that
    /// no project has; to be called before anything is asked for.
    pub async fn let_go_of_unclaimed(&self) {
        if let Err(error) = self.find_unclaimed().await {
            warn!(%error, "passwords that nobody needs stay, sealed, until the next start");
        }
    }

    async fn find_unclaimed(&self) -> Result<(), LogError> {
        let mut unclaimed = self.password_keys().await?;
        if unclaimed.is_empty() {
            return Ok(());
        }
        let services = &self.services;
        let mut after = String::new();
        loop {
            let page = move |log: &dyn EventLog| log.streams("project", &after, PAGE);
            let page = looked_aside(&services.log, page).await?;
            let Some(last) = page.last() else { break };
            after = last.as_str().to_owned();
            for stream in page {
                let slice = services.log.read(&stream, StreamRevision(0)).await?;
                let mut seals = Seals::of(services.vault.clone(), stream.clone());
                let project = fold(Project::default(), &slice.events, &mut seals)?;
                for key in project.kept_trusts().filter_map(password_key) {
                    unclaimed.remove(&key);
                }
                if let Some(id) = stream.as_str().strip_prefix("project-") {
                    let names = project.holders().map(|(name, stack)| (name.clone(), stack));
                    self.release_names(&ProjectId(id.to_owned()), names.collect()).await?;
                }
            }
        }
        for key in unclaimed {
            match services.vault.destroy(&key).await {
                Ok(()) => info!(key, "the key of a password that nobody has was destroyed"),
                Err(error) => warn!(key, %error, "the key of a password stays for now"),
            }
        }
        Ok(())
    }

    async fn password_keys(&self) -> Result<BTreeSet<String>, LogError> {
        let mut found = BTreeSet::new();
        let mut after = PASSWORD_KEYS.to_owned();
        loop {
            let page = looked_aside(&self.services.log, move |log| log.keys(&after, PAGE)).await?;
            let own = page.into_iter().map(|(scope, _)| scope);
            let own: Vec<_> = own.take_while(|scope| scope.starts_with(PASSWORD_KEYS)).collect();
            let Some(last) = own.last() else { return Ok(found) };
            after = last.clone();
            found.extend(own);
        }
    }

    /// Gives back names of a project that a process before this one kept for stacks that it did not
    /// make: there are none but at the first time.
    pub(super) async fn release_ghosts(&self, project: &ProjectId) -> Result<(), Refusal> {
        if self.ghosts_looked_for().contains(project) {
            return Ok(());
        }
        let address = self.services.directory.project(project).ok_or_else(Self::silent)?;
        let names = address.send(Names).await.map_err(|_| Self::silent())?;
        let released = self.release_names(project, names).await;
        released.map_err(|error| Refusal::unavailable(error.to_string()))?;
        self.ghosts_looked_for().insert(project.clone());
        Ok(())
    }

    fn ghosts_looked_for(&self) -> MutexGuard<'_, HashSet<ProjectId>> {
        self.services.ghosts_looked_for.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// With the last name go the project's trusts, and its passwords.
    async fn release_names(
        &self,
        project: &ProjectId,
        names: Vec<(StackName, StackId)>,
    ) -> Result<(), LogError> {
        let services = &self.services;
        for (name, stack_id) in names {
            // Somebody is at it just now.
            let Some(_alone) = services.naming.take(&(project.clone(), name.clone())) else {
                continue;
            };
            if self.was_made(stack_id).await? {
                continue;
            }
            let release = ProjectCommand::Release { name, stack_id };
            if let Err(error) = services.ask_project(project, release, Default::default()).await {
                warn!(%project, %error, "a name of a stack that never was stays taken");
            }
        }
        Ok(())
    }

    async fn was_made(&self, stack: StackId) -> Result<bool, LogError> {
        Ok(self.services.log.head(&StreamId::stack(stack)).await?.next > 0)
    }
}
