//! The users that resources have for themselves, to be handed to whoever signals them: one for
//! each resource, in a project of its stack, in a domain that holds nothing else. The name of each
//! is known before it is made, so that who comes after a crash finds it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::asks::Asks;
use super::job::{Beat, Learned, Subject};
use super::user_domain::UserDomain;
use crate::events::resource::Step;
use crate::model::{ProjectId, Secret, StackId};
use crate::openstack::Service;
use crate::resource_types::failure::Failure;
use crate::resource_types::stage::{Stages, stages};

/// Resource data: the stack's project in the users' domain, the user in it, his password.
pub const PROJECT: &str = "stack_user_project_id";
pub const USER: &str = "user_id";
pub(crate) const PASSWORD: &str = "password";

/// What only Hearth itself says of a resource's user: never taken from data that are adopted.
pub(crate) const OWN_DATA: [&str; 3] = [PROJECT, USER, PASSWORD];

/// The longest name of a project.
const PROJECT_NAME_MAX: usize = 64;
/// The longest name of a user.
const USER_NAME_MAX: usize = 255;

stages! {
    /// How a resource's user is made.
    enum Stage {
        Project = "user_project" Changes,
        User = "user" Changes,
    }
}

/// The step that making a user begins with. Its state is whatever its type needs afterwards.
pub(crate) fn first(state: Value) -> Step {
    Stage::Project.with(state)
}

/// Makes the beats that make a user; `then` follows. `None`: the step is no such beat.
pub(crate) fn make(
    cloud: &Asks<'_>,
    subject: &Subject,
    step: &Step,
    then: impl FnOnce() -> Step,
) -> Option<Result<Beat, Failure>> {
    let stage = Stage::of(step)?;
    Some(match (stage, cloud.user_domain()) {
        (_, None) => Ok(Beat::Next { learned: Learned::default(), next: then() }),
        (Stage::Project, Some(domain)) => {
            let next = Stage::User.with(step.state.clone());
            project(cloud, &domain, subject).map(|data| learned(data, next))
        }
        (Stage::User, Some(domain)) => user(&domain, subject).map(|data| learned(data, then())),
    })
}

fn learned<const N: usize>(data: [(&str, Value); N], next: Step) -> Beat {
    let data = data.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Beat::Next { learned: Learned { data, ..Learned::default() }, next }
}

/// The password is on record before the user is made with it.
fn project(
    cloud: &Asks<'_>,
    domain: &UserDomain<'_>,
    subject: &Subject,
) -> Result<[(&'static str, Value); 2], Failure> {
    let project = domain.project(&project_name(subject))?;
    let known = subject.data.get(PASSWORD).filter(|known| known.is_string()).cloned();
    let password = match known {
        Some(known) => known,
        None => password(cloud)?.into(),
    };
    Ok([(PROJECT, project.into()), (PASSWORD, password)])
}

fn user(domain: &UserDomain<'_>, subject: &Subject) -> Result<[(&'static str, Value); 1], Failure> {
    let StackUser { project, password, .. } = StackUser::of(subject);
    let user = domain.user(&user_name(subject), &password, &project)?;
    Ok([(USER, user.into())])
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
        domain.delete_user(&user, &project_name(subject))?;
    }
    let project = match text(PROJECT) {
        Some(project) => Some(project),
        None => domain.find_project(&project_name(subject))?,
    };
    let data = BTreeMap::from([
        (PROJECT.to_owned(), project.into()),
        (USER.to_owned(), Value::Null),
        (PASSWORD.to_owned(), Value::Null),
    ]);
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

/// A user as his resource knows him.
pub(crate) struct StackUser {
    pub(crate) id: String,
    pub(crate) password: Secret<String>,
    pub(crate) project: String,
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

/// Where a resource is signaled, in the name of a project: its stack's, or its user's.
pub(crate) fn signal_url(
    cloud: &Asks<'_>,
    subject: &Subject,
    project: &str,
) -> Result<String, Failure> {
    let endpoint = cloud.endpoint(&Service::of_type("orchestration"))?;
    let own = subject.project_id.clone().unwrap_or_default();
    let root = endpoint.trim_end_matches('/');
    let root = root.strip_suffix(own.as_str()).map(|root| root.trim_end_matches('/'));
    let root = root.unwrap_or(endpoint.as_str());
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
