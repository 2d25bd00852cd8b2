//! The server.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::HttpService;
use actix_service::{IntoServiceFactory, ServiceFactoryExt, map_config};
use actix_web::dev::ServerHandle;
use actix_web::dev::{AppConfig, Server, fn_service};
use actix_web::middleware::from_fn;
use actix_web::{App, Error, web};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::front::{Bounds, Cors, Front, Tls, TlsError};
use super::polled::Polled;
use super::v1::{State, services};
use super::{
    ApiParts, ApiState, Door, Shared, auth, cfn, cloudwatch, feed, front, health, metrics, openapi,
    reading, routes, trace, versions,
};

/// How long a stop waits for requests under way.
const STOP_WAIT_SECS: u64 = 10;

/// How long the rest of a request that was refused is read and thrown away, so that the client
/// reads the refusal instead of a broken connection.
const LINGER: Duration = Duration::from_secs(2);

/// An API that is being served.
pub struct RunningApi {
    /// Where the Orchestration API listens.
    pub address: SocketAddr,
    /// Where CloudFormation's does.
    pub cloudformation: Option<SocketAddr>,
    /// Where CloudWatch's does.
    pub cloudwatch: Option<SocketAddr>,
    /// Where the operator's page does.
    pub metrics: Option<SocketAddr>,
    /// By which the list of services names this process.
    pub engine_id: Uuid,
    tls: Option<Arc<Tls>>,
    handle: ServerHandle,
    stopping: watch::Sender<bool>,
    server: JoinHandle<io::Result<()>>,
}

impl RunningApi {
    /// Reads the certificate anew, for connections to come; `false` where TLS is not spoken. With
    /// an error the old one stays.
    pub fn reload_certificate(&self) -> Result<bool, TlsError> {
        self.tls.as_ref().map_or(Ok(false), |tls| tls.reload().map(|()| true))
    }

    /// Ends open feeds, lets requests under way finish, and stops.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        self.handle.stop(true).await;
        if let Ok(Err(error)) = self.server.await {
            tracing::warn!(%error, "the API did not stop cleanly");
        }
    }
}

