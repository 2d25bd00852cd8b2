//! A queue as whoever signals has it: he logs in as the stack's user that he was told of.

use hearth::openstack::path_segment;
use serde_json::{Value, json};

pub(crate) struct Queue {
    address: String,
    token: String,
}

impl Queue {
    /// The queue of which somebody was told.
    pub(crate) async fn of(told: &Value) -> Self {
        Self::open(told).await.expect("the stack's user is let in")
    }

    /// The same; `None` where the user is not let in.
    pub(crate) async fn open(told: &Value) -> Option<Self> {
        let text =
            |name: &str| told[name].as_str().unwrap_or_else(|| panic!("no {name}")).to_owned();
        let user = json!({ "id": text("user_id"), "password": text("password") });
        let login = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": user } },
            "scope": { "project": { "id": text("project_id") } },
        } });
        let url = format!("{}/auth/tokens", text("auth_url"));
        let granted = reqwest::Client::new().post(url).json(&login).send().await.unwrap();
        if !granted.status().is_success() {
            return None;
        }
        let token = granted.headers()["x-subject-token"].to_str().unwrap().to_owned();
        let granted: Value = granted.json().await.unwrap();
        let services = granted["token"]["catalog"].as_array().unwrap();
        let messaging = services.iter().find(|it| it["type"] == "messaging").unwrap();
        let root = messaging["endpoints"][0]["url"].as_str().unwrap();
        let queue = text("queue_id");
        Some(Self { address: format!("{root}/v2/queues/{}", path_segment(&queue)), token })
    }

    fn asked(&self, request: reqwest::RequestBuilder) -> reqwest::RequestBuilder {
        request.header("x-auth-token", &self.token).header("client-id", "a-guest")
    }

    pub(crate) async fn post(&self, body: &Value) {
        assert!(self.takes(body).await);
    }

    /// Posts a message; whether it was taken.
    pub(crate) async fn takes(&self, body: &Value) -> bool {
        let post = reqwest::Client::new().post(format!("{}/messages", self.address));
        let messages = json!({ "messages": [{ "body": body, "ttl": 60 }] });
        self.asked(post).json(&messages).send().await.unwrap().status().is_success()
    }

    /// Takes the oldest message out; none where there is none.
    pub(crate) async fn pop(&self) -> Option<Value> {
        let pop = reqwest::Client::new().delete(format!("{}/messages?pop=1", self.address));
        let popped: Value = self.asked(pop).send().await.unwrap().json().await.unwrap();
        popped["messages"].get(0).map(|message| message["body"].clone())
    }

    /// Takes all messages out, as time does.
    pub(crate) async fn empty(&self) {
        while self.pop().await.is_some() {}
    }
}
