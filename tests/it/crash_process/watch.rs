//! A client of CloudWatch's API that notes whether it was answered.

use chrono::{DateTime, Utc};
use hearth::clock::{Clock, SystemClock};
use reqwest::Client;
use serde_json::{Value, json};

use crate::cfn::signer::{Key, Pairs, query};

/// A user's key and the server's address.
#[derive(Clone)]
pub(super) struct Watch {
    http: Client,
    host: String,
    key: Key,
}

impl Watch {
    /// Has a key made at the cloud; the server need not run.
    pub(super) async fn of(auth_url: &str, port: u16) -> Self {
        let http = Client::builder().pool_max_idle_per_host(0).build().unwrap();
        let login = json!({"auth": {
            "identity": {"methods": ["password"], "password": {"user": {
                "name": "demo", "password": "secret", "domain": {"name": "Default"},
            }}},
            "scope": {"project": {"name": "demo", "domain": {"name": "Default"}}},
        }});
        let reply = http.post(format!("{auth_url}/auth/tokens")).json(&login).send().await.unwrap();
        let token = reply.headers()["x-subject-token"].to_str().unwrap().to_owned();
        let told = reply.json::<Value>().await.unwrap()["token"].take();
        let user = told["user"]["id"].as_str().unwrap();
        let url = format!("{auth_url}/users/{user}/credentials/OS-EC2");
        let made = http.post(url).header("x-auth-token", token);
        let made = made.json(&json!({"tenant_id": told["project"]["id"]})).send().await.unwrap();
        let made: Value = made.json().await.unwrap();
        let text = |name: &str| made["credential"][name].as_str().unwrap().to_owned();
        let key = Key { access: text("access"), secret: text("secret") };
        Self { http, host: format!("127.0.0.1:{port}"), key }
    }

    /// Asks for an action; whether it was acknowledged.
    pub(super) async fn ask(&self, action: &str, params: &[(&str, &str)]) -> bool {
        let all = [("Action", action)].into_iter().chain(params.iter().copied());
        let all: Pairs = all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let now: DateTime<Utc> = SystemClock.now();
        let signed = self.key.version_2("GET", &self.host, "/v1/", &all, Some(now));
        let url = format!("http://{}/v1/?{}", self.host, query(&signed));
        let Ok(reply) = self.http.get(url).send().await else { return false };
        let status = reply.status();
        let Ok(text) = reply.text().await else { return false };
        assert!(status.is_success() || status.is_server_error(), "{action}: {status} {text}");
        status.is_success()
    }
}
