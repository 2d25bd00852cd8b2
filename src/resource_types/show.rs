//! What the API tells of types: lists, schemas, and templates made from them.

use fancy_regex::Regex;
use serde_json::{Number, Value, json};

use super::declared::Declaration;
use super::registry::Registry;
use super::schema::{Kind, PropertySchema, SupportStatus};
use crate::model::{JsonMap, Refusal};
use crate::template::constraints::{Constraint, Rule};

/// The statuses that a list of types can be asked for.
const SUPPORT_STATUSES: [&str; 5] = ["UNKNOWN", "SUPPORTED", "DEPRECATED", "UNSUPPORTED", "HIDDEN"];

/// Which types a list has.
#[derive(Clone, Debug, Default)]
pub struct TypeFilter<'a> {
    /// A pattern that the start of the name matches.
    pub name: Option<&'a str>,
    pub support_status: Option<&'a str>,
    /// The release, as it stands in the type's newest status.
    pub version: Option<&'a str>,
}

/// The language of a generated template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TemplateKind {
    Cfn,
    Hot,
}

impl Registry {
    /// The types of a list, sorted by name; hidden ones are in none.
    pub fn listed(&self, filter: &TypeFilter<'_>) -> Result<Vec<&Declaration>, Refusal> {
        if let Some(status) = filter.support_status
            && !SUPPORT_STATUSES.contains(&status)
        {
            let all = SUPPORT_STATUSES.map(|status| format!("'{status}'")).join(", ");
            return Err(Refusal::new(
                "Invalid",
                format!(
                    "Data supplied was not valid: Invalid support status and should be one of \
                     ({all})"
                ),
            ));
        }
        let pattern = match filter.name.map(Regex::new) {
            None => None,
            Some(Ok(pattern)) => Some(pattern),
            // Heat takes a pattern that is none for one that nothing matches.
            Some(Err(_)) => return Ok(Vec::new()),
        };
        let matches = |declaration: &&Declaration| {
            let support = &declaration.support;
            let starts = |pattern: &Regex| {
                let found = pattern.find(&declaration.type_name);
                found.ok().flatten().is_some_and(|found| found.start() == 0)
            };
            !support.is_hidden()
                && pattern.as_ref().is_none_or(starts)
                && filter.support_status.is_none_or(|status| support.status() == status)
                && filter.version.is_none_or(|version| support.version() == Some(version))
        };
        Ok(self.declarations().filter(matches).collect())
    }

    /// The body of a type's schema.
    pub fn show(&self, type_name: &str) -> Result<Value, Refusal> {
        let declaration = self.visible(type_name)?;
        let properties: JsonMap = declaration
            .properties
            .iter()
            .filter(|(_, property)| property.is_shown())
            .map(|(name, property)| (name.clone(), property_body(property)))
            .collect();
        let mut attributes: JsonMap = declaration
            .attributes
            .iter()
            .filter(|(_, attribute)| !attribute.support.is_hidden())
            .map(|(name, attribute)| {
                let mut body = JsonMap::new();
                if let Some(description) = &attribute.description {
                    body.insert("description".into(), description.as_str().into());
                }
                if let Some(kind) = attribute.kind {
                    body.insert("type".into(), kind.as_str().into());
                }
                (name.clone(), body.into())
            })
            .collect();
        attributes.insert("show".into(), json!({ "description": SHOW, "type": "map" }));
        Ok(json!({
            "resource_type": type_name,
            "properties": properties,
            "attributes": attributes,
            "support_status": support_body(&declaration.support.0),
        }))
    }

