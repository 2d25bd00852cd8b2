//! A client of the REST API that notes whether it was answered.

use std::time::Duration;

use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::support::wait::polled;

/// How long reads are tried again while the server is down or starts.
const READ: Duration = Duration::from_secs(20);

/// A project's user and the server's address.
#[derive(Clone)]
pub(super) struct Api {
    http: Client,
    base: String,
    token: String,
}

/// What became of a command.
#[derive(Debug)]
pub(super) enum Reply {
    /// It was acknowledged.
    Accepted(Value),
    /// It was refused: status and body.
    Refused(u16, String),
    /// No answer came: it may have been taken or not.
    Unknown,
}

impl Api {
    /// Logs in at the cloud; the server need not run.
    pub(super) async fn log_in(auth_url: &str, port: u16) -> Self {
        // A connection that outlives a killed server would look like an answer that was lost.
        let http = Client::builder()
            .pool_max_idle_per_host(0)
            .timeout(Duration::from_secs(10))
            .build()
            .unwrap();
        let body = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "demo", "password": "secret", "domain": {"name": "Default"},
            }}},
            "scope": {"project": {"name": "demo", "domain": {"name": "Default"}}},
        }});
        let reply = http.post(format!("{auth_url}/auth/tokens")).json(&body).send().await.unwrap();
        let token = reply.headers()["x-subject-token"].to_str().unwrap().to_owned();
        let body: Value = reply.json().await.unwrap();
        let project = body["token"]["project"]["id"].as_str().unwrap();
        Self { http, base: format!("http://127.0.0.1:{port}/v1/{project}"), token }
    }

    pub(super) async fn command(&self, method: Method, path: &str, body: &Value) -> Reply {
        let mut request = self
            .http
            .request(method.clone(), format!("{}{path}", self.base))
            .header("x-auth-token", &self.token);
        if method != Method::DELETE {
            request = request.json(body);
        }
        let Ok(reply) = request.send().await else { return Reply::Unknown };
        let status = reply.status();
        let Ok(text) = reply.text().await else { return Reply::Unknown };
        match status.is_success() {
            true => Reply::Accepted(serde_json::from_str(&text).unwrap_or_default()),
            false => Reply::Refused(status.as_u16(), text),
        }
    }

    /// A read, tried again until the server answers; `None` for 404.
    pub(super) async fn get(&self, path: &str) -> Option<Value> {
        polled(READ, format!("GET {path}"), async || {
            let request =
                self.http.get(format!("{}{path}", self.base)).header("x-auth-token", &self.token);
            let problem = match request.send().await {
                Err(error) => error.to_string(),
                Ok(reply) if reply.status() == 404 => return Ok(None),
                Ok(reply) if reply.status().is_success() => match reply.json().await {
                    Ok(body) => return Ok(Some(body)),
                    Err(error) => error.to_string(),
                },
                Ok(reply) => format!("{} {:?}", reply.status(), reply.text().await),
            };
            Err(problem)
        })
        .await
    }

    /// Names and statuses of all stacks.
    pub(super) async fn stacks(&self) -> Vec<(String, String)> {
        let body = self.get("/stacks").await.unwrap();
        let text = |stack: &Value, key: &str| stack[key].as_str().unwrap().to_owned();
        let stacks = body["stacks"].as_array().unwrap().iter();
        stacks.map(|stack| (text(stack, "stack_name"), text(stack, "stack_status"))).collect()
    }
}
