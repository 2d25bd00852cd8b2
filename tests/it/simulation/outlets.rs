//! Lives of webhooks and notifications on the engine itself: stacks come, change and go; receivers
//! refuse, are deaf or silent, or take an event and nobody hears of it; the log does not keep a
//! place, or keeps it and says that it does not, or is slow; and the process ends or is killed at
//! any moment. Whoever is told hears of each event that fits at least once, and for the first time
//! in its order. `SIMULATION_SEED` plays one seed again, `SIMULATION_LIVES` says how many there are.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use hearth::actors::UpdateStack;
use hearth::events::log::Filter;
use hearth::events::{Position, RecordedEvent, StackEvent};
use hearth::model::{Selection, StackId, Status};
use hearth::outlets::Carrier;
use serde_json::{Value, json};

use super::number;
use crate::support::bell::{Answer, Bell, Ring};
use crate::support::chance::Chance;
use crate::support::cut_log::CutLog;
use crate::support::heard::Received;
use crate::support::wait::{Tells, until};
use crate::support::world::{Ground, World, hot, test_resource};

/// How many lives there are, how many at the same time, and how many processes one has that end.
const LIVES: u64 = 40;
const AT_ONCE: usize = 8;
const PROCESSES: u64 = 4;
/// How much happens in a process at most, and how many posts may be answered badly.
const STEPS: u64 = 6;
const ANSWERS: usize = 24;
const NAMES: [&str; 3] = ["a", "b", "c"];
/// How long what was sent waits before it goes on record, and a little.
const UNTIL_ON_RECORD: Duration = Duration::from_millis(1_100);

#[actix::test]
async fn whoever_is_told_hears_of_everything_in_its_order() {
    let seeds = match number("SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("SIMULATION_LIVES").unwrap_or(LIVES),
    };
    let lives = futures::stream::iter(seeds).map(live).buffer_unordered(AT_ONCE);
    let told: Vec<[usize; 2]> = lives.collect().await;
    let sum = |of: usize| told.iter().map(|told| told[of]).sum::<usize>();
    println!("{} lives: {} events are told, {} of them again", told.len(), sum(0), sum(1));
    assert!(sum(0) > 0 && (told.len() == 1 || sum(1) > 0));
}

/// How much somebody heard, and how much of it again.
async fn live(seed: u64) -> [usize; 2] {
    let mut chance = Chance::new(seed);
    let ground = Ground::new().await;
    let heard = Received::default();
    let all = Bell::new(&answers(&mut chance)).await;
    let ends = Bell::new(&answers(&mut chance)).await;
    let after = begin(&ground, &heard, &all.url, &ends.url).await;
    for _ in 0..=chance.below(PROCESSES) {
        process(&ground, &heard, &mut chance).await;
    }
    let (world, outlets) = ground.start_telling(ground.log.clone(), Some(&heard)).await;
    for row in world.views.stacks(Default::default()).await.unwrap() {
        world.at_rest(row.id).await;
    }
    let all_told = async || {
        let log = of_log(&ground, after).await;
        let is_settled = |event: &&Arc<RecordedEvent>| &*event.event_type == "TraversalSettled";
        let due = (
            log.iter().map(|event| event.position.0).collect::<Vec<u64>>(),
            log.iter().filter(is_settled).map(|event| event.position.0).collect::<Vec<u64>>(),
            notified(&log),
        );
        let first = (by_position(&all), by_position(&ends), by_notification(&heard));
        if first == due { Ok(due) } else { Err(format!("{first:?}\nand not\n{due:?}")) }
    };
    let hang_on: [&dyn Tells; 4] = [&ground.log, &all, &ends, &*heard];
    let due = until(&hang_on, format!("seed {seed}: all is told"), all_told).await;
    outlets.stop().await;
    let all = all.rings().len() + ends.rings().len() + heard.borrow().len();
    [all, all - due.0.len() - due.1.len() - due.2.len()]
}

/// Before anything goes wrong: somebody is to be told, and it is on record from where on.
async fn begin(ground: &Ground, heard: &Received, all: &str, ends: &str) -> Position {
    let (world, outlets) = ground.start_telling(ground.log.clone(), Some(heard)).await;
    let who = world.requester();
    let project = Some(who.caller.project_id.clone());
    let ended = Selection {
        types: vec!["TraversalSettled".to_owned()],
        project: project.clone(),
        ..Selection::default()
    };
    world.engine.make_webhook(&who, ends, ended).await.unwrap();
    let every = Selection { project, ..Selection::default() };
    let (.., after) = world.engine.make_webhook(&who, all, every).await.unwrap();
    let is_begun = async || {
        let places = ground.log.streams("outlet", "", 100).unwrap();
        places.iter().any(|place| place.as_str() == "outlet-notifications")
    };
    until(&[&ground.log], "notifications begin", is_begun).await;
    outlets.stop().await;
    world.engine.shutdown();
    after
}

