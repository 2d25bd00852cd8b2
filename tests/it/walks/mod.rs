//! Every walk of `tests/data/walks/` on the sandbox: straight through, with each answer lost, with
//! each call lost before it arrives, across kills, and with a stack that is deleted while its
//! creation is in doubt. `CASE=octavia_pool cargo test walks` plays one.

mod doubts;
mod kills;
mod page;
#[path = "../../live/walk.rs"]
mod walk;

use std::time::{Duration, Instant};

use futures::StreamExt;
use hearth::clock::{Clock, SystemClock};
use hearth::model::StackId;
use hearth::projections::ConfigQuery;
use hearth::sandbox::{Latencies, SandboxConfig};
use tokio::task::LocalSet;

use crate::drivers::{Ground, Replies, runner};
use crate::support::case;
use crate::support::world::{self, World};
use runner::Runner;
use walk::{Walk, play};

/// How long is waited between two looks beside an engine.
const PACE: Duration = Duration::from_millis(5);
/// How many walks are played at once.
const AT_ONCE: usize = 4;

/// Plays every walk, and says which fail.
async fn each<F: Future<Output = ()> + 'static>(how: impl Fn(Walk) -> F) {
    let began = Instant::now();
    let walks = walk::chosen();
    let count = walks.len();
    let local = LocalSet::new();
    let played = futures::stream::iter(walks).map(|walk| {
        let name = walk.type_name.clone();
        let task = local.spawn_local(how(walk));
        async move {
            let began = Instant::now();
            let end = task.await;
            println!("{name} {:?}", began.elapsed());
            (name, end)
        }
    });
    let ends: Vec<_> = local.run_until(played.buffer_unordered(AT_ONCE).collect()).await;
    let failed: Vec<String> =
        ends.into_iter().filter(|(_, end)| end.is_err()).map(|(name, _)| name).collect();
    println!("{count} walks in {:?}", began.elapsed());
    assert!(failed.is_empty(), "{} of {count} walks fail: {}", failed.len(), failed.join(", "));
}

async fn on_sandbox(walk: Walk, replies: Replies) {
    if walk.engine {
        return in_engine(walk, replies).await;
    }
    // Objects come to their states by and by.
    let latencies = Latencies { object: Duration::from_millis(3), ..Latencies::none() };
    let config = SandboxConfig { latencies, ..SandboxConfig::instant() };
    let ground = Ground::with(config, &walk.by).await;
    let before = walk.counted(ground.counts());
    play(&walk, ground.runner(replies), ground.runner(Replies::Arrive)).await;
    assert_eq!(walk.counted(ground.counts()), before, "{} leaves something", walk.type_name);
    ground.stop().await;
}

/// The same beside an engine, which keeps what no cloud does.
async fn in_engine(walk: Walk, replies: Replies) {
    let ground = world::Ground::of_user(&walk.by).await;
    let before = walk.counted(ground.counts());
    let world = ground.start().await;
    let mut run = Runner::new(ground.session_with_users(), replies);
    run.engine = Some((world.engine.clone(), StackId(SystemClock.fresh_id())));
    run.pace = PACE;
    play(&walk, run, Runner::new(ground.session(), Replies::Arrive)).await;
    assert_eq!(walk.counted(ground.counts()), before, "{} leaves something", walk.type_name);
    ground.views_catch_up(&world).await;
    let World { views, engine, .. } = &world;
    let kept = [
        views.configs(ConfigQuery::default()).await.unwrap().len(),
        views.deployments(None, None).await.unwrap().len(),
        views.all_alarms().await.unwrap().len(),
    ];
    assert_eq!(kept, [0; 3], "{} leaves configurations, deployments or alarms", walk.type_name);
    engine.shutdown();
}

#[actix::test]
async fn straight_through() {
    each(|walk| on_sandbox(walk, Replies::Arrive)).await;
}

#[actix::test]
async fn though_each_answer_is_lost() {
    each(|walk| on_sandbox(walk, Replies::AreLost)).await;
}

#[actix::test]
async fn though_each_call_is_lost_before_it_arrives() {
    each(|walk| on_sandbox(walk, Replies::NeverLeft)).await;
}
