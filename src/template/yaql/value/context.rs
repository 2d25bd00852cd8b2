//! What names mean at a place of an expression: `$`, `$name`, and functions that `def` made.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::Value;
use crate::template::error::Outcome;
use crate::template::yaql::expression::Expression;
use crate::template::yaql::machine::{Held, Machine};

/// What evaluates expressions and calls functions by their names. A context is handed it, since
/// functions take expressions and lazy values call functions.
pub(in crate::template::yaql) trait Evaluator {
    /// The value of an expression.
    fn evaluate(
        &self,
        machine: &mut Machine,
        expression: &Arc<Expression>,
        context: &Rc<Context>,
    ) -> Outcome<Value>;

    /// What a function gives for values, or with a receiver a method.
    fn call(
        &self,
        machine: &mut Machine,
        name: &str,
        receiver: Option<Value>,
        args: Vec<Value>,
        named: Vec<(String, Value)>,
        context: &Rc<Context>,
    ) -> Outcome<Value>;
}

/// Names and their values; what it does not know it asks the context around it.
pub(in crate::template::yaql) struct Context {
    evaluator: &'static dyn Evaluator,
    around: Option<Rc<Context>>,
    /// The nearest context around it that has functions.
    definitions: Option<Rc<Context>>,
    names: RefCell<Vec<(String, Value)>>,
    functions: RefCell<Vec<(String, Arc<Expression>)>>,
}

impl Context {
    /// A context within no other one.
    pub(in crate::template::yaql) fn new(evaluator: &'static dyn Evaluator) -> Self {
        let (names, functions) = (RefCell::default(), RefCell::default());
        Self { evaluator, around: None, definitions: None, names, functions }
    }

    /// What evaluates here.
    pub(in crate::template::yaql) fn evaluator(&self) -> &'static dyn Evaluator {
        self.evaluator
    }

    /// A context within another one.
    fn within(around: &Rc<Context>) -> Self {
        let has_functions = !around.functions.borrow().is_empty();
        let definitions =
            if has_functions { Some(Rc::clone(around)) } else { around.definitions.clone() };
        Self { around: Some(Rc::clone(around)), definitions, ..Self::new(around.evaluator) }
    }

    /// Gives a name a value. `$` is `$1`.
    pub(in crate::template::yaql) fn set(&self, name: &str, value: Value) {
        let name = normal(name);
        let mut names = self.names.borrow_mut();
        match names.iter_mut().find(|(known, _)| known == name) {
            Some(entry) => entry.1 = value,
            None => names.push((name.to_owned(), value)),
        }
    }

    /// The value of a name; an unknown one is null.
    pub(in crate::template::yaql) fn get(&self, name: &str) -> Value {
        let name = normal(name);
        let mut context = self;
        loop {
            let names = context.names.borrow();
            if let Some((_, value)) = names.iter().find(|(known, _)| known == name) {
                return value.clone();
            }
            match &context.around {
                Some(around) => context = around,
                None => return Value::Null,
            }
        }
    }

    /// Gives a function a name.
    pub(in crate::template::yaql) fn define(&self, name: String, body: Arc<Expression>) {
        self.functions.borrow_mut().push((name, body));
    }

    /// The functions of a name with the contexts they were made in, the nearest first.
    pub(in crate::template::yaql) fn functions(
        self: &Rc<Self>,
        name: &str,
    ) -> Vec<(Arc<Expression>, Rc<Context>)> {
        let mut found = Vec::new();
        let mut context = Some(self);
        while let Some(here) = context {
            for (known, body) in here.functions.borrow().iter() {
                if known == name {
                    found.push((Arc::clone(body), Rc::clone(here)));
                }
            }
            context = here.definitions.as_ref();
        }
        found
    }
}

impl Held for Context {
    fn clear(&self) {
        self.names.borrow_mut().clear();
    }
}

impl Machine {
    /// A context within another one.
    pub(in crate::template::yaql) fn context(&mut self, around: &Rc<Context>) -> Rc<Context> {
        let context = Rc::new(Context::within(around));
        self.hold(Rc::<Context>::clone(&context));
        context
    }
}

/// A name without the sign that it may start with.
fn normal(name: &str) -> &str {
    match name.strip_prefix('$').unwrap_or(name) {
        "" => "1",
        other => other,
    }
}
