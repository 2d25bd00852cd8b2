//! Stacks that resources have beside their own, in validation: that there is a Heat where they are
//! to stand, and that it takes their template.

use std::collections::BTreeMap;

use serde_json::json;

use super::declared::Declaration;
use super::registry::Registry;
use crate::model::taint;
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::openstack::{CloudError, Elsewhere, Request, Service};
use crate::resource_types::asks::Asks;
use crate::template::{ChildPlace, Facade, Reading, StackDefinition, Values};

impl Registry {
    /// Refuses what cannot be made, in Heat's words.
    pub(super) fn check_beside(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        declaration: &Declaration,
        properties: &JsonMap,
        cloud: &Asks<'_>,
    ) -> Result<(), Refusal> {
        let Some(stack) = &declaration.stack else { return Ok(()) };
        let place = stack.place(properties);
        let heat = Service::of_type("orchestration");
        let there = cloud.elsewhere(&place, &heat).map_err(|error| match &error {
            // Whose credential opens nothing is refused, whatever hinders it.
            CloudError::Credential { .. } => unreached(&place, &error),
            error if error.is_transient() => Refusal::unavailable(error.to_string()),
            error => unreached(&place, error),
        })?;
        let Some(text) = stack.template(properties) else { return Ok(()) };
        let parameters = stack.given(properties);
        let refused = |reason: &str| {
            let text = "Failed validating stack template using Heat endpoint";
            Refusal::validation(format!("{text} at {place} due to \"{reason}\""))
        };
        // The text is read before anybody is asked.
        StackDefinition::check_text(text).map_err(|error| refused(&error.message))?;
        let Some(there) = there else {
            let checked = self.check_template_beside(definition, name, text, &parameters);
            return checked.map_err(|refusal| refused(&format!("ERROR: {}", refusal.message)));
        };
        let source = definition.source();
        let body = json!({
            "template": text,
            "files": source.files,
            "environment": taint::plain_map(source.environment),
            "parameters": parameters,
        });
        match there.send(Request::post(heat, "/validate").json(body).only_asking()) {
            Ok(_) => Ok(()),
            Err(error) if error.is_transient() => Err(Refusal::unavailable(error.to_string())),
            Err(error) => Err(refused(&error.to_string())),
        }
    }

    fn check_template_beside(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        text: &str,
        parameters: &JsonMap,
    ) -> Result<(), Refusal> {
        let place = ChildPlace {
            name: format!("{}-{name}", definition.stack_name()),
            id: String::new(),
            facade: Facade::default(),
            files: BTreeMap::new(),
            hides_template: false,
        };
        let reading = Reading::ordinary(Values::Unchecked);
        let beside = definition.beside(place, text, parameters, self, reading)?;
        self.validate_template(&beside)
    }
}

fn unreached(place: &Elsewhere<'_>, error: &CloudError) -> Refusal {
    let text = "Cannot establish connection to Heat endpoint";
    Refusal::validation(format!("{text} at {place} due to \"{error}\""))
}
