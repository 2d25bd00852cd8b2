//! Collections that are data: `services/*.yaml`, and files of a directory that is given, say which
//! attributes their objects have, what they refer to and how they come and go; this serves them.
//! Neutron's are served within its frame, any other service stands by itself.

mod accept;
mod actions;
mod bodies;
mod deed;
mod definition;
mod fill;
mod objects;
mod references;
mod refusals;
pub(super) mod rows;
pub(super) mod rules;
mod service;
pub(super) mod state;
mod states;
mod tags;
mod texts;
pub(super) mod values;

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use self::definition::{Body, Collection, Create, Update};
use self::fill::filled;
use self::service::Service;
use self::state::{Collections, Named, Place, Served, name_of};
use super::answer::{Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::keystone::scope::{Scope, scope};
use super::store::Table;
use crate::model::JsonMap;

pub(super) use self::references::part;
pub(super) use self::rows::{drop_where, missing, new_row, plant, row_where, seen};
pub(super) use self::rules::Rules;
pub(super) use self::states::object_ends;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("../services/", $name)))),*]
    };
}

/// Those that every sandbox has.
const FILES: [(&str, &str); 16] = files![
    "load_balancer.yaml",
    "network_base.yaml",
    "network.yaml",
    "volume.yaml",
    "compute.yaml",
    "identity.yaml",
    "key_manager.yaml",
    "dns.yaml",
    "sharev2.yaml",
    "container_infra.yaml",
    "workflowv2.yaml",
    "reservation.yaml",
    "alarming.yaml",
    "baremetal.yaml",
    "container.yaml",
    "database.yaml",
];

impl Collections {
    /// The collections of every sandbox, and those of a directory's files.
    pub(super) fn open(directory: Option<&Path>) -> io::Result<Collections> {
        let mut all = Collections::empty();
        for (name, text) in FILES {
            all.add(name, text)?;
        }
        let Some(directory) = directory else { return all.coherent() };
        let mut paths = std::fs::read_dir(directory)?
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<_>>>()?;
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
        paths.sort();
        for path in paths {
            all.add(&path.display().to_string(), &std::fs::read_to_string(&path)?)?;
        }
        all.coherent()
    }

    #[cfg(test)]
    fn of(text: &str) -> io::Result<Collections> {
        let mut all = Collections::empty();
        all.add("test.yaml", text)?;
        all.coherent()
    }

    fn empty() -> Collections {
        Collections {
            services: Vec::new(),
            served: Vec::new(),
            by_name: HashMap::new(),
            none: Table::new("none"),
        }
    }

    /// Refuses references to collections that there are not.
    fn coherent(self) -> io::Result<Self> {
        for served in &self.served {
            let Collection { service, wrap, .. } = &*served.collection;
            for (field, target) in served.collection.references() {
                let (of, kind) = target.split_once('.').unwrap_or((service, target));
                if !references::is_in_rust(target) && self.named(of, kind).is_none() {
                    let text = format!("{service}: {wrap}: {field}: there is no {kind}");
                    return Err(io::Error::new(io::ErrorKind::InvalidData, text));
                }
            }
        }
        Ok(self)
    }

