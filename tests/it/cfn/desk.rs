//! A Hearth, a user with a key, and ways to ask.

use chrono::{DateTime, Utc};
use hearth::clock::{Clock, SystemClock};
use hearth::events::log::MemoryLog;
use serde_json::{Value, json};

use super::signer::{Key, Pairs, query};
use crate::api::app::{Answered, App, SetUp};
use crate::support::wait::until;

pub(super) struct Desk {
    pub(super) app: App,
    pub(super) key: Key,
    pub(super) host: String,
}

impl Desk {
    pub(super) async fn open() -> Self {
        Self::of(App::start().await).await
    }

    pub(super) async fn set_up(setup: SetUp) -> Self {
        Self::of(App::set_up(std::sync::Arc::new(MemoryLog::new()), setup).await).await
    }

    async fn of(app: App) -> Self {
        let key = key(&app, &app.token, &app.project).await;
        let host = app.cfn_url.trim_start_matches("http://").to_owned();
        Self { app, key, host }
    }

    /// An action, signed now by version 2 in the query.
    pub(super) async fn get(&self, action: &str, params: &[(&str, &str)]) -> Answered {
        self.get_at(action, params, Some(now())).await
    }

    /// The same, signed at another time.
    pub(super) async fn get_at(
        &self,
        action: &str,
        params: &[(&str, &str)],
        at: Option<DateTime<Utc>>,
    ) -> Answered {
        let params = self.key.version_2("GET", &self.host, "/v1/", &named(action, params), at);
        self.send("GET", &format!("/v1/?{}", query(&params)), &[], None).await
    }

    /// An action, signed by version 4 in the header, as a form.
    pub(super) async fn post(&self, action: &str, params: &[(&str, &str)]) -> Answered {
        let body = query(&named(action, params));
        let headers = self.key.version_4(&self.host, &body, now());
        self.send("POST", "/v1/", &headers, Some(body)).await
    }

    /// An action of CloudWatch's.
    pub(super) async fn watch(&self, action: &str, params: &[(&str, &str)]) -> Answered {
        self.watch_as(&self.key, action, params).await
    }

    /// The same by somebody else's key.
    pub(super) async fn watch_as(
        &self,
        key: &Key,
        action: &str,
        params: &[(&str, &str)],
    ) -> Answered {
        let host = self.app.watch_url.trim_start_matches("http://");
        let params = key.version_2("GET", host, "/v1/", &named(action, params), Some(now()));
        let url = format!("{}/v1/?{}", self.app.watch_url, query(&params));
        self.app.send("GET", &url, &[], None).await
    }

    pub(super) async fn send(
        &self,
        verb: &str,
        path: &str,
        headers: &[(String, String)],
        body: Option<String>,
    ) -> Answered {
        let form = ("content-type", "application/x-www-form-urlencoded");
        let own = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<(&str, &str)> = own.chain([form]).collect();
        self.app.send(verb, &format!("{}{path}", self.app.cfn_url), &headers, body).await
    }

    /// Waits until no stack has a name any more.
    pub(super) async fn loses(&self, name: &str) {
        let is_gone =
            async || self.get("DescribeStacks", &[("StackName", name)]).await.status != 200;
        until(&[&self.app], format!("{name} is gone"), is_gone).await;
    }

    /// Waits until a stack is settled; its status.
    pub(super) async fn settled(&self, name: &str) -> String {
        self.app.settled(name).await["stack_status"].as_str().unwrap().to_owned()
    }
}

/// The time by which requests are signed.
pub(super) fn now() -> DateTime<Utc> {
    SystemClock.now()
}

/// The parameters of an action.
pub(super) fn named(action: &str, params: &[(&str, &str)]) -> Pairs {
    let all = [("Action", action)].into_iter().chain(params.iter().copied());
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// A key of whoever has the token.
pub(super) async fn key(app: &App, token: &str, project: &str) -> Key {
    key_at(&app.client, &app.keystone, token, project).await
}

/// The same at any Keystone.
pub(super) async fn key_at(
    client: &reqwest::Client,
    keystone: &str,
    token: &str,
    project: &str,
) -> Key {
    let keystone = keystone.trim_end_matches('/');
    let asked = client.get(format!("{keystone}/auth/tokens")).header("x-auth-token", token);
    let asked = asked.header("x-subject-token", token).send().await.unwrap();
    let known: Value = asked.json().await.unwrap();
    let user = known["token"]["user"]["id"].as_str().unwrap();
    let url = format!("{keystone}/users/{user}/credentials/OS-EC2");
    let made = client.post(url).header("x-auth-token", token);
    let made = made.json(&json!({ "tenant_id": project })).send().await.unwrap();
    let made: Value = made.json().await.unwrap();
    let text = |name: &str| made["credential"][name].as_str().unwrap().to_owned();
    Key { access: text("access"), secret: text("secret") }
}

/// What stands in an element.
pub(super) fn within<'a>(text: &'a str, element: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("<{element}>")).unwrap_or_else(|| panic!("{text}"));
    rest.split_once(&format!("</{element}>")).unwrap().0
}
