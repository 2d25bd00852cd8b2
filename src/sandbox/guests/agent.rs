//! A guest at work: it runs the scripts of its user data once, and then, again and again, reads what
//! it is to know, runs what is deployed to it and answers.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::boot;
use super::calls::{CallError, Calls, Known};
use super::hooks;
use super::script::{self, Ran, Script};
use crate::clock::Clock;
use crate::sandbox::guest_limits::GuestLimits;

/// How often it asks for what it is to know.
const ASKED_EVERY: Duration = Duration::from_secs(1);
/// How many deployments of a server it looks at.
const DEPLOYMENTS_MAX: usize = 256;
/// How often it tries to answer, and the pause between.
const ANSWERS_TRIED: u32 = 30;
const ANSWER_PAUSE: Duration = Duration::from_secs(1);
/// How long an answer is at first, as JSON, and how long at least where that is too much.
const ANSWER_BYTES: usize = 224 * 1024;
const ANSWER_BYTES_MIN: usize = 1024;

/// What guests share.
pub(super) struct Tools {
    /// What tells the scripts of these guests from others of the machine.
    pub(super) mark: String,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) calls: Calls,
    pub(super) limits: GuestLimits,
    /// Held by each script at work.
    pub(super) turns: Semaphore,
}

/// A guest of a server.
pub(super) struct Guest {
    pub(super) server: String,
    pub(super) user_data: String,
    /// Its scripts end when this is set.
    pub(super) stopped: Arc<AtomicBool>,
    pub(super) tools: Arc<Tools>,
}

impl Guest {
    /// Works for as long as nobody drops it.
    pub(super) async fn work(self) {
        let boot = boot::read(&self.user_data);
        let mut told = boot.metadata["os-collect-config"].clone();
        let scripts = async {
            for script in &boot.scripts {
                let ran = self.run(script.clone(), Vec::new(), Vec::new()).await;
                tracing::info!(server = self.server, status = ran.status, "a guest has started up");
            }
        };
        // A condition that its scripts wait for may be another deployment's to meet.
        let agent = async {
            let mut done = BTreeSet::new();
            loop {
                let now = self.tools.clock.now();
                match self.tools.calls.metadata(&told, now).await {
                    Ok(Some(Known { metadata, read })) => {
                        let new = &metadata["os-collect-config"];
                        if new.is_object() {
                            told.clone_from(new);
                        }
                        self.deploy(&metadata, &mut done).await;
                        if let Err(error) = self.tools.calls.take_out(read).await {
                            tracing::debug!(server = self.server, %error, "a guest reads it again");
                        }
                    }
                    Ok(None) => {}
                    Err(error) => {
                        tracing::debug!(server = self.server, %error, "a guest learns nothing");
                    }
                }
                tokio::time::sleep(ASKED_EVERY).await;
            }
        };
        tokio::join!(scripts, agent);
    }

    /// Runs each deployment that it does not know yet.
    async fn deploy(&self, metadata: &Value, done: &mut BTreeSet<String>) {
        let deployments = metadata["deployments"].as_array().into_iter().flatten();
        for deployment in deployments.take(DEPLOYMENTS_MAX) {
            let Some(id) = deployment["id"].as_str() else { continue };
            let inputs = inputs(deployment);
            if done.contains(id) {
                continue;
            }
            done.insert(id.to_owned());
            let ran = if let Some(config) = program(deployment, &inputs) {
                let values = names(&deployment["outputs"]);
                self.run(config, environment(&inputs), values).await
            } else if let Some(script) = hooks::script(deployment) {
                hooks::answered(self.run(script, Vec::new(), Vec::new()).await)
            } else {
                continue;
            };
            tracing::info!(server = self.server, status = ran.status, "a guest ran a deployment");
            self.answer(&inputs, &ran).await;
        }
    }

    async fn answer(&self, inputs: &Value, ran: &Ran) {
        let mut bytes = ANSWER_BYTES;
        for _ in 0..ANSWERS_TRIED {
            match self.tools.calls.signal(inputs, &answer(ran, bytes)).await {
                Ok(()) => return,
                // Whoever is told may take less.
                Err(CallError::Refused(400 | 413)) if bytes > ANSWER_BYTES_MIN => {
                    bytes /= 2;
                    continue;
                }
                Err(error) => {
                    tracing::warn!(server = self.server, %error, "a guest could not answer");
                }
            }
            tokio::time::sleep(ANSWER_PAUSE).await;
        }
    }

