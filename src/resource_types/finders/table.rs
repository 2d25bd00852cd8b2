//! The finders by name: Hearth's own in `finders.yaml`, and those that plugin directories bring.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use tracing::error;

use crate::model::IndexMap;

/// Rows of a file of finders, by their names.
pub(crate) type Rows = IndexMap<String, Finder>;

/// How one kind of object is found by a name or an id.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Finder {
    /// Its type in the catalog.
    pub(super) service: String,
    /// The path of the collection.
    pub(super) at: String,
    /// The key around a list.
    pub(super) list: String,
    /// The key around a single object; none: the body is the object.
    #[serde(default)]
    pub(super) wrap: Option<String>,
    /// The fields of an object that have what is wanted for a name, and the name.
    #[serde(default = "id")]
    pub(super) id: String,
    #[serde(default = "name")]
    pub(super) name: String,
    pub(super) by: By,
    /// The path of the list that is searched for a name, where it is another.
    #[serde(default)]
    pub(super) search: Option<String>,
    /// The parameters of that search, `{name}` in them being the name; that alone when left out.
    #[serde(default)]
    pub(super) query: IndexMap<String, String>,
    /// That list is not told of the name.
    #[serde(default)]
    pub(super) unfiltered: bool,
    /// What is no UUID is no id.
    #[serde(default)]
    pub(super) uuids: bool,
    /// `NAME{DOMAIN}` is a name in a domain of Keystone's.
    #[serde(default)]
    pub(super) domains: bool,
    /// Whether a custom constraint of its name looks it up.
    #[serde(default = "yes")]
    pub(super) constraint: bool,
    /// The word for it in Heat's messages.
    pub(super) entity: String,
}

/// The ways of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum By {
    /// Filtered lists, by id and then by name, as Neutron's client does it.
    Filters,
    /// A look at the id and nothing else.
    Id,
    /// A look at the id, then a list that is searched for the name.
    IdThenList,
    /// A list that is searched for id and name.
    List,
    /// What looks like an id is one; a name is looked for among the project's own.
    Own,
    /// A look at the end of a URL, which is what is wanted.
    Reference,
    /// The service itself searches: whatever it lists is meant.
    Service,
}

/// All finders of a registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Finders(Option<Arc<Rows>>);

impl Finders {
    /// Hearth's own below these.
    pub(crate) fn with(rows: Rows) -> Self {
        Self((!rows.is_empty()).then(|| Arc::new(rows)))
    }

    /// Those of plugin directories.
    pub(crate) fn plugins(&self) -> impl Iterator<Item = (&String, &Finder)> {
        self.0.iter().flat_map(|rows| rows.iter())
    }

    pub(super) fn get(&self, name: &str) -> Option<&Finder> {
        self.0.as_ref().and_then(|rows| rows.get(name)).or_else(|| built_in().get(name))
    }

    /// Whether there is a finder of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Whether a custom constraint of this name looks something up.
    pub(crate) fn constrains(&self, name: &str) -> bool {
        self.get(name).is_some_and(|finder| finder.constraint)
    }

    /// The names of all finders.
    pub(crate) fn names(&self) -> impl Iterator<Item = &String> {
        self.plugins().map(|(name, _)| name).chain(built_in().keys())
    }
}

fn built_in() -> &'static Rows {
    static ROWS: OnceLock<Rows> = OnceLock::new();
    ROWS.get_or_init(|| {
        serde_yaml::from_str(include_str!("finders.yaml")).unwrap_or_else(|error| {
            error!(%error, "Hearth's own finders left out");
            Rows::default()
        })
    })
}

fn yes() -> bool {
    true
}

fn id() -> String {
    "id".into()
}

fn name() -> String {
    "name".into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_of_our_own_is_read_and_in_its_place() {
        let rows: Rows = serde_yaml::from_str(include_str!("finders.yaml")).unwrap();
        assert_eq!(built_in(), &rows);
        assert!(rows.keys().is_sorted(), "by their names");
        for (name, finder) in &rows {
            assert!(finder.at.starts_with('/') && !finder.list.is_empty(), "{name}");
        }
    }

    #[test]
    fn rows_of_plugins_stand_above_our_own() {
        let row = "x.thing: { service: x, at: /things, list: things, by: list, entity: Thing }";
        let finders = Finders::with(serde_yaml::from_str(row).unwrap());
        assert!(finders.has("x.thing") && finders.has("nova.flavor"));
        assert!(!Finders::default().has("x.thing"));
        assert!(finders.constrains("x.thing") && !finders.constrains("neutron.own_security_group"));
    }
}
