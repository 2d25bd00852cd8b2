//! A tree as it was read: every node knows where it stands in its text, so that an error can
//! point there. After parsing, calls of functions stand in it as well.

mod call;
mod scope;

use std::sync::Arc;

use crate::model::IndexMap;
use ecow::EcoString;
use serde_json::Value;

pub(crate) use super::place::Place;
use super::python;
use super::value::{Datum, json_integer};
use crate::model::taint;
pub(crate) use call::{Call, Function, Read};
pub(crate) use scope::{ConditionsNamed, ParametersGiven, ResourceTypes, Scope};

/// A value in a document, with its place and the place of the key that leads to it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) key_place: Place,
    pub(crate) form: Form,
    /// It must not be seen, nor what is made of it.
    pub(crate) tainted: bool,
}

/// What a node is.
#[derive(Clone, Debug, Default)]
pub(crate) enum Form {
    #[default]
    Null,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(EcoString),
    List(Vec<Node>),
    /// Boxed, to keep the other forms small.
    Map(Box<NodeMap>),
    /// A call, parsed.
    Call(Arc<dyn Function>),
    /// What `if` leaves of an absent third argument: the entry around it vanishes.
    Omitted,
}

/// The entries of a map in their order.
pub(crate) type NodeMap = IndexMap<EcoString, Node>;

impl Node {
    /// A node of this form where another one stood.
    pub(crate) fn at(like: &Node, form: Form) -> Self {
        let Self { place, key_place, tainted, .. } = *like;
        Self { place, key_place, form, tainted }
    }

    /// The map, if it is one.
    pub(crate) fn as_map(&self) -> Option<&NodeMap> {
        match &self.form {
            Form::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The list, if it is one.
    pub(crate) fn as_list(&self) -> Option<&[Node]> {
        match &self.form {
            Form::List(items) => Some(items),
            _ => None,
        }
    }

    /// The text, if it is one.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match &self.form {
            Form::Text(text) => Some(text),
            _ => None,
        }
    }

    /// An entry of a map.
    pub(crate) fn get(&self, key: &str) -> Option<&Node> {
        self.as_map()?.get(key)
    }

    /// Whether it is null.
    pub(crate) fn is_null(&self) -> bool {
        matches!(self.form, Form::Null)
    }

    /// Whether there may be calls in it: it is one, or a collection.
    pub(crate) fn may_hold_calls(&self) -> bool {
        matches!(self.form, Form::Call(_) | Form::List(_) | Form::Map(_))
    }

    /// Python's truth of the node as it was read. A call is always true.
    pub(crate) fn is_truthy(&self) -> bool {
        match &self.form {
            Form::Null => false,
            Form::Bool(truth) => *truth,
            Form::Int(number) => *number != 0,
            Form::Float(number) => *number != 0.0,
            Form::Text(text) => !text.is_empty(),
            Form::List(items) => !items.is_empty(),
            Form::Map(map) => !map.is_empty(),
            Form::Call(_) | Form::Omitted => true,
        }
    }

    /// The plain value; a call is shown as it was written.
    pub(crate) fn to_datum(&self) -> Datum {
        match &self.form {
            Form::Null | Form::Omitted => Datum::Null,
            Form::Bool(truth) => Datum::Bool(*truth),
            Form::Int(number) => Datum::Int(*number),
            Form::Float(number) => Datum::Float(*number),
            Form::Text(text) => Datum::Text(text.clone()),
            Form::List(items) => Datum::List(items.iter().map(Node::to_datum).collect()),
            Form::Map(map) => Datum::Map(
                map.iter().map(|(key, node)| (key.clone().into(), node.to_datum())).collect(),
            ),
            Form::Call(call) => {
                let written = (call.name().into(), call.args().to_datum());
                Datum::Map([written].into_iter().collect())
            }
        }
    }

    /// Python's name of its type, for a node as it was read.
    pub(crate) fn type_name(&self) -> &'static str {
        python::type_name(&self.to_datum())
    }

    /// As JSON.
    pub(crate) fn to_json(&self) -> Value {
        match &self.form {
            Form::Null | Form::Omitted => Value::Null,
            Form::Bool(truth) => Value::Bool(*truth),
            Form::Int(number) => json_integer(*number),
            Form::Float(number) => Value::from(*number),
            Form::Text(text) => Value::String(text.to_string()),
            Form::List(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            Form::Map(map) => Value::Object(
                map.iter().map(|(key, node)| (key.to_string(), node.to_json())).collect(),
            ),
            Form::Call(call) => {
                let written = (call.name().to_owned(), call.args().to_json());
                Value::Object([written].into_iter().collect())
            }
        }
    }
}

impl Node {
    /// As JSON, with marks on what must not be seen.
    pub(crate) fn to_marked_json(&self) -> Value {
        match &self.form {
            _ if self.tainted => taint::taint(self.to_json()),
            Form::List(items) => items.iter().map(Node::to_marked_json).collect(),
            Form::Map(map) => {
                map.iter().map(|(key, node)| (key.to_string(), node.to_marked_json())).collect()
            }
            _ => self.to_json(),
        }
    }

    /// Whether any part of it must not be seen.
    pub(crate) fn is_tainted(&self) -> bool {
        self.tainted
            || match &self.form {
                Form::List(items) => items.iter().any(Node::is_tainted),
                Form::Map(map) => map.values().any(Node::is_tainted),
                _ => false,
            }
    }

    /// The same with every part of it as one that must not be seen.
    pub(crate) fn into_tainted(mut self) -> Self {
        self.tainted = true;
        self.form = match self.form {
            Form::List(items) => Form::List(items.into_iter().map(Node::into_tainted).collect()),
            Form::Map(map) => {
                let entries = map.into_iter().map(|(key, node)| (key, node.into_tainted()));
                Form::Map(Box::new(entries.collect()))
            }
            other => other,
        };
        self
    }
}

/// What is marked is tainted, with all that it has in it.
impl From<&Value> for Node {
    fn from(value: &Value) -> Self {
        if let Some(secret) = taint::marked(value) {
            return Node::from(secret).into_tainted();
        }
        let form = match value {
            Value::Array(items) => Form::List(items.iter().map(Node::from).collect()),
            Value::Object(map) => {
                let entries = map.iter().map(|(key, value)| (key.as_str().into(), value.into()));
                Form::Map(Box::new(entries.collect()))
            }
            other => return Self::from(Datum::from(other)),
        };
        Self { form, ..Self::default() }
    }
}

impl From<Datum> for Node {
    fn from(datum: Datum) -> Self {
        let form = match datum {
            Datum::Null => Form::Null,
            Datum::Bool(truth) => Form::Bool(truth),
            Datum::Int(number) => Form::Int(number),
            Datum::Float(number) => Form::Float(number),
            Datum::Text(text) => Form::Text(text),
            Datum::List(items) => Form::List(items.into_iter().map(Node::from).collect()),
            Datum::Map(map) => {
                let items = map.into_iter().map(|(key, item)| (key.into(), Node::from(item)));
                Form::Map(Box::new(items.collect()))
            }
        };
        Self { form, ..Self::default() }
    }
}
