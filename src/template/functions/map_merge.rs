//! `map_merge`: one map of several, the later ones winning.

use std::sync::Arc;

use super::{Call, Function, Scope, cut, misuse};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::{Datum, DatumMap};
use crate::template::{python, walk};

#[derive(Debug)]
struct MapMerge(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(MapMerge(call)))
}

impl Function for MapMerge {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let maps = match walk::args(self, scope)? {
            Datum::List(maps) => maps,
            // A text is a sequence too, of items that are no maps.
            Datum::Text(text) => text.chars().map(|c| Datum::Text(c.to_string().into())).collect(),
            _ => {
                let name = self.name();
                let example =
                    format!("\"{name}\" : [ {{ \"key1\": \"val1\" }}, {{ \"key2\": \"val2\" }} ]");
                return Err(TemplateError::kind(misuse(name, &example)));
            }
        };
        let mut merged = DatumMap::default();
        for map in maps {
            match map {
                Datum::Null => {}
                Datum::Map(map) => merged.extend(map),
                other => {
                    let message = format!(
                        "Incorrect arguments: Items to merge must be maps. {} is type <class '{}'> \
                         instead of a dict",
                        cut(&python::repr(&other), 200),
                        python::type_name(&other)
                    );
                    return Err(TemplateError::kind(message));
                }
            }
        }
        Ok(Some(Datum::Map(merged)))
    }
}
