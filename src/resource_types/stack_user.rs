//! The users that resources have for themselves, to be handed to whoever signals them: one for
//! each resource, in a project of its stack, in a domain that holds nothing else. The name of each
//! is known before it is made, and so is his password or his key, so that who comes after a crash
//! finds them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::asks::Asks;
use super::job::{Beat, Learned, StackUser, Subject, Work};
use super::user_domain::UserDomain;
use crate::events::resource::Step;
use crate::model::{Action, ProjectId, Secret, StackId};
use crate::openstack::Service;
use crate::resource_types::failure::Failure;
use crate::resource_types::stage::{Stages, stages};

/// Resource data: the stack's project in the users' domain, the user in it, his password.
pub const PROJECT: &str = "stack_user_project_id";
pub const USER: &str = "user_id";
pub(crate) const PASSWORD: &str = "password";
/// Resource data: the key by which he signs requests, and Keystone's id of it.
pub(crate) const ACCESS_KEY: &str = "access_key";
pub(crate) const SECRET_KEY: &str = "secret_key";
const CREDENTIAL: &str = "credential_id";

/// What only Hearth itself says of a resource's user: never taken from data that are adopted.
pub(crate) const OWN_DATA: [&str; 6] =
    [PROJECT, USER, PASSWORD, ACCESS_KEY, SECRET_KEY, CREDENTIAL];

/// Whether resource data of a name let somebody in as such a user.
pub(crate) fn is_secret(name: &str) -> bool {
    [PASSWORD, ACCESS_KEY, SECRET_KEY, CREDENTIAL].contains(&name)
}

/// By what a user is let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// A password, with which he asks for tokens.
    Password,
    /// A key, with which requests are signed.
    Key,
}

/// What stands for the project in the operator's address of the API.
const TENANT: &str = "%(tenant_id)s";

/// The longest name of a project.
const PROJECT_NAME_MAX: usize = 64;
/// The longest name of a user.
const USER_NAME_MAX: usize = 255;

stages! {
    /// How a resource's user is made.
    enum Stage {
        Project = "user_project" Changes,
        User = "user" Changes,
        Key = "user_key" Changes,
    }
}

stages! {
    /// What becomes of a user with his resource.
    enum Keeping {
        Remove = "remove" Changes,
        Enable = "enable" Changes,
    }
}

/// The step that deletes the user with his resource.
pub(crate) fn removal() -> Step {
    Keeping::Remove.step()
}

/// The step that keeps the user out while his resource is suspended, or lets him in again.
pub(crate) fn enabling() -> Step {
    Keeping::Enable.step()
}

/// Makes the beats of these steps, which are the last ones of their action. `None`: the step is no
/// such beat.
pub(crate) fn keep(
    cloud: &Asks<'_>,
    work: &Work,
    subject: &Subject,
    step: &Step,
) -> Option<Result<Beat, Failure>> {
    Some(match Keeping::of(step)? {
        Keeping::Remove => remove(cloud, subject).map(|learned| Beat::Done { learned }),
        Keeping::Enable => {
            let enabled = *work == Work::Act(Action::Resume);
            let done = set_enabled(cloud, subject, enabled);
            done.map(|()| Beat::Done { learned: Learned::default() })
        }
    })
}

/// The step that making a user begins with. Its state is whatever its type needs afterwards.
pub(crate) fn first(state: Value) -> Step {
    Stage::Project.with(state)
}

