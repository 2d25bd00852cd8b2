//! Evaluates expressions.

use std::rc::Rc;
use std::sync::Arc;

use super::call;
use super::dispatch;
use super::expression::{Expression, Operation};
use super::failure;
use super::limits;
use super::machine::Machine;
use super::mismatch;
use super::print;
use super::signature::{Arg, constant, is_iterable};
use super::value::Value;
use super::value::context::{Context, Evaluator};
use super::value::stream::{Cursor, limited};
use crate::template::error::Outcome;

/// The language with its library.
pub(super) struct Language;

impl Evaluator for Language {
    fn evaluate(
        &self,
        machine: &mut Machine,
        expression: &Arc<Expression>,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        machine.evaluate(expression, context)
    }

    fn call(
        &self,
        machine: &mut Machine,
        name: &str,
        receiver: Option<Value>,
        args: Vec<Value>,
        named: Vec<(String, Value)>,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        let args = args.into_iter().map(Arg::Value).collect();
        let named = named.into_iter().map(|(name, value)| (name, Arg::Value(value))).collect();
        dispatch::call(machine, name, receiver, args, named, context)
    }
}

impl Machine {
    /// Evaluates an expression.
    pub(super) fn evaluate(
        &mut self,
        expression: &Arc<Expression>,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        self.step(1)?;
        match expression.as_ref() {
            Expression::Wrapped(inside) => self.evaluate(inside, context),
            Expression::Variable(name) => self.variable(name, context),
            Expression::Call(operation) | Expression::Operation(operation) => {
                self.enter()?;
                let value = self.operate(operation, None, context);
                self.leave();
                value
            }
            Expression::Member { receiver, member, optional } => {
                self.enter()?;
                let value = self.member_of(receiver, member, *optional, context);
                self.leave();
                value
            }
            Expression::Rule(source, destination) => {
                self.enter()?;
                let value = self.rule(source, destination, context);
                self.leave();
                value
            }
            plain => Ok(constant(plain).unwrap_or(Value::Null)),
        }
    }

    fn variable(&mut self, name: &str, context: &Rc<Context>) -> Outcome<Value> {
        let value = context.get(name);
        self.limit_memory(&value)?;
        Ok(value)
    }

    fn rule(
        &mut self,
        source: &Arc<Expression>,
        destination: &Arc<Expression>,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        let source = self.evaluate(source, context)?;
        let destination = self.evaluate(destination, context)?;
        Ok(Value::Rule(Rc::new((source, destination))))
    }

    fn member_of(
        &mut self,
        receiver: &Arc<Expression>,
        member: &Arc<Expression>,
        optional: bool,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        let receiver = self.evaluate(receiver, context)?;
        if optional && matches!(receiver, Value::Null) {
            return Ok(Value::Null);
        }
        self.member(receiver, member, context)
    }

    fn operate(
        &mut self,
        operation: &Operation,
        receiver: Option<Value>,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        let args = operation.args.iter().map(|arg| match arg {
            Some(expression) => Arg::Expression(Arc::clone(expression)),
            None => Arg::Absent,
        });
        dispatch::call(self, &operation.name, receiver, args.collect(), Vec::new(), context)
    }

    /// What stands behind a dot: a method's call, or a name.
    fn member(
        &mut self,
        receiver: Value,
        member: &Arc<Expression>,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        match member.as_ref() {
            Expression::Call(operation) => {
                self.limit_memory(&receiver)?;
                self.operate(operation, Some(receiver), context)
            }
            Expression::Keyword(name) => self.named_member(receiver, name, context),
            _ => Err(mismatch::no_match("#operator_.", None)),
        }
    }

    /// The entry of a map, that of each item of a collection, or a property.
    fn named_member(
        &mut self,
        receiver: Value,
        name: &str,
        context: &Rc<Context>,
    ) -> Outcome<Value> {
        self.limit_memory(&receiver)?;
        if let Value::Map(map) = &receiver {
            let key = Value::text(name);
            let value =
                map.entries.get(&key).cloned().ok_or_else(|| failure::key(print::repr(&key)))?;
            self.limit_memory(&value)?;
            return Ok(value);
        }
        if is_iterable(&receiver) {
            let collection = limited(self, receiver, limits::iterators())?;
            let mut cursor = Cursor::over(self, &collection)?;
            let (name, context) = (name.to_owned(), Rc::clone(context));
            return Ok(self.stream(move |machine| match cursor.next(machine)? {
                Some(item) => machine.named_member(item, &name, &context).map(Some),
                None => Ok(None),
            }));
        }
        call::apply(self, &format!("#property#{name}"), None, vec![receiver], context)
    }
}
