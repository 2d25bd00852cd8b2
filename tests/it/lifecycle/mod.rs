//! The life of a stack, point by point, as it was observed on a running Heat: each case of
//! `tests/data/lifecycle` is a sequence of requests with what clients see of each.

mod life;
mod step;

use std::path::Path;
use std::time::Duration;

use futures::StreamExt;
use hearth::actors::EngineLimits;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use self::life::Life;
use self::step::Step;
use crate::api::app::App;

/// How many cases are played side by side: most of their time they wait.
const SIDE_BY_SIDE: usize = 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// What the case shows.
    shows: String,
    /// What stands behind the names of templates: resources in short.
    #[serde(default)]
    files: IndexMap<String, Value>,
    /// The time that an action has where the stack names none.
    limit_ms: Option<u64>,
    steps: Vec<Step>,
}

macro_rules! cases {
    ($($name:ident),* $(,)?) => { $(
        #[actix::test]
        async fn $name() {
            play(stringify!($name)).await;
        }
    )* };
}

cases!(
    replacement,
    decisions,
    failure,
    meeting,
    refusals,
    acts,
    hooks,
    requests,
    groups,
    nested,
    snapshots,
    waiting,
    adoption,
    bad_input,
);

async fn play(file: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/lifecycle");
    let text = std::fs::read_to_string(folder.join(format!("{file}.yaml"))).unwrap();
    let read: Value = serde_yaml::from_str(&text).unwrap();
    let cases: Vec<Case> = serde_json::from_value(read).unwrap();
    let usual = start(None).await;
    let lives = futures::stream::iter(cases.iter().enumerate())
        .map(|(number, case)| live(&usual, number, case))
        .buffered(SIDE_BY_SIDE);
    let wrong: Vec<String> = lives.filter_map(std::future::ready).collect().await;
    usual.stop().await;
    assert!(wrong.is_empty(), "{} cases differ:\n\n{}", wrong.len(), wrong.join("\n\n"));
}

/// Plays a case with a stack of its own; what differs in it.
async fn live(usual: &App, number: usize, case: &Case) -> Option<String> {
    let own = match case.limit_ms {
        Some(limit) => Some(start(Some(Duration::from_millis(limit))).await),
        None => None,
    };
    let mut life = Life::new(own.as_ref().unwrap_or(usual), format!("web-{number}"), &case.files);
    let mut wrong = None;
    for (step, told) in case.steps.iter().enumerate() {
        if let Err(difference) = life.take(told).await {
            wrong = Some(format!("{}\n  step {}: {difference}", case.shows, step + 1));
            break;
        }
    }
    if let Some(own) = own {
        own.stop().await;
    }
    wrong
}

async fn start(limit: Option<Duration>) -> App {
    let usual = EngineLimits::default();
    App::within(EngineLimits {
        enable_stack_abandon: true,
        enable_stack_adopt: true,
        stack_action_timeout: limit.unwrap_or(usual.stack_action_timeout),
        ..usual
    })
    .await
}
