//! What a tree of stacks that came to rest must be: what the newest revision of its root says, one
//! object each, one child stack for each resource whose work is one.

use std::collections::{BTreeMap, BTreeSet};

use hearth::actors::resource::Resource;
use hearth::actors::stack::Stack;
use hearth::model::{Action, JsonMap, ResourceId, ResourceName, StackId, Status};

use super::declared::Deletion;
use super::folds::{is_gone, token};
use super::present::{Present, Tally};
use super::run::ROOT;
use super::template::Template;
use super::world::World;
use super::{group, instances};

impl World {
    /// A stack as its log says it.
    pub(super) fn stack(&self, id: StackId) -> &Stack {
        &self.folds.stacks[&id]
    }

    /// `ACTION_STATUS` of a stack.
    pub(super) fn state(&self, id: StackId) -> String {
        let stack = self.stack(id);
        format!("{}_{}", stack.action, stack.status)
    }

    /// The template that a stack's newest revision says.
    pub(super) fn revision_says(&self, id: StackId) -> Template {
        let newest = self.stack(id).revision().and_then(|revision| revision.source.clone());
        newest.map(|source| self.source(&source).clone()).unwrap_or_default()
    }

    /// The physical id that counts for a name.
    pub(super) fn physical_id(&self, id: StackId, name: &str) -> Option<String> {
        self.folds.resources.get(&self.incarnation(id, name)?)?.physical_id.clone()
    }

    /// The incarnation that counts for a name.
    pub(super) fn incarnation(&self, id: StackId, name: &str) -> Option<ResourceId> {
        self.stack(id).incarnations().get(&ResourceName::from(name)).copied()
    }

    pub(super) fn resource(&self, id: StackId, name: &str) -> Option<&Resource> {
        self.folds.resources.get(&self.incarnation(id, name)?)
    }

    /// Everything that is wrong with a stack at rest.
    pub(super) fn check_end(&mut self, id: StackId) {
        let wrongs = self.wrong_at_rest(id);
        self.wrongs.extend(wrongs);
    }

    fn wrong_at_rest(&self, id: StackId) -> Vec<String> {
        let stack = self.stack(id);
        if stack.in_progress() || !stack.deferred.is_empty() {
            return vec![format!("it rests in {}", self.state(id))];
        }
        let mut wrongs = Vec::new();
        if let Some(resource) =
            self.folds.resources.values().find(|it| it.stack.is_some() && it.in_progress())
        {
            wrongs.push(format!("it rests while {} is in {}", resource.name, resource.action));
        }
        if let Some(stack) = self.living().find(|stack| stack.in_progress()) {
            wrongs.push(format!("it rests while {} is in {}", stack.name, stack.action));
        }
        wrongs.extend(self.wrong_owners());
        wrongs.extend(self.stacks_alone());
        wrongs.extend(self.children_apart());
        wrongs.extend(self.copies_missing());
        wrongs.extend(self.wrong_sizes());
        if stack.status == Status::Complete && self.reached {
            let template = match stack.action {
                Action::Delete => Template::default(),
                _ => self.revision_says(id),
            };
            let present =
                Present { world: self, stack, template: &template, parameters: JsonMap::new() };
            let mut tally = Tally::default();
            present.compare(&mut tally, &mut wrongs);
            wrongs.extend(self.surplus(id, &tally));
            wrongs.extend(self.wrong_in_cloud(stack, Some(&template)));
        } else {
            wrongs.extend(self.wrong_in_cloud(stack, None));
        }
        wrongs
    }

    /// The stacks that are not deleted.
    pub(super) fn living(&self) -> impl Iterator<Item = &Stack> {
        self.folds.stacks.values().filter(|stack| stack.exists() && !stack.is_deleted())
    }

    /// Those of the tree, without what a deletion has left.
    fn in_tree(&self) -> impl Iterator<Item = &Stack> {
        self.living().filter(|stack| !self.cloud.left.stacks.contains(&stack.id))
    }

    /// The incarnations of the stacks of the tree, by their own word.
    fn incarnations_in_tree(&self) -> impl Iterator<Item = &Resource> {
        let rows = self.in_tree().flat_map(|stack| stack.rows.keys());
        rows.filter_map(|id| self.folds.resources.get(id))
    }

    /// The stacks that are suspended, or were to be.
    pub(super) fn suspended(&self) -> Vec<StackId> {
        let suspended = self.living().filter(|stack| stack.action == Action::Suspend);
        suspended.map(|stack| stack.id).collect()
    }

