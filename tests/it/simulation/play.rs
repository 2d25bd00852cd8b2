//! A life at random, and its end in peace: what was asked for is reached, and everything goes.

use hearth::actors::project::ProjectCommand;
use hearth::actors::resource::ResourceCommand;
use hearth::actors::stack::{Create, Revise, Snapshot, StackCommand};
use hearth::clock::Clock;
use hearth::model::{Action, JsonMap, Refusal, StackId, StackSettings, Status, Trustor, taint};
use serde_json::Value;

use super::template::Template;
use super::world::{Dangers, World};

impl World {
    /// Creates the stack `web`.
    pub(super) fn create(
        &mut self,
        template: &Template,
        disable_rollback: bool,
        timeout_mins: Option<u32>,
    ) -> Result<StackId, Refusal> {
        let id = StackId(self.clock.fresh_id());
        let revise = self.revise(id, template, disable_rollback)?;
        let settings = StackSettings { timeout_mins, ..revise.settings };
        self.bring_to_be(id, Revise { settings, ..revise }, None)
    }

    /// Creates the stack `web` of what there is, by the names of its resources.
    pub(super) fn adopt(
        &mut self,
        template: &Template,
        disable_rollback: bool,
        adopts: JsonMap,
    ) -> Result<StackId, Refusal> {
        let id = StackId(self.clock.fresh_id());
        let revise = self.revise(id, template, disable_rollback)?;
        let adopts = taint::taint(Value::Object(adopts));
        self.bring_to_be(id, revise, Some(adopts))
    }

    fn bring_to_be(
        &mut self,
        id: StackId,
        revise: Revise,
        adopts: Option<Value>,
    ) -> Result<StackId, Refusal> {
        let reserve = || ProjectCommand::Reserve { name: "web".into(), stack_id: id, limit: None };
        if self.ask_project(reserve()).is_err() {
            // Its holder is deleted, or never came to be.
            let holder = self.holder();
            self.ask_project(ProjectCommand::Release { name: "web".into(), stack_id: holder })?;
            self.ask_project(reserve())?;
        }
        let create = Create {
            adopts,
            id,
            name: "web".into(),
            project_id: "p".into(),
            owner_user_name: "alice".to_owned(),
            owner: None,
            revise,
        };
        self.ask_stack(id, StackCommand::Create(Box::new(create)))?;
        Ok(id)
    }

    fn holder(&self) -> StackId {
        let holder = self.node.project.as_ref().and_then(|project| project.holder(&"web".into()));
        holder.unwrap()
    }

    pub(super) fn revise(
        &mut self,
        id: StackId,
        template: &Template,
        disable_rollback: bool,
    ) -> Result<Revise, Refusal> {
        let (known, source) = self.prepare(id, template)?;
        Ok(Revise {
            from_rest: false,
            options: Default::default(),
            back_to: None,
            known,
            source,
            source_bytes: 0,
            parameters: JsonMap::new(),
            settings: StackSettings { disable_rollback, ..StackSettings::default() },
            trustor: Trustor::of("alice", Vec::new()),
            facade: serde_json::Value::Null,
            claim: None,
        })
    }

    pub(super) fn update(
        &mut self,
        id: StackId,
        template: &Template,
        disable_rollback: bool,
    ) -> Result<(), Refusal> {
        let revise = self.revise(id, template, disable_rollback)?;
        self.ask_stack(id, StackCommand::Update(Box::new(revise)))
    }

    fn drop_any_snapshot(&mut self, id: StackId) -> Result<(), Refusal> {
        let Some(snapshot) = self.stack(id).snapshots.keys().next().copied() else {
            return Ok(());
        };
        self.ask_stack(id, StackCommand::DeleteSnapshot { snapshot, trustor: None })
    }

    /// Goes back to the oldest snapshot that was taken to its end, and to its template.
    fn restore(&mut self, id: StackId, template: &mut Template) -> Result<(), Refusal> {
        let is_whole =
            |it: &&Snapshot| (it.action, it.status) == (Action::Create, Status::Complete);
        let stack = self.stack(id);
        let kept = stack.snapshots.values().find(is_whole).map(|snapshot| snapshot.revision);
        let sourced = kept.and_then(|of| stack.sourced(of)).filter(|it| !it.emptied);
        let source = sourced.and_then(|it| it.revision.source);
        let Some(source) = source else { return Ok(()) };
        let kept = self.source(&source).clone();
        let revise = self.revise(id, &kept, true)?;
        self.ask_stack(id, StackCommand::Restore(Box::new(revise)))?;
        *template = kept;
        Ok(())
    }

