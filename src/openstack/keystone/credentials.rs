//! What a session proves itself with.

use serde_json::{Value, json};

use crate::model::{ProjectId, Secret};

/// A Keystone domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Domain {
    Id(String),
    Name(String),
}

impl Domain {
    fn reference(&self) -> Value {
        match self {
            Domain::Id(id) => json!({"id": id}),
            Domain::Name(name) => json!({"name": name}),
        }
    }
}

/// The ways to a token.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// A user's name and password, for work in a project.
    Password {
        username: String,
        password: Secret<String>,
        user_domain: Domain,
        project_name: String,
        project_domain: Domain,
    },
    /// The administrator of a domain, for work on the domain itself.
    Domain { username: String, password: Secret<String>, domain: Domain },
    /// A user by his id, for work in a project.
    User { id: String, password: Secret<String>, project: ProjectId },
    /// What a user has written down for others to use: the whole body of the request for a token.
    Given { request: Secret<Value> },
    /// A token that somebody sent; it cannot be renewed.
    Token { token: Secret<String>, project: ProjectId },
    /// A trust in Hearth's own user; the calls are made in the trustor's name.
    Trust { trust: Secret<String>, project: ProjectId },
    /// Nothing: Hearth has no user in the cloud.
    Nothing,
}

/// How Hearth's own user proves itself where a trust is used.
#[derive(Clone, Copy)]
pub(in crate::openstack) enum Proof<'a> {
    /// Always accepted, and slow: hashing a password takes Keystone a quarter of a second.
    Credentials(&'a Credentials),
    /// Quick, where Keystone lets a token be traded for another.
    Token(&'a Secret<String>),
}

impl Credentials {
    /// The body of `POST /v3/auth/tokens`. `own` says who Hearth is, which a trust is used with.
    /// `None` for a token, which is its own proof, and for nothing.
    pub(in crate::openstack) fn auth_request(&self, own: Proof<'_>) -> Option<Value> {
        match self {
            Credentials::Token { .. } | Credentials::Nothing => None,
            Credentials::Trust { trust, .. } => {
                let identity = match own {
                    Proof::Credentials(credentials) => credentials.identity()?,
                    Proof::Token(token) => {
                        json!({"methods": ["token"], "token": {"id": token.reveal()}})
                    }
                };
                let scope = json!({"OS-TRUST:trust": {"id": trust.reveal()}});
                Some(json!({"auth": {"identity": identity, "scope": scope}}))
            }
            Credentials::Given { request } => Some(request.reveal().clone()),
            Credentials::Domain { domain, .. } => {
                let scope = json!({"domain": domain.reference()});
                Some(json!({"auth": {"identity": self.identity()?, "scope": scope}}))
            }
            Credentials::User { project, .. } => {
                let scope = json!({"project": {"id": project}});
                Some(json!({"auth": {"identity": self.identity()?, "scope": scope}}))
            }
            Credentials::Password { project_name, project_domain, .. } => {
                let scope = json!({"project": {"name": project_name, "domain": project_domain.reference()}});
                Some(json!({"auth": {"identity": self.identity()?, "scope": scope}}))
            }
        }
    }

    /// Whether a lost or expired token can be replaced by a new one.
    pub(in crate::openstack) fn renewable(&self) -> bool {
        !matches!(self, Credentials::Token { .. })
    }

    fn identity(&self) -> Option<Value> {
        match self {
            Credentials::Password { username, password, user_domain, .. } => Some(json!({
                "methods": ["password"],
                "password": {"user": {
                    "name": username,
                    "domain": user_domain.reference(),
                    "password": password.reveal(),
                }},
            })),
            Credentials::Domain { username, password, domain } => Some(json!({
                "methods": ["password"],
                "password": {"user": {
                    "name": username,
                    "domain": domain.reference(),
                    "password": password.reveal(),
                }},
            })),
            Credentials::User { id, password, .. } => Some(json!({
                "methods": ["password"],
                "password": {"user": {"id": id, "password": password.reveal()}},
            })),
            Credentials::Given { .. }
            | Credentials::Token { .. }
            | Credentials::Trust { .. }
            | Credentials::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service() -> Credentials {
        Credentials::Password {
            username: "heat".to_owned(),
            password: Secret::new("hunter2".to_owned()),
            user_domain: Domain::Name("Default".to_owned()),
            project_name: "service".to_owned(),
            project_domain: Domain::Id("default".to_owned()),
        }
    }

    #[test]
    fn a_trust_is_used_with_hearths_own_proof() {
        let trust = Credentials::Trust { trust: Secret::new("t1".to_owned()), project: "p".into() };
        let body = trust.auth_request(Proof::Credentials(&service())).unwrap();
        assert_eq!(body["auth"]["scope"], json!({"OS-TRUST:trust": {"id": "t1"}}));
        assert_eq!(body["auth"]["identity"]["password"]["user"]["name"], "heat");
        let own = Secret::new("own".to_owned());
        let body = trust.auth_request(Proof::Token(&own)).unwrap();
        assert_eq!(body["auth"]["identity"]["token"], json!({"id": "own"}));
    }

    #[test]
    fn a_password_asks_for_its_project() {
        let body = service().auth_request(Proof::Credentials(&service())).unwrap();
        let project = &body["auth"]["scope"]["project"];
        assert_eq!(*project, json!({"name": "service", "domain": {"id": "default"}}));
        assert!(!format!("{:?}", service()).contains("hunter2"));
    }
}