    /// A template that has the type's properties as parameters and its attributes as outputs.
    pub fn template(&self, type_name: &str, kind: TemplateKind) -> Result<Value, Refusal> {
        let declaration = self.visible(type_name)?;
        let class = declaration.class.as_str();
        let mut parameters = JsonMap::new();
        let mut properties = JsonMap::new();
        for (name, property) in &declaration.properties {
            if !property.is_shown() {
                continue;
            }
            let (parameter, value) = match kind {
                TemplateKind::Hot => (hot_parameter(property), json!({ "get_param": name })),
                TemplateKind::Cfn if property.kind == Kind::List => {
                    (cfn_parameter(property), json!({ "Fn::Split": [",", { "Ref": name }] }))
                }
                TemplateKind::Cfn => (cfn_parameter(property), json!({ "Ref": name })),
            };
            parameters.insert(name.clone(), parameter);
            properties.insert(name.clone(), value);
        }
        let mut outputs = JsonMap::new();
        let shown = declaration
            .attributes
            .iter()
            .filter(|(_, attribute)| !attribute.support.is_hidden())
            .map(|(name, attribute)| (name.as_str(), attribute.description.as_deref()))
            .chain([("show", Some(SHOW))]);
        for (name, description) in shown {
            let output = match kind {
                TemplateKind::Hot => {
                    json!({ "value": { "get_attr": [class, name] }, "description": description })
                }
                TemplateKind::Cfn => {
                    json!({ "Value": { "Fn::GetAtt": [class, name] }, "Description": description })
                }
            };
            outputs.insert(name.into(), output);
        }
        let description = format!("Initial template of {class}");
        Ok(match kind {
            TemplateKind::Hot => {
                outputs
                    .insert("OS::stack_id".into(), json!({ "value": { "get_resource": class } }));
                json!({
                    "heat_template_version": "2016-10-14",
                    "description": description,
                    "parameters": parameters,
                    "outputs": outputs,
                    "resources": { class: { "type": type_name, "properties": properties } },
                })
            }
            TemplateKind::Cfn => {
                outputs.insert("OS::stack_id".into(), json!({ "Value": { "Ref": class } }));
                json!({
                    "HeatTemplateFormatVersion": "2012-12-12",
                    "Description": description,
                    "Parameters": parameters,
                    "Resources": { class: { "Type": type_name, "Properties": properties } },
                    "Outputs": outputs,
                })
            }
        })
    }

    fn visible(&self, type_name: &str) -> Result<&Declaration, Refusal> {
        let declaration =
            self.schema(type_name).ok_or_else(|| Refusal::not_found("Resource Type", type_name))?;
        if declaration.support.is_hidden() {
            return Err(Refusal::new("NotSupported", format!("{type_name} is not supported.")));
        }
        Ok(declaration)
    }
}

/// The description of the attribute that every type has.
const SHOW: &str = "Detailed information about resource.";

fn property_body(property: &PropertySchema) -> Value {
    let mut body = JsonMap::from_iter([("type".to_owned(), property.kind.as_str().into())]);
    if let Some(description) = &property.description {
        body.insert("description".into(), description.as_str().into());
    }
    if let Some(default) = &property.default {
        body.insert("default".into(), default.clone());
    }
    if let Some(items) = &property.items {
        body.insert("schema".into(), json!({ "*": property_body(items) }));
    } else if let Some(keys) = &property.keys {
        let keys = keys.iter().map(|(name, key)| (name.clone(), property_body(key)));
        body.insert("schema".into(), Value::Object(keys.collect()));
    }
    body.insert("required".into(), property.required.into());
    if !property.constraints.is_empty() {
        let constraints = property.constraints.iter().map(constraint_body);
        body.insert("constraints".into(), constraints.collect());
    }
    body.insert("update_allowed".into(), property.update_allowed.into());
    body.insert("immutable".into(), property.immutable.into());
    body.into()
}

