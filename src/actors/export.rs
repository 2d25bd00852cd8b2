//! A stack as a document that another Heat, or Hearth, can adopt it from. Secrets are left out:
//! hidden parameters and sealed resource data are not handed on.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};

use super::asks::{Accepted, RequestContext, StackSummary};
use super::engine::{Engine, not_as_planned};
use super::services::SENDS_MAX;
use super::shell::Receipt;
use super::sourced::Sourced;
use super::stack::StackCommand;
use crate::events::stack::{ResourceKept, RevisionAccepted};
use crate::events::vault::Vault;
use crate::model::sizes::{Room, json_bytes};
use crate::model::{Action, JsonMap, ProjectId, Refusal, StackId, StackName, Status};
use crate::template::emptied;

/// What a document says of the stack itself.
pub struct Exported<'a> {
    pub id: StackId,
    pub name: &'a StackName,
    pub project_id: &'a ProjectId,
    pub action: Action,
    pub status: Status,
    pub revision: &'a RevisionAccepted,
    pub sourced: Option<&'a Sourced>,
    /// The blob of that source.
    pub blob: Option<&'a [u8]>,
    /// By their names: see [`resource`].
    pub resources: JsonMap,
}

/// The document, in Heat's layout.
pub fn document(exported: Exported<'_>) -> Value {
    let source: JsonMap =
        exported.blob.and_then(|blob| serde_json::from_slice(blob).ok()).unwrap_or_default();
    let source = match exported.sourced.is_some_and(|it| it.emptied) {
        true => source
            .into_iter()
            .filter(|(part, _)| part == "template")
            .map(|(part, template)| (part, emptied(&template)))
            .collect(),
        false => source,
    };
    let part = |name: &str| source.get(name).cloned().unwrap_or_else(|| json!({}));
    let mut environment = part("environment");
    if let Value::Object(sections) = &mut environment {
        let parameters = Value::Object(exported.revision.parameters.clone());
        sections.insert("parameters".into(), parameters);
        for (section, empty) in [
            ("resource_registry", json!({ "resources": {} })),
            ("parameter_defaults", json!({})),
            ("event_sinks", json!([])),
        ] {
            sections.entry(section).or_insert(empty);
        }
        sections.shift_remove("encrypted_param_names");
    }
    json!({
        "name": exported.name,
        "id": exported.id,
        "action": exported.action,
        "status": exported.status,
        "environment": without_secrets(&environment),
        "files": Vault::masked(&part("files")),
        "template": Vault::masked(&part("template")),
        "resources": exported.resources,
        "project_id": exported.project_id,
        "stack_user_project_id": null,
        "tags": exported.revision.settings.tags,
    })
}

/// A resource in a document.
pub fn resource(kept: &ResourceKept) -> Value {
    json!({
        "name": kept.name,
        "resource_id": kept.physical_id,
        "type": kept.type_name,
        "action": kept.action,
        "status": kept.status,
        "metadata": without_secrets(&Value::Object(kept.metadata.clone())),
        "resource_data": without_secrets(&json!(kept.data)),
    })
}

/// The value without the entries that are sealed or marked.
fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let open = map.iter().filter(|(_, value)| !Vault::is_secret(value));
            open.map(|(key, value)| (key.clone(), without_secrets(value))).collect()
        }
        Value::Array(items) => {
            items.iter().filter(|item| !Vault::is_secret(item)).map(without_secrets).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

impl Engine {
    /// The stack as a document.
    pub async fn export_stack(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<Value, Refusal> {
        self.exports()?;
        let summary = self.summary(who, stack).await?;
        self.exported(summary, &mut Room::default()).await
    }

    /// Accepts that the stack is deleted and what it has in the cloud stays; the document of it.
    pub async fn abandon_stack(
        &self,
        who: &RequestContext,
        stack: StackId,
    ) -> Result<(Accepted, Value), Refusal> {
        self.exports()?;
        for _ in 0..SENDS_MAX {
            let summary = self.summary(who, stack).await?;
            let (name, seen) = (summary.name.clone(), summary.position);
            let document = self.exported(summary, &mut Room::default()).await?;
            // What an update makes meanwhile is not in the document, and nobody would have it.
            match self.ask_planned(stack, who, Some(seen), || StackCommand::Abandon).await {
                Ok(Receipt { position, .. }) => {
                    return Ok((Accepted { stack, name, position }, document));
                }
                Err(refusal) if refusal == not_as_planned() => {}
                Err(refusal) => return Err(refusal),
            }
        }
        Err(Refusal::unavailable("The stack is being changed."))
    }

    fn exports(&self) -> Result<(), Refusal> {
        match self.services.limits.enable_stack_abandon {
            true => Ok(()),
            false => Err(Refusal::new("NotSupported", "Stack Abandon is not supported.")),
        }
    }

    /// The document, as far as there is room for it: whole trees have none.
    fn exported<'a>(
        &'a self,
        summary: StackSummary,
        room: &'a mut Room,
    ) -> BoxFuture<'a, Result<Value, Refusal>> {
        async move {
            let unavailable =
                |error: crate::events::log::LogError| Refusal::unavailable(error.to_string());
            let mut resources = JsonMap::new();
            for (name, id) in &summary.incarnations {
                let machine = self.services.resource(*id).await?;
                let mut kept = machine.kept();
                if machine.action == Action::Init {
                    kept.name = name.clone();
                    let known = summary.known.as_ref();
                    kept.type_name = known.map(|it| it.declared_type(name)).unwrap_or_default();
                }
                let mut view = resource(&kept);
                room.take(json_bytes(&view))?;
                if let Some(child) = machine.child_stack()
                    && let Some(nested) = self.summary_of(child).await?.filter(|it| !it.deleted)
                    && let Value::Object(view) = &mut view
                    && let Value::Object(nested) = self.exported(nested, room).await?
                {
                    // A child's whole document stands for it, under the resource's own id and type.
                    view.extend(nested);
                }
                resources.insert(name.to_string(), view);
            }
            let sourced = summary.sourced.as_ref();
            let blob = match sourced.and_then(|it| it.revision.source.as_ref()) {
                Some(id) => self.services.log.blob(id).await.map_err(unavailable)?,
                None => None,
            };
            room.take(blob.as_ref().map_or(0, |blob| blob.len()))?;
            room.take(json_bytes(&summary.revision.parameters))?;
            Ok(document(Exported {
                id: summary.id,
                name: &summary.name,
                project_id: &summary.project_id,
                action: summary.action,
                status: summary.status,
                revision: &summary.revision,
                sourced,
                blob: blob.as_deref(),
                resources,
            }))
        }
        .boxed()
    }
}
