//! Who signs in, where a subcommand asks the API: as the openstack client finds it out, from a
//! cloud of `clouds.yaml` that `OS_CLOUD` names, or from the `OS_…` variables. What neither says
//! is the embedded sandbox's.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use crate::sandbox::PASSWORD as SANDBOX_PASSWORD;

/// A user, a project, and where they sign in.
#[derive(Debug, PartialEq)]
pub(super) struct LoginFound {
    pub auth_url: String,
    pub user: String,
    pub project: String,
    pub password: String,
    pub user_domain: String,
    pub project_domain: String,
}

/// Why a cloud's settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    #[error("no clouds.yaml has a cloud {0:?}")]
    NoCloud(String),
    #[error("{path} cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
}

/// Looks at the environment, and at the files that it names.
pub(super) fn find() -> Result<LoginFound, LoginError> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let variables: HashMap<String, String> = texts.filter(|(_, text)| !text.is_empty()).collect();
    let variable = |name: &str| variables.get(name).cloned();
    let auth = match variable("OS_CLOUD") {
        None => Value::Null,
        Some(cloud) => of_cloud(&cloud, variable)?,
    };
    Ok(merge(&auth, variable))
}

fn merge(auth: &Value, variable: impl Fn(&str) -> Option<String>) -> LoginFound {
    let setting = |key: &str, default: &str| {
        let given = auth[key].as_str().map(str::to_owned);
        let named = || variable(&format!("OS_{}", key.to_uppercase()));
        given.or_else(named).unwrap_or_else(|| default.to_owned())
    };
    LoginFound {
        auth_url: setting("auth_url", "http://127.0.0.1:5000/v3"),
        user: setting("username", "demo"),
        project: setting("project_name", "demo"),
        password: setting("password", SANDBOX_PASSWORD),
        user_domain: setting("user_domain_name", "Default"),
        project_domain: setting("project_domain_name", "Default"),
    }
}

/// The `auth` of a cloud, from the first file that there is, in the client's order.
fn of_cloud(cloud: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Value, LoginError> {
    let named = variable("OS_CLIENT_CONFIG_FILE").map(PathBuf::from);
    let home =
        variable("HOME").map(|home| PathBuf::from(home).join(".config/openstack/clouds.yaml"));
    let places =
        [named, Some("clouds.yaml".into()), home, Some("/etc/openstack/clouds.yaml".into())];
    let missing = || LoginError::NoCloud(cloud.to_owned());
    let path = places.into_iter().flatten().find(|path| path.is_file()).ok_or_else(missing)?;
    let unreadable =
        |reason: String| LoginError::Unreadable { path: path.display().to_string(), reason };
    let text = std::fs::read_to_string(&path).map_err(|error| unreadable(error.to_string()))?;
    let clouds: Value =
        serde_yaml::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    match clouds["clouds"][cloud]["auth"].clone() {
        Value::Null => Err(missing()),
        auth => Ok(auth),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cloud_comes_before_the_environment_and_that_before_the_sandbox() {
        let auth = json!({ "auth_url": "http://cloud/v3", "username": "ada" });
        let found = merge(&auth, |name| {
            (name == "OS_USERNAME" || name == "OS_PROJECT_NAME").then(|| "given".to_owned())
        });
        assert_eq!(found.auth_url, "http://cloud/v3");
        assert_eq!((found.user.as_str(), found.project.as_str()), ("ada", "given"));
        assert_eq!(found.user_domain, "Default");
    }
}
