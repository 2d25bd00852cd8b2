//! `if`: one of two values, by a condition. The one not taken is never parsed, so it may hold
//! anything, and it makes no dependencies.

use std::sync::Arc;

use super::table::Position;
use super::{Call, Function, Scope};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::value::Datum;
use crate::template::walk;

/// A call whose choice is made: its arguments are what was chosen.
#[derive(Debug)]
struct If(Call);

/// What parses a node that stands somewhere, with its path for errors.
pub(crate) type Parser = fn(&Node, Position, &Scope<'_>, &mut String) -> Outcome<Node>;

/// Chooses and parses. `nullable`: the third argument may be missing.
pub(crate) fn parse(
    name: &str,
    class: &'static str,
    args: &Node,
    nullable: bool,
    scope: &Scope<'_>,
    path: &mut String,
    parse: Parser,
) -> Outcome<Arc<dyn Function>> {
    let omitted = Node::at(args, Form::Omitted);
    let (condition, then, otherwise) = match args.as_list() {
        Some([condition, then, otherwise]) => (condition, then, otherwise),
        Some([condition, then]) if nullable => (condition, then, &omitted),
        _ => {
            let message = format!(
                "Arguments to \"{name}\" must be of the form: [condition_name, value_if_true, \
                 value_if_false]"
            );
            return Err(TemplateError::value(message));
        }
    };
    let condition = parse(condition, Position::Condition, scope, &mut name.to_owned())?;
    let holds = scope.holds(&walk::resolve(&condition, scope)?)?;
    let chosen = if holds { then } else { otherwise };
    let args = parse(chosen, Position::Value, scope, path)?;
    Ok(Arc::new(If(Call { name: name.to_owned(), class, args })))
}

impl Function for If {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        walk::resolve_nullable(self.args(), scope)
    }
}
