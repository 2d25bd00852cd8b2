//! Heads that are made to be misread: by this server, by a proxy before it, or by the client that
//! follows its links.

use hearth::api::{FrontSettings, Proxy};

use super::{exchange, patience};
use crate::api::app::App;

const STACK: &str = "/v1/PROJECT/stacks/web";

/// Where a named stack is sent on to, by a request with these headers.
async fn location(app: &App, headers: &[(&str, &str)]) -> String {
    let path = STACK.replace("PROJECT", &app.project);
    let mut all = vec![("x-auth-token", app.token.as_str())];
    all.extend(headers);
    let answer = app.send("GET", &path, &all, None).await;
    assert_eq!(answer.status, 302, "{}", answer.text);
    answer.header("location").to_owned()
}

#[actix::test]
async fn a_client_cannot_write_the_links_that_others_follow() {
    let app = App::start().await;
    app.create("web", serde_json::json!({ "heat_template_version": "2021-04-16" })).await;
    let own = app.url.clone();
    for headers in [
        [("x-forwarded-proto", "javascript")],
        [("x-forwarded-proto", "https")],
        [("x-forwarded-host", "evil.test")],
        [("x-forwarded-prefix", "//evil.test")],
        [("forwarded", "host=evil.test;proto=javascript")],
    ] {
        let found = location(&app, &headers).await;
        assert!(found.starts_with(&format!("{own}/v1/")), "{headers:?}: {found}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_proxy_that_the_operator_named_is_believed_as_far_as_it_can_be_true() {
    let proxy = Proxy { is_there: true, scheme_header: None };
    let app = App::behind(FrontSettings { proxy, ..FrontSettings::default() }).await;
    app.create("web", serde_json::json!({ "heat_template_version": "2021-04-16" })).await;
    let told = [("x-forwarded-proto", "https"), ("x-forwarded-host", "heat.test")];
    let found = location(&app, &told).await;
    assert!(found.starts_with("https://heat.test/v1/"), "{found}");
    let forwarded = [("forwarded", "for=1.2.3.4;host=heat.test;proto=https")];
    let found = location(&app, &forwarded).await;
    assert!(found.starts_with("https://heat.test/v1/"), "{found}");
    let prefix = [("x-forwarded-prefix", "/orchestration")];
    let found = location(&app, &prefix).await;
    assert!(found.starts_with(&format!("{}/orchestration/v1/", app.url)), "{found}");
    let found = location(&app, &[("x-forwarded-proto", "javascript")]).await;
    assert!(found.starts_with(&format!("{}/v1/", app.url)), "{found}");
    app.stop().await;
}

#[actix::test]
async fn a_host_that_is_none_is_refused() {
    let app = App::start().await;
    for host in ["evil.test/x?", "a b", "user@evil.test", "a:port", "\"><script>", "[::1"] {
        let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        let answer = exchange(&app, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{host}: {answer}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_body_with_two_lengths_is_no_way_to_smuggle_a_request() {
    let app = App::start().await;
    let smuggled = "GET /healthcheck HTTP/1.1\r\nhost: a\r\n\r\n";
    let lengths = [
        format!("content-length: {}\r\ntransfer-encoding: chunked", smuggled.len() + 5),
        format!("content-length: 5\r\ncontent-length: {}", smuggled.len()),
        "transfer-encoding: chunked\r\ntransfer-encoding: identity".to_owned(),
        "transfer-encoding: xchunked".to_owned(),
        "content-length: +5".to_owned(),
        "content-length: -1".to_owned(),
        "content-length : 5".to_owned(),
    ];
    for length in lengths {
        let request = format!("POST / HTTP/1.1\r\nhost: a\r\n{length}\r\n\r\n0\r\n\r\n{smuggled}");
        let answer = exchange(&app, request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{length}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{length}: {answer}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_head_of_any_size_costs_no_more_than_its_bound() {
    let app = App::behind(patience(|_| ())).await;
    let close = "host: a\r\nconnection: close\r\n";
    let long = "a".repeat(20_000);
    let cases = [
        (format!("GET /{long} HTTP/1.1\r\n{close}\r\n"), 414),
        (format!("GET / HTTP/1.1\r\n{close}x-a: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\n{close}x-auth-token: {long}\r\n\r\n"), 431),
        (format!("GET / HTTP/1.1\r\n{close}{}\r\n", "x-a: b\r\n".repeat(500)), 431),
        (format!("GET / HTTP/1.1\r\n{close}x-a: {}\r\n\r\n", "a".repeat(200_000)), 431),
    ];
    for (request, status) in cases {
        let answer = exchange(&app, request.as_bytes()).await;
        let begin: String = request.chars().take(60).collect();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{begin}: {answer:.100}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_body_over_the_operators_bound_is_413() {
    let front = FrontSettings { body_size_max: Some(1000), ..FrontSettings::default() };
    let app = App::behind(front).await;
    let body = serde_json::json!({ "stack_name": "a".repeat(1000) });
    let refused = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(refused.status, 413, "{}", refused.text);
    assert_eq!(refused.json()["error"]["type"], "HTTPRequestEntityTooLarge");
    app.stop().await;
}
