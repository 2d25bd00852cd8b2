//! Lives of stacks that an older version recorded, cut after every line that it wrote to the log or
//! that its cloud wrote: today's code takes over there and comes to the same end. So a call that
//! was intended and never made is among the cuts, and one that was made and whose answer was lost.
//!
//! `tests/data/histories/cuts/README.md` says how the lives were recorded and what is in them. Of
//! each life so many cuts are played, evenly; `RECORDED_CUTS=all` plays every one, and
//! `RECORDED_CUTS=LIFE:LINE` that one.

mod tape;

use std::sync::Arc;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use futures::StreamExt;
use hearth::clock::{Clock, SystemClock};
use hearth::events::log::{EventLog, OwnedLog, SqliteLog};
use hearth::model::{StackId, Status};
use hearth::projections::{ConfigQuery, ResourceRow};
use hearth::sandbox::SandboxConfig;

use crate::histories::hearth;
use crate::support::wait::polled;
use crate::support::world::{Former, Ground, World};
use tape::{Help, Holdings, Line, Tape, holdings, master};

/// How long a stack may take to its end.
const WAIT_MAX: Duration = Duration::from_secs(20);
/// How many cuts are played beside each other: most of their time they wait.
const AT_ONCE: usize = 4;

/// The machine's clock, set back to when a life was cut.
struct Back(TimeDelta);

impl Back {
    fn to(then: DateTime<Utc>) -> Self {
        Self(SystemClock.now() - then)
    }
}

impl Clock for Back {
    fn now(&self) -> DateTime<Utc> {
        SystemClock.now() - self.0
    }

    fn fill(&self, buffer: &mut [u8]) {
        SystemClock.fill(buffer);
    }
}

/// What a stack has in Keystone while it lives: users and keys for whoever signals it. The version
/// that recorded the lives made fewer of them.
const OF_STACKS: [&str; 4] = ["projects", "users", "grants", "credentials"];

/// How the stacks and the cloud are to be at an end.
struct End {
    stacks: Vec<String>,
    cloud: Holdings,
    /// Whether nothing is left that may have users.
    is_last: bool,
}

impl End {
    fn at(tape: &Tape, line: usize) -> Self {
        let Line::End(stacks) = &tape.lines[line] else { panic!("line {line} is no end") };
        let is_last = line == tape.lines.len() - 1;
        Self { stacks: stacks.clone(), cloud: holdings(&tape.journal(line)), is_last }
    }

    /// What of a cloud is as it is to be.
    fn compared(&self, cloud: &Holdings) -> Holdings {
        let mut cloud = cloud.clone();
        cloud.retain(|table, _| self.is_last || !OF_STACKS.contains(&table.as_str()));
        cloud
    }
}

/// An engine that takes over at a cut.
struct Heir<'a> {
    tape: &'a Tape,
    place: String,
    ground: Ground,
    world: World,
    data: tempfile::TempDir,
}

impl<'a> Heir<'a> {
    async fn of(tape: &'a Tape, cut: usize) -> Self {
        let data = tempfile::tempdir().unwrap();
        let journal = tape.journal(cut);
        std::fs::write(data.path().join("sandbox.journal"), journal).unwrap();
        let (log, then) = tape.log(cut).await;
        let config =
            SandboxConfig { data: Some(data.path().to_owned()), ..SandboxConfig::instant() };
        let clock = Arc::new(Back::to(then));
        let former = Former { config, clock, log, master: master(), user: &tape.user };
        let ground = Ground::of_former(former).await;
        let world = ground.start().await;
        Self { tape, place: tape.place(cut), ground, world, data }
    }

    fn holdings(&self) -> Holdings {
        // What is due is carried out when somebody looks.
        drop(self.ground.sandbox.state());
        let journal = std::fs::read_to_string(self.data.path().join("sandbox.journal")).unwrap();
        // A line may be half written.
        holdings(&journal[..journal.rfind('\n').map_or(0, |end| end + 1)])
    }

