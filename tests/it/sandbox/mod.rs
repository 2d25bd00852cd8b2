//! The sandbox cloud over HTTP, as its clients meet it.

mod compute;
mod faults;
mod identity;
mod keys;
mod network;
mod persistence;
mod storage;

use hearth::sandbox::{RunningSandbox, Sandbox, SandboxConfig};
use reqwest::Method;
use serde_json::{Value, json};

/// A user with a token.
pub(crate) struct User {
    http: reqwest::Client,
    base: String,
    pub(crate) token: String,
    pub(crate) project: String,
    pub(crate) id: String,
}

/// What was answered.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Value,
}

impl Answered {
    /// The body of an answer that has to be a success.
    #[track_caller]
    pub(crate) fn ok(self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.body);
        self.body
    }

    /// The body of an answer that has to be this refusal.
    #[track_caller]
    pub(crate) fn refused(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        self.body
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map(|value| value.to_str().unwrap()).unwrap_or_default()
    }
}

/// A sandbox in which nothing takes time.
pub(crate) fn instant() -> RunningSandbox {
    Sandbox::start(SandboxConfig::instant()).unwrap()
}

impl User {
    /// Logs in with the usual password.
    pub(crate) async fn of(sandbox: &RunningSandbox, name: &str) -> User {
        Self::with_scope(sandbox, name, project_scope(name)).await.unwrap()
    }

    /// Logs in with a scope; the refusal if it is one.
    pub(crate) async fn with_scope(
        sandbox: &RunningSandbox,
        name: &str,
        scope: Value,
    ) -> Result<User, u16> {
        let user = json!({"name": name, "domain": {"id": "default"}, "password": "secret"});
        let identity = json!({"methods": ["password"], "password": {"user": user}});
        let anybody = User {
            http: reqwest::Client::new(),
            base: format!("http://{}", sandbox.address),
            token: String::new(),
            project: String::new(),
            id: String::new(),
        };
        let body = json!({"auth": {"identity": identity, "scope": scope}});
        let answered = anybody.post("/v3/auth/tokens", body).await;
        if answered.status != 201 {
            return Err(answered.status);
        }
        let text = |pointer: &str| {
            let value = answered.body.pointer(pointer).and_then(Value::as_str);
            value.unwrap_or_default().to_owned()
        };
        Ok(User {
            token: answered.header("x-subject-token").to_owned(),
            project: text("/token/project/id"),
            id: text("/token/user/id"),
            ..anybody
        })
    }

    pub(crate) fn ask(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let url = format!("{}{path}", self.base);
        self.http.request(method, url).header("x-auth-token", &self.token)
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        answered(self.ask(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answered {
        answered(self.ask(Method::POST, path).json(&body)).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answered {
        answered(self.ask(Method::PUT, path).json(&body)).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answered {
        answered(self.ask(Method::DELETE, path)).await
    }

    /// Makes something of Neutron's and gives its id.
    pub(crate) async fn make(&self, collection: &str, singular: &str, body: Value) -> String {
        let path = format!("/network/v2.0/{collection}");
        let made = self.post(&path, json!({singular: body})).await.ok();
        made[singular]["id"].as_str().unwrap().to_owned()
    }

    /// A network with a subnet: their ids.
    pub(crate) async fn network(&self, cidr: &str) -> (String, String) {
        let network = self.make("networks", "network", json!({"name": "net"})).await;
        let subnet = json!({"network_id": network, "ip_version": 4, "cidr": cidr});
        let subnet = self.make("subnets", "subnet", subnet).await;
        (network, subnet)
    }

    /// The id of what has this name.
    pub(crate) async fn find(&self, path: &str, plural: &str, name: &str) -> String {
        let list = self.get(&format!("{path}?name={name}")).await.ok();
        list[plural][0]["id"].as_str().unwrap().to_owned()
    }
}

/// The project of the same name, in the default domain.
pub(crate) fn project_scope(name: &str) -> Value {
    json!({"project": {"name": name, "domain": {"id": "default"}}})
}

pub(crate) async fn answered(request: reqwest::RequestBuilder) -> Answered {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let text = response.text().await.unwrap();
    let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
    Answered { status, headers, body }
}

/// How many rows of a kind the cloud holds.
pub(crate) fn count(sandbox: &RunningSandbox, kind: &str) -> u64 {
    sandbox.state()[kind]["count"].as_u64().unwrap()
}
