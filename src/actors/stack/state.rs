//! A stack as the fold of its events, and its working memory.

// Traversal: none ─TraversalStarted▶ running ─TraversalSettled▶ settled ─TraversalStarted▶ running
//            running ─TraversalStarted▶ running (a newer revision takes over)
//            settled DELETE COMPLETE: the end

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::model::IndexMap;
use chrono::{DateTime, Utc};

use super::command::{StackCommand, StackEffect};
use super::known::Known;
use super::reports::Reports;
use crate::actors::resource::{Report, StackIdentity};
use crate::actors::shell::{Aggregate, Deciding, Decision};
use crate::actors::sourced::Sourced;
use crate::clock::Moment;
use crate::events::StackEvent;
use crate::events::stack::{
    ActionDeferred, Owner, ResourceKept, RevisionAccepted, Row, TraversalStarted,
};
use crate::graph::TaskGraph;
use crate::graph::task_graph::Existing;
use crate::model::{
    Action, ProjectId, Refusal, ResourceId, ResourceName, StackId, StackName, StackRevision,
    Status, TraversalId, TraversalOptions, Trustor,
};
use crate::resource_types::{Registry, TreeBounds};

/// What a stack decides with.
#[derive(Clone)]
pub struct Knowledge {
    pub registry: Arc<Registry>,
    /// The time a stack has when it names none.
    pub stack_action_timeout: std::time::Duration,
    /// What a tree of stacks is bounded by.
    pub bounds: TreeBounds,
}

/// The newest traversal.
#[derive(Clone, Debug, PartialEq)]
pub struct Traversal {
    pub id: TraversalId,
    pub action: Action,
    pub revision: StackRevision,
    pub deadline: Option<DateTime<Utc>>,
    pub options: TraversalOptions,
    /// The incarnation that each resource of the revision has now.
    pub nodes: IndexMap<ResourceName, ResourceId>,
    pub requires: IndexMap<ResourceName, Vec<ResourceName>>,
    /// The incarnations that existed when it started, until it has settled.
    pub existing: Vec<Existing>,
    /// In whose name.
    pub trustor: Trustor,
    pub started_at: DateTime<Utc>,
    pub settled: bool,
}

/// A stack's state.
#[derive(Default)]
pub struct Stack {
    pub id: StackId,
    pub name: StackName,
    pub project_id: ProjectId,
    pub owner_user_id: String,
    /// The resource that a nested stack stands for.
    pub owner: Option<Owner>,
    pub revisions: Vec<RevisionAccepted>,
    pub action: Action,
    pub status: Status,
    pub reason: String,
    pub traversal: Option<Traversal>,
    /// Every incarnation that exists or may exist.
    pub rows: IndexMap<ResourceId, Row>,
    pub created_at: DateTime<Utc>,
    pub updated_at: Option<DateTime<Utc>>,
    /// Actions that were asked for during the traversal, in their order.
    pub deferred: Vec<ActionDeferred>,
    /// In whose name work is done that nobody asks for by himself: whoever last made or changed
    /// the stack.
    pub trustor: Trustor,
    /// The project of the users that its resources have.
    pub user_project: Option<ProjectId>,
    /// The snapshots that the stack has, oldest first.
    pub snapshots: IndexMap<TraversalId, Snapshot>,
    /// It was led elsewhere while it was suspended, and has not been resumed since: some of its
    /// resources are suspended still, and others never were.
    pub rests_in_part: bool,
}

/// A snapshot of a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    /// The revision whose definition it keeps.
    pub revision: StackRevision,
    /// CREATE or DELETE.
    pub action: Action,
    pub status: Status,
    pub resources: Vec<ResourceKept>,
    /// In whose name it is deleted.
    pub deleter: Option<Trustor>,
}

/// What is not in the log, because `recover` builds it again.
#[derive(Default)]
pub struct Working {
    /// Definitions and graphs by the origin of their revision.
    pub(super) definitions: HashMap<StackRevision, Arc<Known>>,
    /// The newest word of each incarnation.
    pub(super) reports: Reports,
    /// Incarnations that were given a task in a traversal and have not reported its end.
    pub(super) told: HashMap<ResourceId, (ResourceName, TraversalId)>,
    /// `rows`, as the tasks of the traversal under way have changed them.
    pub(super) rows: IndexMap<ResourceId, Row>,
    /// The resources whose check failed in the traversal under way, and why; and those that are
    /// not looked at because of them.
    pub(super) failures: BTreeMap<ResourceName, Option<String>>,
    pub(super) tasks: Option<TaskGraph>,
    /// The traversal that `tasks` and `rows` belong to.
    pub(super) traversing: Option<TraversalId>,
    /// Whether others have their turn before more is handed out.
    pub(super) pauses: bool,
    /// Whether the project of its users is being deleted.
    pub(super) drops_users: bool,
}

