//! What is known of the domain in which stacks have users of their own, before it is asked.

use std::sync::Arc;

use super::credentials::{Credentials, Domain};
use super::login::Login;
use crate::model::Secret;

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
    pub(super) login: Arc<Login>,
    pub(super) role: String,
}

impl From<UserDomainSettings> for Known {
    fn from(settings: UserDomainSettings) -> Self {
        let UserDomainSettings { domain, admin, password, role } = settings;
        let credentials = Credentials::Domain { username: admin, password, domain };
        Self { login: Arc::new(Login::new(credentials)), role }
    }
}
