//! A resource says how it stands: note it, and go on with the traversal.

use crate::actors::resource::{Outcome, Report};
use crate::actors::shell::Decision;
use crate::actors::stack::command::StackCommand;
use crate::actors::stack::state::{Decider, Stack};
use crate::events::stack::{ReplacementStarted, Row};
use crate::graph::Task;
use crate::model::{Action, ResourceId, StackRevision, Status};

impl Decider<'_> {
    pub(in crate::actors::stack) fn reported(&mut self, report: Box<Report>) -> Decision<Stack> {
        if let Some(made) = self.user_project_made(&report) {
            return Decision::record(made).and_then(StackCommand::Report(report));
        }
        let (name, news) = (report.name.clone(), self.news(&report));
        let decision = self.after_report(report);
        self.and_tell(&name, news, decision)
    }

    /// The next turn of the traversal.
    fn after_report(&mut self, report: Box<Report>) -> Decision<Stack> {
        let (id, name, outcome) = (report.id, report.name.clone(), report.outcome.clone());
        let is_told =
            |traversal| self.working.told.get(&id).is_some_and(|(_, of)| *of == traversal);
        let ends = outcome.iter().map(|(of, _)| *of).chain(report.dropped).any(is_told);
        if ends && !report.in_progress() {
            self.working.told.remove(&id);
        }
        self.working.reports.insert(report);
        let Some(traversal) = self.traversal.as_ref().filter(|traversal| !traversal.settled) else {
            return Decision::nothing();
        };
        let outcome = outcome.filter(|(of, _)| *of == traversal.id).map(|(_, outcome)| outcome);
        let is_current = traversal.nodes.get(&name) == Some(&id);
        match outcome {
            Some(Outcome::CleanedUp) => {
                self.working.rows.shift_remove(&id);
                self.working.reports.remove(id);
                self.finish(&Task::CleanUp(id));
                self.advance()
            }
            Some(Outcome::Converged) if is_current => {
                if !traversal.is_act() {
                    self.converged(id);
                }
                self.finish(&Task::Converge(name));
                self.advance()
            }
            Some(Outcome::Replace) if is_current => {
                let new = ResourceId(self.moment.fresh_id());
                let type_name =
                    self.view().known().map(|known| known.declared_type(&name)).unwrap_or_default();
                if let Some(old) = self.working.rows.get_mut(&id) {
                    old.replaced_by = Some(new);
                }
                let row = Row {
                    name: name.clone(),
                    id: new,
                    type_name: type_name.clone(),
                    requires: Vec::new(),
                    revision: StackRevision(0),
                    replaces: Some(id),
                    replaced_by: None,
                };
                self.working.rows.insert(new, row);
                let tell = self.converge_task(&name, new);
                Decision::record(ReplacementStarted {
                    traversal: self
                        .traversal
                        .as_ref()
                        .map(|traversal| traversal.id)
                        .unwrap_or_default(),
                    name,
                    old: id,
                    new,
                    type_name,
                })
                .and_do(tell)
            }
            Some(Outcome::Failed { reason, .. }) if is_current && self.action == Action::Check => {
                // Every resource is looked at, whatever was found before.
                let reason = format!("Resource CHECK failed: {reason}");
                self.working.failures.insert(name.clone(), Some(reason));
                self.finish(&Task::Converge(name));
                self.advance()
            }
            Some(Outcome::Failed { action, reason }) => {
                if is_current && action == Action::Update {
                    self.half_updated(id);
                }
                let reason = format!("Resource {action} failed: {reason}");
                self.fail(reason)
            }
            Some(Outcome::Converged | Outcome::Replace) | None => Decision::nothing(),
        }
    }

    /// The incarnation uses what the revision says, and nothing of before.
    fn converged(&mut self, id: ResourceId) {
        let Some(traversal) = &self.state.traversal else { return };
        let origin = self.origin_of(traversal.revision);
        let Some(row) = self.working.rows.get_mut(&id) else { return };
        let requires = traversal.requires.get(&row.name).into_iter().flatten();
        row.requires = requires.filter_map(|name| traversal.nodes.get(name).copied()).collect();
        row.revision = origin;
        row.replaced_by = None;
    }

    /// An update in place that failed may have come half the way: the incarnation counts as the
    /// revision's, as in Heat. What was refused before anything was done keeps its state.
    fn half_updated(&mut self, id: ResourceId) {
        let Some(traversal) = &self.state.traversal else { return };
        let origin = self.origin_of(traversal.revision);
        let report = self.working.reports.get(&id);
        let is_failed =
            report.is_some_and(|it| (it.action, it.status) == (Action::Update, Status::Failed));
        if let Some(row) = self.working.rows.get_mut(&id).filter(|_| is_failed) {
            row.revision = origin;
        }
    }

    pub(super) fn origin_of(&self, revision: StackRevision) -> StackRevision {
        let found = self.revisions.iter().rev().find(|known| known.revision == revision);
        found.map_or(StackRevision(0), |found| found.origin)
    }

    fn finish(&mut self, task: &Task) {
        if let Some(tasks) = &mut self.working.tasks {
            tasks.done(task);
        }
    }
}
