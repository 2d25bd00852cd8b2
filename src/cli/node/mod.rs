//! A whole Hearth in this process: what `serve` and `up` start and stop.

mod cloud;
mod clouds_yaml;
pub(super) mod front;
mod process;
mod upkeep;

use std::fs::File;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;

use super::VERSION;
use super::admin::{AdminSocket, Administrator, EngineShown, Serving};
use super::data::{DataDir, Files, with_causes};
use super::policy::settings_of;
use crate::actors::{Engine, EngineLimits, EngineParts};
use crate::api::{self, ApiParts, ApiSettings, Listeners, Prices, RunningApi, ServeError};
use crate::clock::{Clock, SystemClock};
use crate::config::{CloudChoice, NotificationDriver, Settings};
use crate::events::log::{EventLog, LogError, OpenError, OwnedLog};
use crate::events::server::{self, ServerStarted};
use crate::events::vault::{Vault, VaultError};
use crate::metrics::Measured;
use crate::model::Secret;
use crate::openstack::{Cloud, CloudError};
use crate::outlets::{self, Carrier, NotificationSettings, OutletParts, Outlets};
use crate::policy::{Policy, PolicyError};
use crate::private_files;
use crate::projections::{ViewError, Views};
use crate::resource_types::{Registry, RegistryError};
use crate::sandbox::{self, RunningSandbox, SandboxError};
use crate::template::{self, YaqlLimits};
use crate::traces::Exporter;
use process::Process;
use upkeep::{Upkeep, UpkeepParts};

const SANDBOX_REGION: &str = "RegionOne";

