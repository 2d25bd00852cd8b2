//! A sandbox that others than this machine's users reach is no open door.

use serde_json::json;

use super::process::{Served, refused};

/// Loopback in the clothes of another address: what is told from loopback by looking at the
/// address takes it for one that others reach.
const EXPOSED: &str = "[::ffff:127.0.0.1]:0";
const CHOSEN: &str = "it's chosen";

/// The status of a login as `demo`.
async fn login(keystone: &str, password: &str) -> u16 {
    let user = json!({ "name": "demo", "domain": { "name": "Default" }, "password": password });
    let identity = json!({ "methods": ["password"], "password": { "user": user } });
    let body = json!({ "auth": { "identity": identity } });
    let url = format!("{keystone}/auth/tokens");
    reqwest::Client::new().post(url).json(&body).send().await.unwrap().status().as_u16()
}

#[test]
fn a_sandbox_for_everybody_does_not_start_with_the_password_that_everybody_knows() {
    let home = tempfile::tempdir().unwrap();
    for (address, variables) in [
        ("0.0.0.0:0", [].as_slice()),
        (EXPOSED, &[("HEARTH_SANDBOX__PASSWORD", "secret")]),
        (EXPOSED, &[("HEARTH_SANDBOX__PASSWORD", "")]),
    ] {
        let said = refused(home.path(), &["--sandbox-listen", address], variables);
        assert!(said.contains("set [sandbox] password"), "{said}");
    }
}

#[test]
fn a_sandbox_alone_for_everybody_does_not_start_either() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(["sandbox", "--listen", "0.0.0.0:0"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("HEARTH_SANDBOX__PASSWORD"), "{said}");
}

#[actix::test]
async fn an_exposed_sandbox_takes_the_operators_password_alone_and_shows_no_admin_routes() {
    let home = tempfile::tempdir().unwrap();
    // Users of a start on loopback had the usual password.
    let served = Served::start(home.path(), &[], &[]);
    let keystone = served.told("sandbox cloud").to_owned();
    assert_eq!(login(&keystone, "secret").await, 201);
    let root = keystone.trim_end_matches("/v3");
    let admin = reqwest::get(format!("{root}/admin/state")).await.unwrap();
    assert_eq!(admin.status(), 200);
    served.stop();

    let variables = [("HEARTH_SANDBOX__PASSWORD", CHOSEN)];
    let served = Served::start(home.path(), &["--sandbox-listen", EXPOSED], &variables);
    let keystone = served.told("sandbox cloud").to_owned();
    assert_eq!(login(&keystone, "secret").await, 401);
    assert_eq!(login(&keystone, CHOSEN).await, 201);
    let root = keystone.trim_end_matches("/v3");
    for path in ["/admin/state", "/admin/faults", "//admin/state", "/%61dmin/state"] {
        let status = reqwest::get(format!("{root}{path}")).await.unwrap().status();
        assert!(matches!(status.as_u16(), 401 | 404), "{path}: {status}");
    }
    let clouds = std::fs::read_to_string(home.path().join("clouds.yaml")).unwrap();
    assert!(clouds.contains("password: 'it''s chosen'"), "{clouds}");
    served.stop();
}
