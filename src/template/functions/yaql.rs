//! `yaql`: the value of a YAQL expression on data.

use std::sync::Arc;

use ecow::EcoString;

use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::value::{Datum, DatumMap};
use crate::template::walk;
use crate::template::yaql::{self, Query};

#[derive(Debug)]
struct Yaql(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    let Some(args) = call.args.as_map() else {
        return Err(TemplateError::kind(format!("Arguments to \"{name}\" must be a map.")));
    };
    let knows = |key: &EcoString| key == "expression" || key == "data";
    if !(args.contains_key("expression") && args.keys().all(knows)) {
        let indent = " ".repeat(14);
        let example = format!(
            "{name}:\n{indent}expression: $.data.var1.sum()\n{indent}data:\n{indent}  var1: [3, \
             2, 1]"
        );
        return Err(TemplateError::key(&format!("\"{name}\" syntax should be {example}")));
    }
    Ok(Arc::new(Yaql(call)))
}

impl Yaql {
    fn part(&self, key: &str) -> Option<&Node> {
        self.args().get(key)
    }

    fn query(&self, expression: &Datum) -> Outcome<Query> {
        let Datum::Text(text) = expression else {
            let name = self.name();
            let message = format!("The \"expression\" argument to {name} must contain a string.");
            return Err(TemplateError::kind(message));
        };
        yaql::parse(text).map_err(|error| {
            if yaql::is_syntax(&error) {
                TemplateError::value(format!("Bad expression {}.", error.message))
            } else {
                error
            }
        })
    }
}

impl Function for Yaql {
    fn call(&self) -> &Call {
        &self.0
    }

    fn check(&self, _scope: &Scope<'_>) -> Outcome<()> {
        match self.part("expression") {
            Some(node) if !matches!(node.form, Form::Call(_)) => {
                self.query(&node.to_datum()).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let part = |key| self.part(key).map(|node| walk::resolve(node, scope)).transpose();
        let query = self.query(&part("expression")?.unwrap_or(Datum::Null))?;
        let data = part("data")?.unwrap_or_else(|| Datum::Map(DatumMap::default()));
        query.evaluate(&data).map(Some)
    }
}
