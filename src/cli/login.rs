//! Who signs in, where a subcommand asks the API: as the openstack client finds it out, from a
//! cloud of `clouds.yaml` that `--os-cloud` or `OS_CLOUD` names, or from the `OS_…` variables. What
//! none of them says is the embedded sandbox's.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::sandbox::PASSWORD as SANDBOX_PASSWORD;

/// Where to sign in, as whom, and how the service is reached afterwards.
#[derive(Clone)]
pub(super) struct LoginFound {
    pub auth_url: String,
    /// What Keystone is shown: the `auth` of a request for a token. It holds a password.
    pub auth: Value,
    pub region: Option<String>,
    pub interface: String,
    pub ca_file: Option<PathBuf>,
    /// A certificate of the user's and its key, which may stand in the same file.
    pub cert_file: Option<PathBuf>,
    pub key_file: Option<PathBuf>,
    pub insecure: bool,
}

/// Why a cloud's settings cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    #[error("no clouds.yaml has a cloud {0:?}")]
    NoCloud(String),
    #[error("{path} cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
}

impl LoginFound {
    /// A user of a sandbox, in the project of the same name.
    pub(super) fn of_sandbox(auth_url: &str, user: &str) -> LoginFound {
        let cloud = json!({ "auth": {
            "auth_url": auth_url, "username": user, "project_name": user } });
        merge(&cloud, |_| None)
    }
}

/// Looks at the cloud that is named, at the environment, and at the files that it names.
pub(super) fn find(cloud: Option<&str>) -> Result<LoginFound, LoginError> {
    let variables = variables();
    let variable = |name: &str| variables.get(name).cloned();
    let cloud = match cloud.map(str::to_owned).or_else(|| variable("OS_CLOUD")) {
        None => Value::Null,
        Some(cloud) => of_cloud(&cloud, variable)?,
    };
    Ok(merge(&cloud, variable))
}

/// Whether the environment says where to sign in.
pub(super) fn is_in_environment() -> bool {
    let variables = variables();
    variables.contains_key("OS_CLOUD") || variables.contains_key("OS_AUTH_URL")
}

/// A variable of the environment that is not empty.
pub(super) fn variable(name: &str) -> Option<String> {
    variables().remove(name)
}

fn variables() -> HashMap<String, String> {
    let texts = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    texts.filter(|(_, text)| !text.is_empty()).collect()
}

fn merge(cloud: &Value, variable: impl Fn(&str) -> Option<String>) -> LoginFound {
    let named = |key: &str| variable(&format!("OS_{}", key.to_uppercase()));
    let of_auth = |key: &str| cloud["auth"][key].as_str().map(str::to_owned).or_else(|| named(key));
    let of_cloud = |key: &str| cloud[key].as_str().map(str::to_owned).or_else(|| named(key));
    let domain = |of: &str| {
        let name = of_auth(&format!("{of}_name")).or_else(|| of_auth("default_domain"));
        match of_auth(&format!("{of}_id")) {
            Some(id) => json!({ "id": id }),
            None => json!({ "name": name.unwrap_or_else(|| "Default".to_owned()) }),
        }
    };
    let password = of_auth("password").unwrap_or_else(|| SANDBOX_PASSWORD.to_owned());
    let user = || match of_auth("user_id") {
        Some(id) => json!({ "id": id, "password": password }),
        None => json!({ "name": of_auth("username").unwrap_or_else(|| "demo".to_owned()),
                        "domain": domain("user_domain"), "password": password }),
    };
    let project = || match of_auth("project_id") {
        Some(id) => json!({ "id": id }),
        None => json!({ "name": of_auth("project_name").unwrap_or_else(|| "demo".to_owned()),
                        "domain": domain("project_domain") }),
    };
    let auth = match (of_auth("application_credential_id"), of_auth("token")) {
        (Some(id), _) => json!({ "identity": { "methods": ["application_credential"],
            "application_credential": { "id": id,
                "secret": of_auth("application_credential_secret") } } }),
        (None, Some(token)) => json!({ "identity": { "methods": ["token"],
            "token": { "id": token } }, "scope": { "project": project() } }),
        (None, None) => json!({ "identity": { "methods": ["password"],
            "password": { "user": user() } }, "scope": { "project": project() } }),
    };
    let auth_url = of_auth("auth_url").unwrap_or_else(|| "http://127.0.0.1:5000/v3".to_owned());
    let is_true = |text: String| matches!(text.to_lowercase().as_str(), "1" | "true" | "yes");
    LoginFound {
        auth_url: versioned(&auth_url),
        auth,
        region: of_cloud("region_name"),
        interface: of_cloud("interface").unwrap_or_else(|| "public".to_owned()),
        ca_file: of_cloud("cacert").map(PathBuf::from),
        cert_file: of_cloud("cert").map(PathBuf::from),
        key_file: of_cloud("key").map(PathBuf::from),
        insecure: cloud["verify"] == false || named("insecure").is_some_and(is_true),
    }
}

