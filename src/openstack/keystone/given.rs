//! Credentials that a user has written down for another cloud, in the form of keystoneauth: the
//! name of a plug-in and its options. What is wrong with them is said in that library's words.

use serde_json::{Value, json};

use super::credentials::Credentials;
use crate::model::python::{is_truthy, type_name};
use crate::model::{JsonMap, Secret};
use crate::openstack::error::CloudError;

/// Where a token is asked for, and with what.
pub struct Given {
    pub auth_url: String,
    pub credentials: Credentials,
}

/// A plug-in: its name, and how errors call its class and the module of that.
struct Plugin {
    name: &'static str,
    class: &'static str,
    module: &'static str,
    /// Options besides those of every plug-in.
    options: &'static [&'static str],
}

const PLUGINS: [Plugin; 3] = [
    Plugin {
        name: "v3applicationcredential",
        class: "ApplicationCredential",
        module: "v3",
        options: &[
            "application_credential_id",
            "application_credential_name",
            "application_credential_secret",
            "include_catalog",
            "unscoped",
        ],
    },
    Plugin {
        name: "v3password",
        class: "Password",
        module: "v3",
        options: &["include_catalog", "password", "unscoped"],
    },
    Plugin {
        name: "password",
        class: "Password",
        module: "generic",
        options: &[
            "default_domain_id",
            "default_domain_name",
            "password",
            "tenant_id",
            "tenant_name",
        ],
    },
];

/// The options of every plug-in.
const COMMON: [&str; 14] = [
    "auth_url",
    "domain_id",
    "domain_name",
    "project_domain_id",
    "project_domain_name",
    "project_id",
    "project_name",
    "reauthenticate",
    "system_scope",
    "trust_id",
    "user_domain_id",
    "user_domain_name",
    "user_id",
    "username",
];

impl Given {
    /// Reads the JSON of a secret.
    pub fn read(payload: &str) -> Result<Self, CloudError> {
        let credential: Value = serde_json::from_str(payload).map_err(|_| {
            let text = "Failed to parse credential, please check your Stack Credential format.";
            wrong("ValueError", text)
        })?;
        for key in ["auth_type", "auth"] {
            let is_there = match &credential {
                Value::Object(map) => map.contains_key(key),
                Value::Array(list) => list.iter().any(|it| it == key),
                Value::String(text) => text.contains(key),
                Value::Null | Value::Bool(_) | Value::Number(_) => {
                    let text =
                        format!("argument of type '{}' is not iterable", type_name(&credential));
                    return Err(wrong("TypeError", text));
                }
            };
            if !is_there {
                let text = "Missing key in auth information, the correct format contains \
                            ['auth_type', 'auth'].";
                return Err(wrong("ValueError", text));
            }
        }
        let Value::Object(credential) = &credential else {
            let text = format!("'{}' object has no attribute 'get'", type_name(&credential));
            return Err(wrong("AttributeError", text));
        };
        let plugin = plugin(&credential["auth_type"])?;
        let Value::Object(options) = &credential["auth"] else {
            let Plugin { class, module, .. } = plugin;
            let text = format!(
                "keystoneauth1.loading._plugins.identity.{module}.{class}.load_from_options() \
                 argument after ** must be a mapping, not {}",
                type_name(&credential["auth"])
            );
            return Err(wrong("TypeError", text));
        };
        plugin.check(options)?;
        let options = Options { plugin, given: options };
        Ok(Self {
            auth_url: options.auth_url()?,
            credentials: Credentials::Given { request: Secret::new(options.request()?) },
        })
    }
}

fn plugin(name: &Value) -> Result<&'static Plugin, CloudError> {
    let Value::String(name) = name else {
        let text = format!("sequence item 0: expected str instance, {} found", type_name(name));
        return Err(wrong("TypeError", text));
    };
    let found = PLUGINS.iter().find(|plugin| plugin.name == name);
    let unknown = || wrong("NoMatchingPlugin", format!("The plugin {name} could not be found"));
    found.ok_or_else(unknown)
}

