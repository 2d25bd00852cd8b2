//! Values of an expression: those of the template language, and those that only expressions have.
//! Equality, order of keys and hashing are Python's.

pub(super) mod context;
pub(super) mod ordering;
pub(super) mod stream;

use std::hash::{Hash, Hasher};
use std::rc::Rc;

use indexmap::{IndexMap, IndexSet};

use super::failure;
use super::library::time::{Moment, Span};
use super::matcher::Pattern;
use crate::template::error::{Outcome, TemplateError};
use crate::template::value::Datum;
use context::Context;
use ordering::Ordering;
use stream::Stream;

/// How deep collections may be nested.
const NESTING_MAX: u32 = 100;

/// How many values a collection may be made of, counted as often as it holds them.
const WEIGHT_MAX: usize = 1_000_000;

/// The bytes of a text that count as a value.
const BYTES_OF_WEIGHT: usize = 64;

/// A value.
#[derive(Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(Rc<str>),
    List(Rc<List>),
    Map(Rc<Map>),
    Set(Rc<Set>),
    View(Rc<View>),
    /// Something that gives its items once, one by one.
    Stream(Rc<Stream>),
    Ordering(Rc<Ordering>),
    Regex(Rc<Pattern>),
    Moment(Rc<Moment>),
    Span(Span),
    Context(Rc<Context>),
    /// `source => destination`, evaluated.
    Rule(Rc<(Value, Value)>),
}

/// A Python tuple, or a list, which is not equal to it and cannot be a key.
pub(super) struct List {
    pub(super) items: Vec<Value>,
    pub(super) is_tuple: bool,
    extent: Extent,
}

/// The entries of a map.
pub(super) type Entries = IndexMap<Value, Value>;

/// A map: yaql's own, or a plain dict, which cannot be a key.
pub(super) struct Map {
    pub(super) entries: Entries,
    pub(super) is_frozen: bool,
    extent: Extent,
}

/// The members of a set.
pub(super) type Members = IndexSet<Value>;

/// A frozen set.
pub(super) struct Set {
    pub(super) members: Members,
    extent: Extent,
}

/// The keys, values or items of a map.
pub(super) struct View {
    pub(super) part: Part,
    pub(super) of: Rc<Map>,
}

/// What a view shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Keys,
    Values,
    Items,
}

/// How far a value reaches. What it holds may be the same many times over, and is met as often by
/// who compares it or prints it.
#[derive(Clone, Copy, Default)]
struct Extent {
    nesting: u32,
    /// How many values it is made of, long texts counting for more.
    weight: usize,
}

impl Extent {
    /// That of a collection.
    fn around<'a>(inside: impl IntoIterator<Item = &'a Value>) -> Outcome<Self> {
        let mut all = Self { nesting: 0, weight: 1 };
        for extent in inside.into_iter().map(Value::extent) {
            all.nesting = all.nesting.max(extent.nesting);
            all.weight = all.weight.saturating_add(extent.weight);
        }
        match all {
            Self { nesting, .. } if nesting >= NESTING_MAX => Err(failure::depth()),
            Self { weight, .. } if weight > WEIGHT_MAX => Err(failure::memory()),
            Self { nesting, weight } => Ok(Self { nesting: nesting + 1, weight }),
        }
    }
}