/// Keystone's address as the client takes it, with or without its version.
fn versioned(auth_url: &str) -> String {
    let auth_url = auth_url.trim_end_matches('/');
    match auth_url.ends_with("/v3") {
        true => auth_url.to_owned(),
        false => format!("{auth_url}/v3"),
    }
}

/// A cloud's settings, from the first file that there is, in the client's order.
fn of_cloud(cloud: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Value, LoginError> {
    let named = variable("OS_CLIENT_CONFIG_FILE").map(PathBuf::from);
    let home =
        variable("HOME").map(|home| PathBuf::from(home).join(".config/openstack/clouds.yaml"));
    let places =
        [named, Some("clouds.yaml".into()), home, Some("/etc/openstack/clouds.yaml".into())];
    let missing = || LoginError::NoCloud(cloud.to_owned());
    let path = places.into_iter().flatten().find(|path| path.is_file()).ok_or_else(missing)?;
    cloud_in(&path, cloud)
}

/// A user of the clouds that a file has, whatever the environment says.
pub(super) fn in_file(path: &Path, cloud: &str) -> Result<LoginFound, LoginError> {
    Ok(merge(&cloud_in(path, cloud)?, |_| None))
}

fn cloud_in(path: &Path, cloud: &str) -> Result<Value, LoginError> {
    let unreadable =
        |reason: String| LoginError::Unreadable { path: path.display().to_string(), reason };
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    let clouds: Value =
        serde_yaml::from_str(&text).map_err(|error| unreadable(error.to_string()))?;
    match clouds["clouds"][cloud].clone() {
        Value::Null => Err(LoginError::NoCloud(cloud.to_owned())),
        cloud => Ok(cloud),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cloud_comes_before_the_environment_and_that_before_the_sandbox() {
        let cloud = json!({ "auth": { "auth_url": "http://cloud", "username": "ada" } });
        let found = merge(&cloud, |name| {
            (name == "OS_USERNAME" || name == "OS_PROJECT_NAME").then(|| "given".to_owned())
        });
        assert_eq!(found.auth_url, "http://cloud/v3");
        let user = &found.auth["identity"]["password"]["user"];
        assert_eq!((&user["name"], &user["domain"]["name"]), (&json!("ada"), &json!("Default")));
        assert_eq!(found.auth["scope"]["project"]["name"], "given");
    }

    #[test]
    fn ids_and_application_credentials_need_no_names() {
        let cloud = json!({ "auth": { "user_id": "u", "project_id": "p", "password": "s" },
                            "region_name": "two", "verify": false });
        let found = merge(&cloud, |_| None);
        assert_eq!(found.auth["identity"]["password"]["user"]["id"], "u");
        assert_eq!(found.auth["scope"]["project"], json!({ "id": "p" }));
        assert_eq!((found.region.as_deref(), found.insecure), (Some("two"), true));
        let cloud = json!({ "auth": { "application_credential_id": "a",
                                      "application_credential_secret": "s" } });
        let found = merge(&cloud, |_| None);
        assert_eq!(found.auth["identity"]["methods"], json!(["application_credential"]));
        assert_eq!(found.auth["scope"], Value::Null);
    }
}