    /// Every stack of the tree and its resources with their states, as the recorder saw them.
    async fn stacks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut todo = vec![("web".to_owned(), self.tape.stack, false)];
        while let Some((path, id, are_alike)) = todo.pop() {
            let Some(stack) = self.world.views.stack(id).await.unwrap() else { continue };
            lines.push(format!("{path} {}_{}", stack.action, stack.status));
            for row in self.world.views.resources(id).await.unwrap() {
                // The members of a scaled group have names by chance.
                let name = if are_alike { "*" } else { row.name.as_str() };
                lines
                    .push(format!("{path}/{name} {} {}_{}", row.type_name, row.action, row.status));
                if let Some(child) = row.physical_id.and_then(|id| id.parse::<StackId>().ok()) {
                    let are_alike = row.type_name == "OS::Heat::AutoScalingGroup";
                    todo.push((format!("{path}/{name}"), child, are_alike));
                }
            }
        }
        lines.sort();
        lines
    }

    /// Waits until stacks and cloud are as they are to be.
    async fn comes_to(&self, end: &End, help: &[Help]) {
        let are_there = async || {
            let stacks = self.stacks().await;
            let (cloud, wanted) = (end.compared(&self.holdings()), end.compared(&end.cloud));
            if stacks == end.stacks && cloud == wanted {
                return Ok(());
            }
            self.help(help).await;
            if stacks == end.stacks {
                return Err(format!("{cloud:#?}\nand not\n{wanted:#?}"));
            }
            Err(format!("{stacks:#?}\nand not\n{:#?}\n{}", end.stacks, self.why().await))
        };
        polled(WAIT_MAX, format!("{}: it is as it is to be", self.place), are_there).await;
    }

    /// What may have gone wrong.
    async fn why(&self) -> String {
        let rows = self.world.views.resources(self.tape.stack).await.unwrap();
        let failed = rows.iter().filter(|row| row.status == Status::Failed);
        let reasons: Vec<String> =
            failed.map(|row| format!("{}: {}", row.name, row.reason)).collect();
        format!("{}: {reasons:#?}", self.place)
    }

    /// What somebody outside does for resources that wait for it.
    async fn help(&self, help: &[Help]) {
        for each in help {
            let rows = self.world.views.resources(self.tape.stack).await.unwrap();
            let find = |name: &str| rows.iter().find(|row| row.name.as_str() == name);
            let waits = |row: &ResourceRow| row.status == Status::InProgress;
            if !find(&each.waits).is_some_and(waits) {
                continue;
            }
            let (who, stack) = (self.world.requester(), self.tape.stack);
            if let Some(name) = &each.signal {
                let name = name.as_str().into();
                // One that comes too early or too late is refused.
                drop(self.world.engine.signal_resource(&who, stack, &name, &each.details).await);
            }
            if let Some(object) = each.put.as_ref().and_then(|name| find(name)?.physical_id.clone())
            {
                let base = self.world.auth_url.trim_end_matches("/v3");
                let project = &who.caller.project_id;
                let url = format!("{base}/object-store/v1/AUTH_{project}/{stack}/{object}");
                let put = reqwest::Client::new().put(url).body(each.details.to_string());
                let put = put.header("x-auth-token", who.token.reveal()).send().await.unwrap();
                assert!(put.status().is_success(), "{}: {put:?}", self.place);
            }
        }
    }
}