/// Why Hearth could not start.
#[derive(Debug, thiserror::Error)]
pub(super) enum StartError {
    #[error("cannot listen on {address} ({says} says where)")]
    Listen {
        address: SocketAddr,
        /// The flag or the option.
        says: &'static str,
        #[source]
        source: std::io::Error,
    },
    #[error("could not use {}", path.display())]
    File {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    #[error("a real cloud is called with the credentials of [keystone_authtoken]")]
    NoCredentials,
    #[error(
        "the stacks in {} are made in another kind of cloud: start with --cloud {was}, or their \
         resources would be taken for gone ({} says so)",
        data.display(),
        data.join("cloud").display()
    )]
    OtherCloud { data: PathBuf, was: String },
    #[error("the cloud's client could not be made")]
    Cloud(#[from] CloudError),
    #[error("the server of [hearth] auth_backend_url cannot be asked: {reason}")]
    NoBackend { reason: String },
    #[error("the prices in {} cannot be read: {reason}", path.display())]
    NoPrices { path: PathBuf, reason: String },
    #[error("{name:?} of secure_proxy_ssl_header is no name of a header")]
    NoHeader { name: String },
    #[error(transparent)]
    Api(#[from] ServeError),
    #[error(transparent)]
    Log(#[from] OpenError),
    #[error("[hearth] log: {0}")]
    LogPlace(String),
    #[error(
        "a server that only reads has a data directory of its own, and [hearth] log says where the \
         log is that it reads"
    )]
    SameDirectory,
    #[error("a server that only reads has no sandbox of its own: --sandbox URL says where one is")]
    OwnSandbox,
    #[error("the keys could not be opened")]
    Vault(#[from] VaultError),
    #[error("there are no rules to start with: correct the policy")]
    Policy(#[from] PolicyError),
    #[error("the resource types could not be read")]
    Registry(#[from] RegistryError),
    #[error("the views could not be opened")]
    Views(#[from] ViewError),
}

/// Where the APIs listen.
struct Addresses {
    api: SocketAddr,
    cfn: Option<SocketAddr>,
}

/// A running Hearth.
pub(super) struct Node {
    /// Where the Orchestration API listens.
    pub(super) address: SocketAddr,
    /// Where CloudFormation's listens.
    pub(super) cfn_address: Option<SocketAddr>,
    /// Where CloudWatch's listens.
    pub(super) cloudwatch_address: Option<SocketAddr>,
    /// Where metrics are shown.
    pub(super) metrics_address: Option<SocketAddr>,
    /// The cloud's Keystone.
    pub(super) auth_url: String,
    /// The file for OpenStack's clients, where the cloud is a sandbox.
    pub(super) clouds_yaml: Option<PathBuf>,
    log: Arc<dyn OwnedLog>,
    /// Where the log is not a file of the data directory: what keeps others out of that.
    lock: Option<File>,
    registry: Arc<Registry>,
    engine: Engine,
    views: Views,
    /// `None` where another process sends what goes out, or a later one does.
    outlets: Option<Outlets>,
    /// `None` where nobody wants spans.
    exporter: Option<Exporter>,
    api: RunningApi,
    sandbox: Option<RunningSandbox>,
    /// `None` where it could not be opened.
    admin: Option<AdminSocket>,
    /// `None` where another process keeps the log, or nobody does for as long as questions are answered.
    upkeep: Option<Upkeep>,
}

impl Node {
    /// Starts everything and takes up the work that a former process left.
    pub(super) async fn start(settings: &Settings) -> Result<Node, StartError> {
        Node::begin(settings, true).await
    }

    /// Starts what answers questions; work that a former process left stays as it is.
    pub(super) async fn at_rest(settings: &Settings) -> Result<Node, StartError> {
        Node::begin(settings, false).await
    }

    async fn begin(settings: &Settings, goes_on: bool) -> Result<Node, StartError> {
        template::limit_yaql(YaqlLimits {
            iterators: settings.limits.yaql_iterators,
            memory: settings.limits.yaql_memory,
        });
        let files = Files::of(settings).map_err(StartError::LogPlace)?;
        let data = files.data.clone();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let policy = Arc::new(Policy::load(settings_of(&settings.policy), Arc::clone(&clock))?);
        data.prepare().map_err(|source| StartError::File { path: data.0.clone(), source })?;
        // The log comes first: it is locked, so a second process touches nothing else.
        let (log, lock) = match settings.read_only {
            false => files.open_log(clock.as_ref())?,
            true => {
                expect_to_read(settings, &files)?;
                files.follow_log()?
            }
        };
        // What a former process left is for the one that writes to go on with.
        let goes_on = goes_on && !settings.read_only;
        keep_to_cloud(settings, &data)?;
        let (orchestration, address) = listen("--listen", settings.listen)?;
        // Amazon's APIs are those of the server that writes.
        let amazon = |address: Option<SocketAddr>| address.filter(|_| !settings.read_only);
        let cfn = amazon(settings.cfn_listen).map(|address| listen("--cfn-listen", address));
        let cfn = cfn.transpose()?;
        let (cloudformation, cfn_address) = cfn.unzip();
        let cloudwatch = amazon(settings.cloudwatch_listen);
        let cloudwatch = cloudwatch.map(|address| listen("--cloudwatch-listen", address));
        let (cloudwatch, cloudwatch_address) = cloudwatch.transpose()?.unzip();
        let metrics = settings.metrics_listen;
        let metrics = metrics.map(|address| listen("[hearth] metrics_listen", address));
        let (metrics, metrics_address) = metrics.transpose()?.unzip();
        let addresses = Addresses { api: address, cfn: cfn_address };
        let sandbox =
            cloud::start_sandbox(settings, addresses, data.sandbox(), Arc::clone(&clock))?;
        let exporter = settings.otlp_endpoint.as_ref().map(|url| Exporter::start(url, VERSION));
        let (tracer, exporter) = exporter.unzip();
        let tracer = tracer.unwrap_or_default();
        let known = cloud::Known { sandbox: sandbox.as_ref(), cfn_address, tracer: tracer.clone() };
        let (cloud, auth_url) = cloud::connect(settings, known, Arc::clone(&clock))?;

        let shared_log: Arc<dyn EventLog> = log.clone();
        let (of_log, key) = (Arc::clone(&shared_log), &files.master_key);
        let vault = Arc::new(match settings.read_only {
            false => Vault::open_with(of_log, key, clock.clone()).await?,
            true => Vault::open_to_read(of_log, key, clock.clone())?,
        });
        let registry = Arc::new(registry(settings, Arc::clone(&clock))?);
        let views = Views::open(&data.views(), Arc::clone(&shared_log)).await?;
        let engine = Engine::start(EngineParts {
            log: Arc::clone(&shared_log),
            vault: Arc::clone(&vault),
            registry: Arc::clone(&registry),
            cloud: Some(Arc::clone(&cloud)),
            clock: Arc::clone(&clock),
            limits: engine_limits(settings),
            goes_on,
            forbidden_types: {
                let policy = Arc::clone(&policy);
                Arc::new(move |caller, types| {
                    let policy = Arc::clone(&policy);
                    async move { policy.forbidden(&caller, types).await }.boxed()
                })
            },
            on_record: Arc::new(views.clone()),
            changes: views.changes(),
        });
        // Before anybody works: what happens from now on is told with the trusts it needs.
        let outlets = goes_on.then(|| {
            Outlets::start(&OutletParts {
                engine: engine.clone(),
                views: views.clone(),
                log: Arc::clone(&shared_log),
                clock: Arc::clone(&clock),
                notifications: notification_settings(settings),
                tracer: tracer.clone(),
                drift_every: settings.limits.drift_every,
            })
        });
        // Views that were behind when the process ended would hide a stack that is at work.
        views.after(shared_log.durable_position()).await?;
        engine.count(views.tally().await?);
        if goes_on {
            engine.let_go_of_unclaimed().await;
            // Before a stack makes another.
            engine.alarms().watch(views.all_alarms().await?);
            engine.recover(views.unsettled_stacks().await?).await;
        }

        let administrator = Administrator {
            log: Arc::clone(&log),
            vault: Arc::clone(&vault),
            clock: Arc::clone(&clock),
            files: files.clone(),
            serving: None,
            workers: Some((engine.clone(), views.clone())),
        };
        let upkeep = goes_on.then(|| {
            Upkeep::start(UpkeepParts {
                log: Arc::clone(&log),
                vault: Arc::clone(&vault),
                engine: engine.clone(),
                views: views.clone(),
                clock: Arc::clone(&clock),
            })
        });
        let mut measured: Vec<Arc<dyn Measured>> = vec![
            Arc::new(Process),
            log.clone(),
            Arc::new(engine.clone()),
            Arc::new(views.clone()),
            cloud.clone(),
            Arc::new(tracer.clone()),
        ];
        measured.extend(outlets.as_ref().map(Outlets::measured));
        measured.extend(sandbox.as_ref().map(RunningSandbox::measured));
        let parts = ApiParts {
            engine: engine.clone(),
            views: views.clone(),
            cloud: Some(cloud),
            vault,
            registry: Arc::clone(&registry),
            policy,
            clock,
            log: shared_log,
            measured,
            tracer,
            settings: api_settings(settings, &auth_url)?,
        };
        if goes_on {
            // The first list of types is as quick as the next.
            let registry = Arc::clone(&registry);
            tokio::task::spawn_blocking(move || registry.read_all());
        }
        let listeners = Listeners { orchestration, cloudformation, cloudwatch, metrics };
        let api = api::serve(parts, listeners)?;
        let clouds_yaml = write_clouds_yaml(settings, &data, &auth_url)?;
        // From here on the server is found by those who look for it in the data directory; one that
        // only answers a question is gone too soon for that.
        let serving = Serving {
            api: format!("{}://{}", scheme(settings), reachable(address)),
            auth_url: auth_url.clone(),
            clouds_yaml: clouds_yaml.clone().map(|path| std::path::absolute(&path).unwrap_or(path)),
            engine: Some(EngineShown { id: api.engine_id, host: settings.host.clone() }),
        };
        let admin = match goes_on {
            true => open_admin(&files, administrator, serving),
            false => None,
        };
        Ok(Node {
            address,
            cfn_address,
            cloudwatch_address,
            metrics_address,
            auth_url,
            clouds_yaml,
            log,
            lock,
            registry,
            engine,
            views,
            outlets,
            exporter,
            api,
            sandbox,
            admin,
            upkeep,
        })
    }

    /// Puts on record where the API of the server is that writes the log.
    pub(super) async fn announce(&self, settings: &Settings) -> Result<(), LogError> {
        if self.log.is_read_only() {
            return Ok(());
        }
        // An address that listens everywhere says nothing to another machine.
        let place = match self.address.ip().is_unspecified() {
            true => format!("{}:{}", settings.host, self.address.port()),
            false => self.address.to_string(),
        };
        let started = ServerStarted {
            api: format!("{}://{place}", scheme(settings)),
            host: settings.host.clone(),
            version: VERSION.to_owned(),
        };
        server::announce(self.log.as_ref(), &SystemClock, started).await
    }

    /// Reads the certificate of the API and the plugin directories anew; says what came of it.
    pub(super) fn reload(&self) {
        let reread = self.registry.reread_plugins();
        for problem in &reread.problems {
            let problem = with_causes(problem);
            tracing::error!(problem, "a resource type cannot be read; what it was before stays");
        }
        for name in &reread.kept {
            tracing::warn!(type.name = %name, "its file is gone; the resource type stays until a restart");
        }
        if !reread.changed.is_empty() {
            self.views.changes().note_all();
        }
        for name in &reread.changed {
            tracing::info!(type.name = %name, "a resource type was read anew");
        }
        match self.api.reload_certificate() {
            Ok(true) => tracing::info!("the certificate was read anew"),
            Ok(false) => {}
            Err(error) => {
                let error = with_causes(&error);
                tracing::error!(error, "the certificate cannot be used; the old one stays");
            }
        }
    }

    /// Whether there is nothing that a restart would mend.
    pub(super) fn lives(&self) -> bool {
        self.views.is_following() && !self.log.is_taken_over()
    }

    /// Lets requests finish, makes everything durable and stops.
    pub(super) async fn stop(self) {
        drop(self.admin);
        drop(self.upkeep);
        self.api.stop().await;
        if let Some(outlets) = self.outlets {
            outlets.stop().await;
        }
        self.engine.shutdown();
        self.views.close().await;
        if let Some(exporter) = self.exporter {
            exporter.stop().await;
        }
        if let Some(sandbox) = self.sandbox {
            sandbox.stop().await;
        }
        // Actors that are still going hold it, too.
        self.log.close();
        drop(self.lock);
    }
}

/// Refuses to read beside a server that writes here, or to have a cloud that it has.
fn expect_to_read(settings: &Settings, files: &Files) -> Result<(), StartError> {
    if files.log.file().is_some_and(|log| log == files.data.log()) {
        return Err(StartError::SameDirectory);
    }
    match settings.cloud {
        CloudChoice::Sandbox => Err(StartError::OwnSandbox),
        CloudChoice::SandboxAt(_) | CloudChoice::OpenStack => Ok(()),
    }
}

/// Refuses to go on with another kind of cloud than the one that stacks were made in.
fn keep_to_cloud(settings: &Settings, data: &DataDir) -> Result<(), StartError> {
    let is = match settings.cloud {
        CloudChoice::Sandbox | CloudChoice::SandboxAt(_) => "sandbox",
        CloudChoice::OpenStack => "openstack",
    };
    let path = data.cloud();
    let was = std::fs::read_to_string(&path).unwrap_or_default();
    match was.trim() {
        // Nothing is said yet, or the process was killed before it was.
        "" => private_files::replace(&path, format!("{is}\n").as_bytes())
            .map_err(|source| StartError::File { path, source }),
        was if was == is => Ok(()),
        was => Err(StartError::OtherCloud { data: data.0.clone(), was: was.to_owned() }),
    }
}

/// The service goes before the operator's commands: without the socket it still serves.
fn open_admin(
    files: &Files,
    administrator: Administrator,
    serving: Serving,
) -> Option<AdminSocket> {
    let administrator = Administrator { serving: Some(serving), ..administrator };
    let path = files.data.admin_socket();
    AdminSocket::open(path, administrator)
        .inspect_err(|error| tracing::warn!(%error, "operator's commands are not heard"))
        .ok()
}

/// The client of a cloud whose Keystone is at the URL, which asks everything once.
pub(super) fn cloud_once(settings: &Settings, auth_url: &str) -> Result<Cloud, StartError> {
    cloud::once(settings, auth_url)
}

/// An address that listens everywhere, as one on this machine.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V4(v4) if v4.ip().is_unspecified() => {
            address.set_ip(Ipv4Addr::LOCALHOST.into());
        }
        SocketAddr::V6(v6) if v6.ip().is_unspecified() => {
            address.set_ip(Ipv6Addr::LOCALHOST.into());
        }
        SocketAddr::V4(_) | SocketAddr::V6(_) => {}
    }
    address
}

/// How the API is spoken to.
pub(super) fn scheme(settings: &Settings) -> &'static str {
    if settings.front.tls.is_some() { "https" } else { "http" }
}

