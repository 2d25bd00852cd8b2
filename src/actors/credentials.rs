//! On whose behalf resources call the cloud: a trust per user, project and set of roles, made with
//! the user's own token and kept, sealed, in the project's stream. With `deferred_auth_method =
//! password` the user's own password stands in a trust's place, sealed with a key of its own that is
//! destroyed when it is let go.

use std::sync::Arc;

use actix::prelude::*;
use serde_json::{Value, json};
use tracing::warn;

use super::asks::{Login, RequestContext};
use super::project::{Project, ProjectCommand};
use super::project_actor::HolderOf;
use super::services::Services;
use super::sessions::{Credentials, Known};
use super::shell::Shell;
use super::turns::to_the_end;
use crate::events::vault::Placed;
use crate::events::{Meta, StreamId};
use crate::model::{
    Caller, DeferredAuth, ProjectId, Refusal, Secret, StackId, StackName, Trustor, taint,
};
use crate::openstack::{
    Cloud, CloudError, Credentials as Proof, NameAndPassword, ProjectNamed, Session,
};
use crate::resource_types::Failure;

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

/// Asks a project for the oldest trust that is in use, sealed.
#[derive(Message)]
#[rtype(result = "Option<Value>")]
pub struct OldestTrust;

impl Handler<OldestTrust> for Shell<Project> {
    type Result = Option<Value>;

    fn handle(&mut self, _ask: OldestTrust, _ctx: &mut Context<Self>) -> Option<Value> {
        self.machine.oldest_trust().cloned()
    }
}

impl Credentials {
    /// Sees to it that Hearth may go on for the user in his project once his token is gone, with the
    /// roles that the token has and no other, or those of the password that came with it. Asks
    /// Keystone only where there is no such trust yet, or the one there is no longer works.
    pub async fn ensure(
        &self,
        services: &Arc<Services>,
        who: &RequestContext,
    ) -> Result<Trustor, Refusal> {
        let caller = &who.caller;
        let by_password = services.limits.deferred_auth == DeferredAuth::Password;
        let (login, cloud) = (who.login.as_ref().filter(|_| by_password), &services.cloud);
        let Some(cloud) = cloud else { return Ok(delegated(services, caller)) };
        check_home(services, &caller.project_id, &who.token).await?;
        let home = cloud.home_of(&who.token);
        let trustor = match login {
            // The password is good for all that the user may do.
            Some(login) => Trustor::of(&caller.user_id, roles_of(home.cloud, login, caller).await?),
            None if by_password => Trustor::of(&caller.user_id, caller.roles.clone()),
            None => delegated(services, caller),
        };
        let roles = trustor.roles.as_deref().unwrap_or_default();
        if roles.is_empty() {
            let named = services.limits.trusts_delegated_roles.join(", ");
            let text = format!("Missing required credential: roles {named}");
            return Err(Refusal::new("MissingCredentialError", text));
        }
        let project = &caller.project_id;
        let key = (project.clone(), trustor.clone());
        // One after the other: of two trusts made at once the older one is given back, and what
        // already works with it would be turned away.
        let alone = self.making.wait(&key).await;
        // The project has the last word: a trust of its former stacks may be on its way back.
        let current = trust_of(services, project, &trustor).await?;
        let origin = current.as_ref().and_then(Kept::origin);
        let is_here = origin.is_none_or(|it| cloud.kept_at(&it).is_ok_and(|it| it.is(&home)));
        let is_the_one = is_here
            && login.is_none_or(|login| {
                let kept = current.as_ref().and_then(|sealed| Kept::read(services, sealed));
                matches!(kept, Some(Kept::Password(password))
                    if password.reveal() == login.password.reveal())
            });
        let is_current =
            self.sessions().get(&key).is_some_and(|known| Some(&known.trust) == current.as_ref());
        if is_current && is_the_one {
            return Ok(trustor);
        }
        self.sessions().remove(&key);
        if is_the_one && let Ok(session) = self.session(services, project, &trustor).await {
            match session.token().await {
                Ok(_) => return Ok(trustor),
                // Others may be at work with it: it goes only once Keystone says that it is not good.
                Err(error) if error.is_transient() => {
                    self.sessions().remove(&key);
                    return Ok(trustor);
                }
                Err(_) => {}
            }
        }
        // What does not open the project is looked at again by whoever comes next.
        self.sessions().remove(&key);
        let (services, who, made) = (Arc::clone(services), who.clone(), trustor.clone());
        to_the_end(async move {
            let _alone = alone;
            make_trust(&services, &who, made, by_password).await
        })
        .await?;
        Ok(trustor)
    }

