//! What a function of the library takes, read from a line of text such as
//! `collection: iterable, predicate: lambda, *more: text?, count: int = 1`.
//!
//! A parameter has a kind; `?` lets null pass; `= …` is a default (`none` is no value at all);
//! `*name` takes all further arguments and `**name` those with names.

use super::expression::Expression;
use super::value::{Part, Value};

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    is_nullable: bool,
    pub(super) default: Default,
}

/// What stands for an argument that is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Default {
    Required,
    Absent,
    Null,
    Bool(bool),
    Int(i128),
    Text(&'static str),
}

/// What an argument may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Bool,
    /// An integer, of which a boolean is one.
    Int,
    /// An integer, a boolean not.
    Integer,
    Number,
    Text,
    /// What has items, text and maps not.
    Iterable,
    /// The same without sets.
    Unset,
    /// What gives its items one by one.
    Iterator,
    Sequence,
    Map,
    Set,
    Ordering,
    Regex,
    Moment,
    Span,
    Context,
    OnlyNull,
    /// `a => b`, evaluated.
    Rule,
    /// `a => b`, not evaluated.
    LazyRule,
    /// An expression, not evaluated.
    Lambda,
}

const KINDS: [(&str, Kind); 21] = [
    ("any", Kind::Any),
    ("bool", Kind::Bool),
    ("int", Kind::Int),
    ("integer", Kind::Integer),
    ("number", Kind::Number),
    ("text", Kind::Text),
    ("iterable", Kind::Iterable),
    ("unset", Kind::Unset),
    ("iterator", Kind::Iterator),
    ("sequence", Kind::Sequence),
    ("map", Kind::Map),
    ("set", Kind::Set),
    ("ordering", Kind::Ordering),
    ("regex", Kind::Regex),
    ("moment", Kind::Moment),
    ("span", Kind::Span),
    ("context", Kind::Context),
    ("null", Kind::OnlyNull),
    ("rule", Kind::Rule),
    ("lazy_rule", Kind::LazyRule),
    ("lambda", Kind::Lambda),
];

/// The parameters of a function.
#[derive(Clone, Debug, Default)]
pub(super) struct Signature {
    pub(super) positional: Vec<Parameter>,
    /// Takes the further arguments.
    pub(super) rest: Option<Parameter>,
    /// Takes the further arguments with names.
    pub(super) named: Option<Parameter>,
}

impl Signature {
    /// Reads a line; none where it is malformed, which a test of the library rules out.
    pub(super) fn read(line: &'static str) -> Option<Self> {
        let mut signature = Signature::default();
        for part in line.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, rest) = part.split_once(':')?;
            let (kind, default) = match rest.split_once('=') {
                Some((kind, default)) => (kind, read_default(default.trim())?),
                None => (rest, Default::Required),
            };
            let kind = kind.trim();
            let is_marked = kind.ends_with('?');
            let kind = KINDS.iter().find(|(word, _)| *word == kind.trim_end_matches('?'))?.1;
            let is_nullable = is_marked
                || default == Default::Null
                || matches!(kind, Kind::Lambda | Kind::OnlyNull);
            let bare = name.trim_start_matches('*');
            let parameter = Parameter { name: bare, kind, is_nullable, default };
            match name.len() - bare.len() {
                0 => signature.positional.push(parameter),
                1 => signature.rest = Some(parameter),
                _ => signature.named = Some(parameter),
            }
        }
        Some(signature)
    }
}

fn read_default(text: &'static str) -> Option<Default> {
    Some(match text {
        "none" => Default::Absent,
        "null" => Default::Null,
        "true" => Default::Bool(true),
        "false" => Default::Bool(false),
        _ => match text.parse() {
            Ok(number) => Default::Int(number),
            Err(_) => Default::Text(text.strip_prefix('\'')?.strip_suffix('\'')?),
        },
    })
}

/// An argument on its way into a function.
#[derive(Clone)]
pub(super) enum Arg {
    /// Left out before another one.
    Absent,
    Expression(std::sync::Arc<Expression>),
    Value(Value),
}