fn constraint_body(constraint: &Constraint) -> Value {
    let mut body = JsonMap::new();
    if let Some(description) = &constraint.description {
        body.insert("description".into(), description.as_str().into());
    }
    let (name, rule) = match &constraint.rule {
        Rule::Length { min, max } => ("length", bounds(min, max)),
        Rule::Range { min, max } => ("range", bounds(min, max)),
        Rule::Modulo { step, offset } => ("modulo", json!({ "step": step, "offset": offset })),
        Rule::AllowedValues(values) => ("allowed_values", values.clone().into()),
        Rule::AllowedPattern(pattern) => ("allowed_pattern", pattern.as_str().into()),
        Rule::CustomConstraint(custom) => ("custom_constraint", custom.as_str().into()),
    };
    body.insert(name.into(), rule);
    body.into()
}

fn bounds(min: &Option<Number>, max: &Option<Number>) -> Value {
    let mut bounds = JsonMap::new();
    if let Some(min) = min {
        bounds.insert("min".into(), min.clone().into());
    }
    if let Some(max) = max {
        bounds.insert("max".into(), max.clone().into());
    }
    bounds.into()
}

fn support_body(statuses: &[SupportStatus]) -> Value {
    match statuses {
        [] => Value::Null,
        [newest, older @ ..] => json!({
            "status": newest.status,
            "message": newest.message,
            "version": newest.version,
            "previous_status": support_body(older),
        }),
    }
}

fn cfn_parameter(property: &PropertySchema) -> Value {
    let kind = match property.kind {
        Kind::Integer | Kind::Number => "Number",
        Kind::String => "String",
        Kind::Boolean => "Boolean",
        Kind::List => "CommaDelimitedList",
        Kind::Map | Kind::Any => "Json",
    };
    let mut parameter = JsonMap::from_iter([("Type".to_owned(), kind.into())]);
    if let Some(description) = &property.description {
        parameter.insert("Description".into(), description.as_str().into());
    }
    if let Some(default) = &property.default {
        parameter.insert("Default".into(), default.clone());
    }
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            parameter.insert(key.into(), value);
        }
    };
    for constraint in &property.constraints {
        match &constraint.rule {
            Rule::Length { min, max } => {
                put("MinLength", min.clone().map(Value::from));
                put("MaxLength", max.clone().map(Value::from));
            }
            Rule::Range { min, max } => {
                put("MinValue", min.clone().map(Value::from));
                put("MaxValue", max.clone().map(Value::from));
            }
            Rule::AllowedValues(values) => put("AllowedValues", Some(values.clone().into())),
            Rule::AllowedPattern(pattern) => {
                put("AllowedPattern", Some(pattern.as_str().into()));
            }
            Rule::Modulo { .. } | Rule::CustomConstraint(_) => {}
        }
    }
    if property.kind == Kind::Boolean {
        put("AllowedValues", Some(json!(["True", "true", "False", "false"])));
    }
    parameter.into()
}

fn hot_parameter(property: &PropertySchema) -> Value {
    let kind = match property.kind {
        Kind::Integer | Kind::Number => "number",
        Kind::String => "string",
        Kind::Boolean => "boolean",
        Kind::List => "comma_delimited_list",
        Kind::Map | Kind::Any => "json",
    };
    let mut parameter = JsonMap::from_iter([("type".to_owned(), kind.into())]);
    if let Some(description) = &property.description {
        parameter.insert("description".into(), description.as_str().into());
    }
    if let Some(default) = &property.default {
        parameter.insert("default".into(), default.clone());
    }
    if !property.constraints.is_empty() {
        // A rule that only the property can have leaves an empty place, as in Heat.
        let constraints = property.constraints.iter().map(|constraint| match constraint.rule {
            Rule::Modulo { .. } | Rule::CustomConstraint(_) => json!({}),
            Rule::Length { .. }
            | Rule::Range { .. }
            | Rule::AllowedValues(_)
            | Rule::AllowedPattern(_) => {
                let mut body = constraint_body(constraint);
                if let Value::Object(body) = &mut body {
                    body.shift_remove("description");
                }
                body
            }
        });
        parameter.insert("constraints".into(), constraints.collect());
    }
    parameter.into()
}
