//! What a guest asks and tells others: where its metadata are, and how a deployment is answered, by
//! every transport that agents know.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use sha2::Sha256;
use url::Url;

/// How long a call may take.
const CALL_WITHIN: Duration = Duration::from_secs(15);
/// The longest answer, in bytes.
const ANSWER_MAX_BYTES: usize = 4 * 1024 * 1024;
/// How long a message is kept in a queue, in seconds.
const MESSAGE_TTL_SECS: u32 = 3_600;
/// What Amazon leaves as it is in a query.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Where CloudFormation's API puts a resource's metadata.
const DESCRIBED: &str =
    "/DescribeStackResourceResponse/DescribeStackResourceResult/StackResourceDetail/Metadata";

/// Why a call has come to nothing. It names no address, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum CallError {
    #[error("it is not told {0}")]
    Untold(&'static str),
    #[error("nobody answers")]
    Silent,
    #[error("it is answered {0}")]
    Refused(u16),
    #[error("the answer is too long, or cannot be read")]
    Unreadable,
}

/// Makes the calls.
#[derive(Clone)]
pub(super) struct Calls {
    client: Client,
}

/// What a server is to know.
pub(super) struct Known {
    pub(super) metadata: Value,
    /// What is asked, once all of it is done, so that it is not read again.
    pub(super) read: Vec<RequestBuilder>,
}

impl Known {
    fn of(metadata: Value) -> Option<Self> {
        Some(Self { metadata, read: Vec::new() })
    }
}

/// A stack's user, let in.
struct Session {
    token: String,
    catalog: Value,
}

impl Calls {
    pub(super) fn new() -> Result<Self, reqwest::Error> {
        let client = Client::builder().no_proxy().timeout(CALL_WITHIN).build()?;
        Ok(Self { client })
    }

    /// The metadata of a server by the ways that it is told of (`os-collect-config`); `None` where
    /// there is nothing new to be read.
    pub(super) async fn metadata(
        &self,
        told: &Value,
        now: DateTime<Utc>,
    ) -> Result<Option<Known>, CallError> {
        let is_told = |way: &str, by: &str| told[way][by].is_string();
        if is_told("zaqar", "queue_id") {
            self.read_queue(&told["zaqar"]).await
        } else if is_told("cfn", "metadata_url") {
            self.ask_cloudformation(&told["cfn"], now).await.map(Known::of)
        } else if is_told("heat", "stack_id") {
            self.ask_heat(&told["heat"]).await.map(Known::of)
        } else if is_told("request", "metadata_url") {
            let address = text(&told["request"], "metadata_url")?;
            self.read(self.client.get(address)).await.map(Known::of)
        } else {
            Ok(None)
        }
    }

    /// What is in a queue, which stays there: agents take it out and keep it on their disk, and a
    /// guest has none.
    async fn read_queue(&self, told: &Value) -> Result<Option<Known>, CallError> {
        let session = self.log_in(told, "user_id", "").await?;
        let url = format!("{}/messages", session.queue(text(told, "queue_id")?)?);
        let list = self.client.get(format!("{url}?echo=true&limit=20"));
        let mut listed = self.read(session.asks(list)).await?;
        let messages = listed.pointer_mut("/messages").and_then(Value::as_array_mut);
        let messages = messages.map(std::mem::take).unwrap_or_default();
        let ids = messages.iter().filter_map(|message| message["id"].as_str());
        let read = ids.map(|id| session.asks(self.client.delete(format!("{url}/{}", segment(id)))));
        let read = read.collect();
        // The last message has all that there is to know.
        let last = messages.into_iter().next_back();
        Ok(last.map(|mut message| Known { metadata: taken(&mut message, "/body"), read }))
    }

    /// Takes out of a queue what was read there.
    pub(super) async fn take_out(&self, read: Vec<RequestBuilder>) -> Result<(), CallError> {
        for request in read {
            sent(request).await?;
        }
        Ok(())
    }

    async fn ask_heat(&self, told: &Value) -> Result<Value, CallError> {
        let session = self.log_in(told, "user_id", "").await?;
        let url = format!(
            "{}/stacks/{}/resources/{}/metadata",
            session.endpoint("orchestration")?,
            text(told, "stack_id")?,
            segment(text(told, "resource_name")?),
        );
        let mut found = self.read(session.asks(self.client.get(url))).await?;
        Ok(taken(&mut found, "/metadata"))
    }

