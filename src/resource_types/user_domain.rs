//! The domain in which stacks have users of their own, through its administrator: a project for
//! each stack, and a user for each resource that hands credentials out. What is made has a name
//! that its maker knows beforehand, so making it again finds it.

use serde_json::{Value, json};

use super::asks::Asks;
use crate::model::Secret;
use crate::openstack::{CloudError, Request, Service, path_segment};

/// The type of keys for signatures, and where Keystone has them.
const EC2: &str = "ec2";
const CREDENTIALS: &str = "/v3/credentials";

/// The way into the domain.
pub struct UserDomain<'a>(&'a Asks<'a>);

impl Asks<'_> {
    /// The domain of stacks' users, where there is one.
    pub fn user_domain(&self) -> Option<UserDomain<'_>> {
        self.stack_user_role().is_some().then_some(UserDomain(self))
    }
}

impl UserDomain<'_> {
    /// The domain's id.
    pub fn id(&self) -> Result<String, CloudError> {
        self.0.domain_id()
    }

    /// The project of a name, which is made where it is not there.
    pub fn project(&self, name: &str) -> Result<String, CloudError> {
        let project = json!({
            "name": name,
            "domain_id": self.id()?,
            "description": "Heat stack user project",
        });
        self.make("project", name, project)
    }

    /// The project of a name, where it is there.
    pub fn find_project(&self, name: &str) -> Result<Option<String>, CloudError> {
        self.find("project", name)
    }

    /// Deletes the project of a name. One that is gone already is no error, and what is another
    /// name's or another domain's stays.
    pub fn delete_project(&self, id: &str, name: &str) -> Result<(), CloudError> {
        match self.is_project(id, name)? {
            true => self.delete("project", id),
            false => Ok(()),
        }
    }

    /// The user of a name, who is made where he is not there: in a project, with the role of such
    /// users.
    pub fn user(
        &self,
        name: &str,
        password: Option<&Secret<String>>,
        project: &str,
    ) -> Result<String, CloudError> {
        let mut user = json!({
            "name": name,
            "default_project_id": project,
            "domain_id": self.id()?,
            "enabled": true,
            // Nobody is there to renew such a password.
            "options": {
                "ignore_change_password_upon_first_use": true,
                "ignore_password_expiry": true,
                "ignore_lockout_failure_attempts": true,
            },
        });
        if let Some(password) = password {
            user["password"] = password.reveal().as_str().into();
        }
        let user = self.make("user", name, user)?;
        let role = self.role()?;
        let path = format!(
            "/v3/projects/{}/users/{}/roles/{}",
            path_segment(project),
            path_segment(&user),
            path_segment(&role)
        );
        self.0.send_in_domain(Request::put(Service::Identity, path))?;
        Ok(user)
    }

    /// The user of a name, where he is there.
    pub fn find_user(&self, name: &str) -> Result<Option<String>, CloudError> {
        self.find("user", name)
    }

    /// Lets a user of a project's in, or keeps him out; nobody else's.
    pub fn set_enabled(
        &self,
        user: &str,
        project_name: &str,
        enabled: bool,
    ) -> Result<(), CloudError> {
        self.change(user, project_name, json!({ "enabled": enabled }))
    }

    /// Gives a user of a project's another password; nobody else's.
    pub fn set_password(
        &self,
        user: &str,
        project_name: &str,
        password: &Secret<String>,
    ) -> Result<(), CloudError> {
        self.change(user, project_name, json!({ "password": password.reveal() }))
    }

    fn change(&self, user: &str, project_name: &str, fields: Value) -> Result<(), CloudError> {
        if !self.is_user(user, project_name)? {
            return Ok(());
        }
        let path = format!("/v3/users/{}", path_segment(user));
        let body = json!({ "user": fields });
        self.0.send_in_domain(Request::patch(Service::Identity, path).json(body))?;
        Ok(())
    }

    /// Keystone's id of a user's key for signatures, which is made where it is not there.
    pub fn key(
        &self,
        user: &str,
        project: &str,
        access: &str,
        secret: &Secret<String>,
    ) -> Result<String, CloudError> {
        let blob = json!({ "access": access, "secret": secret.reveal() });
        let credential = json!({
            "user_id": user,
            "type": EC2,
            "blob": blob.to_string(),
            "project_id": project,
        });
        let request = Request::post(Service::Identity, CREDENTIALS);
        match self.0.send_in_domain(request.json(json!({ "credential": credential }))) {
            Ok(answer) => text(&answer.json()?["credential"], "id"),
            Err(error) if error.is_conflict() => self.find_key(user, access)?.ok_or(error),
            Err(error) => Err(error),
        }
    }

    /// The id of a user's key, where it is there.
    pub fn find_key(&self, user: &str, access: &str) -> Result<Option<String>, CloudError> {
        let request =
            Request::get(Service::Identity, CREDENTIALS).query("user_id", user).query("type", EC2);
        let found = self.0.send_in_domain(request)?.json()?;
        let is_it = |credential: &&Value| {
            let blob = credential["blob"].as_str().map(serde_json::from_str::<Value>);
            blob.and_then(Result::ok).is_some_and(|blob| blob["access"] == access)
        };
        let found = found["credentials"].as_array().into_iter().flatten().find(is_it);
        found.map(|credential| text(credential, "id")).transpose()
    }

    /// Deletes a user of a project's with his key. One who is gone already is no error, and nobody
    /// else's is touched.
    pub fn delete_user(
        &self,
        id: &str,
        project_name: &str,
        credential: Option<&str>,
    ) -> Result<(), CloudError> {
        if !self.is_user(id, project_name)? {
            return Ok(());
        }
        if let Some(credential) = credential {
            self.delete_key(credential)?;
        }
        self.delete("user", id)
    }

    /// Deletes a key. One that is gone already is no error.
    pub fn delete_key(&self, credential: &str) -> Result<(), CloudError> {
        self.delete("credential", credential)
    }

    fn role(&self) -> Result<String, CloudError> {
        let role = self.0.stack_user_role().unwrap_or_default();
        let request = Request::get(Service::Identity, "/v3/roles").query("name", role);
        let roles = self.0.send_in_domain(request)?.json()?;
        match roles["roles"].as_array().map(Vec::as_slice) {
            Some([role]) => text(role, "id"),
            _ => Err(CloudError::Unsendable(format!("Can't find role {role}"))),
        }
    }

    fn make(&self, kind: &str, name: &str, body: Value) -> Result<String, CloudError> {
        let request = Request::post(Service::Identity, format!("/v3/{kind}s"));
        match self.0.send_in_domain(request.json(json!({ kind: body }))) {
            Ok(answer) => text(&answer.json()?[kind], "id"),
            Err(error) if error.is_conflict() => match self.find(kind, name)? {
                Some(id) => Ok(id),
                None => Err(error),
            },
            Err(error) => Err(error),
        }
    }

    fn find(&self, kind: &str, name: &str) -> Result<Option<String>, CloudError> {
        let request = Request::get(Service::Identity, format!("/v3/{kind}s"))
            .query("name", name)
            .query("domain_id", self.id()?);
        let found = self.0.send_in_domain(request)?.json()?;
        let all = found[format!("{kind}s")].as_array();
        all.and_then(|all| all.first()).map(|it| text(it, "id")).transpose()
    }

    /// Whether an id is that of the domain's project of a name. Ids may have come with data that
    /// somebody adopted, and the administrator of the domain could delete any.
    fn is_project(&self, id: &str, name: &str) -> Result<bool, CloudError> {
        let Some(project) = self.read("project", id)? else { return Ok(false) };
        Ok(project["name"] == *name && project["domain_id"] == *self.id()?)
    }

    /// Whether an id is that of a user who belongs to the domain's project of a name.
    fn is_user(&self, id: &str, project_name: &str) -> Result<bool, CloudError> {
        let Some(user) = self.read("user", id)? else { return Ok(false) };
        match user["default_project_id"].as_str() {
            Some(project) if user["domain_id"] == *self.id()? => {
                self.is_project(project, project_name)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// What there is of an id; none where it is gone, or not the domain's.
    fn read(&self, kind: &str, id: &str) -> Result<Option<Value>, CloudError> {
        let path = format!("/v3/{kind}s/{}", path_segment(id));
        match self.0.send_in_domain(Request::get(Service::Identity, path)) {
            Ok(answer) => Ok(Some(answer.json()?[kind].clone())),
            Err(error) if matches!(error.status(), Some(403 | 404)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn delete(&self, kind: &str, id: &str) -> Result<(), CloudError> {
        let path = format!("/v3/{kind}s/{}", path_segment(id));
        match self.0.send_in_domain(Request::delete(Service::Identity, path)) {
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
