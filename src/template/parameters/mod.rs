//! Parameters: their schemas, the values that templates see, what users are shown.

mod cfn_rules;
mod convert;
pub(crate) mod groups;
mod kind;
mod pseudo;
mod rules;
pub(crate) mod schema;
pub(crate) mod shown;

use std::collections::BTreeMap;

use crate::model::IndexMap;

use super::constraints::Rule;
use super::error::{Outcome, TemplateError};
use super::node::ParametersGiven;
use super::value::{Datum, DatumMap};
use super::version::Version;
use super::{CustomConstraintAsked, PseudoParameters, TypeLookup};
pub(crate) use kind::ParameterType;
pub(crate) use schema::Schema;

/// Which parameters must have values that their schemas accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Values {
    /// All.
    Required,
    /// Those that were given or have a default; what the others decide stays open.
    IfGiven,
    /// None: the template alone is looked at.
    Unchecked,
}

/// A parameter with the values that were given for it.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) schema: Schema,
    /// From `parameters`; null counts as not given.
    pub(crate) given: Option<Datum>,
    /// From `parameter_defaults`, before the template's own default.
    pub(crate) user_default: Option<Datum>,
    /// What `get_param` gives.
    value: Outcome<Datum>,
    pub(crate) pseudo: bool,
    /// It is hidden, or its value came from a secret.
    pub(crate) is_secret: bool,
}

/// All parameters of a template, pseudo parameters first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameters {
    by_name: IndexMap<String, Parameter>,
}

impl Parameter {
    fn new(
        name: &str,
        schema: Schema,
        given: Option<&Datum>,
        user_default: Option<&Datum>,
        pseudo: bool,
    ) -> Self {
        let some = |value: Option<&Datum>| value.filter(|v| !matches!(v, Datum::Null)).cloned();
        let (given, user_default) = (some(given), some(user_default));
        let is_secret = schema.hidden;
        let mut parameter =
            Self { schema, given, user_default, value: Ok(Datum::Null), pseudo, is_secret };
        parameter.value = parameter.convert(name);
        parameter
    }

    fn convert(&self, name: &str) -> Outcome<Datum> {
        match self.raw() {
            Some(raw) => convert::value(self.schema.kind, raw),
            None => Err(TemplateError::parameter_missing(name)),
        }
    }

    /// The default that holds: the environment's before the template's.
    pub(crate) fn default(&self) -> Option<&Datum> {
        self.user_default.as_ref().or(self.schema.default.as_ref())
    }

    /// What was given for it, or else the default that holds.
    pub(crate) fn raw(&self) -> Option<&Datum> {
        self.given.as_ref().or(self.default())
    }

    /// What `get_param` gives.
    pub(crate) fn value(&self) -> Outcome<&Datum> {
        self.value.as_ref().map_err(Clone::clone)
    }

    /// Checks the schema and, as far as `values` says, the value by it.
    fn check(&self, name: &str, values: Values, types: &dyn TypeLookup) -> Outcome<()> {
        let invalid = |error: TemplateError| {
            let is_heats =
                matches!(error.class.as_ref(), "StackValidationFailed" | "InvalidSchemaError");
            if !is_heats {
                return error;
            }
            let message = format!("Parameter '{name}' is invalid: {}", error.text());
            TemplateError { message, headline: String::new(), path: Vec::new(), ..error }
        };
        self.schema.check().map_err(invalid)?;
        match (self.raw(), values) {
            (_, Values::Unchecked) | (None, Values::IfGiven) => Ok(()),
            (Some(raw), _) => self.schema.check_value(raw, types).map_err(invalid),
            (None, Values::Required) => Err(TemplateError::parameter_missing(name)),
        }
    }
}

impl Parameters {
    /// Joins the schemas of a template with the values from its environment.
    pub(crate) fn new(
        schemas: IndexMap<String, Schema>,
        given: &DatumMap,
        defaults: &DatumMap,
        pseudo: &PseudoParameters,
        version: &Version,
    ) -> Self {
        let mut by_name = IndexMap::default();
        for (name, schema) in pseudo::schemas(pseudo, version.dialect.language) {
            let parameter = Parameter::new(name, schema, None, defaults.get(name), true);
            by_name.insert(name.to_owned(), parameter);
        }
        for (name, schema) in schemas {
            let parameter = Parameter::new(
                &name,
                schema,
                given.get(name.as_str()),
                defaults.get(name.as_str()),
                false,
            );
            by_name.insert(name, parameter);
        }
        Self { by_name }
    }

    /// Makes those of the names secret whose values came from secrets.
    pub(crate) fn note_secrets(&mut self, is_secret: impl Fn(&str) -> bool) {
        for (name, parameter) in &mut self.by_name {
            parameter.is_secret |= is_secret(name);
        }
    }

    /// The parameter of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Parameter> {
        self.by_name.get(name)
    }

    /// All parameters.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Parameter)> {
        self.by_name.iter().map(|(name, parameter)| (name.as_str(), parameter))
    }

    /// Those that the template declares.
    pub(crate) fn declared(&self) -> impl Iterator<Item = (&str, &Parameter)> {
        self.iter().filter(|(_, parameter)| !parameter.pseudo)
    }

    /// Checks that what was given is declared, then every schema, and the values by their schemas.
    pub(crate) fn check(
        &self,
        given: &DatumMap,
        values: Values,
        types: &dyn TypeLookup,
    ) -> Outcome<()> {
        for name in given.keys() {
            if self.by_name.get(name.as_str()).is_none_or(|parameter| parameter.pseudo) {
                let message = format!("The Parameter ({name}) was not defined in template.");
                return Err(TemplateError::new("UnknownUserParameter", message));
            }
        }
        for (name, parameter) in self.iter() {
            let place = parameter.schema.place;
            parameter.check(name, values, types).map_err(|error| error.placed(place))?;
        }
        Ok(())
    }

    /// The custom constraints to be asked of the cloud.
    pub(crate) fn custom_constraints(&self) -> Vec<CustomConstraintAsked> {
        let mut asked = Vec::new();
        for (name, parameter) in self.declared() {
            // Heat hands the raw value to the constraint, a list in its parsed form.
            let raw = parameter.raw();
            let (Some(raw), Ok(value)) = (raw, parameter.value()) else { continue };
            let value = match parameter.schema.kind {
                ParameterType::CommaDelimitedList | ParameterType::Json => value,
                ParameterType::String | ParameterType::Number | ParameterType::Boolean => raw,
            };
            for constraint in &parameter.schema.constraints {
                let Rule::CustomConstraint(rule) = &constraint.rule else { continue };
                asked.push(CustomConstraintAsked {
                    parameter: name.to_owned(),
                    constraint: rule.clone(),
                    value: value.to_json(),
                    description: constraint.description.clone(),
                });
            }
        }
        asked
    }

    /// The values of declared parameters, by name.
    pub(crate) fn values(&self) -> BTreeMap<&str, &Datum> {
        self.declared()
            .filter_map(|(name, parameter)| Some((name, parameter.value().ok()?)))
            .collect()
    }
}

impl ParametersGiven for Parameters {
    fn value(&self, name: &str) -> Outcome<&Datum> {
        self.by_name.get(name).ok_or_else(|| TemplateError::parameter_missing(name))?.value()
    }

    fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    fn is_secret(&self, name: &str) -> bool {
        self.get(name).is_some_and(|parameter| parameter.is_secret)
    }
}
