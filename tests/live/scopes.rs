//! Tokens that are for a domain, the system or nothing: what Keystone says of them, what the
//! sandbox's Keystone says, and what they reach.

use std::collections::BTreeSet;
use std::sync::Arc;

use hearth::clock::SystemClock;
use hearth::model::Secret;
use hearth::openstack::{Request, Service};
use hearth::policy::Policy;
use hearth::sandbox::{Sandbox, SandboxConfig};
use serde_json::{Value, json};

use crate::real_cloud::{RealCloud, alone};
use crate::served::Served;

/// A Keystone that gives tokens to its `admin`, whose password is `secret`.
struct Keystone {
    url: String,
    http: reqwest::Client,
}

impl Keystone {
    fn at(url: &str) -> Self {
        let url = url.trim_end_matches('/');
        let url = if url.ends_with("/v3") { url.to_owned() } else { format!("{url}/v3") };
        Self { url, http: reqwest::Client::new() }
    }

    /// A token of a user's, and its body when it is given out and when it is checked.
    async fn token(&self, user: &str, scope: Value) -> Result<(String, [Value; 2]), u16> {
        let user = json!({ "name": user, "domain": { "id": "default" }, "password": "secret" });
        let identity = json!({ "methods": ["password"], "password": { "user": user } });
        let body = json!({ "auth": { "identity": identity, "scope": scope } });
        let url = format!("{}/auth/tokens", self.url);
        let given = self.http.post(&url).json(&body).send().await.unwrap();
        if given.status() != 201 {
            return Err(given.status().as_u16());
        }
        let token = given.headers()["x-subject-token"].to_str().unwrap().to_owned();
        let given: Value = given.json().await.unwrap();
        let check = self.http.get(&url).header("x-auth-token", &token);
        let checked = check.header("x-subject-token", &token).send().await.unwrap();
        Ok((token, [given, checked.json().await.unwrap()]))
    }

    /// Gives or takes the administrator's role on a domain to or from `admin`.
    async fn administer_domain(&self, verb: &str) {
        let (token, [given, _]) = self.token("admin", in_project("admin")).await.unwrap();
        let admin = given["token"]["user"]["id"].as_str().unwrap();
        let roles = given["token"]["roles"].as_array().unwrap();
        let role = roles.iter().find(|role| role["name"] == "admin").unwrap();
        let role = role["id"].as_str().unwrap();
        let url = format!("{}/domains/default/users/{admin}/roles/{role}", self.url);
        let request = self.http.request(verb.parse().unwrap(), url).header("x-auth-token", token);
        assert_eq!(request.send().await.unwrap().status().as_u16(), 204, "{verb}");
    }
}

fn in_project(name: &str) -> Value {
    json!({ "project": { "name": name, "domain": { "id": "default" } } })
}

fn on_domain() -> Value {
    json!({ "domain": { "id": "default" } })
}

fn on_system() -> Value {
    json!({ "system": { "all": true } })
}

/// What a token's body has, by key, with the common roles and whether addresses without a project
/// are in the catalog.
fn shape(body: &Value) -> Value {
    let token = body["token"].as_object().unwrap();
    let roles: BTreeSet<&str> = token
        .get("roles")
        .into_iter()
        .flat_map(|it| it.as_array())
        .flatten()
        .filter_map(|role| role["name"].as_str())
        .filter(|name| ["admin", "member", "reader"].contains(name))
        .collect();
    let catalog = token.get("catalog").and_then(Value::as_array);
    let endpoints = |kind: &str| {
        let service = catalog?.iter().find(|service| service["type"] == kind)?;
        Some(service["endpoints"].as_array()?.is_empty())
    };
    let keys: BTreeSet<&String> = token.keys().collect();
    let project: BTreeSet<&String> = token
        .get("project")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|it| it.keys())
        .collect();
    json!({
        "keys": keys,
        "project": project,
        "domain": token.get("domain"),
        "system": token.get("system"),
        "is_domain": token.get("is_domain"),
        "roles": roles,
        "has no endpoints": [endpoints("identity"), endpoints("orchestration")],
    })
}

#[tokio::test]
async fn the_sandboxs_tokens_of_every_scope_look_as_keystones_do() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let config =
        SandboxConfig { hearth_url: Some("http://127.0.0.1:1".into()), ..SandboxConfig::instant() };
    let sandbox = Sandbox::start(config).unwrap();
    let places = [Keystone::at(&real.settings().auth_url), Keystone::at(&sandbox.auth_url)];
    for place in &places {
        place.administer_domain("PUT").await;
    }
    for scope in [in_project("admin"), on_domain(), on_system(), json!("unscoped")] {
        let mut shapes = Vec::new();
        for place in &places {
            let (_, bodies) = place.token("admin", scope.clone()).await.unwrap();
            shapes.push(bodies.map(|body| shape(&body)));
        }
        assert_eq!(shapes[0], shapes[1], "Keystone's and the sandbox's for {scope}");
    }
    for scope in [on_domain(), on_system(), json!({ "galaxy": {} })] {
        let mut refused = Vec::new();
        for place in &places {
            refused.push(place.token("demo", scope.clone()).await.unwrap_err());
        }
        assert_eq!(refused[0], refused[1], "{scope}");
    }
    places[0].administer_domain("DELETE").await;
}

#[actix::test]
async fn an_administrator_of_a_real_domain_is_none_of_the_cloud_and_reaches_no_project() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let keystone = Keystone::at(&real.settings().auth_url);
    let policy = Policy::defaults(Arc::new(SystemClock)).unwrap();
    let served = Served::start(&real, &real.demo()).await;
    keystone.administer_domain("PUT").await;
    for (scope, administers, reaches) in [
        (in_project("admin"), true, true),
        (on_domain(), false, false),
        (on_system(), true, false),
        (json!("unscoped"), false, false),
    ] {
        let (token, _) = keystone.token("admin", scope.clone()).await.unwrap();
        let identity = real.cloud.validate_token(&Secret::new(token.clone())).await.unwrap();
        assert_eq!(policy.is_admin(&identity.caller).await, administers, "{scope}");
        assert_eq!(!identity.caller.project_id.as_str().is_empty(), reaches, "{scope}");
        let anybody = served.with_token(&token);
        for path in ["/stacks", "/stacks/web", "/services", "/feed?all_projects=true&after=x"] {
            let (status, body) = anybody.call("GET", path, Value::Null).await;
            assert_eq!(status != 403, reaches, "{path} for {scope}: {status} {body}");
        }
    }
    keystone.administer_domain("DELETE").await;
    // The service user still checks tokens.
    let (status, _) = served.call("GET", "/stacks", Value::Null).await;
    assert_eq!(status, 200);
    let gone = real.demo().send(Request::get(Service::Identity, "/v3/auth/domains")).await.unwrap();
    assert_eq!(gone.json().unwrap()["domains"], json!([]));
}
