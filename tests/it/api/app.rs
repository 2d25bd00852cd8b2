//! A whole Hearth in the test's process: sandbox cloud, memory log, engine, views, API.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use hearth::actors::{Engine, EngineLimits, EngineParts, TemplateLoad};
use hearth::api::{ApiParts, ApiSettings, FrontSettings, Listeners, Prices, RunningApi, serve};
use hearth::clock::{Clock, SystemClock};
use hearth::events::StreamId;
use hearth::events::log::{EventLog, MemoryLog};
use hearth::events::vault::{MasterKey, Placed, Vault};
use hearth::model::{Secret, StackId};
use hearth::openstack::{CfnPlaces, Cloud, CloudLimits, CloudSettings, UserDomainSettings};
use hearth::policy::Policy;
use hearth::projections::Views;
use hearth::resource_types::Registry;
use hearth::sandbox::{FaultRule, Latencies, RunningSandbox, Sandbox, SandboxConfig};
use serde_json::{Value, json};

use crate::support::wait::{Tells, until};
use crate::support::world::loopback;

/// The whole, and a client that follows no redirects.
pub(crate) struct App {
    pub(crate) log: Arc<dyn EventLog>,
    pub(crate) views: Views,
    pub(crate) url: String,
    /// CloudFormation's API.
    pub(crate) cfn_url: String,
    /// CloudWatch's API.
    pub(crate) watch_url: String,
    pub(crate) project: String,
    pub(crate) token: String,
    pub(crate) client: reqwest::Client,
    pub(crate) keystone: String,
    engine: Engine,
    pub(super) vault: Arc<Vault>,
    running: RunningApi,
    pub(crate) sandbox: RunningSandbox,
}

/// What may differ from one test to the next.
pub(crate) struct SetUp {
    pub(crate) limits: EngineLimits,
    pub(crate) json_body_size_max: usize,
    pub(crate) prices: Option<Prices>,
    pub(crate) log_bytes_per_day_max: Option<usize>,
    pub(crate) front: FrontSettings,
    pub(crate) policy: Policy,
    pub(crate) cloud: CloudLimits,
    /// Of every token that the sandbox gives.
    pub(crate) token_life: Duration,
    /// What the sandbox does not do well.
    pub(crate) faults: Vec<FaultRule>,
    /// How slow it is.
    pub(crate) latencies: Latencies,
    /// The types of the services that it does not have.
    pub(crate) without: Vec<String>,
    pub(crate) registry: Registry,
    /// Other clouds whose users sign requests, by name: their Keystones.
    pub(crate) signers: Vec<(&'static str, String)>,
    /// Other Keystones that callers who come with a password may name.
    pub(crate) entrances: Vec<String>,
}

impl Default for SetUp {
    fn default() -> Self {
        Self {
            limits: EngineLimits::default(),
            json_body_size_max: 1_048_576,
            prices: None,
            log_bytes_per_day_max: None,
            front: FrontSettings::default(),
            policy: Policy::defaults(Arc::new(SystemClock)).unwrap(),
            cloud: CloudLimits::default(),
            token_life: Duration::from_secs(3600),
            faults: Vec::new(),
            latencies: Latencies::none(),
            without: Vec::new(),
            registry: Registry::built_in().unwrap(),
            signers: Vec::new(),
            entrances: Vec::new(),
        }
    }
}

/// What came back.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) text: String,
}

impl Answered {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Of what is on record.
impl Tells for App {
    fn change(&self) -> BoxFuture<'_, ()> {
        self.views.change()
    }
}

impl App {
    /// A value of a stack's as its owner sees it.
    pub(crate) fn opened(&self, stack: StackId, placed: &Placed) -> Value {
        self.vault.open(StreamId::stack(stack).as_str(), placed).unwrap()
    }

    /// Nobody can open any more what a stack has sealed.
    pub(crate) async fn destroy_key(&self, stack: StackId) {
        self.vault.destroy(StreamId::stack(stack).as_str()).await.unwrap();
    }

    /// What the threads for templates are doing.
    pub(crate) fn template_load(&self) -> TemplateLoad {
        self.engine.template_load()
    }

    pub(crate) async fn start() -> Self {
        Self::over(Arc::new(MemoryLog::new())).await
    }

    /// The same over a log that has events already.
    pub(crate) async fn over(log: Arc<dyn EventLog>) -> Self {
        let limits = EngineLimits { fetch_allow: loopback(), ..EngineLimits::default() };
        Self::set_up(log, SetUp { limits, ..SetUp::default() }).await
    }