/// Takes over at a cut, lets the phase come to its end, and deletes what there is.
async fn take_over(tape: &Tape, cut: usize) {
    let phase = tape.phase(cut);
    let has_begun = tape.has_begun(phase, cut);
    let heir = Heir::of(tape, cut).await;
    let end = if has_begun { Some(tape.end(phase)) } else { tape.end_before(phase) };
    let Some(end) = end else {
        assert!(heir.stacks().await.is_empty(), "{}: a stack that nobody made", heir.place);
        assert_eq!(heir.holdings(), holdings(&tape.journal(phase)), "{}", heir.place);
        return;
    };
    let Line::Phase(_, help) = &tape.lines[phase] else { panic!("line {phase} is no phase") };
    heir.ground.signals_over().await;
    heir.ground.views_catch_up(&heir.world).await;
    heir.comes_to(&End::at(tape, end), help).await;
    let last = tape.lines.len() - 1;
    if end != last {
        let deleted = heir.world.delete(tape.stack).await;
        let deleted = deleted.unwrap_or_else(|refusal| panic!("{}: {refusal:?}", heir.place));
        heir.world.views.after(deleted.position).await.unwrap();
        heir.comes_to(&End::at(tape, last), &[]).await;
    }
    let configs = heir.world.views.configs(ConfigQuery::default()).await.unwrap();
    let deployments = heir.world.views.deployments(None, None).await.unwrap();
    assert!(configs.is_empty(), "{}: {configs:?} are left behind", heir.place);
    assert!(deployments.is_empty(), "{}: {deployments:?} are left behind", heir.place);
    heir.world.engine.shutdown();
}

/// Which cuts of a life are played.
#[expect(clippy::disallowed_methods, reason = "what is played is said on the command line")]
fn chosen(tape: &Tape, sample: usize) -> Vec<usize> {
    let cuts = tape.cuts();
    match std::env::var("RECORDED_CUTS").as_deref() {
        Ok("all") => cuts,
        Ok(one) => {
            let line = one.strip_prefix(&format!("{}:", tape.name));
            line.map(|line| line.parse::<usize>().unwrap() - 1).into_iter().collect()
        }
        Err(_) => (0..sample).map(|each| cuts[each * (cuts.len() - 1) / (sample - 1)]).collect(),
    }
}

async fn play(name: &str, sample: usize) {
    let tape = Tape::read(name);
    let chosen = chosen(&tape, sample);
    let started = Instant::now();
    let (played, all) = (chosen.len(), tape.cuts().len());
    let played_out = futures::stream::iter(chosen).map(|cut| take_over(&tape, cut));
    played_out.buffer_unordered(AT_ONCE).collect::<()>().await;
    println!("{name}: {played} of {all} cuts in {:?}", started.elapsed());
}

/// A test for each life, and how many of its cuts are played.
macro_rules! lives {
    ($($test:ident: $name:literal, $sample:literal;)+) => { $(
        #[actix::test]
        async fn $test() {
            play($name, $sample).await;
        }
    )+ };
}

lives! {
    networks_are_carried_to_their_end: "networks", 12;
    a_server_is_carried_to_its_end: "server", 12;
    a_server_that_is_replaced_is_carried_to_its_end: "replaced", 12;
    volumes_are_carried_to_their_end: "volumes", 12;
    backups_are_carried_to_their_end: "backups", 8;
    flavors_images_and_containers_are_carried_to_their_end: "things", 10;
    what_waits_for_signals_is_carried_to_its_end: "waiting", 12;
    groups_are_carried_to_their_end: "groups", 12;
    nested_stacks_are_carried_to_their_end: "nested", 12;
    what_met_faults_is_carried_to_its_end: "faulty", 8;
    floating_addresses_are_carried_to_their_end: "floating", 8;
}

#[actix::test]
async fn every_life_is_folded_by_todays_code() {
    let entries = std::fs::read_dir(tape::folder()).unwrap().map(|entry| entry.unwrap().path());
    let lives = entries.filter(|path| {
        let is_tape = path.extension().is_some_and(|extension| extension == "jsonl");
        is_tape && !path.ends_with("cloud.jsonl")
    });
    let mut folded = 0;
    for life in lives {
        let tape = Tape::read(life.file_stem().unwrap().to_str().unwrap());
        let data = tempfile::tempdir().unwrap();
        let log = SqliteLog::open(&data.path().join("log.db")).unwrap();
        tape.write(tape.lines.len(), &log).await;
        log.durable(log.durable_position()).await.unwrap();
        log.close();
        hearth(data.path(), &["rebuild"]);
        let told = hearth(data.path(), &["replay", "--verify"]);
        assert!(told.contains("the views that are kept are what is made anew"), "{}", tape.name);
        folded += 1;
    }
    assert!(folded > 10, "{folded}");
}
