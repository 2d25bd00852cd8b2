//! From a source to a definition that a stack can be brought to: read, checked, its graph built.

use std::sync::Arc;

use super::services::Services;
use super::source;
use super::stack::{Known, Stack};
use crate::events::StreamId;
use crate::events::log::LogError;
use crate::events::stack::RevisionAccepted;
use crate::graph::steps::{Declared, Implied, RejectCycles};
use crate::graph::{Dependencies, build};
use crate::model::{ProjectId, Refusal, ResourceName, StackId, StackName};
use crate::template::{PseudoParameters, StackDefinition, StackSource};

/// Reads a source, and checks all that can be checked without a cloud.
pub(super) fn prepare(
    services: &Services,
    source: &StackSource,
    id: StackId,
    name: &StackName,
    project: &ProjectId,
) -> Result<Known, Refusal> {
    let definition = read(services, source, id, name, project)?;
    let limit = services.limits.max_resources_per_stack;
    if limit.is_some_and(|limit| definition.resources().len() > limit) {
        return Err(Refusal::new(
            "RequestLimitExceeded",
            "Request limit exceeded: Maximum resources per stack exceeded.",
        ));
    }
    let dependencies = dependencies(services, &definition)?;
    services.registry.validate(&definition)?;
    services.registry.check_made(&definition)?;
    for (name, resource) in definition.resources() {
        if resource.external_id.is_some() {
            return Err(Refusal::validation(format!(
                "Hearth does not support external_id yet (resource {name})"
            )));
        }
    }
    Ok(Known::new(definition, dependencies))
}

/// Reads an accepted revision back, which was checked when it was accepted.
pub(super) async fn read_back(
    services: &Arc<Services>,
    stack: &Stack,
    revision: &RevisionAccepted,
) -> Result<Result<Known, String>, LogError> {
    let source = match open(services, stack.id, revision).await? {
        Ok(source) => source,
        Err(problem) => return Ok(Err(problem)),
    };
    let known = read(services, &source, stack.id, &stack.name, &stack.project_id)
        .and_then(|definition| {
            let dependencies = dependencies(services, &definition)?;
            Ok(Known::new(definition, dependencies))
        })
        .map_err(|refusal| refusal.to_string());
    Ok(known)
}

/// The source of a revision, its secrets open.
pub(super) async fn open(
    services: &Arc<Services>,
    stack: StackId,
    revision: &RevisionAccepted,
) -> Result<Result<StackSource, String>, LogError> {
    let blob = match &revision.source {
        Some(id) => services.log.blob(id).await?,
        None => None,
    };
    let scope = StreamId::stack(stack);
    let vault = Some((services.vault.as_ref(), scope.as_str()));
    Ok(source::decode(blob.as_deref(), &revision.parameters, vault))
}

fn read(
    services: &Services,
    source: &StackSource,
    id: StackId,
    name: &StackName,
    project: &ProjectId,
) -> Result<StackDefinition, Refusal> {
    let pseudo = PseudoParameters {
        stack_name: name.to_string(),
        stack_id: id.to_string(),
        project_id: project.to_string(),
        facade: None,
    };
    // How many resources there may be is for the limits of the service to say.
    StackDefinition::load_unbounded(source, &pseudo, services.registry.as_ref())
}

/// The graph of a definition; one with a cycle is refused.
pub(super) fn dependencies(
    services: &Services,
    definition: &StackDefinition,
) -> Result<Dependencies, Refusal> {
    let implied = services.registry.implicit_dependencies(definition);
    let shown = |name: &ResourceName| services.registry.shown(definition, name);
    build(
        definition.resources().keys().cloned(),
        &[&Declared(definition), &Implied(implied), &RejectCycles(&shown)],
    )
}
