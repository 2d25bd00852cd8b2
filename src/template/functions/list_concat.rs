//! `list_concat` and `list_concat_unique`: one list of several; the latter keeps the first of
//! equal items.

use std::sync::Arc;

use super::{Call, Function, ITEMS_PER_STEP, Scope, misuse};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::work;
use crate::template::{python, walk};

#[derive(Debug)]
struct ListConcat {
    call: Call,
    unique: bool,
}

/// Parses `list_concat`.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(ListConcat { call, unique: false }))
}

/// Parses `list_concat_unique`.
pub(super) fn parse_unique(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(ListConcat { call, unique: true }))
}

impl Function for ListConcat {
    fn call(&self) -> &Call {
        &self.call
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let args = walk::args(self, scope)?;
        let Datum::List(lists) = &args else {
            let name = self.name();
            let example =
                format!("\"{name}\" : [ [ <value 1>, <value 2> ], [ <value 3>, <value 4> ] ]");
            return Err(TemplateError::kind(misuse(name, &example)));
        };
        let mut items = Vec::new();
        for list in lists {
            match list {
                Datum::Null => {}
                Datum::List(more) => items.extend(more.iter().cloned()),
                other => {
                    let message = format!(
                        "Incorrect arguments: Items to concat must be lists. {} contains an item \
                         that is not a list: {}",
                        python::json_text(&args, false),
                        python::json_text(other, false)
                    );
                    return Err(TemplateError::kind(message));
                }
            }
        }
        if self.unique {
            let mut unique: Vec<Datum> = Vec::with_capacity(items.len());
            for item in items {
                work::step(1 + unique.len() / ITEMS_PER_STEP)?;
                if !unique.contains(&item) {
                    unique.push(item);
                }
            }
            items = unique;
        }
        Ok(Some(Datum::List(items)))
    }
}