/// A process, from its start to its end.
async fn process(ground: &Ground, heard: &Received, chance: &mut Chance) {
    let log = Arc::new(CutLog::troubled(ground.log.clone(), chance.fork()));
    let carrier = carrier(heard, &log, chance.fork());
    let (world, outlets) = ground.start_carrying(log.clone(), Some(carrier)).await;
    for _ in 0..chance.below(STEPS) {
        step(&world, chance).await;
    }
    if chance.one_in(2) {
        log.cut();
    }
    world.engine.shutdown();
    outlets.stop().await;
}

/// Something that users do, or nothing for a while.
async fn step(world: &World, chance: &mut Chance) {
    let name = NAMES[chance.below(NAMES.len() as u64) as usize];
    let value = chance.below(5).to_string();
    let template = hot(json!({ "r": test_resource(json!({ "value": value })) }));
    let stack = world.stack_named(name).await;
    let stack = stack.filter(|stack| !stack.is_deleted()).map(|stack| stack.id);
    match (chance.below(6), stack) {
        (0..4, None) => drop(world.create(name, template).await),
        (0 | 1, Some(id)) => {
            let ask = UpdateStack { template: Some(template), ..UpdateStack::default() };
            drop(world.engine.update_stack(&world.requester(), id, ask).await);
        }
        (2, Some(id)) => drop(world.engine.delete_stack(&world.requester(), id).await),
        (4, _) => tokio::time::sleep(UNTIL_ON_RECORD).await,
        _ => tokio::time::sleep(chance.millis(0..200)).await,
    }
}

/// Hears notifications; the process may be killed before or after it has one.
fn carrier(heard: &Received, log: &Arc<CutLog>, chance: Chance) -> Carrier {
    let (heard, log, chance) = (heard.clone(), log.clone(), Mutex::new(chance));
    Carrier::Function(Arc::new(move |told| {
        let fate = chance.lock().unwrap().below(30);
        if fate == 0 {
            log.cut();
        }
        if !log.is_cut() {
            heard.send_modify(|all| all.push(told.clone()));
        }
        if fate == 1 {
            log.cut();
        }
    }))
}

fn answers(chance: &mut Chance) -> Vec<Answer> {
    let mut answer = |_| match chance.below(20) {
        0 => Answer::Status(503),
        1 => Answer::Status(404),
        2 => Answer::Lost,
        3 => Answer::Deaf,
        4 => Answer::Late(Duration::from_millis(300)),
        _ => Answer::Status(204),
    };
    (0..ANSWERS).map(&mut answer).collect()
}

/// What the log has after a position that outlets look at.
async fn of_log(ground: &Ground, after: Position) -> Vec<Arc<RecordedEvent>> {
    let filter = Filter { kinds: vec!["stack", "resource", "project"] };
    ground.log.read_all(after, &filter, usize::MAX).await.unwrap()
}

/// A stack, and what is notified of it.
type Notified = (StackId, String);

/// What is to be notified, by what the log says alone.
fn notified(events: &[Arc<RecordedEvent>]) -> Vec<Notified> {
    let of = |event: &Arc<RecordedEvent>| {
        let id = event.stream.as_str().strip_prefix("stack-")?.parse().ok()?;
        let (action, place) = match event.decode().unwrap() {
            StackEvent::TraversalStarted(it) => (it.action, "start"),
            StackEvent::TraversalSettled(it) if it.status == Status::Failed => (it.action, "error"),
            StackEvent::TraversalSettled(it) => (it.action, "end"),
            _ => return None,
        };
        let action = action.as_str().to_lowercase();
        Some((StackId(id), format!("orchestration.stack.{action}.{place}")))
    };
    events.iter().filter_map(of).collect()
}

/// What was notified, without what came again: that has the same id.
fn by_notification(heard: &Received) -> Vec<Notified> {
    let mut known = BTreeSet::new();
    let heard = heard.borrow();
    let first = heard.iter().filter(|told| known.insert(told.id));
    let stack = |payload: &Value| payload["stack_identity"].as_str().unwrap().parse().unwrap();
    first.map(|told| (StackId(stack(&told.payload)), told.event_type.clone())).collect()
}

/// The events that a receiver has taken, without those that came again.
fn by_position(bell: &Bell) -> Vec<u64> {
    let mut known = BTreeSet::new();
    let rings = bell.rings();
    let taken = rings.iter().filter(|ring| ring.is_taken).map(Ring::position);
    taken.filter(|position| known.insert(*position)).collect()
}
