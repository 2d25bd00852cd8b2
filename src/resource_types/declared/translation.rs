//! Translation of properties before they are used: an older name gives its value to the newer one,
//! and a name is looked up where an id is wanted.

use serde::Deserialize;
use serde_json::{Value, json};

use super::Declaration;
use super::flat::WrittenTranslation;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::python;

/// One rule. Paths are dotted and pass through lists: `fixed_ips.subnet`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WrittenTranslation")]
pub enum Translation {
    /// The value of the sibling `with` stands for the property at `replace`.
    Replace { replace: String, with: String },
    /// The value of `from`, where it is set, is one more item of `add`.
    Add { add: String, from: String },
    /// The property goes.
    Delete { delete: String },
    /// The value at `resolve` is a name or an id; `finder` gives the id.
    Resolve { resolve: String, finder: String },
    /// The value at `same` is a name or an id, and the service takes either: it is looked up where
    /// an update writes one for the other, and nowhere else.
    Same { same: String, finder: String },
}

impl Translation {
    /// The path of a name or an id, and what finds the id of it.
    fn name(&self) -> Option<(&str, &str)> {
        match self {
            Self::Resolve { resolve: path, finder } | Self::Same { same: path, finder } => {
                Some((path, finder))
            }
            Self::Replace { .. } | Self::Add { .. } | Self::Delete { .. } => None,
        }
    }

    /// The path of a name that may stand for an id.
    pub fn named(&self) -> Option<&str> {
        self.name().map(|(path, _)| path)
    }
}

impl Declaration {
    /// The properties with older names replaced by newer ones, which they may be one more item of.
    pub fn translated(&self, mut properties: JsonMap) -> JsonMap {
        for rule in &self.translation {
            match rule {
                Translation::Replace { replace, with } => {
                    let path: Vec<&str> = replace.split('.').collect();
                    rename(&mut properties, &path, with);
                }
                Translation::Add { add, from } => {
                    let value = properties.shift_remove(from);
                    if let Some(value) = value.filter(|value| !value.is_null()) {
                        match properties.get_mut(add) {
                            Some(Value::Array(items)) => items.push(value),
                            _ => drop(properties.insert(add.clone(), json!([value]))),
                        }
                    }
                }
                Translation::Delete { .. }
                | Translation::Resolve { .. }
                | Translation::Same { .. } => {}
            }
        }
        properties
    }

    /// The newer names of those of the properties that have one.
    pub(crate) fn newer_names(&self, names: &[String]) -> Vec<String> {
        let newer = |rule: &Translation| match rule {
            Translation::Replace { replace: newer, with: older }
            | Translation::Add { add: newer, from: older }
                if names.contains(older) =>
            {
                Some(newer.clone())
            }
            _ => None,
        };
        self.translation.iter().filter_map(newer).collect()
    }

    /// The same with names looked up where ids are wanted.
    pub(crate) fn resolved(
        &self,
        cloud: &Asks<'_>,
        properties: JsonMap,
    ) -> Result<JsonMap, Failure> {
        self.found(cloud, properties, |rule, _| matches!(rule, Translation::Resolve { .. }))
    }

    /// The same with names looked up in some of the properties, also where the service takes them;
    /// the others stay as they are.
    pub(super) fn compared_in(
        &self,
        cloud: &Asks<'_>,
        properties: JsonMap,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<JsonMap, Failure> {
        self.found(cloud, properties, |_, name| is_wanted(name))
    }

    fn found(
        &self,
        cloud: &Asks<'_>,
        properties: JsonMap,
        is_wanted: impl Fn(&Translation, &str) -> bool,
    ) -> Result<JsonMap, Failure> {
        let mut properties = self.translated(properties);
        for rule in &self.translation {
            let Some((path, finder)) = rule.name() else { continue };
            // A finder may go by what another property says.
            let finder = match finder
                .split_once('{')
                .and_then(|(start, rest)| Some((start, properties.get(rest.strip_suffix('}')?)?)))
            {
                Some((start, value)) => &format!("{start}{}", python::text(value)),
                None => finder,
            };
            let path: Vec<&str> = path.split('.').collect();
            let mut places = Vec::new();
            if let [name, rest @ ..] = path.as_slice()
                && is_wanted(rule, name)
                && let Some(value) = properties.get_mut(*name)
            {
                collect(value, rest, &mut places);
            }
            for place in places {
                if let Value::String(text) = place
                    && !text.is_empty()
                {
                    match self.finders.find(cloud, finder, text) {
                        Ok(id) => *text = id,
                        // The service says what it thinks of a name.
                        Err(error)
                            if matches!(rule, Translation::Same { .. })
                                && !error.is_transient() => {}
                        Err(error) => return Err(error),
                    }
                }
            }
        }
        Ok(properties)
    }
}

/// Moves the value of `from` to the end of the path, in each map that the path reaches.
pub(super) fn rename(map: &mut JsonMap, path: &[&str], from: &str) {
    match path {
        [] => {}
        [name] => {
            if let Some(value) = map.shift_remove(from)
                && !value.is_null()
            {
                map.insert((*name).to_owned(), value);
            }
        }
        [step, rest @ ..] => match map.get_mut(*step) {
            Some(Value::Object(inner)) => rename(inner, rest, from),
            Some(Value::Array(items)) => {
                for item in items {
                    if let Value::Object(inner) = item {
                        rename(inner, rest, from);
                    }
                }
            }
            _ => {}
        },
    }
}

/// Every value that the path reaches; at its end, the items of a list one by one.
fn collect<'a>(value: &'a mut Value, path: &[&str], places: &mut Vec<&'a mut Value>) {
    match value {
        Value::Array(items) => {
            for item in items {
                collect(item, path, places);
            }
        }
        Value::Object(map) => {
            if let [step, rest @ ..] = path
                && let Some(inner) = map.get_mut(*step)
            {
                collect(inner, rest, places);
            }
        }
        leaf if path.is_empty() => places.push(leaf),
        _ => {}
    }
}
