//! Every plan of the outermost stack's updates, restores and rollbacks, against what then happens.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use hearth::actors::nested::Seen;
use hearth::actors::plan::{Found, FoundChild, FoundResource, Planning, foresee};
use hearth::actors::previewed::Preview;
use hearth::actors::resource::Resource;
use hearth::actors::stack::{Known, Stack};
use hearth::events::StackEvent;
use hearth::events::stack::TraversalStarted;
use hearth::model::{Action, IndexMap, ResourceId, ResourceName, StackId, Status, TraversalId};

use super::world::World;
use crate::support::plans::{Ended, Stands, Stood, unannounced};

/// A plan, and how everything stood when it was made.
pub(super) struct Announced {
    traversal: TraversalId,
    plan: Preview,
    before: Stands,
    /// The traversal that each stack was at.
    at: BTreeMap<StackId, Option<TraversalId>>,
}

/// How many plans were compared with a traversal that came to its end, and with one that did not.
static COMPARED: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

/// The same.
pub(super) fn compared() -> [usize; 2] {
    COMPARED.each_ref().map(|count| count.load(Ordering::Relaxed))
}

/// The stacks of a tree as a plan sees them.
type Sights = BTreeMap<StackId, Seen>;

type Incarnations = IndexMap<ResourceName, ResourceId>;

impl World {
    /// A traversal of the outermost stack is about to start: what will it do?
    pub(super) fn announce(&mut self, id: StackId, events: &[StackEvent]) {
        let starts = |event: &StackEvent| match event {
            StackEvent::TraversalStarted(started) => Some(started.clone()),
            _ => None,
        };
        let Some(started) = events.iter().find_map(starts) else { return };
        self.compare_plan(id, Ended::BrokenOff);
        let leads = matches!(started.action, Action::Update | Action::Rollback | Action::Restore);
        if !leads || !self.is_still() {
            return;
        }
        let accepted = events.iter().find_map(|event| match event {
            StackEvent::RevisionAccepted(accepted) => Some(accepted.origin),
            _ => None,
        });
        let live = &self.node.stacks[&id];
        let Some(origin) = accepted else { return };
        let Some(known) = live.view().known_of(origin).cloned() else { return };
        let going_on = live.view().going_on(origin);
        let before = self.stands(&going_on, &|child| Some(self.seen_at_rest(child)?.going_on));
        match self.planned(&known, &going_on) {
            Ok(plan) => {
                let TraversalStarted { traversal, .. } = started;
                let at = self.folds.stacks.iter().map(|(id, stack)| (*id, traversal_of(stack)));
                let at = at.collect();
                self.announced = Some(Announced { traversal, plan, before, at });
            }
            Err(wrong) => self.wrongs.push(format!("there is no plan: {wrong}")),
        }
    }

    fn planned(
        &self,
        known: &Arc<Known>,
        going_on: &Incarnations,
    ) -> Result<Preview, hearth::model::Refusal> {
        let mut sights = Sights::new();
        self.look_within(going_on, &mut sights);
        let planning = Planning {
            resource: self.resource_knowledge.clone(),
            stack: self.stack_knowledge.clone(),
            clock: self.clock.clone(),
        };
        foresee(&planning, known, &self.found(going_on, &mut sights))
    }

    /// The stacks within.
    fn look_within(&self, going_on: &Incarnations, sights: &mut Sights) {
        let resources = going_on.values().filter_map(|id| self.folds.resources.get(id));
        for child in resources.filter_map(Resource::child_stack) {
            let Some(seen) = self.seen_at_rest(child) else { continue };
            self.look_within(&seen.going_on, sights);
            sights.insert(child, seen);
        }
    }

