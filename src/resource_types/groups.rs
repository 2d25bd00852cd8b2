//! Groups in validation: the template that a group makes for its members is validated with the
//! first of them.

use serde_json::{Value, json};

use super::early::Looked;
use super::nested::Budget;
use super::registry::Registry;
use crate::model::{JsonMap, ResourceName};
use crate::template::{NestedTemplate, Outcome, StackDefinition, TemplateError};

/// The attributes that a group itself has; the others are those of its members.
const OWN_ATTRIBUTES: [&str; 5] = ["refs", "refs_map", "attributes", "removed_rsrc_list", "show"];

impl Registry {
    /// Validates the nested stack of a group. Other types have none.
    pub(super) fn validate_group(&self, looked: &Looked<'_>, budget: &mut Budget) -> Outcome<()> {
        let Looked { definition, name, properties, .. } = *looked;
        let template = match definition.resources()[name].type_name.as_str() {
            "OS::Heat::ResourceGroup" => self.group(definition, name, properties)?,
            "OS::Heat::ResourceChain" => self.chain(definition, properties)?,
            _ => None,
        };
        let Some(template) = template else { return Ok(()) };
        let template = NestedTemplate::Made(template);
        self.validate_nested(definition, name, &template, Ok(JsonMap::new()), budget)
    }

    /// The template of a group with its first member; an empty group has none.
    fn group(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        properties: &JsonMap,
    ) -> Outcome<Option<Value>> {
        if properties.get("count").is_some_and(|count| count == 0) {
            return Ok(None);
        }
        let Some(member) = properties.get("resource_def").and_then(Value::as_object) else {
            return Ok(None);
        };
        self.check_member_type(definition, member.get("type"))?;
        let removed = removed(properties);
        let first = (0..).map(|number: usize| number.to_string()).find(|n| !removed.contains(n));
        let first = first.unwrap_or_default();
        let variable = properties.get("index_var").and_then(Value::as_str).unwrap_or("%index%");
        let mut resource = json!({ "type": member.get("type") });
        if let Some(properties) = member.get("properties").filter(|it| it.is_object()) {
            resource["properties"] = replaced(properties, variable, &first);
        }
        if let Some(metadata) = member.get("metadata").filter(|it| it.is_object()) {
            resource["metadata"] = metadata.clone();
        }
        let mut outputs = JsonMap::new();
        for (_, attribute) in
            definition.attributes_read().into_iter().filter(|(read, _)| read == name)
        {
            if let Some(value) = output(&attribute, &first) {
                outputs.insert(attribute, json!({ "value": value }));
            }
        }
        Ok(Some(template(json!({ first: resource }), outputs)))
    }

    /// The template of a chain, each member of which waits for the one before.
    fn chain(&self, definition: &StackDefinition, properties: &JsonMap) -> Outcome<Option<Value>> {
        let types = properties.get("resources").and_then(Value::as_array);
        let types = types.map_or(&[][..], Vec::as_slice);
        types.iter().try_for_each(|it| self.check_member_type(definition, Some(it)))?;
        let is_concurrent = properties.get("concurrent") == Some(&Value::Bool(true));
        let mut resources = JsonMap::new();
        for (number, type_name) in types.iter().enumerate() {
            let mut resource = json!({ "type": type_name });
            if let Some(properties) = properties.get("resource_properties") {
                resource["properties"] = properties.clone();
            }
            if let (false, Some(before)) = (is_concurrent, number.checked_sub(1)) {
                resource["depends_on"] = before.to_string().into();
            }
            resources.insert(number.to_string(), resource);
        }
        Ok(Some(template(Value::Object(resources), JsonMap::new())))
    }

    fn check_member_type(
        &self,
        definition: &StackDefinition,
        type_name: Option<&Value>,
    ) -> Outcome<()> {
        match type_name.and_then(Value::as_str) {
            Some("") => Err(TemplateError::validation("Resource \"None\" has no type")),
            Some(type_name) if !definition.has_type(type_name, self) => {
                Err(TemplateError::validation(format!(
                    "The Resource Type ({type_name}) could not be found."
                )))
            }
            _ => Ok(()),
        }
    }
}

fn template(resources: Value, outputs: JsonMap) -> Value {
    json!({
        "heat_template_version": "2015-10-15",
        "resources": resources,
        "outputs": outputs,
    })
}

/// The members that are not to be.
fn removed(properties: &JsonMap) -> Vec<String> {
    let policies = properties.get("removal_policies").and_then(Value::as_array);
    let lists = policies.into_iter().flatten().filter_map(|it| it["resource_list"].as_array());
    lists
        .flatten()
        .map(|member| member.as_str().map_or_else(|| member.to_string(), str::to_owned))
        .collect()
}

/// What an attribute of the group asks of its first member.
fn output(attribute: &str, first: &str) -> Option<Value> {
    if OWN_ATTRIBUTES.contains(&attribute) || attribute == crate::template::ALL_ATTRIBUTES {
        return None;
    }
    let Some(of_member) = attribute.strip_prefix("resource.") else {
        return Some(json!([{ "get_attr": [first, attribute] }]));
    };
    let (member, attribute) = of_member.split_once('.')?;
    (member == first).then(|| json!({ "get_attr": [first, attribute] }))
}

/// The properties of a member: its number stands for the variable.
fn replaced(value: &Value, variable: &str, number: &str) -> Value {
    match value {
        Value::String(text) => text.replace(variable, number).into(),
        Value::Array(items) => items.iter().map(|item| replaced(item, variable, number)).collect(),
        Value::Object(map) => {
            map.iter().map(|(key, item)| (key.clone(), replaced(item, variable, number))).collect()
        }
        other => other.clone(),
    }
}