impl Working {
    /// Hands over a definition that was read back, or that the stack is about to be led to.
    pub fn know_definition(&mut self, stack: &Stack, origin: StackRevision, known: Arc<Known>) {
        self.forget_definitions(stack);
        self.definitions.insert(origin, known);
    }

    /// Lets go of the definitions that nothing goes back to: those of large stacks are large.
    pub(in crate::actors) fn forget_definitions(&mut self, stack: &Stack) {
        let needed = stack.origins_needed();
        self.definitions.retain(|origin, _| needed.contains(origin));
    }

    /// Lets go of what only a traversal under way needs.
    pub(in crate::actors) fn forget_traversal(&mut self) {
        if self.traversing.take().is_some() {
            self.tasks = None;
            self.rows = IndexMap::default();
        }
    }

    /// Hands over how a resource stands, before the stack goes on.
    pub fn know_report(&mut self, report: Report) {
        self.reports.insert(Box::new(report));
    }
}

/// A decision of a stack.
pub(super) type Decider<'a> = Deciding<'a, Stack>;

/// Whether an action is a traversal over what is there, and leads to no revision.
pub(in crate::actors::stack) fn is_act(action: Action) -> bool {
    match action {
        Action::Suspend | Action::Resume | Action::Check | Action::Snapshot => true,
        Action::Init
        | Action::Create
        | Action::Delete
        | Action::Update
        | Action::Rollback
        | Action::Adopt
        | Action::Restore => false,
    }
}

impl Traversal {
    /// Whether it goes over what is there, and leads to no revision.
    pub(in crate::actors) fn is_act(&self) -> bool {
        is_act(self.action)
    }

    /// An incarnation is replaced. One that the traversal itself has made, and would replace after a
    /// restart, exists from here on, as all do that it has made.
    fn replaces(&mut self, id: ResourceId, rows: &IndexMap<ResourceId, Row>) {
        let is_known = |id| self.existing.iter().any(|row| row.id == id);
        if is_known(id) {
            return;
        }
        let made = rows.values().filter(|row| !is_known(row.id)).map(|row| {
            let requires = self.requires.get(&row.name).into_iter().flatten();
            Existing {
                id: row.id,
                name: row.name.clone(),
                goes_on: self.nodes.get(&row.name) == Some(&row.id),
                requires: requires.filter_map(|name| self.nodes.get(name).copied()).collect(),
                replaces: row.replaces,
                revision: row.revision,
            }
        });
        let made: Vec<Existing> = made.collect();
        self.existing.extend(made);
    }
}

impl Stack {
    /// A stack that nothing is known of but its id.
    pub fn named(id: StackId) -> Self {
        Self { id, ..Self::default() }
    }

    /// Whether the stack exists.
    pub fn exists(&self) -> bool {
        !self.revisions.is_empty()
    }

    /// Whether the stack was deleted.
    pub fn is_deleted(&self) -> bool {
        self.action == Action::Delete && self.status == Status::Complete && self.exists()
    }

    /// Whether a traversal runs.
    pub fn in_progress(&self) -> bool {
        self.traversal.as_ref().is_some_and(|traversal| !traversal.settled)
    }

    /// The newest revision.
    pub fn revision(&self) -> Option<&RevisionAccepted> {
        self.revisions.last()
    }

    /// The stack, as its resources know it.
    pub fn identity(&self) -> StackIdentity {
        StackIdentity { id: self.id, name: self.name.clone(), project_id: self.project_id.clone() }
    }

    /// Where a revision has its source.
    pub fn sourced(&self, number: StackRevision) -> Option<Sourced> {
        let upto = self.revisions.iter().rev().filter(|revision| revision.revision <= number);
        let revision = upto.clone().find(|revision| revision.source.is_some())?.clone();
        Some(Sourced { emptied: revision.revision != number, revision })
    }

    /// The revision of an origin; `None` for the empty one.
    pub fn revision_of(&self, origin: StackRevision) -> Option<&RevisionAccepted> {
        self.revisions.iter().find(|revision| revision.revision == origin)
    }

    /// The origins of the revisions whose definitions a wakened stack needs: the newest, and the
    /// one that it may have to go back to.
    pub fn origins_needed(&self) -> BTreeSet<StackRevision> {
        if !self.in_progress() {
            return self.revision().map(|revision| revision.origin).into_iter().collect();
        }
        self.revisions.iter().rev().take(2).map(|revision| revision.origin).collect()
    }

    /// The incarnation that each resource of the newest revision has.
    pub fn incarnations(&self) -> IndexMap<ResourceName, ResourceId> {
        self.traversal.as_ref().map(|traversal| traversal.nodes.clone()).unwrap_or_default()
    }