/// Makes the beats that make a user, or give one that is there what he lacks; `then` follows.
/// `None`: the step is no such beat.
pub(crate) fn make(
    cloud: &Asks<'_>,
    subject: &Subject,
    step: &Step,
    proof: Proof,
    then: impl FnOnce() -> Step,
) -> Option<Result<Beat, Failure>> {
    let stage = Stage::of(step)?;
    let state = || step.state.clone();
    Some(match (stage, cloud.user_domain()) {
        (_, None) => Ok(Beat::Next { learned: Learned::default(), next: then() }),
        (Stage::Project, Some(domain)) => project(cloud, &domain, subject, proof)
            .map(|data| learned(data, Stage::User.with(state()))),
        (Stage::User, Some(domain)) => user(&domain, subject, proof).map(|data| {
            let next = match proof {
                Proof::Password => then(),
                Proof::Key => Stage::Key.with(state()),
            };
            learned(data, next)
        }),
        (Stage::Key, Some(domain)) => key(&domain, subject).map(|data| learned(data, then())),
    })
}

/// What is to be remembered: resource data.
type Data = BTreeMap<String, Value>;

fn learned(data: Data, next: Step) -> Beat {
    Beat::Next { learned: Learned { data, ..Learned::default() }, next }
}

/// What lets the user in is on record before he is made with it.
fn project(
    cloud: &Asks<'_>,
    domain: &UserDomain<'_>,
    subject: &Subject,
    proof: Proof,
) -> Result<Data, Failure> {
    let user = StackUser::made(subject);
    let project = match &user {
        Some(user) => user.project.clone(),
        None => domain.project(&project_name(subject))?,
    };
    let mut data = Data::from([(PROJECT.to_owned(), project.into())]);
    let known = |name: &str| subject.data.get(name).filter(|known| known.is_string()).cloned();
    match proof {
        Proof::Password => {
            // Keystone may refuse one that was his already.
            let password = match known(PASSWORD).filter(|_| user.is_none()) {
                Some(known) => known,
                None => password(cloud)?.into(),
            };
            data.insert(PASSWORD.to_owned(), password);
        }
        Proof::Key if Key::of(subject).is_none() => data.extend(fresh_key(cloud)?),
        Proof::Key => {}
    }
    Ok(data)
}

/// A key that nobody has yet.
fn fresh_key(cloud: &Asks<'_>) -> Result<Data, Failure> {
    let access = cloud.fresh_id()?.simple().to_string();
    Ok(Data::from([
        (ACCESS_KEY.to_owned(), access.into()),
        (SECRET_KEY.to_owned(), password(cloud)?.into()),
    ]))
}

fn user(domain: &UserDomain<'_>, subject: &Subject, proof: Proof) -> Result<Data, Failure> {
    let StackUser { project, password, .. } = StackUser::of(subject);
    let password = (proof == Proof::Password).then_some(&password);
    let user = match (StackUser::made(subject), password) {
        (None, password) => domain.user(&user_name(subject), password, &project)?,
        (Some(made), None) => made.id,
        // He had a key alone so far.
        (Some(made), Some(password)) => {
            domain.set_password(&made.id, &project_name(subject), password)?;
            made.id
        }
    };
    Ok(Data::from([(USER.to_owned(), user.into())]))
}

fn key(domain: &UserDomain<'_>, subject: &Subject) -> Result<Data, Failure> {
    if Key::made(subject).is_some() {
        return Ok(Data::new());
    }
    let StackUser { id, project, .. } = StackUser::of(subject);
    let key = Key::of(subject).unwrap_or_default();
    let credential = domain.key(&id, &project, &key.access, &key.secret)?;
    Ok(Data::from([(CREDENTIAL.to_owned(), credential.into())]))
}

/// A key that is to be made for another resource's user: it is on record before it is made.
pub(crate) fn key_for(cloud: &Asks<'_>, user: String, project: String) -> Result<Data, Failure> {
    let mut data = fresh_key(cloud)?;
    data.insert(USER.to_owned(), user.into());
    data.insert(PROJECT.to_owned(), project.into());
    Ok(data)
}

/// Makes the key that is on record.
pub(crate) fn make_key(cloud: &Asks<'_>, subject: &Subject) -> Result<Data, Failure> {
    match cloud.user_domain() {
        Some(domain) => key(&domain, subject),
        None => Err(no_domain()),
    }
}

