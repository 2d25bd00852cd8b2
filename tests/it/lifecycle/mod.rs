//! The life of a stack, point by point, as it was observed on a running Heat: each case of
//! `tests/data/lifecycle` is a sequence of requests with what clients see of each.

mod life;
mod step;

use std::path::Path;
use std::time::Duration;

use hearth::actors::EngineLimits;
use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;

use self::life::Life;
use self::step::Step;
use crate::api::app::App;

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
    let mut wrong = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let own = match case.limit_ms {
            Some(limit) => Some(start(Some(Duration::from_millis(limit))).await),
            None => None,
        };
        let app = own.as_ref().unwrap_or(&usual);
        let mut life = Life::new(app, format!("web-{number}"), &case.files);
        for (step, told) in case.steps.iter().enumerate() {
            if let Err(difference) = life.take(told).await {
                wrong.push(format!("{}\n  step {}: {difference}", case.shows, step + 1));
                break;
            }
        }
        if let Some(own) = own {
            own.stop().await;
        }
    }
    usual.stop().await;
    assert!(wrong.is_empty(), "{} cases differ:\n\n{}", wrong.len(), wrong.join("\n\n"));
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
