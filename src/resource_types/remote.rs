//! Stacks that resources have beside their own, in validation: that there is a Heat where they are
//! to stand, and that it takes their template.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::registry::Registry;
use crate::model::{JsonMap, Refusal, ResourceName};
use crate::openstack::{Request, Service, Session};
use crate::template::{ChildPlace, Facade, Reading, StackDefinition, Values};

/// The type of such resources.
pub(super) const BESIDE: &str = "OS::Heat::Stack";

impl Registry {
    /// Refuses what cannot be made, in Heat's words.
    pub(super) async fn check_beside(
        &self,
        definition: &StackDefinition,
        name: &ResourceName,
        properties: &JsonMap,
        cloud: &Session,
    ) -> Result<(), Refusal> {
        let context = properties.get("context").unwrap_or(&Value::Null);
        let region = context["region_name"].as_str().filter(|region| !region.is_empty());
        let is_other_cloud =
            context["credential_secret_id"].as_str().is_some_and(|id| !id.is_empty());
        if is_other_cloud {
            let place = "remote cloud";
            return Err(refused("Cannot establish connection to Heat endpoint", place, NO_CLOUD));
        }
        let place = format!("region \"{}\"", region.unwrap_or("None"));
        let heat = Service::of_type("orchestration");
        let there = match region {
            None => None,
            Some(region) => cloud.elsewhere(region, &heat).await.map_err(|error| {
                match error.is_transient() {
                    true => Refusal::unavailable(error.to_string()),
                    false => refused(
                        "Cannot establish connection to Heat endpoint",
                        &place,
                        &error.to_string(),
                    ),
                }
            })?,
        };
        let Some(text) = properties.get("template").and_then(Value::as_str) else { return Ok(()) };
        let parameters = properties.get("parameters").and_then(Value::as_object);
        let parameters = parameters.cloned().unwrap_or_default();
        let refused = |reason: &str| {
            refused("Failed validating stack template using Heat endpoint", &place, reason)
        };
        let Some(there) = there else {
            let checked = self.check_template_beside(definition, name, text, &parameters);
            return checked.map_err(|refusal| match refusal.class.as_ref() {
                // The text is read before anybody is asked.
                "ValueError" => refused(&refusal.message),
                _ => refused(&format!("ERROR: {}", refusal.message)),
            });
        };
        let source = definition.source();
        let body = json!({
            "template": text,
            "files": source.files,
            "environment": source.environment,
            "parameters": parameters,
        });
        match there.send(Request::post(heat, "/validate").json(body)).await {
            Ok(_) => Ok(()),
            Err(error) if error.is_transient() => Err(Refusal::unavailable(error.to_string())),
            Err(error) => Err(refused(&format!("ERROR: {error}"))),
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
            secrets: Vec::new(),
            files: BTreeMap::new(),
        };
        let reading = Reading { resources_max: usize::MAX, values: Values::Unchecked };
        let beside = definition.beside(place, text, parameters, self, reading)?;
        self.validate_template(&beside)
    }
}

const NO_CLOUD: &str = "it is not supported";

fn refused(what: &str, place: &str, reason: &str) -> Refusal {
    Refusal::validation(format!("{what} at {place} due to \"{reason}\""))
}