    /// An earlier revision's template becomes the newest again.
    fn roll_back_to_any(&mut self, id: StackId, template: &mut Template) -> Result<(), Refusal> {
        let revisions = self.stack(id).revisions.iter();
        let sources: Vec<_> =
            revisions.filter_map(|it| Some((it.revision, it.source.clone()?))).collect();
        let Some((to, source)) = self.chance.one_of(&sources) else { return Ok(()) };
        let kept = self.source(&source).clone();
        let revise = Revise { back_to: Some(to), ..self.revise(id, &kept, true)? };
        self.ask_stack(id, StackCommand::Update(Box::new(revise)))?;
        *template = kept;
        Ok(())
    }

    /// Somebody says that a resource is not healthy.
    pub(super) fn mark(&mut self, id: StackId, name: &str, healthy: bool) {
        let Some(resource) = self.incarnation(id, name) else { return };
        self.forget_plan();
        self.wake_stack(id);
        self.node.parents.insert(resource, id);
        self.wake_resource(resource, &name.into());
        let reason = "seen".to_owned();
        self.ask_resource(resource, ResourceCommand::Mark { healthy, reason });
    }
}

/// In how many lives the event list is read, of one stack and of a tree: the views cost more than
/// the life.
const TOLD_EVERY: u64 = 10;
const TREE_TOLD_EVERY: u64 = 3 * TREE_EVERY;

/// In how many lives there is a tree of stacks: it costs more than one stack does.
const TREE_EVERY: u64 = 8;

/// In which lives the types are real ones, and the cloud a sandbox.
const REAL_EVERY: u64 = 5;
const REAL: u64 = 3;

/// The life that a seed says, and everything that was wrong in it.
pub(super) fn live(seed: u64) -> World {
    let mut world = World::new(seed);
    let call = [0, 3, 6, 12, 12][world.chance.below(5) as usize];
    world.dangers = Dangers { crash: 70, call, commit: 12 };
    let is_tree = seed.is_multiple_of(TREE_EVERY);
    let is_real = !is_tree && seed % REAL_EVERY == REAL;
    let mut template = match is_tree {
        true => Template::any_tree(&mut world.chance),
        false if is_real => world.any_real_template(),
        false => Template::any(&mut world.chance),
    };
    let disable_rollback = world.chance.one_in(2);
    let hurry = world.chance.one_in(3).then_some(1);
    let Ok(mut id) = world.create(&template, disable_rollback, hurry) else { return world };
    let (commands, pause) = if is_tree { (9, 120) } else { (6, 40) };
    for _ in 0..world.chance.below(commands) {
        let steps = world.chance.below(pause);
        world.run_steps(steps);
        if !world.folds.stacks.contains_key(&id) {
            break;
        }
        if is_tree {
            template.grow(&mut world.chance, 4);
        }
        match world.chance.below(20) {
            0 if !is_real => id = world.hand_on(id, &mut template).unwrap_or(id),
            1..=3 if is_tree => world.meddle(),
            _ => command(&mut world, id, &mut template, seed),
        }
    }
    world.run();
    if world.folds.stacks.contains_key(&id) && world.is_healthy() {
        world.check_end(id);
        world.check_reader();
        peace(&mut world, id, &template);
        world.check_reader();
    }
    let told_every = if is_tree { TREE_TOLD_EVERY } else { TOLD_EVERY };
    if seed.is_multiple_of(told_every) && world.is_healthy() {
        world.check_told();
    }
    world
}

/// The signal to a policy, among what a user may ask for.
const SIGNAL: u64 = 15;

/// In which lives the last of the updates goes back to an earlier revision.
const RETURNS_EVERY: u64 = 7;
const RETURNS: u64 = 5;

/// In which lives an operator resets the stack where others stop it.
const RESETS_EVERY: u64 = 3;

