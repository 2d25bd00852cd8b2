//! The domain in which stacks have users of their own, through its administrator.

use std::sync::Arc;

use super::credentials::Credentials;
use crate::model::{ProjectId, Secret};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;
use crate::openstack::request::{Request, Response};
use crate::openstack::service::Service;
use crate::openstack::session::Session;

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

impl Session {
    /// The domain of stacks' users, where the cloud has one for us.
    pub fn user_domain(&self) -> Option<UserDomain> {
        self.bound.as_ref()?.cloud.user_domain()
    }

    /// The role of stacks' users, where there is a domain for them.
    pub fn stack_user_role(&self) -> Option<&str> {
        self.bound.as_ref()?.cloud.stack_user_role()
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

    /// Makes a call as the domain's administrator. What it changes of a user or a key, or deletes,
    /// opens nothing any more by what Keystone said of it before.
    pub async fn send(&self, request: Request) -> Result<Response, CloudError> {
        let (changes, path) = (!request.method.is_read(), request.path.clone());
        let answer = self.session.send(request).await;
        if let Some((_, id)) = path.rsplit_once('/').filter(|_| changes) {
            self.cloud.forget_signer(id);
        }
        answer
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
