//! Small stacks made one after the other while something befalls the log, so that somebody always
//! waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::client::{Api, Reply};

/// How many ask at a time.
const ASKING: usize = 3;
/// How many stacks each of them makes at most: all together fewer than a project may have.
const STACKS_MAX: usize = 120;
const BETWEEN: Duration = Duration::from_millis(200);
const PREFIX: &str = "load-";

/// What is asked for until it ends.
pub(super) struct Load {
    stop: Arc<AtomicBool>,
    asking: Vec<JoinHandle<Asked>>,
}

/// The names that were acknowledged, and the longest wait for an answer.
#[derive(Default)]
pub(super) struct Asked {
    made: Vec<String>,
    pub(super) longest: Duration,
}

impl Load {
    pub(super) fn begin(api: &Api) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let ask = |number| tokio::spawn(ask(api.clone(), number, stop.clone()));
        let asking = (0..ASKING).map(ask).collect();
        Self { stop, asking }
    }

    pub(super) async fn end(self) -> Asked {
        self.stop.store(true, Ordering::SeqCst);
        let mut asked = Asked::default();
        for one in self.asking {
            let one = one.await.unwrap();
            asked.made.extend(one.made);
            asked.longest = asked.longest.max(one.longest);
        }
        asked
    }
}

async fn ask(api: Api, number: usize, stop: Arc<AtomicBool>) -> Asked {
    let mut asked = Asked::default();
    for count in 0..STACKS_MAX {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("{PREFIX}{number}-{count}");
        let body = json!({"stack_name": name, "timeout_mins": 5, "template": {
            "heat_template_version": "2021-04-16",
            "resources": {"one": {"type": "OS::Heat::None"}},
        }});
        let begun = Instant::now();
        let reply = api.command(Method::POST, "/stacks", &body).await;
        asked.longest = asked.longest.max(begun.elapsed());
        match reply {
            Reply::Accepted(_) => asked.made.push(name),
            Reply::Unknown | Reply::Refused(503, _) => {}
            Reply::Refused(..) => panic!("{name}: {reply:?}"),
        }
        tokio::time::sleep(BETWEEN).await;
    }
    asked
}

impl Asked {
    /// All that was acknowledged is there; deletes it, and what was taken without an answer.
    pub(super) async fn check(self, api: &Api) {
        let mut stacks = api.stacks().await;
        stacks.retain(|(name, _)| name.starts_with(PREFIX));
        for name in &self.made {
            let found = stacks.iter().find(|(other, _)| other == name);
            assert_eq!(found.map(|(_, status)| status.as_str()), Some("CREATE_COMPLETE"), "{name}");
        }
        for (name, _) in stacks {
            let found = api.get(&format!("/stacks/{name}")).await.unwrap();
            let id = found["stack"]["id"].as_str().unwrap();
            let path = format!("/stacks/{name}/{id}");
            let reply = api.command(Method::DELETE, &path, &Value::Null).await;
            assert!(matches!(reply, Reply::Accepted(_)), "{name}: {reply:?}");
        }
    }
}
