//! What an operator does to a server that runs: he replaces the master key, takes a checkpoint
//! away and purges; the server serves on, and a killed one loses nothing of it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use hearth::events::log::{EventLog, LogError, SqliteLog};
use hearth::sandbox::{Sandbox, SandboxConfig};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Api, Reply};
use super::process::Server;

use crate::support::wait::{WAIT_MAX, polled};

pub(super) fn hearth(data: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

pub(super) fn printed(data: &Path, arguments: &[&str]) -> String {
    let output = hearth(data, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

pub(super) fn refused(data: &Path, arguments: &[&str]) -> String {
    let output = hearth(data, arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

pub(super) async fn settled(api: &Api, name: &str, status: &str) -> Value {
    polled(WAIT_MAX, format!("{name} is {status}"), async || {
        let stack = api.get(&format!("/stacks/{name}")).await.unwrap()["stack"].clone();
        if stack["stack_status"] == status { Ok(stack) } else { Err(stack.to_string()) }
    })
    .await
}

pub(super) async fn create(api: &Api, name: &str) -> Value {
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {"random": {"type": "OS::Heat::RandomString"}},
        "outputs": {"value": {"value": {"get_attr": ["random", "value"]}}},
    });
    let body = json!({"stack_name": name, "template": template});
    let reply = api.command(Method::POST, "/stacks", &body).await;
    assert!(matches!(reply, Reply::Accepted(_)), "{reply:?}");
    settled(api, name, "CREATE_COMPLETE").await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_are_replaced_and_history_is_purged_while_the_server_serves() {
    let sandbox = Sandbox::start(SandboxConfig::instant()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::new(data, &sandbox.auth_url);
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    server.ready().await;
    let (living, gone) = (create(&api, "living").await, create(&api, "gone").await);
    let value = living["outputs"][0]["output_value"].clone();
    assert!(value.is_string(), "{living}");

    let before = printed(data, &["key", "show"]);
    let rotated = printed(data, &["key", "rotate"]);
    assert!(rotated.contains("keys were sealed anew under the master key"), "{rotated}");
    let after = printed(data, &["key", "show"]);
    assert_ne!(before.lines().next(), after.lines().next());
    assert_eq!(before.lines().last(), after.lines().last(), "the signing key is the same");
    for file in ["master.key", "signing.key", "admin.sock"] {
        let mode = std::fs::metadata(data.join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }

    let checkpoint = data.join("taken-away");
    std::fs::write(&checkpoint, printed(data, &["checkpoint", "print"])).unwrap();
    let path = format!("/stacks/gone/{}", gone["id"].as_str().unwrap());
    let reply = api.command(Method::DELETE, &path, &Value::Null).await;
    assert!(matches!(reply, Reply::Accepted(_)), "{reply:?}");
    let is_gone = async || api.get("/stacks/gone").await.is_none();
    polled(WAIT_MAX, "it is gone", is_gone).await;
    let purged = printed(data, &["purge", "--older-than", "0", "--granularity", "seconds"]);
    assert!(purged.starts_with("purged: 1 stacks"), "{purged}");
    // A later command is answered when the views have passed the purge.
    create(&api, "later").await;
    assert!(api.get(&path).await.is_none());
    let shown = api.get("/stacks?show_deleted=true").await.unwrap();
    assert_eq!(shown["stacks"].as_array().unwrap().len(), 2, "{shown}");

    server.kill_after(Duration::ZERO).await;
    let against = checkpoint.to_str().unwrap();
    let verified = printed(data, &["verify", "--against", against]);
    assert!(verified.contains("signed up to position"), "{verified}");
    // With nobody serving the command does it itself.
    printed(data, &["key", "rotate"]);
    server.start();
    server.ready().await;
    let living = settled(&api, "living", "CREATE_COMPLETE").await;
    assert_eq!(living["outputs"][0]["output_value"], value);
    server.stop();
    printed(data, &["verify", "--against", against]);
}

async fn delete(api: &Api, stack: &Value) {
    let (name, id) = (stack["stack_name"].as_str().unwrap(), stack["id"].as_str().unwrap());
    let reply = api.command(Method::DELETE, &format!("/stacks/{name}/{id}"), &Value::Null).await;
    assert!(matches!(reply, Reply::Accepted(_)), "{reply:?}");
    let is_gone = async || api.get(&format!("/stacks/{name}")).await.is_none();
    polled(WAIT_MAX, format!("{name} is gone"), is_gone).await;
}

fn key_of(data: &Path, stack: &Value) -> Result<Option<Vec<u8>>, LogError> {
    let log = SqliteLog::open_read_only(&data.join("log.db")).unwrap();
    log.find_key(&format!("stack-{}", stack["id"].as_str().unwrap()))
}

async fn key_is_destroyed(data: &Path, stack: &Value) {
    let is_destroyed = async || matches!(key_of(data, stack), Err(LogError::KeyDestroyed(_)));
    polled(WAIT_MAX, "its key is destroyed", is_destroyed).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_destroys_the_key_of_a_deleted_stack_with_no_purge() {
    let sandbox = Sandbox::start(SandboxConfig::instant()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::new(data, &sandbox.auth_url);
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    server.ready().await;
    let mut stacks = Vec::new();
    for name in ["living", "gone", "gone-before-a-crash"] {
        stacks.push(create(&api, name).await);
        assert!(key_of(data, &stacks[stacks.len() - 1]).unwrap().is_some(), "{name}");
    }
    delete(&api, &stacks[1]).await;
    key_is_destroyed(data, &stacks[1]).await;
    delete(&api, &stacks[2]).await;
    server.kill_after(Duration::ZERO).await;
    assert!(key_of(data, &stacks[2]).unwrap().is_some(), "it was killed before that");
    server.start();
    server.ready().await;
    key_is_destroyed(data, &stacks[2]).await;
    assert!(key_of(data, &stacks[0]).unwrap().is_some());
    server.stop();
    printed(data, &["verify"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_was_told_to_stop_leaves_all_in_the_log_file_itself() {
    let sandbox = Sandbox::start(SandboxConfig::instant()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::new(data, &sandbox.auth_url);
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    server.ready().await;
    create(&api, "web").await;
    let alone = |name: &str| {
        let copy = data.join(name);
        std::fs::create_dir(&copy).unwrap();
        std::fs::copy(data.join("log.db"), copy.join("log.db")).unwrap();
        std::fs::copy(data.join("signing.key"), copy.join("signing.key")).unwrap();
        copy
    };
    let said = refused(&alone("while-it-runs"), &["verify"]);
    assert!(said.contains("what came after position"), "{said}");
    server.terminate();
    let whole = printed(data, &["verify"]);
    let copied = printed(&alone("after-its-end"), &["verify"]);
    assert_eq!(whole.lines().next(), copied.lines().next());
    assert!(!copied.starts_with("0 events"), "{copied}");
}

#[test]
fn a_server_that_finds_the_log_locked_makes_no_key() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let first = SqliteLog::open(&data.join("log.db")).unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--sandbox", "http://127.0.0.1:9/v3"];
    let said = refused(data, &serve);
    assert!(said.contains("is in use by another process"), "{said}");
    assert!(!data.join("signing.key").exists(), "the first one may just be making it");
    drop(first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_does_not_start_with_an_exposed_or_missing_master_key() {
    let sandbox = Sandbox::start(SandboxConfig::instant()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path();
    let mut server = Server::new(data, &sandbox.auth_url);
    server.start();
    let api = Api::log_in(&sandbox.auth_url, server.port).await;
    server.ready().await;
    create(&api, "web").await;
    server.stop();

    let serve = ["serve", "--listen", "127.0.0.1:0", "--sandbox", sandbox.auth_url.as_str()];
    let key = data.join("master.key");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let said = refused(data, &serve);
    assert!(said.contains("may be read by others than its owner (mode 0640)"), "{said}");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let moved = elsewhere.path().join("kept.key");
    std::fs::rename(&key, &moved).unwrap();
    let said = refused(data, &serve);
    assert!(said.contains("there is no master key at"), "{said}");
    let shown = printed(data, &["key", "show", "--master-key", moved.to_str().unwrap()]);
    assert!(shown.starts_with("master key "), "{shown}");
}
