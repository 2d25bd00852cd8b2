//! From a source to a definition that a stack can be brought to: read, checked, its graph built.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::exposure;
use super::resource::StackIdentity;
use super::services::Services;
use super::source;
use super::sourced::Sourced;
use super::stack::Known;
use crate::events::StreamId;
use crate::events::log::LogError;
use crate::events::stack::{Owner, RevisionAccepted};
use crate::events::vault::Vault;
use crate::graph::steps::{Declared, Implied, RejectCycles};
use crate::graph::{Dependencies, build};
use crate::model::{ProjectId, Refusal, ResourceName, StackId, StackName};
use crate::resource_types::{CloudCheck, Registry, TreeBounds, too_many_resources};
use crate::template::{self, PseudoParameters, StackDefinition, StackSource};

/// The types of a definition, which its caller may be forbidden; and what else came of it.
pub(super) type Prepared = (Vec<String>, Result<(Known, Vec<CloudCheck>), Refusal>);

/// Reads a source, and checks all that can be checked without a cloud. Also the URLs of templates
/// that are still to be fetched. A stack that will never be has no id. `lacking` are the services
/// that the cloud does not have.
pub(super) fn prepare(
    services: &Services,
    source: &StackSource,
    id: Option<StackId>,
    name: &StackName,
    project: &ProjectId,
    lacking: &BTreeSet<&str>,
) -> (Result<Prepared, Refusal>, BTreeSet<String>) {
    let registry = &services.registry;
    match read(registry, source, id, name, project) {
        Ok(definition) => {
            let (files, types) = (definition.files(), exposure::types(&definition));
            let known = exposure::check_services(services, &definition, lacking)
                .and_then(|()| check(registry, services.limits.tree(), definition));
            let checked = known.and_then(|known| {
                let asked = registry.cloud_checks(&known.definition)?;
                Ok((known, asked))
            });
            (Ok((types, checked)), files.missed())
        }
        Err(refusal) => (Err(refusal), BTreeSet::new()),
    }
}

/// Checks all of a definition that can be checked without a cloud.
pub fn check(
    registry: &Registry,
    bounds: TreeBounds,
    definition: StackDefinition,
) -> Result<Known, Refusal> {
    if definition.resources().len() > bounds.room() {
        return Err(too_many_resources().into());
    }
    let dependencies = dependencies(registry, &definition)?;
    match definition.depth() {
        0 => registry.validate_within(&definition, bounds)?,
        _ => registry.validate_nested_alone(&definition)?,
    }
    Ok(Known::new(definition, dependencies))
}

/// Reads an accepted revision back, which was checked when it was accepted.
pub(super) async fn read_back(
    services: &Arc<Services>,
    stack: &StackIdentity,
    owner: Option<&Owner>,
    revision: &RevisionAccepted,
) -> Result<Result<Known, String>, LogError> {
    let blob = blob(services, revision).await?;
    Ok(revived(&services.registry, &services.vault, blob.as_deref(), stack, owner, revision))
}

/// A revision again, of what was kept of its source.
pub fn revived(
    registry: &Registry,
    vault: &Vault,
    blob: Option<&[u8]>,
    stack: &StackIdentity,
    owner: Option<&Owner>,
    revision: &RevisionAccepted,
) -> Result<Known, String> {
    let scope = StreamId::stack(stack.id);
    let source = source::decode(blob, &revision.parameters, vault, scope.as_str())?;
    let definition = match revision.facade.is_null() {
        true => read(registry, &source, Some(stack.id), &stack.name, &stack.project_id),
        false => read_nested(registry, &source, stack, owner, &revision.facade),
    };
    let known = definition.and_then(|definition| {
        let dependencies = dependencies(registry, &definition)?;
        Ok(Known::new(definition, dependencies))
    });
    known.map_err(|refusal| refusal.to_string())
}

fn read_nested(
    registry: &Registry,
    source: &StackSource,
    stack: &StackIdentity,
    owner: Option<&Owner>,
    facade: &Value,
) -> Result<StackDefinition, Refusal> {
    let pseudo = PseudoParameters {
        stack_name: stack.name.to_string(),
        stack_id: stack.id.to_string(),
        project_id: stack.project_id.to_string(),
        facade: serde_json::from_value(facade.clone()).ok(),
    };
    let depth = owner.map_or(0, |owner| owner.depth);
    StackDefinition::load_nested(source, pseudo, depth, registry)
}

/// The source of a revision, its secrets marked.
pub(super) async fn open(
    services: &Services,
    stack: StackId,
    sourced: Option<&Sourced>,
) -> Result<StackSource, Refusal> {
    let Some(Sourced { revision, emptied }) = sourced else { return Ok(StackSource::default()) };
    let blob = blob(services, revision).await;
    let blob = blob.map_err(|error| Refusal::unavailable(error.to_string()))?;
    let scope = StreamId::stack(stack);
    let (vault, scope) = (services.vault.as_ref(), scope.as_str());
    let opened = source::decode(blob.as_deref(), &revision.parameters, vault, scope);
    let source = opened.map_err(Refusal::unavailable)?;
    Ok(match emptied {
        true => {
            StackSource { template: template::emptied(&source.template), ..StackSource::default() }
        }
        false => source,
    })
}

async fn blob(
    services: &Services,
    revision: &RevisionAccepted,
) -> Result<Option<Arc<[u8]>>, LogError> {
    match &revision.source {
        Some(id) => services.log.blob(id).await,
        None => Ok(None),
    }
}

fn read(
    registry: &Registry,
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
    StackDefinition::load_unbounded(source, &pseudo, registry)
}

/// The graph of a definition; one with a cycle is refused.
pub(super) fn dependencies(
    registry: &Registry,
    definition: &StackDefinition,
) -> Result<Dependencies, Refusal> {
    let implied = registry.implicit_dependencies(definition);
    let shown = |name: &ResourceName| registry.shown(definition, name);
    build(
        definition.resources().keys().cloned(),
        &[&Declared(definition), &Implied(implied), &RejectCycles(&shown)],
    )
}