/// Why the API cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the API cannot listen")]
    Listen(#[from] io::Error),
    #[error(transparent)]
    Tls(#[from] TlsError),
}

/// Where the APIs listen.
pub struct Listeners {
    pub orchestration: TcpListener,
    /// `None`: it is not served.
    pub cloudformation: Option<TcpListener>,
    /// `None`: it is not served.
    pub cloudwatch: Option<TcpListener>,
    /// For the operator alone, who is asked for no token; `None`: nothing is shown.
    pub metrics: Option<TcpListener>,
}

impl From<TcpListener> for Listeners {
    fn from(orchestration: TcpListener) -> Self {
        Self { orchestration, cloudformation: None, cloudwatch: None, metrics: None }
    }
}

/// Serves the APIs on their listeners. Must be called within a Tokio runtime.
pub fn serve(parts: ApiParts, listeners: impl Into<Listeners>) -> Result<RunningApi, ServeError> {
    let Listeners { orchestration, cloudformation, cloudwatch, metrics } = listeners.into();
    let address = orchestration.local_addr()?;
    let cfn_address = cloudformation.as_ref().map(TcpListener::local_addr).transpose()?;
    let cloudwatch_address = cloudwatch.as_ref().map(TcpListener::local_addr).transpose()?;
    let metrics_address = metrics.as_ref().map(TcpListener::local_addr).transpose()?;
    let (stopping, stopped) = watch::channel(false);
    let workers = parts.settings.workers;
    let tls = parts.settings.front.tls.clone().map(Tls::open).transpose()?.map(Arc::new);
    let patience = parts.settings.front.patience;
    let fresh_bounds = || Arc::new(Bounds::new(&parts.settings.front.limits));
    let front = |bounds| Arc::new(Front { bounds, tls: tls.clone(), patience });
    let bounds = fresh_bounds();
    let clients_front = front(Arc::clone(&bounds));
    // An operator sees how a server does that has as many clients as it may.
    let operators_front = front(fresh_bounds());
    let polled = Polled::new((!parts.log.is_read_only()).then(|| parts.views.changes()));
    let node = services::Node::start(parts.clock.as_ref());
    let engine_id = node.engine_id;
    let shared = Arc::new(Shared {
        engine: parts.engine,
        cloud: parts.cloud,
        vault: parts.vault,
        registry: parts.registry,
        policy: parts.policy,
        clock: parts.clock,
        log: parts.log,
        settings: parts.settings,
        address: address.to_string(),
        bounds,
        frames: feed::Frames::default(),
        polled,
        measured: parts.measured,
        tracer: parts.tracer,
        requests: metrics::Requests::none(),
        node,
        stopping: stopped,
    });
    let state = State::new(ApiState { views: parts.views, past: None, shared });
    let mut server = Server::build().shutdown_timeout(STOP_WAIT_SECS).disable_signals();
    if let Some(workers) = workers {
        server = server.workers(workers);
    }
    let draining = server.graceful_shutdown_signal();
    let service = |door: Door| {
        let front = match door {
            Door::Orchestration | Door::CloudFormation | Door::CloudWatch => {
                Arc::clone(&clients_front)
            }
            Door::Metrics => Arc::clone(&operators_front),
        };
        let (state, draining) = (state.clone(), draining.clone());
        move || {
            let app = App::new()
                .app_data(state.clone())
                .app_data(door)
                .wrap(from_fn(Cors::apply))
                .wrap(from_fn(trace::with_request_id))
                .configure(|config| door.register(config));
            let app = app.into_factory().map_err(|error: Error| error.error_response());
            let draining = draining.clone();
            let http = HttpService::build()
                .graceful_shutdown_signal(move || {
                    let draining = draining.clone();
                    async move { draining.notified().await }
                })
                .keep_alive(patience.idle)
                .client_request_timeout(patience.head)
                .client_disconnect_timeout(LINGER)
                // Who says that he sends no more is gone: nothing is done for him any longer.
                .h1_allow_half_closed(false)
                .on_connect_ext(front::Guarded::tell)
                .h1(map_config(app, |()| AppConfig::default()));
            let front = Arc::clone(&front);
            fn_service(move |socket| {
                let front = Arc::clone(&front);
                async move { front.open(socket).await }
            })
            .and_then(http)
        }
    };
    let mut server = server.listen("api", orchestration, service(Door::Orchestration))?;
    if let Some(listener) = cloudformation {
        server = server.listen("cfn", listener, service(Door::CloudFormation))?;
    }
    if let Some(listener) = cloudwatch {
        server = server.listen("cloudwatch", listener, service(Door::CloudWatch))?;
    }
    if let Some(listener) = metrics {
        server = server.listen("metrics", listener, service(Door::Metrics))?;
    }
    let server = server.run();
    let handle = server.handle();
    let server = tokio::spawn(server);
    Ok(RunningApi {
        address,
        cloudformation: cfn_address,
        cloudwatch: cloudwatch_address,
        metrics: metrics_address,
        engine_id,
        tls,
        handle,
        stopping,
        server,
    })
}

impl Door {
    /// Serves what is behind it, an API under each of the version's prefixes.
    fn register(self, config: &mut web::ServiceConfig) {
        config.configure(health::routes);
        for prefix in ["/v1", "/v1.0"] {
            let scope = web::scope(prefix);
            match self {
                Door::Orchestration => {
                    let description = format!("{prefix}/openapi.json");
                    config.service(web::resource(description).get(openapi::show));
                    let scope = scope.wrap(from_fn(reading::refuse_commands));
                    let scope = scope.wrap(from_fn(auth::authenticate)).configure(routes::register);
                    config.service(scope);
                }
                Door::CloudFormation => {
                    config.service(scope.configure(cfn::routes));
                }
                Door::CloudWatch => {
                    config.service(scope.configure(cloudwatch::routes));
                }
                Door::Metrics => {}
            }
        }
        match self {
            Door::Orchestration | Door::CloudFormation | Door::CloudWatch => {
                config.default_service(web::to(versions::unversioned));
            }
            Door::Metrics => metrics::routes(config),
        }
    }
}
