//! What the collections hold.

use std::sync::Arc;

use serde_json::Value;

use super::super::doc::shown;
use super::super::store::{Rows, Table};
use super::definition::Collection;
use super::service::Microversions;
use crate::model::JsonMap;

/// Services, and their collections with what is in them.
#[derive(Clone)]
pub(in crate::sandbox) struct Collections {
    pub(super) services: Vec<Named>,
    pub(super) served: Vec<Served>,
}

/// What the catalog and the list of extensions show of a service.
#[derive(Clone)]
pub(in crate::sandbox) struct Named {
    pub(in crate::sandbox) kind: String,
    pub(in crate::sandbox) name: String,
    /// What follows the first part of its path in the catalog.
    pub(in crate::sandbox) root: String,
    pub(in crate::sandbox) extensions: Vec<(String, String)>,
    pub(super) versions: Option<Value>,
    pub(super) microversions: Option<Microversions>,
}

#[derive(Clone)]
pub(super) struct Served {
    pub(super) collection: Arc<Collection>,
    pub(super) rows: Table<JsonMap>,
}

impl Collections {
    pub(in crate::sandbox) fn services(&self) -> impl Iterator<Item = &Named> {
        self.services.iter()
    }

    pub(in crate::sandbox) fn tables(&mut self) -> impl Iterator<Item = &mut dyn Rows> {
        self.served.iter_mut().map(|served| &mut served.rows as &mut dyn Rows)
    }

    /// The collection that a path leads to, and what follows it. Of several it is the one with the
    /// longest path of its own.
    pub(super) fn at<'p>(
        &self,
        service: &str,
        path: &'p [&'p str],
    ) -> Option<(Place, &'p [&'p str])> {
        let all = self.served.iter().enumerate();
        let leads = all.filter_map(|(index, served)| {
            let collection = &served.collection;
            if collection.service != service {
                return None;
            }
            let parts: Vec<&str> = collection.at.trim_matches('/').split('/').collect();
            let mut parent = None;
            for (at, part) in parts.iter().enumerate() {
                let given = path.get(at)?;
                if part.starts_with('{') {
                    parent = Some((*given).to_owned());
                } else if part != given {
                    return None;
                }
            }
            let found = Place { index, collection: Arc::clone(collection), parent };
            Some((parts.len(), (found, &path[parts.len()..])))
        });
        leads.max_by_key(|(length, _)| *length).map(|(_, found)| found)
    }

    pub(super) fn named(&self, service: &str, wrap: &str) -> Option<Place> {
        self.served.iter().enumerate().find_map(|(index, served)| {
            let collection = &served.collection;
            let fits = collection.service == service && collection.wrap == wrap;
            fits.then(|| Place { index, collection: Arc::clone(collection), parent: None })
        })
    }

    pub(super) fn rows(&self, place: &Place) -> &Table<JsonMap> {
        &self.served[place.index].rows
    }

    pub(super) fn rows_mut(&mut self, place: &Place) -> &mut Table<JsonMap> {
        &mut self.served[place.index].rows
    }
}

/// A collection and where its rows are.
#[derive(Clone)]
pub(super) struct Place {
    pub(super) index: usize,
    pub(super) collection: Arc<Collection>,
    /// The id of the object whose parts are meant.
    pub(super) parent: Option<String>,
}

/// The id of an object, as a key.
pub(super) fn name_of(collection: &Collection, row: &JsonMap) -> String {
    row.get(&collection.id).map(shown).unwrap_or_default()
}