    /// By CloudFormation's API, signed with the key that was told.
    async fn ask_cloudformation(
        &self,
        told: &Value,
        now: DateTime<Utc>,
    ) -> Result<Value, CallError> {
        let name = text(told, "path")?.split('.').next().unwrap_or_default();
        let params = [
            ("AWSAccessKeyId", text(told, "access_key_id")?),
            ("Action", "DescribeStackResource"),
            ("ContentType", "JSON"),
            ("LogicalResourceId", name),
            ("SignatureMethod", "HmacSHA256"),
            ("SignatureVersion", "2"),
            ("StackName", text(told, "stack_name")?),
            ("Timestamp", &now.format("%Y-%m-%dT%H:%M:%SZ").to_string()),
            ("Version", "2010-05-15"),
        ];
        let query = params.map(|(name, value)| format!("{name}={}", segment(value))).join("&");
        let address = text(told, "metadata_url")?;
        let url = Url::parse(address).map_err(|_| CallError::Untold("a metadata_url"))?;
        let host = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
            None => url.host_str().unwrap_or_default().to_owned(),
        };
        let signed = format!("GET\n{host}\n{}\n{query}", url.path());
        let signature = signature(text(told, "secret_access_key")?, &signed);
        let address = format!("{address}?{query}&Signature={}", segment(&signature));
        let mut found = self.read(self.client.get(address)).await?;
        match taken(&mut found, DESCRIBED) {
            metadata @ Value::Object(_) => Ok(metadata),
            _ => Err(CallError::Unreadable),
        }
    }

    /// Answers a deployment as its inputs say.
    pub(super) async fn signal(&self, inputs: &Value, answer: &Value) -> Result<(), CallError> {
        let request = match text(inputs, "deploy_signal_transport")? {
            "CFN_SIGNAL" | "TEMP_URL_SIGNAL" => {
                let address = text(inputs, "deploy_signal_id")?;
                let by_put = inputs["deploy_signal_verb"] == "PUT";
                let request =
                    if by_put { self.client.put(address) } else { self.client.post(address) };
                request.json(answer)
            }
            "HEAT_SIGNAL" => {
                let session = self.log_in(inputs, "deploy_user_id", "deploy_").await?;
                let url = format!(
                    "{}/stacks/{}/resources/{}/signal",
                    session.endpoint("orchestration")?,
                    text(inputs, "deploy_stack_id")?,
                    segment(text(inputs, "deploy_resource_name")?),
                );
                session.asks(self.client.post(url)).json(answer)
            }
            "ZAQAR_SIGNAL" => {
                let session = self.log_in(inputs, "deploy_user_id", "deploy_").await?;
                let url = format!("{}/messages", session.queue(text(inputs, "deploy_queue_id")?)?);
                let messages = json!({ "messages": [{ "body": answer, "ttl": MESSAGE_TTL_SECS }] });
                session.asks(self.client.post(url)).json(&messages)
            }
            _ => return Ok(()),
        };
        sent(request).await.map(|_| ())
    }

    /// Lets a user in of whom it is told under names that begin so.
    async fn log_in(&self, told: &Value, user: &str, prefix: &str) -> Result<Session, CallError> {
        let named = |name: &str| {
            let found = told[format!("{prefix}{name}")].as_str();
            found.ok_or(CallError::Untold("who it is"))
        };
        let id = told[user].as_str().ok_or(CallError::Untold("who it is"))?;
        let body = json!({ "auth": {
            "identity": { "methods": ["password"],
                          "password": { "user": { "id": id, "password": named("password")? } } },
            "scope": { "project": { "id": named("project_id")? } },
        } });
        let url = format!("{}/auth/tokens", named("auth_url")?.trim_end_matches('/'));
        let answer = sent(self.client.post(url).json(&body)).await?;
        let token = answer.headers().get("x-subject-token").and_then(|token| token.to_str().ok());
        let token = token.ok_or(CallError::Unreadable)?.to_owned();
        let mut body = body_of(answer).await?;
        Ok(Session { token, catalog: taken(&mut body, "/token/catalog") })
    }

    async fn read(&self, request: RequestBuilder) -> Result<Value, CallError> {
        body_of(sent(request).await?).await
    }
}

impl Session {
    fn asks(&self, request: RequestBuilder) -> RequestBuilder {
        request.header("x-auth-token", &self.token).header("client-id", "guest")
    }

    fn endpoint(&self, service: &str) -> Result<&str, CallError> {
        let mut services = self.catalog.as_array().into_iter().flatten();
        let found = services.find(|it| it["type"] == service);
        let endpoints = found.and_then(|it| it["endpoints"].as_array()).into_iter().flatten();
        let url =
            endpoints.filter(|it| it["interface"] == "public").find_map(|it| it["url"].as_str());
        url.map(|url| url.trim_end_matches('/')).ok_or(CallError::Untold("where the service is"))
    }

    fn queue(&self, name: &str) -> Result<String, CallError> {
        Ok(format!("{}/v2/queues/{}", self.endpoint("messaging")?, segment(name)))
    }
}

/// A part of an answer, by its pointer; null where there is no such part.
fn taken(answer: &mut Value, pointer: &str) -> Value {
    answer.pointer_mut(pointer).map(Value::take).unwrap_or_default()
}

fn text<'a>(told: &'a Value, name: &'static str) -> Result<&'a str, CallError> {
    told[name].as_str().ok_or(CallError::Untold(name))
}

fn segment(text: &str) -> String {
    utf8_percent_encode(text, QUERY).to_string()
}

fn signature(secret: &str, text: &str) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map(|mac| mac.chain_update(text));
    // A key of any length is taken.
    STANDARD.encode(mac.map(|mac| mac.finalize().into_bytes().to_vec()).unwrap_or_default())
}

async fn sent(request: RequestBuilder) -> Result<Response, CallError> {
    let answer = request.send().await.map_err(|_| CallError::Silent)?;
    match answer.status() {
        status if status.is_success() => Ok(answer),
        status => Err(CallError::Refused(status.as_u16())),
    }
}

/// The JSON of an answer; null where there is no body.
async fn body_of(mut answer: Response) -> Result<Value, CallError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(|_| CallError::Unreadable)? {
        if bytes.len() + chunk.len() > ANSWER_MAX_BYTES {
            return Err(CallError::Unreadable);
        }
        bytes.extend_from_slice(&chunk);
    }
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes).map_err(|_| CallError::Unreadable)
}
