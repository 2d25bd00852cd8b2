//! The types of parameters, and what the languages of templates call them.

use crate::template::constraints::{Rule, ValueType};
use crate::template::dialect::Language;

/// The types of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterType {
    String,
    Number,
    CommaDelimitedList,
    Json,
    Boolean,
}

const TYPES: [ParameterType; 5] = [
    ParameterType::String,
    ParameterType::Number,
    ParameterType::CommaDelimitedList,
    ParameterType::Json,
    ParameterType::Boolean,
];

impl ParameterType {
    /// The type that a language writes so.
    pub(crate) fn of(name: &str, language: Language) -> Option<Self> {
        TYPES.into_iter().find(|kind| kind.name_in(language) == name)
    }

    /// All types as a language writes them.
    pub(crate) fn names(language: Language) -> impl Iterator<Item = &'static str> {
        TYPES.into_iter().map(move |kind| kind.name_in(language))
    }

    pub(super) fn name_in(self, language: Language) -> &'static str {
        match language {
            Language::Hot => self.name(),
            Language::Cfn => self.api_name(),
        }
    }

    /// The type as HOT writes it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::CommaDelimitedList => "comma_delimited_list",
            Self::Json => "json",
            Self::Boolean => "boolean",
        }
    }

    /// The type as CloudFormation's language and the API write it.
    pub(crate) fn api_name(self) -> &'static str {
        match self {
            Self::String => "String",
            Self::Number => "Number",
            Self::CommaDelimitedList => "CommaDelimitedList",
            Self::Json => "Json",
            Self::Boolean => "Boolean",
        }
    }

    pub(super) fn value_type(self) -> ValueType {
        match self {
            Self::String => ValueType::String,
            Self::Number => ValueType::Number,
            Self::CommaDelimitedList => ValueType::List,
            Self::Json => ValueType::Map,
            Self::Boolean => ValueType::Boolean,
        }
    }

    /// Whether a constraint of this kind makes sense for the type.
    pub(super) fn allows(self, rule: &Rule) -> bool {
        match rule {
            Rule::Length { .. } => {
                matches!(self, Self::String | Self::CommaDelimitedList | Self::Json)
            }
            Rule::Range { .. } | Rule::Modulo { .. } => self == Self::Number,
            Rule::AllowedValues(_) | Rule::CustomConstraint(_) => self != Self::Json,
            Rule::AllowedPattern(_) => self == Self::String,
        }
    }
}
