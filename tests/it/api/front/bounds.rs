//! Nobody has more open than his share.

use std::path::Path;
use std::time::Duration;

use hearth::api::{FrontSettings, OpenLimits, TlsFiles};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::{answer_head, connect, until_closed};
use crate::api::app::App;
use crate::support::tls::AUTHORITY;
use crate::support::wait::polled;

/// How long what ended may still count.
const WITHIN: Duration = Duration::from_secs(20);

/// A front with these bounds and no others.
fn at_most(change: impl FnOnce(&mut OpenLimits)) -> FrontSettings {
    let mut limits = OpenLimits {
        connections: None,
        connections_per_address: None,
        connections_per_user: None,
        connections_per_project: None,
        requests_per_user: None,
        requests_per_project: None,
        feeds_per_user: None,
        feeds_per_project: None,
    };
    change(&mut limits);
    FrontSettings { limits, ..FrontSettings::default() }
}

/// Waits until a connection is taken again, as it is when others have ended.
async fn comes_back(app: &App) {
    let is_taken = async || {
        let mut socket = connect(app).await;
        socket.write_all(b"GET /healthcheck HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        answer_head(&mut socket).await.starts_with("HTTP/1.1 200 ")
    };
    polled(WITHIN, "a connection is taken", is_taken).await;
}

#[actix::test]
async fn a_stranger_cannot_take_all_connections_and_who_signed_in_is_not_counted_with_him() {
    let app = App::behind(at_most(|it| it.connections_per_address = Some(3))).await;
    // The client of the test has signed in on its connection.
    assert_eq!(app.get("/stacks").await.status, 200);
    let mut held = Vec::new();
    for _ in 0..3 {
        let mut socket = connect(&app).await;
        socket.write_all(b"GET /v1/p/stacks HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
        assert!(answer_head(&mut socket).await.starts_with("HTTP/1.1 401 "));
        held.push(socket);
    }
    let refused = until_closed(&mut connect(&app).await).await;
    assert!(refused.starts_with("HTTP/1.1 429 Too Many Requests\r\n"), "{refused}");
    assert!(refused.contains("retry-after: ") && refused.contains("HTTPTooManyRequests"));
    let (_, body) = refused.split_once("\r\n\r\n").unwrap();
    serde_json::from_str::<serde_json::Value>(body).unwrap();
    assert_eq!(app.get("/stacks").await.status, 200);
    drop(held);
    comes_back(&app).await;
    app.stop().await;
}

#[actix::test]
async fn who_is_turned_away_over_tls_is_told_so_and_a_flood_is_not_waited_for() {
    let file = |name: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name);
    let files = TlsFiles {
        certificate: file("server.pem"),
        key: file("server.key"),
        client_authorities: None,
    };
    let front = at_most(|it| it.connections_per_address = Some(1));
    let app = App::behind(FrontSettings { tls: Some(files), ..front }).await;
    let held = connect(&app).await;
    let authority = reqwest::Certificate::from_pem(AUTHORITY.as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([authority]).build().unwrap();
    let url = format!("{}/healthcheck", app.url.replace("http:", "https:"));
    let refused = client.get(&url).send().await.unwrap();
    assert_eq!(refused.status(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(refused.json::<serde_json::Value>().await.unwrap()["code"], 429);
    // Who floods says nothing himself: the others are told in seven bytes of an alert.
    let mut alerts = 0;
    for _ in 0..10 {
        let mut flood = Vec::new();
        for _ in 0..20 {
            flood.push(connect(&app).await);
        }
        let mut last = flood.pop().unwrap();
        let mut told = Vec::new();
        let _ = last.read_to_end(&mut told).await;
        alerts += usize::from(told == [21, 3, 3, 0, 2, 2, 80]);
        if alerts > 0 {
            break;
        }
    }
    assert_eq!(alerts, 1);
    drop(held);
    let is_taken =
        async || client.get(&url).send().await.is_ok_and(|answer| answer.status() == 200);
    polled(WITHIN, "a connection is taken", is_taken).await;
    app.stop().await;
}

#[actix::test]
async fn there_are_no_more_connections_than_there_may_be() {
    let app = App::behind(at_most(|it| it.connections = Some(2))).await;
    assert_eq!(app.get("/stacks").await.status, 200);
    let held = connect(&app).await;
    let refused = until_closed(&mut connect(&app).await).await;
    assert!(refused.starts_with("HTTP/1.1 503 "), "{refused}");
    drop(held);
    comes_back(&app).await;
    app.stop().await;
}

#[actix::test]
async fn a_user_has_his_share_of_connections_and_his_project_has_its_own() {
    for bound in [
        at_most(|it| it.connections_per_user = Some(1)),
        at_most(|it| it.connections_per_project = Some(1)),
    ] {
        let app = App::behind(bound).await;
        assert_eq!(app.get("/stacks").await.status, 200);
        let other = reqwest::Client::new();
        let ask = async |token: &str, project: &str| {
            let url = format!("{}/v1/{project}/stacks", app.url);
            other.get(url).header("x-auth-token", token).send().await.unwrap()
        };
        let refused = ask(&app.token, &app.project).await;
        assert_eq!(refused.status(), 429);
        assert!(refused.headers().contains_key("retry-after"));
        assert_eq!(refused.json::<serde_json::Value>().await.unwrap()["code"], 429);
        // Another tenant's are his own.
        let (token, project) = app.login("alt_demo", "alt_demo").await;
        assert_eq!(ask(&token, &project).await.status(), 200);
        app.stop().await;
    }
}

#[actix::test]
async fn a_users_requests_at_work_are_bounded_and_nobody_elses_wait_for_them() {
    let app = App::behind(at_most(|it| it.requests_per_user = Some(2))).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut socket = connect(&app).await;
        let head = format!(
            "POST /v1/{}/stacks HTTP/1.1\r\nhost: a\r\nx-auth-token: {}\r\n\
             content-length: 10\r\n\r\n",
            app.project, app.token
        );
        socket.write_all(head.as_bytes()).await.unwrap();
        held.push(socket);
    }
    // The bodies are waited for, so these requests are at work until they come.
    let refused = async || Some(app.get("/stacks").await).filter(|answer| answer.status != 200);
    let refused = polled(WITHIN, "a refusal", refused).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["error"]["type"], "HTTPTooManyRequests");
    let (token, project) = app.login("alt_demo", "alt_demo").await;
    let path = format!("/v1/{project}/stacks");
    let asked = app.send("GET", &path, &[("x-auth-token", &token)], None).await;
    assert_eq!(asked.status, 200);
    drop(held);
    polled(WITHIN, "an answer", async || app.get("/stacks").await.status == 200).await;
    app.stop().await;
}

#[actix::test]
async fn feeds_are_bounded_and_one_that_ends_makes_room() {
    let app = App::behind(at_most(|it| it.feeds_per_user = Some(2))).await;
    let open = async || {
        let url = format!("{}/v1/{}/feed", app.url, app.project);
        app.client.get(url).header("x-auth-token", &app.token).send().await.unwrap()
    };
    let (one, two) = (open().await, open().await);
    assert_eq!((one.status(), two.status()), (200.try_into().unwrap(), 200.try_into().unwrap()));
    assert_eq!(open().await.status(), 429);
    drop(one);
    polled(WITHIN, "room for a feed", async || open().await.status() == 200).await;
    app.stop().await;
}
