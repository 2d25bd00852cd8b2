//! `Fn::MemberListToMap`: a map from a flat list of members, as CloudFormation's API has them:
//! `.member.0.Name=key`, `.member.0.Value=value`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Call, Function, Scope, unpack};
use crate::model::IndexMap;
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::value::{Datum, DatumMap};
use crate::template::walk;

#[derive(Debug)]
struct MemberListToMap {
    call: Call,
    key_name: String,
    value_name: String,
}

/// Parses `[name of keys, name of values, members]`.
pub(super) fn parse(mut call: Call) -> Outcome<Arc<dyn Function>> {
    let parts = unpack(&call.args, 3).map_err(|error| match error.class.as_ref() {
        "ValueError" => TemplateError::kind(format!(
            "Wrong Arguments try: \"\n{0}{{'Fn::MemberListToMap': ['Name', 'Value',\n{1}\
             ['.member.0.Name=key',\n{1} '.member.0.Value=door']]}}\n{0}\"",
            " ".repeat(12),
            " ".repeat(37),
        )),
        _ => error,
    })?;
    let text = |at: usize, role: &str| {
        parts.get(at).and_then(Node::as_text).map(str::to_owned).ok_or_else(|| {
            TemplateError::kind(format!("{} {role} Name must be a string", call.name))
        })
    };
    let (key_name, value_name) = (text(0, "Key")?, text(1, "Value")?);
    call.args = Node::at(&call.args, Form::List(parts));
    Ok(Arc::new(MemberListToMap { call, key_name, value_name }))
}

/// The texts of a value that Python can go through.
fn members(value: Datum) -> Outcome<Vec<String>> {
    let not_text = || TemplateError::kind("Member list items must be strings");
    match value {
        Datum::List(items) => items
            .into_iter()
            .map(|item| match item {
                Datum::Text(text) => Ok(text.into()),
                _ => Err(not_text()),
            })
            .collect(),
        Datum::Map(map) => Ok(map.keys().map(ToString::to_string).collect()),
        Datum::Text(text) => Ok(text.chars().map(String::from).collect()),
        _ => Err(TemplateError::kind("Member list must be a list")),
    }
}

/// The number and the field of a member's name, `.member.<number>.<field>`.
fn number_and_field(name: &str) -> Option<((usize, &str), &str)> {
    let (number, field) = name.strip_prefix(".member.")?.split_once('.')?;
    if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // In the order of numbers, however long: by length first.
    let digits = number.trim_start_matches('0');
    Some(((digits.len(), digits), field.split('\n').next().unwrap_or_default()))
}

impl Function for MemberListToMap {
    fn call(&self) -> &Call {
        &self.call
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let Some([_, _, list]) = self.args().as_list() else { return Ok(Some(Datum::Null)) };
        let members = members(walk::resolve(list, scope)?)?;
        let mut values: IndexMap<&str, &str> = IndexMap::default();
        for (index, member) in members.iter().enumerate() {
            let (name, value) = member.split_once('=').ok_or_else(|| {
                TemplateError::value(format!(
                    "dictionary update sequence element #{index} has length 1; 2 is required"
                ))
            })?;
            values.insert(name, value);
        }
        let mut numbered: BTreeMap<(usize, &str), BTreeMap<&str, &str>> = BTreeMap::new();
        for (name, value) in &values {
            if let Some((number, field)) = number_and_field(name) {
                numbered.entry(number).or_default().insert(field, value);
            }
        }
        let mut map = DatumMap::default();
        for fields in numbered.values() {
            let field = |name: &String| fields.get(name.as_str()).copied();
            if let (Some(key), Some(value)) = (field(&self.key_name), field(&self.value_name)) {
                map.insert(key.into(), Datum::from(value));
            }
        }
        Ok(Some(Datum::Map(map)))
    }
}
