//! Volume types, as volumes know them. They are a collection of `services/volume.yaml`.

use serde_json::{Value, json};

use super::super::answer::{self, Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::collections;
use super::super::doc::{Doc, shown};
use super::super::keystone::Scope;
use super::nowhere;
use crate::model::JsonMap;

/// What a volume is when it names no type.
const DEFAULT: &str = "__DEFAULT__";
const TYPES: (&str, &str) = ("volumev3", "volume_type");

/// Adds one of the usual types.
pub(in crate::sandbox) fn plant(cloud: &mut Cloud, name: &str, extra_specs: Value) {
    let row = json!({
        "id": cloud.fresh_id(),
        "name": name,
        "description": (name == DEFAULT).then_some("Default Volume Type"),
        "is_public": true,
        "extra_specs": extra_specs,
    });
    if let Value::Object(row) = row {
        collections::plant(cloud, TYPES, row);
    }
}

pub(super) fn answer(cloud: &mut Cloud, ask: &Ask, scope: &Scope, path: &[&str]) -> Reply {
    let default = find(cloud, DEFAULT).map(|kind| kind.text("id").to_owned());
    let path: Vec<&str> = match (path, &default) {
        (["default"], Ok(id)) => vec!["types", id],
        _ => [&["types"], path].concat(),
    };
    if let ("DELETE", ["types", id]) = (ask.method.as_str(), path.as_slice())
        && let Some(kind) = collections::row_where(cloud, TYPES, |kind| kind.text("id") == *id)
        && cloud.cinder.volumes.values().any(|volume| volume.volume_type == kind.text("name"))
    {
        let text =
            format!("Volume Type {id} deletion is not allowed with volumes present with the type.");
        return Err(answer::nova(400, text));
    }
    collections::answer(cloud, ask, scope, TYPES.0, &path).unwrap_or_else(|| Err(nowhere()))
}

/// The name of the type asked for, by name or id, or of the default one.
pub(super) fn chosen(cloud: &Cloud, asked: Option<&str>) -> Result<String, Answer> {
    find(cloud, asked.unwrap_or(DEFAULT)).map(|kind| kind.text("name").to_owned())
}

/// Whether volumes of a type can be attached to several servers.
pub(super) fn multiattach(cloud: &Cloud, name: &str) -> bool {
    let specs = find(cloud, name).ok().and_then(|kind| kind.object("extra_specs"));
    let spec = specs.and_then(|specs| specs.get("multiattach"));
    spec.is_some_and(|spec| shown(spec) == "<is> True")
}

fn find<'a>(cloud: &'a Cloud, name_or_id: &str) -> Result<&'a JsonMap, Answer> {
    let fits = |kind: &JsonMap| kind.text("name") == name_or_id || kind.text("id") == name_or_id;
    collections::row_where(cloud, TYPES, fits).ok_or_else(|| {
        answer::nova(404, format!("Volume type with name {name_or_id} could not be found."))
    })
}
