//! A stack that is given up with all that it has, and taken over as another.

use hearth::actors::stack::StackCommand;
use hearth::model::{JsonMap, StackId, Status};
use serde_json::json;

use super::declared::OBJECT;
use super::template::Template;
use super::world::World;

impl World {
    /// Abandons a stack, and adopts it again where it was whole. `None`: the stack is what it was.
    pub(super) fn hand_on(&mut self, id: StackId, template: &mut Template) -> Option<StackId> {
        if self.chance.one_in(2) {
            self.run();
        }
        if !self.folds.stacks.contains_key(&id) {
            return None;
        }
        let is_whole = self.reached && self.stack(id).status == Status::Complete;
        let (document, objects) = (self.document(id), self.objects_within(id));
        let answer = self.ask_stack(id, StackCommand::Abandon);
        self.tell(|| format!("it is abandoned: {answer:?}"));
        let ends = answer.is_ok() && self.run();
        if !ends || !self.folds.stacks.get(&id).is_some_and(|stack| stack.is_deleted()) {
            return None;
        }
        self.check_end(id);
        if !is_whole {
            return None;
        }
        let gone = objects.iter().find(|id| !self.cloud.objects.contains_key(*id));
        if let Some(gone) = gone.filter(|_| self.is_healthy()) {
            self.wrongs.push(format!("{gone} is abandoned, and gone"));
        }
        let disable_rollback = self.chance.one_in(2);
        *template = self.revision_says(id);
        self.adopt(template, disable_rollback, document).ok()
    }

    /// What there is of the resources of a stack, by their names.
    fn document(&self, id: StackId) -> JsonMap {
        let mut document = JsonMap::new();
        for (name, resource) in self.stack(id).incarnations() {
            let Some(resource) = self.folds.resources.get(&resource) else { continue };
            let within = resource.child_stack().filter(|id| self.folds.stacks.contains_key(id));
            let told = json!({
                "resource_id": resource.physical_id,
                "resource_data": resource.data,
                "resources": within.map(|id| self.document(id)).unwrap_or_default(),
            });
            document.insert(name.to_string(), told);
        }
        document
    }

    /// The objects of a stack, and of those within it.
    fn objects_within(&self, id: StackId) -> Vec<String> {
        let rows = self.stack(id).rows.keys();
        let resources = rows.filter_map(|id| self.folds.resources.get(id));
        let ids = resources.flat_map(|resource| {
            let within = resource.child_stack().filter(|id| self.folds.stacks.contains_key(id));
            let definition = resource.definition.as_ref();
            let is_object = definition.is_some_and(|it| it.driver_type == OBJECT);
            let own = resource.physical_id.clone().filter(|_| is_object);
            own.into_iter().chain(within.map(|id| self.objects_within(id)).unwrap_or_default())
        });
        ids.collect()
    }
}
