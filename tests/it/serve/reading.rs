//! A server that reads a log which another one writes.

use std::thread::sleep;
use std::time::{Duration, Instant};

use super::desk::Desk;
use super::process::{Served, refused};

const SAYS: &str = "\
heat_template_version: 2021-04-16
parameters: { word: { type: string, default: word-one } }
resources:
  said: { type: OS::Heat::TestResource, properties: { value: { get_param: word } } }
outputs: { said: { value: { get_attr: [said, output] } } }
";

/// How long what was written may take until it is read elsewhere.
const SEEN_WITHIN: Duration = Duration::from_secs(20);

/// Starts a server that reads what the one at `data` writes.
fn reader(desk: &Desk, sandbox: &str, more: &[&str]) -> Served {
    let data = desk.path().join("data");
    let log = format!("sqlite:{}", data.join("log.db").display());
    let key = data.join("master.key").display().to_string();
    let arguments = [&["--read-only", "--sandbox", sandbox, "--master-key", &key], more].concat();
    Served::start(&desk.path().join("elsewhere"), &arguments, &[("HEARTH_LOG", &log)])
}

fn api(served: &Served) -> String {
    served.told("orchestration API").trim_end_matches("/v1").to_owned()
}

/// Repeats a command until it prints the words.
#[track_caller]
fn until(desk: &Desk, words: &str, said: &str) {
    let end = Instant::now() + SEEN_WITHIN;
    loop {
        let output = desk.run(words);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if text.contains(said) {
            return;
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(Instant::now() < end, "hearth {words} says no {said}: {text}{errors}");
        sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_second_server_shows_what_the_first_writes_and_sends_commands_there() {
    let desk = Desk::with(&[("says.yaml", SAYS)]);
    let data = desk.path().join("data");
    let cloud = Served::start(&desk.path().join("cloud"), &[], &[]);
    let sandbox = cloud.told("sandbox cloud").to_owned();
    let writes = ["--sandbox", &sandbox];
    let mut writer = Served::start(&data, &writes, &[]);
    let written = api(&writer);
    desk.said(&format!("up says.yaml --server {written}"));
    let reading = reader(&desk, &sandbox, &[]);
    let read = api(&reading);

    let show = format!("show says --server {read}");
    assert!(desk.said(&show).contains("CREATE_COMPLETE"));
    // What an actor answers is as new as what a view does.
    until(&desk, &show, "word-one");
    desk.said(&format!("up says.yaml -P word=word-two --server {written}"));
    until(&desk, &show, "word-two");
    let feed = format!("events says --server {read}");
    until(&desk, &feed, "UPDATE_COMPLETE");

    let why = desk.refused(&format!("down says --yes --server {read}"));
    assert!(why.contains(&format!("This server only reads: send this to {written}.")), "{why}");
    assert!(desk.said(&show).contains("UPDATE_COMPLETE"));
    let plan = desk.run(&format!("plan says.yaml --server {read}"));
    assert_ne!(plan.status.code(), Some(1), "{}", String::from_utf8_lossy(&plan.stderr));

    // It reads on while nobody writes, and after another has taken over.
    writer.signal("KILL");
    drop(writer);
    assert!(desk.said(&show).contains("UPDATE_COMPLETE"));
    writer = Served::start(&data, &writes, &[]);
    let taken_over = api(&writer);
    desk.said(&format!("down says --yes --server {taken_over}"));
    let until_gone = Instant::now() + SEEN_WITHIN;
    while desk.said(&format!("list --server {read}")) != "no stacks\n" {
        assert!(Instant::now() < until_gone, "what was deleted is still shown");
        sleep(Duration::from_millis(100));
    }
    let why = desk.refused(&format!("up says.yaml --server {read}"));
    assert!(why.contains(&taken_over), "{why}");
}

#[test]
fn a_server_that_only_reads_shares_no_directory_and_no_sandbox_and_makes_no_key() {
    let desk = Desk::with(&[("says.yaml", SAYS)]);
    desk.said("up says.yaml --data data");
    let data = desk.path().join("data");
    let elsewhere = desk.path().join("elsewhere");
    let log = format!("sqlite:{}", data.join("log.db").display());
    let sandbox = ["--read-only", "--sandbox", "http://127.0.0.1:9/v3"];
    let why = refused(&data, &sandbox, &[]);
    assert!(why.contains("has a data directory of its own"), "{why}");
    let why = refused(&elsewhere, &["--read-only"], &[("HEARTH_LOG", &log)]);
    assert!(why.contains("has no sandbox of its own"), "{why}");
    let why = refused(&elsewhere, &sandbox, &[("HEARTH_LOG", &log)]);
    assert!(why.contains("master key") || why.contains("master.key"), "{why}");
    assert!(!elsewhere.join("master.key").exists());
}
