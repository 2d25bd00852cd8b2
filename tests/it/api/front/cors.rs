//! Pages of other sites: which of them may read answers in a browser.

use hearth::api::{Cors, FrontSettings};

use crate::api::app::{Answered, App};

const ALLOWED: &str = "https://horizon.test";

fn front() -> FrontSettings {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect();
    let cors = Cors {
        allowed_origins: words(ALLOWED),
        allow_credentials: true,
        expose_headers: words("X-OpenStack-Request-ID"),
        max_age: 3600,
        allow_methods: words("GET POST"),
        allow_headers: words("X-Auth-Token"),
    };
    FrontSettings { cors, ..FrontSettings::default() }
}

/// Asks as a browser does before it lets a page send something.
async fn preflight(app: &App, origin: &str, method: &str, headers: &str) -> Answered {
    let path = format!("/v1/{}/stacks", app.project);
    let asked = [
        ("origin", origin),
        ("access-control-request-method", method),
        ("access-control-request-headers", headers),
    ];
    app.send("OPTIONS", &path, &asked, None).await
}

#[actix::test]
async fn a_page_of_an_allowed_site_is_told_what_it_may_send() {
    let app = App::behind(front()).await;
    let told = preflight(&app, ALLOWED, "POST", "x-auth-token, content-type").await;
    assert_eq!(told.status, 200);
    assert_eq!(told.header("access-control-allow-origin"), ALLOWED);
    assert_eq!(told.header("access-control-allow-credentials"), "true");
    assert_eq!(told.header("access-control-allow-methods"), "POST");
    assert_eq!(told.header("access-control-allow-headers"), "x-auth-token,content-type");
    assert_eq!(told.header("access-control-max-age"), "3600");
    let path = format!("/v1/{}/stacks", app.project);
    let asked = [("origin", ALLOWED), ("x-auth-token", app.token.as_str())];
    let read = app.send("GET", &path, &asked, None).await;
    assert_eq!(read.status, 200);
    assert_eq!(read.header("access-control-allow-origin"), ALLOWED);
    assert_eq!(read.header("access-control-expose-headers"), "X-OpenStack-Request-ID");
    assert_eq!(read.header("vary"), "Origin");
    app.stop().await;
}

#[actix::test]
async fn a_page_of_any_other_site_reads_nothing() {
    let app = App::behind(front()).await;
    for (origin, method, headers) in [
        ("https://evil.test", "GET", ""),
        ("https://horizon.test.evil.test", "GET", ""),
        ("null", "GET", ""),
        (ALLOWED, "DELETE", ""),
        (ALLOWED, "GET", "x-evil"),
    ] {
        let told = preflight(&app, origin, method, headers).await;
        assert_eq!(told.header("access-control-allow-origin"), "", "{origin} {method} {headers}");
    }
    let path = format!("/v1/{}/stacks", app.project);
    let asked = [("origin", "https://evil.test"), ("x-auth-token", app.token.as_str())];
    let read = app.send("GET", &path, &asked, None).await;
    assert_eq!(read.header("access-control-allow-origin"), "");
    app.stop().await;
}

#[actix::test]
async fn without_the_option_no_page_is_told_anything() {
    let app = App::start().await;
    let told = preflight(&app, ALLOWED, "GET", "").await;
    assert_eq!(told.header("access-control-allow-origin"), "");
    app.stop().await;
}
