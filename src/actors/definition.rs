//! From a source to a definition that a stack can be brought to: read, checked, its graph built.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::resource::StackIdentity;
use super::services::Services;
use super::source::{self, Opened};
use super::stack::Known;
use super::tallies::too_many_resources;
use crate::events::StreamId;
use crate::events::log::LogError;
use crate::events::stack::{Owner, RevisionAccepted};
use crate::graph::steps::{Declared, Implied, RejectCycles};
use crate::graph::{Dependencies, build};
use crate::model::{ProjectId, Refusal, ResourceName, StackId, StackName};
use crate::template::{PseudoParameters, StackDefinition, StackSource};

/// Reads a source, and checks all that can be checked without a cloud. Also the URLs of templates
/// that are still to be fetched. `may` refuses what its types must not be. A stack that will never
/// be has no id.
pub(super) fn prepare(
    services: &Services,
    source: &StackSource,
    id: Option<StackId>,
    name: &StackName,
    project: &ProjectId,
    may: &dyn Fn(&StackDefinition) -> Result<(), Refusal>,
) -> (Result<Known, Refusal>, BTreeSet<String>) {
    match read(services, source, id, name, project) {
        Ok(definition) => {
            let files = definition.files();
            let known = may(&definition).and_then(|()| check(services, definition));
            (known, files.missed())
        }
        Err(refusal) => (Err(refusal), BTreeSet::new()),
    }
}

/// Checks all of a definition that can be checked without a cloud.
pub(super) fn check(services: &Services, definition: StackDefinition) -> Result<Known, Refusal> {
    let limit = services.limits.max_resources_per_stack;
    if limit.is_some_and(|limit| definition.resources().len() > limit) {
        return Err(too_many_resources());
    }
    let dependencies = dependencies(services, &definition)?;
    match definition.depth() {
        0 => services.registry.validate_within(&definition, limit)?,
        _ => services.registry.validate_nested_alone(&definition)?,
    }
    services.registry.check_made(&definition)?;
    Ok(Known::new(definition, dependencies))
}

/// Reads an accepted revision back, which was checked when it was accepted.
pub(super) async fn read_back(
    services: &Arc<Services>,
    stack: &StackIdentity,
    owner: Option<&Owner>,
    revision: &RevisionAccepted,
) -> Result<Result<Known, String>, LogError> {
    let opened = match open_sealed(services, stack.id, revision).await? {
        Ok(opened) => opened,
        Err(problem) => return Ok(Err(problem)),
    };
    let definition = match revision.facade.is_null() {
        true => read(services, &opened.source, Some(stack.id), &stack.name, &stack.project_id),
        false => read_nested(services, opened, stack, owner, &revision.facade),
    };
    let known = definition
        .and_then(|definition| {
            let dependencies = dependencies(services, &definition)?;
            Ok(Known::new(definition, dependencies))
        })
        .map_err(|refusal| refusal.to_string());
    Ok(known)
}

fn read_nested(
    services: &Services,
    opened: Opened,
    stack: &StackIdentity,
    owner: Option<&Owner>,
    facade: &Value,
) -> Result<StackDefinition, Refusal> {
    let scope = StreamId::stack(stack.id);
    let facade = services.vault.open(scope.as_str(), facade).unwrap_or_default();
    let pseudo = PseudoParameters {
        stack_name: stack.name.to_string(),
        stack_id: stack.id.to_string(),
        project_id: stack.project_id.to_string(),
        facade: serde_json::from_value(facade).ok(),
    };
    let Opened { source, secrets } = opened;
    let registry = services.registry.as_ref();
    let depth = owner.map_or(0, |owner| owner.depth);
    StackDefinition::load_nested(&source, pseudo, depth, secrets, registry)
}

/// The source of a revision, its secrets open.
pub(super) async fn open(
    services: &Arc<Services>,
    stack: StackId,
    revision: &RevisionAccepted,
) -> Result<Result<StackSource, String>, LogError> {
    let opened = open_sealed(services, stack, revision).await?;
    Ok(opened.map(|opened| opened.source))
}

async fn open_sealed(
    services: &Arc<Services>,
    stack: StackId,
    revision: &RevisionAccepted,
) -> Result<Result<Opened, String>, LogError> {
    let blob = match &revision.source {
        Some(id) => services.log.blob(id).await?,
        None => None,
    };
    let scope = StreamId::stack(stack);
    let (vault, scope) = (services.vault.as_ref(), scope.as_str());
    Ok(source::decode(blob.as_deref(), &revision.parameters, vault, scope))
}

fn read(
    services: &Services,
    source: &StackSource,
    id: Option<StackId>,
    name: &StackName,
    project: &ProjectId,
) -> Result<StackDefinition, Refusal> {
    let pseudo = PseudoParameters {
        stack_name: name.to_string(),
        stack_id: id.map_or_else(|| "None".to_owned(), |id| id.to_string()),
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
