//! `hearth serve` as an operator runs it against the real cloud, and its API as a client calls it.

use std::net::TcpListener;
use std::ops::Deref;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use hearth::openstack::Session;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::real_cloud::RealCloud;

/// How long a stack's action may take. A loaded machine builds a server in half a minute.
const ACTION_TIME_MAX: Duration = Duration::from_secs(300);

/// A server process, and a client of it.
pub(crate) struct Served {
    process: Child,
    directory: TempDir,
    address: String,
    client: ApiClient,
}

/// A user's view of the API.
#[derive(Clone)]
pub(crate) struct ApiClient {
    url: String,
    token: String,
    http: reqwest::Client,
}

impl Deref for Served {
    type Target = ApiClient;

    fn deref(&self) -> &ApiClient {
        &self.client
    }
}

impl Served {
    /// Starts a server with an empty log, and waits until it answers.
    pub(crate) async fn start(real: &RealCloud, session: &Session) -> Self {
        Self::start_with(real, session, "").await
    }

    /// The same, with more settings than it takes to reach the cloud.
    pub(crate) async fn start_with(real: &RealCloud, session: &Session, more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let config = format!("{}[hearth]\ncfn_listen = none\n{more}", real.config());
        std::fs::write(directory.path().join("hearth.conf"), config).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let project = session.project_id().await.unwrap();
        let mut served = Self {
            process: spawn(&directory, &address),
            client: ApiClient {
                url: format!("http://{address}/v1/{project}"),
                token: session.token().await.unwrap().reveal().clone(),
                http: reqwest::Client::new(),
            },
            directory,
            address,
        };
        served.until_ready().await;
        served
    }

    /// Kills the server in the middle of what it does and starts it again.
    pub(crate) async fn kill_and_restart(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        self.process = spawn(&self.directory, &self.address);
        self.until_ready().await;
    }

    async fn until_ready(&mut self) {
        let began = Instant::now();
        let health = format!("http://{}/healthcheck", self.address);
        while self.client.http.get(&health).send().await.is_err() {
            assert!(self.process.try_wait().unwrap().is_none(), "the server has ended");
            assert!(began.elapsed() < Duration::from_secs(20), "the server does not answer");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

impl ApiClient {
    /// The same project's API with another token.
    pub(crate) fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    /// Sends a request; the status and the body, whatever they are.
    pub(crate) async fn call(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self
            .http
            .request(method, format!("{}{path}", self.url))
            .header("x-auth-token", &self.token);
        if !body.is_null() {
            request = request.json(&body);
        }
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        (status, serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Creates a stack and waits for its end.
    pub(crate) async fn create(&self, name: &str, template: &str, parameters: Value) -> Value {
        let body = json!({
            "stack_name": name,
            "template": template,
            "parameters": parameters,
            "disable_rollback": true,
        });
        let (status, answer) = self.call("POST", "/stacks", body).await;
        assert_eq!(status, 201, "{answer}");
        self.settled(name).await
    }

    /// Updates a stack with the same template and waits for its end.
    pub(crate) async fn update(&self, stack: &Value, parameters: Value) -> Value {
        let (status, answer) =
            self.call("PATCH", &path(stack), json!({"parameters": parameters})).await;
        assert_eq!(status, 202, "{answer}");
        self.settled(stack["id"].as_str().unwrap()).await
    }

    /// Deletes a stack and waits for its end.
    pub(crate) async fn delete(&self, stack: &Value) {
        let (status, answer) = self.call("DELETE", &path(stack), Value::Null).await;
        assert_eq!(status, 204, "{answer}");
        let stack = self.settled(stack["id"].as_str().unwrap()).await;
        assert_eq!(stack["stack_status"], "DELETE_COMPLETE", "{}", self.reasons(&stack).await);
    }

    /// The stack once nothing is in progress.
    pub(crate) async fn settled(&self, stack: &str) -> Value {
        let began = Instant::now();
        loop {
            let (status, answer) = self.call("GET", &format!("/stacks/{stack}"), Value::Null).await;
            assert_eq!(status, 200, "{answer}");
            let stack = &answer["stack"];
            if !stack["stack_status"].as_str().unwrap().ends_with("_IN_PROGRESS") {
                eprintln!("{} in {:?}", stack["stack_status"], began.elapsed());
                return stack.clone();
            }
            assert!(began.elapsed() < ACTION_TIME_MAX, "{}", self.reasons(stack).await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Each resource's status and its reason, for the message of a failed test.
    pub(crate) async fn reasons(&self, stack: &Value) -> String {
        let (_, answer) =
            self.call("GET", &format!("{}/resources", path(stack)), Value::Null).await;
        let mut text = format!("{}: {}\n", stack["stack_status"], stack["stack_status_reason"]);
        for resource in answer["resources"].as_array().into_iter().flatten() {
            let part = |key: &str| resource[key].as_str().unwrap_or_default();
            text.push_str(&format!(
                "{} {} {}\n",
                part("resource_name"),
                part("resource_status"),
                part("resource_status_reason")
            ));
        }
        text
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // A test that failed leaves nothing running either.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// `/stacks/NAME/ID`
pub(crate) fn path(stack: &Value) -> String {
    let part = |key: &str| stack[key].as_str().unwrap_or_default();
    format!("/stacks/{}/{}", part("stack_name"), part("id"))
}

fn spawn(directory: &TempDir, address: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(["serve", "--cloud", "openstack", "--listen", address])
        .args(["--cloudwatch-listen", "none"])
        .arg("--config-file")
        .arg(directory.path().join("hearth.conf"))
        .arg("--data")
        .arg(directory.path().join("data"))
        .stdout(Stdio::null())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}
