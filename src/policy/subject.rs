//! What a rule can know of a caller: the credentials that Heat gives to its rules.

use serde_json::{Value, json};

use crate::model::Caller;

/// One credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Credential<'a> {
    Text(&'a str),
    Flag(bool),
    List(&'a [String]),
    /// Known, and not there.
    None,
}

impl Credential<'_> {
    /// Whether it is shown like this; of a list, whether one of its items is.
    pub(super) fn is(self, text: &str) -> bool {
        match self {
            Self::Text(own) => own == text,
            Self::Flag(true) => text == "True",
            Self::Flag(false) => text == "False",
            Self::List(items) => items.iter().any(|item| item == text),
            Self::None => text == "None",
        }
    }

    fn as_json(self) -> Value {
        match self {
            Self::Text(text) => text.into(),
            Self::Flag(flag) => flag.into(),
            Self::List(items) => json!(items),
            Self::None => Value::Null,
        }
    }
}

/// The names of all credentials. Those of a service's own token are never there.
const NAMES: [&str; 16] = [
    "user_id",
    "user_domain_id",
    "system_scope",
    "domain_id",
    "project_id",
    "project_domain_id",
    "roles",
    "is_admin_project",
    "service_user_id",
    "service_user_domain_id",
    "service_project_id",
    "service_project_domain_id",
    "service_roles",
    "user",
    "tenant",
    "is_admin",
];

/// A credential of a caller's, by its name.
pub(super) fn credential<'a>(caller: &'a Caller, name: &str) -> Option<Credential<'a>> {
    let text = |text: &'a str| match text {
        "" => Credential::None,
        text => Credential::Text(text),
    };
    let given = |given: &'a Option<String>| given.as_deref().map_or(Credential::None, text);
    let scope = &caller.scope;
    Some(match name {
        "user_id" | "user" => text(&caller.user_id),
        "project_id" | "tenant" => text(caller.project_id.as_str()),
        "user_domain_id" => given(&scope.user_domain_id),
        "project_domain_id" => given(&scope.project_domain_id),
        "domain_id" => given(&scope.domain_id),
        "system_scope" if scope.is_system => Credential::Text("all"),
        // oslo.policy has it beside the other name, where it is there at all.
        "system" if scope.is_system => Credential::Text("all"),
        "roles" => Credential::List(&caller.roles),
        "is_admin" => Credential::Flag(caller.is_admin()),
        "is_admin_project" => Credential::Flag(caller.is_of_admin_project()),
        _ if NAMES.contains(&name) => Credential::None,
        _ => return None,
    })
}

/// All credentials of a caller's, as another server is told them.
pub(super) fn credentials(caller: &Caller) -> Value {
    NAMES
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), credential(caller, name)?.as_json())))
        .collect()
}
