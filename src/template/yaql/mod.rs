//! YAQL, the query language of the function `yaql`: text to an expression, an expression with data
//! to a value. Nothing outside of the data can be reached, and steps, depth and the size of values
//! are bounded.

mod call;
mod dispatch;
mod evaluate;
mod expression;
mod failure;
mod lexer;
mod library;
mod limits;
mod machine;
mod matcher;
mod mismatch;
mod output;
mod parser;
mod print;
mod signature;
mod size;
mod value;

use std::rc::Rc;
use std::sync::Arc;

pub use self::limits::{Limits, limit};

use self::evaluate::Language;
use self::expression::Expression;
use self::machine::Machine;
use self::value::context::Context;
use self::value::{Entries, Value};
use super::error::{Outcome, TemplateError};
use super::value::Datum;
use super::work;

/// How deep an expression may be nested.
const DEPTH_MAX: usize = 100;

/// An expression, ready to be evaluated.
pub(crate) struct Query(Arc<Expression>);

/// Parses an expression.
pub(crate) fn parse(text: &str) -> Outcome<Query> {
    parser::parse(text).map(Query)
}

/// Whether an error says that a text is no expression of the language.
pub(crate) fn is_syntax(error: &TemplateError) -> bool {
    [failure::LEXICAL, failure::GRAMMAR].contains(&error.class.as_ref())
}

impl Query {
    /// The value for data, which the expression knows as `$.data`.
    pub(crate) fn evaluate(&self, data: &Datum) -> Outcome<Datum> {
        let mut machine = Machine::new();
        let context = Rc::new(Context::new(&Language));
        let root = Entries::from([(Value::text("data"), Value::from_datum(data)?)]);
        context.set("$", Value::map(root)?);
        let value = machine.evaluate(&self.0, &context);
        let value = value.and_then(|value| output::datum(&mut machine, value));
        // Where the thread's own steps were fewer, that they are over is what counts.
        work::step(machine.steps_taken() + 1)?;
        value
    }
}