    fn add(&mut self, file: &str, text: &str) -> io::Result<()> {
        let service = Service::read(text).map_err(|error| {
            io::Error::new(io::ErrorKind::InvalidData, format!("{file}: {error}"))
        })?;
        for (wrap, collection) in service.collections {
            if self.named(&service.kind, &wrap).is_some() {
                let text = format!("{file}: {}: there is a {wrap} already", service.kind);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if let Some(name) =
                collection.hook.as_ref().filter(|_| rules::of(&collection).is_none())
            {
                let text = format!("{file}: {wrap}: there is no hook {name}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            let name = collection.table.clone();
            let rows = Table::new(name.unwrap_or_else(|| format!("{}.{wrap}", service.kind)));
            let by_name = self.by_name.entry(service.kind.clone()).or_default();
            by_name.insert(wrap, self.served.len());
            self.served.push(Served { collection: Arc::new(collection), rows });
        }
        let extensions = service.extensions.into_iter().collect();
        self.services.push(Named {
            kind: service.kind,
            name: service.name,
            root: service.root,
            extensions,
            versions: service.versions,
            microversions: service.microversions,
        });
        Ok(())
    }
}

/// A service that has nothing but such collections; `None` if there is no service of this type.
pub(super) fn service(cloud: &mut Cloud, ask: &Ask, kind: &str, path: &[&str]) -> Option<Reply> {
    let service = cloud.collections.services().find(|service| service.kind == kind)?;
    if path.is_empty() || *path == [service.root.trim_matches('/')] {
        let versions = json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": []}]});
        let versions = service.versions.as_ref().unwrap_or(&versions);
        let base =
            |place: &str| if place == "base" { ask.base.clone().into() } else { Value::Null };
        return Some(Ok(Answer::json(200, &filled(versions, &base))));
    }
    let microversions = service.microversions.clone();
    let version = match microversions.as_ref().map(|all| all.chosen(ask)).transpose() {
        Ok(version) => version,
        Err(refusal) => return Some(Err(refusal)),
    };
    let scope = match scope(cloud, ask) {
        Ok(scope) => scope,
        Err(refusal) => return Some(Err(refusal)),
    };
    let reply = answer(cloud, ask, &scope, kind, path)?;
    let mark = |answer: Answer| match (&microversions, &version) {
        (Some(all), Some(version)) => answer.header(&all.header, version.as_str()),
        _ => answer,
    };
    Some(reply.map(mark).map_err(mark))
}

/// What a collection of the service answers; `None` if the path leads to none.
pub(super) fn answer(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    service: &str,
    path: &[&str],
) -> Option<Reply> {
    let (place, rest) = cloud.collections.at(service, path)?;
    let place = &place;
    let collection = &place.collection;
    if let Err(refusal) = objects::parent_is_there(cloud, scope, place) {
        return Some(Err(refusal));
    }
    if collection.single {
        return objects::single(cloud, ask, scope, place, rest);
    }
    if collection.lasting {
        return match rest {
            [] => objects::lasting(cloud, ask, scope, place, ("", true)),
            [key] => objects::lasting(cloud, ask, scope, place, (key, false)),
            _ => None,
        };
    }
    let is_new = |id: &str| !cloud.collections.rows(place).contains(id);
    Some(match (ask.method.as_str(), rest) {
        ("POST" | "PUT", []) if collection.body == Body::Yaml => {
            texts::take(cloud, ask, scope, place)
        }
        ("GET", []) => objects::list(cloud, ask, scope, place),
        ("GET", ["detail"]) if collection.detail => objects::list(cloud, ask, scope, place),
        ("POST", []) if collection.create == Create::Post => {
            objects::create(cloud, ask, scope, place, None)
        }
        ("GET", [id]) => objects::show(cloud, ask, scope, place, id),
        ("PUT", [id]) if collection.create == Create::Put && is_new(id) => {
            objects::create(cloud, ask, scope, place, Some(id))
        }
        ("PUT", [id]) if collection.update == Update::Put => {
            objects::update(cloud, ask, scope, place, id)
        }
        ("PATCH", [id]) if matches!(collection.update, Update::Patch | Update::JsonPatch) => {
            objects::update(cloud, ask, scope, place, id)
        }
        ("DELETE", [id]) => objects::delete(cloud, ask, scope, place, id),
        (_, [id, "tags", rest @ ..]) if collection.standard => {
            tags::answer(cloud, ask, scope, place, id, rest)
        }
        (_, [id, map, key @ ..]) if collection.maps.iter().any(|name| name == map) => {
            actions::map(cloud, ask, scope, place, (id, map, key.first().copied()))
        }
        (_, [id, rest @ ..]) => {
            return actions::answer(cloud, ask, scope, place, (id, rest));
        }
        _ => return None,
    })
}

/// Makes an object of a collection, as `service.wrap`, of what is given.
pub(super) fn make(
    cloud: &mut Cloud,
    (ask, scope): (&Ask, &Scope),
    (service, wrap): (&str, &str),
    given: JsonMap,
) -> Result<JsonMap, Answer> {
    match cloud.collections.named(service, wrap) {
        Some(place) => objects::make(cloud, ask, scope, &place, given),
        None => Err(rows::nowhere()),
    }
}

/// The objects of a collection, as they are shown.
pub(super) fn views(
    cloud: &Cloud,
    ask: &Ask,
    scope: &Scope,
    (service, wrap): (&str, &str),
) -> Vec<Value> {
    let Some(place) = cloud.collections.named(service, wrap) else { return Vec::new() };
    let rows = cloud.collections.rows(&place).values();
    rows.map(|row| Value::Object(bodies::view(cloud, ask, scope, &place, row))).collect()
}

/// All that is set for a key of a lasting collection, as `service.wrap`.
pub(super) fn standing(cloud: &Cloud, service: &str, wrap: &str, key: &str) -> JsonMap {
    let place = cloud.collections.named(service, wrap);
    place.map(|place| objects::standing(cloud, &place, key)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
