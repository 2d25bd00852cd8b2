//! Rules that another server decides: it is sent the rule, the target and the credentials, and
//! says `True`.

use std::path::PathBuf;
use std::time::Duration;

use reqwest::redirect;
use serde_json::{Value, json};

/// How another server is asked: the `remote_…` options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteSettings {
    /// From the request to the last byte of the answer.
    pub timeout: Duration,
    /// The body is JSON, and otherwise a form with JSON in each field.
    pub sends_json: bool,
    pub verify: bool,
    pub ca_file: Option<PathBuf>,
    /// The certificate to show, and its key.
    pub client_cert: Option<(PathBuf, PathBuf)>,
}

impl Default for RemoteSettings {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(60),
            sends_json: false,
            verify: true,
            ca_file: None,
            client_cert: None,
        }
    }
}

/// The longest answer; `True` is four letters.
const ANSWER_MAX_BYTES: usize = 64;

/// Why servers cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("could not use {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the client for policies of other servers could not be made")]
    Client(#[from] reqwest::Error),
}

/// The client.
pub(super) struct Remote {
    client: reqwest::Client,
    sends_json: bool,
}

impl Remote {
    pub(super) fn new(settings: &RemoteSettings) -> Result<Self, RemoteError> {
        let read = |path: &PathBuf| {
            std::fs::read(path).map_err(|source| RemoteError::File { path: path.clone(), source })
        };
        let mut builder = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .timeout(settings.timeout)
            .tls_danger_accept_invalid_certs(!settings.verify);
        if let Some(path) = &settings.ca_file {
            for certificate in reqwest::Certificate::from_pem_bundle(&read(path)?)? {
                builder = builder.tls_certs_merge([certificate]);
            }
        }
        if let Some((certificate, key)) = &settings.client_cert {
            let mut both = read(certificate)?;
            both.push(b'\n');
            both.extend(read(key)?);
            builder = builder.identity(reqwest::Identity::from_pem(&both)?);
        }
        Ok(Self { client: builder.build()?, sends_json: settings.sends_json })
    }

    /// What a server says. One that does not answer in time, or not at all, refuses.
    pub(super) async fn ask(
        &self,
        address: &str,
        rule: &str,
        target: &Value,
        credentials: &Value,
    ) -> bool {
        match self.answer(address, rule, target, credentials).await {
            Ok(answer) => answer.trim_matches('"') == "True",
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::warn!(error, rule, "a server that decides a rule gave no answer");
                false
            }
        }
    }

    async fn answer(
        &self,
        address: &str,
        rule: &str,
        target: &Value,
        credentials: &Value,
    ) -> Result<String, reqwest::Error> {
        let asked = self.client.post(address);
        let asked = match self.sends_json {
            true => {
                asked.json(&json!({ "rule": rule, "target": target, "credentials": credentials }))
            }
            false => {
                let mut form = url::form_urlencoded::Serializer::new(String::new());
                form.append_pair("rule", &json!(rule).to_string());
                form.append_pair("target", &target.to_string());
                form.append_pair("credentials", &credentials.to_string());
                asked
                    .header("content-type", "application/x-www-form-urlencoded")
                    .body(form.finish())
            }
        };
        let mut answer = asked.send().await?;
        let mut text = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            text.extend_from_slice(&chunk);
            if text.len() > ANSWER_MAX_BYTES {
                break;
            }
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}
