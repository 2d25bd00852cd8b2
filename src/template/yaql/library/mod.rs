//! The functions that expressions know, by theme: a table each, of the ways to call a function,
//! its names, what it takes, and what it does.

mod branching;
mod comparison;
mod dicts;
mod generating;
mod grouping;
mod lists;
mod math;
mod moments;
pub(super) mod ordering;
mod queries;
pub(super) mod regex;
mod searching;
mod sets;
mod strings;
pub(super) mod system;
pub(super) mod time;
mod timetext;

use std::collections::HashMap;
use std::sync::LazyLock;

use super::call::Call;
use super::signature::Signature;
use super::value::Value;
use crate::template::error::Outcome;

/// What a function does.
type Body = fn(&mut Call<'_>) -> Outcome<Value>;

/// How a function is called.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// `name(…)`.
    Function,
    /// `value.name(…)`.
    Method,
    /// Both.
    Either,
}

/// A line of a table.
struct Entry {
    way: Way,
    /// One or more, with spaces between.
    names: &'static str,
    takes: &'static str,
    /// Whether arguments may have names; if not, `a => b` is an argument itself.
    takes_names: bool,
    body: Body,
}

const fn function(names: &'static str, takes: &'static str, body: Body) -> Entry {
    Entry { way: Way::Function, names, takes, takes_names: true, body }
}

const fn method(names: &'static str, takes: &'static str, body: Body) -> Entry {
    Entry { way: Way::Method, names, takes, takes_names: true, body }
}

const fn either(names: &'static str, takes: &'static str, body: Body) -> Entry {
    Entry { way: Way::Either, names, takes, takes_names: true, body }
}

impl Entry {
    /// Whose arguments have no names.
    const fn without_names(self) -> Self {
        Self { takes_names: false, ..self }
    }
}

/// A function, ready to be called.
pub(super) struct Definition {
    way: Way,
    pub(super) signature: Signature,
    pub(super) takes_names: bool,
    pub(super) body: Body,
}

impl Definition {
    /// Whether it can be called so.
    pub(super) fn is(&self, method: bool) -> bool {
        self.way == Way::Either || (self.way == Way::Method) == method
    }
}

const TABLES: [&[Entry]; 15] = [
    branching::FUNCTIONS,
    comparison::FUNCTIONS,
    dicts::FUNCTIONS,
    generating::FUNCTIONS,
    grouping::FUNCTIONS,
    lists::FUNCTIONS,
    math::FUNCTIONS,
    moments::FUNCTIONS,
    ordering::FUNCTIONS,
    queries::FUNCTIONS,
    regex::FUNCTIONS,
    searching::FUNCTIONS,
    sets::FUNCTIONS,
    strings::FUNCTIONS,
    system::FUNCTIONS,
];

static LIBRARY: LazyLock<HashMap<&'static str, Vec<Definition>>> = LazyLock::new(|| {
    let mut library: HashMap<&'static str, Vec<Definition>> = HashMap::new();
    for entry in TABLES.into_iter().flatten() {
        for name in entry.names.split(' ') {
            library.entry(name).or_default().extend(define(entry));
        }
    }
    library
});

fn define(entry: &Entry) -> Option<Definition> {
    let &Entry { way, takes, takes_names, body, .. } = entry;
    Some(Definition { way, signature: Signature::read(takes)?, takes_names, body })
}

/// The functions of a name.
pub(super) fn lookup(name: &str) -> &'static [Definition] {
    LIBRARY.get(name).map_or(&[], Vec::as_slice)
}

/// How every function that `def` made is called.
pub(super) fn defined() -> &'static Definition {
    static DEFINED: LazyLock<Definition> = LazyLock::new(|| Definition {
        way: Way::Function,
        signature: Signature::read("*args: any?, **named: any?").unwrap_or_default(),
        takes_names: true,
        body: |_| Ok(Value::Null),
    });
    &DEFINED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_tables_can_be_read() {
        for entry in TABLES.into_iter().flatten() {
            assert!(Signature::read(entry.takes).is_some(), "{}: {}", entry.names, entry.takes);
        }
    }
}
