//! An expression as a tree.

use std::sync::Arc;

/// A part of an expression.
#[derive(Debug)]
pub(super) enum Expression {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    /// A bare name, which is text wherever no name is asked for.
    Keyword(String),
    /// `$`, `$1`, `$name`, as written.
    Variable(String),
    /// Something in parentheses.
    Wrapped(Arc<Expression>),
    /// A call by name, the only thing that can follow a dot as a method.
    Call(Operation),
    /// An operator, an index, a list or a map: a call of a function with a reserved name.
    Operation(Operation),
    /// `receiver.member`, or `receiver?.member`, which passes null on.
    Member {
        receiver: Arc<Expression>,
        member: Arc<Expression>,
        optional: bool,
    },
    /// `source => destination`.
    Rule(Arc<Expression>, Arc<Expression>),
}

/// A function's name and its arguments; none where one is left out.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) args: Vec<Option<Arc<Expression>>>,
}