impl Plugin {
    /// What the library refuses before it asks for a token.
    fn check(&self, options: &JsonMap) -> Result<(), CloudError> {
        let has = |key: &str| options.get(key).is_some_and(is_truthy);
        let is_v3 = self.module == "v3";
        if is_v3 && has("username") && !has("user_domain_name") && !has("user_domain_id") {
            let text = "You have provided a username. In the V3 identity API a username is only \
                        unique within a domain so you must also provide either a user_domain_id \
                        or user_domain_name.";
            return Err(wrong("OptionError", text));
        }
        if self.takes("application_credential_id") {
            if !has("application_credential_id") && !has("application_credential_name") {
                let text = "You must provide either an application credential ID or an \
                            application credential name and user.";
                return Err(wrong("OptionError", text));
            }
            if !has("application_credential_secret") {
                return Err(wrong("OptionError", "You must provide an auth secret."));
            }
        }
        if is_v3 && has("project_name") && !has("project_domain_name") && !has("project_domain_id")
        {
            let text = "You have provided a project_name. In the V3 identity API a project_name \
                        is only unique within a domain so you must also provide either a \
                        project_domain_id or project_domain_name.";
            return Err(wrong("OptionError", text));
        }
        if options.get("auth_url").is_none_or(Value::is_null) {
            let text = "Auth plugin requires parameters which were not given: auth_url";
            return Err(wrong("MissingRequiredOptions", text));
        }
        if let Some(unknown) = options.keys().find(|key| !self.takes(key)) {
            let text =
                format!("{}.__init__() got an unexpected keyword argument '{unknown}'", self.class);
            return Err(wrong("TypeError", text));
        }
        if self.name == "v3password" && !options.contains_key("password") {
            let text = "Password.__init__() missing 1 required positional argument: 'password'";
            return Err(wrong("TypeError", text));
        }
        Ok(())
    }

    fn takes(&self, option: &str) -> bool {
        COMMON.contains(&option) || self.options.contains(&option)
    }
}

/// The options of a plug-in that was found to take them.
struct Options<'a> {
    plugin: &'a Plugin,
    given: &'a JsonMap,
}

impl Options<'_> {
    fn value(&self, key: &str) -> Value {
        self.given.get(key).cloned().unwrap_or_default()
    }

    /// The first of these options that is set.
    fn first(&self, keys: &[&str]) -> Option<&Value> {
        keys.iter().find_map(|key| self.given.get(*key).filter(|value| is_truthy(value)))
    }

    fn auth_url(&self) -> Result<String, CloudError> {
        let url = self.given.get("auth_url").and_then(Value::as_str).unwrap_or_default();
        let has_host = url.split_once("://").is_some_and(|(_, rest)| !rest.is_empty());
        let nowhere = || refused("Could not find requested endpoint in Service Catalog.", false);
        has_host.then(|| url.to_owned()).ok_or_else(nowhere)
    }

    /// The body of the request for a token.
    fn request(&self) -> Result<Value, CloudError> {
        let identity = if self.plugin.takes("application_credential_id") {
            json!({
                "methods": ["application_credential"],
                "application_credential": self.application_credential(),
            })
        } else {
            if self.given.get("password").is_none_or(Value::is_null) && self.is_generic() {
                return Err(refused("password is a required attribute", false));
            }
            let mut user = self.user();
            user.insert("password".to_owned(), self.value("password"));
            json!({ "methods": ["password"], "password": { "user": user } })
        };
        let mut auth = JsonMap::new();
        auth.insert("identity".to_owned(), identity);
        if let Some(scope) = self.scope()? {
            auth.insert("scope".to_owned(), scope);
        }
        Ok(json!({ "auth": auth }))
    }

    fn is_generic(&self) -> bool {
        self.plugin.module == "generic"
    }

    fn application_credential(&self) -> JsonMap {
        let mut credential = JsonMap::new();
        let secret = self.value("application_credential_secret");
        credential.insert("secret".to_owned(), secret);
        match self.first(&["application_credential_id"]) {
            Some(id) => credential.insert("id".to_owned(), id.clone()),
            None => {
                let name = self.value("application_credential_name");
                credential.insert("name".to_owned(), name);
                credential.insert("user".to_owned(), self.user().into())
            }
        };
        credential
    }

    fn user(&self) -> JsonMap {
        let mut user = JsonMap::new();
        if let Some(id) = self.first(&["user_id"]) {
            user.insert("id".to_owned(), id.clone());
        } else if let Some(name) = self.first(&["username"]) {
            user.insert("name".to_owned(), name.clone());
            user.extend(self.domain("user"));
        }
        user
    }

    /// `domain: {id}` or `{name}` of a user or project.
    fn domain(&self, of: &str) -> Option<(String, Value)> {
        let by = |key: &str| {
            let own = format!("{of}_domain_{key}");
            let default = format!("default_domain_{key}");
            let domain = self.first(&[&own, &default])?;
            Some(("domain".to_owned(), json!({ key: domain })))
        };
        by("id").or_else(|| by("name"))
    }

    fn scope(&self) -> Result<Option<Value>, CloudError> {
        let domain = self.first(&["domain_id"]).map(|id| json!({ "id": id }));
        let domain =
            domain.or_else(|| self.first(&["domain_name"]).map(|name| json!({ "name": name })));
        let project = self.first(&["project_id", "tenant_id"]).map(|id| json!({ "id": id }));
        let project = project.or_else(|| {
            let mut project = JsonMap::new();
            let name = self.first(&["project_name", "tenant_name"])?;
            project.insert("name".to_owned(), name.clone());
            project.extend(self.domain("project"));
            Some(project.into())
        });
        let system = match self.first(&["system_scope"]) {
            Some(scope) if scope == "all" => Some(json!({ "system": { "all": true } })),
            Some(_) => {
                let text = "Invalid system scope, only \"all\" is supported";
                return Err(refused(text, false));
            }
            None => None,
        };
        let trust = self.first(&["trust_id"]).map(|id| json!({ "OS-TRUST:trust": { "id": id } }));
        let scopes = [
            domain.map(|domain| json!({ "domain": domain })),
            project.map(|project| json!({ "project": project })),
            trust,
            self.first(&["unscoped"]).map(|_| json!("unscoped")),
            system,
        ];
        let mut scopes = scopes.into_iter().flatten();
        let scope = scopes.next();
        if scopes.next().is_some() {
            let text = "Authentication cannot be scoped to multiple targets. Pick one of: \
                        project, domain, trust, system or unscoped";
            return Err(refused(text, false));
        }
        Ok(scope)
    }
}

