//! The domain in which stacks have users of their own, through its administrator.

use std::sync::Arc;

use super::credentials::{Credentials, Domain};
use super::token::Login;
use crate::model::{ProjectId, Secret};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::request::{Request, Response};
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
        Some(UserDomain { cloud: self.clone(), session })
    }
}

impl UserDomain {
    /// The domain's id.
    pub async fn id(&self) -> Result<String, CloudError> {
        let id = self.session.domain_id().await?;
        id.ok_or_else(|| CloudError::Unreadable {
            service: Service::Identity,
            reason: "the administrator's token has no domain".to_owned(),
        })
    }

    /// Makes a call as the domain's administrator.
    pub async fn send(&self, request: Request) -> Result<Response, CloudError> {
        self.session.send(request).await
    }

    /// A token of a user's in his project.
    pub async fn token(
        &self,
        user: &str,
        password: &Secret<String>,
        project: &str,
    ) -> Result<Secret<String>, CloudError> {
        self.session(user, password, project).token().await
    }

    /// The cloud as a user sees it in his project.
    pub fn session(&self, user: &str, password: &Secret<String>, project: &str) -> Session {
        let (id, password) = (user.to_owned(), password.clone());
        let project = ProjectId(project.to_owned());
        self.cloud.session(Credentials::User { id, password, project })
    }
}