    /// A session of the user's trust.
    pub async fn session(
        &self,
        services: &Arc<Services>,
        project: &ProjectId,
        trustor: &Trustor,
    ) -> Result<Session, Failure> {
        let Some(cloud) = &services.cloud else { return Ok(Session::detached(&services.clock)) };
        let key = (project.clone(), trustor.clone());
        if let Some(known) = self.sessions().get(&key) {
            return Ok(known.session.clone());
        }
        let sealed = trust_of(services, project, trustor).await?.unwrap_or_default();
        let kept = Kept::origin(&sealed).zip(Kept::read(services, &sealed));
        let Some((origin, kept)) = kept else {
            let (user_id, project_id) = (trustor.user_id.clone(), project.to_string());
            return Err(Failure::NoTrust { user_id, project_id });
        };
        // Nothing is shown to another cloud than the one that it was made in.
        let home = cloud.kept_at(&origin)?;
        let session = match kept {
            Kept::Trust(trust) => cloud.session_for_trust(&trust, project),
            Kept::Password(password) => home.cloud.session(Kept::user(trustor, project, &password)),
        };
        // Who was quicker may have read what came later.
        let mut sessions = self.sessions();
        let known = sessions.entry(key).or_insert(Known { trust: sealed, session });
        Ok(known.session.clone())
    }

    /// Gives a trust back to Keystone, or destroys the key of a password; false when that is to be
    /// tried again another time.
    pub async fn give_back(
        &self,
        services: &Arc<Services>,
        scope: &StreamId,
        sealed: &Value,
    ) -> bool {
        self.sessions().retain(|_, known| known.trust != *sealed);
        if let Some(key) = Kept::key(&taint::plain(sealed.clone())) {
            return match services.vault.destroy(key).await {
                Ok(()) => true,
                Err(error) => {
                    warn!(stream = %scope, %error, "a password stays, sealed, for now");
                    false
                }
            };
        }
        let Some(cloud) = &services.cloud else { return true };
        // A trust that cannot be read can never be given back.
        let Value::String(trust) = taint::plain(sealed.clone()) else {
            return true;
        };
        match cloud.delete_trust(&Secret::new(trust)).await {
            Ok(()) => true,
            Err(error) => {
                warn!(stream = %scope, %error, "a trust could not be given back");
                // A cloud that is not listed any more, or not with a user of ours, may be again.
                let is_kept = matches!(error, CloudError::Credential { .. });
                !error.is_transient() && !is_kept
            }
        }
    }
}

/// Makes what Hearth goes on by for a user, and puts it on record. One that was made and is on no
/// record would be kept for ever.
async fn make_trust(
    services: &Arc<Services>,
    who: &RequestContext,
    trustor: Trustor,
    by_password: bool,
) -> Result<(), Refusal> {
    let Some(cloud) = &services.cloud else { return Ok(()) };
    let (caller, home) = (&who.caller, cloud.home_of(&who.token));
    let project = &caller.project_id;
    let roles = trustor.roles.as_deref().unwrap_or_default();
    let (sealed, session) = if by_password {
        let Some(login) = &who.login else {
            let text = "Missing required credential: X-Auth-Key";
            return Err(Refusal::new("MissingCredentialError", text));
        };
        let session = home.cloud.session(Kept::user(&trustor, project, &login.password));
        (Kept::seal(services, &login.password, home.mark)?, session)
    } else {
        let trust = cloud.create_trust(&who.token, caller, roles).await;
        let trust = trust.map_err(|error| no_trust(&error, roles))?;
        let session = cloud.session_for_trust(&trust, project);
        (taint::taint(trust.reveal().as_str().into()), session)
    };
    let command = ProjectCommand::Trust {
        user_id: caller.user_id.clone(),
        trust_id: sealed.clone(),
        roles: roles.to_vec(),
    };
    if let Err(refusal) = services.ask_project(project, command, who.meta()).await {
        let known = trust_of(services, project, &trustor).await;
        if known.is_ok_and(|known| known.as_ref() != Some(&sealed)) {
            services.credentials.give_back(services, &StreamId::project(project), &sealed).await;
        }
        return Err(refusal);
    }
    let key = (project.clone(), trustor);
    services.credentials.sessions().insert(key, Known { trust: sealed, session });
    Ok(())
}