    /// Objects that not one incarnation answers for, but none or several.
    fn wrong_owners(&self) -> Vec<String> {
        let mut owners: BTreeMap<&str, Vec<&Resource>> = BTreeMap::new();
        let mut tokens: BTreeMap<String, &Resource> = BTreeMap::new();
        for resource in self.incarnations_in_tree() {
            tokens.insert(token(resource), resource);
            if let Some(id) = resource.physical_id.as_deref().filter(|_| !is_gone(resource)) {
                owners.entry(id).or_default().push(resource);
            }
        }
        let mut wrongs = Vec::new();
        for (id, object) in self.cloud.held() {
            let owners = owners.get(id.as_str()).map_or(0, Vec::len);
            // The answer to the call that made it may be lost for ever.
            if owners == 0 && !tokens.contains_key(&object.token) {
                wrongs.push(format!("{id} ({}) belongs to nobody", object.token));
            }
            if owners > 1 {
                wrongs.push(format!("{id} ({}) belongs to {owners} resources", object.token));
            }
        }
        wrongs
    }

    /// Stacks that no incarnation answers for.
    fn stacks_alone(&self) -> Vec<String> {
        let known: BTreeSet<String> = self.incarnations_in_tree().map(token).collect();
        let nested = self.in_tree().filter(|stack| stack.name.as_str() != ROOT);
        // A child has the name that its resource has in the cloud.
        let alone = nested.filter(|stack| !known.contains(stack.name.as_str()));
        alone.map(|stack| format!("the stack {} belongs to nobody", stack.name)).collect()
    }

    /// What was deleted after a copy of it should have been kept, and was not.
    fn copies_missing(&self) -> Vec<String> {
        let is_kept = |resource: &&Resource| {
            let definition = resource.definition.as_ref();
            definition.is_some_and(|it| it.deletion_policy == Deletion::Snapshot.word())
                && is_gone(resource)
                && resource.deleted_from.1 == Status::Complete
                && !resource.options.retains
        };
        let copied = |resource: &Resource| {
            let id = resource.physical_id.as_ref()?;
            (!self.cloud.copies.contains(id)).then(|| format!("there is no copy of {id}"))
        };
        self.folds.resources.values().filter(is_kept).filter_map(copied).collect()
    }

    /// Children that are not where their resource says that they went.
    fn children_apart(&self) -> Vec<String> {
        let went = |resource: &&Resource| {
            let acts = matches!(resource.action, Action::Suspend | Action::Resume | Action::Check);
            // Who marks a resource does not go down, and what scales changes by itself.
            let is_told = resource.reason == "state changed";
            let scaling = [group::SCALING, instances::SCALING];
            let scales = (resource.definition.as_ref())
                .is_some_and(|it| scaling.contains(&it.driver_type.as_str()));
            acts && is_told && !scales && resource.status == Status::Complete
        };
        let child = |resource: &Resource| {
            let child = self.folds.stacks.get(&resource.child_stack()?)?;
            let alone = self.asked_alone.contains(&child.id);
            let apart =
                !alone && (child.action, child.status) != (resource.action, Status::Complete);
            let (action, is) = (resource.action, self.state(child.id));
            apart.then(|| format!("{} is {action}_COMPLETE, its stack {is}", resource.name))
        };
        self.folds.resources.values().filter(went).filter_map(child).collect()
    }

    /// What there is beside what a tree must have.
    fn surplus(&self, root: StackId, tally: &Tally) -> Vec<String> {
        let mut wrongs = Vec::new();
        let held = || self.cloud.held().filter(|(_, object)| !tally.unmade.contains(&object.token));
        if held().count() != tally.objects {
            let tokens: Vec<_> = held().map(|(_, object)| &object.token).collect();
            wrongs.push(format!("the cloud holds {tokens:?} for {} objects", tally.objects));
        }
        let more = self.in_tree().filter(|it| it.id != root && !tally.stacks.contains(&it.id));
        wrongs.extend(more.map(|stack| format!("the stack {} is one too many", stack.name)));
        wrongs
    }

    /// All that there is in the stack that a resource has, where it has one.
    pub(super) fn note_within(&self, resource: &Resource, tally: &mut Tally) {
        tally.unmade.insert(token(resource));
        let Some(child) = resource.child_stack().and_then(|id| self.folds.stacks.get(&id)) else {
            return;
        };
        tally.stacks.insert(child.id);
        for within in child.rows.keys().filter_map(|id| self.folds.resources.get(id)) {
            self.note_within(within, tally);
        }
    }

    /// How many live objects a name has.
    pub(super) fn count(&self, name: &str) -> usize {
        let resources = self.folds.resources.values();
        let own = resources.filter(|resource| resource.name.as_str() == name);
        let ids = own.filter_map(|resource| resource.physical_id.as_ref());
        ids.filter(|id| self.cloud.held().any(|(held, _)| held == *id)).count()
    }
}
