//! What parameters are given, and what they are changed to.
//!
//! A value's kind is what its constraints say, or those of the property that it goes to: the name
//! of an image, a network, and so on. `values.yaml` has values by kinds and names, and what has to
//! be there for them; all others follow from types, defaults and what is allowed.

use std::collections::BTreeMap;
use std::path::Path;

use hearth::model::Refusal;
use hearth::resource_types::Registry;
use hearth::resource_types::schema::PropertySchema;
use hearth::template::constraints;
use hearth::template::{PseudoParameters, StackDefinition, StackSource, map_text};
use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Values {
    /// Resources that have to be there.
    needs: Value,
    /// The first that fits counts.
    rules: Vec<Rule>,
}

/// Values of parameters of a kind, or with a word in their name, or both.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    kind: Option<String>,
    word: Option<String>,
    values: Vec<Value>,
}

impl Rule {
    fn fits(&self, name: &str, kind: Option<&str>) -> bool {
        let has_word = |word: &String| name.to_lowercase().contains(word.as_str());
        self.kind.as_deref().is_none_or(|own| Some(own) == kind)
            && self.word.as_ref().is_none_or(has_word)
    }
}

/// A parameter, what it is given, if anything, and what it is changed to, if it can be.
pub(super) struct Choice {
    pub(super) name: String,
    pub(super) first: Option<Value>,
    pub(super) other: Option<Value>,
    /// Whether anything may be written there: what is more particular is changed rather.
    is_free: bool,
}

impl Values {
    pub(super) fn read(path: &Path) -> Values {
        let map = map_text(&std::fs::read_to_string(path).unwrap()).unwrap();
        serde_json::from_value(Value::Object(map)).unwrap()
    }

    /// A template of what has to be there.
    pub(super) fn needs(&self) -> Value {
        json!({ "heat_template_version": "2021-04-16", "resources": self.needs })
    }

    /// The parameters of a template, those first whose change says most. `{ get_resource: NAME }`
    /// is what has to be there.
    pub(super) fn choices(
        &self,
        source: &StackSource,
        registry: &Registry,
        needs: &BTreeMap<String, String>,
    ) -> Result<Vec<Choice>, Refusal> {
        let pseudo = PseudoParameters::default();
        let definition = StackDefinition::load_without_values(source, &pseudo, registry)?;
        let body = definition.validation_body(Map::new());
        let mut kinds = BTreeMap::new();
        Uses { source, registry, kinds: &mut kinds }.look(&definition.template());
        let parameters = body["Parameters"].as_object().unwrap();
        let chosen = parameters.iter().map(|(name, schema)| {
            let own = schema["CustomConstraint"].as_str();
            self.choice(name, schema, own.or_else(|| kinds.get(name).map(String::as_str)))
        });
        let mut choices: Vec<Choice> = chosen.collect();
        for value in choices.iter_mut().flat_map(|it| it.first.iter_mut().chain(&mut it.other)) {
            if let Some(name) = value.get("get_resource").and_then(Value::as_str) {
                *value = needs[name].as_str().into();
            }
        }
        choices.sort_by_key(|choice| choice.is_free);
        Ok(choices)
    }

    fn choice(&self, name: &str, schema: &Value, kind: Option<&str>) -> Choice {
        let default = schema.get("Default").cloned();
        let allowed = schema["AllowedValues"].as_array();
        let rule = self.rules.iter().find(|rule| rule.fits(name, kind));
        let is_allowed = |value: &&Value| allowed.is_none_or(|allowed| allowed.contains(value));
        let ruled = rule.into_iter().flat_map(|rule| &rule.values).filter(is_allowed).cloned();
        let ruled: Vec<Value> = ruled.collect();
        let has_kind = rule.is_some_and(|rule| rule.kind.is_some()) && !ruled.is_empty();
        let (values, is_free) = match (allowed, schema["Type"].as_str()) {
            // A default that is a name may name what is not there.
            _ if has_kind => (ruled, false),
            (Some(allowed), _) => (before(default, allowed), false),
            (_, Some("Boolean")) => (before(default, &[true.into(), false.into()]), false),
            (_, Some("Number")) => {
                let first = default.unwrap_or_else(|| or(&schema["MinValue"], json!(1)));
                let second = next(&first, &schema["MaxValue"]);
                (vec![first, second], false)
            }
            _ if !ruled.is_empty() => (before(default, &ruled), true),
            (_, Some("CommaDelimitedList")) => {
                (before(default, &[json!(["corpus"]), json!(["corpus", "other"])]), true)
            }
            (_, Some("Json")) => (before(default, &[json!({}), json!({ "corpus": "x" })]), true),
            _ => (before(default, &["corpus".into(), "other".into()]), true),
        };
        let mut values = values.into_iter();
        Choice { name: name.to_owned(), first: values.next(), other: values.next(), is_free }
    }
}

