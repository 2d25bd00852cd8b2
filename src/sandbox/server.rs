//! The HTTP server around the cloud: reads requests, keeps to the faults, remembers what it saw.

use std::any::Any;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex};

use actix_web::dev::{Extensions, ServerHandle};
use actix_web::http::StatusCode;
use actix_web::rt::System;
use actix_web::rt::net::TcpStream as AsyncTcpStream;
use actix_web::rt::time::sleep;
use actix_web::web::{self, Bytes, PayloadConfig};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer};
use serde_json::Value;
use tokio::sync::watch;

use super::admin;
use super::answer::{self, Answer};
use super::ask::Ask;
use super::cloud::Cloud;
use super::config::SandboxConfig;
use super::faults::{Fault, FaultRule, Faults};
use super::guests::Guests;
use super::rules;
use super::shared::{RequestSeen, Seen, Shared};
use crate::clock::{Clock, SystemClock};
use crate::metrics::{Family, Measured};

/// Objects and images are held in memory, so they have to be modest.
const BODY_MAX_BYTES: usize = 256 * 1024 * 1024;
/// How long requests in flight get when the sandbox stops.
const STOP_WITHIN_SECS: u64 = 2;

/// Starts sandboxes.
pub struct Sandbox;

/// A sandbox that answers. It stops when it is dropped.
pub struct RunningSandbox {
    /// Where it listens.
    pub address: SocketAddr,
    /// The address of its Keystone: `http://127.0.0.1:5000/v3`.
    pub auth_url: String,
    shared: Arc<Shared>,
    guests: Option<Guests>,
    server: ServerHandle,
    thread: Option<std::thread::JoinHandle<()>>,
}

/// Why a sandbox did not start.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("the sandbox could not listen on {address}")]
    Listen { address: SocketAddr, source: io::Error },
    #[error("the sandbox could not read its state from {path}")]
    State { path: String, source: io::Error },
    #[error("the sandbox's services could not be read")]
    Services(#[source] io::Error),
    #[error("the sandbox's fault rules are wrong: {0}")]
    Faults(String),
    #[error(
        "the sandbox listens on {0}, where others reach it, so its users need a password that \
         nobody knows: set [sandbox] password, or HEARTH_SANDBOX__PASSWORD in the environment"
    )]
    Exposed(SocketAddr),
    #[error(
        "the sandbox listens on {0}, where others reach it, so its servers run nothing: guests are \
         for a loopback address alone"
    )]
    ExposedGuests(SocketAddr),
    #[error("the sandbox could not be started")]
    Start(#[source] io::Error),
}

/// A second handle on the connection, to close it under a request.
struct Connection(TcpStream);

impl Sandbox {
    /// Starts on the machine's own clock.
    pub fn start(config: SandboxConfig) -> Result<RunningSandbox, SandboxError> {
        Self::start_with_clock(config, Arc::new(SystemClock))
    }

    /// Starts on a clock that the caller moves.
    pub fn start_with_clock(
        config: SandboxConfig,
        clock: Arc<dyn Clock>,
    ) -> Result<RunningSandbox, SandboxError> {
        let address = config.listen;
        if config.is_exposed() && config.has_usual_password() {
            return Err(SandboxError::Exposed(address));
        }
        if config.is_exposed() && config.guests.is_some() {
            return Err(SandboxError::ExposedGuests(address));
        }
        let guests = config.guests;
        let listener = TcpListener::bind(address)
            .map_err(|source| SandboxError::Listen { address, source })?;
        let address =
            listener.local_addr().map_err(|source| SandboxError::Listen { address, source })?;
        let mut faults = Faults::default();
        faults.set(config.faults.clone()).map_err(SandboxError::Faults)?;
        let path = config.data.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
        let collections =
            rules::collections(config.services.as_deref()).map_err(SandboxError::Services)?;
        let remembered = config.requests_remembered;
        let request_latency = config.latencies.request;
        let has_admin = !config.is_exposed();
        let cloud = Cloud::open(Arc::new(config), Arc::clone(&clock), collections)
            .map_err(|source| SandboxError::State { path, source })?;
        let shared = Arc::new(Shared {
            cloud: Mutex::new(cloud),
            faults: Mutex::new(faults),
            seen: Mutex::new(Seen::of(remembered)),
            requests: Family::of(["service", "status"]),
            clock,
            request_latency,
            has_admin,
            base: format!("http://{address}"),
        });
        let (server, thread) = serve(listener, Arc::clone(&shared)).map_err(SandboxError::Start)?;
        let guests = guests.map(|limits| Guests::start(Arc::clone(&shared), limits));
        let guests = guests.transpose().map_err(SandboxError::Start)?;
        let auth_url = format!("http://{address}/v3");
        Ok(RunningSandbox { address, auth_url, shared, guests, server, thread: Some(thread) })
    }
}

impl RunningSandbox {
    /// Answers the requests in flight and stops.
    pub async fn stop(mut self) {
        self.guests.take();
        self.server.stop(true).await;
        self.thread.take();
    }

    /// Replaces the fault rules; an empty list ends all faults.
    pub fn set_faults(&self, rules: Vec<FaultRule>) -> Result<(), SandboxError> {
        self.shared.faults().set(rules).map_err(SandboxError::Faults)
    }

    /// The newest requests, oldest first.
    pub fn requests(&self) -> Vec<RequestSeen> {
        self.shared.seen()
    }

