//! Trove's API v1.0: instances and clusters are collections, and here are what an instance has beside
//! itself, its databases and users, and what Nova knows, the flavors:
//! <https://docs.openstack.org/api-ref/database/>

use serde_json::{Value, json};

use super::answer::{self, Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::collections::{self, Rules};
use super::doc::Doc;
use super::keystone::{self, Scope};
use super::nova;
use crate::model::JsonMap;

const SERVICE: &str = "database";
const INSTANCE: (&str, &str) = (SERVICE, "instance");
const VERSION: &str = "v1.0";

/// The versions of each kind of database.
const DATASTORES: [(&str, &[&str]); 2] = [("mysql", &["5.7", "8.0"]), ("mongodb", &["4.2"])];

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    match path {
        [VERSION, _, "flavors", rest @ ..] => {
            nova::answer(cloud, ask, &[&["v2.1", "flavors"], rest].concat())
        }
        [VERSION, _, "datastores", kind, "versions"] => versions(kind),
        [VERSION, _, "instances", id, first, rest @ ..] => {
            let scope = keystone::scope(cloud, ask)?;
            part(cloud, ask, &scope, id, &[&[*first], rest].concat())
        }
        [VERSION, _, rest @ ..] => plain(cloud, ask, &[&[VERSION], rest].concat()),
        path => plain(cloud, ask, path),
    }
}

fn plain(cloud: &mut Cloud, ask: &Ask, path: &[&str]) -> Reply {
    collections::service(cloud, ask, SERVICE, path).unwrap_or_else(|| Err(nowhere()))
}

fn nowhere() -> Answer {
    answer::nova(404, "The resource could not be found.")
}

fn versions(kind: &str) -> Reply {
    let known = DATASTORES.iter().find(|(name, _)| *name == kind);
    let (_, versions) = known.ok_or_else(|| missing("Datastore", kind))?;
    let versions: Vec<Value> =
        versions.iter().map(|name| json!({ "id": name, "name": name, "active": 1 })).collect();
    Ok(Answer::json(200, &json!({ "versions": versions })))
}

fn missing(what: &str, name: &str) -> Answer {
    answer::nova(404, format!("{what} {name} cannot be found."))
}

/// What belongs to an instance.
fn part(cloud: &mut Cloud, ask: &Ask, scope: &Scope, id: &str, path: &[&str]) -> Reply {
    let mut row = collections::seen(cloud, scope, INSTANCE, id)?.clone();
    let given = || ask.object(answer::nova);
    let reply = match (ask.method.as_str(), path) {
        ("POST", ["action"]) => resize(&mut row, &given()?)?,
        ("GET", [kind @ ("databases" | "users")]) => {
            let shown: Vec<Value> = row.list(kind).iter().map(without_password).collect();
            return Ok(Answer::json(200, &json!({ *kind: shown })));
        }
        ("POST", [kind @ ("databases" | "users")]) => {
            let mut all = row.list(kind).to_vec();
            for one in given()?.list(kind) {
                if all.iter().any(|other| other["name"] == one["name"]) {
                    return Err(answer::nova(400, format!("{} exists already.", one["name"])));
                }
                all.push(one.clone());
            }
            row.set(kind, all);
            Answer::empty(202)
        }
        ("DELETE", [kind @ ("databases" | "users"), name]) => {
            let mut all = row.list(kind).to_vec();
            all.remove(position(&all, kind, name)?);
            row.set(kind, all);
            Answer::empty(202)
        }
        (method, ["users", name, rest @ ..]) => {
            let mut users = row.list("users").to_vec();
            let user = users.remove(position(&users, "users", name)?);
            let Value::Object(mut user) = user else { return Err(nowhere()) };
            let reply = match (method, rest) {
                ("GET", []) => {
                    let shown = json!({ "user": without_password(&user.into()) });
                    return Ok(Answer::json(200, &shown));
                }
                ("PUT", []) => {
                    user.extend(given()?.object("user").cloned().unwrap_or_default());
                    Answer::empty(202)
                }
                ("PUT", ["databases"]) => {
                    let all = [user.list("databases"), given()?.list("databases")].concat();
                    user.set("databases", all);
                    Answer::empty(202)
                }
                ("DELETE", ["databases", name]) => {
                    let mut all = user.list("databases").to_vec();
                    all.remove(position(&all, "databases", name)?);
                    user.set("databases", all);
                    Answer::empty(202)
                }
                _ => return Err(nowhere()),
            };
            users.push(user.into());
            row.set("users", users);
            reply
        }
        _ => return Err(nowhere()),
    };
    cloud.collections.table_mut(INSTANCE).insert(id, row);
    Ok(reply)
}

fn position(all: &[Value], kind: &str, name: &str) -> Result<usize, Answer> {
    all.iter().position(|one| one["name"] == name).ok_or_else(|| missing(kind, name))
}

fn without_password(one: &Value) -> Value {
    let mut one = one.clone();
    if let Value::Object(one) = &mut one {
        one.shift_remove("password");
    }
    one
}

/// Another flavor, or a larger volume.
fn resize(row: &mut JsonMap, given: &JsonMap) -> Reply {
    let Some(resize) = given.object("resize") else { return Err(nowhere()) };
    for field in ["flavorRef", "volume"] {
        if let Some(value) = resize.get(field) {
            row.set(field, value.clone());
        }
    }
    Ok(Answer::empty(202))
}

/// The instances of a cluster.
pub(super) struct Cluster;

impl Rules for Cluster {
    fn made(&self, cloud: &mut Cloud, _: (&Ask, &Scope), row: &mut JsonMap) -> Result<(), Answer> {
        let members = row.list("instances").iter().zip(1..);
        let members = members.map(|(_, index)| {
            let name = format!("{}-member-{index}", row.text("name"));
            json!({ "id": cloud.fresh_uuid(), "name": name, "status": "ACTIVE" })
        });
        let members: Vec<Value> = members.collect();
        row.set("instances", members);
        Ok(())
    }
}
