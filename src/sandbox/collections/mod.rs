//! Collections that are data: `services/*.yaml`, and files of a directory that is given, say which
//! attributes their objects have, what they refer to and how they come and go; this serves them.
//! Neutron's are served within its frame, any other service stands by itself.

mod accept;
mod definition;
mod references;
pub(super) mod values;

use std::io;
use std::path::Path;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use self::definition::{Collection, Service};
use self::references::{is_unique, refer};
use super::answer::{Answer, Reply};
use super::ask::Ask;
use super::cloud::Cloud;
use super::doc::Doc;
use super::keystone::{self, Scope};
use super::later::{Later, Turn};
use super::store::{Rows, Table};
use super::{listing, neutron};
use crate::model::JsonMap;

pub(super) use self::references::{is_there, part, part_with};

/// Those that every sandbox has.
const FILES: [(&str, &str); 2] = [
    ("services/load_balancer.yaml", include_str!("../services/load_balancer.yaml")),
    ("services/network.yaml", include_str!("../services/network.yaml")),
];

/// Longest page of a list.
const PAGE_MAX: usize = 1000;

/// Services, and their collections with what is in them.
pub(super) struct Collections {
    services: Vec<Named>,
    served: Vec<Served>,
}

/// What the catalog and the list of extensions show of a service.
pub(super) struct Named {
    pub(super) kind: String,
    pub(super) name: String,
    pub(super) extensions: Vec<(String, String)>,
}

struct Served {
    collection: Arc<Collection>,
    rows: Table<JsonMap>,
}

