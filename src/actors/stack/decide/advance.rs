//! Hand out the tasks that are ready, and end the traversal when none is left.

use std::collections::BTreeSet;

use super::act::order;
use crate::actors::resource::{Adopted, CleanUp, Converge, ResourceCommand};
use crate::actors::shell::Decision;
use crate::actors::stack::command::StackEffect;
use crate::actors::stack::state::{Decider, Stack};
use crate::actors::stack::values::Values;
use crate::events::resource::Definition;
use crate::graph::{Dependencies, Task, TaskGraph};
use crate::model::taint;
use crate::model::{Action, Hook, Refusal, ResourceId, ResourceName, StackRevision};
use crate::template::steps_since;

/// The steps on templates after which a stack lets others of its thread have their turn.
const TURN_STEPS_MAX: u64 = 50_000;
/// The tasks of a turn: what was handed out lies in memory until the resources have come to it.
const TURN_TASKS_MAX: usize = 512;

impl Decider<'_> {
    /// Hands out what is ready, as much as one turn allows.
    pub(in crate::actors::stack) fn advance(&mut self) -> Decision<Stack> {
        let mut decision = Decision::nothing();
        let Some(mut tasks) = self.tasks() else { return decision };
        let (began, mut handed_out) = (steps_since(0), 0);
        'turn: while !self.working.pauses {
            let mut ready = tasks.take_ready().into_iter();
            if ready.len() == 0 {
                break;
            }
            while let Some(task) = ready.next() {
                match self.hand_out(&task) {
                    Some(tell) => decision.effects.push(tell),
                    None => tasks.done(&task),
                }
                handed_out += 1;
                if steps_since(began) > TURN_STEPS_MAX || handed_out == TURN_TASKS_MAX {
                    tasks.give_back(ready);
                    decision.effects.push(StackEffect::TakeTurns);
                    self.working.pauses = true;
                    break 'turn;
                }
            }
        }
        // The snapshots of a stack that is deleted go with it.
        let kept = self.action == Action::Delete && !self.snapshots.is_empty();
        let over = tasks.is_over() && !kept;
        self.working.tasks = Some(tasks);
        if over && self.working.drops_users {
            return decision;
        }
        if over && let Some(drops) = self.drop_user_project() {
            decision.effects.push(drops);
        } else if over {
            let mut complete = self.complete();
            decision.effects.append(&mut complete.effects);
            decision.events = complete.events;
            decision.then = complete.then;
        }
        decision
    }

    /// The traversal of the traversal under way, built on first use.
    fn tasks(&mut self) -> Option<TaskGraph> {
        let traversal = self.state.traversal.as_ref().filter(|traversal| !traversal.settled)?;
        let is_begun = self.working.traversing == Some(traversal.id);
        if is_begun && let Some(tasks) = self.working.tasks.take() {
            return Some(tasks);
        }
        let origin = self.origin_of(traversal.revision);
        let none = Dependencies::default();
        let dependencies = match self.working.definitions.get(&origin) {
            Some(known) if traversal.action != Action::Delete => &known.dependencies,
            _ => &none,
        };
        let is_unbegun = |name: &ResourceName| {
            traversal.nodes.get(name).is_some_and(|id| {
                let report = self.working.reports.get(id);
                let is_init = report.is_none_or(|report| report.action == Action::Init);
                // What is at its first action has not said so yet.
                is_init && !self.view().is_told(*id)
            })
        };
        let told = |id: &ResourceId| {
            let report = self.working.reports.get(id);
            let is_at_work = self.working.told.get(id).is_some_and(|(_, of)| *of == traversal.id);
            is_at_work || report.is_some_and(|report| report.traversal == Some(traversal.id))
        };
        // A process that died may have handed these their definition already.
        let told: Vec<_> = traversal
            .nodes
            .iter()
            .filter(|(_, id)| told(id))
            .map(|(name, id)| (name.clone(), *id))
            .collect();
        let is_act = traversal.is_act();
        let begun = told.iter().map(|(name, _)| name).collect();
        let tasks = match is_act {
            true => TaskGraph::new(&order(traversal, is_unbegun), &[], &begun),
            false => TaskGraph::new(dependencies, &traversal.existing, &begun),
        };
        if is_begun {
            return Some(tasks);
        }
        self.working.failures.clear();
        self.working.traversing = Some(traversal.id);
        self.working.rows = self.rows.clone();
        for (name, id) in told.iter().filter(|_| !is_act) {
            self.lets_use(name, *id);
        }
        Some(tasks)
    }

    /// What is to be told for a task; `None` where there is nothing to do.
    fn hand_out(&mut self, task: &Task) -> Option<StackEffect> {
        match task {
            Task::Converge(name) => {
                let traversal = self.traversal.as_ref()?;
                let id = *traversal.nodes.get(name)?;
                if traversal.is_act() {
                    return self.act_task(name, id);
                }
                Some(self.converge_task(name, id))
            }
            Task::CleanUp(id) => {
                let traversal = self.state.traversal.as_ref()?;
                let row = self.working.rows.get(id)?;
                if traversal.nodes.get(&row.name) == Some(id) {
                    return None;
                }
                let started = self.working.reports.contains_key(id);
                if !started && !self.working.told.contains_key(id) {
                    // Named by a revision that never came to it.
                    self.working.rows.shift_remove(id);
                    return None;
                }
                self.working.told.insert(*id, (row.name.clone(), traversal.id));
                Some(StackEffect::Tell {
                    id: *id,
                    name: row.name.clone(),
                    command: ResourceCommand::CleanUp(CleanUp {
                        traversal: traversal.id,
                        stack: self.identity(),
                        type_name: row.type_name.clone(),
                        deadline: traversal.deadline,
                        trustor: self.acting(),
                        stack_action: traversal.action,
                        hooks: self.hooks(&row.name),
                        options: traversal.options,
                    }),
                })
            }
        }
    }

    /// Hands a resource its definition.
    pub(super) fn converge_task(&mut self, name: &ResourceName, id: ResourceId) -> StackEffect {
        self.lets_use(name, id);
        let traversal = self.traversal.as_ref().map(|traversal| traversal.id).unwrap_or_default();
        self.working.told.insert(id, (name.clone(), traversal));
        self.tell_converge(name, id)
    }

    /// From here on the incarnation may use what the revision says.
    fn lets_use(&mut self, name: &ResourceName, id: ResourceId) {
        let Some(traversal) = &self.traversal else { return };
        let origin = self.origin_of(traversal.revision);
        let requires = traversal.requires.get(name).into_iter().flatten();
        let uses: Vec<_> = requires.filter_map(|name| traversal.nodes.get(name).copied()).collect();
        let Some(row) = self.working.rows.get_mut(&id) else { return };
        for used in uses {
            if !row.requires.contains(&used) {
                row.requires.push(used);
            }
        }
        if row.revision == StackRevision(0) {
            row.revision = origin;
        }
    }

    fn tell_converge(&self, name: &ResourceName, id: ResourceId) -> StackEffect {
        let traversal = self.traversal.as_ref();
        let type_name =
            self.view().known().map(|known| known.declared_type(name)).unwrap_or_default();
        let definition = self
            .resolve(name)
            .map_err(|refusal| format!("{}: resources.{name}: {}", refusal.class, refusal.message));
        StackEffect::Tell {
            id,
            name: name.clone(),
            command: ResourceCommand::Converge(Box::new(Converge {
                traversal: traversal.map(|traversal| traversal.id).unwrap_or_default(),
                since: traversal.map(|traversal| traversal.started_at).unwrap_or_default(),
                stack: self.identity(),
                name: name.clone(),
                type_name,
                definition,
                deadline: traversal.and_then(|traversal| traversal.deadline),
                trustor: self.acting(),
                observed_signals: self.view().signals_observed_by(name, self.knowledge),
                stack_action: self.action,
                options: traversal.map(|traversal| traversal.options).unwrap_or_default(),
                hooks: self.hooks(name),
                restricted: self
                    .view()
                    .known()
                    .map(|known| known.definition.restricted_actions(name))
                    .unwrap_or_default(),
                adopts: self.adopted(name),
                replaces: self.replaced_by(id),
            })),
        }
    }

    /// A resource's definition with every reference resolved and every secret marked.
    fn resolve(&self, name: &ResourceName) -> Result<Definition, Refusal> {
        let known = self.view().known().ok_or_else(|| Refusal::not_found("Resource", name))?;
        let revision = self.revision().map(|newest| newest.origin).unwrap_or_default();
        let values = Values::of(self.view(), self.knowledge);
        let now = self.moment.now;
        known.definition_of(name, &values, &self.knowledge.registry, revision, now)
    }

    /// What the former incarnations are in the cloud of one that is not made yet.
    fn replaced_by(&self, id: ResourceId) -> Vec<String> {
        let is_made =
            |id| self.view().reports().get(&id).is_some_and(|it| it.action != Action::Init);
        let before = |id: ResourceId| self.working.rows.get(&id)?.replaces;
        let former = std::iter::successors(before(id).filter(|_| !is_made(id)), |id| before(*id));
        former.filter_map(|id| self.view().reports().get(&id)?.physical_id.clone()).collect()
    }

    /// The hooks that the environment sets for a resource.
    fn hooks(&self, name: &ResourceName) -> BTreeSet<Hook> {
        let words =
            self.view().known().map(|known| known.definition.hooks(name)).unwrap_or_default();
        words.iter().filter_map(|word| Hook::named(word)).collect()
    }

    /// What the data that the stack is adopted from say of a resource.
    fn adopted(&self, name: &ResourceName) -> Option<Adopted> {
        let data = self.revision().filter(|_| self.action == Action::Adopt)?.adopts.clone()?;
        let data = taint::plain(data);
        let of_resource = data.get(name.as_str())?;
        let data = of_resource["resource_data"].as_object().into_iter().flatten();
        Some(Adopted {
            physical_id: of_resource["resource_id"].as_str().map(str::to_owned),
            data: data.map(|(key, value)| (key.clone(), taint::taint(value.clone()))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::actors::resource::Report;
    use crate::actors::stack::command::StackCommand;
    use crate::actors::stack::story::{
        create, delete, given, given_made, given_nothing, reported, revise, revise_of, update,
    };
    use crate::model::JsonMap;

    const CREATED: &str = "CREATE_COMPLETE: Stack CREATE completed successfully";

    #[test]
    fn a_resource_waits_for_all_that_it_needs() {
        let story = given("net vm:net,volume volume");
        assert_eq!(story.orders(), ["converge net", "converge volume"]);
        let story = story.when_done("net");
        assert!(story.orders().is_empty());
        let story = story.when_done("volume");
        assert_eq!(story.orders(), ["converge vm"]);
        assert_eq!(story.when_done("vm").state(), CREATED);
    }

    #[test]
    fn what_a_revision_drops_goes_after_its_former_user_is_changed() {
        let story = given_made("net port:net").when(update(revise("port")));
        assert_eq!(story.orders(), ["converge port"]);
        let story = story.when_done("port");
        assert_eq!(story.orders(), ["clean up net"]);
        assert_eq!(story.when_done("net").told(), ["TraversalSettled"]);
    }

    #[test]
    fn a_resource_that_never_began_is_gone_without_being_asked() {
        let story = given("net port:net").when_it_fails("net", "boom").when(delete());
        assert_eq!(story.orders(), ["clean up net"]);
        assert_eq!(story.when_done("net").orders(), ["release web"]);
    }

    #[test]
    fn a_wakened_traversal_asks_all_over_and_waits_as_before() {
        let story = given("net port:net server:port").when_done("net").when_woken();
        assert_eq!((story.told(), story.orders()), (vec![], vec!["converge net".to_owned()]));
        let story = story.when_done("net");
        assert_eq!(story.orders(), ["converge port"]);
    }

    #[test]
    fn one_turn_hands_out_so_many_tasks_and_the_next_one_goes_on() {
        let names: Vec<String> =
            (0..TURN_TASKS_MAX + 3).map(|number| format!("r{number}")).collect();
        let story = given(&names.join(" "));
        assert_eq!(story.orders().len(), TURN_TASKS_MAX + 1);
        assert_eq!(story.orders().last().unwrap(), "take turns");
        let story = story.when_done("r0");
        assert!(story.orders().is_empty());
        assert_eq!(story.when(StackCommand::Advance).orders().len(), 3);
    }

    #[test]
    fn a_reference_is_resolved_by_what_its_resource_has_said_of_itself() {
        let port = json!({ "type": "OS::Heat::TestResource",
                           "properties": { "value": { "get_resource": "net" } } });
        let net = json!({ "type": "OS::Heat::TestResource" });
        let template = json!({ "resources": { "net": net, "port": port } });
        let story = given_nothing().when(create(revise_of(&template)));
        assert_eq!(story.orders(), ["converge net"]);
        let story = story.when_done("net");
        let definition = story.converged("port").definition.as_ref().unwrap();
        assert_eq!(definition.properties["value"], "net");
    }
    #[test]
    fn what_does_not_resolve_names_no_secret() {
        let output = json!({ "get_attr": ["src", "output"] });
        let number = json!({ "yaql": { "expression": "int($.data)", "data": output } });
        let of = |properties: Value| json!({ "type": "OS::Heat::TestResource", "properties": properties });
        let template = json!({ "resources": {
            "src": { "type": "OS::Heat::TestResource" },
            "function": of(json!({ "value": number })),
            "property": of(json!({ "wait_secs": output })),
        } });
        let story = given_nothing().when(create(revise_of(&template)));
        let secret = taint::taint("pass\nword".into());
        let attributes = JsonMap::from_iter([("output".to_owned(), secret)]);
        let report = Report { attributes: Arc::new(attributes), ..story.report("src") };
        let story = story.when(reported(report)).when_done("src");
        for name in ["function", "property"] {
            let reason = story.converged(name).definition.as_ref().unwrap_err();
            assert!(reason.contains("'******'"), "{reason}");
        }
    }
}
