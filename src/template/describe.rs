//! A definition laid open: everything in it resolved as far as it goes without a cloud, with
//! placeholders for what only live resources know. `hearth resolve` prints it.

use serde_json::Value;

use super::definition::{AnyType, StackDefinition};
use super::environment::HIDDEN;
use super::error::{Outcome, TemplateError};
use super::node::{ConditionsNamed as _, Form, Node, Scope};
use super::value::{Datum, DatumMap};
use super::yaml::emit::emit;
use super::{ALL_ATTRIBUTES, ResourceValues, python, walk};
use crate::model::{Refusal, ResourceName};

/// How a definition is written for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    Yaml,
    Json,
}

/// Stands for resources that are there: `{resource:r}`, `{attribute:r.a.b.0}`.
struct Placeholders;

impl ResourceValues for Placeholders {
    fn reference(&self, name: &ResourceName) -> Option<Value> {
        Some(format!("{{resource:{name}}}").into())
    }

    fn attribute(&self, name: &ResourceName, attribute: &str) -> Result<Option<Value>, Refusal> {
        self.attribute_at(name, attribute, &[])
    }

    fn attribute_at(
        &self,
        name: &ResourceName,
        attribute: &str,
        path: &[Value],
    ) -> Result<Option<Value>, Refusal> {
        let mut parts = vec![name.to_string()];
        if attribute != ALL_ATTRIBUTES {
            parts.push(attribute.to_owned());
        }
        parts.extend(path.iter().map(|part| python::text_of(&Datum::from(part))));
        Ok(Some(format!("{{attribute:{}}}", parts.join(".")).into()))
    }
}

impl StackDefinition {
    /// Parameters, conditions, resources and outputs, resolved with placeholders, as JSON. What
    /// cannot be resolved is `{"!error", "text"}` in the smallest place that it spoils.
    pub fn describe(&self) -> String {
        // Not through JSON values, which have no integers beyond 64 bits.
        python::json_text(&self.described(), false)
    }

    /// The same for people, in YAML or in JSON.
    pub fn describe_in(&self, form: TextForm) -> String {
        let described = self.described();
        match form {
            TextForm::Yaml => emit(&described),
            TextForm::Json => python::indented_json_text(&described) + "\n",
        }
    }

    fn described(&self) -> Datum {
        let scope = self.scope_with(&Placeholders, &AnyType);
        let parameters = self.parameters.declared().map(|(name, parameter)| {
            let value = match parameter.schema.hidden {
                true => HIDDEN.into(),
                false => guarded(parameter.value().cloned()),
            };
            (name, value)
        });
        let conditions = self.conditions.names().map(|name| {
            let holds = self.conditions.is_enabled(&name.into(), &scope);
            (name, guarded(holds.map(Datum::Bool)))
        });
        let resources = self.definitions.iter().map(|(name, definition)| {
            let declared = self.declared.get(&ResourceName(name.clone()));
            let requires = declared.into_iter().flat_map(|declared| &declared.requires);
            let requires = requires.map(|required| required.as_str().into()).collect();
            let fields = [
                ("type", definition.declared_type.as_str().into()),
                ("properties", described_map(&definition.properties, &scope)),
                ("metadata", described_map(&definition.metadata, &scope)),
                ("requires", Datum::List(requires)),
                ("deletion_policy", definition.deletion_policy.as_str().into()),
                ("update_policy", described_map(&definition.update_policy, &scope)),
                ("external_id", guarded(walk::resolve(&definition.external_id, &scope))),
            ];
            (name.as_str(), map(fields))
        });
        let outputs = self.outputs.iter().map(|(name, output)| {
            let fields = [
                ("value", guarded(walk::resolve(&output.value, &scope))),
                ("description", output.description.as_str().into()),
            ];
            (name.as_str(), map(fields))
        });
        map([
            ("ok", Datum::Bool(true)),
            ("parameters", map(parameters)),
            ("conditions", map(conditions)),
            ("resources", map(resources)),
            ("outputs", map(outputs)),
        ])
    }
}

fn map<'n>(entries: impl IntoIterator<Item = (&'n str, Datum)>) -> Datum {
    Datum::Map(entries.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// A map key by key, so that one error spoils one key.
fn described_map(node: &Node, scope: &Scope<'_>) -> Datum {
    match &node.form {
        Form::Null => Datum::Map(DatumMap::default()),
        Form::Map(entries) => {
            let mut described = DatumMap::default();
            for (key, item) in entries.iter() {
                let value = match walk::resolve_nullable(item, scope) {
                    Ok(None) => continue,
                    Ok(Some(value)) => plain(value),
                    Err(error) => spoilt(&error),
                };
                described.insert(key.clone().into(), value);
            }
            Datum::Map(described)
        }
        _ => match walk::resolve(node, scope) {
            Ok(value) if !value.is_truthy() => Datum::Map(DatumMap::default()),
            other => guarded(other),
        },
    }
}

fn guarded(value: Outcome<Datum>) -> Datum {
    match value {
        Ok(value) => plain(value),
        Err(error) => spoilt(&error),
    }
}

fn spoilt(error: &TemplateError) -> Datum {
    map([("!error", error.class.as_ref().into()), ("text", error.text().as_str().into())])
}

/// As JSON can say it, which has no NaN and no infinities.
fn plain(mut value: Datum) -> Datum {
    make_plain(&mut value);
    value
}

fn make_plain(value: &mut Datum) {
    match value {
        Datum::Float(number) if !number.is_finite() => {
            *value = map([("!float", python::float_text(*number).as_str().into())]);
        }
        Datum::List(items) => items.iter_mut().for_each(make_plain),
        Datum::Map(entries) => entries.values_mut().for_each(make_plain),
        Datum::Null | Datum::Bool(_) | Datum::Int(_) | Datum::Float(_) | Datum::Text(_) => {}
    }
}
