//! HTTP: the Orchestration API v1, CloudFormation's API, the event feed, discovery of versions. Wire shapes, links,
//! faults and status codes live here and nowhere else; what is decided, is decided by `actors`,
//! and what is read, is read from `projections`.

mod app;
mod auth;
mod cfn;
mod cloudwatch;
mod conditions;
mod context;
mod error;
mod feed;
mod front;
mod health;
mod metrics;
mod openapi;
mod past;
mod polled;
mod query;
mod reading;
mod request;
mod routes;
mod selection;
mod trace;
mod url;
mod v1;
mod versions;

use std::ops::Deref;
use std::sync::Arc;

use tokio::sync::watch;

pub use app::{Listeners, RunningApi, ServeError, serve};
pub use cfn::Prices;
#[doc(hidden)]
pub use cfn::inputs;
pub(crate) use error::status_of;
pub use front::{Auth, Cors, FrontSettings, OpenLimits, Patience, Proxy, TlsError, TlsFiles};
pub use routes::routes;

use crate::actors::Engine;
use crate::clock::Clock;
use crate::events::Position;
use crate::events::log::EventLog;
use crate::events::vault::Vault;
use crate::metrics::Measured;
use crate::openstack::Cloud;
use crate::policy::Policy;
use crate::projections::Views;
use crate::resource_types::Registry;
use crate::traces::Tracer;

/// What the API is made of.
pub struct ApiParts {
    pub engine: Engine,
    pub views: Views,
    /// Where tokens are validated; `None` refuses them all.
    pub cloud: Option<Arc<Cloud>>,
    pub vault: Arc<Vault>,
    pub registry: Arc<Registry>,
    pub policy: Arc<Policy>,
    pub clock: Arc<dyn Clock>,
    pub log: Arc<dyn EventLog>,
    /// What `/metrics` shows beside the API itself.
    pub measured: Vec<Arc<dyn Measured>>,
    /// Who is told of each request.
    pub tracer: Tracer,
    pub settings: ApiSettings,
}

/// What an operator can set of the API.
#[derive(Clone, Debug)]
pub struct ApiSettings {
    /// `max_json_body_size`.
    pub json_body_size_max: usize,
    /// `max_template_size`.
    pub template_size_max: usize,
    /// What a project may write into the log in a day, in bytes; `None` is no limit.
    pub log_bytes_per_day_max: Option<usize>,
    /// `www_authenticate_uri`: where a client without a token is sent.
    pub auth_url: String,
    /// `heat_revision`, as `build_info` shows it.
    pub build_revision: String,
    /// The name of this machine, as the list of services shows it.
    pub host: String,
    /// `hidden_stack_tags`: stacks with one of these are listed only where asked for.
    pub hidden_stack_tags: Vec<String>,
    /// `price_file` of `[hearth]`: what templates are estimated by.
    pub prices: Option<Prices>,
    /// What stands between the network and the routes.
    pub front: FrontSettings,
    /// Threads that serve requests; `None` takes one per core.
    pub workers: Option<usize>,
}

/// Which API a listener has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Orchestration,
    CloudFormation,
    CloudWatch,
    /// The operator's: metrics, and whether all is well.
    Metrics,
}

/// What a request is answered from.
struct ApiState {
    views: Views,
    /// Where the views stand for ever, if they are of the past.
    past: Option<Position>,
    shared: Arc<Shared>,
}

impl Deref for ApiState {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.shared
    }
}

/// What all requests share.
struct Shared {
    engine: Engine,
    cloud: Option<Arc<Cloud>>,
    vault: Arc<Vault>,
    registry: Arc<Registry>,
    policy: Arc<Policy>,
    clock: Arc<dyn Clock>,
    log: Arc<dyn EventLog>,
    settings: ApiSettings,
    /// Where it listens, for a client that names no host.
    address: String,
    bounds: Arc<front::Bounds>,
    /// The newest events, as feeds give them.
    frames: feed::Frames,
    polled: polled::Polled,
    measured: Vec<Arc<dyn Measured>>,
    tracer: Tracer,
    requests: metrics::Requests,
    /// Who this process is, in the list of services.
    node: v1::services::Node,
    /// Turns true when the server stops, so that open feeds end.
    stopping: watch::Receiver<bool>,
}
