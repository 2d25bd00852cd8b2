//! Actions on the resources of a stack, and its events.

use std::cmp::Reverse;
use std::num::NonZeroU64;

use actix_web::web::Bytes;
use serde_json::{Value, json};

use super::fault::{CfnFault, INVALID_VALUE, MISSING_PARAMETER};
use super::pages::{PAGE, READ, cut, token};
use super::stacks::{Outcome, Served};
use super::{answer, arn};
use crate::api::error::Fault;
use crate::api::v1::{requester, resources, time};
use crate::events::Position;
use crate::model::sizes::{Room, json_bytes};
use crate::model::{JsonMap, ProjectId};
use crate::projections::{EventQuery, EventRow, ResourceRow, StackRow};

impl Served<'_> {
    pub(super) async fn describe_stack_events(&self) -> Outcome {
        let stacks = match self.asked.param("StackName") {
            Some(_) => vec![self.any_stack().await?],
            None => self.stacks_and(true).await?,
        };
        let before = token::<NonZeroU64>(self.asked)?;
        let query = EventQuery {
            until: before.map(|before| Position(before.get() - 1)),
            limit: Some(READ),
            ..EventQuery::default()
        };
        let mut found: Vec<(&StackRow, EventRow)> = Vec::new();
        for stack in &stacks {
            let events = self.state.views.events(stack.id, query.clone()).await?;
            found.extend(events.into_iter().map(|event| (stack, event)));
            // Newest first: the log is one.
            found.sort_by_key(|(_, event)| Reverse(event.position));
            found.truncate(PAGE + 1);
        }
        let (found, next) = cut(found, |(_, event)| event.position.to_string());
        let (mut events, mut room) = (Vec::with_capacity(found.len()), Room::default());
        for (stack, event) in &found {
            let shown = of_event(stack, event);
            room.take(json_bytes(&shown))?;
            events.push(shown);
        }
        Ok(json!({ "StackEvents": events, "NextToken": next }))
    }

    /// What agents ask for: the body of the answer.
    pub(super) async fn describe_stack_resource(&self, action: &str) -> Result<Bytes, CfnFault> {
        let (stack, name) = ("StackName", "LogicalResourceId");
        let (stack, name) = (self.asked.needed(stack)?, self.asked.needed(name)?);
        let format = self.asked.format();
        let question = [stack, name, format.content_type()].map(str::to_owned);
        let made = async {
            let (project, result) = self.stack_resource(name).await?;
            Ok((project, answer::body(format, action, result)?))
        };
        let caller = &self.context.caller;
        self.state.polled.answer(caller, ("stack resource", question), made).await
    }

    async fn stack_resource(&self, name: &str) -> Result<(ProjectId, Value), CfnFault> {
        let stack = self.stack().await?;
        let (state, context) = (self.state, self.context);
        let resource = resources::named_for(state, context, &stack, name).await?;
        let who = requester(state, context);
        let metadata = resources::metadata_now(state, &who, &stack, &resource).await?;
        let detail = named([
            ("Description", resource.description.as_str().into()),
            ("LastUpdatedTimestamp", updated(&resource)),
            ("LogicalResourceId", resource.name.as_str().into()),
            ("Metadata", Value::Object(metadata)),
            ("PhysicalResourceId", physical_id(&resource)),
            ("ResourceStatusReason", resource.reason.as_str().into()),
            ("ResourceType", resource.type_name.as_str().into()),
            ("StackId", arn::of(&stack).into()),
            ("StackName", stack.name.as_str().into()),
            ("ResourceStatus", status(&resource)),
        ]);
        Ok((stack.project_id, json!({ "StackResourceDetail": detail })))
    }

    pub(super) async fn describe_stack_resources(&self) -> Outcome {
        self.asked.refuse_both("StackName", "PhysicalResourceId")?;
        let stack = match self.asked.param("PhysicalResourceId") {
            Some(physical_id) => self.stack_with(physical_id).await?,
            None => self.stack().await?,
        };
        let mut resources = self.state.views.resources(stack.id).await?;
        if let Some(name) = self.asked.param("LogicalResourceId") {
            resources.retain(|resource| resource.name.as_str() == name);
        }
        let view = |resource: &ResourceRow| {
            named([
                ("Description", resource.description.as_str().into()),
                ("LogicalResourceId", resource.name.as_str().into()),
                ("PhysicalResourceId", physical_id(resource)),
                ("ResourceStatusReason", resource.reason.as_str().into()),
                ("ResourceType", resource.type_name.as_str().into()),
                ("StackId", arn::of(&stack).into()),
                ("StackName", stack.name.as_str().into()),
                ("Timestamp", updated(resource)),
                ("ResourceStatus", status(resource)),
            ])
        };
        Ok(json!({ "StackResources": resources.iter().map(view).collect::<Vec<_>>() }))
    }

    pub(super) async fn list_stack_resources(&self) -> Outcome {
        let stack = self.any_stack().await?;
        let resources = self.state.views.resources(stack.id).await?;
        let view = |resource: &ResourceRow| {
            named([
                ("LastUpdatedTimestamp", updated(resource)),
                ("LogicalResourceId", resource.name.as_str().into()),
                ("PhysicalResourceId", physical_id(resource)),
                ("ResourceStatusReason", resource.reason.as_str().into()),
                ("ResourceType", resource.type_name.as_str().into()),
                ("ResourceStatus", status(resource)),
            ])
        };
        Ok(json!({ "StackResourceSummaries": resources.iter().map(view).collect::<Vec<_>>() }))
    }

    /// The project's one stack that has a resource with a physical id.
    async fn stack_with(&self, physical_id: &str) -> Result<StackRow, CfnFault> {
        if physical_id.is_empty() {
            return Err(CfnFault::new(MISSING_PARAMETER, "PhysicalResourceId"));
        }
        let project = self.context.caller.project_id.clone();
        let found = self.state.views.stacks_with(project, physical_id.to_owned()).await?;
        match <[StackRow; 1]>::try_from(found) {
            Ok([stack]) => Ok(stack),
            Err(none) if none.is_empty() => {
                let text = format!("The Resource ({physical_id}) could not be found.");
                Err(Fault::new("EntityNotFound", text).into())
            }
            Err(_) => {
                let text =
                    format!("Multiple resources were found with the physical ID ({physical_id}).");
                Err(CfnFault::new(INVALID_VALUE, text))
            }
        }
    }
}

fn of_event(stack: &StackRow, event: &EventRow) -> Value {
    json!({
        "EventId": event.id,
        "LogicalResourceId": event.name,
        "PhysicalResourceId": event.physical_id,
        // Heat keeps them to whoever asks for one event.
        "ResourceProperties": "{}",
        "ResourceStatusReason": event.reason,
        "ResourceType": event.type_name,
        "StackId": arn::of(stack),
        "StackName": stack.name,
        "Timestamp": time(event.at),
        "ResourceStatus": format!("{}_{}", event.action, event.status),
    })
}

fn named<const N: usize>(fields: [(&str, Value); N]) -> JsonMap {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn physical_id(resource: &ResourceRow) -> Value {
    resource.physical_id.as_deref().unwrap_or_default().into()
}

fn updated(resource: &ResourceRow) -> Value {
    time(resource.updated_at.unwrap_or(resource.created_at)).into()
}

fn status(resource: &ResourceRow) -> Value {
    format!("{}_{}", resource.action, resource.status).into()
}
