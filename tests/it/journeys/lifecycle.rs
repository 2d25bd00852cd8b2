//! The life of a stack, point by point, as it was observed on a running Heat: each case of
//! `tests/data/lifecycle` is a sequence of commands with what clients see of each.

use std::path::Path;
use std::time::{Duration, Instant};

use hearth::actors::{Accepted, CreateStack, UpdateStack};
use hearth::model::{Action, JsonMap, Refusal, StackId};
use hearth::projections::EventQuery;
use hearth::template::StackSource;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case shows.
    shows: String,
    steps: Vec<Step>,
}

/// A command, and what it comes to. Without an end the next command follows at once.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Step {
    create: Option<IndexMap<String, Value>>,
    update: Option<IndexMap<String, Value>>,
    delete: bool,
    cancel: bool,
    stop: bool,
    act: Option<Action>,
    mark: Option<String>,
    /// Keep what a PATCH keeps.
    existing: bool,
    environment: JsonMap,
    rollback: Option<bool>,
    /// The command is sent once this resource is at work.
    once: Option<String>,

    refused: Option<String>,
    end: Option<String>,
    reason: Option<String>,
    /// What the event list has more than before: `NAME STATE`, or `NAME STATE: REASON`; `…` in a
    /// reason is anything.
    events: Option<Vec<String>>,
    /// These lines in this order, others between them.
    among: Vec<String>,
    resources: Option<Vec<String>>,
    /// Names with the physical id that they had after the first step.
    kept: Vec<String>,
    /// Names with another one.
    replaced: Vec<String>,
}

macro_rules! cases {
    ($($name:ident),* $(,)?) => { $(
        #[actix::test]
        async fn $name() {
            play(stringify!($name)).await;
        }
    )* };
}

cases!(replacement, decisions, failure, meeting, refusals);

async fn play(file: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lifecycle");
    let text = std::fs::read_to_string(folder.join(format!("{file}.yaml"))).unwrap();
    let read: Value = serde_yaml::from_str(&text).unwrap();
    let cases: Vec<Case> = serde_json::from_value(read).unwrap();
    let ground = Ground::new().await;
    let world = ground.start().await;
    for (number, case) in cases.into_iter().enumerate() {
        let mut life =
            Life { world: &world, case: case.shows, stack: None, known: 0, first: IndexMap::new() };
        let name = format!("web-{number}");
        for step in &case.steps {
            life.take(&name, step).await;
        }
    }
}

struct Life<'a> {
    world: &'a World,
    case: String,
    stack: Option<StackId>,
    /// How many lines of the event list were looked at.
    known: usize,
    first: IndexMap<String, Option<String>>,
}

