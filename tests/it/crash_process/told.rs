//! What others are told of while the server is killed: alarms that data and hands let go off and
//! whose actions let a group grow, webhooks and notifications. Nothing that was acknowledged is
//! lost, each action is carried out once, and all that is on record is told, first in order.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hearth::events::log::{EventLog, Filter, SqliteLog};
use hearth::events::{Position, RecordedEvent};
use hearth::sandbox::{Sandbox, SandboxConfig};
use reqwest::Method;
use serde_json::{Value, json};
use uuid::Uuid;

use super::client::{Api, Reply};
use super::operator::settled;
use super::process::Server;
use super::watch::Watch;
use crate::journeys::alarms::template;
use crate::support::bell::{Bell, Ring};
use crate::support::broker::Broker;
use crate::support::chance::{self, Chance};
use crate::support::heard::{Events, body, firsts, notified, position_of};
use crate::support::wait::polled;

/// How often the server is killed before an alarm goes off by itself.
const KILLS: u32 = 12;
/// The shortest period that an alarm may have, in seconds.
const PERIOD: &str = "10";
/// How long it is left alone at least before the last time, so that something is acknowledged.
const CALM: Duration = Duration::from_secs(4);
/// How long an evaluation, and the end of all that is under way, may take.
const WITHIN: Duration = Duration::from_secs(40);

/// What was acknowledged.
#[derive(Default)]
struct Acknowledged {
    stacks: Vec<String>,
    /// The values of data.
    data: Vec<String>,
    /// The numbers of states that were set by hand, each another one than that before.
    drills: Vec<u64>,
}

/// A group that two alarms let grow: one by data, one by hand alone.
fn growing() -> Value {
    let mut template = template(json!({ "Period": PERIOD }));
    let resources = template["resources"].as_object_mut().unwrap();
    let mut by_hand = resources["hot"].clone();
    by_hand["properties"]["Period"] = "86400".into();
    resources["g"]["properties"]["max_size"] = 1_000.into();
    resources.insert("drill".to_owned(), by_hand);
    template
}

/// Asks until it is told to stop, whether the server is there or not.
async fn ask(api: Api, watch: Watch, stop: Arc<AtomicBool>) -> Acknowledged {
    let mut taken = Acknowledged::default();
    for number in 0_u32.. {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let value = format!("{}", 90.0 + f64::from(number) / 1024.0);
        let datum = [
            ("Namespace", "system/linux"),
            ("MetricData.member.1.MetricName", "cpu"),
            ("MetricData.member.1.Unit", "Percent"),
            ("MetricData.member.1.Value", value.as_str()),
            ("MetricData.member.1.Dimensions.member.1.Name", "AlarmName"),
            ("MetricData.member.1.Dimensions.member.1.Value", "web-hot"),
        ];
        if watch.ask("PutMetricData", &datum).await {
            taken.data.push(value);
        }
        if number % 3 == 0 {
            let drill = number / 3;
            let (state, reason) = (["OK", "ALARM"][drill as usize % 2], drill.to_string());
            let set = [
                ("AlarmName", "web-drill"),
                ("StateValue", state),
                ("StateReason", reason.as_str()),
            ];
            if watch.ask("SetAlarmState", &set).await {
                taken.drills.push(drill.into());
            }
            let name = format!("small-{drill}");
            let template = json!({
                "heat_template_version": "2021-04-16",
                "resources": {"one": {"type": "OS::Heat::None"}},
            });
            let body = json!({"stack_name": name, "template": template});
            match api.command(Method::POST, "/stacks", &body).await {
                Reply::Accepted(_) => taken.stacks.push(name),
                Reply::Unknown => {}
                Reply::Refused(..) => panic!("{name} is refused"),
            }
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    taken
}

/// All that is on record.
async fn on_record(data: &Path) -> Vec<Arc<RecordedEvent>> {
    let log = SqliteLog::open_read_only(&data.join("log.db")).unwrap();
    log.read_all(Position(0), &Filter::default(), 1_000_000).await.unwrap()
}

fn of_type<'a>(events: &'a Events, event_type: &str) -> impl Iterator<Item = Value> + use<'a> {
    let event_type = event_type.to_owned();
    let found = events.iter().filter(move |event| event.event_type.as_ref() == event_type);
    found.map(|event| body(event))
}

/// How often data let an alarm go off.
fn evaluated(events: &Events) -> usize {
    let set = of_type(events, "AlarmStateSet");
    set.filter(|set| set["state"] == "ALARM" && set["by_hand"] != true).count()
}

