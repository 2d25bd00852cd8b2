//! The domain in which stacks have users of their own, through its administrator: a project for
//! each stack, and a user for each resource that hands credentials out. What is made has a name
//! that its maker knows beforehand, so making it again finds it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::credentials::{Credentials, Domain};
use super::token::Login;
use crate::model::{ProjectId, Secret};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::request::{Request, path_segment};
use crate::openstack::service::Service;
use crate::openstack::session::Session;

/// What an operator says of the domain.
#[derive(Clone, Debug)]
pub struct UserDomainSettings {
    pub domain: Domain,
    /// Its administrator, who is a user of it.
    pub admin: String,
    pub password: Secret<String>,
    /// The role that its users get.
    pub role: String,
}

impl UserDomainSettings {
    /// The domain that every sandbox has.
    pub fn of_sandbox(password: Secret<String>) -> Self {
        Self {
            domain: Domain::Name("heat".to_owned()),
            admin: "heat_domain_admin".to_owned(),
            password,
            role: "heat_stack_user".to_owned(),
        }
    }
}

/// The domain as a cloud knows it.
pub(in crate::openstack) struct Known {
    login: Arc<Login>,
    role: String,
}

impl From<UserDomainSettings> for Known {
    fn from(settings: UserDomainSettings) -> Self {
        let UserDomainSettings { domain, admin, password, role } = settings;
        let credentials = Credentials::Domain { username: admin, password, domain };
        Self { login: Arc::new(Login::new(credentials)), role }
    }
}

/// The way into the domain.
pub struct UserDomain {
    cloud: Cloud,
    session: Session,
    role: String,
}

impl Cloud {
    /// The role that stacks' users have, where there is a domain for them.
    pub fn stack_user_role(&self) -> Option<&str> {
        self.known_user_domain().map(|known| known.role.as_str())
    }

    /// The domain of stacks' users, where there is one.
    pub fn user_domain(&self) -> Option<UserDomain> {
        let known = self.known_user_domain()?;
        let session = Session::new(self.clone(), Arc::clone(&known.login));
        Some(UserDomain { cloud: self.clone(), session, role: known.role.clone() })
    }
}

impl UserDomain {
    /// The domain's id.
    pub async fn id(&self) -> Result<String, CloudError> {
        let id = self.session.domain_id().await?;
        id.ok_or_else(|| unreadable("the administrator's token has no domain"))
    }

    /// The project of a name, which is made where it is not there.
    pub async fn project(&self, name: &str) -> Result<String, CloudError> {
        let project = json!({
            "name": name,
            "domain_id": self.id().await?,
            "description": "Heat stack user project",
        });
        self.make("project", name, project).await
    }

    /// The project of a name, where it is there.
    pub async fn find_project(&self, name: &str) -> Result<Option<String>, CloudError> {
        self.find("project", name).await
    }

    /// Deletes the project of a name. One that is gone already is no error, and what is another
    /// name's or another domain's stays.
    pub async fn delete_project(&self, id: &str, name: &str) -> Result<(), CloudError> {
        match self.is_project(id, name).await? {
            true => self.delete("project", id).await,
            false => Ok(()),
        }
    }

    /// The user of a name, who is made where he is not there: in a project, with the role of such
    /// users.
    pub async fn user(
        &self,
        name: &str,
        password: &Secret<String>,
        project: &str,
    ) -> Result<String, CloudError> {
        let user = json!({
            "name": name,
            "password": password.reveal(),
            "default_project_id": project,
            "domain_id": self.id().await?,
            // Nobody is there to renew such a password.
            "options": {
                "ignore_change_password_upon_first_use": true,
                "ignore_password_expiry": true,
                "ignore_lockout_failure_attempts": true,
            },
        });
        let user = self.make("user", name, user).await?;
        let role = self.role().await?;
        let path = format!(
            "/v3/projects/{}/users/{}/roles/{}",
            path_segment(project),
            path_segment(&user),
            path_segment(&role)
        );
        self.session.send(Request::put(Service::Identity, path)).await?;
        Ok(user)
    }

    /// The user of a name, where he is there.
    pub async fn find_user(&self, name: &str) -> Result<Option<String>, CloudError> {
        self.find("user", name).await
    }