impl Parameter {
    /// Whether the argument is passed on unevaluated.
    pub(super) fn is_lazy(&self) -> bool {
        matches!(self.kind, Kind::Lambda | Kind::LazyRule)
    }

    /// Whether an argument fits, as far as can be said before it is evaluated.
    pub(super) fn may_take(&self, arg: &Arg) -> bool {
        match arg {
            // Not even those that take all further arguments take one that is left out.
            Arg::Absent => self.default != Default::Required,
            Arg::Value(value) => self.takes(value),
            Arg::Expression(expression) => match (self.kind, expression.as_ref()) {
                (Kind::LazyRule, expression) => matches!(expression, Expression::Rule(..)),
                (Kind::Lambda, _) => true,
                (_, expression) => match constant(expression) {
                    Some(value) => self.takes(&value),
                    None => true,
                },
            },
        }
    }

    /// Whether a value fits.
    pub(super) fn takes(&self, value: &Value) -> bool {
        match value {
            Value::Null => self.is_nullable,
            value => self.kind.includes(value),
        }
    }

    /// Whether it asks for more than another one does.
    pub(super) fn is_narrower_than(&self, other: &Parameter) -> bool {
        match (self.kind, other.kind) {
            (Kind::Lambda | Kind::LazyRule, _) | (_, Kind::Lambda | Kind::LazyRule) => false,
            (Kind::Any, _) => false,
            (_, Kind::Any) | (Kind::Bool, Kind::Int) => true,
            (Kind::Sequence | Kind::Set | Kind::Ordering, Kind::Iterable | Kind::Unset) => true,
            _ => false,
        }
    }
}

/// The value of a constant.
pub(super) fn constant(expression: &Expression) -> Option<Value> {
    Some(match expression {
        Expression::Null => Value::Null,
        Expression::Bool(truth) => Value::Bool(*truth),
        Expression::Int(number) => Value::Int(*number),
        Expression::Float(number) => Value::Float(*number),
        Expression::Text(text) | Expression::Keyword(text) => Value::text(text.as_str()),
        Expression::Variable(_)
        | Expression::Wrapped(_)
        | Expression::Call(_)
        | Expression::Operation(_)
        | Expression::Member { .. }
        | Expression::Rule(..) => return None,
    })
}

impl Kind {
    /// Whether a value that is not null is one of the kind.
    pub(super) fn includes(self, value: &Value) -> bool {
        match self {
            Kind::Any | Kind::Lambda => true,
            Kind::Bool => matches!(value, Value::Bool(_)),
            Kind::Int => matches!(value, Value::Int(_) | Value::Bool(_)),
            Kind::Integer => matches!(value, Value::Int(_)),
            Kind::Number => matches!(value, Value::Int(_) | Value::Float(_)),
            Kind::Text => matches!(value, Value::Text(_)),
            Kind::Iterable => is_iterable(value),
            Kind::Unset => is_iterable(value) && !is_set(value),
            Kind::Iterator => matches!(value, Value::Stream(_)),
            Kind::Sequence => matches!(value, Value::List(_)),
            Kind::Map => matches!(value, Value::Map(_)),
            Kind::Set => is_set(value),
            Kind::Ordering => matches!(value, Value::Ordering(_)),
            Kind::Regex => matches!(value, Value::Regex(_)),
            Kind::Moment => matches!(value, Value::Moment(_)),
            Kind::Span => matches!(value, Value::Span(_)),
            Kind::Context => matches!(value, Value::Context(_)),
            Kind::OnlyNull => matches!(value, Value::Null),
            Kind::Rule => matches!(value, Value::Rule(_)),
            Kind::LazyRule => false,
        }
    }
}

/// Whether a value has items to go through, text and maps not.
pub(super) fn is_iterable(value: &Value) -> bool {
    matches!(
        value,
        Value::List(_) | Value::Set(_) | Value::View(_) | Value::Stream(_) | Value::Ordering(_)
    )
}

/// Whether a value is a set; keys and items of a map are.
pub(super) fn is_set(value: &Value) -> bool {
    match value {
        Value::Set(_) => true,
        Value::View(view) => view.part != Part::Values,
        _ => false,
    }
}
