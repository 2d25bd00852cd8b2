//! What OS::Heat::* types demand of their properties beyond a schema. Values that depend on other
//! resources stand for them: a reference is the resource's name, an attribute null.

use serde_json::Value;

use crate::model::{JsonMap, ResourceName};
use crate::resource_types::declared::Declaration;
use crate::resource_types::groups;
use crate::resource_types::looked::Looked;
use crate::resource_types::types::Program;
use crate::template::{Outcome, TemplateError};

/// Heat's `stack_action_timeout`.
const STACK_TIMEOUT_SECS: f64 = 3600.0;

/// Checks the resource by the rules of its type.
pub(in crate::resource_types) fn check(
    declaration: &Declaration,
    looked: &Looked<'_>,
) -> Outcome<()> {
    match &declaration.program {
        Some(Program::PropertiesAlone) => access_policy(looked),
        Some(Program::Delay) => delay(looked),
        Some(Program::SoftwareDeployment(_)) => software_deployment(looked),
        _ => groups::check(declaration, looked),
    }
}

fn access_policy(looked: &Looked<'_>) -> Outcome<()> {
    let allowed = list(looked.properties, "AllowedResources").iter();
    let is_there =
        |name: &&str| looked.definition.resources().contains_key(&ResourceName::from(*name));
    match allowed.filter_map(Value::as_str).find(|name| !is_there(name)) {
        None => Ok(()),
        Some(name) => {
            Err(TemplateError::validation(format!("AccessPolicy resource {name} not in stack")))
        }
    }
}

fn delay(looked: &Looked<'_>) -> Outcome<()> {
    let number = |name| looked.properties.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    let longest = number("min_wait") + number("max_jitter") * number("jitter_multiplier");
    if longest > STACK_TIMEOUT_SECS {
        return Err(TemplateError::validation(format!(
            "OS::Heat::Delay maximum delay {longest}s exceeds stack timeout."
        )));
    }
    Ok(())
}

fn software_deployment(looked: &Looked<'_>) -> Outcome<()> {
    let Some(server) = looked.properties.get("server").and_then(Value::as_str) else {
        return Ok(());
    };
    let name = ResourceName::from(server);
    let Some(declared) = looked.definition.resources().get(&name) else { return Ok(()) };
    let Some(declaration) = looked.registry.schema(&declared.type_name) else { return Ok(()) };
    let of_server = looked.registry.early(looked.definition, &name, declaration).properties;
    let property = declaration.properties.get("user_data_format");
    let format = of_server
        .get("user_data_format")
        .or(property.and_then(|property| property.default.as_ref()))
        .and_then(Value::as_str)
        .unwrap_or_default();
    if !format.is_empty() && format != "SOFTWARE_CONFIG" {
        return Err(TemplateError::validation(format!(
            "Resource {server}'s property user_data_format should be set to SOFTWARE_CONFIG since \
             there are software deployments on it."
        )));
    }
    Ok(())
}

fn list<'a>(properties: &'a JsonMap, name: &str) -> &'a [Value] {
    properties.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}