    fn start(&mut self, started: &TraversalStarted, at: DateTime<Utc>) {
        if let Some(rows) = &started.rows {
            self.rows = rows.iter().map(|row| (row.id, row.clone())).collect();
        }
        let nodes: IndexMap<_, _> =
            started.nodes.iter().map(|node| (node.name.clone(), node.id)).collect();
        let existing = self
            .rows
            .values()
            .map(|row| Existing {
                id: row.id,
                name: row.name.clone(),
                goes_on: nodes.get(&row.name) == Some(&row.id),
                requires: row.requires.clone(),
                replaces: row.replaces,
                revision: row.revision,
            })
            .collect();
        for node in &started.nodes {
            self.rows.entry(node.id).or_insert_with(|| Row {
                name: node.name.clone(),
                id: node.id,
                type_name: node.type_name.clone(),
                requires: Vec::new(),
                revision: StackRevision(0),
                replaces: None,
                replaced_by: None,
            });
        }
        self.traversal = Some(Traversal {
            id: started.traversal,
            action: started.action,
            revision: started.revision,
            deadline: started.deadline,
            options: started.options,
            nodes,
            requires: started
                .nodes
                .iter()
                .map(|node| (node.name.clone(), node.requires.clone()))
                .collect(),
            existing,
            trustor: started.trustor.clone().unwrap_or_else(|| self.trustor.clone()),
            started_at: at,
            settled: false,
        });
        if started.action == Action::Delete {
            self.deferred.clear();
        } else if self.deferred.first().is_some_and(|it| it.action == started.action)
            && is_act(started.action)
        {
            self.deferred.remove(0);
        }
        self.rests_in_part |= self.action == Action::Suspend && !is_act(started.action);
        self.action = started.action;
        self.status = Status::InProgress;
        self.reason = format!("Stack {} started", started.action);
        if started.action != Action::Create {
            self.updated_at = Some(at);
        }
    }

    /// The rows of a traversal that brought everything to its revision.
    fn rows_of(&self, traversal: &Traversal) -> IndexMap<ResourceId, Row> {
        let origin = self
            .revisions
            .iter()
            .find(|revision| revision.revision == traversal.revision)
            .map_or(StackRevision(0), |revision| revision.origin);
        traversal
            .nodes
            .iter()
            .filter_map(|(name, id)| {
                let requires = traversal.requires.get(name).into_iter().flatten();
                let row = Row {
                    requires: requires
                        .filter_map(|name| traversal.nodes.get(name).copied())
                        .collect(),
                    revision: origin,
                    replaces: None,
                    replaced_by: None,
                    ..self.rows.get(id)?.clone()
                };
                Some((*id, row))
            })
            .collect()
    }
}

impl Aggregate for Stack {
    type Command = StackCommand;
    type Event = StackEvent;
    type Effect = StackEffect;
    type Knowledge = Knowledge;
    type Working = Working;

    fn answers_once(command: &StackCommand) -> bool {
        match command {
            StackCommand::Create(_)
            | StackCommand::Update(_)
            | StackCommand::Restart { .. }
            | StackCommand::Delete { .. }
            | StackCommand::Abandon
            | StackCommand::Act { .. }
            | StackCommand::TakeSnapshot(_)
            | StackCommand::DeleteSnapshot { .. }
            | StackCommand::Restore(_)
            | StackCommand::CancelUpdate
            | StackCommand::CancelWithoutRollback
            | StackCommand::Reset => true,
            StackCommand::Report(_)
            | StackCommand::Advance
            | StackCommand::SnapshotDropped { .. }
            | StackCommand::UserProjectDropped { .. }
            | StackCommand::DriftLooked(_)
            | StackCommand::TimedOut { .. } => false,
        }
    }

