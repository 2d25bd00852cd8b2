//! Evaluates expressions, within bounds on steps and depth.

use std::rc::Rc;
use std::sync::Arc;

use super::call::{self, Lambda};
use super::context::Context;
use super::expression::{Expression, Operation};
use super::failure;
use super::library::ordering::Ordering;
use super::limits;
use super::signature::{Arg, constant, is_iterable};
use super::size;
use super::stream::{Cursor, Producer, Stream, limited};
use super::value::Value;
use crate::template::error::Outcome;
use crate::template::work;

/// How many elements of a collection an expression may go through: Heat's default of the option
/// `limit_iterators`.
pub(super) const LIMIT_ITERATORS: usize = 200;
/// How large, in bytes, a single value may get: Heat's default of the option `memory_quota`.
pub(super) const MEMORY_QUOTA: usize = 10_000;
/// How many steps an expression may take. A value costs more the larger it is.
const STEPS_MAX: usize = 400_000;
/// The bytes of a value that cost as much as a step.
const BYTES_PER_STEP: usize = 64;
/// The values within a value that cost as much as a step.
const WEIGHT_PER_STEP: usize = 32;
/// How deep evaluations may be nested in each other.
const EVALUATIONS_MAX: usize = 120;

/// The state of an evaluation.
pub(super) struct Machine {
    steps_left: usize,
    steps_max: usize,
    depth: usize,
    kept: Vec<Kept>,
}

/// What may hold on to a long chain of others. All of it is held here until the end, so that none
/// falls with the one before it, the whole chain deep down the stack.
enum Kept {
    Stream(Rc<Stream>),
    Context(Rc<Context>),
    Ordering(Rc<Ordering>),
}

impl Drop for Machine {
    fn drop(&mut self) {
        for kept in &self.kept {
            match kept {
                Kept::Stream(stream) => stream.clear(),
                Kept::Context(context) => context.clear(),
                Kept::Ordering(ordering) => ordering.clear(),
            }
        }
        // The newest first: it refers to older ones, which are still held.
        while self.kept.pop().is_some() {}
    }
}

impl Machine {
    pub(super) fn new() -> Self {
        let steps_max = work::steps_left().min(STEPS_MAX);
        Self { steps_left: steps_max, steps_max, depth: 0, kept: Vec::new() }
    }

    /// How many steps it took.
    pub(super) fn steps_taken(&self) -> usize {
        self.steps_max - self.steps_left
    }

    /// Counts steps.
    pub(super) fn step(&mut self, steps: usize) -> Outcome<()> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or_else(failure::steps)?;
        Ok(())
    }

    /// Goes one level deeper, until `leave`.
    pub(super) fn enter(&mut self) -> Outcome<()> {
        if self.depth >= EVALUATIONS_MAX {
            return Err(failure::depth());
        }
        self.depth += 1;
        Ok(())
    }

    /// Comes back from a level.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// A lazy iterator.
    pub(super) fn stream(
        &mut self,
        producer: impl FnMut(&mut Machine) -> Outcome<Option<Value>> + 'static,
    ) -> Value {
        self.keep_stream(Box::new(producer), false)
    }

    /// A lazy iterator that can be gone through more than once.
    pub(super) fn remembering(&mut self, mut cursor: Cursor) -> Value {
        self.keep_stream(Box::new(move |machine| cursor.next(machine)), true)
    }

    fn keep_stream(&mut self, producer: Producer, remembers: bool) -> Value {
        let stream = Rc::new(Stream::new(producer, remembers));
        self.kept.push(Kept::Stream(Rc::clone(&stream)));
        Value::Stream(stream)
    }

    /// A context within another one.
    pub(super) fn context(&mut self, around: &Rc<Context>) -> Rc<Context> {
        let context = Rc::new(Context::within(around));
        self.kept.push(Kept::Context(Rc::clone(&context)));
        context
    }

    /// An ordering, held until the end.
    pub(super) fn ordering(&mut self, ordering: Ordering) -> Value {
        let ordering = Rc::new(ordering);
        self.kept.push(Kept::Ordering(Rc::clone(&ordering)));
        Value::Ordering(ordering)
    }

    /// Refuses a value over the memory quota.
    pub(super) fn limit_memory(&mut self, value: &Value) -> Outcome<()> {
        self.step(value.weight() / WEIGHT_PER_STEP)?;
        self.limit_bytes(size::bytes(value))
    }

    /// Refuses a size over the memory quota.
    pub(super) fn limit_bytes(&mut self, bytes: usize) -> Outcome<()> {
        self.step(bytes / BYTES_PER_STEP)?;
        if bytes > limits::memory_quota() { Err(failure::memory()) } else { Ok(()) }
    }

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
        call::call(self, &operation.name, receiver, args.collect(), Vec::new(), context)
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
            _ => Err(failure::no_match("#operator_.", None)),
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
            let value = map.entries.get(&key).cloned().ok_or_else(|| failure::key(&key))?;
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
        let value = self.evaluate(body, context);
        self.leave();
        value
    }
}