/// Why no token is got. Whatever another Keystone says is about the credential, and not about what
/// the token was wanted for.
pub(super) fn refused(why: &str, is_transient: bool) -> CloudError {
    let text = format!(
        "Authorization failed. Failed to validate auth_plugin with error {why}. Please make sure \
         the credential you provide is correct. Also make sure the it is a valid Keystone auth \
         plugin type and contain in your environment."
    );
    CloudError::Credential { class: "AuthorizationFailure".into(), message: text, is_transient }
}

fn wrong(class: &'static str, message: impl Into<String>) -> CloudError {
    CloudError::Credential { class: class.into(), message: message.into(), is_transient: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::openstack::keystone::credentials::Proof;

    fn request(auth_type: &str, auth: Value) -> Value {
        let given = Given::read(&json!({ "auth_type": auth_type, "auth": auth }).to_string());
        let Ok(Given { credentials, .. }) = given else { panic!("it is refused") };
        credentials.auth_request(Proof::Credentials(&credentials)).unwrap()["auth"].clone()
    }

    #[test]
    fn an_application_credential_brings_its_own_project() {
        let asked = request(
            "v3applicationcredential",
            json!({
                "auth_url": "http://h:5000/v3",
                "application_credential_name": "mine", "username": "demo",
                "user_domain_name": "Default", "application_credential_secret": "s",
            }),
        );
        assert_eq!(
            asked,
            json!({ "identity": {
                "methods": ["application_credential"],
                "application_credential": { "secret": "s", "name": "mine",
                    "user": { "name": "demo", "domain": { "name": "Default" } } },
            } })
        );
    }

    #[test]
    fn a_password_asks_for_the_scope_that_is_named() {
        let asked = |plugin: &str, more: Value| {
            let mut auth = json!({ "auth_url": "http://h", "user_id": "u", "password": "p" });
            auth.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
            request(plugin, auth)["scope"].clone()
        };
        let project = json!({ "project_name": "web", "default_domain_id": "d" });
        assert_eq!(
            asked("password", project),
            json!({ "project": { "name": "web", "domain": { "id": "d" } } })
        );
        assert_eq!(
            asked("v3password", json!({ "trust_id": "t" })),
            json!({ "OS-TRUST:trust": { "id": "t" } })
        );
        assert_eq!(asked("v3password", json!({ "unscoped": true })), json!("unscoped"));
        assert_eq!(asked("v3password", json!({})), Value::Null);
    }
}
