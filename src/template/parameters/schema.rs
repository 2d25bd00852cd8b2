//! The schema of a parameter: read from its declaration, checked, and asked about values.

use crate::model::IndexMap;
use serde_json::Number;

use super::rules::{allowed_pattern, allowed_values, bound, length, range};
use super::{ParameterType, cfn_rules, convert};
use crate::template::constraints::{self, Broken, Constraint, Rule};
use crate::template::dialect::Language;
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node, NodeMap, Place};
use crate::template::value::{Datum, DatumMap};
use crate::template::version::Version;
use crate::template::{TypeLookup, python};

/// What a template declares of a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Schema {
    pub(crate) kind: ParameterType,
    /// The type as the template writes it.
    kind_name: &'static str,
    pub(crate) description: Datum,
    pub(crate) default: Option<Datum>,
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) hidden: bool,
    pub(crate) label: Datum,
    pub(crate) immutable: bool,
    pub(crate) tags: Vec<Datum>,
    pub(crate) place: Place,
}

/// Reads the schemas of a template's parameters.
pub(crate) fn read_all(root: &Node, version: &Version) -> Outcome<IndexMap<String, Schema>> {
    let parameters = root.get(version.dialect.sections.parameters);
    let Some(section) = parameters.filter(|node| node.is_truthy()) else {
        return Ok(IndexMap::default());
    };
    let Some(declared) = section.as_map() else {
        let kind = python::type_name(&section.to_datum());
        let message = format!("'{kind}' object has no attribute 'items'");
        return Err(TemplateError::new("AttributeError", message).placed(section.place));
    };
    declared
        .iter()
        .map(|(name, node)| {
            let schema = Schema::read(name, node, version);
            Ok((name.to_string(), schema.map_err(|error| error.placed(node.key_place))?))
        })
        .collect()
}

/// Puts the environment's defaults in the place of a template's own, as Heat does with a template
/// behind a type. They are checked like its own, and null leaves a parameter without one.
pub(crate) fn take_defaults(schemas: &mut IndexMap<String, Schema>, defaults: &DatumMap) {
    for (name, default) in defaults {
        if let Some(schema) = schemas.get_mut(name.as_str()) {
            schema.default = Some(default.clone()).filter(|value| !matches!(value, Datum::Null));
        }
    }
}

impl Schema {
    /// A text parameter with a default: a pseudo parameter.
    pub(super) fn text(default: &str) -> Self {
        Self {
            kind: ParameterType::String,
            kind_name: ParameterType::String.api_name(),
            description: Datum::Null,
            default: Some(default.into()),
            constraints: Vec::new(),
            hidden: false,
            label: Datum::Null,
            immutable: false,
            tags: Vec::new(),
            place: Place::default(),
        }
    }

    fn read(name: &str, node: &Node, version: &Version) -> Outcome<Self> {
        let entity = format!("parameter ({name})");
        let declared = checked_map(node, &entity, |key| version.has_parameter_key(key))?;
        let language = version.dialect.language;
        let keys = &version.dialect.parameter;
        let Some(type_node) = declared.get(keys.kind) else {
            let message = format!("Missing parameter type for parameter: {name}");
            return Err(TemplateError::schema(message));
        };
        let tags = match declared.get("tags").map(|node| &node.form) {
            None => Vec::new(),
            Some(Form::List(items)) => items.iter().map(Node::to_datum).collect(),
            Some(_) => {
                let message = format!("Tags property should be a list for parameter: {name}");
                return Err(TemplateError::schema(message));
            }
        };
        let constraints = match language {
            Language::Hot => read_constraints(name, declared.get("constraints"), version)?,
            Language::Cfn => cfn_rules::read(declared)?,
        };
        let datum = |key: &str| declared.get(key).map_or(Datum::Null, Node::to_datum);
        let kind = type_node.as_text().and_then(|name| ParameterType::of(name, language));
        let kind = kind.ok_or_else(|| {
            let shown = python::text_of(&type_node.to_datum());
            TemplateError::schema(format!("Invalid type ({shown})")).placed(type_node.place)
        })?;
        // Any schema, even an empty one, is out of place with a type that has no items.
        let has_items = matches!(kind, ParameterType::CommaDelimitedList | ParameterType::Json);
        if !matches!(datum("schema"), Datum::Null) && !has_items {
            let message =
                format!("Schema valid only for comma_delimited_list or json, not {}", kind.name());
            return Err(TemplateError::schema(message));
        }
        let hidden = datum(keys.hidden);
        Ok(Self {
            kind,
            kind_name: kind.name_in(language),
            description: datum(keys.description),
            default: Some(datum(keys.default)).filter(|value| !matches!(value, Datum::Null)),
            constraints,
            hidden: match language {
                Language::Hot => hidden.is_truthy(),
                Language::Cfn => python::text_of(&hidden).to_lowercase() == "true",
            },
            label: datum(keys.label),
            immutable: datum("immutable").is_truthy(),
            tags,
            place: node.key_place,
        })
    }