    /// How many requests it was sent; it changes when one more was carried out, or was lost.
    pub fn heard(&self) -> watch::Receiver<u64> {
        self.shared.heard()
    }

    /// What counts its requests.
    pub fn measured(&self) -> Arc<dyn Measured> {
        Arc::clone(&self.shared) as Arc<dyn Measured>
    }

    /// Forgets the requests seen so far; their count goes on.
    pub fn forget_requests(&self) {
        self.shared.forget();
    }

    /// Everything that the cloud holds, by kind: what `GET /admin/state` shows.
    pub fn state(&self) -> Value {
        admin::state(&mut self.shared.cloud(), self.shared.clock.now(), None)
    }
}

impl Drop for RunningSandbox {
    fn drop(&mut self) {
        // The stop command is sent when it is called; nobody needs to wait for it.
        drop(self.server.stop(false));
    }
}

/// Runs the server on a thread and an actix system of its own, so that it serves whatever
/// runtime, or none, the caller is on.
fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
) -> io::Result<(ServerHandle, std::thread::JoinHandle<()>)> {
    let (send, receive) = std::sync::mpsc::channel();
    let thread = std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
        System::new().block_on(async move {
            let app = move || {
                App::new()
                    .app_data(web::Data::from(Arc::clone(&shared)))
                    .app_data(PayloadConfig::new(BODY_MAX_BYTES))
                    .default_service(web::to(handle))
            };
            let server = HttpServer::new(app)
                .workers(1)
                .disable_signals()
                .shutdown_timeout(STOP_WITHIN_SECS)
                .on_connect(keep_connection)
                .listen(listener);
            match server {
                Ok(server) => {
                    let server = server.run();
                    let _ = send.send(Ok(server.handle()));
                    if let Err(error) = server.await {
                        tracing::error!(%error, "the sandbox's server has failed");
                    }
                }
                Err(error) => {
                    let _ = send.send(Err(error));
                }
            }
        });
    })?;
    let handle =
        receive.recv().unwrap_or_else(|_| Err(io::Error::other("its thread has ended")))?;
    Ok((handle, thread))
}

fn keep_connection(connection: &dyn Any, extensions: &mut Extensions) {
    if let Some(stream) = connection.downcast_ref::<AsyncTcpStream>()
        && let Ok(second) = stream.as_fd().try_clone_to_owned()
    {
        extensions.insert(Connection(TcpStream::from(second)));
    }
}

async fn handle(request: HttpRequest, body: Bytes, shared: web::Data<Shared>) -> HttpResponse {
    let path = request.path();
    if shared.has_admin && path.starts_with("/admin/") {
        return respond(admin::answer(&shared, &request, &body));
    }
    let met = shared.faults().meet(request.method().as_str(), path, shared.clock.as_ref());
    let (late, fault) = met.unwrap_or_default();
    let latency = shared.request_latency + late;
    if !latency.is_zero() {
        sleep(latency).await;
    }
    match fault {
        Fault::DropRequest => {
            shared.remember(&request, 0, false);
            return hang_up(&request);
        }
        Fault::Status { code, retry_after } => {
            shared.remember(&request, code, false);
            return respond(ordered(path, code, retry_after));
        }
        Fault::None | Fault::DropReply => {}
    }
    let Some(ask) = read(&request, body, &shared) else {
        return respond(answer::unreadable());
    };
    let answer = shared.cloud().answer(&ask);
    if fault == Fault::DropReply {
        shared.remember(&request, 0, true);
        return hang_up(&request);
    }
    shared.remember(&request, answer.status, true);
    let id = format!("req-{}", shared.clock.fresh_id());
    let answer = match ask.path.first().map(String::as_str) {
        Some("compute") => answer.header("x-compute-request-id", id.clone()),
        Some("object-store") => answer.header("x-trans-id", id.clone()),
        _ => answer,
    };
    respond(answer.header("x-openstack-request-id", id))
}

/// Closes the connection; what is returned can no longer be written to it.
fn hang_up(request: &HttpRequest) -> HttpResponse {
    if let Some(Connection(stream)) = request.conn_data::<Connection>() {
        // An error means that the client was faster.
        let _ = stream.shutdown(Shutdown::Both);
    }
    HttpResponse::InternalServerError().force_close().finish()
}

/// An error that a fault rule orders, in the shape of the service that it stands for.
fn ordered(path: &str, code: u16, retry_after: Option<u64>) -> Answer {
    let text = "This fault was ordered.";
    let answer = match path.split('/').nth(1) {
        Some("network") => answer::neutron(code, "HTTPFault", text),
        Some("compute" | "volume") => answer::nova(code, text),
        Some("image") => answer::glance(code, text),
        Some("object-store") => answer::swift(code),
        Some("key-manager") => answer::barbican(code, text),
        _ => answer::keystone(code, text),
    };
    match retry_after {
        Some(seconds) => answer.header("retry-after", seconds.to_string()),
        None => answer,
    }
}

fn read(request: &HttpRequest, body: Bytes, shared: &Shared) -> Option<Ask> {
    let target = (request.uri().path(), request.query_string());
    let headers = request.headers().clone();
    let now = (shared.clock.now(), shared.base.as_str());
    Ask::read(request.method().as_str(), target, headers, body, now)
}

fn respond(answer: Answer) -> HttpResponse {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = HttpResponse::build(status);
    for header in answer.headers {
        response.append_header(header);
    }
    response.body(answer.body)
}
