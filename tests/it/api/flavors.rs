//! By what a request shows whose it is, where that is not by a token: the flavors `standalone` and
//! `noauth`.

use hearth::api::{Auth, FrontSettings};
use hearth::model::Secret;
use serde_json::Value;

use super::app::App;

async fn behind(auth: Auth) -> App {
    App::behind(FrontSettings { auth, ..FrontSettings::default() }).await
}

/// The status of a list of stacks in a project, and the body.
async fn list(app: &App, project: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = app.client.get(format!("{}/v1/{project}/stacks", app.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

#[actix::test]
async fn a_name_and_a_password_do_where_the_server_stands_alone() {
    let app = behind(Auth::Password).await;
    let project = app.project.clone();
    let user = ("x-auth-user", "demo");
    let right = [user, ("x-auth-key", "secret")];
    for _ in 0..2 {
        let (status, body) = list(&app, &project, &right).await;
        assert_eq!((status, &body["stacks"]), (200, &Value::Array(Vec::new())));
    }
    let (status, _) = list(&app, &project, &[("x-auth-token", &app.token)]).await;
    assert_eq!(status, 200);
    let domain = ("x-user-domain-id", "no-such-domain");
    for wrong in [
        &[user, ("x-auth-key", "wrong")][..],
        &[user, ("x-auth-key", "")],
        &[("x-auth-key", "secret")],
        &[("x-auth-user", "admin"), ("x-auth-key", "wrong")],
        &[user, ("x-auth-key", "secret"), domain],
        &[user],
    ] {
        assert_eq!(list(&app, &project, wrong).await.0, 401, "{wrong:?}");
    }
    // It is for the project of the URL, and that has to be one of his.
    let (_, other) = app.login("admin", "admin").await;
    for project in [other.as_str(), "no-such-project", "%20"] {
        assert_eq!(list(&app, project, &right).await.0, 401, "{project}");
    }
}

#[actix::test]
async fn a_name_and_a_password_do_nothing_elsewhere() {
    let app = behind(Auth::Token).await;
    let headers = [("x-auth-user", "demo"), ("x-auth-key", "secret")];
    assert_eq!(list(&app, &app.project, &headers).await.0, 401);
}

#[actix::test]
async fn nothing_is_asked_where_nothing_is_to_be_shown() {
    let password = Secret::new("secret".to_owned());
    let app = behind(Auth::Nothing { password }).await;
    assert_eq!(list(&app, "anything", &[]).await.0, 200);
    let demo = [("x-auth-user", "demo"), ("x-auth-project", "demo")];
    assert_eq!(list(&app, &app.project, &demo).await.0, 200);
    // What he says has to be possible, and a token still has to be a good one.
    assert_eq!(list(&app, "admin", &[("x-auth-user", "nobody")]).await.0, 401);
    assert_eq!(list(&app, "admin", &[("x-auth-token", "bad")]).await.0, 401);
    // No page of another site may ask through a browser on this machine.
    for header in [("origin", "http://evil.example"), ("host", "evil.example:8004")] {
        assert_eq!(list(&app, "admin", &[header]).await.0, 401, "{header:?}");
    }
    assert_eq!(list(&app, "admin", &[("host", "[::1]:8004")]).await.0, 200);
}
