//! What an operator does to a server that runs: he replaces the master key, takes a checkpoint
//! away and purges; the server serves on, and a killed one loses nothing of it.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use hearth::sandbox::{Sandbox, SandboxConfig};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::{Api, Reply};
use super::process::Server;

fn hearth(data: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(arguments)
        .arg("--data")
        .arg(data)
        .output()
        .unwrap()
}

fn printed(data: &Path, arguments: &[&str]) -> String {
    let output = hearth(data, arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn refused(data: &Path, arguments: &[&str]) -> String {
    let output = hearth(data, arguments);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

async fn settled(api: &Api, name: &str, status: &str) -> Value {
    loop {
        let stack = api.get(&format!("/stacks/{name}")).await.unwrap()["stack"].clone();
        if stack["stack_status"] == status {
            return stack;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}

async fn create(api: &Api, name: &str) -> Value {
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
    while api.get("/stacks/gone").await.is_some() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let purged = printed(data, &["purge", "--older-than", "0", "--granularity", "seconds"]);
    assert!(purged.starts_with("purged: 1 stacks"), "{purged}");
    // A later command is answered when the views have passed the purge.
    create(&api, "later").await;
    assert!(api.get(&path).await.is_none());
    let shown = api.get("/stacks?show_deleted=true").await.unwrap();
    assert_eq!(shown["stacks"].as_array().unwrap().len(), 2, "{shown}");

    server.kill_after(std::time::Duration::ZERO).await;
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
