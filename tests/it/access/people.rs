//! One of each kind who may come with a token, and how tokens of all kinds are got.

use serde_json::{Value, json};

use crate::api::app::App;

/// Who comes, with which token, and in whose project he says he is.
pub(super) struct Person {
    pub(super) kind: &'static str,
    pub(super) token: Option<String>,
    pub(super) project: String,
}

/// The sandbox's Keystone, as its administrator.
pub(super) struct Keystone<'a> {
    app: &'a App,
    admin: String,
}

impl<'a> Keystone<'a> {
    pub(super) async fn of(app: &'a App) -> Self {
        let (admin, _) = app.login("admin", "admin").await;
        Self { app, admin }
    }

    /// A call that must succeed; what came back.
    pub(super) async fn call(&self, verb: &str, path: &str, body: Option<Value>) -> Value {
        self.call_as(&self.admin, verb, path, body).await
    }

    async fn call_as(&self, token: &str, verb: &str, path: &str, body: Option<Value>) -> Value {
        let url = format!("{}/{path}", self.app.keystone.trim_end_matches('/'));
        let mut request = self.app.client.request(verb.parse().unwrap(), url);
        request = request.header("x-auth-token", token);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let (status, text) = (answer.status(), answer.text().await.unwrap());
        assert!(status.is_success(), "{verb} {path}: {status} {text}");
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// The id of what a list has under a name.
    pub(super) async fn id(&self, collection: &str, name: &str) -> String {
        let listed = self.call("GET", &format!("{collection}?name={name}"), None).await;
        listed[collection][0]["id"].as_str().unwrap().to_owned()
    }

    /// Gives a user a role: `place` is `projects/ID`, `domains/ID` or `system`.
    pub(super) async fn grant(&self, place: &str, user: &str, role: &str) {
        let (user, role) = (self.id("users", user).await, self.id("roles", role).await);
        self.call("PUT", &format!("{place}/users/{user}/roles/{role}"), None).await;
    }

    /// A new user of the usual password.
    pub(super) async fn user(&self, name: &str) {
        let user = json!({ "name": name, "domain_id": "default", "password": "secret" });
        self.call("POST", "users", Some(json!({ "user": user }))).await;
    }

    /// A token for a scope: by the password of a user, or by what else is said.
    pub(super) async fn token(&self, identity: Value, scope: Option<Value>) -> String {
        let mut auth = json!({ "identity": identity });
        if let Some(scope) = scope {
            auth["scope"] = scope;
        }
        let url = format!("{}/auth/tokens", self.app.keystone.trim_end_matches('/'));
        let answer = self.app.client.post(url).json(&json!({ "auth": auth })).send().await.unwrap();
        assert_eq!(answer.status().as_u16(), 201, "{auth}");
        answer.headers()["x-subject-token"].to_str().unwrap().to_owned()
    }
}

/// How a user proves himself.
pub(super) fn password(user: &str) -> Value {
    let user = json!({ "name": user, "domain": { "id": "default" }, "password": "secret" });
    json!({ "methods": ["password"], "password": { "user": user } })
}

/// All of them. `handles` are the tokens of two users that the stack has for two of its resources,
/// `users` the project that they are in.
pub(super) async fn all(app: &App, handles: [String; 2], users: &str) -> Vec<Person> {
    let keystone = Keystone::of(app).await;
    let own = format!("projects/{}", app.project);
    for (user, role) in [("rita", "reader"), ("norma", "heat_stack_owner")] {
        keystone.user(user).await;
        keystone.grant(&own, user, role).await;
    }
    keystone.grant("domains/default", "admin", "admin").await;
    keystone.grant("system", "admin", "admin").await;
    let project =
        |name: &str| json!({ "project": { "name": name, "domain": { "id": "default" } } });
    let of =
        async |user: &str, scope: Value| Some(keystone.token(password(user), Some(scope)).await);

    let revoked = keystone.token(password("demo"), Some(project("demo"))).await;
    let url = format!("{}/auth/tokens", app.keystone.trim_end_matches('/'));
    let revoke = app.client.delete(url).header("x-auth-token", &revoked);
    let ended = revoke.header("x-subject-token", &revoked).send().await.unwrap();
    assert_eq!(ended.status().as_u16(), 204);

    let here = |kind, token| Person { kind, token, project: app.project.clone() };
    let (stranger, strangers) = app.login("alt_demo", "alt_demo").await;
    let [own_handle, other_handle] = handles;
    vec![
        here("no token", None),
        here("garbage", Some("gAAAAABgarbage".to_owned())),
        here("revoked", Some(revoked)),
        here("unscoped", of("admin", json!("unscoped")).await),
        here("domain", of("admin", json!({ "domain": { "id": "default" } })).await),
        here("system", of("admin", json!({ "system": { "all": true } })).await),
        here("other project", Some(stranger.clone())),
        Person { kind: "other project at home", token: Some(stranger), project: strangers },
        here("no role", of("norma", project("demo")).await),
        here("reader", of("rita", project("demo")).await),
        here("member", Some(app.token.clone())),
        here("admin", of("admin", project("demo")).await),
        here("restricted", Some(restricted(&keystone, app).await)),
        Person { kind: "stack user", token: Some(own_handle), project: users.to_owned() },
        Person {
            kind: "stack user of another",
            token: Some(other_handle),
            project: users.to_owned(),
        },
    ]
}

/// By an application credential of demo's that may make no further ways in.
async fn restricted(keystone: &Keystone<'_>, app: &App) -> String {
    let demo = keystone.id("users", "demo").await;
    let asked = json!({ "application_credential": {
        "name": "walk", "roles": [{ "name": "member" }, { "name": "reader" }],
    } });
    let path = format!("users/{demo}/application_credentials");
    let made = keystone.call_as(&app.token, "POST", &path, Some(asked)).await;
    let made = &made["application_credential"];
    let identity = json!({
        "methods": ["application_credential"],
        "application_credential": { "id": made["id"], "secret": made["secret"] },
    });
    keystone.token(identity, None).await
}