impl Value {
    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Value::Text(text.into())
    }

    pub(super) fn tuple(items: Vec<Value>) -> Outcome<Self> {
        let extent = Extent::around(&items)?;
        Ok(Value::List(Rc::new(List { items, is_tuple: true, extent })))
    }

    pub(super) fn list(items: Vec<Value>) -> Outcome<Self> {
        let extent = Extent::around(&items)?;
        Ok(Value::List(Rc::new(List { items, is_tuple: false, extent })))
    }

    pub(super) fn map(entries: Entries) -> Outcome<Self> {
        let extent = Extent::around(entries.keys().chain(entries.values()))?;
        Ok(Value::Map(Rc::new(Map { entries, is_frozen: true, extent })))
    }

    pub(super) fn dict(entries: Entries) -> Outcome<Self> {
        let extent = Extent::around(entries.keys().chain(entries.values()))?;
        Ok(Value::Map(Rc::new(Map { entries, is_frozen: false, extent })))
    }

    pub(super) fn set(members: Members) -> Outcome<Self> {
        let extent = Extent::around(&members)?;
        Ok(Value::Set(Rc::new(Set { members, extent })))
    }

    fn extent(&self) -> Extent {
        match self {
            Value::List(list) => list.extent,
            Value::Map(map) => map.extent,
            Value::Set(set) => set.extent,
            Value::View(view) => Extent { nesting: view.of.extent.nesting + 1, ..view.of.extent },
            Value::Rule(rule) => {
                let (left, right) = (rule.0.extent(), rule.1.extent());
                let nesting = left.nesting.max(right.nesting) + 1;
                Extent { nesting, weight: left.weight.saturating_add(right.weight) }
            }
            Value::Text(text) => Extent { nesting: 0, weight: 1 + text.len() / BYTES_OF_WEIGHT },
            _ => Extent { nesting: 0, weight: 1 },
        }
    }

    /// How many values it is made of, long texts counting for more.
    pub(super) fn weight(&self) -> usize {
        self.extent().weight
    }

    /// As yaql takes values in: lists as tuples, maps as its own.
    pub(super) fn from_datum(datum: &Datum) -> Outcome<Self> {
        Ok(match datum {
            Datum::Null => Value::Null,
            Datum::Bool(truth) => Value::Bool(*truth),
            Datum::Int(number) => Value::Int(*number),
            Datum::Float(number) => Value::Float(*number),
            Datum::Text(text) => Value::text(text.as_str()),
            Datum::List(items) => {
                Value::tuple(items.iter().map(Value::from_datum).collect::<Outcome<_>>()?)?
            }
            Datum::Map(map) => {
                let mut entries = Entries::new();
                for (key, item) in map {
                    entries.insert(Value::from_datum(&key.datum())?, Value::from_datum(item)?);
                }
                Value::map(entries)?
            }
        })
    }

    /// Python's truth.
    pub(super) fn is_truthy(&self) -> bool {
        match self {
            Value::Null => false,
            Value::Bool(truth) => *truth,
            Value::Int(number) => *number != 0,
            Value::Float(number) => *number != 0.0,
            Value::Text(text) => !text.is_empty(),
            Value::List(list) => !list.items.is_empty(),
            Value::Map(map) => !map.entries.is_empty(),
            Value::Set(set) => !set.members.is_empty(),
            Value::View(view) => !view.of.entries.is_empty(),
            Value::Span(span) => span.0 != 0,
            Value::Stream(_)
            | Value::Ordering(_)
            | Value::Regex(_)
            | Value::Moment(_)
            | Value::Context(_)
            | Value::Rule(_) => true,
        }
    }

    /// The number that an integer or a boolean is.
    pub(super) fn as_whole(&self) -> Option<i128> {
        match self {
            Value::Int(number) => Some(*number),
            Value::Bool(truth) => Some(i128::from(*truth)),
            _ => None,
        }
    }

    /// The name of its Python type.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "str",
            Value::List(list) if list.is_tuple => "tuple",
            Value::List(_) => "list",
            Value::Map(map) if map.is_frozen => "FrozenDict",
            Value::Map(_) => "dict",
            Value::Set(_) => "frozenset",
            Value::View(view) => view.kind(),
            Value::Stream(_) => "generator",
            Value::Ordering(_) => "OrderingIterable",
            Value::Regex(_) => "re.Pattern",
            Value::Moment(_) => "datetime.datetime",
            Value::Span(_) => "datetime.timedelta",
            Value::Context(_) => "Context",
            Value::Rule(_) => "MappingRule",
        }
    }

    /// The value as a key of a map or a member of a set.
    pub(super) fn hashable(self) -> Outcome<Self> {
        match self.unhashable() {
            None => Ok(self),
            Some(kind) => Err(TemplateError::kind(format!("unhashable type: '{kind}'"))),
        }
    }

    fn unhashable(&self) -> Option<&'static str> {
        match self {
            Value::List(list) if list.is_tuple => list.items.iter().find_map(Value::unhashable),
            Value::Map(map) if map.is_frozen => map.entries.values().find_map(Value::unhashable),
            Value::List(_) | Value::Map(_) => Some(self.kind()),
            Value::View(view) if view.part != Part::Values => Some(view.kind()),
            _ => None,
        }
    }
}