/// Deletes a key, also one that was made and never heard of, and leaves the user.
pub(crate) fn drop_key(cloud: &Asks<'_>, subject: &Subject) -> Result<(), Failure> {
    let (Some(domain), Some(key)) = (cloud.user_domain(), Key::of(subject)) else { return Ok(()) };
    let credential = match subject.data.get(CREDENTIAL).and_then(Value::as_str) {
        Some(credential) => Some(credential.to_owned()),
        None => domain.find_key(&StackUser::of(subject).id, &key.access)?,
    };
    match credential {
        Some(credential) => Ok(domain.delete_key(&credential)?),
        None => Ok(()),
    }
}

/// The public part of the key that is on record.
pub(crate) fn access_key(subject: &Subject) -> Option<String> {
    Key::of(subject).map(|key| key.access)
}

/// What is said where no user can be made.
pub(crate) fn no_domain() -> Failure {
    Failure::Failed("There is no domain for stacks' users".to_owned())
}

/// Whether a resource has a user who is let in in this way.
pub(crate) fn has(subject: &Subject, proof: Proof) -> bool {
    match proof {
        Proof::Password => StackUser::made(subject).is_some(),
        Proof::Key => Key::made(subject).is_some(),
    }
}

/// Whether a resource may have had a user: one may have been made and never heard of.
pub(crate) fn may_be_there(subject: &Subject) -> bool {
    [PROJECT, USER, PASSWORD, ACCESS_KEY].iter().any(|name| subject.data.contains_key(*name))
}

/// A password of letters of both cases, digits and a sign, as rules for passwords want it.
fn password(cloud: &Asks<'_>) -> Result<String, Failure> {
    let (one, other) = (cloud.fresh_id()?.simple(), cloud.fresh_id()?.simple());
    Ok(format!("{one}&A{other:X}z9"))
}

/// The name of a stack's project, as Heat gives it: an operator finds the stack by it.
fn project_name_of(project: &ProjectId, stack: StackId) -> String {
    format!("{project}-{stack}").chars().take(PROJECT_NAME_MAX).collect()
}

fn project_name(subject: &Subject) -> String {
    let project = subject.project_id.clone().unwrap_or_default();
    project_name_of(&project, subject.stack_id.unwrap_or_default())
}

/// The end of the resource's physical name.
pub(crate) fn user_name(subject: &Subject) -> String {
    let name = &subject.physical_name;
    name.chars().skip(name.chars().count().saturating_sub(USER_NAME_MAX)).collect()
}

/// The project of a stack, whichever of its resources made it.
pub(crate) fn project_of(cloud: &Asks<'_>, subject: &Subject) -> Result<Option<String>, Failure> {
    match cloud.user_domain() {
        Some(domain) => Ok(domain.find_project(&project_name(subject))?),
        None => Ok(None),
    }
}

/// Deletes the user, also one that was made and never heard of, and never another stack's. What is
/// learned has the project, which goes with the stack.
pub(crate) fn remove(cloud: &Asks<'_>, subject: &Subject) -> Result<Learned, Failure> {
    let Some(domain) = cloud.user_domain() else { return Ok(Learned::default()) };
    let text = |key: &str| subject.data.get(key).and_then(Value::as_str).map(str::to_owned);
    let user = match text(USER) {
        Some(user) => Some(user),
        None => domain.find_user(&user_name(subject))?,
    };
    if let Some(user) = user {
        domain.delete_user(&user, &project_name(subject), text(CREDENTIAL).as_deref())?;
    }
    let project = match text(PROJECT) {
        Some(project) => Some(project),
        None => domain.find_project(&project_name(subject))?,
    };
    let mut data: Data = OWN_DATA.map(|name| (name.to_owned(), Value::Null)).into();
    data.insert(PROJECT.to_owned(), project.into());
    Ok(Learned { data, ..Learned::default() })
}