/// Something that a user asks for.
fn command(world: &mut World, id: StackId, template: &mut Template, seed: u64) {
    let told = world.state(id);
    let kind = match template.scales() && world.chance.one_in(3) {
        true => SIGNAL,
        false => world.chance.below(15),
    };
    let answer = match kind {
        5 if seed % RETURNS_EVERY == RETURNS => {
            world.roll_back_to_any(id, template).map(|()| "roll back")
        }
        0..=5 => {
            *template = world.changed(template);
            let disable_rollback = world.chance.one_in(2);
            world.update(id, template, disable_rollback).map(|()| "update")
        }
        6 => world.ask_stack(id, StackCommand::CancelUpdate).map(|()| "cancel"),
        7 if seed.is_multiple_of(RESETS_EVERY) => {
            world.ask_stack(id, StackCommand::Reset).map(|()| "reset")
        }
        7 => world.ask_stack(id, StackCommand::CancelWithoutRollback).map(|()| "stop"),
        8 if world.chance.one_in(2) => {
            world.ask_stack(id, StackCommand::Delete { trustor: None }).map(|()| "delete")
        }
        SIGNAL => {
            // A group that is at work declines.
            if world.chance.one_in(2) {
                world.run();
            }
            for _ in 0..=world.chance.below(2) {
                world.signal_a_policy();
                let steps = world.chance.below(40);
                world.run_steps(steps);
            }
            Ok("signals")
        }
        9 => {
            let names: Vec<String> = template.resources.keys().cloned().collect();
            if let Some(name) = names.first().filter(|name| world.may_be_marked(template, name)) {
                let healthy = world.chance.one_in(4);
                world.mark(id, name, healthy);
            }
            Ok("mark")
        }
        // What a snapshot keeps in the cloud is not followed.
        10 if world.is_real() => Ok("nothing"),
        10 => {
            let take = world.snapshot_to_take();
            world.ask_stack(id, take).map(|()| "snapshot")
        }
        11 => world.drop_any_snapshot(id).map(|()| "drop snapshot"),
        12 => world.restore(id, template).map(|()| "restore"),
        _ => {
            let actions = [Action::Suspend, Action::Resume, Action::Check];
            let action = actions[world.chance.below(3) as usize];
            world
                .ask_stack(id, StackCommand::Act { action, trustor: None })
                .map(|()| action.as_str())
        }
    };
    world.tell(|| format!("asked in {told}: {answer:?}"));
}

/// A stack that is not deleted, though the whole tree is.
fn left_of(world: &World, root: StackId) -> Option<StackId> {
    world.living().find(|stack| stack.id != root).map(|stack| stack.id)
}

/// Nothing goes wrong any more: an update is carried out, and the deletion leaves nothing.
fn peace(world: &mut World, id: StackId, template: &Template) {
    world.dangers = Dangers::default();
    world.tell(|| "peace".to_owned());
    if world.stack(id).action == Action::Suspend {
        let _ = world.ask_stack(id, StackCommand::Act { action: Action::Resume, trustor: None });
        world.run();
        if world.stack(id).action == Action::Suspend {
            return world.wrongs.push("it cannot be resumed".to_owned());
        }
    }
    // A resource whose suspension failed cannot be resumed, as in Heat: its stack is, by itself.
    if world.stack(id).action != Action::Delete {
        for child in world.suspended() {
            world.ask_alone(child, StackCommand::Act { action: Action::Resume, trustor: None });
            world.run();
        }
    }
    if world.stack(id).action != Action::Delete && world.is_healthy() {
        let next = world.reachable(template);
        world.update(id, &next, true).unwrap();
        world.run();
        expect(world, id, "UPDATE_COMPLETE");
    }
    if !world.stack(id).is_deleted() && world.is_healthy() {
        world.ask_stack(id, StackCommand::Delete { trustor: None }).unwrap();
        world.run();
        expect(world, id, "DELETE_COMPLETE");
    }
    // What a deletion has left to itself can be deleted by its own id.
    while let Some(left) = left_of(world, id).filter(|_| world.is_healthy()) {
        world.ask_alone(left, StackCommand::Delete { trustor: None });
        world.run();
        expect(world, left, "DELETE_COMPLETE");
    }
}

fn expect(world: &mut World, id: StackId, end: &str) {
    if world.state(id) != end {
        let (state, reason) = (world.state(id), world.stack(id).reason.clone());
        world.wrongs.push(format!("{state} ({reason}) in peace, and not {end}"));
    }
    if world.stack(id).status == Status::Complete {
        world.check_end(id);
    }
}
