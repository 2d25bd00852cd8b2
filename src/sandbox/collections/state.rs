//! What the collections hold.

use std::collections::HashMap;
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
    /// The places of those, by service and by the key around one object.
    pub(super) by_name: HashMap<String, HashMap<String, usize>>,
    /// What collections hold that are not served.
    pub(super) none: Table<JsonMap>,
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
            let found = served.place(index, parent);
            Some((parts.len(), (found, &path[parts.len()..])))
        });
        leads.max_by_key(|(length, _)| *length).map(|(_, found)| found)
    }

    pub(super) fn named(&self, service: &str, wrap: &str) -> Option<Place> {
        let index = self.index(service, wrap)?;
        Some(self.served[index].place(index, None))
    }

    fn index(&self, service: &str, wrap: &str) -> Option<usize> {
        self.by_name.get(service)?.get(wrap).copied()
    }

    /// What a collection holds, for Rust that knows it: `service.wrap`.
    pub(in crate::sandbox) fn table(&self, (service, wrap): (&str, &str)) -> &Table<JsonMap> {
        self.index(service, wrap).map_or(&self.none, |index| &self.served[index].rows)
    }

    pub(in crate::sandbox) fn table_mut(
        &mut self,
        (service, wrap): (&str, &str),
    ) -> &mut Table<JsonMap> {
        match self.index(service, wrap) {
            Some(index) => &mut self.served[index].rows,
            None => &mut self.none,
        }
    }

    pub(super) fn rows(&self, place: &Place) -> &Table<JsonMap> {
        &self.served[place.index].rows
    }

    pub(super) fn rows_mut(&mut self, place: &Place) -> &mut Table<JsonMap> {
        &mut self.served[place.index].rows
    }
}

impl Served {
    /// It is the one of this index.
    pub(super) fn place(&self, index: usize, parent: Option<String>) -> Place {
        Place { index, collection: Arc::clone(&self.collection), parent }
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
