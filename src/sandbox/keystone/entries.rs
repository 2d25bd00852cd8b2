//! Domains, projects, users and roles: how they are made, changed and shown.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::store::Table;
use super::refer::refer;
use super::{Domain, Keystone, Project, Role, SYSTEM, User, not_found};
use crate::model::JsonMap;

/// A kind of rows that are changed as JSON.
pub(super) trait Entry: Clone + Serialize + DeserializeOwned {
    const SINGULAR: &'static str;

    fn table(keystone: &mut Keystone) -> &mut Table<Self>;

    /// A new one of which nothing is said.
    fn unset() -> Value;

    fn view(&self, ask: &Ask) -> Value;

    /// What a change may not do.
    fn refuse(_change: &JsonMap) -> Result<(), Answer> {
        Ok(())
    }
}

/// Makes one.
pub(super) fn create<T: Entry>(cloud: &mut Cloud, ask: &Ask) -> Reply {
    let mut row = JsonMap::new();
    row.set("id", cloud.fresh_hex());
    store::<T>(cloud, ask, row, 201)
}

/// Changes one.
pub(super) fn change<T: Entry>(cloud: &mut Cloud, ask: &Ask, id: &str) -> Reply {
    let old = T::table(&mut cloud.keystone).get(id).ok_or_else(|| not_found(T::SINGULAR, id))?;
    let Ok(Value::Object(row)) = serde_json::to_value(old) else {
        return Err(not_found(T::SINGULAR, id));
    };
    T::refuse(&ask.wrapped(T::SINGULAR, answer::keystone)?)?;
    store::<T>(cloud, ask, row, 200)
}

fn store<T: Entry>(cloud: &mut Cloud, ask: &Ask, mut row: JsonMap, status: u16) -> Reply {
    let mut given = ask.wrapped(T::SINGULAR, answer::keystone)?;
    let invalid = |text: String| answer::keystone(400, text);
    let unset = T::unset();
    for (key, value) in unset.as_object().into_iter().flatten() {
        let standing = row.get(key).cloned();
        let said = given.remove(key).filter(|said| !said.is_null());
        row.insert(key.clone(), said.or(standing).unwrap_or_else(|| value.clone()));
    }
    if row.text("name").is_empty() {
        return Err(invalid("name is a required property".to_owned()));
    }
    for (field, kind) in [("domain_id", "domain"), ("parent_id", "project")] {
        match row.text(field) {
            "" => {}
            // The topmost projects are their domain's children.
            id if field == "parent_id" && id == row.text("domain_id") => {}
            id => refer(cloud, kind, id)?,
        }
    }
    let entry: T = serde_json::from_value(Value::Object(row.clone()))
        .map_err(|error| invalid(error.to_string()))?;
    let is_alike = |other: &T| {
        let other = serde_json::to_value(other).unwrap_or_default();
        ["name", "domain_id"].iter().all(|key| other.get(*key) == row.get(*key))
            && other.get("id") != row.get("id")
    };
    let table = T::table(&mut cloud.keystone);
    if table.values().any(is_alike) {
        let (kind, name) = (T::SINGULAR, row.text("name"));
        return Err(answer::keystone(
            409,
            format!(
                "Conflict occurred attempting to store {kind} - Duplicate entry found with name {name}."
            ),
        ));
    }
    table.insert(row.text("id"), entry.clone());
    Ok(Answer::json(status, &json!({T::SINGULAR: entry.view(ask)})))
}

pub(super) fn link(ask: &Ask, collection: &str, id: &str) -> Value {
    json!({"self": format!("{}/v3/{collection}/{id}", ask.base)})
}

impl Entry for Domain {
    const SINGULAR: &'static str = "domain";

    fn table(keystone: &mut Keystone) -> &mut Table<Self> {
        &mut keystone.domains
    }

    fn unset() -> Value {
        json!({"name": "", "description": "", "enabled": true})
    }

    fn view(&self, ask: &Ask) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "enabled": self.enabled,
            "tags": [],
            "options": {},
            "links": link(ask, "domains", &self.id),
        })
    }
}

impl Entry for Project {
    const SINGULAR: &'static str = "project";

    fn table(keystone: &mut Keystone) -> &mut Table<Self> {
        &mut keystone.projects
    }

    fn unset() -> Value {
        json!({
            "name": "", "description": "", "enabled": true, "domain_id": "default",
            "parent_id": null, "tags": [],
        })
    }

    fn view(&self, ask: &Ask) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "domain_id": self.domain_id,
            "parent_id": self.parent_id.as_ref().unwrap_or(&self.domain_id),
            "description": self.description,
            "enabled": self.enabled,
            "is_domain": false,
            "tags": self.tags,
            "options": {},
            "links": link(ask, "projects", &self.id),
        })
    }

    fn refuse(change: &JsonMap) -> Result<(), Answer> {
        match change.get("parent_id").is_some() {
            true => {
                let text = "Update of `parent_id` is not allowed.";
                Err(super::forbidden(text))
            }
            false => Ok(()),
        }
    }
}

impl Entry for User {
    const SINGULAR: &'static str = "user";

    fn table(keystone: &mut Keystone) -> &mut Table<Self> {
        &mut keystone.users
    }

    fn unset() -> Value {
        json!({
            "name": "", "description": "", "enabled": true, "domain_id": "default",
            "password": "", "email": null, "default_project_id": null,
        })
    }

    fn view(&self, ask: &Ask) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "domain_id": self.domain_id,
            "email": self.email,
            "description": self.description,
            "default_project_id": self.default_project_id,
            "enabled": self.enabled,
            "password_expires_at": null,
            "options": {},
            "links": link(ask, "users", &self.id),
        })
    }
}

impl Entry for Role {
    const SINGULAR: &'static str = "role";

    fn table(keystone: &mut Keystone) -> &mut Table<Self> {
        &mut keystone.roles
    }

    fn unset() -> Value {
        json!({"name": "", "domain_id": null, "description": null})
    }

    fn view(&self, ask: &Ask) -> Value {
        json!({
            "id": self.id,
            "name": self.name,
            "domain_id": self.domain_id,
            "description": self.description,
            "options": {},
            "links": link(ask, "roles", &self.id),
        })
    }
}

/// What one object of a collection is called.
pub(super) fn singular(collection: &str) -> &str {
    match collection {
        SYSTEM => SYSTEM,
        _ => collection.strip_suffix('s').unwrap_or(collection),
    }
}
