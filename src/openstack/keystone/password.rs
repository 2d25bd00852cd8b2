//! Whose name and password come with a request, for servers whose clients bring no token. Keystone's
//! word is kept for a while, as of tokens; that they are wrong is not kept.

use std::sync::Arc;

use serde_json::{Value, json};

use super::authenticate::token_for;
use super::token::Token;
use super::validate::{Identity, identity};
use super::validations::fingerprint;
use crate::model::{ProjectId, Secret};
use crate::openstack::cloud::Cloud;
use crate::openstack::error::CloudError;

/// A user and what he proves himself with, for work in a project.
pub struct NameAndPassword<'a> {
    pub name: &'a str,
    pub password: &'a Secret<String>,
    pub user_domain_id: &'a str,
    pub project: ProjectNamed<'a>,
}

/// How a project is named.
#[derive(Clone, Copy)]
pub enum ProjectNamed<'a> {
    Id(&'a ProjectId),
    /// In the domain of the user.
    Name(&'a str),
}

impl NameAndPassword<'_> {
    fn request(&self) -> Value {
        let domain = json!({ "id": self.user_domain_id });
        let user = json!({
            "name": self.name,
            "domain": domain,
            "password": self.password.reveal(),
        });
        let project = match self.project {
            ProjectNamed::Id(id) => json!({ "id": id }),
            ProjectNamed::Name(name) => json!({ "name": name, "domain": domain }),
        };
        let identity = json!({ "methods": ["password"], "password": { "user": user } });
        json!({ "auth": { "identity": identity, "scope": { "project": project } } })
    }
}

impl Cloud {
    /// Who he is, and a token of his; [`CloudError::InvalidToken`] where Keystone takes none of it.
    pub async fn logged_in(
        &self,
        given: &NameAndPassword<'_>,
    ) -> Result<(Identity, Secret<String>), CloudError> {
        let request = given.request();
        let key = fingerprint(&Secret::new(request.to_string()));
        let ask = async || {
            token_for(self, request).await.map_err(|error| match error.status() {
                Some(401 | 403 | 404) => CloudError::InvalidToken,
                _ => error,
            })
        };
        let age_max = self.token_cache_time();
        let token: Arc<Token> = self.vouched(self.passwords(), key, age_max, ask).await?;
        Ok((identity(&token), token.text.clone()))
    }
}