/// Values with one before them, each once.
fn before(default: Option<Value>, others: &[Value]) -> Vec<Value> {
    let others = others.iter().filter(|other| default.as_ref() != Some(other)).cloned();
    default.clone().into_iter().chain(others).collect()
}

fn or(value: &Value, other: Value) -> Value {
    if value.is_null() { other } else { value.clone() }
}

/// The number after, or the one before where there is none.
fn next(value: &Value, max: &Value) -> Value {
    let text = value.as_str().map(str::to_owned).unwrap_or_else(|| value.to_string());
    let Ok(number) = text.parse::<i64>() else { return json!(1) };
    let is_last = max.as_i64().is_some_and(|max| number >= max);
    Number::from(if is_last { number - 1 } else { number + 1 }).into()
}

/// Which parameters go as they are to properties of which kinds.
struct Uses<'a> {
    source: &'a StackSource,
    registry: &'a Registry,
    kinds: &'a mut BTreeMap<String, String>,
}

impl Uses<'_> {
    /// Looks at every resource, also those that groups are made of.
    fn look(&mut self, value: &Value) {
        if let Some(map) = value.as_object() {
            let either = |hot, cfn| map.get(hot).or_else(|| map.get(cfn));
            let type_name = either("type", "Type").and_then(Value::as_str);
            if let (Some(type_name), Some(properties)) =
                (type_name, either("properties", "Properties"))
            {
                self.look_at(type_name, properties);
            }
        }
        let within: Box<dyn Iterator<Item = &Value>> = match value {
            Value::Object(map) => Box::new(map.values()),
            Value::Array(items) => Box::new(items.iter()),
            _ => return,
        };
        within.for_each(|value| self.look(value));
    }

    fn look_at(&mut self, type_name: &str, properties: &Value) {
        let registry = self.registry;
        if let Some(declaration) = registry.schema(type_name) {
            for (name, value) in properties.as_object().into_iter().flatten() {
                if let Some(schema) = declaration.properties.get(name) {
                    self.look_into(schema, value);
                }
            }
        } else if let Some(behind) = self.source.files.get(type_name) {
            let Ok(behind) = map_text(behind) else { return };
            let mut kinds = BTreeMap::new();
            Uses { kinds: &mut kinds, ..*self }.look(&Value::Object(behind));
            for (name, value) in properties.as_object().into_iter().flatten() {
                if let (Some(kind), Some(parameter)) = (kinds.get(name), parameter(value)) {
                    self.kinds.insert(parameter.to_owned(), kind.clone());
                }
            }
        }
    }

    fn look_into(&mut self, schema: &PropertySchema, value: &Value) {
        if let Some(parameter) = parameter(value) {
            let kinds = schema.constraints.iter().filter_map(|constraint| match &constraint.rule {
                constraints::Rule::CustomConstraint(kind) => {
                    Some((parameter.to_owned(), kind.clone()))
                }
                _ => None,
            });
            self.kinds.extend(kinds);
        }
        if let (Some(items), Value::Array(values)) = (&schema.items, value) {
            values.iter().for_each(|value| self.look_into(items, value));
        }
        if let (Some(keys), Value::Object(map)) = (&schema.keys, value) {
            for (name, value) in map {
                if let Some(schema) = keys.get(name) {
                    self.look_into(schema, value);
                }
            }
        }
    }
}

/// The parameter that a value is.
fn parameter(value: &Value) -> Option<&str> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    ["get_param", "Ref"].into_iter().find_map(|function| map.get(function)?.as_str())
}
