//! The parts of a type's file that are one of several things, by the keys that they have: as they
//! are written, so that a key that none of them has is noticed.

use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value};

use super::Translation;
use crate::template::constraints::{self, Constraint};

/// A translation, by the keys that it has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenTranslation {
    replace: Option<String>,
    with: Option<String>,
    add: Option<String>,
    from: Option<String>,
    delete: Option<String>,
    resolve: Option<String>,
    same: Option<String>,
    finder: Option<String>,
}

impl TryFrom<WrittenTranslation> for Translation {
    type Error = &'static str;

    fn try_from(written: WrittenTranslation) -> Result<Self, Self::Error> {
        let WrittenTranslation { replace, with, add, from, delete, resolve, same, finder } =
            written;
        match (replace, with, add, from, delete, resolve, same, finder) {
            (Some(replace), Some(with), None, None, None, None, None, None) => {
                Ok(Self::Replace { replace, with })
            }
            (None, None, Some(add), Some(from), None, None, None, None) => {
                Ok(Self::Add { add, from })
            }
            (None, None, None, None, Some(delete), None, None, None) => Ok(Self::Delete { delete }),
            (None, None, None, None, None, Some(resolve), None, Some(finder)) => {
                Ok(Self::Resolve { resolve, finder })
            }
            (None, None, None, None, None, None, Some(same), Some(finder)) => {
                Ok(Self::Same { same, finder })
            }
            _ => Err("a translation is `replace` and `with`, `add` and `from`, `delete`, or \
                      `resolve` or `same` and `finder`"),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Bounds {
    min: Option<Number>,
    max: Option<Number>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Modulo {
    step: Number,
    offset: Number,
}

/// A constraint, by its one key, with its description.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConstraint {
    length: Option<Bounds>,
    range: Option<Bounds>,
    modulo: Option<Modulo>,
    allowed_values: Option<Vec<Value>>,
    allowed_pattern: Option<String>,
    custom_constraint: Option<String>,
    description: Option<String>,
}

#[derive(Deserialize)]
#[serde(try_from = "WrittenConstraint")]
struct Read(Constraint);

impl TryFrom<WrittenConstraint> for Read {
    type Error = &'static str;

    fn try_from(written: WrittenConstraint) -> Result<Self, Self::Error> {
        use constraints::Rule;
        let rules = [
            written.length.map(|Bounds { min, max }| Rule::Length { min, max }),
            written.range.map(|Bounds { min, max }| Rule::Range { min, max }),
            written.modulo.map(|Modulo { step, offset }| Rule::Modulo { step, offset }),
            written.allowed_values.map(Rule::AllowedValues),
            written.allowed_pattern.map(Rule::AllowedPattern),
            written.custom_constraint.map(Rule::CustomConstraint),
        ];
        let mut rules = rules.into_iter().flatten();
        match (rules.next(), rules.next()) {
            (Some(rule), None) => Ok(Self(Constraint { rule, description: written.description })),
            _ => Err("a constraint is one of `length`, `range`, `modulo`, `allowed_values`, \
                      `allowed_pattern` and `custom_constraint`"),
        }
    }
}

/// The constraints of a property.
pub(in crate::resource_types) fn constraints<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Constraint>, D::Error> {
    let read = Vec::<Read>::deserialize(deserializer)?;
    Ok(read.into_iter().map(|Read(constraint)| constraint).collect())
}
