//! Walks as stacks whose engine is killed again and again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use hearth::actors::Accepted;
use hearth::model::{Refusal, StackId};
use serde_json::{Value, json};

use super::each;
use super::runner::{Replies, Runner};
use super::walk::{Change, Stage, Walk};
use crate::support::cut_log::CutLog;
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot};

/// How many appends the first engine lives for; each further one lives one longer, so that the end
/// is reached.
const APPENDS: i64 = 6;
/// How long all of an action's lives may take.
const WAIT_MAX: Duration = Duration::from_secs(60);

#[actix::test]
async fn across_kills() {
    each(killed).await;
}

/// Something that is asked of the stack, and the state in which it is done.
enum Goal {
    Create(Value),
    Update(Value),
    Delete,
}

impl Goal {
    fn end(&self) -> &'static str {
        match self {
            Goal::Create(_) => "CREATE_COMPLETE",
            Goal::Update(_) => "UPDATE_COMPLETE",
            Goal::Delete => "DELETE_COMPLETE",
        }
    }

    /// Asks for it; of a creation whose answer was cut off there may be a stack already.
    async fn tell(&self, world: &World, stack: Option<StackId>) -> Result<StackId, Refusal> {
        let accepted: Accepted = match (self, stack) {
            (Goal::Create(template), None) => {
                let found = world.stack_named("walk").await;
                match found {
                    Some(stack) => return Ok(stack.id),
                    None => world.create("walk", template.clone()).await?,
                }
            }
            (Goal::Create(_), Some(stack)) => return Ok(stack),
            (Goal::Update(template), stack) => {
                world.update(stack.unwrap(), template.clone()).await?
            }
            (Goal::Delete, stack) => world.delete(stack.unwrap()).await?,
        };
        Ok(accepted.stack)
    }
}

async fn killed(walk: Walk) {
    let ground = Ground::of_user(&walk.by).await;
    let before = walk.counted(ground.counts());
    let mut stage = Stage::set(&walk, Runner::new(ground.session(), Replies::Arrive)).await;
    let template = |properties: &Value| {
        let own = json!({ "type": walk.type_name, "properties": properties });
        // Beside it stands one that a type may name.
        hot(json!({ "own": own, "a": { "type": "OS::Heat::None" } }))
    };
    let mut properties = stage.properties.clone();
    let mut goals = vec![Goal::Create(template(&properties))];
    let first = properties.clone();
    for Change(changes, _) in &walk.updates {
        let changes = stage.filled(changes.clone().into()).await;
        for (name, value) in changes.as_object().unwrap() {
            properties[name] = value.clone();
        }
        properties.as_object_mut().unwrap().retain(|_, value| !value.is_null());
    }
    if properties != first {
        goals.push(Goal::Update(template(&properties)));
    }
    goals.push(Goal::Delete);
    let beside = walk.counted(ground.counts());
    let (mut stack, mut appends) = (None, APPENDS);
    for goal in goals {
        let began = Instant::now();
        let mut is_told = false;
        loop {
            let place = format!("{} at {}", walk.type_name, goal.end());
            assert!(began.elapsed() < WAIT_MAX, "{place}: no end");
            let log = Arc::new(CutLog::new(ground.log.clone(), appends));
            let world = ground.start_on(log.clone()).await;
            if !is_told && let Ok(told) = goal.tell(&world, stack).await {
                (stack, is_told) = (Some(told), true);
            }
            let is_done = is_told && reached(&world, &log, stack.unwrap(), &goal, &place).await;
            log.cut();
            world.engine.shutdown();
            if is_done {
                break;
            }
            appends += 1;
        }
        appends = APPENDS;
    }
    // What is not the stack's own was made with the first references to it.
    let left = walk.counted(ground.counts());
    assert_eq!(left, beside, "{} leaves something, or took what is another's", walk.type_name);
    stage.clear().await;
    assert_eq!(walk.counted(ground.counts()), before, "{} leaves something", walk.type_name);
}

/// Waits for the end, or for the log to be cut (false).
async fn reached(world: &World, log: &CutLog, id: StackId, goal: &Goal, place: &str) -> bool {
    let is_reached = async || {
        let stack = world.views.stack(id).await.unwrap();
        let state = stack.map(|stack| (format!("{}_{}", stack.action, stack.status), stack.reason));
        if let Some((state, reason)) = state {
            if state == goal.end() {
                return Some(true);
            }
            assert!(!state.ends_with("_FAILED") || log.is_cut(), "{place}: {state} {reason}");
        }
        log.is_cut().then_some(false)
    };
    until(&[world, log], format!("{place}: {}", goal.end()), is_reached).await
}