impl View {
    fn kind(&self) -> &'static str {
        match (self.part, self.of.is_frozen) {
            (Part::Keys, true) => "KeysView",
            (Part::Values, true) => "ValuesView",
            (Part::Items, true) => "ItemsView",
            (Part::Keys, false) => "dict_keys",
            (Part::Values, false) => "dict_values",
            (Part::Items, false) => "dict_items",
        }
    }

    /// What it shows, at this moment and for ever.
    pub(super) fn items(&self) -> Outcome<Vec<Value>> {
        let entries = &self.of.entries;
        match self.part {
            Part::Keys => Ok(entries.keys().cloned().collect()),
            Part::Values => Ok(entries.values().cloned().collect()),
            Part::Items => entries
                .iter()
                .map(|(key, value)| Value::tuple(vec![key.clone(), value.clone()]))
                .collect(),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Text(left), Value::Text(right)) => left == right,
            (Value::List(left), Value::List(right)) => {
                left.is_tuple == right.is_tuple && left.items == right.items
            }
            (Value::Map(left), Value::Map(right)) => left.entries == right.entries,
            (Value::Set(left), Value::Set(right)) => left.members == right.members,
            (Value::View(left), Value::View(right)) if left.part != Part::Values => {
                left.part == right.part && left.of.entries == right.of.entries
            }
            (Value::Set(set), Value::View(view)) | (Value::View(view), Value::Set(set)) => {
                view.part == Part::Keys
                    && set.members.len() == view.of.entries.len()
                    && set.members.iter().all(|member| view.of.entries.contains_key(member))
            }
            (Value::Stream(left), Value::Stream(right)) => Rc::ptr_eq(left, right),
            (Value::View(left), Value::View(right)) => Rc::ptr_eq(left, right),
            (Value::Ordering(left), Value::Ordering(right)) => Rc::ptr_eq(left, right),
            (Value::Context(left), Value::Context(right)) => Rc::ptr_eq(left, right),
            (Value::Rule(left), Value::Rule(right)) => Rc::ptr_eq(left, right),
            (Value::Regex(left), Value::Regex(right)) => left == right,
            (Value::Moment(left), Value::Moment(right)) => left == right,
            (Value::Span(left), Value::Span(right)) => left == right,
            (Value::Float(left), Value::Float(right)) => left == right,
            (Value::Float(float), other) | (other, Value::Float(float)) => {
                other.as_whole().is_some_and(|whole| whole_of(*float) == Some(whole))
            }
            (left, right) => match (left.as_whole(), right.as_whole()) {
                (Some(left), Some(right)) => left == right,
                _ => false,
            },
        }
    }
}

// Only that NaN differs from itself is missing, and two of it may stand side by side as keys.
impl Eq for Value {}

/// The integer that a float is, if it is one.
fn whole_of(float: f64) -> Option<i128> {
    let fits = float.is_finite() && float.fract() == 0.0 && float.abs() < 1e38;
    fits.then_some(float as i128)
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self {
            Value::Bool(_) | Value::Int(_) => self.as_whole().hash(state),
            Value::Float(number) => match whole_of(*number) {
                Some(whole) => Some(whole).hash(state),
                None => number.to_bits().hash(state),
            },
            Value::Text(text) => text.hash(state),
            Value::List(list) => list.items.hash(state),
            // The order of entries makes no difference.
            Value::Map(map) => map.entries.len().hash(state),
            Value::Set(set) => set.members.len().hash(state),
            Value::Span(span) => span.0.hash(state),
            Value::Null
            | Value::View(_)
            | Value::Stream(_)
            | Value::Ordering(_)
            | Value::Regex(_)
            | Value::Moment(_)
            | Value::Context(_)
            | Value::Rule(_) => self.kind().hash(state),
        }
    }
}
