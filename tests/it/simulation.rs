//! The pure machines in every order that a seed can think of: templates, updates, cancels and
//! actions at random, processes that die, a cloud that fails.
//!
//! In a share of the seeds the stack is a tree: templates behind types, stacks beside, groups. Their
//! beats are decided as everywhere (`actors::nested`); only who asks whom is played here (`child`).
//! In another share the types are real ones, in a sandbox (`real`).
//!
//! Another node reads along, late and by parts of groups, and a writer's first look may be behind
//! (`reader`).
//!
//! At every event the tables of transitions hold and the fold of the log is what lives; every
//! command that was taken ends; a stack at rest is what its revision says, one object each and one
//! child stack for each resource that has one; a deleted one leaves nothing. `SIMULATION_SEED` plays
//! one seed again and tells its story, `SIMULATION_SEEDS` says how many are played,
//! `SIMULATION_FROM` which is the first and `SIMULATION_STEP` how far apart they are: every eighth
//! has a tree. Where the environment names another log than memory's (`support::kept`), what is durable
//! is kept there as well (`kept`).

mod alarms;
mod chain;
mod child;
mod cloud;
mod declared;
mod deployments;
mod ends;
mod folds;
mod group;
mod handing_on;
mod inside;
mod instances;
mod kept;
mod leftovers;
mod live;
mod log;
mod meddle;
mod outlets;
mod plans;
mod play;
mod policy;
mod present;
mod reader;
mod real;
mod rules;
mod run;
mod scaling;
mod scenarios;
mod schedule;
mod sizes;
mod template;
mod told;
mod values;
mod waiting;
mod world;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use world::World;

/// How many seeds are played, unless the environment says more.
const SEEDS: u64 = 5_000;

/// Later seeds that once failed.
const FOUND: [u64; 11] =
    [6_632, 6_904, 7_079, 7_232, 7_318, 7_618, 11_808, 12_056, 12_912, 13_088, 14_007];

/// How many seeds that fail are named.
const SHOWN_MAX: usize = 20;

#[test]
fn whatever_happens_every_command_ends_and_reality_is_what_the_revision_says() {
    if let Some(seed) = number("SIMULATION_SEED") {
        let world = play::live(seed);
        println!("{}", world.story.join("\n"));
        let wrongs: Vec<&String> = wrongs(&world).collect();
        assert!(wrongs.is_empty(), "{wrongs:#?}");
        return;
    }
    let seeds = seeds();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(seed) = seeds.get(next.fetch_add(1, Ordering::SeqCst)).copied() {
                    let wrongs = std::panic::catch_unwind(|| {
                        wrongs(&play::live(seed)).cloned().collect::<Vec<String>>()
                    });
                    let wrongs = wrongs.unwrap_or_else(|_| vec!["it panics".to_owned()]);
                    if !wrongs.is_empty() {
                        failed.lock().unwrap().insert(seed, wrongs);
                    }
                }
            });
        }
    });
    kept::Kept::over();
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} seeds fail, among them {:#?}", failed.len(), shortest(failed));
    let [complete, broken_off] = plans::compared();
    println!(
        "{complete} plans were compared with traversals to their end, {broken_off} with others"
    );
    let [cut, refused] = reader::met();
    println!("{cut} looks of another node ended within a group, {refused} writers were behind");
    assert!(seeds.len() < 100 || cut.min(refused) > seeds.len() / 10, "{cut} and {refused}");
    let few = seeds.len() >= 100 && (complete < seeds.len() / 5 || broken_off < seeds.len() / 100);
    assert!(!few, "of {} lives, {complete} and {broken_off} plans were compared", seeds.len());
}

/// The seeds that are played.
fn seeds() -> Vec<u64> {
    let count = number("SIMULATION_SEEDS").unwrap_or(SEEDS);
    let from = number("SIMULATION_FROM").unwrap_or(0);
    let step = number("SIMULATION_STEP").unwrap_or(1);
    (0..count).map(|number| from + number * step).chain(FOUND).collect()
}

/// What went wrong, by seed: not all of it.
fn shortest(failed: BTreeMap<u64, Vec<String>>) -> Vec<(u64, Vec<String>)> {
    failed.into_iter().take(SHOWN_MAX).collect()
}

fn wrongs(world: &World) -> impl Iterator<Item = &String> {
    world.wrongs.iter().chain(&world.cloud.wrongs)
}

#[expect(clippy::disallowed_methods, reason = "a test is told how long to play")]
fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}
