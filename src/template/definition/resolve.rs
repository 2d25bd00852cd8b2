//! What values come to in a definition: properties and outputs with every function resolved, with
//! marks on what must not be seen.

use serde_json::Value;

use super::{AnyType, StackDefinition};
use crate::model::sizes::{METADATA, PROPERTIES};
use crate::model::{JsonMap, Refusal, ResourceName, Secret, taint};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Node, Scope};
use crate::template::value::Datum;
use crate::template::{OutputValue, ResourceResolved, ResourceValues, python, resources, walk};

/// A part of a resource's definition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part<'a> {
    Property(&'a str),
    Metadata,
    UpdatePolicy,
}

impl StackDefinition {
    /// A resource's definition with every function resolved, with marks on what must not be seen.
    pub fn resolve(
        &self,
        name: &ResourceName,
        values: &dyn ResourceValues,
    ) -> Result<ResourceResolved, Refusal> {
        let Some(definition) = self.definitions.get(name.as_str()) else {
            return Err(Refusal::not_found("Resource", name));
        };
        self.resolved(definition, values).map_err(|refusal| {
            let parts = [&definition.properties, &definition.metadata, &definition.update_policy];
            let secrets = self.secrets_read(&parts, values);
            Refusal { message: taint::mask_repeated(&refusal.message, &secrets), ..refusal }
        })
    }

    /// A resource's metadata alone; `None` where they do not resolve.
    pub fn resolve_metadata(
        &self,
        name: &ResourceName,
        values: &dyn ResourceValues,
    ) -> Option<JsonMap> {
        let definition = self.definitions.get(name.as_str())?;
        let scope = self.scope_with(values, &AnyType);
        let metadata = resolved_map(&definition.metadata, "metadata", &scope).ok()?;
        METADATA.check_json(&metadata).ok()?;
        Some(metadata)
    }

    fn resolved(
        &self,
        definition: &resources::Definition,
        values: &dyn ResourceValues,
    ) -> Result<ResourceResolved, Refusal> {
        let scope = self.scope_with(values, &AnyType);
        let properties = resolved_map(&definition.properties, "properties", &scope)?;
        let metadata = resolved_map(&definition.metadata, "metadata", &scope)?;
        PROPERTIES.check_json(&properties)?;
        METADATA.check_json(&metadata)?;
        Ok(ResourceResolved {
            properties,
            metadata,
            update_policy: resolved_map(&definition.update_policy, "update_policy", &scope)?,
        })
    }

    /// The texts that must not be seen and that parts of the definition may read: what is not
    /// resolved is quoted in its error.
    fn secrets_read(&self, parts: &[&Node], values: &dyn ResourceValues) -> Vec<Secret<String>> {
        let parameters = self.parameters.iter().filter_map(|(name, _)| self.parameter(name));
        let written = parts.iter().copied().chain([&self.mappings]).map(Node::to_marked_json);
        let facade = self.pseudo.facade.iter().cloned();
        let facade = facade.flat_map(|facade| [facade.metadata, facade.update_policy]);
        let references = self.declared.keys().filter_map(|name| values.reference(name));
        let attributes = self.reads.iter().filter_map(|(name, attribute)| {
            // Of an attribute that has none there is nothing to quote.
            values.attribute(name, attribute).ok().flatten()
        });
        let read = parameters.chain(written).chain(facade).chain(references).chain(attributes);
        read.flat_map(|value| taint::texts(&value)).collect()
    }

