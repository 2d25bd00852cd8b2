//! The server and its table of routes.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use actix_http::HttpService;
use actix_service::{IntoServiceFactory, ServiceFactoryExt, map_config};
use actix_web::dev::ServerHandle;
use actix_web::dev::{AppConfig, Server, fn_service};
use actix_web::http::Method;
use actix_web::http::header::ALLOW;
use actix_web::middleware::from_fn;
use actix_web::{App, Error, HttpRequest, HttpResponse, Resource, ResponseError, Route, web};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::error::Fault;
use super::front::{Bounds, Cors, Front, Tls, TlsError};
use super::v1::{
    State, actions, events, outputs, resource_types, resources, services, snapshots,
    software_configs, software_deployments, stacks, templates, webhooks,
};
use super::{
    ApiParts, ApiState, Door, Shared, auth, cfn, cloudwatch, feed, front, health, metrics, openapi,
    reading, trace, versions,
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
                    let scope = scope.wrap(from_fn(auth::authenticate)).configure(register);
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

/// Serves the routes of version 1, the same under each of its prefixes. Every known URL answers
/// 405 to the verbs that it lacks.
fn register(config: &mut web::ServiceConfig) {
    for url in v1().0 {
        config.service(url.resource());
    }
    config.default_service(web::to(versions::not_found));
}

/// Every route of version 1: its verb, and its path below the version.
pub fn routes() -> Vec<(&'static str, String)> {
    let urls = v1().0.into_iter();
    urls.flat_map(|url| {
        let path = url.path;
        url.verbs.into_iter().map(move |(verb, _)| (verb, path.clone()))
    })
    .collect()
}

/// A URL with the verbs that it takes; the others are refused.
struct Known {
    path: String,
    verbs: Vec<(&'static str, Route)>,
}

/// The URLs of a version, each before those that its pattern would hide.
struct Table(Vec<Known>);

impl Table {
    fn service(mut self, url: Known) -> Self {
        self.0.push(url);
        self
    }
}

fn v1() -> Table {
    let stack = "/{project}/stacks/{name}/{id}";
    let under = |path: &str| format!("{stack}{path}");
    Table(Vec::new())
        .service(known("/{project}/validate", [("POST", web::post().to(templates::validate))]))
        .service(known("/{project}/resource_types", [get(resource_types::list)]))
        .service(known("/{project}/resource_types/{type}", [get(resource_types::show)]))
        .service(known(
            "/{project}/resource_types/{type}/template",
            [get(resource_types::template)],
        ))
        .service(known("/{project}/template_versions", [get(templates::versions)]))
        .service(known(
            "/{project}/template_versions/{version}/functions",
            [get(templates::functions)],
        ))
        .service(known(
            "/{project}/software_configs",
            [get(software_configs::list), ("POST", web::post().to(software_configs::create))],
        ))
        .service(known(
            "/{project}/software_configs/{config}",
            [get(software_configs::show), ("DELETE", web::delete().to(software_configs::delete))],
        ))
        .service(known(
            "/{project}/software_deployments",
            [
                get(software_deployments::list),
                ("POST", web::post().to(software_deployments::create)),
            ],
        ))
        .service(known(
            "/{project}/software_deployments/metadata/{server}",
            [get(software_deployments::metadata)],
        ))
        .service(known(
            "/{project}/software_deployments/{deployment}",
            [
                get(software_deployments::show),
                ("PUT", web::put().to(software_deployments::update)),
                ("DELETE", web::delete().to(software_deployments::delete)),
            ],
        ))
        .service(known("/{project}/build_info", [get(services::build_info)]))
        .service(known("/{project}/services", [get(services::list)]))
        .service(known("/{project}/feed", [get(feed::follow)]))
        .service(known(
            "/{project}/webhooks",
            [get(webhooks::list), ("POST", web::post().to(webhooks::create))],
        ))
        .service(known(
            "/{project}/webhooks/{webhook}",
            [get(webhooks::show), ("DELETE", web::delete().to(webhooks::delete))],
        ))
        .service(known(
            "/{project}/stacks",
            [get(stacks::list::index), ("POST", web::post().to(stacks::create::create))],
        ))
        .service(known("/{project}/stacks/{arn:arn:.*}", stack_by_one_name()))
        .service(known("/{project}/stacks/{name}", stack_by_one_name()))
        .service(known(
            stack,
            [
                get(stacks::show::show),
                ("POST", web::post().to(stacks::lookup::subpath_of_post)),
                ("PUT", web::put().to(stacks::update::replace)),
                ("PATCH", web::patch().to(stacks::update::patch)),
                ("DELETE", web::delete().to(stacks::delete::delete)),
            ],
        ))
        .service(known(&under("/template"), [get(stacks::definition::template)]))
        .service(known(&under("/environment"), [get(stacks::definition::environment)]))
        .service(known(&under("/files"), [get(stacks::definition::files)]))
        .service(known(
            &under("/preview"),
            [
                ("PUT", web::put().to(stacks::update::preview_replace)),
                ("PATCH", web::patch().to(stacks::update::preview_patch)),
            ],
        ))
        .service(known(&under("/plan"), [("POST", web::post().to(stacks::plan::of_stack))]))
        .service(known(&under("/export"), [get(stacks::keep::export)]))
        .service(known(&under("/abandon"), [("DELETE", web::delete().to(stacks::keep::abandon))]))
        .service(known(&under("/outputs"), [get(outputs::list)]))
        .service(known(&under("/outputs/{output}"), [get(outputs::show)]))
        .service(known(&under("/actions"), [("POST", web::post().to(actions::act))]))
        .service(known(
            &under("/snapshots"),
            [get(snapshots::list), ("POST", web::post().to(snapshots::take))],
        ))
        .service(known(
            &under("/snapshots/{snapshot}"),
            [get(snapshots::show), ("DELETE", web::delete().to(snapshots::delete))],
        ))
        .service(known(
            &under("/snapshots/{snapshot}/restore"),
            [("POST", web::post().to(snapshots::restore))],
        ))
        .service(known(&under("/resources"), [get(resources::list)]))
        .service(known(
            &under("/resources/{resource}"),
            [get(resources::show), ("PATCH", web::patch().to(resources::mark))],
        ))
        .service(known(&under("/resources/{resource}/metadata"), [get(resources::metadata)]))
        .service(known(
            &under("/resources/{resource}/signal"),
            [("POST", web::post().to(resources::signal))],
        ))
        .service(known(&under("/resources/{resource}/events"), [get(events::of_resource)]))
        .service(known(&under("/resources/{resource}/events/{event}"), [get(events::show)]))
        .service(known(&under("/events"), [get(events::of_stack)]))
        .service(known(&under("/feed"), [get(feed::follow_stack)]))
        .service(known(&under("/drift"), [get(stacks::drift::show)]))
        .service(known(&under("/history"), [get(stacks::history::history)]))
        .service(known(&under("/history/bundle"), [get(stacks::bundle::show)]))
}

/// Where a stack is only named: every verb is sent on to the canonical URL.
fn stack_by_one_name() -> [(&'static str, Route); 5] {
    [
        ("GET", web::get().to(stacks::lookup::named)),
        ("POST", web::post().to(stacks::lookup::named_in_post)),
        ("PUT", web::put().to(stacks::lookup::stack)),
        ("PATCH", web::patch().to(stacks::lookup::stack)),
        ("DELETE", web::delete().to(stacks::lookup::stack)),
    ]
}

fn get<F, Args>(handler: F) -> (&'static str, Route)
where
    F: actix_web::Handler<Args>,
    Args: actix_web::FromRequest + 'static,
    F::Output: actix_web::Responder + 'static,
{
    ("GET", web::get().to(handler))
}

fn known<const N: usize>(path: &str, verbs: [(&'static str, Route); N]) -> Known {
    Known { path: path.to_owned(), verbs: verbs.into() }
}

impl Known {
    fn resource(self) -> Resource {
        let allowed: Vec<&str> = self.verbs.iter().map(|(verb, _)| *verb).collect();
        let allowed = allowed.join(",");
        let mut resource = web::resource(self.path);
        for (_, route) in self.verbs {
            resource = resource.route(route);
        }
        resource.default_service(web::to(move |request: HttpRequest| {
            let answer = refused_verb(&request, &allowed);
            async move { answer }
        }))
    }
}

fn refused_verb(request: &HttpRequest, allowed: &str) -> HttpResponse {
    if request.method() == Method::OPTIONS {
        return HttpResponse::NoContent().insert_header((ALLOW, allowed)).finish();
    }
    Fault::method_not_allowed().error_response()
}
