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
        let (id, name) = (report.id, report.name.clone());
        // Of work under way the outcome is that of what was before.
        let outcome = report.outcome.clone().filter(|_| !report.in_progress());
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
                let is_known = traversal.existing.iter().any(|row| row.id == id);
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
                let tell = is_known.then(|| self.converge_task(&name, new));
                if !is_known {
                    // It is to be cleaned up, which the tasks do not know of: they are drawn up anew.
                    self.working.tasks = None;
                }
                let decision = Decision::record(ReplacementStarted {
                    traversal: self
                        .traversal
                        .as_ref()
                        .map(|traversal| traversal.id)
                        .unwrap_or_default(),
                    name,
                    old: id,
                    new,
                    type_name,
                });
                match tell {
                    Some(tell) => decision.and_do(tell),
                    None => decision.and_then(StackCommand::Advance),
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::stack::story::{given, given_made, reported, revise, update};

    #[test]
    fn a_replacement_is_made_before_its_users_change_and_its_former_goes_after_them() {
        let story = given_made("net port:net").when(update(revise("net port:net")));
        let former = story.incarnations()["net"];
        let story = story.when_it_ends("net", Outcome::Replace);
        assert_eq!(story.told(), ["ReplacementStarted"]);
        assert_eq!(story.orders(), ["converge net"]);
        assert_ne!(story.incarnations()["net"], former);
        let story = story.when_done("net");
        assert_eq!(story.orders(), ["converge port"]);
        let story = story.when_done("port");
        assert_eq!(story.orders(), ["clean up net"]);
        let story = story.when_done("net");
        assert_eq!(story.told(), ["TraversalSettled"]);
        assert_eq!(story.stack.rows.len(), 2);
    }

    #[test]
    fn a_failure_ends_the_traversal_and_nothing_further_starts() {
        let story = given("net other port:net,other").when_it_fails("net", "Conflict: no");
        assert_eq!((story.told(), story.orders()), (vec!["TraversalSettled"], vec![]));
        assert_eq!(story.state(), "CREATE_FAILED: Resource CREATE failed: Conflict: no");
        let story = story.when_done("other");
        assert!(story.told().is_empty() && story.orders().is_empty());
    }

    #[test]
    fn what_a_resource_says_of_an_older_traversal_moves_nothing() {
        let story = given("net port:net").when(update(revise("net port:net")));
        let traversal = story.stack.traversal.as_ref().unwrap().id;
        let mut stale = story.report("net");
        stale.outcome = Some((Default::default(), Outcome::Converged));
        let story = story.when(reported(stale));
        assert!(story.told().is_empty() && story.orders().is_empty());
        assert_eq!(story.working.told.values().next().unwrap().1, traversal);
        assert_eq!(story.when_done("net").orders(), ["converge port"]);
    }

    #[test]
    fn the_same_report_twice_moves_the_traversal_once() {
        let story = given("net port:net server:port").when_done("net");
        let again = story.report("net");
        let story = story.when(reported(again));
        assert!(story.told().is_empty() && story.orders().is_empty());
    }

    #[test]
    fn a_crash_between_a_replacement_and_its_create_leads_to_that_create() {
        let story = given_made("net").when(update(revise("net")));
        let story = story.when_it_ends("net", Outcome::Replace);
        let new = story.incarnations()["net"];
        let story = story.when_woken();
        assert_eq!((story.told(), story.orders()), (vec![], vec!["converge net".to_owned()]));
        assert_eq!(story.incarnations()["net"], new);
        assert_eq!(story.when_done("net").orders(), ["clean up net"]);
    }

    #[test]
    fn what_the_same_traversal_made_before_a_restart_goes_as_well_where_it_is_replaced() {
        for is_woken_again in [false, true] {
            let story = given("net port:net").when_done("net").when_woken();
            let former = story.incarnations()["net"];
            let story = story.when_it_ends("net", Outcome::Replace);
            assert_eq!(story.told(), ["ReplacementStarted"]);
            assert_eq!(story.orders(), ["converge net"]);
            assert_ne!(story.incarnations()["net"], former);
            let story = if is_woken_again { story.when_woken() } else { story };
            let story = story.when_done("net");
            assert_eq!(story.orders(), ["converge port"]);
            let story = story.when_done("port");
            assert_eq!(story.orders(), ["clean up net"]);
            assert_eq!(story.when_done("net").told(), ["TraversalSettled"]);
        }
    }

    #[test]
    fn what_the_same_traversal_made_goes_after_what_uses_it_since_before_a_restart() {
        let story = given_made("vm").when(update(revise("net other vm:net")));
        let story = story.when_done("net").when_done("vm").when_woken();
        let story = story.when_it_ends("net", Outcome::Replace).when_done("net");
        assert_eq!(story.orders(), ["converge vm"]);
        assert_eq!(story.when_done("vm").orders(), ["clean up net"]);
    }

    #[test]
    fn what_was_there_before_goes_after_what_the_traversal_has_made_on_it() {
        let story = given_made("net").when(update(revise("net other vm:net"))).when_done("net");
        let story = story.when_done("vm").when_woken();
        let story = story.when_it_ends("net", Outcome::Replace).when_done("net");
        assert_eq!(story.orders(), ["converge vm"]);
        assert_eq!(story.when_done("vm").orders(), ["clean up net"]);
    }

    #[test]
    fn what_ends_before_its_turn_comes_has_its_turn_all_the_same() {
        let story = given("net port:net").when_done("net");
        let mut early = story.report("port");
        early.status = Status::InProgress;
        early.traversal = story.stack.traversal.as_ref().map(|traversal| traversal.id);
        let story = story.when(reported(early)).when_woken();
        let story = story.when_it_ends("net", Outcome::Replace);
        let mut early = story.report("port");
        early.status = Status::Complete;
        early.outcome = early.traversal.map(|traversal| (traversal, Outcome::Converged));
        let story = story.when(reported(early));
        assert!(story.told().is_empty() && story.orders().is_empty());
        let story = story.when_done("net");
        assert_eq!(story.orders(), ["converge port"]);
        let story = story.when_done("port");
        assert_eq!((story.told(), story.orders()), (vec![], vec!["clean up net".to_owned()]));
        assert_eq!(story.when_done("net").told(), ["TraversalSettled"]);
    }

    #[test]
    fn what_came_of_a_task_before_says_nothing_of_work_under_way() {
        let story = given("net port:net").when_done("net").when_woken();
        let mut at_work = story.report("net");
        assert!(matches!(at_work.outcome, Some((_, Outcome::Converged))));
        at_work.status = Status::InProgress;
        let story = story.when(reported(at_work));
        assert!(story.told().is_empty() && story.orders().is_empty());
        assert_eq!(story.when_done("net").orders(), ["converge port"]);
    }

    #[test]
    fn what_was_cleaned_up_does_not_come_back_where_tasks_are_drawn_up_anew() {
        let story = given_made("net").when(update(revise("net a b"))).when_done("a").when_woken();
        let former = story.incarnations()["net"];
        let story = story.when_it_ends("net", Outcome::Replace).when_done("net");
        assert_eq!(story.orders(), ["clean up net"]);
        let story = story.when_done("net").when_it_ends("a", Outcome::Replace);
        let story = story.when(StackCommand::CancelUpdate);
        assert_ne!(story.incarnations()["net"], former);
    }

    #[test]
    fn what_was_told_to_go_is_gone_on_with_until_it_says_that_it_goes() {
        for goes in [false, true] {
            let story = given_made("net").when(update(revise("net other")));
            let former = story.incarnations()["net"];
            let story = story.when_it_ends("net", Outcome::Replace).when_done("net");
            assert_eq!(story.orders(), ["clean up net"]);
            let mut going = story.report("net");
            assert_eq!(going.id, former);
            (going.action, going.status, going.outcome) =
                (Action::Delete, Status::InProgress, None);

            let story = if goes { story.when(reported(going)) } else { story };
            let story = story.when(StackCommand::CancelUpdate);
            assert_eq!(story.incarnations()["net"] == former, !goes);
        }
    }
}
