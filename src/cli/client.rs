//! A small client of the public API, for the subcommands that use Hearth as its users do.

use std::sync::{Arc, RwLock};
use std::time::Duration;

use serde_json::{Value, json};
use url::{Host, Url};

use super::login::LoginFound;

/// How long a request may take before the server is taken for stuck.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a feed may be silent; a server shows every 15 seconds that it is alive.
const FEED_SILENCE_MAX: Duration = Duration::from_secs(40);

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
    /// It has been asked again and again.
    #[error("{place} has not been heard from for {minutes} minutes: {why}")]
    Silent { place: String, minutes: u64, why: String },
    #[error("{url} answered something else than was expected")]
    Shape { url: String },
    #[error("the certificates of {} cannot be used", path.display())]
    Authorities {
        path: std::path::PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the certificate of {} cannot be shown", path.display())]
    Certificate {
        path: std::path::PathBuf,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the catalog of {url} has no orchestration service (--server URL says where one is)")]
    NoService { url: String },
}

/// A signed-in user of the Orchestration API, on connections that stay open.
#[derive(Clone)]
pub(super) struct Client {
    http: reqwest::Client,
    login: Arc<LoginFound>,
    session: Arc<RwLock<Session>>,
    /// The plan by which changes are made.
    plan: Option<Arc<str>>,
}

/// What another program needs to ask the API in the user's name.
pub(super) struct Lent {
    /// Follows no redirects.
    pub(super) http: reqwest::Client,
    pub(super) endpoint: Url,
    pub(super) token: String,
}

/// What signing in gives.
#[derive(Clone)]
struct Session {
    token: String,
    /// `http://host:port/v1/{project}`.
    endpoint: String,
}

/// The data of a feed's frames as they come.
pub(super) struct FeedLines {
    url: String,
    response: reqwest::Response,
    bytes: Vec<u8>,
}

impl FeedLines {
    /// The next one; `None` after the last.
    pub(super) async fn next(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.bytes.drain(..=end).collect();
                if let Some(data) = line[..end].strip_prefix(b"data: ") {
                    return Ok(Some(String::from_utf8_lossy(data).into_owned()));
                }
            }
            let chunk = self.response.chunk().await;
            match chunk.map_err(|source| transport("GET", &self.url, source))? {
                Some(chunk) => self.bytes.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }
}

impl Client {
    /// Signs in at Keystone and finds the Orchestration API in its catalog.
    pub(super) async fn sign_in(login: &LoginFound) -> Result<Client, ClientError> {
        Client::sign_in_to(login, None).await
    }

    /// Signs in at Keystone, for an API whose address is known.
    pub(super) async fn sign_in_to(
        login: &LoginFound,
        api: Option<String>,
    ) -> Result<Client, ClientError> {
        let http = http(login)?;
        let login = Arc::new(login.clone());
        let session = session(&http, &login, api.as_deref()).await?;
        Ok(Client { http, login, session: Arc::new(RwLock::new(session)), plan: None })
    }

    /// Signs in at Keystone, to ask it alone; paths come after its version then.
    pub(super) async fn at_keystone(login: &LoginFound) -> Result<Client, ClientError> {
        let http = http(login)?;
        let (token, _) = token(&http, login).await?;
        let session = Session { token, endpoint: login.auth_url.clone() };
        let login = Arc::new(login.clone());
        Ok(Client { http, login, session: Arc::new(RwLock::new(session)), plan: None })
    }

    /// One whose changes are those of a plan, or refused.
    pub(super) fn by_plan(&self, id: &str) -> Client {
        Client { plan: Some(id.into()), ..self.clone() }
    }

    /// Signs in anew: the token is no longer good.
    async fn renew(&self) -> Result<(), ClientError> {
        let (token, _) = token(&self.http, &self.login).await?;
        if let Ok(mut kept) = self.session.write() {
            kept.token = token;
        }
        Ok(())
    }

    fn session(&self) -> Session {
        self.session.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// What another program needs to ask in the user's name.
    pub(super) fn lend(&self) -> Result<Lent, ClientError> {
        let http = builder(&self.login)?.redirect(reqwest::redirect::Policy::none());
        let Session { token, endpoint } = self.session();
        let endpoint = Url::parse(&endpoint).map_err(|_| ClientError::Shape { url: endpoint })?;
        Ok(Lent { http: http.build().unwrap_or_default(), endpoint, token })
    }

    /// The project that it is signed in to.
    pub(super) fn project(&self) -> String {
        let endpoint = self.session().endpoint;
        endpoint.rsplit('/').next().unwrap_or_default().to_owned()
    }

    /// Where the API is.
    pub(super) fn address(&self) -> String {
        let endpoint = self.session().endpoint;
        endpoint.split("/v1").next().unwrap_or_default().to_owned()
    }

    /// Reads; the path comes after `/v1/{project}`.
    pub(super) async fn get(&self, path: &str) -> Result<Value, ClientError> {
        self.send("GET", path, None).await
    }

    /// Reads what may be long, and takes its time.
    pub(super) async fn download(&self, path: &str) -> Result<Vec<u8>, ClientError> {
        let Session { token, endpoint } = self.session();
        let url = format!("{endpoint}{path}");
        let request = self.http.get(&url).header("x-auth-token", token).timeout(Duration::MAX);
        let reply = request.send().await.map_err(|source| transport("GET", &url, source))?;
        if !reply.status().is_success() {
            return Err(refusal(reply).await);
        }
        let body = reply.bytes().await.map_err(|source| transport("GET", &url, source))?;
        Ok(body.into())
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

    /// Opens the event feed; what comes is the caller's to read.
    pub(super) async fn feed(&self, query: &str) -> Result<reqwest::Response, ClientError> {
        match self.open_feed(query).await {
            Err(ClientError::Refused { status: 401, .. }) => {
                self.renew().await?;
                self.open_feed(query).await
            }
            opened => opened,
        }
    }

    /// The same, line by line.
    pub(super) async fn feed_lines(&self, query: &str) -> Result<FeedLines, ClientError> {
        let response = self.feed(query).await?;
        Ok(FeedLines { url: response.url().to_string(), response, bytes: Vec::new() })
    }

    async fn open_feed(&self, query: &str) -> Result<reqwest::Response, ClientError> {
        let Session { token, endpoint } = self.session();
        let url = format!("{endpoint}/feed{query}");
        let request = self.http.get(&url).header("x-auth-token", token).timeout(Duration::MAX);
        let reply = tokio::time::timeout(REQUEST_TIMEOUT, request.send()).await;
        let reply = match reply {
            Ok(reply) => reply.map_err(|source| transport("GET", &url, source))?,
            Err(_) => return Err(ClientError::Shape { url }),
        };
        match reply.status().is_success() {
            true => Ok(reply),
            false => Err(refusal(reply).await),
        }
    }

    async fn send(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ClientError> {
        match self.send_once(method, path, body).await {
            Err(ClientError::Refused { status: 401, .. }) => {
                self.renew().await?;
                self.send_once(method, path, body).await
            }
            answered => answered,
        }
    }

    async fn send_once(
        &self,
        method: &'static str,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, ClientError> {
        let Session { token, endpoint } = self.session();
        let url = format!("{endpoint}{path}");
        let verb = match method {
            "POST" => reqwest::Method::POST,
            "PUT" => reqwest::Method::PUT,
            "DELETE" => reqwest::Method::DELETE,
            _ => reqwest::Method::GET,
        };
        let mut request = self.http.request(verb, &url).header("x-auth-token", token);
        if let Some(plan) = &self.plan {
            request = request.header("hearth-plan", plan.as_ref());
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let reply = request.send().await.map_err(|source| transport(method, &url, source))?;
        body_of(method, &url, reply).await
    }
}

fn http(login: &LoginFound) -> Result<reqwest::Client, ClientError> {
    Ok(builder(login)?.build().unwrap_or_default())
}

/// A client goes through the user's proxies, as the `openstack` client does, but for what is here.
fn client_for(url: &str) -> reqwest::ClientBuilder {
    let is_here = match Url::parse(url).ok().as_ref().and_then(Url::host) {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let builder = reqwest::Client::builder();
    if is_here { builder.no_proxy() } else { builder }
}

fn builder(login: &LoginFound) -> Result<reqwest::ClientBuilder, ClientError> {
    let mut builder = client_for(&login.auth_url)
        .timeout(REQUEST_TIMEOUT)
        .read_timeout(FEED_SILENCE_MAX)
        .danger_accept_invalid_certs(login.insecure)
        .tcp_nodelay(true);
    if let Some(path) = &login.ca_file {
        let unusable = |source: Box<dyn std::error::Error + Send + Sync>| {
            ClientError::Authorities { path: path.clone(), source }
        };
        let pem = std::fs::read(path).map_err(|error| unusable(error.into()))?;
        let certificates = reqwest::Certificate::from_pem_bundle(&pem);
        for certificate in certificates.map_err(|error| unusable(error.into()))? {
            builder = builder.add_root_certificate(certificate);
        }
    }
    if let Some(path) = &login.cert_file {
        let unusable = |source: Box<dyn std::error::Error + Send + Sync>| {
            ClientError::Certificate { path: path.clone(), source }
        };
        let files = std::iter::once(path).chain(&login.key_file);
        let pem = files.map(std::fs::read).collect::<Result<Vec<_>, _>>();
        let pem = pem.map_err(|error| unusable(error.into()))?.concat();
        let identity = reqwest::Identity::from_pem(&pem).map_err(|error| unusable(error.into()))?;
        builder = builder.identity(identity);
    }
    Ok(builder)
}

async fn session(
    http: &reqwest::Client,
    login: &LoginFound,
    api: Option<&str>,
) -> Result<Session, ClientError> {
    let (token, shown) = token(http, login).await?;
    let url = || format!("{}/auth/tokens", login.auth_url);
    let endpoint = match api {
        Some(api) => {
            let project = shown["token"]["project"]["id"].as_str();
            let project = project.ok_or_else(|| ClientError::Shape { url: url() })?;
            format!("{}/v1/{project}", api.trim_end_matches('/').trim_end_matches("/v1"))
        }
        None => orchestration_endpoint(&shown, login)
            .ok_or_else(|| ClientError::NoService { url: url() })?,
    };
    Ok(Session { token, endpoint })
}

/// A token, and what Keystone says of it.
async fn token(http: &reqwest::Client, login: &LoginFound) -> Result<(String, Value), ClientError> {
    let url = format!("{}/auth/tokens", login.auth_url);
    let reply = http.post(&url).json(&json!({ "auth": login.auth })).send().await;
    let reply = reply.map_err(|source| transport("POST", &url, source))?;
    let token = reply.headers().get("x-subject-token").and_then(|value| value.to_str().ok());
    let token = token.unwrap_or_default().to_owned();
    Ok((token, body_of("POST", &url, reply).await?))
}

/// The URL of the `orchestration` service in a token's catalog.
fn orchestration_endpoint(shown: &Value, login: &LoginFound) -> Option<String> {
    let services = shown["token"]["catalog"].as_array()?;
    let service = services.iter().find(|service| service["type"] == "orchestration")?;
    let is_meant = |endpoint: &&Value| {
        let region = login.region.as_deref();
        endpoint["interface"] == login.interface.trim_end_matches("URL")
            && region.is_none_or(|region| endpoint["region_id"] == region)
    };
    let endpoint = service["endpoints"].as_array()?.iter().find(is_meant)?;
    endpoint["url"].as_str().map(|url| url.trim_end_matches('/').to_owned())
}

/// The Keystone that a server sends those to who have no token.
pub(super) async fn keystone_of(server: &Url) -> Result<Option<String>, ClientError> {
    let url = format!("{}/v1/-/stacks", server.as_str().trim_end_matches('/'));
    let http = client_for(&url).timeout(REQUEST_TIMEOUT).build().unwrap_or_default();
    let reply = http.get(&url).send().await.map_err(|source| transport("GET", &url, source))?;
    let told = reply.headers().get("www-authenticate").and_then(|value| value.to_str().ok());
    // `Keystone uri="http://…"`, with either kind of quotes.
    let uri = told.and_then(|told| told.split_once("uri=")).map(|(_, uri)| uri);
    Ok(uri.map(|uri| uri.trim_matches(['"', '\'', ' ']).to_owned()))
}

async fn body_of(
    method: &'static str,
    url: &str,
    reply: reqwest::Response,
) -> Result<Value, ClientError> {
    if !reply.status().is_success() {
        return Err(refusal(reply).await);
    }
    let text = reply.text().await.map_err(|source| transport(method, url, source))?;
    match serde_json::from_str(&text) {
        Ok(body) => Ok(body),
        // An accepted update or delete has no body, or a sentence for people.
        Err(_) if method != "GET" => Ok(Value::Null),
        Err(_) => Err(ClientError::Shape { url: url.to_owned() }),
    }
}

async fn refusal(reply: reqwest::Response) -> ClientError {
    let status = reply.status().as_u16();
    let text = reply.text().await.unwrap_or_default();
    let fault: Value = serde_json::from_str(&text).unwrap_or_default();
    let message = fault["error"]["message"].as_str().unwrap_or(text.trim()).to_owned();
    ClientError::Refused { status, message }
}

fn transport(method: &'static str, url: &str, source: reqwest::Error) -> ClientError {
    ClientError::Transport { method, url: url.to_owned(), source }
}
