//! The real server is killed with SIGKILL at random moments over creates, updates in place and by
//! replacement, rollbacks and deletes, and started again. Nobody asks again for anything: every
//! command that was acknowledged is carried to its end all the same, and the cloud holds exactly
//! what the stacks say.
//!
//! `CRASH_SEED` repeats a run's choices; `CRASH_KILLS` makes it longer; where `CRASH_CLUSTER` names
//! the cluster beneath its log, as many mishaps befall the nodes of that in between.

mod backup;
mod client;
mod cloud;
mod cluster;
mod load;
mod operator;
mod process;
mod story;
mod told;
mod version;
mod watch;

use std::time::{Duration, Instant};

use crate::support::chance::{self, Chance};
use crate::support::wait::polled;
use client::Api;
use cloud::CloudSeen;
use cluster::{Cluster, Mishap};
use hearth::sandbox::{Fault, FaultRule, Latencies, Quotas, Sandbox, SandboxConfig};
use load::Load;
use process::Server;
use story::Story;

/// How often the server is killed, unless the environment says more.
const KILLS: u32 = 100;
/// How many stacks live side by side.
const STACKS: usize = 5;
/// How long all stacks may take to come to rest after the last restart.
const REST: Duration = Duration::from_secs(40);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_the_server_finishes_what_it_acknowledged() {
    let number = |name: &str| std::env::var_os(name)?.to_str()?.parse::<u64>().ok();
    let seed = number("CRASH_SEED").unwrap_or_else(chance::any_seed);
    let wanted = number("CRASH_KILLS").unwrap_or(KILLS.into()) as u32;
    println!("seed {seed}");
    let mut chance = Chance::new(seed);

    let sandbox = Sandbox::start(SandboxConfig {
        latencies: Latencies {
            request: Duration::from_millis(4),
            ..Latencies::all(Duration::from_millis(40))
        },
        quotas: Quotas::unlimited(),
        faults: vec![lost_replies()],
        ..SandboxConfig::instant()
    })
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::new(folder.path(), &sandbox.auth_url);
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    server.ready().await;
    let before = CloudSeen::of(&sandbox);
    let cluster = Cluster::named();
    let mut stories: Vec<Story> =
        (0..STACKS).map(|number| Story::new(format!("s{number}"), cluster.is_some())).collect();

    let started = Instant::now();
    let (mut rounds, mut mishaps) = (0, 0);
    while server.kills < wanted || (cluster.is_some() && mishaps < wanted) {
        rounds += 1;
        let asking: Vec<_> = stories
            .drain(..)
            .map(|story| tokio::spawn(story.ask(api.clone(), chance.fork())))
            .collect();
        let nodes = cluster.as_ref().filter(|_| mishaps < server.kills || server.kills == wanted);
        if let Some(nodes) = nodes {
            let (mishap, load) = (Mishap::any(&mut chance), Load::begin(&api));
            tokio::time::sleep(chance.millis(0..900)).await;
            println!("{mishap:?}");
            let stood_still = nodes.befall(&mishap).await;
            mishaps += 1;
            let asked = load.end().await;
            // How long nobody waits in vain is measured where nothing else runs: `tests/galera`.
            println!("{:.1?} at most, the cluster {stood_still:.1?}", asked.longest);
            at_rest(&api, &mut server).await;
            asked.check(&api).await;
        } else {
            server.kill_after(chance.millis(0..900)).await;
            while server.kills < wanted && chance.one_in(2) {
                // Also in the middle of waking up.
                server.start();
                server.kill_after(chance.millis(0..600)).await;
            }
            server.start();
        }
        for story in asking {
            stories.push(story.await.unwrap());
        }
        server.ready().await;
        at_rest(&api, &mut server).await;
        let mut ids = before.clone();
        for story in &mut stories {
            story.check(&api, &sandbox, &mut ids).await;
        }
        ids.assert_all_of(&CloudSeen::of(&sandbox), &stories);
    }
    let kills = server.kills;
    let took = started.elapsed().as_secs_f64();
    println!("{kills} kills and {mishaps} mishaps in {rounds} rounds, {took:.0} s");

    for story in &mut stories {
        story.end(&api).await;
    }
    at_rest(&api, &mut server).await;
    before.assert_all_of(&CloudSeen::of(&sandbox), &stories);
    server.stop();
    server.verify_log();
    assert!(kills >= wanted);
}

/// A cloud that carries out what it is asked, and whose answer is now and then lost.
fn lost_replies() -> FaultRule {
    FaultRule {
        path: Some("^/(network|compute|volume)/".to_owned()),
        probability: Some(0.02),
        fault: Fault::DropReply,
        ..FaultRule::default()
    }
}

/// Waits until no stack is in the middle of anything.
async fn at_rest(api: &Api, server: &mut Server) {
    polled(REST, "no stack is at work", async || {
        let stacks = api.stacks().await;
        let busy: Vec<&String> = stacks
            .iter()
            .filter(|(_, status)| status.ends_with("IN_PROGRESS"))
            .map(|(name, _)| name)
            .collect();
        server.still_runs();
        if busy.is_empty() { Ok(()) } else { Err(format!("{busy:?}")) }
    })
    .await;
}
