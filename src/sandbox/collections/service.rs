//! The format of `services/*.yaml`: a service.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::super::answer::{self, Answer};
use super::super::ask::Ask;
use super::definition::{Collection, Errors};

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Service {
    /// Its type in the catalog; also the first part of its path.
    #[serde(rename = "service")]
    pub(super) kind: String,
    /// Its name in the catalog.
    pub(super) name: String,
    pub(super) errors: Errors,
    /// The longest page of a list.
    #[serde(default = "page_max")]
    pub(super) page_max: usize,
    /// What follows the first part of the path in the catalog: a version.
    #[serde(default)]
    pub(super) root: String,
    /// What the service answers when asked for its versions.
    #[serde(default)]
    pub(super) versions: Option<Value>,
    #[serde(default)]
    pub(super) microversions: Option<Microversions>,
    /// Aliases and names of Neutron's extensions that the collections come with.
    #[serde(default)]
    pub(super) extensions: BTreeMap<String, String>,
    /// By the key around one object.
    pub(super) collections: BTreeMap<String, Collection>,
}

/// Which versions of bodies a service has, and the header that asks for one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Microversions {
    pub(super) header: String,
    pub(super) oldest: String,
    pub(super) newest: String,
}

impl Service {
    /// Reads a file; the error says what is wrong with it.
    pub(super) fn read(text: &str) -> Result<Service, String> {
        let mut service: Service = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        for (wrap, collection) in &mut service.collections {
            collection.service.clone_from(&service.kind);
            collection.wrap.clone_from(wrap);
            collection.errors = service.errors;
            collection.page_max = service.page_max;
            if collection.list.is_empty() {
                collection.list = format!("{wrap}s");
            }
            if collection.class.is_empty() {
                collection.class = class(wrap);
            }
            let kind = &service.kind;
            let maps = [&mut collection.refers, &mut collection.goes_with, &mut collection.forgets];
            for target in maps.into_iter().flat_map(BTreeMap::values_mut) {
                if !target.contains('.') {
                    *target = format!("{kind}.{target}");
                }
            }
            knows_its_names(collection)?;
        }
        Ok(service)
    }
}

fn page_max() -> usize {
    1000
}

/// Refuses keys that name attributes which there are not.
fn knows_its_names(collection: &Collection) -> Result<(), String> {
    let names = collection.values.keys().chain(collection.references().map(|it| it.0));
    let names = names.chain(collection.ranges.keys()).chain(collection.sets.keys());
    let names = names.chain(collection.unique.iter().flatten()).chain(&collection.admin_sets);
    let names = names.chain(collection.root.iter().flat_map(|root| &root.by));
    for name in names.chain(&collection.hidden).chain(&collection.maps).chain(&collection.open) {
        let first = name.split('.').next().unwrap_or_default();
        let is_known = [&collection.id, "project_id", "tenant_id"].contains(&first)
            || collection.attributes.contains_key(first);
        if !first.starts_with('_') && !is_known {
            return Err(format!("{} has no attribute {name}", collection.wrap));
        }
    }
    Ok(())
}

impl Microversions {
    /// The version that a request gets, or a refusal of one that there is not.
    pub(super) fn chosen(&self, ask: &Ask) -> Result<String, Answer> {
        let parts = |text: &str| -> Option<(u32, u32)> {
            let (major, minor) = text.trim().split_once('.')?;
            Some((major.parse().ok()?, minor.parse().ok()?))
        };
        let asked = ask.header(&self.header).map(|it| it.rsplit(' ').next().unwrap_or(it));
        let asked = match asked {
            None => return Ok(self.oldest.clone()),
            Some("latest") => return Ok(self.newest.clone()),
            Some(asked) => asked,
        };
        match parts(asked) {
            Some(version)
                if parts(&self.oldest) <= Some(version) && Some(version) <= parts(&self.newest) =>
            {
                Ok(asked.to_owned())
            }
            _ => {
                let text = format!(
                    "Version {asked} is not supported by the API. Minimum is {} and maximum is {}.",
                    self.oldest, self.newest
                );
                Err(answer::nova(406, text))
            }
        }
    }
}

/// `port_pair` as part of an error's name: `PortPair`.
fn class(wrap: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        letters.next().map(|first| first.to_uppercase().chain(letters).collect::<String>())
    };
    wrap.split('_').filter_map(capital).collect()
}
