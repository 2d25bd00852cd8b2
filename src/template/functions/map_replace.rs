//! `map_replace`: a map with some keys and values replaced.

use std::sync::Arc;

use super::{Call, Function, Scope, misuse, unhashable};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::{Datum, DatumMap};
use crate::template::walk;

#[derive(Debug)]
struct MapReplace(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(MapReplace(call)))
}

impl MapReplace {
    fn example(&self) -> String {
        let name = self.name();
        format!(
            "\"{name}\" : [ {{ \"key1\": \"val1\" }}, {{\"keys\": {{\"key1\": \"key2\"}}, \
             \"values\": {{\"val1\": \"val2\"}}}}]"
        )
    }

    fn map(&self, value: Datum) -> Outcome<DatumMap> {
        match value {
            Datum::Null => Ok(DatumMap::default()),
            Datum::Map(map) => Ok(map),
            _ => Err(TemplateError::kind(format!(
                "Incorrect arguments: to \"{}\", arguments must be a list of maps. Example:  {}",
                self.name(),
                self.example()
            ))),
        }
    }
}

impl Function for MapReplace {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let usage = || misuse(self.name(), &self.example());
        let Datum::List(args) = walk::args(self, scope)? else {
            return Err(TemplateError::kind(usage()));
        };
        let mut args = args.into_iter();
        let mut next = || args.next().ok_or_else(|| TemplateError::kind(usage()));
        let input = self.map(next()?)?;
        let mut replacements = self.map(next()?)?;
        if args.next().is_some() {
            return Err(TemplateError::kind(usage()));
        }
        if replacements.keys().any(|key| !matches!(key.as_str(), "keys" | "values")) {
            return Err(TemplateError::value(usage()));
        }
        let mut part = |key: &str| self.map(replacements.swap_remove(key).unwrap_or(Datum::Null));
        let (keys, values) = (part("keys")?, part("values")?);
        let mut output = DatumMap::default();
        for (key, value) in &input {
            let renamed = match keys.get(key) {
                None | Some(Datum::Null) => key.clone(),
                Some(new) => {
                    if let Some(error) = unhashable(new) {
                        return Err(error);
                    }
                    let new = super::super::python::text_of(new);
                    let collision = |side: &str| {
                        TemplateError::value(format!(
                            "key replacement {new} collides with a key in the {side} map"
                        ))
                    };
                    if input.contains_key(new.as_str()) && new != key.as_str() {
                        return Err(collision("input"));
                    }
                    if output.contains_key(new.as_str()) {
                        return Err(collision("output"));
                    }
                    new.into()
                }
            };
            // Keys of a map are text here, so that only text is ever found among them.
            let replaced = value.as_text().and_then(|text| values.get(text));
            scope.budget.spend(replaced.map_or(0, Datum::bytes))?;
            output.insert(renamed, replaced.unwrap_or(value).clone());
        }
        Ok(Some(Datum::Map(output)))
    }
}
