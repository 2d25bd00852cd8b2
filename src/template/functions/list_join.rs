//! `list_join`: the texts of a list with a delimiter between them; since 2015-10-15 of several
//! lists, with maps and lists in them as JSON.

use std::sync::Arc;

use super::{Call, Function, Scope, cut, misuse};
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use crate::template::{python, walk};

#[derive(Debug)]
struct ListJoin {
    call: Call,
    /// Whether it takes several lists, and JSON in them.
    many: bool,
}

/// Parses `[delimiter, list]`.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    let example =
        || misuse(&call.name, &format!("\"{}\" : [ \" \", [ \"str1\", \"str2\"]]", call.name));
    match call.args.as_list() {
        None => Err(TemplateError::kind(example())),
        Some([_, _]) => Ok(Arc::new(ListJoin { call, many: false })),
        Some(_) => Err(TemplateError::value(example())),
    }
}

/// Parses `[delimiter, list, list…]`.
pub(super) fn parse_many(call: Call) -> Outcome<Arc<dyn Function>> {
    let example =
        || misuse(&call.name, &format!("\"{}\" : [ \" \", [ \"str1\", \"str2\"] ...]", call.name));
    match call.args.as_list() {
        None => Err(TemplateError::kind(example())),
        Some([_, _, ..]) => Ok(Arc::new(ListJoin { call, many: true })),
        Some(_) => Err(TemplateError::value(example())),
    }
}

impl ListJoin {
    fn text(&self, item: &Datum) -> Outcome<String> {
        let shown = || cut(&python::repr(item), 200);
        match item {
            Datum::Null => Ok(String::new()),
            Datum::Text(text) => Ok(text.to_string()),
            Datum::List(_) | Datum::Map(_) if self.many => Ok(python::json_text(item, true)),
            _ if self.many => Err(TemplateError::kind(format!(
                "Items to join must be string, map or list not {}",
                shown()
            ))),
            _ => Err(TemplateError::kind(format!("Items to join must be strings not {}", shown()))),
        }
    }
}

impl Function for ListJoin {
    fn call(&self) -> &Call {
        &self.call
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let Some([delimiter, lists @ ..]) = self.args().as_list() else {
            return Ok(Some(Datum::Null));
        };
        let mut items = Vec::new();
        for list in lists {
            match walk::resolve_nullable(list, scope)? {
                None | Some(Datum::Null) => {}
                Some(Datum::List(more)) => items.extend(more),
                // Of several, an empty one of any kind is passed over.
                Some(other) if self.many && !other.is_truthy() => {}
                Some(_) => {
                    let message = format!("\"{name}\" must operate on a list");
                    return Err(TemplateError::kind(message));
                }
            }
        }
        let Datum::Text(delimiter) = walk::resolve(delimiter, scope)? else {
            return Err(TemplateError::kind(format!("\"{name}\" delimiter must be a string")));
        };
        let texts: Vec<String> =
            items.iter().map(|item| self.text(item)).collect::<Outcome<_>>()?;
        scope.budget.spend(delimiter.len().saturating_mul(texts.len()))?;
        Ok(Some(Datum::Text(texts.join(&delimiter).into())))
    }
}
