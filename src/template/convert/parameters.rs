//! The parameters of a template, whose constraints stand flat among their keys, as HOT has them.

use super::call;
use super::converter::Converter;
use crate::template::dialect::{HOT, Language};
use crate::template::node::{Node, NodeMap};
use crate::template::parameters::ParameterType;
use crate::template::python;
use crate::template::value::{Datum, DatumMap};

/// Keys that together are one constraint: its name in HOT, and the names of its parts.
static RANGES: [(&str, [(&str, &str); 2]); 2] = [
    ("range", [("MinValue", "min"), ("MaxValue", "max")]),
    ("length", [("MinLength", "min"), ("MaxLength", "max")]),
];

/// Keys that are a constraint by themselves.
static RULES: [(&str, &str); 2] =
    [("AllowedValues", "allowed_values"), ("AllowedPattern", "allowed_pattern")];

/// Writes a parameter in HOT.
pub(super) fn parameter<'n>(converter: &mut Converter<'n>, node: &'n Node) -> Datum {
    let Some(map) = converter.map(node) else { return Datum::Null };
    let (from, to) = (&converter.version.dialect.parameter, &HOT.parameter);
    let mut out = DatumMap::default();
    for (key, value) in map {
        let key = key.as_str();
        if !from.all.contains(&key) {
            converter.obstacle(value, format!("HOT has no key {key}"));
        } else if key == from.kind {
            let name = value.as_text().and_then(|name| ParameterType::of(name, Language::Cfn));
            match name {
                Some(kind) => _ = out.insert(to.kind.into(), kind.name().into()),
                None => converter.obstacle(value, "HOT has no such type"),
            }
        } else if key == from.hidden {
            let hidden = python::text_of(&value.to_datum()).to_lowercase() == "true";
            out.insert(to.hidden.into(), Datum::Bool(hidden));
        } else {
            let same = [
                (from.description, to.description),
                (from.default, to.default),
                (from.label, to.label),
            ];
            let same = same.into_iter().find(|(from, _)| key == *from);
            out.extend(same.map(|(_, to)| ((*to).into(), value.to_datum())));
        }
    }
    let constraints = constraints(map);
    if !constraints.is_empty() {
        out.insert("constraints".into(), Datum::List(constraints));
    }
    Datum::Map(out)
}

/// The constraints, in the order in which Heat checks them.
fn constraints(declared: &NodeMap) -> Vec<Datum> {
    let ranges = RANGES.iter().filter_map(|(name, parts)| {
        let mut range = DatumMap::default();
        for (from, to) in parts {
            let value = declared.get(*from).map(Node::to_datum);
            range.extend(value.map(|value| ((*to).into(), value)));
        }
        (!range.is_empty()).then(|| call(name, Datum::Map(range)))
    });
    let rules =
        RULES.iter().filter_map(|(from, to)| Some(call(to, declared.get(*from)?.to_datum())));
    let description = declared.get("ConstraintDescription").filter(|node| !node.is_null());
    ranges
        .chain(rules)
        .map(|mut constraint| {
            if let (Datum::Map(map), Some(description)) = (&mut constraint, description) {
                map.insert("description".into(), description.to_datum());
            }
            constraint
        })
        .collect()
}
