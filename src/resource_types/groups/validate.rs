//! What makes its own nested stack, in validation: the template that a group makes for its members
//! is validated with the first of them, and the one that a property names as it is.

use std::collections::BTreeMap;

use serde_json::Value;

use super::outputs::Read;
use super::standing::Group;
use super::{chain, resource_group};
use crate::model::JsonMap;
use crate::resource_types::early::Looked;
use crate::resource_types::nested::Budget;
use crate::resource_types::registry::{PluginChecks, Registry};
use crate::template::{NestedTemplate, Outcome, StackDefinition, TemplateError};

impl Registry {
    /// Validates the nested stack that a type of its own makes. Other types have none.
    pub(in crate::resource_types) fn validate_made(
        &self,
        looked: &Looked<'_>,
        budget: &mut Budget,
    ) -> Outcome<()> {
        let Looked { definition, name, properties, update_policy, .. } = *looked;
        let type_name = definition.resources()[name].type_name.as_str();
        if type_name == "AWS::CloudFormation::Stack" && self.plugin_checks == PluginChecks::All {
            let url = properties.get("TemplateURL").and_then(Value::as_str).unwrap_or_default();
            let parameters = properties.get("Parameters").and_then(Value::as_object);
            let parameters =
                definition.template_text(url).map(|_| parameters.cloned().unwrap_or_default());
            let template = NestedTemplate::At(url.to_owned());
            return self.validate_nested(definition, name, &template, parameters, budget);
        }
        if !matches!(type_name, "OS::Heat::ResourceGroup" | "OS::Heat::ResourceChain") {
            return Ok(());
        }
        let reads = definition.attributes_read();
        let reads: Vec<Read> =
            reads.iter().filter(|(read, _)| read == name).map(|(_, key)| Read::of(key)).collect();
        let group = Group {
            name: name.as_str(),
            properties,
            update_policy,
            data: &BTreeMap::new(),
            reads: &reads,
            stack: None,
        };
        let template = match type_name {
            "OS::Heat::ResourceGroup" => self.with_first_member(definition, &group)?,
            _ => Some(self.with_all_members(definition, &group)?),
        };
        let Some(template) = template else { return Ok(()) };
        let template = NestedTemplate::Made(template);
        self.validate_nested(definition, name, &template, Ok(JsonMap::new()), budget)
    }

    /// The template of a group with its first member; an empty group has none.
    fn with_first_member(
        &self,
        definition: &StackDefinition,
        group: &Group<'_>,
    ) -> Outcome<Option<Value>> {
        let member = group.properties.get("resource_def").and_then(Value::as_object);
        let Some(member) = member.filter(|_| resource_group::size(group) > 0) else {
            return Ok(None);
        };
        self.check_member_type(definition, member.get("type"))?;
        let names = resource_group::names(&resource_group::removed(group), 1);
        Ok(Some(resource_group::whole(group, &names, true)))
    }

    fn with_all_members(&self, definition: &StackDefinition, group: &Group<'_>) -> Outcome<Value> {
        let mut types = chain::types(group.properties).iter();
        types.try_for_each(|it| self.check_member_type(definition, Some(it)))?;
        Ok(chain::template(group))
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
