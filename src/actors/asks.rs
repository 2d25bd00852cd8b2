//! What the engine is asked, by whom, and what it answers: plain data.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use crate::model::IndexMap;
use serde::Serialize;
use serde_json::Value;

use super::sourced::Sourced;
use super::stack::{Known, StackView};
use crate::events::stack::RevisionAccepted;
use crate::events::{Meta, Position};
use crate::model::{
    Action, Caller, CommandId, JsonMap, PlanId, ProjectId, RequestId, ResourceId, ResourceName,
    Secret, StackId, StackName, StackRevision, StackSettings, Status, TraversalOptions, Trustor,
};
use crate::openstack::{Behalf, Cloud, FetchBudget, Session};
use crate::template::StackSource;

/// Who asks, in which request.
#[derive(Clone, Debug)]
pub struct RequestContext {
    pub caller: Arc<Caller>,
    pub token: Secret<String>,
    /// What the request has beside its token.
    pub login: Option<Login>,
    pub request_id: RequestId,
    pub command_id: CommandId,
    /// What the request may still fetch.
    pub fetches: FetchBudget,
    pub conditions: Conditions,
}

/// A user's name and password, for work that goes on when the request's token is gone.
#[derive(Clone, Debug)]
pub struct Login {
    pub name: String,
    pub password: Secret<String>,
}

/// What must hold for a change that is asked for to be made.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// The stack's stream ends at one of these.
    pub at: Option<Vec<Position>>,
    /// The change does what this plan said.
    pub plan: Option<PlanId>,
    /// The change is made once, however often it is asked for.
    pub once: Option<AskedOnce>,
}

/// A request with a key by which it is known when it comes again.
#[derive(Clone, Debug)]
pub struct AskedOnce {
    pub key: String,
    /// A digest of what is asked for, which only the project's key can make.
    pub request: String,
}

impl RequestContext {
    /// The cloud as whoever asks sees it.
    pub fn session(&self, cloud: &Cloud, project: &ProjectId) -> Session {
        let session = cloud.session_for_token(&self.token, project);
        session.on_behalf(Some(Behalf::of(self.request_id.clone())))
    }

    /// What the events of the command carry.
    pub(super) fn meta(&self) -> Arc<Meta> {
        Arc::new(Meta {
            caller: Some(self.caller.clone()),
            request_id: Some(self.request_id.clone()),
            ..Meta::of_command(self.command_id)
        })
    }
}

/// A command was taken: its events are at the position, and durable once the log says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    pub stack: StackId,
    pub name: StackName,
    pub position: Position,
}

/// What a create asks for.
#[derive(Clone, Debug)]
pub struct CreateStack {
    pub name: StackName,
    pub source: StackSource,
    pub settings: StackSettings,
}

/// What an update asks for; what it leaves out stays, as Heat's PUT and PATCH have it.
#[derive(Clone, Debug, Default)]
pub struct UpdateStack {
    /// PATCH: template, environment, files and parameters stay where none are given.
    pub existing: bool,
    pub template: Option<Value>,
    pub environment: JsonMap,
    pub files: BTreeMap<String, String>,
    pub parameters: JsonMap,
    /// Parameters of the former revision that a PATCH drops.
    pub clear_parameters: Vec<String>,
    pub options: TraversalOptions,
    pub settings: SettingsGiven,
    /// The earlier revision whose definition it is.
    pub back_to: Option<StackRevision>,
}

/// The settings that a request has.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SettingsGiven {
    pub tags: Option<Vec<String>>,
    pub timeout_mins: Option<u32>,
    pub disable_rollback: Option<bool>,
}

impl SettingsGiven {
    /// Settings, with these in their place.
    pub fn over(self, kept: StackSettings) -> StackSettings {
        StackSettings {
            tags: self.tags.unwrap_or(kept.tags),
            timeout_mins: self.timeout_mins.or(kept.timeout_mins),
            disable_rollback: self.disable_rollback.unwrap_or(kept.disable_rollback),
        }
    }
}

/// What has to be known of a stack whenever somebody asks for it.
pub struct StackHead {
    pub id: StackId,
    pub name: StackName,
    pub project_id: ProjectId,
    /// The project of the users that its resources have.
    pub user_project: Option<ProjectId>,
    pub deleted: bool,
    pub known: Option<Arc<Known>>,
}

impl StackHead {
    /// A stack; `None` where there is none yet.
    pub(super) fn of(stack: StackView<'_>) -> Option<Self> {
        stack.revision()?;
        Some(Self {
            id: stack.id,
            name: stack.name.clone(),
            project_id: stack.project_id.clone(),
            user_project: stack.user_project.clone(),
            deleted: stack.is_deleted(),
            known: stack.known().cloned(),
        })
    }
}

/// For which stack a definition is read: one that is to be, or there already.
#[derive(Clone, Copy)]
pub(super) struct StackPlace<'a> {
    pub(super) project: &'a ProjectId,
    pub(super) id: Option<StackId>,
    pub(super) name: &'a StackName,
    /// In whose name its work is done so far.
    pub(super) trustor: Option<&'a Trustor>,
}

impl<'a> StackPlace<'a> {
    /// That of a stack that is to be.
    pub(super) fn new(project: &'a ProjectId, name: &'a StackName) -> Self {
        Self { project, id: None, name, trustor: None }
    }
}

/// The summary of a stack, as its actor knows it.
pub struct StackSummary {
    pub head: StackHead,
    /// In whose name work is done that nobody asks for by himself.
    pub trustor: Trustor,
    pub action: Action,
    pub status: Status,
    pub revision: RevisionAccepted,
    pub sourced: Option<Sourced>,
    /// Where its stream ends.
    pub position: Position,
    pub incarnations: IndexMap<ResourceName, ResourceId>,
    /// Those that a new revision would go on with, and what is there under other names.
    pub going_on: IndexMap<ResourceName, ResourceId>,
    /// What else there is, which goes with the next change.
    pub left_over: Vec<(ResourceName, ResourceId)>,
    /// Some of it is suspended, and not all.
    pub rests_in_part: bool,
}

impl Deref for StackSummary {
    type Target = StackHead;

    fn deref(&self) -> &StackHead {
        &self.head
    }
}

impl StackSummary {
    /// What a definition of it is read for.
    pub(super) fn place(&self) -> StackPlace<'_> {
        let trustor = Some(&self.trustor);
        StackPlace { id: Some(self.id), trustor, ..StackPlace::new(&self.project_id, &self.name) }
    }

    /// A stack at a position; `None` where there is none yet.
    pub(super) fn of(stack: StackView<'_>, position: Position) -> Option<Self> {
        let revision = stack.revision()?.clone();
        Some(Self {
            head: StackHead::of(stack)?,
            trustor: stack.trustor.clone(),
            action: stack.action,
            status: stack.status,
            sourced: stack.sourced(revision.revision),
            revision,
            position,
            incarnations: stack.incarnations(),
            going_on: stack.going_on_anew(),
            left_over: stack.left_over(),
            rests_in_part: stack.rests_in_part,
        })
    }
}
