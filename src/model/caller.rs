//! Who asks: the identity behind a token, as it is kept with every event.

use serde::{Deserialize, Serialize};

use super::id::ProjectId;

/// The identity that Keystone gives for a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    pub user_id: String,
    pub user_name: String,
    /// Empty where the token is for a domain, the system or nothing.
    pub project_id: ProjectId,
    pub project_name: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roles: Vec<String>,
    /// What the token is for. Callers of older logs came for their project.
    #[serde(default, skip_serializing_if = "Scope::is_plain")]
    pub scope: Scope,
    /// An administrator of the cloud, by the operator's rule `context_is_admin` when the token was
    /// checked. Callers of older logs are none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub admin: bool,
}

impl Caller {
    /// An administrator of the cloud: he sees every project's stacks, and limits do not bind him.
    pub fn is_admin(&self) -> bool {
        self.admin
    }

    /// Whether he speaks for the cloud's administration as far as Keystone says: it is silent
    /// where it has no admin project, and then each project is one. A domain never is.
    pub fn is_of_admin_project(&self) -> bool {
        let has_place = self.scope.is_system || !self.project_id.as_str().is_empty();
        self.scope.is_admin_project.unwrap_or(has_place)
    }
}

/// What a token is for besides its project.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The domain that it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain_id: Option<String>,
    /// It is for the whole cloud.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_system: bool,
    /// Whether its project is Keystone's admin project, where Keystone has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_admin_project: Option<bool>,
    /// The user's domain and the project's: for rules, while the request lasts.
    #[serde(skip)]
    pub user_domain_id: Option<String>,
    #[serde(skip)]
    pub project_domain_id: Option<String>,
}

impl Scope {
    /// Whether there is nothing to keep of it.
    fn is_plain(&self) -> bool {
        self.domain_id.is_none() && !self.is_system && self.is_admin_project.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_of_an_older_log_came_for_his_project_and_is_no_administrator() {
        let older = r#"{"user_id":"u","user_name":"n","project_id":"p","project_name":"q",
                        "roles":["admin"]}"#;
        let caller: Caller = serde_json::from_str(older).unwrap();
        assert_eq!(caller.scope, Scope::default());
        assert!(!caller.is_admin());
        let written = serde_json::to_string(&caller).unwrap();
        assert_eq!(written, older.split_whitespace().collect::<String>());
    }
}