/// The ids of things in lists that events of a type have.
fn ids(events: &Events, event_type: &str, list: &str) -> Vec<String> {
    let listed = of_type(events, event_type)
        .flat_map(|body| body[list].as_array().cloned().unwrap_or_default());
    let mut ids: Vec<_> = listed.map(|it| it["id"].as_str().unwrap().to_owned()).collect();
    ids.sort();
    ids
}

/// Whoever is told.
struct Ears {
    /// All, and the ends that are well.
    bells: [Bell; 2],
    /// After which positions.
    after: [u64; 2],
    broker: Broker,
}

impl Ears {
    async fn open(api: &Api, broker: Broker) -> Self {
        let bells = [Bell::new(&[]).await, Bell::new(&[]).await];
        let [all, ends] = [&bells[0].url, &bells[1].url];
        let asked = [
            json!({"url": all}),
            json!({"url": ends, "type": "TraversalSettled", "status": "COMPLETE"}),
        ];
        let mut after = [0; 2];
        for (asked, after) in asked.iter().zip(&mut after) {
            let reply = api.command(Method::POST, "/webhooks", asked).await;
            let Reply::Accepted(made) = reply else { panic!("{reply:?}") };
            *after = made["webhook"]["after"].as_u64().unwrap();
        }
        Self { bells, after, broker }
    }

    /// What was heard first, and what is to be heard, of the webhooks and of notifications.
    fn compare(&self, events: &Events) -> [(Vec<u64>, Vec<u64>); 3] {
        let [all, ends] = [0, 1].map(|number: usize| {
            let kinds = ["stack", "resource", "project"];
            let fits = |event: &&Arc<RecordedEvent>| {
                let is_end = event.event_type.as_ref() == "TraversalSettled"
                    && body(event)["status"] == "COMPLETE";
                event.position.0 > self.after[number]
                    && kinds.contains(&event.stream.kind())
                    && (number == 0 || is_end)
            };
            let due = events.iter().filter(fits).map(|event| event.position.0);
            let heard = firsts(self.bells[number].rings().iter().map(Ring::position));
            (heard, due.collect())
        });
        let taken = self.broker.taken();
        let told = firsts(taken.iter().map(|it| {
            let id = it.message()["_unique_id"].as_str().unwrap().to_owned();
            position_of(Uuid::parse_str(&id).unwrap())
        }));
        [all, ends, (told, notified(events))]
    }
}

/// The size of the group.
async fn size(api: &Api) -> Value {
    let web = api.get("/stacks/web").await.unwrap();
    let outputs = web["stack"]["outputs"].as_array().unwrap();
    let size = outputs.iter().find(|output| output["output_key"] == "size");
    size.unwrap()["output_value"].clone()
}

/// What is still under way, of what others are told and of what they do then.
fn lacks(events: &Events, ears: &Ears) -> Option<String> {
    let count = |event_type: &str| of_type(events, event_type).count();
    let told = ids(events, "AlarmActionsTold", "signals").len();
    let counts = [
        ("actions", ids(events, "AlarmStateSet", "tells").len(), told),
        ("signals", count("SignalTaken") + count("ResizeTaken"), count("SignalHandled")),
        ("traversals", count("TraversalStarted"), count("TraversalSettled")),
    ];
    if let Some((what, begun, ended)) = counts.iter().find(|(_, begun, ended)| begun != ended) {
        return Some(format!("{begun} {what}, and {ended} of them at their end"));
    }
    let heard = ears.compare(events);
    let lack = heard.iter().position(|(heard, due)| heard != due)?;
    let (heard, due) = &heard[lack];
    let differs = heard.iter().zip(due).find(|(heard, due)| heard != due);
    Some(format!("of ears {lack}: {} heard of {}, {differs:?}", heard.len(), due.len()))
}

/// Nothing that was acknowledged is lost.
fn assert_kept(taken: &Acknowledged, events: &Events) {
    let put = of_type(events, "DataPut").flat_map(|put| put["data"].as_array().cloned().unwrap());
    let put: BTreeSet<String> = put.map(|datum| datum["value"].to_string()).collect();
    let lost = |value: &&String| {
        let value: f64 = value.parse().unwrap();
        !put.contains(&json!(value).to_string())
    };
    assert_eq!(taken.data.iter().find(lost), None, "a datum is lost");
    let set =
        of_type(events, "AlarmStateSet").map(|set| set["reason"].as_str().unwrap().to_owned());
    let set: BTreeSet<String> = set.collect();
    // One after another whose fate is not known may have changed nothing.
    let sure = taken.drills.windows(2).filter(|pair| pair[0] + 1 == pair[1]).map(|pair| pair[1]);
    let sure: Vec<u64> = sure.collect();
    assert!(!sure.is_empty(), "no state was set for sure");
    let lost: Vec<_> = sure.iter().filter(|drill| !set.contains(&drill.to_string())).collect();
    assert!(lost.is_empty(), "states are lost: {lost:?}");
}