    fn apply(&mut self, event: &StackEvent, at: DateTime<Utc>) {
        match event {
            StackEvent::StackCreated(created) => {
                self.id = created.stack_id;
                self.name = created.name.clone();
                self.project_id = created.project_id.clone();
                self.owner_user_id = created.owner_user_id.clone();
                self.owner = created.owner.clone();
                self.trustor = Trustor { user_id: created.owner_user_id.clone(), roles: None };
                self.created_at = at;
            }
            StackEvent::RevisionAccepted(accepted) => {
                if let Some(trustor) = accepted.trustor() {
                    self.trustor = trustor;
                }
                self.revisions.push(accepted.clone());
            }
            StackEvent::TraversalStarted(started) => self.start(started, at),
            StackEvent::ReplacementStarted(replacement) => {
                if let Some(old) = self.rows.get_mut(&replacement.old) {
                    old.replaced_by = Some(replacement.new);
                }
                let new = Row {
                    name: replacement.name.clone(),
                    id: replacement.new,
                    type_name: replacement.type_name.clone(),
                    requires: Vec::new(),
                    revision: StackRevision(0),
                    replaces: Some(replacement.old),
                    replaced_by: None,
                };
                if let Some(traversal) = &mut self.traversal {
                    traversal.replaces(replacement.old, &self.rows);
                    traversal.nodes.insert(replacement.name.clone(), replacement.new);
                }
                self.rows.insert(replacement.new, new);
            }
            StackEvent::ActionDeferred(deferred) => self.deferred.push(deferred.clone()),
            StackEvent::SnapshotStarted(started) => {
                let snapshot = Snapshot {
                    revision: started.revision,
                    action: Action::Create,
                    status: Status::InProgress,
                    resources: Vec::new(),
                    deleter: None,
                };
                self.snapshots.insert(started.snapshot, snapshot);
            }
            StackEvent::SnapshotSettled(settled) => {
                if let Some(snapshot) = self.snapshots.get_mut(&settled.snapshot) {
                    snapshot.status = settled.status;
                    snapshot.resources = settled.resources.clone();
                }
            }
            StackEvent::SnapshotDeletionStarted(started) => {
                if let Some(snapshot) = self.snapshots.get_mut(&started.snapshot) {
                    snapshot.deleter = Some(started.trustor());
                    snapshot.action = Action::Delete;
                    snapshot.status = Status::InProgress;
                }
            }
            StackEvent::SnapshotDeletionSettled(settled) => {
                if settled.status == Status::Complete {
                    self.snapshots.shift_remove(&settled.snapshot);
                } else if let Some(snapshot) = self.snapshots.get_mut(&settled.snapshot) {
                    snapshot.status = settled.status;
                }
            }
            StackEvent::TraversalSettled(settled) => {
                self.action = settled.action;
                self.status = settled.status;
                self.reason = settled.reason.clone();
                let is_even = matches!(settled.action, Action::Suspend | Action::Resume)
                    && settled.status == Status::Complete;
                self.rests_in_part &= !is_even;
                if let Some(mut traversal) = self.traversal.take() {
                    self.rows = match &settled.rows {
                        Some(rows) => rows.iter().map(|row| (row.id, row.clone())).collect(),
                        None => self.rows_of(&traversal),
                    };
                    traversal.settled = true;
                    traversal.existing = Vec::new();
                    self.traversal = Some(traversal);
                }
            }
            StackEvent::OutputsChanged(_) | StackEvent::DriftLooked(_) => {}
            StackEvent::UserProjectMade(made) => self.user_project = Some(made.project_id.clone()),
            StackEvent::UserProjectDeleted(_) => self.user_project = None,
        }
    }

    fn decide(
        &self,
        working: &mut Working,
        command: StackCommand,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Result<Decision<Self>, Refusal> {
        Decider { state: self, working, moment, knowledge }.decide(command)
    }

    fn recover(
        &self,
        working: &mut Working,
        moment: &Moment<'_>,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        Decider { state: self, working, moment, knowledge }.resume()
    }
}

impl Decider<'_> {
    fn decide(&mut self, command: StackCommand) -> Result<Decision<Stack>, Refusal> {
        match command {
            StackCommand::Create(create) => self.create(*create),
            StackCommand::Update(revise) => self.update(*revise),
            StackCommand::Restart { signal } => self.restart(signal),
            StackCommand::Delete { trustor } => self.delete(false, trustor),
            StackCommand::Abandon => self.delete(true, None),
            StackCommand::Act { action, trustor } => self.act(ActionDeferred { action, trustor }),
            StackCommand::TakeSnapshot(take) => self.take_snapshot(take),
            StackCommand::DeleteSnapshot { snapshot, trustor } => {
                self.delete_snapshot(snapshot, trustor)
            }
            StackCommand::SnapshotDropped { snapshot, result } => {
                Ok(self.snapshot_dropped(snapshot, result))
            }
            StackCommand::UserProjectDropped { result } => Ok(self.user_project_dropped(result)),
            StackCommand::Restore(revise) => self.restore(*revise),
            StackCommand::CancelUpdate => self.cancel_update(),
            StackCommand::CancelWithoutRollback => self.cancel_without_rollback(),
            StackCommand::Reset => self.reset(),
            StackCommand::DriftLooked(looked) => match self.is_deleted() {
                true => Ok(Decision::nothing()),
                false => Ok(Decision::record(*looked)),
            },
            StackCommand::Report(report) => Ok(self.reported(report)),
            StackCommand::Advance => {
                self.working.pauses = false;
                Ok(self.advance())
            }
            StackCommand::TimedOut { traversal } => Ok(self.timed_out(traversal)),
        }
    }
}
