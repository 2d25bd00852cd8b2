//! What names mean at a place of an expression: `$`, `$name`, and functions that `def` made.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::expression::Expression;
use super::value::Value;

/// Names and their values; what it does not know it asks the context around it.
#[derive(Default)]
pub(super) struct Context {
    around: Option<Rc<Context>>,
    /// The nearest context around it that has functions.
    definitions: Option<Rc<Context>>,
    names: RefCell<Vec<(String, Value)>>,
    functions: RefCell<Vec<(String, Arc<Expression>)>>,
}

impl Context {
    /// A context within another one.
    pub(super) fn within(around: &Rc<Context>) -> Self {
        let has_functions = !around.functions.borrow().is_empty();
        let definitions =
            if has_functions { Some(Rc::clone(around)) } else { around.definitions.clone() };
        Self { around: Some(Rc::clone(around)), definitions, ..Self::default() }
    }

    /// Gives a name a value. `$` is `$1`.
    pub(super) fn set(&self, name: &str, value: Value) {
        let name = normal(name);
        let mut names = self.names.borrow_mut();
        match names.iter_mut().find(|(known, _)| known == name) {
            Some(entry) => entry.1 = value,
            None => names.push((name.to_owned(), value)),
        }
    }

    /// The value of a name; an unknown one is null.
    pub(super) fn get(&self, name: &str) -> Value {
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
    pub(super) fn define(&self, name: String, body: Arc<Expression>) {
        self.functions.borrow_mut().push((name, body));
    }

    /// The functions of a name with the contexts they were made in, the nearest first.
    pub(super) fn functions(self: &Rc<Self>, name: &str) -> Vec<(Arc<Expression>, Rc<Context>)> {
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

    /// Forgets all names.
    pub(super) fn clear(&self) {
        self.names.borrow_mut().clear();
    }
}

/// A name without the sign that it may start with.
fn normal(name: &str) -> &str {
    match name.strip_prefix('$').unwrap_or(name) {
        "" => "1",
        other => other,
    }
}