/// A listener, and where it listens in the end.
fn listen(
    says: &'static str,
    address: SocketAddr,
) -> Result<(TcpListener, SocketAddr), StartError> {
    let failed = |source| StartError::Listen { address, says, source };
    let listener = TcpListener::bind(address).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok((listener, address))
}

pub(super) fn registry(settings: &Settings, clock: Arc<dyn Clock>) -> Result<Registry, StartError> {
    let mut registry = Registry::built_in()?.on_clock(clock);
    for directory in &settings.plugin_dirs {
        if !directory.is_dir() {
            let directory = directory.display();
            tracing::warn!(%directory, "there is no such directory of plugin_dirs");
        }
        registry.add_plugins(directory)?;
    }
    for default in &settings.type_defaults {
        registry.set_default(default.property, default.from, default.to);
    }
    if let Some(path) = &settings.loadbalancer_template {
        let unreadable = |source| StartError::File { path: path.clone(), source };
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        registry.set_template("loadbalancer_template", text);
    }
    if settings.environment_dir.is_dir() {
        registry.add_mappings(&settings.environment_dir);
    }
    Ok(registry)
}

fn engine_limits(settings: &Settings) -> EngineLimits {
    EngineLimits {
        stack_action_timeout: settings.limits.action_timeout,
        max_resources_per_stack: settings.limits.resources_per_stack,
        max_nested_stack_depth: settings.limits.nested_depth,
        max_stacks_per_tenant: settings.limits.stacks_per_project,
        max_software_configs_per_tenant: settings.limits.configs_per_project,
        max_software_deployments_per_tenant: settings.limits.deployments_per_project,
        max_snapshots_per_stack: settings.limits.snapshots_per_stack,
        enable_stack_abandon: settings.limits.stack_abandon,
        enable_stack_adopt: settings.limits.stack_adopt,
        action_retry_limit: settings.limits.action_retries,
        observe_on_update: settings.limits.observe_on_update,
        lost_call_rest: settings.limits.lost_call_rest,
        max_signal_size: settings.limits.signal_size,
        max_template_size: settings.limits.template_size,
        template_fetch_timeout: settings.limits.template_fetch,
        fetch_allow: settings.limits.fetch_allow.clone(),
        deferred_auth: settings.limits.deferred_auth,
        trusts_delegated_roles: settings.limits.delegated_roles.clone(),
    }
}

