//! The life of a server that reads a log which another one writes, wherever that is kept.

use std::time::Duration;

use serde_json::{Value, json};

use super::desk::Desk;
use super::process::Served;

use crate::support::wait::polled_here;

pub(super) const SAYS: &str = "\
heat_template_version: 2021-04-16
parameters: { word: { type: string, default: word-one } }
resources:
  said: { type: OS::Heat::TestResource, properties: { value: { get_param: word } } }
outputs: { said: { value: { get_attr: [said, output] } } }
";

/// How long what was written may take until it is read elsewhere.
const SEEN_WITHIN: Duration = Duration::from_secs(20);

fn api(served: &Served) -> String {
    served.told("orchestration API").trim_end_matches("/v1").to_owned()
}

/// Repeats a command until it prints the words.
#[track_caller]
fn until(desk: &Desk, words: &str, said: &str) {
    polled_here(SEEN_WITHIN, format!("hearth {words} says {said}"), || {
        let output = desk.run(words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let errors = String::from_utf8_lossy(&output.stderr);
        if text.contains(said) { Ok(()) } else { Err(format!("{text}{errors}")) }
    });
}

/// What a server answers to a command of the sandbox's user: the status, and the body.
fn commanded(server: &str, keystone: &str) -> (u16, String) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let http = reqwest::Client::new();
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "demo", "password": "secret", "domain": {"id": "default"}}}},
            "scope": {"project": {"name": "demo", "domain": {"id": "default"}}}}});
        let answer = http.post(format!("{keystone}/auth/tokens")).json(&body).send().await.unwrap();
        let token = answer.headers()["x-subject-token"].clone();
        let answer: Value = answer.json().await.unwrap();
        let project = answer["token"]["project"]["id"].as_str().unwrap();
        let stack = json!({ "stack_name": "more", "template": SAYS });
        let url = format!("{server}/v1/{project}/stacks");
        let asked = http.post(url).header("x-auth-token", token).json(&stack).send().await.unwrap();
        (asked.status().as_u16(), asked.text().await.unwrap())
    })
}

/// A second server shows what the first writes, and sends commands there: the first has its data in
/// `data` on the desk, and `log` is where both find the log.
pub(super) fn followed(desk: &Desk, log: &str) {
    let data = desk.path().join("data");
    let cloud = Served::start(&desk.path().join("cloud"), &[], &[]);
    let sandbox = cloud.told("sandbox cloud").to_owned();
    let (variables, writes) = ([("HEARTH_LOG", log)], ["--sandbox", &sandbox]);
    let mut writer = Served::start(&data, &writes, &variables);
    let written = api(&writer);
    desk.said(&format!("up says.yaml --server {written}"));
    let key = data.join("master.key").display().to_string();
    let reads = ["--read-only", "--sandbox", &sandbox, "--master-key", &key];
    let reading = Served::start(&desk.path().join("elsewhere"), &reads, &variables);
    let read = api(&reading);

    let doctor = format!(
        "doctor --data elsewhere --listen {} {}",
        read.trim_start_matches("http://"),
        reads.join(" ")
    );
    let looked = desk.command(&doctor).env("HEARTH_LOG", log).output().unwrap();
    let report = String::from_utf8(looked.stdout).unwrap();
    assert!(looked.status.success(), "{report}");
    assert!(
        report.contains("one answers at") && report.contains("another server signs"),
        "{report}"
    );

    let show = format!("show says --server {read}");
    assert!(desk.said(&show).contains("CREATE_COMPLETE"));
    // What an actor answers is as new as what a view does.
    until(desk, &show, "word-one");
    desk.said(&format!("up says.yaml -P word=word-two --server {written}"));
    until(desk, &show, "word-two");
    let feed = format!("events says --server {read}");
    until(desk, &feed, "UPDATE_COMPLETE");

    let why = desk.refused(&format!("down says --yes --server {read}"));
    let sends_on = format!("This server only reads: send this to {written}.");
    assert!(why.contains(&sends_on), "{why}");
    let (status, said) = commanded(&read, &sandbox);
    assert!(status == 503 && said.contains(&sends_on), "{status} {said}");
    assert!(desk.said(&show).contains("UPDATE_COMPLETE"));
    let plan = desk.run(&format!("plan says.yaml --server {read}"));
    assert_ne!(plan.status.code(), Some(1), "{}", String::from_utf8_lossy(&plan.stderr));

    // It reads on while nobody writes, and after another has taken over.
    writer.signal("KILL");
    drop(writer);
    assert!(desk.said(&show).contains("UPDATE_COMPLETE"));
    writer = Served::start(&data, &writes, &variables);
    let taken_over = api(&writer);
    desk.said(&format!("down says --yes --server {taken_over}"));
    let is_gone = || desk.said(&format!("list --server {read}")) == "no stacks\n";
    polled_here(SEEN_WITHIN, "what was deleted is gone", is_gone);
    let why = desk.refused(&format!("up says.yaml --server {read}"));
    assert!(why.contains(&taken_over), "{why}");
}
