//! What the routes read of their queries. The table of the routes declares it; a handler is given
//! no more than that, and the description shows it.

use actix_web::HttpRequest;
use serde_json::{Value, json};

/// `?at=` is read of every request: a route that knows nothing of another moment refuses it.
pub(super) const AT: Param = text("at");

/// A parameter of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
}

/// What is read of a parameter's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The first.
    Text,
    /// The first, which is one of these.
    Choice(&'static [&'static str]),
    /// All of them.
    Texts,
    /// `true` or `false`, in any case.
    Boolean,
    /// A whole number from 0 on.
    Number,
}

pub(super) const fn text(name: &'static str) -> Param {
    Param { name, kind: Kind::Text }
}

pub(super) const fn choice(name: &'static str, values: &'static [&'static str]) -> Param {
    Param { name, kind: Kind::Choice(values) }
}

pub(super) const fn texts(name: &'static str) -> Param {
    Param { name, kind: Kind::Texts }
}

pub(super) const fn boolean(name: &'static str) -> Param {
    Param { name, kind: Kind::Boolean }
}

pub(super) const fn number(name: &'static str) -> Param {
    Param { name, kind: Kind::Number }
}

/// In which direction a list is sorted.
pub(super) const SORT_DIR: Param = choice("sort_dir", &["asc", "desc"]);

impl Param {
    /// The parameter in OpenAPI's words.
    pub(super) fn described(self) -> Value {
        let schema = match self.kind {
            Kind::Text => json!({ "type": "string" }),
            Kind::Choice(values) => json!({ "type": "string", "enum": values }),
            Kind::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Kind::Boolean => json!({ "type": "boolean" }),
            Kind::Number => json!({ "type": "integer", "format": "int64", "minimum": 0 }),
        };
        json!({ "name": self.name, "in": "query", "required": false, "schema": schema })
    }
}

/// The parameters of a URL, by the verb that reads them.
#[derive(Debug, Default)]
pub(super) struct Declared(Vec<(&'static str, Vec<Param>)>);

impl Declared {
    /// Adds to what a verb reads.
    pub(super) fn add(&mut self, verb: &'static str, params: &[Param]) {
        match self.0.iter_mut().find(|(known, _)| *known == verb) {
            Some((_, known)) => known.extend(params),
            None => self.0.push((verb, params.to_vec())),
        }
    }

    /// What a verb reads.
    pub(super) fn by(&self, verb: &str) -> &[Param] {
        let found = self.0.iter().find(|(known, _)| *known == verb);
        found.map_or(&[], |(_, params)| params)
    }

    /// What is declared of the route that a request has come to.
    pub(super) fn of(request: &HttpRequest) -> &[Param] {
        let declared = request.app_data::<Self>();
        declared.map_or(&[], |declared| declared.by(request.method().as_str()))
    }
}