    async fn run(
        &self,
        text: String,
        environment: Vec<(String, String)>,
        values: Vec<String>,
    ) -> Ran {
        // Nobody closes the turns.
        let _turn = self.tools.turns.acquire().await;
        let (stopped, limits) = (Arc::clone(&self.stopped), self.tools.limits);
        let mark = format!("{}-{}", self.tools.mark, self.tools.clock.fresh_id().simple());
        let work = move || {
            let script = Script { text: &text, environment: &environment, values: &values };
            script::run(&script, &limits, &mark, &stopped)
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_default()
    }
}

/// The inputs of a deployment by their names.
fn inputs(deployment: &Value) -> Value {
    let inputs = deployment["inputs"].as_array().into_iter().flatten();
    let named =
        inputs.filter_map(|it| Some((it["name"].as_str()?.to_owned(), it["value"].clone())));
    Value::Object(named.collect::<Map<_, _>>())
}

fn environment(inputs: &Value) -> Vec<(String, String)> {
    let inputs = inputs.as_object().into_iter().flatten();
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    inputs.map(|(name, value)| (name.clone(), text(value))).collect()
}

/// What is to be run: a script, or that of a component which is for the action. `None` where it is
/// of another group.
fn program(deployment: &Value, inputs: &Value) -> Option<String> {
    let config = &deployment["config"];
    match deployment["group"].as_str() {
        Some("script") => config.as_str().map(str::to_owned),
        Some("component") => {
            let action = &inputs["deploy_action"];
            let mut configs = config["configs"].as_array()?.iter();
            let is_for = |it: &&Value| {
                it["actions"].as_array().is_some_and(|actions| actions.contains(action))
            };
            let found = configs.find(is_for)?;
            (found["tool"] == "script").then(|| found["config"].as_str().map(str::to_owned))?
        }
        _ => None,
    }
}

fn names(outputs: &Value) -> Vec<String> {
    let outputs = outputs.as_array().into_iter().flatten();
    outputs.filter_map(|it| it["name"].as_str().map(str::to_owned)).collect()
}

/// What is answered, in so many bytes of JSON at most: each text has its share and what others leave
/// of theirs, and is cut off behind that.
fn answer(ran: &Ran, bytes: usize) -> Value {
    const STATUS: &str = "deploy_status_code";
    let own = [("deploy_stdout", &ran.stdout), ("deploy_stderr", &ran.stderr)];
    let values = ran.values.iter().map(|(name, value)| (name.as_str(), value));
    let mut texts = Vec::new();
    // The braces and the status; of each text its quotes, colon and comma.
    let mut left = bytes.saturating_sub(STATUS.len() + 32);
    for (name, text) in own.into_iter().chain(values) {
        let around = written(name).sum::<usize>() + 6;
        if around <= left {
            left -= around;
            texts.push((name, text, written(text).sum::<usize>()));
        }
    }
    texts.sort_by_key(|(_, _, length)| *length);
    let mut answer = Map::from_iter([(STATUS.to_owned(), Value::from(ran.status))]);
    let count = texts.len();
    for (before, (name, text, _)) in texts.into_iter().enumerate() {
        let share = left / (count - before);
        let (kept, length) = head(text, share);
        left -= length;
        answer.insert(name.to_owned(), kept.into());
    }
    Value::Object(answer)
}

/// How many bytes each character of a text takes in JSON.
fn written(text: &str) -> impl Iterator<Item = usize> {
    text.chars().map(|it| match it {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '\0'..' ' => 6,
        other => other.len_utf8(),
    })
}

/// What a text begins with, in so many bytes of JSON, and how many those are.
fn head(text: &str, bytes: usize) -> (&str, usize) {
    let mut length = 0;
    for ((at, _), more) in text.char_indices().zip(written(text)) {
        if length + more > bytes {
            return (&text[..at], length);
        }
        length += more;
    }
    (text, length)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_component_has_a_script_for_an_action() {
        let of = |action: &str, tool: &str| {
            let deployment = json!({
                "group": "component",
                "inputs": [{ "name": "deploy_action", "value": action }],
                "config": { "configs": [
                    { "actions": ["CREATE", "UPDATE"], "config": "make", "tool": tool },
                    { "actions": ["DELETE"], "config": "unmake", "tool": tool },
                ] },
            });
            program(&deployment, &inputs(&deployment))
        };
        assert_eq!(of("UPDATE", "script").as_deref(), Some("make"));
        assert_eq!(of("DELETE", "script").as_deref(), Some("unmake"));
        assert_eq!((of("SUSPEND", "script"), of("CREATE", "puppet")), (None, None));
        let other = json!({ "group": "ansible", "config": "x" });
        assert_eq!(program(&other, &inputs(&other)), None);
    }

    #[test]
    fn an_answer_has_a_bound_that_its_texts_share() {
        let long = "\0".repeat(64 * 1024);
        let values = ["one", "two"].map(|name| (name.to_owned(), "ü\"\n".repeat(20_000)));
        let short = ("short".to_owned(), "all of it".to_owned());
        let ran = Ran {
            status: 3,
            stdout: long.clone(),
            stderr: long,
            values: values.into_iter().chain([short]).collect(),
        };
        for bytes in [ANSWER_BYTES, ANSWER_BYTES / 2, ANSWER_BYTES_MIN] {
            let answer = answer(&ran, bytes);
            let length = answer.to_string().len();
            assert!((bytes - 100..=bytes).contains(&length), "{length} of {bytes}");
            assert_eq!(
                (&answer["deploy_status_code"], answer["short"].as_str().unwrap()),
                (&json!(3), "all of it")
            );
            assert_eq!(answer.as_object().unwrap().len(), 6);
        }
        let few = Ran { stdout: "a\n".to_owned(), ..Ran::default() };
        let whole = json!({ "deploy_stdout": "a\n", "deploy_stderr": "", "deploy_status_code": 0 });
        assert_eq!(answer(&few, ANSWER_BYTES), whole);
        let names = (0..1000).map(|number| (format!("{number:0>200}"), "x".to_owned()));
        let many = Ran { values: names.collect(), ..Ran::default() };
        assert!(answer(&many, ANSWER_BYTES_MIN).to_string().len() <= ANSWER_BYTES_MIN);
    }

    #[test]
    fn inputs_are_texts_of_the_environment() {
        let deployment = json!({ "inputs": [
            { "name": "a", "value": "x" }, { "name": "b", "value": { "c": 1 } },
            { "name": "d" }, { "value": "no name" },
        ] });
        let found = environment(&inputs(&deployment));
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, [("a", "x"), ("b", "{\"c\":1}"), ("d", "")]);
    }
}
