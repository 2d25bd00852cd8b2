//! What an update that was stopped halfway has left in a child stack, where nothing else is wrong.

use hearth::actors::stack::StackCommand;
use hearth::model::{Action, JsonMap, StackId, Status};
use serde_json::json;

use super::declared::{Declared, OBJECT};
use super::inside::Inside;
use super::template::Template;
use super::world::World;

/// A stack with a child, in which `b` uses `a`; another key makes another `a`.
fn tree(key: &str) -> Template {
    let a = Declared::of(OBJECT, json!({ "key": key }));
    let b = Declared::of(OBJECT, json!({ "uses": [{ "get_resource": "a" }] }));
    let resources = [("a", a), ("b", b)].map(|(name, it)| (name.to_owned(), it));
    let within = Inside::Template(Template { resources: resources.into_iter().collect() });
    let resources = [("n".to_owned(), Declared::nested(within, JsonMap::new()))];
    Template { resources: resources.into_iter().collect() }
}

impl World {
    fn child(&self, root: StackId) -> StackId {
        let id = self.physical_id(root, "n");
        id.and_then(|id| id.parse().ok()).unwrap()
    }
}

#[test]
fn a_child_is_unhealthy_while_a_former_incarnation_is_left_in_it_and_the_next_update_clears_it() {
    for seed in 0..20 {
        let mut world = World::new(seed);
        let root = world.create(&tree("1"), true, None).unwrap();
        world.run();
        let child = world.child(root);
        assert!(world.seen(child).unwrap().is_healthy);

        // The new `a` is made, and `b` does not come to use it: the old one is not cleaned up.
        world.let_through = Some(vec!["n".to_owned(), "a".to_owned()]);
        world.update(root, &tree("2"), true).unwrap();
        world.run();
        world.ask_stack(root, StackCommand::CancelWithoutRollback).unwrap();
        world.let_through = None;
        world.run();
        assert_eq!(world.state(child), "UPDATE_FAILED");
        world.ask_stack(root, StackCommand::Act { action: Action::Check, trustor: None }).unwrap();
        world.run();
        assert_eq!(world.state(child), "CHECK_COMPLETE");
        let stack = world.stack(child);
        let resources = || stack.rows.keys().map(|id| &world.folds.resources[id]);
        assert!(resources().all(|resource| resource.status == Status::Complete));
        assert_eq!((resources().count(), stack.incarnations().len()), (3, 2));
        assert!(!world.seen(child).unwrap().is_healthy, "seed {seed}");

        // Nothing else of the child differs.
        world.update(root, &tree("2"), true).unwrap();
        world.run();
        assert_eq!(world.state(root), "UPDATE_COMPLETE");
        world.check_end(root);
        assert!(world.is_healthy(), "seed {seed}: {:?}", world.wrongs);
        assert!(world.seen(child).unwrap().is_healthy);
        assert_eq!(world.cloud.held().count(), 2);
    }
}
