//! `str_replace`, its strict kin and `Fn::Replace`: placeholders in a text replaced by values. Longer
//! placeholders come first, and what was put in is not looked at again.

use std::sync::Arc;

use super::{Call, Function, Scope, misuse, unpack};
use crate::template::error::{Outcome, TemplateError};
use crate::template::key::Key;
use crate::template::node::{Form, Node};
use crate::template::value::{Datum, DatumMap};
use crate::template::{python, walk, work};

#[derive(Debug)]
struct StrReplace {
    call: Call,
    /// Maps and lists go in as JSON.
    json: bool,
    /// Every placeholder must be in the text.
    strict: bool,
    /// A value may be null or empty.
    empty: bool,
}

/// Parses the first form, which takes no maps or lists as values.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    new(call, false, false, true)
}

/// Parses `str_replace` since 2015-10-15.
pub(super) fn parse_json(call: Call) -> Outcome<Arc<dyn Function>> {
    new(call, true, false, true)
}

/// Parses `str_replace_strict`.
pub(super) fn parse_strict(call: Call) -> Outcome<Arc<dyn Function>> {
    new(call, true, true, true)
}

/// Parses `str_replace_vstrict`.
pub(super) fn parse_very_strict(call: Call) -> Outcome<Arc<dyn Function>> {
    new(call, true, true, false)
}

fn new(call: Call, json: bool, strict: bool, empty: bool) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    let Some(args) = call.args.as_map() else {
        return Err(TemplateError::kind(format!("Arguments to \"{name}\" must be a map")));
    };
    let (Some(params), Some(_)) = (args.get("params"), args.get("template")) else {
        let example = format!(
            "{name}:\n              template: This is var1 template var2\n              params:\n\
             {0}  var1: a\n{0}  var2: string",
            " ".repeat(14)
        );
        return Err(TemplateError::key(&format!("\"{name}\" syntax should be {example}")));
    };
    check_params(params, name)?;
    Ok(Arc::new(StrReplace { call, json, strict, empty }))
}

/// Parses `Fn::Replace`: `[params, template]`, with no maps or lists as values.
pub(super) fn parse_pair(mut call: Call) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    let example = format!(
        "{{\"{name}\": [ {{\"$var1\": \"foo\", \"%var2%\": \"bar\"}}, \"$var1 is %var2%\"]}}"
    );
    let usage = misuse(name, &example);
    if matches!(call.args.form, Form::Text(_) | Form::Map(_)) {
        return Err(TemplateError::kind(usage));
    }
    let parts = unpack(&call.args, 2).map_err(|error| match error.class.as_ref() {
        "ValueError" => TemplateError::value(usage),
        _ => error,
    })?;
    if let Some(params) = parts.first() {
        check_params(params, name)?;
    }
    call.args = Node::at(&call.args, Form::List(parts));
    Ok(Arc::new(StrReplace { call, json: false, strict: false, empty: true }))
}

fn check_params(params: &Node, name: &str) -> Outcome<()> {
    if matches!(params.form, Form::Map(_) | Form::Call(_)) {
        return Ok(());
    }
    Err(TemplateError::kind(format!("\"{name}\" parameters must be a mapping")))
}

impl StrReplace {
    fn parts(&self) -> Option<(&Node, &Node)> {
        match self.args().as_list() {
            Some([params, template]) => Some((params, template)),
            _ => Some((self.args().get("params")?, self.args().get("template")?)),
        }
    }

    /// A value as the text that goes in.
    fn text(&self, value: &Datum, placeholder: &str) -> Outcome<String> {
        let name = self.name();
        let text = match value {
            Datum::Null => String::new(),
            Datum::List(_) | Datum::Map(_) if self.json && !value.is_truthy() && !self.empty => {
                String::new()
            }
            Datum::List(_) | Datum::Map(_) if self.json => {
                if python::is_beyond_json(value) {
                    return Err(TemplateError::kind(format!(
                        "\"{name}\" params must be strings, numbers, list or map. Failed to json \
                         serialize {}",
                        python::repr(value)
                    )));
                }
                python::json_text(value, true)
            }
            Datum::List(_) | Datum::Map(_) => {
                return Err(TemplateError::kind(format!(
                    "\"{name}\" params must be strings or numbers, param {placeholder} is not valid"
                )));
            }
            other => python::text_of(other),
        };
        if text.is_empty() && !self.empty {
            return Err(TemplateError::value(format!(
                "{name} has an undefined or empty value for param {placeholder}, must be a defined \
                 non-empty value"
            )));
        }
        Ok(text)
    }

    fn replace(&self, template: &str, mapping: &DatumMap, scope: &Scope<'_>) -> Outcome<String> {
        let mut placeholders: Vec<&Key> = mapping.keys().collect();
        if placeholders.iter().any(|key| key.datum().as_text().is_none()) {
            let message = format!("\"{}\" param placeholders must be strings", self.name());
            return Err(TemplateError::kind(message));
        }
        placeholders.sort_by_key(|key| (std::cmp::Reverse(key.chars().count()), key.as_str()));
        let mut unreplaced = placeholders.clone();
        // The text falls into pieces that are still open and values that are settled.
        let mut pieces = vec![Piece::Open(template.to_owned())];
        for placeholder in placeholders {
            let value = self.text(&mapping[placeholder.as_str()], placeholder)?;
            if placeholder.is_empty() {
                return Err(TemplateError::value("empty separator"));
            }
            // What is still open is gone through, and copied, once for each placeholder.
            let open = pieces.iter().map(Piece::len).sum();
            work::step(pieces.len())?;
            work::step_over(open)?;
            let mut next = Vec::with_capacity(pieces.len());
            let mut is_found = false;
            for piece in pieces {
                let Piece::Open(text) = piece else {
                    next.push(piece);
                    continue;
                };
                for (index, part) in text.split(placeholder.as_str()).enumerate() {
                    if index > 0 {
                        scope.budget.spend(value.len())?;
                        next.push(Piece::Settled(value.clone()));
                        is_found = true;
                    }
                    next.push(Piece::Open(part.to_owned()));
                }
            }
            if is_found {
                unreplaced.retain(|other| *other != placeholder);
            }
            pieces = next;
        }
        if self.strict && !unreplaced.is_empty() {
            let names: Vec<&str> = unreplaced.into_iter().map(Key::as_str).collect();
            return Err(TemplateError::value(format!(
                "The following params were not found in the template: {}",
                names.join(",")
            )));
        }
        Ok(pieces.into_iter().map(Piece::into_text).collect())
    }
}

enum Piece {
    Open(String),
    Settled(String),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Piece::Open(text) | Piece::Settled(text) => text.len(),
        }
    }

    fn into_text(self) -> String {
        match self {
            Piece::Open(text) | Piece::Settled(text) => text,
        }
    }
}

impl Function for StrReplace {
    fn call(&self) -> &Call {
        &self.call
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let name = self.name();
        let Some((params, template)) = self.parts() else { return Ok(Some(Datum::Null)) };
        let template = walk::resolve(template, scope)?;
        let mapping = walk::resolve(params, scope)?;
        let Datum::Text(template) = template else {
            return Err(TemplateError::kind(format!("\"{name}\" template must be a string")));
        };
        let Datum::Map(mapping) = mapping else {
            return Err(TemplateError::kind(format!("\"{name}\" params must be a map")));
        };
        self.replace(&template, &mapping, scope).map(|text| Some(Datum::Text(text.into())))
    }
}
