//! The definition that a child should have, of its parent's and of what its type says.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{AskParent, Parent, Seen, child_id};
use crate::actors::resource::Nesting;
use crate::actors::services::Services;
use crate::actors::source;
use crate::actors::stack::{Known, Revise};
use crate::actors::{definition, exposure};
use crate::events::StreamId;
use crate::model::{Caller, Refusal, StackId};
use crate::openstack::Session;
use crate::resource_types::child::ChildWanted;
use crate::resource_types::{DriverError, Subject};
use crate::template::{ChildPlace, Facade, NestedTemplate, Reading, StackDefinition, Values};

/// The definition of the stack that the resource stands in, as of the revision of its own.
pub(super) async fn parent(
    services: &Arc<Services>,
    subject: &Subject,
    nesting: &Nesting,
) -> Result<(Arc<Known>, Parent), DriverError> {
    let stack = subject.stack_id.unwrap_or_default();
    let lost = |what: String| DriverError { transient: true, ..DriverError::fatal("Error", what) };
    let asked = services.ask_of(stack, || AskParent(nesting.revision)).await.flatten();
    let parent = asked.ok_or_else(|| lost("The stack does not answer at present.".to_owned()))?;
    if let Some(known) = &parent.known {
        return Ok((known.clone(), parent));
    }
    let owner = parent.owner.as_ref();
    let read = definition::read_back(services, &parent.identity, owner, &parent.revision).await;
    match read {
        Ok(Ok(known)) => Ok((Arc::new(known), parent)),
        Ok(Err(problem)) => Err(DriverError::fatal("Error", problem)),
        Err(error) => Err(lost(error.to_string())),
    }
}

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

/// The child's definition, within its parent's or `beside` it; `seen` is the child as it is.
pub(super) fn define(
    services: &Services,
    parent: &StackDefinition,
    (subject, nesting): (&Subject, &Nesting),
    beside: bool,
    wanted: &ChildWanted,
    seen: Option<&Seen>,
) -> Result<StackDefinition, Refusal> {
    let mut place = place(subject, nesting);
    let known = seen.and_then(|seen| seen.known.as_ref());
    if let (true, Some(known)) = (wanted.keeps_files, known) {
        place.files = known.definition.files().texts.clone();
    }
    let reading = Reading { resources_max: usize::MAX, values: Values::Required };
    let registry = services.registry.as_ref();
    if let (true, NestedTemplate::Text(text)) = (beside, &wanted.template) {
        return Ok(parent.beside(place, text, &wanted.parameters, registry, reading)?);
    }
    let name = subject.name.clone().unwrap_or_default();
    let (template, parameters) = (&wanted.template, wanted.parameters.clone());
    Ok(parent.child_at(place, &name, template, parameters, registry, reading)?)
}

/// Checks a definition, with the cloud where there is one, and writes it down for the child.
pub(super) async fn revise(
    services: &Services,
    session: &Session,
    child: StackId,
    definition: StackDefinition,
    timeout_mins: Option<u32>,
    user_id: &str,
    caller: Option<&Caller>,
) -> Result<Revise, Refusal> {
    let lacking = exposure::lacking(services).await;
    exposure::check(services, &definition, caller, &lacking)?;
    let known = definition::check(services, definition)?;
    if services.cloud.is_some() {
        services.registry.check_custom_constraints(&known.definition, session).await?;
    }
    let scope = StreamId::stack(child);
    let definition = &known.definition;
    let unsealed =
        |error: crate::events::vault::VaultError| Refusal::unavailable(error.to_string());
    let (vault, scope) = (services.vault.as_ref(), scope.as_str());
    let hidden = definition.hidden_parameters();
    let (blob, parameters) =
        source::encode(&definition.source(), definition, &hidden, vault, scope)
            .map_err(unsealed)?;
    // A stack that stands beside sees nothing, but it was made by a resource all the same.
    let facade = definition.facade().map(serde_json::to_value);
    let facade = facade.and_then(Result::ok).unwrap_or_else(|| json!({}));
    let facade = vault.seal_leaves(scope, facade, definition.secrets()).map_err(unsealed)?;
    Ok(Revise {
        source: services.log.put_blob(&blob),
        known: Arc::new(known),
        parameters,
        tags: Vec::new(),
        timeout_mins,
        // What fails is rolled back by the parent.
        disable_rollback: true,
        user_id: user_id.to_owned(),
        observes: false,
        facade,
    })
}

/// Makes room for the child's resources in the tree that it stands in.
pub(super) fn take_room(
    services: &Services,
    parent: &Parent,
    child: StackId,
    revise: &Revise,
) -> Result<(), Refusal> {
    let root = parent.owner.as_ref().map_or(parent.identity.id, |owner| owner.root);
    let resources = revise.known.definition.resources().len();
    let limit = services.limits.max_resources_per_stack;
    services.tallies.take_room(root, child, resources, limit)
}
