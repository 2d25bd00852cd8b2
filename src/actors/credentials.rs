//! On whose behalf resources call the cloud: a trust per user and project, made with the user's
//! own token and kept, sealed, in the project's stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use actix::prelude::*;
use serde_json::Value;
use tracing::warn;

use super::asks::Requester;
use super::project::{Project, ProjectCommand};
use super::services::Services;
use super::shell::{Ask, Shell};
use crate::events::{Meta, StreamId};
use crate::model::{ProjectId, Refusal, Secret, taint};
use crate::openstack::{CloudError, Session};
use crate::resource_types::DriverError;

/// A user in a project.
type Key = (ProjectId, String);

/// Sessions by project and user.
#[derive(Default)]
pub struct Credentials {
    sessions: Mutex<HashMap<Key, Known>>,
    /// Held by who looks for a user's trust or makes one.
    making: Mutex<HashMap<Key, Weak<tokio::sync::Mutex<()>>>>,
}

/// A session and the trust, sealed, that it works with.
struct Known {
    trust: Value,
    session: Session,
}

/// Asks a project for a user's trust, sealed.
#[derive(Message)]
#[rtype(result = "Option<Value>")]
pub struct TrustOf(pub String);

impl Handler<TrustOf> for Shell<Project> {
    type Result = Option<Value>;

    fn handle(&mut self, ask: TrustOf, _ctx: &mut Context<Self>) -> Option<Value> {
        self.machine.trust_of(&ask.0).cloned()
    }
}

impl Credentials {
    /// Sees to it that Hearth may go on for the user once his token is gone. Asks Keystone only
    /// where there is no trust yet, or the one there is no longer works.
    pub async fn ensure(&self, services: &Arc<Services>, who: &Requester) -> Result<(), Refusal> {
        let Some(cloud) = &services.cloud else { return Ok(()) };
        let caller = &who.caller;
        let key = (caller.project_id.clone(), caller.user_id.clone());
        // One after the other: of two trusts made at once the older one is given back, and what
        // already works with it would be turned away.
        let making = self.making(&key);
        let _alone = making.lock().await;
        // The project has the last word: a trust of its former stacks may be on its way back.
        let current = trust_of(services, &caller.project_id, &caller.user_id).await;
        let is_current =
            self.sessions().get(&key).is_some_and(|known| Some(&known.trust) == current.as_ref());
        if is_current {
            return Ok(());
        }
        self.sessions().remove(&key);
        if let Ok(session) = self.session(services, &caller.project_id, &caller.user_id).await
            && session.token().await.is_ok()
        {
            return Ok(());
        }
        let trust =
            cloud.create_trust(&who.token, caller).await.map_err(|error| refused(&error))?;
        let sealed = taint::taint(trust.reveal().as_str().into());
        let command = ProjectCommand::Trust {
            user_id: caller.user_id.clone(),
            trust_id: sealed.clone(),
            roles: caller.roles.clone(),
        };
        services.ask_project(&caller.project_id, command, who.meta()).await?;
        let session = cloud.session_for_trust(&trust, &caller.project_id);
        self.sessions().insert(key, Known { trust: sealed, session });
        Ok(())
    }

    /// A session of the user's trust.
    pub async fn session(
        &self,
        services: &Arc<Services>,
        project: &ProjectId,
        user_id: &str,
    ) -> Result<Session, DriverError> {
        let Some(cloud) = &services.cloud else { return Ok(Session::detached()) };
        let key = (project.clone(), user_id.to_owned());
        if let Some(known) = self.sessions().get(&key) {
            return Ok(known.session.clone());
        }
        let sealed = trust_of(services, project, user_id).await.unwrap_or_default();
        let Value::String(trust) = taint::plain(sealed.clone()) else {
            let text = format!("Hearth has no trust of user {user_id} in project {project}");
            return Err(DriverError::fatal("AuthorizationFailure", text));
        };
        let session = cloud.session_for_trust(&Secret::new(trust), project);
        self.sessions().insert(key, Known { trust: sealed, session: session.clone() });
        Ok(session)
    }

    /// Gives a trust back to Keystone; false when that is to be tried again another time.
    pub async fn give_back(
        &self,
        services: &Arc<Services>,
        scope: &StreamId,
        sealed: &Value,
    ) -> bool {
        self.sessions().retain(|_, known| known.trust != *sealed);
        let Some(cloud) = &services.cloud else { return true };
        // A trust that cannot be read can never be given back.
        let Value::String(trust) = taint::plain(sealed.clone()) else {
            return true;
        };
        match cloud.delete_trust(&Secret::new(trust)).await {
            Ok(()) => true,
            Err(error) => {
                warn!(stream = %scope, %error, "a trust could not be given back");
                !error.is_transient()
            }
        }
    }

    /// Forgets the session of a trust that Keystone no longer honors: the user's next command
    /// makes a new one.
    pub fn forget(&self, project: &ProjectId, user_id: &str) {
        self.sessions().remove(&(project.clone(), user_id.to_owned()));
    }

    fn making(&self, key: &Key) -> Arc<tokio::sync::Mutex<()>> {
        let mut making = self.making.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(lock) = making.get(key).and_then(Weak::upgrade) {
            return lock;
        }
        making.retain(|_, lock| lock.strong_count() > 0);
        let lock = Arc::default();
        making.insert(key.clone(), Arc::downgrade(&lock));
        lock
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<Key, Known>> {
        self.sessions.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

async fn trust_of(services: &Arc<Services>, project: &ProjectId, user_id: &str) -> Option<Value> {
    let address = services.directory.project(project)?;
    address.send(TrustOf(user_id.to_owned())).await.ok().flatten()
}

fn refused(error: &CloudError) -> Refusal {
    if error.is_transient() {
        Refusal::unavailable(error.to_string())
    } else {
        Refusal::new("AuthorizationFailure", error.to_string())
    }
}

impl Services {
    /// Sends a command to a project's actor, waking it if need be.
    pub async fn ask_project(
        &self,
        project: &ProjectId,
        command: ProjectCommand,
        meta: Arc<Meta>,
    ) -> Result<super::shell::Receipt, Refusal> {
        let gone = || Refusal::unavailable("The engine is stopping.");
        let address = self.directory.project(project).ok_or_else(gone)?;
        address.send(Ask { command, meta }).await.map_err(|_| gone())?
    }
}