/// By what Hearth goes on for a user, as the project's stream has it: the id of a trust, or a
/// password that is sealed with a key of its own, for the cloud that has the mark.
enum Kept {
    Trust(Secret<String>),
    Password(Secret<String>),
}

impl Kept {
    fn read(services: &Services, sealed: &Value) -> Option<Kept> {
        let kept = taint::plain(sealed.clone());
        if let Value::String(trust) = kept {
            return Some(Kept::Trust(Secret::new(trust)));
        }
        let key = Kept::key(&kept)?;
        let placed = Placed { place: PASSWORD.to_owned(), value: kept[PASSWORD].clone() };
        let password = services.vault.open(key, &placed).ok()?;
        Some(Kept::Password(Secret::new(password.as_str()?.to_owned())))
    }

    /// What says which cloud it is for: the trust itself, or the mark beside a password.
    fn origin(sealed: &Value) -> Option<Secret<String>> {
        let kept = taint::plain(sealed.clone());
        if let Value::String(trust) = kept {
            return Some(Secret::new(trust));
        }
        Kept::key(&kept)?;
        Some(Secret::new(kept[MARK].as_str().unwrap_or_default().to_owned()))
    }

    /// What stands for a password in the place of a trust's id.
    fn seal(services: &Services, password: &Secret<String>, mark: &str) -> Result<Value, Refusal> {
        let key = format!("{PASSWORD_KEYS}{}", services.clock.fresh_id());
        let secret = taint::taint(password.reveal().as_str().into());
        let sealed = services.vault.seal(&key, PASSWORD, secret);
        let sealed = sealed.map_err(|error| Refusal::unavailable(error.to_string()))?;
        let mut kept = json!({ KEY: key, PASSWORD: sealed });
        if !mark.is_empty() {
            kept[MARK] = mark.into();
        }
        Ok(taint::taint(kept))
    }

    /// The key of a password.
    fn key(kept: &Value) -> Option<&str> {
        kept.get(KEY)?.as_str()
    }

    fn user(trustor: &Trustor, project: &ProjectId, password: &Secret<String>) -> Proof {
        let (id, password) = (trustor.user_id.clone(), password.clone());
        Proof::User { id, password, project: project.clone() }
    }
}

/// The key of a password that stands in a trust's place.
pub(super) fn password_key(sealed: &Value) -> Option<String> {
    Kept::key(&taint::plain(sealed.clone())).map(str::to_owned)
}

/// How the keys of passwords are called, to their number.
pub(super) const PASSWORD_KEYS: &str = "login-";
/// Members of what is kept of a password: what seals it, itself, and the mark of another cloud.
const KEY: &str = "key";
const PASSWORD: &str = "password";
const MARK: &str = "cloud";

/// The roles that a name and a password are good for, which have to be the caller's own. Keystone is
/// asked as for the tokens of others: its word is kept for a while.
async fn roles_of(cloud: &Cloud, login: &Login, caller: &Caller) -> Result<Vec<String>, Refusal> {
    let domain = caller.scope.user_domain_id.as_deref();
    let given = NameAndPassword {
        name: &login.name,
        password: &login.password,
        user_domain_id: domain.unwrap_or("default"),
        project: ProjectNamed::Id(&caller.project_id),
    };
    let other = || {
        let text = "X-Auth-User and X-Auth-Key are not those of the user whose the token is.";
        Refusal::new("Forbidden", text)
    };
    match cloud.logged_in(&given).await {
        Ok((identity, _)) if identity.caller.user_id == caller.user_id => {
            Ok(identity.caller.roles.clone())
        }
        Ok(_) | Err(CloudError::InvalidToken) => Err(other()),
        Err(error) => Err(refused(&error)),
    }
}

