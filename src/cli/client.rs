//! A small client of the public API, for the subcommands that use Hearth as its users do.

use std::time::Duration;

use serde_json::{Value, json};

/// How long a request may take before the server is taken for stuck.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a request did not bring what was asked for.
#[derive(Debug, thiserror::Error)]
pub(super) enum ClientError {
    #[error("no answer to {method} {url}")]
    Transport {
        method: &'static str,
        url: String,
        #[source]
        source: reqwest::Error,
    },
    /// The server's own words.
    #[error("{message}")]
    Refused { status: u16, message: String },
    #[error("{url} answered something else than was expected")]
    Shape { url: String },
}

/// Who signs in, and where.
pub(super) struct Login<'a> {
    pub auth_url: &'a str,
    pub user: &'a str,
    pub project: &'a str,
    pub password: &'a str,
    /// Of the user and of the project.
    pub domains: (&'a str, &'a str),
}

/// A signed-in user of the Orchestration API, on connections that stay open.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    token: String,
    /// `http://host:port/v1/{project}`.
    endpoint: String,
}

impl Client {
    /// Signs in at Keystone and finds the Orchestration API in its catalog.
    pub(super) async fn sign_in(login: &Login<'_>) -> Result<Client, ClientError> {
        let http = reqwest::Client::builder()
            .timeout(REQUEST_TIMEOUT)
            .tcp_nodelay(true)
            .build()
            .unwrap_or_default();
        let url = format!("{}/auth/tokens", login.auth_url.trim_end_matches('/'));
        let body = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": {
                "name": login.user, "domain": { "name": login.domains.0 },
                "password": login.password } } },
            "scope": { "project": { "name": login.project,
                                     "domain": { "name": login.domains.1 } } },
        } });
        let reply = http.post(&url).json(&body).send().await;
        let reply = reply.map_err(|source| transport("POST", &url, source))?;
        let token = reply.headers().get("x-subject-token").and_then(|value| value.to_str().ok());
        let token = token.unwrap_or_default().to_owned();
        let shown = body_of("POST", &url, reply).await?;
        let endpoint = orchestration_endpoint(&shown).ok_or(ClientError::Shape { url })?;
        Ok(Client { http, token, endpoint })
    }

    /// Reads; the path comes after `/v1/{project}`.
    pub(super) async fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.send("GET", path, None).await
    }

    /// Asks for something.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.send("POST", path, Some(body)).await
    }

    /// Asks for something to become what the body says.
    pub(super) async fn put(&self, path: &str, body: &Value) -> Result<Value, ClientError> {
        self.send("PUT", path, Some(body)).await
    }

    /// Asks for something to go.
    pub(super) async fn delete(&self, path: &str) -> Result<Value, ClientError> {
        self.send("DELETE", path, None).await
    }

    async fn send(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ClientError> {
        let url = format!("{}{path}", self.endpoint);
        let verb = match method {
            "POST" => reqwest::Method::POST,
            "PUT" => reqwest::Method::PUT,
            "DELETE" => reqwest::Method::DELETE,
            _ => reqwest::Method::GET,
        };
        let mut request = self.http.request(verb, &url).header("x-auth-token", &self.token);
        if let Some(body) = body {
            request = request.json(body);
        }
        let reply = request.send().await.map_err(|source| transport(method, &url, source))?;
        body_of(method, &url, reply).await
    }
}

/// The public URL of the `orchestration` service in a token's catalog.
fn orchestration_endpoint(shown: &Value) -> Option<String> {
    let services = shown["token"]["catalog"].as_array()?;
    let service = services.iter().find(|service| service["type"] == "orchestration")?;
    let endpoints = service["endpoints"].as_array()?;
    let endpoint = endpoints.iter().find(|endpoint| endpoint["interface"] == "public")?;
    endpoint["url"].as_str().map(|url| url.trim_end_matches('/').to_owned())
}

async fn body_of(
    method: &'static str,
    url: &str,
    reply: reqwest::Response,
) -> Result<Value, ClientError> {
    let status = reply.status();
    let text = reply.text().await.map_err(|source| transport(method, url, source))?;
    if !status.is_success() {
        let fault: Value = serde_json::from_str(&text).unwrap_or_default();
        let message = fault["error"]["message"].as_str().unwrap_or(text.trim()).to_owned();
        return Err(ClientError::Refused { status: status.as_u16(), message });
    }
    match serde_json::from_str(&text) {
        Ok(body) => Ok(body),
        // An accepted update or delete has no body, or a sentence for people.
        Err(_) if method != "GET" => Ok(Value::Null),
        Err(_) => Err(ClientError::Shape { url: url.to_owned() }),
    }
}

fn transport(method: &'static str, url: &str, source: reqwest::Error) -> ClientError {
    ClientError::Transport { method, url: url.to_owned(), source }
}