/// Each action of an alarm was told once, and taken once. How often the group grew: while it does,
/// it declines to.
fn assert_told_once(events: &Events) -> usize {
    let owed = ids(events, "AlarmStateSet", "tells");
    assert_eq!(ids(events, "AlarmActionsTold", "signals"), owed, "an action is told twice");
    let mut signaled: Vec<Value> = of_type(events, "SignalTaken").collect();
    let resized = of_type(events, "ResizeTaken").count();
    let told = of_type(events, "AlarmActionsTold")
        .flat_map(|told| told["signals"].as_array().cloned().unwrap());
    let refused: Vec<Value> = told.filter(|told| !told["refused"].is_null()).collect();
    assert!(refused.is_empty(), "{refused:?}");
    signaled.iter_mut().for_each(|it| *it = it["signal"].take());
    let mut signaled: Vec<_> = signaled.iter().map(|id| id.as_str().unwrap()).collect();
    signaled.sort_unstable();
    assert_eq!(signaled, owed, "the policy took other signals than it was told");
    assert_ne!(resized, 0, "the group never grew");
    resized
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_the_server_has_told_all_in_the_end() {
    let seed = std::env::var_os("CRASH_SEED").and_then(|seed| seed.to_str()?.parse().ok());
    let seed = seed.unwrap_or_else(chance::any_seed);
    println!("seed {seed}");
    let mut chance = Chance::new(seed);
    let sandbox = Sandbox::start(SandboxConfig::instant()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let broker = Broker::start();
    let mut server = Server::new(folder.path(), &sandbox.auth_url).with_config(&format!(
        "[hearth]\nfetch_allow = 127.0.0.0/8\n[oslo_messaging_notifications]\n\
         driver = messagingv2\ntransport_url = rabbit://openstack:s3cret@{}/\n",
        broker.address
    ));
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    let watch = Watch::of(&sandbox.auth_url, server.watch_port).await;
    server.ready().await;
    let ears = Ears::open(&api, broker).await;
    let asked = json!({"stack_name": "web", "template": growing()});
    let reply = api.command(Method::POST, "/stacks", &asked).await;
    assert!(matches!(reply, Reply::Accepted(_)), "{reply:?}");
    settled(&api, "web", "CREATE_COMPLETE").await;

    let stop = Arc::new(AtomicBool::new(false));
    let asking = tokio::spawn(ask(api.clone(), watch.clone(), stop.clone()));
    while server.kills < KILLS {
        server.kill_after(chance.millis(0..1_500)).await;
        server.start();
        server.ready().await;
    }
    // What is due while nobody is there is passed over: now somebody is, until just after that.
    let started = Instant::now();
    let before = evaluated(&on_record(folder.path()).await);
    let goes_off =
        async || started.elapsed() >= CALM && evaluated(&on_record(folder.path()).await) != before;
    polled(WITHIN, "an alarm goes off", goes_off).await;
    server.kill_after(chance.millis(0..30)).await;
    server.start();
    server.ready().await;
    stop.store(true, Ordering::SeqCst);
    let taken = asking.await.unwrap();
    // From here on no period's end lets anything happen.
    while !watch.ask("DisableAlarmActions", &[("AlarmNames.member.1", "web-hot")]).await {}

    let all_told = async || {
        let events = on_record(folder.path()).await;
        let Some(lack) = lacks(&events, &ears) else { return Ok(events) };
        server.still_runs();
        Err(lack)
    };
    let events = polled(WITHIN, "all is told", all_told).await;
    assert_kept(&taken, &events);
    let grown = assert_told_once(&events);
    let has_grown = async || match size(&api).await {
        now if now == json!(1 + grown) => Ok(()),
        now => Err(format!("its size is {now}")),
    };
    polled(WITHIN, format!("the group grew {grown} times"), has_grown).await;
    let stacks: BTreeMap<String, String> = api.stacks().await.into_iter().collect();
    for name in &taken.stacks {
        assert_eq!(stacks.get(name).map(String::as_str), Some("CREATE_COMPLETE"), "{name}");
    }
    let (kills, heard) = (server.kills, ears.bells[0].rings().len());
    println!("{kills} kills, grown {grown} times, {} events, {heard} posts", events.len());
    server.stop();
    server.verify_log();
}