impl Collections {
    /// The collections of every sandbox, and those of a directory's files.
    pub(super) fn open(directory: Option<&Path>) -> io::Result<Collections> {
        let mut all = Collections { services: Vec::new(), served: Vec::new() };
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

    /// Refuses references to collections that there are not.
    fn coherent(self) -> io::Result<Self> {
        for served in &self.served {
            let Collection { service, wrap, .. } = &*served.collection;
            for (field, target) in served.collection.references() {
                let in_rust = service == "network" && neutron::has_kind(target);
                if !in_rust && self.named(service, target).is_none() {
                    let text = format!("{service}: {wrap}: {field}: there is no {target}");
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
            let rows = Table::new(format!("{}.{wrap}", service.kind));
            self.served.push(Served { collection: Arc::new(collection), rows });
        }
        let extensions = service.extensions.into_iter().collect();
        self.services.push(Named { kind: service.kind, name: service.name, extensions });
        Ok(())
    }

    pub(super) fn services(&self) -> impl Iterator<Item = &Named> {
        self.services.iter()
    }

    pub(super) fn tables(&mut self) -> impl Iterator<Item = &mut dyn Rows> {
        self.served.iter_mut().map(|served| &mut served.rows as &mut dyn Rows)
    }

    /// The collection that a path leads to, and what follows it.
    fn at<'p>(&self, service: &str, path: &'p [&'p str]) -> Option<(Place, &'p [&'p str])> {
        self.served.iter().enumerate().find_map(|(index, served)| {
            let collection = &served.collection;
            let parts: Vec<&str> = collection.at.trim_matches('/').split('/').collect();
            if collection.service != service || !path.starts_with(&parts) {
                return None;
            }
            let found = Place { index, collection: Arc::clone(collection) };
            Some((found, &path[parts.len()..]))
        })
    }

    fn named(&self, service: &str, wrap: &str) -> Option<Place> {
        self.served.iter().enumerate().find_map(|(index, served)| {
            let collection = &served.collection;
            let fits = collection.service == service && collection.wrap == wrap;
            fits.then(|| Place { index, collection: Arc::clone(collection) })
        })
    }

    fn rows(&self, place: &Place) -> &Table<JsonMap> {
        &self.served[place.index].rows
    }

    fn rows_mut(&mut self, place: &Place) -> &mut Table<JsonMap> {
        &mut self.served[place.index].rows
    }
}

/// A collection and where its rows are.
#[derive(Clone)]
struct Place {
    index: usize,
    collection: Arc<Collection>,
}

/// A service that has nothing but such collections; `None` if there is no service of this type.
pub(super) fn service(cloud: &mut Cloud, ask: &Ask, kind: &str, path: &[&str]) -> Option<Reply> {
    cloud.collections.services().find(|service| service.kind == kind)?;
    if path.is_empty() {
        let versions = json!({"versions": [{"id": "v2.0", "status": "CURRENT", "links": []}]});
        return Some(Ok(Answer::json(200, &versions)));
    }
    let scope = match keystone::scope(cloud, ask) {
        Ok(scope) => scope,
        Err(refusal) => return Some(Err(refusal)),
    };
    answer(cloud, ask, &scope, kind, path)
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
    Some(match (ask.method.as_str(), rest) {
        ("GET", []) => list(cloud, ask, scope, &place),
        ("POST", []) => create(cloud, ask, scope, &place),
        ("GET", [id]) => show(cloud, ask, scope, &place, id),
        ("PUT", [id]) => update(cloud, ask, scope, &place, id),
        ("DELETE", [id]) => delete(cloud, ask, scope, &place, id),
        (_, [id, "tags", rest @ ..]) if place.collection.standard => {
            tags(cloud, ask, scope, &place, id, rest)
        }
        _ => return None,
    })
}

fn list(cloud: &Cloud, ask: &Ask, scope: &Scope, place: &Place) -> Reply {
    let collection = &place.collection;
    let rows = cloud.collections.rows(place).values();
    let rows = rows.filter(|row| collection.is_seen(scope, row));
    let rows = rows.filter(|row| listing::fits(row, ask) && neutron::tags_fit(row, ask)).cloned();
    listing::answer(rows.collect(), ask, &collection.list, PAGE_MAX)
        .ok_or_else(|| collection.not_found(ask.query("marker").unwrap_or_default()))
}

fn show(cloud: &Cloud, ask: &Ask, scope: &Scope, place: &Place, id: &str) -> Reply {
    let mut row = find(cloud, scope, place, id)?.clone();
    listing::only_fields(&mut row, ask);
    Ok(Answer::json(200, &json!({&place.collection.wrap: row})))
}

fn create(cloud: &mut Cloud, ask: &Ask, scope: &Scope, place: &Place) -> Reply {
    let collection = &place.collection;
    let given = collection.given(ask)?;
    collection.may_change(scope, None, "create")?;
    let mut row = collection.new_row(scope, given)?;
    if collection.id == "id" {
        row.set("id", cloud.fresh_id());
    }
    if collection.standard {
        row.set("created_at", ask.moment());
        row.set("updated_at", ask.moment());
        row.set("revision_number", 1);
        row.set("tags", Vec::<Value>::new());
    }
    refer(cloud, scope, collection, &row)?;
    is_unique(cloud, place, &row)?;
    let id = row.text(&collection.id).to_owned();
    if cloud.collections.rows(place).contains(&id) {
        let text = format!("There is {} {id} already.", collection.wrap);
        return Err(collection.fault(409, &format!("{}Exists", collection.class), text));
    }
    if let Some(states) = &collection.states {
        let [first, then] = &states.made;
        row.set(&states.field, first.as_str());
        settle_later(cloud, ask.at, place, &id, Some(then));
    }
    cloud.collections.rows_mut(place).insert(&id, row.clone());
    Ok(Answer::json(201, &json!({&collection.wrap: row})))
}

fn update(cloud: &mut Cloud, ask: &Ask, scope: &Scope, place: &Place, id: &str) -> Reply {
    let collection = &place.collection;
    let given = collection.given(ask)?;
    let mut row = find(cloud, scope, place, id)?.clone();
    collection.may_change(scope, Some(&row), "update")?;
    let change = collection.change(scope, given)?;
    refer(cloud, scope, collection, &change)?;
    row.extend(change);
    if collection.standard {
        let revision = row.int("revision_number").unwrap_or_default();
        row.set("revision_number", revision + 1);
        row.set("updated_at", ask.moment());
    }
    is_unique(cloud, place, &row)?;
    cloud.collections.rows_mut(place).insert(id, row.clone());
    Ok(Answer::json(200, &json!({&collection.wrap: row})))
}

fn delete(cloud: &mut Cloud, ask: &Ask, scope: &Scope, place: &Place, id: &str) -> Reply {
    let collection = &place.collection;
    let row = find(cloud, scope, place, id)?.clone();
    collection.may_change(scope, Some(&row), "delete")?;
    for holder in &collection.kept_by {
        if holder
            .split_once('.')
            .is_some_and(|(kind, field)| neutron::holds(cloud, kind, field, id))
        {
            return Err(collection.stays(id));
        }
    }
    part(cloud, &collection.service, &collection.wrap, id).map_err(|()| collection.stays(id))?;
    match &collection.states {
        Some(states) => {
            if let Some(row) = cloud.collections.rows_mut(place).edit(id) {
                row.set(&states.field, states.dropped.as_str());
            }
            cloud.unplan(|turn| matches!(turn, Turn::Object { id: of, .. } if of == id));
            settle_later(cloud, ask.at, place, id, None);
        }
        None => {
            cloud.collections.rows_mut(place).remove(id);
        }
    }
    Ok(Answer::empty(204))
}

fn tags(
    cloud: &mut Cloud,
    ask: &Ask,
    scope: &Scope,
    place: &Place,
    id: &str,
    path: &[&str],
) -> Reply {
    let row = find(cloud, scope, place, id)?;
    if ask.method != "GET" {
        place.collection.may_change(scope, Some(row), "update")?;
    }
    let mut tags = row.list("tags").to_vec();
    let answer = neutron::change_tags(ask, &mut tags, path)?;
    if ask.method != "GET"
        && let Some(row) = cloud.collections.rows_mut(place).edit(id)
    {
        row.set("tags", tags);
    }
    Ok(answer)
}

/// An object has come to the end of what it was doing.
pub(super) fn object_ends(cloud: &mut Cloud, of: &str, id: &str, state: Option<&str>) {
    let Some((service, wrap)) = of.split_once('.') else { return };
    let Some(place) = cloud.collections.named(service, wrap) else { return };
    let rows = cloud.collections.rows_mut(&place);
    match (state, &place.collection.states) {
        (Some(state), Some(states)) => {
            if let Some(row) = rows.edit(id) {
                row.set(&states.field, state);
            }
        }
        _ => {
            rows.remove(id);
        }
    }
}

fn settle_later(
    cloud: &mut Cloud,
    now: DateTime<Utc>,
    place: &Place,
    id: &str,
    to: Option<&String>,
) {
    let collection = &place.collection;
    let turn = Turn::Object {
        of: format!("{}.{}", collection.service, collection.wrap),
        id: id.to_owned(),
        state: to.cloned(),
    };
    let at = now + cloud.config.latencies.object;
    cloud.plan(Later { at, turn });
}

fn find<'a>(
    cloud: &'a Cloud,
    scope: &Scope,
    place: &Place,
    id: &str,
) -> Result<&'a JsonMap, Answer> {
    let row = cloud.collections.rows(place).get(id);
    row.filter(|row| place.collection.is_seen(scope, row))
        .ok_or_else(|| place.collection.not_found(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_directory_join_those_of_every_sandbox() {
        let directory = tempfile::tempdir().unwrap();
        let write = |target: &str| {
            let text = format!(
                "service: network\nname: neutron\nerrors: neutron\ncollections:\n  trunk:\n    at: /v2.0/trunks\n    attributes: {{ port_id: [id, post] }}\n    refers: {{ port_id: {target} }}\n"
            );
            std::fs::write(directory.path().join("trunk.yaml"), text).unwrap();
        };
        write("port");
        let all = Collections::open(Some(directory.path())).unwrap();
        let path = ["v2.0", "trunks", "some"];
        let (place, rest) = all.at("network", &path).unwrap();
        assert_eq!((place.collection.list.as_str(), rest), ("trunks", &["some"][..]));
        assert!(all.at("network", &["v2.0"]).is_none());
        write("pirt");
        let error = Collections::open(Some(directory.path())).err().unwrap();
        assert_eq!(error.to_string(), "network: trunk: port_id: there is no pirt");
        write("port");
        let again = directory.path().join("again.yaml");
        std::fs::copy(directory.path().join("trunk.yaml"), again).unwrap();
        let error = Collections::open(Some(directory.path())).err().unwrap();
        assert!(error.to_string().ends_with("network: there is a trunk already"), "{error}");
    }

    #[test]
    fn a_file_is_refused_with_a_reason() {
        let refused = |collection: &str| {
            let text =
                format!("service: s\nname: n\nerrors: nova\ncollections: {{ a: {collection} }}");
            Service::read(&text).unwrap_err()
        };
        let error = refused("{ at: /a, attributes: {}, refers: { b: c } }");
        assert_eq!(error, "a has no attribute b");
        assert!(refused("{ at: /a, atributes: {} }").contains("atributes"));
        refused("{ at: /a, attributes: { name: [texts, put] } }");
    }
}
