//! Backups beside work under way, and servers that go on from them.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use hearth::clock::{Clock, SystemClock};
use hearth::events::log::{EventLog, Head, Signing, SqliteLog};
use hearth::events::signing::SigningKey;
use hearth::events::{Meta, NewEvent, StreamId};
use hearth::sandbox::{Latencies, Sandbox, SandboxConfig};
use reqwest::Method;
use serde_json::json;

use super::client::{Api, Reply};
use super::operator::{create, hearth, printed, refused, settled};
use super::process::Server;

/// How many stacks are in the middle of their creation.
const AT_WORK: usize = 4;
/// How much there is to copy, so that it takes a while.
const LARGE_LOG_BYTES: usize = 48 << 20;

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

async fn begin(api: &Api, name: &str) {
    let net = |after: &[&str]| json!({"type": "OS::Neutron::Net", "depends_on": after});
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {"a": net(&[]), "b": net(&["a"]), "c": net(&["b"])},
    });
    let body = json!({"stack_name": name, "template": template});
    let reply = api.command(Method::POST, "/stacks", &body).await;
    assert!(matches!(reply, Reply::Accepted(_)), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_beside_work_under_way_is_restored_to_a_server_that_goes_on() {
    let sandbox = Sandbox::start(SandboxConfig {
        latencies: Latencies { request: Duration::from_millis(150), ..Latencies::default() },
        ..SandboxConfig::instant()
    })
    .unwrap();
    let home = tempfile::tempdir().unwrap();
    let (data, saved) = (home.path().join("data"), home.path().join("saved"));
    std::fs::create_dir(&data).unwrap();
    let mut server = Server::new(&data, &sandbox.auth_url);
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    server.ready().await;
    let early = create(&api, "early").await;
    for number in 0..AT_WORK {
        begin(&api, &format!("at-work-{number}")).await;
    }
    let said = printed(&data, &["backup", text(&saved)]);
    assert!(said.starts_with("backed up to position "), "{said}");
    let at_work = api.stacks().await;
    let at_work = at_work.iter().filter(|(_, status)| status == "CREATE_IN_PROGRESS").count();
    assert!(at_work > 0, "the backup came too late to show anything");
    let again = refused(&data, &["backup", text(&saved)]);
    assert!(again.contains("is not empty"), "{again}");
    let verified = printed(&saved, &["verify"]);
    let position = said.split_whitespace().nth(4).unwrap();
    assert!(verified.contains(&format!("signed up to position {position} ")), "{verified}");
    printed(&data, &["verify"]);
    for number in 0..AT_WORK {
        settled(&api, &format!("at-work-{number}"), "CREATE_COMPLETE").await;
    }
    create(&api, "after").await;
    server.terminate();
    let against = saved.join("checkpoint");
    printed(&data, &["verify", "--against", text(&against)]);
    assert!(refused(&data, &["restore", text(&saved)]).contains("is not empty"));

    // Without a server, and without the keys.
    let cold = home.path().join("cold");
    let said = printed(&data, &["backup", text(&cold), "--without-keys"]);
    assert!(said.contains("without the master key"), "{said}");
    assert!(!cold.join("master.key").exists() && !cold.join("signing.key").exists());

    let restored = home.path().join("restored");
    let said = printed(&restored, &["restore", text(&saved)]);
    assert!(said.starts_with(&format!("restored up to position {position} ")), "{said}");
    printed(&restored, &["verify"]);
    let mut server = Server::new(&restored, &sandbox.auth_url);
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    server.ready().await;
    for number in 0..AT_WORK {
        settled(&api, &format!("at-work-{number}"), "CREATE_COMPLETE").await;
    }
    let same = settled(&api, "early", "CREATE_COMPLETE").await;
    assert_eq!(same["outputs"], early["outputs"]);
    assert!(same["outputs"][0]["output_value"].is_string(), "{same}");
    assert!(api.get("/stacks/after").await.is_none(), "it came after the backup");
    create(&api, "later").await;
    server.terminate();
    printed(&restored, &["verify", "--against", text(&against)]);
}

/// A log that takes a while to copy.
async fn large_log(data: &Path) {
    let signing = || {
        let key = SigningKey::load_or_create(&data.join("signing.key"), &SystemClock)?;
        Ok(Signing { key, beside: data.join("checkpoint") })
    };
    let log = SqliteLog::open_signed(&data.join("log.db"), signing).unwrap();
    for number in 0..LARGE_LOG_BYTES >> 20 {
        log.put_blob(&vec![number as u8; 1 << 20]).await.unwrap();
    }
    let event = NewEvent {
        event_type: "Filled",
        version: 1,
        at: SystemClock.now(),
        meta: Arc::new(Meta::default()),
        body: "{}".to_owned(),
    };
    let appended = log.append(&StreamId("filler-1".into()), Head::default(), vec![event]).await;
    log.durable(appended.unwrap().position).await.unwrap();
}

/// What may be seen of a backup at any moment: nothing that looks whole, or all of it.
fn is_whole(saved: &Path) -> bool {
    let verified = hearth(saved, &["verify"]);
    if saved.join("log.db").exists() {
        assert!(verified.status.success(), "{verified:?}");
        return true;
    }
    assert!(!verified.status.success());
    let elsewhere = tempfile::tempdir().unwrap();
    let said = refused(elsewhere.path(), &["restore", text(saved)]);
    assert!(said.contains("there is no whole backup"), "{said}");
    false
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_killed_at_any_moment_leaves_nothing_that_looks_whole() {
    let home = tempfile::tempdir().unwrap();
    let (data, saved) = (home.path().join("data"), home.path().join("saved"));
    large_log(&data).await;
    let mut broken_off = 0;
    for milliseconds in (0..).step_by(15) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hearth"))
            .args(["backup", text(&saved), "--data", text(&data)])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        tokio::time::sleep(Duration::from_millis(milliseconds)).await;
        child.kill().unwrap();
        child.wait().unwrap();
        if saved.join("log.db.partial").exists() {
            broken_off += 1;
        }
        if is_whole(&saved) {
            break;
        }
    }
    assert!(broken_off > 0, "none was in the middle");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_killed_while_it_backs_up_starts_again_and_backs_up_anew() {
    let sandbox = Sandbox::start(SandboxConfig::instant()).unwrap();
    let home = tempfile::tempdir().unwrap();
    let (data, saved) = (home.path().join("data"), home.path().join("saved"));
    large_log(&data).await;
    let mut server = Server::new(&data, &sandbox.auth_url);
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    // It hears orders before it answers requests.
    api.stacks().await;
    let asking = tokio::task::spawn_blocking({
        let (data, saved) = (data.clone(), saved.clone());
        move || hearth(&data, &["backup", text(&saved)])
    });
    while !saved.join("log.db.partial").exists() && !asking.is_finished() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    server.kill_after(Duration::ZERO).await;
    let answer = asking.await.unwrap();
    let was_whole = is_whole(&saved);
    assert!(was_whole || !answer.status.success(), "{answer:?}");
    server.start();
    api.stacks().await;
    if !was_whole {
        printed(&data, &["backup", text(&saved)]);
        assert!(is_whole(&saved));
    }
    server.stop();
    printed(&data, &["verify"]);
}

#[test]
fn a_log_in_a_database_is_not_taken_for_files() {
    let home = tempfile::tempdir().unwrap();
    let saved = home.path().join("saved");
    for command in ["backup", "restore"] {
        let output = Command::new(env!("CARGO_BIN_EXE_hearth"))
            .args([command, text(&saved), "--data", text(home.path())])
            .env("HEARTH_LOG", "mysql://u:sesame@127.0.0.1:1/d")
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains("`hearth log copy` copies it to a file and back"), "{said}");
        assert!(!said.contains("sesame") && !saved.exists(), "{said}");
    }
}