    /// Checks that the constraints fit the property that the parameter is of a type.
    pub(crate) fn check_as_property(&self) -> Outcome<()> {
        self.check_kinds(match self.kind {
            ParameterType::CommaDelimitedList => "List",
            ParameterType::Json => "Map",
            kind => kind.api_name(),
        })
    }

    /// Checks that the constraints fit the type.
    fn check_kinds(&self, kind_name: &str) -> Outcome<()> {
        match self.constraints.iter().find(|constraint| !self.kind.allows(&constraint.rule)) {
            None => Ok(()),
            Some(constraint) => {
                let class = constraint.class_name();
                let message = format!("{class} constraint invalid for {kind_name}");
                Err(TemplateError::schema(message))
            }
        }
    }

    /// Checks that the constraints fit the type, and the default the constraints.
    pub(super) fn check(&self) -> Outcome<()> {
        self.check_kinds(self.kind_name)?;
        let Some(default) = &self.default else { return Ok(()) };
        let value = match (self.kind, default) {
            (ParameterType::CommaDelimitedList, Datum::Text(text)) => {
                Datum::List(text.split(',').map(Datum::from).collect())
            }
            (ParameterType::CommaDelimitedList, Datum::List(items)) => {
                Datum::List(items.iter().map(python::text_of).map(Datum::from).collect())
            }
            (ParameterType::CommaDelimitedList, other) => {
                let kind = python::type_name(other);
                return Err(TemplateError::schema(format!(
                    "Default must be a comma-delimited list string: '{kind}' object has no \
                     attribute 'split'"
                )));
            }
            (_, other) => other.clone(),
        };
        self.check_constraints(&value, None).map_err(|error| {
            let default = python::text_of(default);
            TemplateError::schema(format!("Invalid default {default} ({})", error.text()))
        })
    }

    /// Checks a value, given or default, by the type and the constraints.
    pub(super) fn check_value(&self, raw: &Datum, types: &dyn TypeLookup) -> Outcome<()> {
        let check = |value: &Datum| self.check_constraints(value, Some(types));
        let invalid = |error: TemplateError| match error.class.as_ref() {
            "ValueError" => TemplateError::validation(error.message),
            _ => error,
        };
        match self.kind {
            ParameterType::String => check(raw),
            ParameterType::Number => {
                let numeric = constraints::number(raw);
                numeric.map_err(|broken| match broken {
                    Broken::Rule(text) | Broken::Kind(text) => TemplateError::validation(text),
                })?;
                check(raw)
            }
            ParameterType::Boolean => {
                convert::boolean(raw).map_err(invalid)?;
                check(raw)
            }
            ParameterType::CommaDelimitedList => check(&convert::list(raw).map_err(invalid)?),
            ParameterType::Json => check(&convert::parsed_json(raw).map_err(invalid)?),
        }
    }

    /// Custom constraints are asked of `types`; where there are none they are passed over.
    fn check_constraints(&self, value: &Datum, types: Option<&dyn TypeLookup>) -> Outcome<()> {
        for constraint in &self.constraints {
            if let (Rule::CustomConstraint(name), Some(types)) = (&constraint.rule, types) {
                types.check_custom(name, &value.to_json()).map_err(|text| {
                    let own = constraint.description.clone().filter(|text| !text.is_empty());
                    TemplateError::validation(own.unwrap_or(text))
                })?;
            }
            constraint.check_datum(value, self.kind.value_type()).map_err(
                |broken| match broken {
                    Broken::Rule(message) => TemplateError::validation(message),
                    Broken::Kind(message) => TemplateError::kind(message),
                },
            )?;
        }
        Ok(())
    }
}