impl Life<'_> {
    async fn take(&mut self, name: &str, step: &Step) {
        if let (Some(at_work), Some(stack)) = (&step.once, self.stack) {
            self.at_work(stack, at_work).await;
        }
        let case = self.case.clone();
        let accepted = match (self.command(name, step).await, &step.refused) {
            (Err(refusal), Some(wanted)) => {
                assert_eq!(format!("{}: {}", refusal.class, refusal.message), *wanted, "{case}");
                return;
            }
            (answer, None) => answer.unwrap_or_else(|refusal| panic!("{case}: {refusal}")),
            (Ok(_), Some(wanted)) => panic!("{case}: not refused: {wanted}"),
        };
        self.stack = Some(accepted.stack);
        self.world.views.after(accepted.position).await.unwrap();
        if let Some(end) = &step.end {
            self.reach(accepted.stack, end).await;
        }
        self.compare(accepted.stack, step).await;
        if step.create.is_some() {
            for row in self.world.views.resources(accepted.stack).await.unwrap() {
                self.first.insert(row.name.to_string(), row.physical_id);
            }
        }
    }

    async fn command(&self, name: &str, step: &Step) -> Result<Accepted, Refusal> {
        let (engine, who) = (&self.world.engine, self.world.requester());
        let stack = self.stack.unwrap_or_default();
        if let Some(resources) = &step.create {
            let environment = step.environment.clone();
            let source =
                StackSource { template: template(resources), environment, ..Default::default() };
            let ask = CreateStack {
                name: name.into(),
                source,
                timeout_mins: None,
                disable_rollback: !step.rollback.unwrap_or(false),
                tags: Vec::new(),
            };
            return engine.create_stack(&who, ask).await;
        }
        if step.update.is_some() || step.existing {
            let ask = UpdateStack {
                existing: step.existing,
                template: step.update.as_ref().map(template),
                environment: step.environment.clone(),
                disable_rollback: step.rollback.map(|rollback| !rollback),
                ..UpdateStack::default()
            };
            return engine.update_stack(&who, stack, ask).await;
        }
        if step.cancel || step.stop {
            return engine.cancel_update(&who, stack, step.cancel).await;
        }
        if let Some(action) = step.act {
            return engine.act_on_stack(&who, stack, action).await;
        }
        if let Some(name) = &step.mark {
            return engine.mark_resource(&who, stack, &name.as_str().into(), false, "seen").await;
        }
        engine.delete_stack(&who, stack).await
    }

    async fn at_work(&self, stack: StackId, name: &str) {
        let started = Instant::now();
        let wanted = format!("{name} ");
        let is_it = |row: &String| row.starts_with(&wanted) && row.ends_with("_IN_PROGRESS");
        while !self.world.resources(stack).await.iter().any(is_it) {
            assert!(started.elapsed() < WAIT_MAX, "{}: {name} never starts", self.case);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn reach(&self, stack: StackId, end: &str) {
        let started = Instant::now();
        while self.world.at_rest(stack).await != end {
            let (state, reason) = (self.world.at_rest(stack).await, self.world.reason(stack).await);
            let events = self.events(stack).await;
            let case = &self.case;
            assert!(started.elapsed() < WAIT_MAX, "{case}: {state} {reason}\n{events:#?}");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    async fn compare(&mut self, stack: StackId, step: &Step) {
        let case = &self.case;
        if let Some(reason) = &step.reason {
            let found = self.world.reason(stack).await;
            assert!(fits(&found, reason), "{case}: {found}");
        }
        let events = self.events(stack).await;
        let news = &events[self.known..];
        if let Some(wanted) = &step.events {
            let same = news.len() == wanted.len()
                && news.iter().zip(wanted).all(|(line, wanted)| fits_line(line, wanted));
            assert!(same, "{case}: {news:#?}\nand not {wanted:#?}");
        }
        let mut left = news.iter();
        for wanted in &step.among {
            let found = left.any(|line| fits_line(line, wanted));
            assert!(found, "{case}: no {wanted} in its place among {news:#?}");
        }
        if step.end.is_some() {
            self.known = events.len();
        }
        if let Some(wanted) = &step.resources {
            assert_eq!(&self.world.resources(stack).await, wanted, "{case}");
        }
        for name in step.kept.iter().chain(&step.replaced) {
            let is_kept = self.world.physical_id(stack, name).await == self.first[name.as_str()];
            assert_eq!(is_kept, step.kept.contains(name), "{case}: {name}");
        }
    }

    /// The event list, oldest first: `NAME STATE: REASON`.
    async fn events(&self, stack: StackId) -> Vec<String> {
        let query = EventQuery { descending: Some(false), ..EventQuery::default() };
        let events = self.world.views.events(stack, query).await.unwrap();
        let name =
            |name: &str| if name.starts_with("web-") { "web".into() } else { name.to_owned() };
        let line = |event: &hearth::projections::EventRow| {
            format!("{} {}_{}: {}", name(&event.name), event.action, event.status, event.reason)
        };
        events.iter().map(line).collect()
    }
}

/// How long a case waits for what must come.
const WAIT_MAX: Duration = Duration::from_secs(30);

fn fits_line(line: &str, wanted: &str) -> bool {
    match wanted.contains(": ") {
        true => fits(line, wanted),
        false => line.split_once(": ").is_some_and(|(state, _)| state == wanted),
    }
}

/// Whether a text is a wanted one, in which `…` is anything.
fn fits(text: &str, wanted: &str) -> bool {
    let mut parts = wanted.split('…');
    let Some(mut rest) = text.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        match rest.find(part) {
            Some(place) => rest = &rest[place + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || wanted.ends_with('…')
}

/// Resources in short: a map of properties is a test resource.
fn template(resources: &IndexMap<String, Value>) -> Value {
    let keys = ["type", "properties", "depends_on", "metadata", "deletion_policy"];
    let whole = resources.iter().map(|(name, given)| {
        let is_whole = keys.iter().any(|key| given.get(key).is_some());
        let mut whole = if is_whole { given.clone() } else { json!({ "properties": given }) };
        if whole.get("type").is_none() {
            whole["type"] = "OS::Heat::TestResource".into();
        }
        (name.clone(), whole)
    });
    hot(Value::Object(whole.collect()))
}