fn notification_settings(settings: &Settings) -> Option<NotificationSettings> {
    let told = settings.notifications.clone()?;
    let carrier = match told.driver {
        NotificationDriver::Log => Carrier::Function(Arc::new(outlets::to_log)),
        NotificationDriver::Bus(bus) => Carrier::Bus(bus),
    };
    Some(NotificationSettings { level: told.level, publisher_id: told.publisher_id, carrier })
}

fn api_settings(settings: &Settings, auth_url: &str) -> Result<ApiSettings, StartError> {
    Ok(ApiSettings {
        json_body_size_max: settings.limits.json_body_size,
        template_size_max: settings.limits.template_size,
        log_bytes_per_day_max: settings.limits.log_bytes_per_day,
        auth_url: settings.clients.authenticate_url.clone().unwrap_or_else(|| auth_url.to_owned()),
        build_revision: settings.build_revision.clone(),
        host: settings.host.clone(),
        hidden_stack_tags: settings.hidden_stack_tags.clone(),
        prices: settings.price_file.as_deref().map(read_prices).transpose()?,
        front: front::settings(settings)?,
        workers: None,
    })
}

fn read_prices(path: &Path) -> Result<Prices, StartError> {
    let cannot = |reason| StartError::NoPrices { path: path.to_owned(), reason };
    Prices::read(path).map_err(cannot)
}

/// The password of every user of the sandbox.
pub(super) fn sandbox_password(settings: &Settings) -> Secret<String> {
    settings.sandbox_password.clone().unwrap_or_else(sandbox::usual_password)
}

fn write_clouds_yaml(
    settings: &Settings,
    data: &DataDir,
    auth_url: &str,
) -> Result<Option<PathBuf>, StartError> {
    if settings.cloud == CloudChoice::OpenStack {
        return Ok(None);
    }
    let path = data.clouds_yaml();
    clouds_yaml::write(&path, auth_url, &sandbox_password(settings))
        .map_err(|source| StartError::File { path: path.clone(), source })?;
    Ok(Some(path))
}