    /// The same with limits of its own.
    pub(crate) async fn within(limits: EngineLimits) -> Self {
        let setup = SetUp { limits, ..SetUp::default() };
        Self::set_up(Arc::new(MemoryLog::new()), setup).await
    }

    /// The same with a policy of its own.
    pub(crate) async fn under(policy: Policy) -> Self {
        let setup = SetUp { policy, ..SetUp::default() };
        Self::set_up(Arc::new(MemoryLog::new()), setup).await
    }

    /// The same behind a front of its own.
    pub(crate) async fn behind(front: FrontSettings) -> Self {
        let setup = SetUp { front, ..SetUp::default() };
        Self::set_up(Arc::new(MemoryLog::new()), setup).await
    }

    /// The same, with a bound on what a project writes in a day, in bytes.
    pub(crate) async fn writing(log: Arc<dyn EventLog>, bytes: usize) -> Self {
        Self::set_up(log, SetUp { log_bytes_per_day_max: Some(bytes), ..SetUp::default() }).await
    }

    pub(crate) async fn set_up(log: Arc<dyn EventLog>, setup: SetUp) -> Self {
        let SetUp {
            json_body_size_max,
            prices,
            log_bytes_per_day_max,
            limits,
            front,
            policy,
            cloud: cloud_limits,
            token_life,
            faults,
            latencies,
            without,
            registry,
            signers,
            entrances,
        } = setup;
        let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let (orchestration, cloudformation, cloudwatch) = (listen(), listen(), listen());
        let port = orchestration.local_addr().unwrap().port();
        let cfn_url = format!("http://{}", cloudformation.local_addr().unwrap());
        let config = SandboxConfig {
            hearth_url: Some(format!("http://127.0.0.1:{port}")),
            cfn_url: Some(cfn_url.clone()),
            // The same server by another name.
            other_regions: vec![("Elsewhere".to_owned(), format!("http://localhost:{port}"))],
            token_life,
            faults,
            latencies,
            without,
            ..SandboxConfig::instant()
        };
        let sandbox = Sandbox::start(config).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let password = Secret::new("secret".to_owned());
        let stack_users = UserDomainSettings::of_sandbox(password.clone());
        let mut settings = CloudSettings {
            stack_users: Some(stack_users),
            limits: cloud_limits,
            fetch_allow: limits.fetch_allow.clone(),
            ..CloudSettings::new(&sandbox.auth_url, "hearth", password, "service")
        };
        if !signers.is_empty() {
            let own = ("here", sandbox.auth_url.clone());
            let listener = Some(format!("{cfn_url}/v1"));
            let places = CfnPlaces { listener, ..CfnPlaces::default() };
            let at = |(name, auth_url): (&str, String)| {
                (
                    name.to_owned(),
                    CloudSettings { auth_url, cfn_places: places.clone(), ..settings.clone() },
                )
            };
            settings.signers = Some([own].into_iter().chain(signers).map(at).collect());
        }
        if !entrances.is_empty() {
            settings.entrances =
                Some([sandbox.auth_url.clone()].into_iter().chain(entrances).collect());
        }
        let cloud = Arc::new(Cloud::new(settings, Arc::clone(&clock)).unwrap());
        let master = MasterKey::fresh(clock.as_ref());
        let vault = Arc::new(Vault::new(Arc::clone(&log), master, Arc::clone(&clock)));
        let registry = Arc::new(registry);
        let views = Views::in_memory(Arc::clone(&log)).await.unwrap();
        views.after(log.durable_position()).await.unwrap();
        let policy = Arc::new(policy);
        let engine = Engine::start(EngineParts {
            log: Arc::clone(&log),
            vault: Arc::clone(&vault),
            registry: Arc::clone(&registry),
            cloud: Some(Arc::clone(&cloud)),
            clock: Arc::clone(&clock),
            limits,
            goes_on: true,
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
        engine.alarms().watch(views.all_alarms().await.unwrap());
        let parts = ApiParts {
            engine: engine.clone(),
            views: views.clone(),
            cloud: Some(cloud),
            vault: Arc::clone(&vault),
            registry,
            policy,
            clock,
            log: Arc::clone(&log),
            measured: Vec::new(),
            tracer: Default::default(),
            settings: ApiSettings {
                json_body_size_max,
                template_size_max: 524_288,
                log_bytes_per_day_max,
                auth_url: sandbox.auth_url.clone(),
                build_revision: "unknown".into(),
                host: "here".into(),
                hidden_stack_tags: vec!["hidden".into()],
                prices,
                front,
                workers: Some(1),
            },
        };
        let watch_url = format!("http://{}", cloudwatch.local_addr().unwrap());
        let (cloudformation, cloudwatch) = (Some(cloudformation), Some(cloudwatch));
        let listeners = Listeners { orchestration, cloudformation, cloudwatch, metrics: None };
        let running = serve(parts, listeners).unwrap();
        let client =
            reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        let keystone = sandbox.auth_url.clone();
        let (token, project) = login(&client, &keystone, "demo", "demo").await;
        let url = format!("http://{}", running.address);
        Self {
            log,
            views,
            url,
            cfn_url,
            watch_url,
            project,
            token,
            client,
            keystone,
            engine,
            vault,
            running,
            sandbox,
        }
    }

    /// A token of a user for the project of the same name, and the project's id.
    pub(crate) async fn login(&self, user: &str, project: &str) -> (String, String) {
        login(&self.client, &self.keystone, user, project).await
    }

    /// Takes a token back at Keystone.
    pub(crate) async fn revoke(&self, token: &str) {
        let url = format!("{}/auth/tokens", self.keystone.trim_end_matches('/'));
        let request = self.client.delete(url).header("x-auth-token", token);
        let status = request.header("x-subject-token", token).send().await.unwrap().status();
        assert_eq!(status, 204);
    }

    /// A request below the project's own URL, with the token of `demo`.
    pub(crate) async fn ask(&self, verb: &str, path: &str, body: Option<Value>) -> Answered {
        let path = format!("/v1/{}{path}", self.project);
        let body = body.map(|body| body.to_string());
        self.send(verb, &path, &[("x-auth-token", &self.token)], body).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answered {
        self.ask("GET", path, None).await
    }

    /// Any request at all.
    pub(crate) async fn send(
        &self,
        verb: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<String>,
    ) -> Answered {
        let url = if path.starts_with('/') { format!("{}{path}", self.url) } else { path.into() };
        let mut request = self.client.request(verb.parse().unwrap(), url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body);
        }
        let response = request.send().await.unwrap();
        Answered {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            text: response.text().await.unwrap(),
        }
    }

    /// Creates a stack and waits until it is settled.
    pub(crate) async fn create(&self, name: &str, template: Value) -> Value {
        let body = json!({ "stack_name": name, "template": template });
        let created = self.ask("POST", "/stacks", Some(body)).await;
        assert_eq!(created.status, 201, "{}", created.text);
        self.settled(name).await
    }

    /// Waits until a stack is settled, and shows it.
    pub(crate) async fn settled(&self, name: &str) -> Value {
        until(&[self], format!("{name} is settled"), async || {
            let moved = self.get(&format!("/stacks/{name}")).await;
            assert_eq!(moved.status, 302, "{}", moved.text);
            let headers = [("x-auth-token", self.token.as_str())];
            let shown = self.send("GET", moved.header("location"), &headers, None).await.json();
            let stack = &shown["stack"];
            match stack["stack_status"].as_str().unwrap() {
                status if status.ends_with("IN_PROGRESS") => Err(stack.to_string()),
                _ => Ok(stack.clone()),
            }
        })
        .await
    }

    /// Waits until a path shows something; what it shows then.
    pub(crate) async fn shows(&self, path: &str, what: impl Fn(&Answered) -> bool) -> Answered {
        until(&[self], path, async || match self.get(path).await {
            shown if what(&shown) => Ok(shown),
            shown => Err(format!("{} {}", shown.status, shown.text)),
        })
        .await
    }

    /// Waits until the stack at a path has a status.
    pub(crate) async fn comes_to(&self, path: &str, status: &str) {
        self.shows(path, |shown| shown.json()["stack"]["stack_status"] == status).await;
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await;
        self.engine.shutdown();
    }
}

pub(crate) async fn login(
    client: &reqwest::Client,
    keystone: &str,
    user: &str,
    project: &str,
) -> (String, String) {
    login_with(client, keystone, (user, "secret"), project).await
}

/// The same with a password of his own.
pub(crate) async fn login_with(
    client: &reqwest::Client,
    keystone: &str,
    (user, password): (&str, &str),
    project: &str,
) -> (String, String) {
    let body = json!({ "auth": {
        "identity": { "methods": ["password"], "password": { "user": {
            "name": user, "domain": { "name": "Default" }, "password": password,
        } } },
        "scope": { "project": { "name": project, "domain": { "name": "Default" } } },
    } });
    let url = format!("{}/auth/tokens", keystone.trim_end_matches('/'));
    let answer = client.post(url).json(&body).send().await.unwrap();
    let token = answer.headers()["x-subject-token"].to_str().unwrap().to_owned();
    let body: Value = answer.json().await.unwrap();
    (token, body["token"]["project"]["id"].as_str().unwrap().to_owned())
}
