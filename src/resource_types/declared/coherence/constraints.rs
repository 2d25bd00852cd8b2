//! Constraints: that they say something of values of their property's type, and that some value can
//! meet them.

use serde_json::{Number, Value};

use super::Check;
use crate::resource_types::convert;
use crate::resource_types::schema::{Kind, PropertySchema};
use crate::template::constraints::{Rule, unusable_pattern};

impl Check<'_> {
    pub(super) fn constraints(&mut self, at: &[&str], property: &PropertySchema) {
        for (index, constraint) in property.constraints.iter().enumerate() {
            let index = index.to_string();
            let rule = &constraint.rule;
            let key = key(rule);
            let at = [at, &["constraints", index.as_str(), key]].concat();
            // Of what type its values are, another property may say.
            if property.typed_by.is_none() && !kinds(rule).contains(&property.kind) {
                let kind = property.kind.as_str();
                let message = format!("`{key}` says nothing of values of type {kind}");
                self.wrong_key(&at, message, None);
                continue;
            }
            match rule {
                Rule::Length { min, max } | Rule::Range { min, max } => {
                    if is_above(min.as_ref(), max.as_ref()) {
                        self.wrong(&at, "`min` is above `max`".to_owned(), None);
                    }
                }
                Rule::Modulo { step, offset } => {
                    let (step, offset) = (float(step), float(offset));
                    if step == 0.0 {
                        let message = "a step of 0 leads nowhere".to_owned();
                        self.wrong(&[at.as_slice(), &["step"]].concat(), message, None);
                    } else if offset.abs() >= step.abs() || offset * step < 0.0 {
                        let message = "`offset` has to be within one `step`".to_owned();
                        self.wrong(&[at.as_slice(), &["offset"]].concat(), message, None);
                    }
                }
                Rule::AllowedValues(values) => self.allowed(&at, property, values),
                Rule::AllowedPattern(pattern) => self.pattern(&at, pattern),
                Rule::CustomConstraint(name) => self.constraint(&at, name),
            }
        }
    }

    /// The values are of the property's type; those of a list are its items.
    fn allowed(&mut self, at: &[&str], property: &PropertySchema, values: &[Value]) {
        let kind = match property.kind {
            Kind::List => match &property.items {
                Some(items) => items.kind,
                None => return,
            },
            kind => kind,
        };
        for (index, value) in values.iter().enumerate() {
            if let Err(message) = convert::whole(kind, value) {
                self.wrong(&[at, &[index.to_string().as_str()]].concat(), message, None);
            }
        }
    }

    pub(super) fn pattern(&mut self, at: &[&str], pattern: &str) {
        if let Some(reason) = unusable_pattern(pattern) {
            self.wrong(at, format!("this is no regular expression: {reason}"), None);
        }
    }
}

fn key(rule: &Rule) -> &'static str {
    match rule {
        Rule::Length { .. } => "length",
        Rule::Range { .. } => "range",
        Rule::Modulo { .. } => "modulo",
        Rule::AllowedValues(_) => "allowed_values",
        Rule::AllowedPattern(_) => "allowed_pattern",
        Rule::CustomConstraint(_) => "custom_constraint",
    }
}

/// The types of values that a constraint can be on.
fn kinds(rule: &Rule) -> &'static [Kind] {
    match rule {
        Rule::Length { .. } => &[Kind::String, Kind::List, Kind::Map, Kind::Any],
        Rule::Range { .. } | Rule::Modulo { .. } => &[Kind::Integer, Kind::Number, Kind::Any],
        Rule::AllowedValues(_) | Rule::CustomConstraint(_) => {
            &[Kind::String, Kind::Integer, Kind::Number, Kind::Boolean, Kind::List, Kind::Any]
        }
        Rule::AllowedPattern(_) => &[Kind::String, Kind::Any],
    }
}

fn float(number: &Number) -> f64 {
    number.as_f64().unwrap_or_default()
}

fn is_above(min: Option<&Number>, max: Option<&Number>) -> bool {
    min.zip(max).is_some_and(|(min, max)| float(min) > float(max))
}
