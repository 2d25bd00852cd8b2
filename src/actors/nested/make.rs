//! The definition that a child should have, of its parent's and of what its type says. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::child_id;
use super::sight::Sight;
use crate::actors::resource::Nesting;
use crate::actors::source;
use crate::actors::stack::{Known, Revise};
use crate::events::StreamId;
use crate::events::log::BlobId;
use crate::events::vault::{Vault, VaultError};
use crate::model::{Refusal, StackId};
use crate::resource_types::child::ChildWanted;
use crate::resource_types::{DriverError, Registry, Subject, TreeBounds};
use crate::template::{ChildPlace, Facade, NestedTemplate, Reading, StackDefinition, Values};

/// Where the child stands.
fn place(subject: &Subject, nesting: &Nesting) -> ChildPlace {
    ChildPlace {
        name: subject.physical_name.clone(),
        id: child_id(subject, nesting).to_string(),
        facade: Facade {
            metadata: Value::Object(subject.metadata.clone()),
            deletion_policy: subject.deletion_policy.clone(),
            update_policy: Value::Object(subject.update_policy.clone()),
        },
        secrets: nesting.secrets.clone(),
        files: BTreeMap::new(),
    }
}

/// The child's definition, within its parent's or `beside` it.
pub(super) fn define(
    (registry, bounds): (&Registry, TreeBounds),
    (subject, nesting): (&Subject, &Nesting),
    beside: bool,
    wanted: &ChildWanted,
    sight: &Sight,
) -> Result<StackDefinition, Refusal> {
    let parent = &sight.known.definition;
    let mut place = place(subject, nesting);
    let known = sight.seen.as_ref().and_then(|seen| seen.known.as_ref());
    if let (true, Some(known)) = (wanted.keeps_files, known) {
        place.files = known.definition.files().texts.clone();
    }
    let reading = Reading { depth_max: bounds.depth, ..Reading::unbounded(Values::Required) };
    if let (true, NestedTemplate::Text(text)) = (beside, &wanted.template) {
        return Ok(parent.beside(place, text, &wanted.parameters, registry, reading)?);
    }
    let name = subject.name.clone().unwrap_or_default();
    let (template, parameters) = (&wanted.template, wanted.parameters.clone());
    Ok(parent.child_at(place, &name, template, parameters, registry, reading)?)
}

/// A definition that was checked, written down for the child; `put` keeps its source.
pub fn revise(
    vault: &Vault,
    put: impl FnOnce(&[u8]) -> BlobId,
    child: StackId,
    known: Known,
    timeout_mins: Option<u32>,
    user_id: &str,
) -> Result<Revise, Refusal> {
    let scope = StreamId::stack(child);
    let (definition, scope) = (&known.definition, scope.as_str());
    let unsealed = |error: VaultError| Refusal::unavailable(error.to_string());
    let hidden = definition.hidden_parameters();
    let (blob, parameters) =
        source::encode(&definition.source(), definition, &hidden, vault, scope)
            .map_err(unsealed)?;
    // A stack that stands beside sees nothing, but it was made by a resource all the same.
    let facade = definition.facade().map(serde_json::to_value);
    let facade = facade.and_then(Result::ok).unwrap_or_else(|| json!({}));
    let facade = vault.seal_leaves(scope, facade, definition.secrets()).map_err(unsealed)?;
    Ok(Revise {
        source: put(&blob),
        known: Arc::new(known),
        parameters,
        tags: Vec::new(),
        timeout_mins,
        // What fails is rolled back by the parent.
        disable_rollback: true,
        user_id: user_id.to_owned(),
        observes: false,
        revisits: false,
        facade,
    })
}

/// Nobody answers at present.
pub(super) fn lost(what: String) -> DriverError {
    DriverError { transient: true, ..DriverError::fatal("Error", what) }
}
