//! On whose behalf resources call the cloud: a trust per user, project and set of roles, made with
//! the user's own token and kept, sealed, in the project's stream.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use actix::prelude::*;
use serde_json::Value;
use tracing::warn;

use super::asks::RequestContext;
use super::project::{Project, ProjectCommand};
use super::services::Services;
use super::shell::Shell;
use crate::events::{Meta, StreamId};
use crate::model::{Caller, ProjectId, Refusal, Secret, Trustor, taint};
use crate::openstack::{CloudError, Session};
use crate::resource_types::Failure;

/// A user, with roles, in a project.
type Key = (ProjectId, Trustor);

/// Sessions by project and whose they are.
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
pub struct TrustOf(pub Trustor);

impl Handler<TrustOf> for Shell<Project> {
    type Result = Option<Value>;

    fn handle(&mut self, ask: TrustOf, _ctx: &mut Context<Self>) -> Option<Value> {
        self.machine.trust_of(&ask.0).cloned()
    }
}

impl Credentials {
    /// Sees to it that Hearth may go on for the user once his token is gone, with the roles that the
    /// token has and no other. Asks Keystone only where there is no such trust yet, or the one there
    /// is no longer works.
    pub async fn ensure(
        &self,
        services: &Arc<Services>,
        who: &RequestContext,
    ) -> Result<Trustor, Refusal> {
        let caller = &who.caller;
        let trustor = lent(services, caller);
        let Some(cloud) = &services.cloud else { return Ok(trustor) };
        let roles = trustor.roles.as_deref().unwrap_or_default();
        if roles.is_empty() {
            let named = services.limits.trusts_delegated_roles.join(", ");
            let text = format!("Missing required credential: roles {named}");
            return Err(Refusal::new("MissingCredentialError", text));
        }
        let key = (caller.project_id.clone(), trustor.clone());
        // One after the other: of two trusts made at once the older one is given back, and what
        // already works with it would be turned away.
        let making = self.making(&key);
        let _alone = making.lock().await;
        // The project has the last word: a trust of its former stacks may be on its way back.
        let current = trust_of(services, &caller.project_id, &trustor).await;
        let is_current =
            self.sessions().get(&key).is_some_and(|known| Some(&known.trust) == current.as_ref());
        if is_current {
            return Ok(trustor);
        }
        self.sessions().remove(&key);
        if let Ok(session) = self.session(services, &caller.project_id, &trustor).await
            && session.token().await.is_ok()
        {
            return Ok(trustor);
        }
        let trust =
            cloud.create_trust(&who.token, caller, roles).await.map_err(|error| refused(&error))?;
        let sealed = taint::taint(trust.reveal().as_str().into());
        let command = ProjectCommand::Trust {
            user_id: caller.user_id.clone(),
            trust_id: sealed.clone(),
            roles: roles.to_vec(),
        };
        services.ask_project(&caller.project_id, command, who.meta()).await?;
        let session = cloud.session_for_trust(&trust, &caller.project_id);
        self.sessions().insert(key, Known { trust: sealed, session });
        Ok(trustor)
    }

    /// A session of the user's trust.
    pub async fn session(
        &self,
        services: &Arc<Services>,
        project: &ProjectId,
        trustor: &Trustor,
    ) -> Result<Session, Failure> {
        let Some(cloud) = &services.cloud else { return Ok(Session::detached()) };
        let key = (project.clone(), trustor.clone());
        if let Some(known) = self.sessions().get(&key) {
            return Ok(known.session.clone());
        }
        let sealed = trust_of(services, project, trustor).await.unwrap_or_default();
        let Value::String(trust) = taint::plain(sealed.clone()) else {
            let (user_id, project_id) = (trustor.user_id.clone(), project.to_string());
            return Err(Failure::NoTrust { user_id, project_id });
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
    pub fn forget(&self, project: &ProjectId, trustor: &Trustor) {
        self.sessions().remove(&(project.clone(), trustor.clone()));
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

/// The caller with the roles that he lends: his token's, or those of them that the operator names.
fn lent(services: &Services, caller: &Caller) -> Trustor {
    let named = &services.limits.trusts_delegated_roles;
    let is_lent = |role: &&String| {
        named.is_empty() || named.iter().any(|named| named.eq_ignore_ascii_case(role))
    };
    Trustor::of(&caller.user_id, caller.roles.iter().filter(is_lent).cloned().collect())
}

async fn trust_of(
    services: &Arc<Services>,
    project: &ProjectId,
    trustor: &Trustor,
) -> Option<Value> {
    let address = services.directory.project(project)?;
    address.send(TrustOf(trustor.clone())).await.ok().flatten()
}

fn refused(error: &CloudError) -> Refusal {
    match error.status() {
        _ if error.is_transient() => Refusal::unavailable(error.to_string()),
        Some(403) => Refusal::new("Forbidden", format!("{DELEGATED} ({error})")),
        Some(_) | None => Refusal::new("AuthorizationFailure", error.to_string()),
    }
}

/// Why Keystone lets a token make no trust.
const DELEGATED: &str = "This token may not lend its roles for work that goes on after the \
    request, because it was itself lent, by a trust or a restricted application credential. Use a \
    token of the user's own, or an unrestricted application credential with the roles that the \
    stack needs.";

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
        address.send(self.measures.ask(command, meta)).await.map_err(|_| gone())?
    }
}