    /// Lets a user of a project's in, or keeps him out; nobody else's.
    pub async fn set_enabled(
        &self,
        user: &str,
        project_name: &str,
        enabled: bool,
    ) -> Result<(), CloudError> {
        if !self.is_user(user, project_name).await? {
            return Ok(());
        }
        let path = format!("/v3/users/{}", path_segment(user));
        let body = json!({ "user": { "enabled": enabled } });
        self.session.send(Request::patch(Service::Identity, path).json(body)).await?;
        Ok(())
    }

    /// Deletes a user of a project's. One who is gone already is no error, and nobody else's is
    /// touched.
    pub async fn delete_user(&self, id: &str, project_name: &str) -> Result<(), CloudError> {
        match self.is_user(id, project_name).await? {
            true => self.delete("user", id).await,
            false => Ok(()),
        }
    }

    /// A token of a user's in his project.
    pub async fn token(
        &self,
        user: &str,
        password: &Secret<String>,
        project: &str,
    ) -> Result<Secret<String>, CloudError> {
        let (id, password) = (user.to_owned(), password.clone());
        let project = ProjectId(project.to_owned());
        self.cloud.session(Credentials::User { id, password, project }).token().await
    }

    async fn role(&self) -> Result<String, CloudError> {
        let request = Request::get(Service::Identity, "/v3/roles").query("name", &self.role);
        let roles = self.session.send(request).await?.json()?;
        match roles["roles"].as_array().map(Vec::as_slice) {
            Some([role]) => text(role, "id"),
            _ => Err(CloudError::Unsendable(format!("Can't find role {}", self.role))),
        }
    }

    async fn make(&self, kind: &str, name: &str, body: Value) -> Result<String, CloudError> {
        let request = Request::post(Service::Identity, format!("/v3/{kind}s"));
        match self.session.send(request.json(json!({ kind: body }))).await {
            Ok(answer) => text(&answer.json()?[kind], "id"),
            Err(error) if error.is_conflict() => match self.find(kind, name).await? {
                Some(id) => Ok(id),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    async fn find(&self, kind: &str, name: &str) -> Result<Option<String>, CloudError> {
        let request = Request::get(Service::Identity, format!("/v3/{kind}s"))
            .query("name", name)
            .query("domain_id", self.id().await?);
        let found = self.session.send(request).await?.json()?;
        let all = found[format!("{kind}s")].as_array();
        all.and_then(|all| all.first()).map(|it| text(it, "id")).transpose()
    }

    /// Whether an id is that of the domain's project of a name. Ids may have come with data that
    /// somebody adopted, and the administrator of the domain could delete any.
    async fn is_project(&self, id: &str, name: &str) -> Result<bool, CloudError> {
        let Some(project) = self.read("project", id).await? else { return Ok(false) };
        Ok(project["name"] == *name && project["domain_id"] == *self.id().await?)
    }

    /// Whether an id is that of a user who belongs to the domain's project of a name.
    async fn is_user(&self, id: &str, project_name: &str) -> Result<bool, CloudError> {
        let Some(user) = self.read("user", id).await? else { return Ok(false) };
        match user["default_project_id"].as_str() {
            Some(project) if user["domain_id"] == *self.id().await? => {
                self.is_project(project, project_name).await
            }
            Some(_) | None => Ok(false),
        }
    }

    /// What there is of an id; none where it is gone, or not the domain's.
    async fn read(&self, kind: &str, id: &str) -> Result<Option<Value>, CloudError> {
        let path = format!("/v3/{kind}s/{}", path_segment(id));
        match self.session.send(Request::get(Service::Identity, path)).await {
            Ok(answer) => Ok(Some(answer.json()?[kind].clone())),
            Err(error) if matches!(error.status(), Some(403 | 404)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn delete(&self, kind: &str, id: &str) -> Result<(), CloudError> {
        let path = format!("/v3/{kind}s/{}", path_segment(id));
        match self.session.send(Request::delete(Service::Identity, path)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn text(of: &Value, field: &str) -> Result<String, CloudError> {
    let found = of[field].as_str().map(str::to_owned);
    found.ok_or_else(|| unreadable(&format!("it has no {field}")))
}

fn unreadable(reason: &str) -> CloudError {
    CloudError::Unreadable { service: Service::Identity, reason: reason.to_owned() }
}
