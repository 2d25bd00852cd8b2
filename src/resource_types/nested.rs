//! Nested stacks in validation: what a tree of them may take, and the properties of a resource whose
//! type is a template, which are that template's parameters.

use serde_json::Value;

use super::python;
use super::schema::{Kind, Properties, PropertySchema};
use crate::model::JsonMap;
use crate::template::{
    NESTED_DEPTH_MAX, Outcome, Provider, ProviderKind, Reading, StackDefinition, TemplateError,
    Values,
};

/// How much text of nested templates is read in the validation of one stack, counted as often as
/// it is used.
const NESTED_TEXT_MAX_BYTES: usize = 16 * 1024 * 1024;

/// How many nested stacks are validated with one stack.
const NESTED_STACKS_MAX: usize = 2_000;

/// What an operator allows a tree of stacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeBounds {
    /// How many resources all its stacks have together; `None` is no limit.
    pub resources: Option<usize>,
    /// How many stacks one may stand within.
    pub depth: u32,
}

impl TreeBounds {
    /// Nothing but that it ends.
    pub const LOOSE: Self = Self { resources: None, depth: NESTED_DEPTH_MAX };

    /// How many resources it may have.
    pub fn room(&self) -> usize {
        self.resources.unwrap_or(usize::MAX)
    }
}

/// What is left of a tree that is being looked through. It is taken before a stack is put together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    bounds: TreeBounds,
    text_bytes: usize,
    stacks: usize,
    /// How many resources more there may be.
    resources: usize,
    /// Whether nested stacks are looked into at all.
    pub(super) descends: bool,
}

impl Default for Budget {
    fn default() -> Self {
        Self::of(TreeBounds::LOOSE)
    }
}

impl Budget {
    /// For a tree within its bounds.
    pub(crate) fn of(bounds: TreeBounds) -> Self {
        Self {
            bounds,
            text_bytes: NESTED_TEXT_MAX_BYTES,
            stacks: NESTED_STACKS_MAX,
            resources: bounds.room(),
            descends: true,
        }
    }

    /// For one without those within it.
    pub(super) fn of_one_alone() -> Self {
        Self { descends: false, ..Self::default() }
    }

    /// Takes the resources of a stack off.
    pub(crate) fn take_resources(&mut self, of: &StackDefinition) -> Outcome<()> {
        let left = self.resources.checked_sub(of.resources().len());
        self.resources = left.ok_or_else(too_many_resources)?;
        Ok(())
    }

    /// Takes a nested stack off, and the text that it is read from.
    pub(crate) fn take_stack(&mut self, text_bytes: usize) -> Outcome<()> {
        let left = (self.stacks.checked_sub(1), self.text_bytes.checked_sub(text_bytes));
        let (Some(stacks), Some(text_bytes)) = left else { return Err(too_many_resources()) };
        *self = Self { text_bytes, stacks, ..*self };
        Ok(())
    }

    /// How a nested stack is read whose resources all have room.
    pub(crate) fn reading(&self) -> Reading {
        Reading {
            resources_max: self.bounds.room(),
            depth_max: self.bounds.depth,
            values: Values::Unchecked,
        }
    }

    /// How many resources more there may be.
    pub(crate) fn room(&self) -> usize {
        self.resources
    }
}

/// Heat's refusal of a tree that is too large.
pub(crate) fn too_many_resources() -> TemplateError {
    let message = "Request limit exceeded: Maximum resources per stack exceeded.";
    TemplateError::new("RequestLimitExceeded", message)
}

/// The properties of a type that is a template.
pub(super) fn properties(provider: &Provider) -> Properties {
    let schema = provider.parameters().iter().map(|parameter| {
        let kind = match parameter.kind {
            ProviderKind::String => Kind::String,
            ProviderKind::Number => Kind::Number,
            ProviderKind::Boolean => Kind::Boolean,
            ProviderKind::List => Kind::List,
            ProviderKind::Map => Kind::Map,
        };
        let schema = PropertySchema {
            required: parameter.required,
            update_allowed: true,
            constraints: parameter.constraints.clone(),
            from_parameter: true,
            ..PropertySchema::of(kind)
        };
        (parameter.name.clone(), schema)
    });
    schema.collect()
}

/// The parameters of a nested stack, from properties of their schema's types.
pub(super) fn parameters(schema: &Properties, properties: &JsonMap) -> Outcome<JsonMap> {
    let mut parameters = JsonMap::new();
    for (name, property) in schema {
        let value = match properties.get(name) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(items)) if property.kind == Kind::List => joined(items)?.into(),
            Some(value) => value.clone(),
        };
        parameters.insert(name.clone(), value);
    }
    Ok(parameters)
}

/// A list as the text of a comma-delimited one. Maps are laid out as CloudFormation's members.
fn joined(items: &[Value]) -> Outcome<String> {
    let mut texts = Vec::with_capacity(items.len());
    if matches!(items.first(), Some(Value::Object(_))) {
        for (number, item) in items.iter().enumerate() {
            let Value::Object(map) = item else {
                let kind = python::type_name(item);
                let message = format!("'{kind}' object has no attribute 'items'");
                return Err(TemplateError::new("AttributeError", message));
            };
            for (key, value) in map {
                texts.push(format!(".member.{number}.{key}={}", python::text(value)));
            }
        }
        return Ok(texts.join(","));
    }
    for (index, item) in items.iter().enumerate() {
        match item {
            Value::String(text) => texts.push(text.clone()),
            Value::Null => texts.push(String::new()),
            other => {
                let kind = python::type_name(other);
                return Err(TemplateError::kind(format!(
                    "sequence item {index}: expected str instance, {kind} found"
                )));
            }
        }
    }
    Ok(texts.join(","))
}