/// A map with none but allowed keys.
fn checked_map<'n>(
    node: &'n Node,
    entity: &str,
    is_allowed: impl Fn(&str) -> bool,
) -> Outcome<&'n NodeMap> {
    let Some(map) = node.as_map() else {
        let message = format!("Invalid {entity}, expected a mapping");
        return Err(TemplateError::schema(message).placed(node.place));
    };
    for (key, value) in map {
        if !is_allowed(key) {
            let message = format!("Invalid key '{key}' for {entity}");
            return Err(TemplateError::schema(message).placed(value.key_place));
        }
    }
    Ok(map)
}

fn read_constraints(
    name: &str,
    constraints: Option<&Node>,
    version: &Version,
) -> Outcome<Vec<Constraint>> {
    match constraints.map(|node| &node.form) {
        None | Some(Form::Null) => Ok(Vec::new()),
        Some(Form::List(items)) => items
            .iter()
            .map(|item| read_constraint(item, version).map_err(|error| error.placed(item.place)))
            .collect(),
        Some(_) => Err(TemplateError::schema(format!(
            "Invalid parameter constraints for parameter {name}, expected a list"
        ))),
    }
}

/// The kinds in the order in which Heat looks for them; of several in one item the first counts.
pub(crate) const CONSTRAINT_KEYS: [&str; 7] = [
    "description",
    "modulo",
    "range",
    "length",
    "allowed_values",
    "allowed_pattern",
    "custom_constraint",
];

fn read_constraint(node: &Node, version: &Version) -> Outcome<Constraint> {
    let map = checked_map(node, "parameter constraints", |key| CONSTRAINT_KEYS.contains(&key))?;
    let description = map.get("description").filter(|node| !node.is_null());
    let description = description.map(|node| python::text_of(&node.to_datum()));
    let kind = CONSTRAINT_KEYS[1..]
        .iter()
        .filter(|kind| **kind != "modulo" || version.has_modulo())
        .find_map(|kind| Some((*kind, map.get(*kind)?)));
    let rule = match kind {
        Some(("modulo", node)) => modulo(node)?,
        Some(("range", node)) => {
            let (min, max) = bounds(node, "range")?;
            range(min, max)?
        }
        Some(("length", node)) => {
            let (min, max) = bounds(node, "length")?;
            length(min, max)?
        }
        Some(("allowed_values", node)) => allowed_values(node)?,
        Some(("allowed_pattern", node)) => allowed_pattern(node)?,
        Some((_, node)) => Rule::CustomConstraint(python::text_of(&node.to_datum())),
        None => return Err(TemplateError::schema("No constraint expressed")),
    };
    Ok(Constraint { rule, description })
}

fn bounds(node: &Node, kind: &str) -> Outcome<(Option<Number>, Option<Number>)> {
    let entity = format!("{kind} constraint");
    let map = checked_map(node, &entity, |key| matches!(key, "min" | "max"))?;
    Ok((bound(map, "min")?, bound(map, "max")?))
}

fn modulo(node: &Node) -> Outcome<Rule> {
    let map = checked_map(node, "modulo constraint", |key| matches!(key, "step" | "offset"))?;
    let (Some(step), Some(offset)) = (bound(map, "step")?, bound(map, "offset")?) else {
        return Err(TemplateError::schema(
            "A modulo constraint must have a step value and an offset value specified.",
        ));
    };
    let (step_value, offset_value) =
        (step.as_f64().unwrap_or_default(), offset.as_f64().unwrap_or_default());
    let problem = if step_value.fract() != 0.0 || offset_value.fract() != 0.0 {
        Some("step/offset must be integer")
    } else if step_value == 0.0 {
        Some("step cannot be 0.")
    } else if offset_value.abs() >= step_value.abs() {
        Some("offset must be smaller (by absolute value) than step.")
    } else if step_value * offset_value < 0.0 {
        Some("step and offset must be both positive or both negative.")
    } else {
        None
    };
    match problem {
        Some(problem) => Err(TemplateError::schema(problem)),
        None => Ok(Rule::Modulo { step, offset }),
    }
}