    /// Resolves each part of a resource's definition by itself, for what is noted meanwhile where
    /// values are asked for.
    pub(crate) fn each_part(
        &self,
        name: &ResourceName,
        values: &dyn ResourceValues,
        mut then: impl FnMut(Part<'_>),
    ) {
        let Some(definition) = self.definitions.get(name.as_str()) else { return };
        let scope = self.scope_with(values, &AnyType);
        for (property, node) in definition.properties.as_map().into_iter().flatten() {
            // What does not resolve was noted all the same.
            let _ = walk::resolve(node, &scope);
            then(Part::Property(property));
        }
        for (part, node) in [
            (Part::Metadata, &definition.metadata),
            (Part::UpdatePolicy, &definition.update_policy),
        ] {
            let _ = walk::resolve(node, &scope);
            then(part);
        }
    }

    /// The outputs with values, with marks on what must not be seen; one that cannot be resolved is
    /// null and says why.
    pub fn resolve_outputs(&self, values: &dyn ResourceValues) -> Vec<OutputValue> {
        let scope = self.scope_with(values, &AnyType);
        self.outputs
            .iter()
            .map(|(key, output)| {
                let resolved = walk::resolve_marked(&output.value, &scope);
                let masked = |error: &TemplateError| {
                    taint::mask_repeated(
                        &error.text(),
                        &self.secrets_read(&[&output.value], values),
                    )
                };
                let error = resolved.as_ref().err().map(masked);
                OutputValue {
                    key: key.clone(),
                    description: output.description.clone(),
                    value: resolved.ok().flatten().unwrap_or_default(),
                    error,
                }
            })
            .collect()
    }
}

/// A map's entries; of one that is secret as a whole, each of them is.
fn map_of(map: JsonMap) -> JsonMap {
    let whole = Value::Object(map);
    match (taint::marked(&whole).cloned(), whole) {
        (Some(Value::Object(map)), _) => {
            map.into_iter().map(|(key, value)| (key, taint::taint(value))).collect()
        }
        (_, Value::Object(map)) => map,
        _ => JsonMap::new(),
    }
}

fn resolved_map(node: &Node, section: &str, scope: &Scope<'_>) -> Outcome<JsonMap> {
    match walk::resolve_marked(node, scope)?.unwrap_or_default() {
        Value::Object(map) => Ok(map_of(map)),
        other => {
            let other = Datum::from(&other);
            if !other.is_truthy() {
                return Ok(JsonMap::new());
            }
            let kind = python::type_name(&other);
            Err(TemplateError::validation(format!("The {section} must be a map, not a {kind}.")))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::NothingYet;
    use super::*;
    use crate::template::{PseudoParameters, StackSource};

    /// The outputs of a template with a hidden parameter `s`, secrets masked.
    fn outputs_masked(outputs: Value) -> Value {
        let template = json!({
            "heat_template_version": "2021-04-16",
            "parameters": { "s": { "type": "string", "hidden": true }, "p": { "type": "string" } },
            "conditions": { "is": { "equals": [{ "get_param": "s" }, "geheim"] } },
            "outputs": outputs,
        });
        let source = StackSource {
            template,
            parameters: json!({ "s": "geheim", "p": "plain" }).as_object().unwrap().clone(),
            ..StackSource::default()
        };
        let definition =
            StackDefinition::load(&source, &PseudoParameters::default(), &AnyType).unwrap();
        let resolved = definition.resolve_outputs(&NothingYet).into_iter();
        resolved.map(|output| (output.key, taint::masked(&output.value))).collect()
    }

    #[test]
    fn whatever_a_function_makes_of_a_secret_is_one() {
        let secret = json!({ "get_param": "s" });
        let calls = [
            json!({ "str_split": ["e", secret] }),
            json!({ "str_split": ["e", secret, 0] }),
            json!({ "digest": ["md5", secret] }),
            json!({ "yaql": { "expression": "len($.data)", "data": secret } }),
            json!({ "yaql": { "expression": "$.data.toUpper()", "data": secret } }),
            json!({ "repeat": { "template": "%x%", "for_each": { "%x%": [secret] } } }),
            json!({ "map_merge": [{ "a": "b" }, { "c": secret }] }),
            json!({ "str_replace": { "template": "a", "params": { "x": secret } } }),
            json!({ "if": ["is", { "list_join": ["", [secret]] }, "no"] }),
            json!({ "contains": ["e", secret] }),
        ];
        for call in calls {
            let shown = outputs_masked(json!({ "o": { "value": call } }));
            assert_eq!(shown["o"], "******", "{call}");
        }
    }

    #[test]
    fn an_error_of_an_output_names_no_secret() {
        let template = json!({
            "heat_template_version": "2021-04-16",
            "parameters": { "s": { "type": "string", "hidden": true, "default": "geheim" } },
            "resources": { "a": { "type": "OS::Heat::TestResource" } },
            "outputs": {
                "p": { "value": { "yaql": { "expression": "int($.data)",
                                            "data": { "get_param": "s" } } } },
                "a": { "value": { "yaql": { "expression": "int($.data)",
                                            "data": { "get_attr": ["a", "output"] } } } },
            },
        });
        let source = StackSource { template, ..StackSource::default() };
        let definition =
            StackDefinition::load(&source, &PseudoParameters::default(), &AnyType).unwrap();
        for output in definition.resolve_outputs(&Marked) {
            let error = output.error.unwrap();
            assert!(error.ends_with("'******'"), "{error}");
        }
    }

    /// Every attribute is a secret.
    struct Marked;

    impl ResourceValues for Marked {
        fn reference(&self, _name: &ResourceName) -> Option<Value> {
            None
        }

        fn attribute(&self, _name: &ResourceName, _: &str) -> Result<Option<Value>, Refusal> {
            Ok(Some(taint::taint("hunter2".into())))
        }
    }

    #[test]
    fn in_literal_maps_and_lists_only_the_entry_is_secret_and_a_branch_is_as_it_is() {
        let value = json!({
            "map": { "a": { "get_param": "p" }, "b": [{ "get_param": "s" }, "open"] },
            "branch": { "if": ["is", "the one", "the other"] },
        });
        assert_eq!(
            outputs_masked(json!({ "o": { "value": value } }))["o"],
            json!({ "map": { "a": "plain", "b": ["******", "open"] }, "branch": "the one" })
        );
    }
}