    fn found<'a>(&'a self, going_on: &Incarnations, sights: &mut Sights) -> Found<&'a Resource> {
        let mut resources = IndexMap::default();
        for (name, id) in going_on {
            // What was never begun has no stream.
            let Some(resource) = self.folds.resources.get(id) else { continue };
            let child = resource.child_stack().and_then(|id| {
                let seen = sights.remove(&id)?;
                let found = self.found(&seen.going_on, sights);
                Some(Box::new(FoundChild { id, seen, found }))
            });
            let is_lost = self.is_lost(resource);
            resources.insert(name.clone(), FoundResource { resource, is_lost, child });
        }
        Found { resources, left_over: Vec::new() }
    }

    /// What its driver says of a resource that failed.
    fn is_lost(&self, resource: &Resource) -> bool {
        let Some((driver, subject)) = resource.inspected(&[], &self.resource_knowledge) else {
            return true;
        };
        match driver.nests() {
            Some(_) => subject.physical_id.is_none(),
            None if self.is_real() => {
                self.really_replaces_failed(&driver, &subject).unwrap_or(true)
            }
            None => self.cloud.replaces_failed(&subject),
        }
    }

    /// How resources stand, and those of the stacks within, of which `within` says which they are.
    fn stands(
        &self,
        incarnations: &Incarnations,
        within: &dyn Fn(StackId) -> Option<Incarnations>,
    ) -> Stands {
        let stood = |(name, id): (&ResourceName, &ResourceId)| {
            let none = Resource::new(*id);
            let resource = self.folds.resources.get(id).unwrap_or(&none);
            let child = resource.child_stack().and_then(|id| self.folds.stacks.get(&id));
            let child = child.filter(|child| child.exists() && !child.is_deleted());
            let stood = Stood {
                id: *id,
                physical_id: resource.physical_id.clone(),
                acted: format!("{:?}", resource.traversal),
                is_begun: resource.is_there(),
                within: child
                    .and_then(|it| Some(self.stands(&within(it.id)?, within)))
                    .unwrap_or_default(),
            };
            (name.to_string(), stood)
        };
        incarnations.iter().map(stood).collect()
    }

    /// Nothing is on its way: a plan compares with what there is.
    fn is_still(&self) -> bool {
        let node = &self.node;
        let rests =
            node.outside.is_empty() && node.awaiting.is_empty() && node.adjusting.is_empty();
        rests
            && node.mail.is_empty()
            && !self.folds.resources.values().any(|it| it.stack.is_some() && it.in_progress())
            && !self.living().any(|stack| {
                let root = stack.name.as_str() == super::run::ROOT;
                (!root && stack.in_progress()) || !stack.deferred.is_empty()
            })
    }

    /// A traversal has come to its end.
    pub(super) fn hold_to_plan(&mut self, id: StackId, events: &[StackEvent]) {
        for event in events {
            if let StackEvent::TraversalSettled(settled) = event {
                self.compare_plan(
                    id,
                    match settled.status {
                        Status::Complete => Ended::Complete,
                        Status::Failed | Status::InProgress => Ended::BrokenOff,
                    },
                );
            }
        }
    }

    fn compare_plan(&mut self, id: StackId, ended: Ended) {
        let Some(announced) = self.announced.take() else { return };
        let stack = self.stack(id);
        if traversal_of(stack) != Some(announced.traversal) {
            // It was lost with its process.
            return;
        }
        let incarnations = |id| {
            let child = self.folds.stacks.get(&id)?;
            match announced.at.get(&id) == Some(&traversal_of(child)) {
                // It was broken off before it came to this one.
                true => Some(self.seen_at_rest(id)?.going_on),
                false => Some(child.incarnations()),
            }
        };
        let after = self.stands(&stack.incarnations(), &incarnations);
        let surprised = self.cloud.surprised.clone();
        let wrongs = unannounced(&announced.plan, (&announced.before, &after), ended, &surprised);
        COMPARED[usize::from(ended == Ended::BrokenOff)].fetch_add(1, Ordering::Relaxed);
        self.wrongs
            .extend(wrongs.into_iter().map(|wrong| format!("the plan of {ended:?}: {wrong}")));
    }

    /// Somebody changes what a plan was made of.
    pub(super) fn forget_plan(&mut self) {
        self.announced = None;
    }
}

fn traversal_of(stack: &Stack) -> Option<TraversalId> {
    stack.traversal.as_ref().map(|traversal| traversal.id)
}

/// The incarnations whose replacement a cloud has asked for in the midst of an update.
pub(super) type Surprised = BTreeSet<ResourceId>;