/// Refuses whose token is of another cloud than the one in which the project's work goes on: a cloud
/// vouches for whom it likes, and must neither use what is kept for another nor take its place.
pub(super) async fn check_home(
    services: &Services,
    project: &ProjectId,
    token: &Secret<String>,
) -> Result<(), Refusal> {
    let Some(cloud) = &services.cloud else { return Ok(()) };
    let address = services.directory.project(project).ok_or_else(gone)?;
    let oldest = address.send(OldestTrust).await.map_err(|_| gone())?;
    let Some(origin) = oldest.as_ref().and_then(Kept::origin) else { return Ok(()) };
    let there = cloud.kept_at(&origin);
    let there = there.map_err(|error| Refusal::new("Forbidden", error.to_string()))?;
    match there.is(&cloud.home_of(token)) {
        true => Ok(()),
        false => Err(Refusal::new("Forbidden", OTHER_CLOUD)),
    }
}

const OTHER_CLOUD: &str = "The stacks of this project are in another cloud than the one whose user \
    asks.";

/// The caller with the roles that he delegates: his token's, or those of them that the operator
/// names.
fn delegated(services: &Services, caller: &Caller) -> Trustor {
    let named = &services.limits.trusts_delegated_roles;
    let is_delegated = |role: &&String| {
        named.is_empty() || named.iter().any(|named| named.eq_ignore_ascii_case(role))
    };
    Trustor::of(&caller.user_id, caller.roles.iter().filter(is_delegated).cloned().collect())
}

async fn trust_of(
    services: &Arc<Services>,
    project: &ProjectId,
    trustor: &Trustor,
) -> Result<Option<Value>, Refusal> {
    let address = services.directory.project(project).ok_or_else(gone)?;
    address.send(TrustOf(trustor.clone())).await.map_err(|_| gone())
}

fn refused(error: &CloudError) -> Refusal {
    match error.is_transient() {
        true => Refusal::unavailable(error.to_string()),
        false => Refusal::new("AuthorizationFailure", error.to_string()),
    }
}

/// Why there is no trust with these roles.
fn no_trust(error: &CloudError, roles: &[String]) -> Refusal {
    let class = "MissingCredentialError";
    match error.status() {
        Some(403) => Refusal::new("Forbidden", format!("{DELEGATED} ({error})")),
        // Heat's words, whatever was not found.
        Some(404) => {
            let missing = format!("Missing required credential: roles {}", roles.join(", "));
            let is_role = error.to_string().contains("find role");
            let why = if is_role { NOT_HELD } else { "" };
            Refusal::new(class, format!("{missing}.{why} ({error})"))
        }
        // Nobody there could be given one.
        None if matches!(error, CloudError::Credential { .. }) => {
            Refusal::new(class, error.to_string())
        }
        Some(_) | None => refused(error),
    }
}

/// Why Keystone lets a token make no trust.
const DELEGATED: &str = "This token may not lend its roles for work that goes on after the \
    request, because it was itself lent, by a trust, an application credential or a signature. Use \
    a token of the user's own or, where the cloud's Keystone lets these make trusts, an unrestricted \
    application credential with the roles that the stack needs.";

/// Why Keystone does not find a role that the token has.
const NOT_HELD: &str = " The token has roles that its user does not hold, or no longer: a role was \
    taken away, or an identity provider gave it for this login alone, or for a time that is over. \
    Log in again; if that does not help, the cloud's operator has to give the identity provider an \
    authorization_ttl, or the roles to the user himself.";

impl Services {
    /// Sends a command to a project's actor, waking it if need be.
    pub async fn ask_project(
        &self,
        project: &ProjectId,
        command: ProjectCommand,
        meta: Arc<Meta>,
    ) -> Result<super::shell::Receipt, Refusal> {
        let address = self.directory.project(project).ok_or_else(gone)?;
        address.send(self.measures.ask(command, meta)).await.map_err(|_| gone())?
    }

    /// Asks a project which stack holds a name. Errors: nobody is there to ask, which says nothing
    /// of the name.
    pub(super) async fn holder_of(
        &self,
        project: &ProjectId,
        name: &StackName,
    ) -> Result<Option<StackId>, Refusal> {
        let address = self.directory.project(project).ok_or_else(gone)?;
        address.send(HolderOf(name.clone())).await.map_err(|_| gone())
    }
}

/// A project's actor has stopped: with the engine, or because it could not write.
fn gone() -> Refusal {
    Refusal::unavailable("The engine is stopping, or cannot write its log at present.")
}
