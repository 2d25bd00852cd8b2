//! A call on its way into a function: its arguments, and the ways back to expressions and other
//! functions.

use std::rc::Rc;
use std::sync::Arc;

use super::expression::Expression;
use super::machine::Machine;
use super::signature::Arg;
use super::value::context::Context;
use super::value::stream::Cursor;
use super::value::{Entries, Value};
use crate::template::error::Outcome;

/// An expression that a function evaluates itself, with the context it stands in.
#[derive(Clone)]
pub(super) struct Lambda {
    pub(super) body: Arg,
    pub(super) context: Rc<Context>,
}

/// An argument as a function has it.
pub(super) enum Slot {
    Absent,
    Value(Value),
    Lambda(Lambda),
    Rule(Lambda, Lambda),
}

/// A call on its way into a function of the library. What a signature promises holds, so that the
/// readers below have an answer for each argument.
pub(super) struct Call<'a> {
    pub(super) machine: &'a mut Machine,
    /// A fresh context, within that of the caller.
    pub(super) context: Rc<Context>,
    pub(super) args: Vec<Slot>,
    pub(super) rest: Vec<Slot>,
    pub(super) named: Vec<(String, Slot)>,
}

impl Call<'_> {
    /// An argument's value; null where it was left out.
    pub(super) fn value(&self, at: usize) -> Value {
        self.given(at).unwrap_or(Value::Null)
    }

    /// An argument's value, if it was given.
    pub(super) fn given(&self, at: usize) -> Option<Value> {
        match self.args.get(at) {
            Some(Slot::Value(value)) => Some(value.clone()),
            _ => None,
        }
    }

    /// The values of the further arguments.
    pub(super) fn rest(&self) -> Vec<Value> {
        let values = self.rest.iter().map(|slot| match slot {
            Slot::Value(value) => value.clone(),
            _ => Value::Null,
        });
        values.collect()
    }

    /// The further arguments that are lambdas.
    pub(super) fn lambdas(&mut self) -> Vec<Lambda> {
        let lambdas = self.rest.drain(..).filter_map(|slot| match slot {
            Slot::Lambda(lambda) => Some(lambda),
            _ => None,
        });
        lambdas.collect()
    }

    /// A text; none for null.
    pub(super) fn text(&self, at: usize) -> Option<Rc<str>> {
        match self.args.get(at) {
            Some(Slot::Value(Value::Text(text))) => Some(Rc::clone(text)),
            _ => None,
        }
    }

    /// A text that cannot be null.
    pub(super) fn string(&self, at: usize) -> Rc<str> {
        self.text(at).unwrap_or_default()
    }

    /// An integer; booleans are integers.
    pub(super) fn int(&self, at: usize) -> i128 {
        self.value(at).as_whole().unwrap_or_default()
    }

    /// A boolean, or Python's truth of another value.
    pub(super) fn truth(&self, at: usize) -> bool {
        self.value(at).is_truthy()
    }

    /// A lambda; none where it was left out or is null.
    pub(super) fn lambda(&self, at: usize) -> Option<Lambda> {
        match self.args.get(at) {
            Some(Slot::Lambda(lambda)) => Some(lambda.clone()),
            _ => None,
        }
    }

    /// The entries of a map.
    pub(super) fn entries(&self, at: usize) -> Entries {
        match self.args.get(at) {
            Some(Slot::Value(Value::Map(map))) => map.entries.clone(),
            _ => Entries::new(),
        }
    }

    /// A cursor over a collection.
    pub(super) fn cursor(&mut self, at: usize) -> Outcome<Cursor> {
        let collection = self.value(at);
        Cursor::over(self.machine, &collection)
    }

    /// All items of a collection.
    pub(super) fn items(&mut self, at: usize) -> Outcome<Vec<Value>> {
        self.cursor(at)?.rest(self.machine)
    }

    /// Whether an argument is a tuple, or another list.
    pub(super) fn list(&self, at: usize) -> Option<Rc<super::value::List>> {
        match self.args.get(at) {
            Some(Slot::Value(Value::List(list))) => Some(Rc::clone(list)),
            _ => None,
        }
    }

    /// The value of a lambda.
    pub(super) fn invoke(&mut self, lambda: &Lambda, args: &[Value]) -> Outcome<Value> {
        self.machine.invoke(lambda, args)
    }

    /// Another function of the library for values, as the expression sees it.
    pub(super) fn apply(&mut self, name: &str, args: Vec<Value>) -> Outcome<Value> {
        apply(self.machine, name, None, args, &self.context)
    }
}

/// Calls a function with values.
pub(super) fn apply(
    machine: &mut Machine,
    name: &str,
    receiver: Option<Value>,
    args: Vec<Value>,
    context: &Rc<Context>,
) -> Outcome<Value> {
    context.evaluator().call(machine, name, receiver, args, Vec::new(), context)
}

impl Machine {
    /// The value of a lambda for arguments, which it knows as `$1`, `$2` and so on.
    pub(super) fn invoke(&mut self, lambda: &Lambda, args: &[Value]) -> Outcome<Value> {
        let body = match &lambda.body {
            Arg::Expression(body) => body,
            Arg::Value(value) => return Ok(value.clone()),
            Arg::Absent => return Ok(Value::Null),
        };
        let context = self.context(&lambda.context);
        for (index, arg) in args.iter().enumerate() {
            context.set(&(index + 1).to_string(), arg.clone());
        }
        self.invoke_body(body, &context)
    }

    /// The value of a lambda in a context of the caller's.
    pub(super) fn invoke_within(
        &mut self,
        lambda: &Lambda,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        match &lambda.body {
            Arg::Expression(body) => self.invoke_body(body, context),
            Arg::Value(value) => Ok(value.clone()),
            Arg::Absent => Ok(Value::Null),
        }
    }

    fn invoke_body(&mut self, body: &Arc<Expression>, context: &Rc<Context>) -> Outcome<Value> {
        self.enter()?;
        let value = context.evaluator().evaluate(self, body, context);
        self.leave();
        value
    }
}