/// Lets the user in, or keeps him out.
pub(crate) fn set_enabled(
    cloud: &Asks<'_>,
    subject: &Subject,
    enabled: bool,
) -> Result<(), Failure> {
    let user = subject.data.get(USER).and_then(Value::as_str);
    if let (Some(domain), Some(user)) = (cloud.user_domain(), user) {
        domain.set_enabled(user, &project_name(subject), enabled)?;
    }
    Ok(())
}

impl StackUser {
    fn of(subject: &Subject) -> Self {
        let text = |key: &str| {
            subject.data.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        Self { id: text(USER), password: Secret::new(text(PASSWORD)), project: text(PROJECT) }
    }

    /// The resource's user, where it has one.
    pub(crate) fn made(subject: &Subject) -> Option<Self> {
        Some(Self::of(subject)).filter(|user| !user.id.is_empty())
    }

    /// A token of his.
    pub(crate) fn token(&self, cloud: &Asks<'_>) -> Result<Secret<String>, Failure> {
        Ok(cloud.user_token(&self.id, &self.password, &self.project)?)
    }
}

/// The key by which a resource's user signs requests.
#[derive(Default)]
pub(crate) struct Key {
    pub(crate) access: String,
    pub(crate) secret: Secret<String>,
}

impl Key {
    fn of(subject: &Subject) -> Option<Self> {
        let text = |key: &str| subject.data.get(key).and_then(Value::as_str).map(str::to_owned);
        Some(Self { access: text(ACCESS_KEY)?, secret: Secret::new(text(SECRET_KEY)?) })
    }

    /// The key, once Keystone knows it.
    pub(crate) fn made(subject: &Subject) -> Option<Self> {
        let is_made = subject.data.get(CREDENTIAL).is_some_and(Value::is_string);
        Self::of(subject).filter(|_| is_made)
    }
}

/// Where a resource is signaled, in the name of a project: its stack's, or its user's.
pub(crate) fn signal_url(
    cloud: &Asks<'_>,
    subject: &Subject,
    project: &str,
) -> Result<String, Failure> {
    let own = subject.project_id.clone().unwrap_or_default();
    let endpoint = match &cloud.cfn_places().orchestration {
        Some(said) => said.replace(TENANT, own.as_str()),
        None => cloud.endpoint(&Service::of_type("orchestration"))?,
    };
    let endpoint = endpoint.trim_end_matches('/');
    let root = endpoint.strip_suffix(own.as_str()).map(|root| root.trim_end_matches('/'));
    let root = root.unwrap_or(endpoint);
    let shown = |part: Option<String>| crate::openstack::path_segment(&part.unwrap_or_default());
    Ok(format!(
        "{root}/{project}/stacks/{}/{}/resources/{}/signal",
        shown(subject.stack_name.as_ref().map(ToString::to_string)),
        shown(subject.stack_id.map(|id| id.to_string())),
        shown(subject.name.as_ref().map(ToString::to_string)),
    ))
}

/// What somebody must know to signal as the user, in Heat's order.
pub(crate) fn credentials(
    cloud: &Asks<'_>,
    subject: &Subject,
    user: &StackUser,
) -> Result<Value, Failure> {
    let domain = match cloud.user_domain() {
        Some(domain) => Some(domain.id()?),
        None => None,
    };
    Ok(json!({
        "auth_url": cloud.auth_url(),
        "username": user_name(subject),
        "user_id": user.id,
        "password": user.password.reveal(),
        "project_id": user.project,
        "domain_id": domain,
        "region_name": cloud.region(),
    }))
}

/// Deletes the project of a stack. One that is gone already is no error, and what is another
/// stack's or another domain's stays.
pub fn delete_project(
    cloud: &Asks<'_>,
    project_id: &str,
    owner: &ProjectId,
    stack: StackId,
) -> Result<(), Failure> {
    // Where there is no such domain any more there is nothing to be reached.
    let Some(domain) = cloud.user_domain() else { return Ok(()) };
    Ok(domain.delete_project(project_id, &project_name_of(owner, stack))?)
}
