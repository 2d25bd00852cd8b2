//! Volume types.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::{Doc, shown};
use super::super::keystone::Scope;
use super::{nowhere, policy};
use crate::model::JsonMap;

/// What a volume is when it names no type.
const DEFAULT: &str = "__DEFAULT__";

/// A kind of volumes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct VolumeType {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) is_public: bool,
    pub(super) extra_specs: JsonMap,
}

/// Adds one of the usual types.
pub(in crate::sandbox) fn plant(cloud: &mut Cloud, name: &str, extra_specs: Value) {
    let kind = VolumeType {
        id: cloud.fresh_id(),
        name: name.to_owned(),
        description: (name == DEFAULT).then(|| "Default Volume Type".to_owned()),
        is_public: true,
        extra_specs: extra_specs.as_object().cloned().unwrap_or_default(),
    };
    cloud.cinder.types.insert(&kind.id.clone(), kind);
}

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    match (ask.method.as_str(), path) {
        ("GET", []) => {
            let types: Vec<Value> =
                cloud.cinder.types.values().rev().map(|kind| view(scope, kind)).collect();
            Ok(Answer::json(200, &json!({"volume_types": types})))
        }
        ("GET", ["default"]) => {
            let kind = find(cloud, DEFAULT)?;
            Ok(Answer::json(200, &json!({"volume_type": view(scope, kind)})))
        }
        ("GET", [id]) => {
            let kind = cloud.cinder.types.get(id).ok_or_else(|| missing(id))?;
            Ok(Answer::json(200, &json!({"volume_type": view(scope, kind)})))
        }
        ("GET", [id, "extra_specs"]) => {
            let kind = cloud.cinder.types.get(id).ok_or_else(|| missing(id))?;
            Ok(Answer::json(200, &json!({"extra_specs": kind.extra_specs})))
        }
        ("GET", [id, "encryption"]) => {
            cloud.cinder.types.get(id).ok_or_else(|| missing(id))?;
            Ok(Answer::json(200, &json!({})))
        }
        _ if !scope.is_admin => Err(policy("volume_extension:types_manage")),
        ("POST", []) => {
            let given = ask.wrapped("volume_type", answer::nova)?;
            let name = given.text("name");
            if cloud.cinder.types.values().any(|kind| kind.name == name) {
                return Err(answer::nova(409, format!("Volume Type {name} already exists.")));
            }
            let kind = VolumeType {
                id: cloud.fresh_id(),
                name: name.to_owned(),
                description: given.get("description").and_then(Value::as_str).map(str::to_owned),
                is_public: given
                    .get("os-volume-type-access:is_public")
                    .is_none_or(|public| *public != false),
                extra_specs: given.object("extra_specs").cloned().unwrap_or_default(),
            };
            let body = json!({"volume_type": view(scope, &kind)});
            cloud.cinder.types.insert(&kind.id.clone(), kind);
            Ok(Answer::json(200, &body))
        }
        ("DELETE", [id]) => {
            let kind = cloud.cinder.types.get(id).ok_or_else(|| missing(id))?.clone();
            if cloud.cinder.volumes.values().any(|volume| volume.volume_type == kind.name) {
                let text = format!(
                    "Volume Type {id} deletion is not allowed with volumes present with the type."
                );
                return Err(answer::nova(400, text));
            }
            cloud.cinder.types.remove(id);
            Ok(Answer::empty(202))
        }
        ("POST", [id, "extra_specs"]) => {
            let given = ask.wrapped("extra_specs", answer::nova)?;
            let kind = cloud.cinder.types.edit(id).ok_or_else(|| missing(id))?;
            kind.extra_specs.extend(given.clone());
            Ok(Answer::json(200, &json!({"extra_specs": given})))
        }
        _ => Err(nowhere()),
    }
}

/// The name of the type asked for, by name or id, or of the default one.
pub(super) fn chosen(cloud: &Cloud, asked: Option<&str>) -> Result<String, Answer> {
    find(cloud, asked.unwrap_or(DEFAULT)).map(|kind| kind.name.clone())
}

/// Whether volumes of a type can be attached to several servers.
pub(super) fn multiattach(cloud: &Cloud, name: &str) -> bool {
    find(cloud, name).is_ok_and(|kind| {
        kind.extra_specs.get("multiattach").is_some_and(|spec| shown(spec) == "<is> True")
    })
}

fn find<'a>(cloud: &'a Cloud, name_or_id: &str) -> Result<&'a VolumeType, Answer> {
    cloud
        .cinder
        .types
        .values()
        .find(|kind| kind.name == name_or_id || kind.id == name_or_id)
        .ok_or_else(|| {
            answer::nova(404, format!("Volume type with name {name_or_id} could not be found."))
        })
}

fn missing(id: &str) -> Answer {
    answer::nova(404, format!("Volume type {id} could not be found."))
}

/// Of how a type is made, tenants see only what changes what they can do.
fn visible_specs(scope: &Scope, kind: &VolumeType) -> JsonMap {
    let seen = |key: &str| scope.is_admin || matches!(key, "multiattach" | "replication_enabled");
    kind.extra_specs
        .iter()
        .filter(|(key, _)| seen(key))
        .map(|(k, v)| (k.clone(), v.clone()))
        .collect()
}

fn view(scope: &Scope, kind: &VolumeType) -> Value {
    let mut view = json!({
        "id": kind.id,
        "name": kind.name,
        "description": kind.description,
        "is_public": kind.is_public,
        "os-volume-type-access:is_public": kind.is_public,
        "extra_specs": visible_specs(scope, kind),
    });
    if scope.is_admin {
        view["qos_specs_id"] = Value::Null;
    }
    view
}
