//! What groups that scale, and what belongs to them, demand of their properties beyond a schema.

use serde_json::Value;

use super::instance::{INSTANCE, is_text};
use super::pace::duration;
use super::scaling_group::Scaling;
use crate::model::{JsonMap, ResourceName};
use crate::resource_types::PluginChecks;
use crate::resource_types::declared::Declaration;
use crate::resource_types::looked::Looked;
use crate::resource_types::types::{PolicyNames, Program};
use crate::template::{Outcome, TemplateError};

/// The longest pause between batches.
const PAUSE_MAX_SECS: u64 = 3600;

/// Checks what a type's rules look at before its schema is held against the properties.
pub(in crate::resource_types) fn check_before_schema(
    declaration: &Declaration,
    looked: &Looked<'_>,
) -> Outcome<()> {
    let properties = looked.properties;
    let Some(Program::ScalingGroup(scaled)) = &declaration.program else { return Ok(()) };
    match scaled.kind {
        Scaling::Heat => sizes(properties, ["min_size", "max_size", "desired_capacity"]),
        Scaling::Aws => {
            sizes(properties, ["MinSize", "MaxSize", "DesiredCapacity"])?;
            source_of_members(properties)?;
            configuration_of_members(looked)
        }
        Scaling::Instances => configuration_of_members(looked),
    }
}

/// Checks the resource by the rules of its type.
pub(in crate::resource_types) fn check(
    declaration: &Declaration,
    looked: &Looked<'_>,
) -> Outcome<()> {
    if declaration.amazons && looked.registry.plugin_checks == PluginChecks::Heat {
        return Ok(());
    }
    let properties = looked.properties;
    match &declaration.program {
        Some(Program::ScalingGroup(scaled)) => match scaled.kind {
            Scaling::Heat => Ok(()),
            Scaling::Aws => pauses(looked, "AutoScalingRollingUpdate"),
            Scaling::Instances => pauses(looked, "RollingUpdate"),
        },
        Some(Program::LaunchConfiguration) => launch_configuration(properties),
        Some(Program::ScalingPolicy(names)) => step_min(properties, names),
        _ => Ok(()),
    }
}

/// The bounds of a group, and the size that is asked for.
fn sizes(properties: &JsonMap, [min, max, desired]: [&str; 3]) -> Outcome<()> {
    let number = |name| properties.get(name).and_then(Value::as_f64);
    let (Some(min), Some(max)) = (number(min), number(max)) else { return Ok(()) };
    let is_outside = |size: f64| size < min || size > max;
    let message = if max < min {
        "MinSize can not be greater than MaxSize"
    } else if min < 0.0 {
        "The size of AutoScalingGroup can not be less than zero"
    } else if number(desired).is_some_and(is_outside) {
        "DesiredCapacity must be between MinSize and MaxSize"
    } else {
        return Ok(());
    };
    Err(TemplateError::validation(message))
}

/// One subnet at most, and one source of what instances are made of.
fn source_of_members(properties: &JsonMap) -> Outcome<()> {
    let subnets = properties.get("VPCZoneIdentifier").and_then(Value::as_array);
    if subnets.is_some_and(|subnets| subnets.len() > 1) {
        let message = "Anything other than one VPCZoneIdentifier is not supported.";
        return Err(TemplateError::new("NotSupported", message));
    }
    if is_text(properties, INSTANCE) == is_text(properties, "LaunchConfigurationName") {
        let message = "Either 'InstanceId' or 'LaunchConfigurationName' must be provided.";
        return Err(TemplateError::validation(message));
    }
    Ok(())
}

/// The launch configuration that instances are made of is one of the stack that is referred to.
fn configuration_of_members(looked: &Looked<'_>) -> Outcome<()> {
    let named = looked.properties.get("LaunchConfigurationName").and_then(Value::as_str);
    let Some(reference) = named.filter(|name| !name.is_empty()) else { return Ok(()) };
    let refused = |message: String| Err(looked.fallen("ValueError", message));
    let configuration = ResourceName::from(reference);
    let resources = looked.definition.resources();
    if !resources.contains_key(&configuration) {
        return refused(format!(
            "LaunchConfigurationName ({reference}) reference can not be found."
        ));
    }
    let declared = resources.get(looked.name);
    if !declared.is_some_and(|declared| declared.requires.contains(&configuration)) {
        return refused(format!(
            "LaunchConfigurationName ({reference}) requires a reference to the configuration not \
             just the name of the resource."
        ));
    }
    Ok(())
}

/// How long an update pauses between batches.
fn pauses(looked: &Looked<'_>, policy: &str) -> Outcome<()> {
    let refused = |message: String| Err(looked.fallen("ValueError", message));
    let policy = looked.update_policy.get(policy);
    let Some(pause) = policy.and_then(|policy| policy.get("PauseTime")).and_then(Value::as_str)
    else {
        return Ok(());
    };
    match duration(pause) {
        None => {
            refused("Only ISO 8601 duration format of the form PT#H#M#S is supported.".to_owned())
        }
        Some(seconds) if seconds > PAUSE_MAX_SECS => {
            refused("Maximum PauseTime is 1 hour.".to_owned())
        }
        Some(_) => Ok(()),
    }
}

fn launch_configuration(properties: &JsonMap) -> Outcome<()> {
    let mappings = properties.get("BlockDeviceMappings").and_then(Value::as_array);
    for mapping in mappings.into_iter().flatten() {
        let volume = mapping.get("Ebs").and_then(Value::as_object).filter(|it| !it.is_empty());
        let Some(volume) = volume else {
            let message = "Ebs is missing, this is required when specifying BlockDeviceMappings.";
            return Err(TemplateError::validation(message));
        };
        if !is_text(volume, "SnapshotId") {
            let message =
                "SnapshotId is missing, this is required when specifying BlockDeviceMappings.";
            return Err(TemplateError::validation(message));
        }
    }
    let is_whole = is_text(properties, "ImageId") && is_text(properties, "InstanceType");
    if !is_whole && !is_text(properties, INSTANCE) {
        let message = "If without InstanceId, ImageId and InstanceType are required.";
        return Err(TemplateError::validation(message));
    }
    Ok(())
}

/// A smallest step is for percentages alone.
fn step_min(properties: &JsonMap, names: &PolicyNames) -> Outcome<()> {
    let PolicyNames { min_step, kind, percent, .. } = names;
    let is_percentage = properties.get(kind).is_some_and(|kind| kind == percent);
    if !is_percentage && properties.contains_key(min_step) {
        let message = format!(
            "{min_step} property should only be specified for {kind} with value {percent}."
        );
        return Err(TemplateError::new("ResourcePropertyValueDependency", message));
    }
    Ok(())
}
