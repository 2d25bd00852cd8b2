//! What was acknowledged is there after a restart, however the process ended.

use std::io::Write;

use hearth::sandbox::{Sandbox, SandboxConfig};
use serde_json::json;

use super::User;

#[tokio::test]
async fn a_restart_finds_the_same_cloud() {
    let directory = tempfile::tempdir().unwrap();
    let config = |directory: &std::path::Path| SandboxConfig {
        data: Some(directory.to_owned()),
        ..SandboxConfig::instant()
    };
    let sandbox = Sandbox::start(config(directory.path())).unwrap();
    let demo = User::of(&sandbox, "demo").await;
    let (network, _) = demo.network("10.7.0.0/24").await;
    let port = demo.make("ports", "port", json!({"network_id": network})).await;
    demo.delete(&format!("/network/v2.0/ports/{port}")).await.ok();
    demo.make("ports", "port", json!({"network_id": network, "name": "kept"})).await;
    let scope = json!({"name": "kept", "ip_version": 4});
    demo.make("address-scopes", "address_scope", scope).await;
    let before = sandbox.state();
    assert_eq!(before["network.address_scope"]["count"], 1);

    // What lies on the disk now is what a killed process leaves, in mid-write.
    let left = tempfile::tempdir().unwrap();
    let journal = left.path().join("sandbox.journal");
    std::fs::copy(directory.path().join("sandbox.journal"), &journal).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&journal).unwrap();
    file.write_all(b"[[\"networks\",99,\"half").unwrap();
    sandbox.stop().await;

    let again = Sandbox::start(config(left.path())).unwrap();
    assert_eq!(again.state(), before);
    // The token still counts, and what is written now follows what was there.
    let same = User { base: format!("http://{}", again.address), ..demo };
    same.make("networks", "network", json!({"name": "later"})).await;
    let before = again.state();
    again.stop().await;
    let third = Sandbox::start(config(left.path())).unwrap();
    assert_eq!(third.state(), before);
}

#[tokio::test]
async fn what_an_older_sandbox_kept_of_snapshots_and_backups_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let config =
        || SandboxConfig { data: Some(directory.path().to_owned()), ..SandboxConfig::instant() };
    let sandbox = Sandbox::start(config()).unwrap();
    let demo = User::of(&sandbox, "demo").await;
    let project = demo.project.clone();
    sandbox.stop().await;
    let row = |name: &str| {
        json!({
            "id": name, "name": name, "description": null, "project_id": project,
            "volume_id": "v", "size": 2, "status": "creating", "metadata": {"k": "v"},
            "created_at": "2026-01-01T00:00:00.123456789Z", "updated_at": "2026-01-01T00:00:00Z",
        })
    };
    let turn = |kind: &str| json!({"at": "2026-01-01T00:00:01Z", "turn": {kind: {"id": kind, "status": "available"}}});
    let entries = json!([
        ["snapshots", 0, "snapshot", row("snapshot")],
        ["backups", 0, "backup", row("backup")],
        ["laters", 900, "one", turn("snapshot")],
        ["laters", 901, "two", turn("backup")],
    ]);
    let journal = directory.path().join("sandbox.journal");
    let mut file = std::fs::OpenOptions::new().append(true).open(&journal).unwrap();
    writeln!(file, "{entries}").unwrap();

    let again = Sandbox::start(config()).unwrap();
    let demo = User { base: format!("http://{}", again.address), ..demo };
    let base = format!("/volume/v3/{project}");
    let snapshot = demo.get(&format!("{base}/snapshots/snapshot")).await.ok()["snapshot"].clone();
    assert_eq!(
        snapshot,
        json!({
            "id": "snapshot", "name": "snapshot", "description": null, "volume_id": "v", "size": 2,
            "status": "available", "metadata": {"k": "v"},
            "created_at": "2026-01-01T00:00:00.123456",
            "updated_at": "2026-01-01T00:00:01.000000",
            "os-extended-snapshot-attributes:progress": "100%",
            "os-extended-snapshot-attributes:project_id": project,
        })
    );
    let backups = demo.get(&format!("{base}/backups/detail")).await.ok()["backups"].clone();
    assert_eq!(
        (&backups[0]["status"], &backups[0]["fail_reason"]),
        (&json!("available"), &json!(null))
    );
}
