//! A second Hearth in another region of the same cloud, or in another cloud, on a log of its own,
//! behind a road on which a request or its answer can be lost.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};

use chrono::TimeDelta;
use hearth::actors::{Engine, EngineParts};
use hearth::api::{ApiParts, ApiSettings, RunningApi, serve};
use hearth::clock::{Clock, SimulatedClock, SystemClock};
use hearth::events::log::{EventLog, MemoryLog};
use hearth::events::vault::{MasterKey, Vault};
use hearth::openstack::{Request, Service};
use hearth::projections::{StackQuery, StackRow, Views};
use hearth::resource_types::Registry;
use hearth::sandbox::SandboxConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::tls::door;
use super::world::{Ground, World, forbids_nothing, hot};

/// The region's name in the catalog.
pub(crate) const REGION: &str = "Elsewhere";

/// What happens on the road.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lost {
    Request,
    Answer,
    /// It is answered 503 on the way.
    Refused,
    /// By the time that it arrives, every token of the other cloud has expired.
    Token,
}

/// How many requests were under way, and which of them meets with what.
#[derive(Default)]
struct Road {
    seen: usize,
    trouble: Option<(usize, Lost)>,
}

pub(crate) struct Far {
    pub(crate) ground: Ground,
    /// Another cloud, and its clock.
    cloud: Option<(Ground, Arc<SimulatedClock>)>,
    context: Value,
    views: Views,
    pub(crate) log: Arc<MemoryLog>,
    road: Arc<Mutex<Road>>,
    engine: Engine,
    running: RunningApi,
}

/// What a stack is elsewhere in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Place {
    Region,
    Cloud,
}

impl Far {
    pub(crate) async fn new(place: Place) -> Far {
        Far::behind(place, false).await
    }

    /// The same; what is reached there may be so by TLS alone.
    pub(crate) async fn behind(place: Place, tls: bool) -> Far {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let road = Arc::new(Mutex::new(Road::default()));
        let entry = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let heat = url(entry.local_addr().unwrap(), tls).await;
        let (ground, cloud) = match place {
            Place::Region => {
                let other_regions = vec![(REGION.to_owned(), heat)];
                let config = SandboxConfig { other_regions, ..SandboxConfig::instant() };
                (Ground::with(config).await, None)
            }
            Place::Cloud => {
                let config = SandboxConfig { hearth_url: Some(heat), ..SandboxConfig::instant() };
                let clock = Arc::new(SimulatedClock::new(1));
                clock.advance(SystemClock.now() - clock.now());
                let there = Ground::with_clock(config, clock.clone()).await;
                (Ground::new().await, Some((there, clock)))
            }
        };
        let there = cloud.as_ref().map_or(&ground, |(there, _)| there);
        let context = match &cloud {
            None => json!({ "region_name": REGION }),
            Some((there, _)) => {
                let auth_url = format!("{}/v3", url(there.sandbox.address, tls).await);
                let credential = credential(there, &auth_url).await;
                json!({ "credential_secret_id": store(&ground, &credential).await })
            }
        };
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let kept = Arc::new(MemoryLog::new());
        let log: Arc<dyn EventLog> = kept.clone();
        let own: Arc<dyn Clock> = match &cloud {
            Some((_, own)) => own.clone(),
            None => clock.clone(),
        };
        let home = Arc::new(there.cloud_at(own));
        let master = MasterKey::fresh(clock.as_ref());
        let vault = Arc::new(Vault::new(log.clone(), master, clock.clone()));
        let registry = Arc::new(Registry::built_in().unwrap());
        let views = Views::in_memory(log.clone()).await.unwrap();
        let engine = Engine::start(EngineParts {
            log: log.clone(),
            vault: vault.clone(),
            registry: registry.clone(),
            cloud: Some(home.clone()),
            clock: clock.clone(),
            limits: Ground::limits(),
            goes_on: true,
            forbidden_types: forbids_nothing(),
            on_record: Arc::new(views.clone()),
            changes: views.changes(),
        });
        let settings = ApiSettings {
            front: hearth::api::FrontSettings::default(),
            json_body_size_max: 1_048_576,
            template_size_max: 524_288,
            log_bytes_per_day_max: None,
            auth_url: there.sandbox.auth_url.clone(),
            build_revision: "unknown".into(),
            host: "there".into(),
            hidden_stack_tags: Vec::new(),
            prices: None,
            workers: Some(1),
        };
        let parts = ApiParts {
            engine: engine.clone(),
            views: views.clone(),
            cloud: Some(home),
            vault,
            registry,
            policy: Arc::new(hearth::policy::Policy::defaults(Arc::new(SystemClock)).unwrap()),
            clock,
            log,
            measured: Vec::new(),
            tracer: Default::default(),
            settings,
        };
        let running = serve(parts, listener).unwrap();
        let end = running.address;
        let travelled = road.clone();
        let time = cloud.as_ref().map(|(_, clock)| clock.clone());
        actix::spawn(async move {
            while let Ok((from, _)) = entry.accept().await {
                actix::spawn(travel(from, end, travelled.clone(), time.clone()));
            }
        });
        Far { ground, cloud, context, views, log: kept, road, engine, running }
    }

    /// The request of this number from now on is lost.
    pub(crate) fn lose(&self, number: usize, lost: Lost) {
        *self.road.lock().unwrap() = Road { seen: 0, trouble: Some((number, lost)) };
    }

    /// How many requests came by.
    pub(crate) fn seen(&self) -> usize {
        self.road.lock().unwrap().seen
    }

    /// The stacks that there are.
    pub(crate) async fn stacks(&self) -> Vec<StackRow> {
        self.views.after(self.log.durable_position()).await.unwrap();
        self.views.stacks(StackQuery::default()).await.unwrap()
    }

    /// What a template says of the place.
    pub(crate) fn context(&self) -> Value {
        self.context.clone()
    }

    /// A template whose stack elsewhere has a network.
    pub(crate) fn template(&self, name: &str) -> Value {
        template_in(self.context(), name)
    }

    /// The cloud that the stack is in.
    pub(crate) fn there(&self) -> &Ground {
        self.cloud.as_ref().map_or(&self.ground, |(there, _)| there)
    }

    /// How many networks the cloud has that the stack is in.
    pub(crate) fn networks(&self) -> u64 {
        self.there().counts()["networks"].as_u64().unwrap_or_default()
    }

    pub(crate) async fn stop(self) {
        self.running.stop().await;
        self.engine.shutdown();
    }
}

/// A template whose stack has a network, somewhere.
pub(crate) fn template_in(context: Value, name: &str) -> Value {
    let net = json!({ "type": "OS::Neutron::Net", "properties": { "name": name } });
    let mut there = hot(json!({ "net": net }));
    there["outputs"] = json!({ "named": { "value": { "get_attr": ["net", "name"] } } });
    let mut here = hot(json!({ "far": { "type": "OS::Heat::Stack", "properties": {
        "context": context, "template": there.to_string() } } }));
    here["outputs"] = json!({ "named": { "value": { "get_attr": ["far", "outputs", "named"] } } });
    here
}

/// How a server is reached.
async fn url(server: std::net::SocketAddr, tls: bool) -> String {
    match tls {
        true => format!("https://{}", door(server).await),
        false => format!("http://{server}"),
    }
}

/// An application credential of a cloud's user, as a secret holds it.
pub(crate) async fn credential(there: &Ground, auth_url: &str) -> Value {
    let session = there.session();
    let user = session.caller().await.unwrap().user_id.clone();
    let path = format!("/v3/users/{user}/application_credentials");
    // Stacks live by trusts, which a restricted one may not make.
    let name = SystemClock.fresh_id();
    let body = json!({ "application_credential": { "name": name, "unrestricted": true } });
    let made = session.send(Request::post(Service::Identity, path).json(body)).await.unwrap();
    let made = made.json().unwrap()["application_credential"].clone();
    json!({ "auth_type": "v3applicationcredential", "auth": {
        "auth_url": auth_url,
        "application_credential_id": made["id"],
        "application_credential_secret": made["secret"],
    } })
}

/// Puts a secret into a cloud's key manager: its id.
pub(crate) async fn store(ground: &Ground, payload: &Value) -> String {
    let payload = payload.as_str().map_or_else(|| payload.to_string(), str::to_owned);
    let body = json!({ "name": "far", "payload": payload, "payload_content_type": "text/plain" });
    let stored = Request::post(Service::of_type("key-manager"), "/v1/secrets").json(body);
    let stored = ground.session().send(stored).await.unwrap().json().unwrap();
    stored["secret_ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned()
}

/// The state in which a stack comes to rest.
pub(crate) async fn act(
    world: &World,
    stack: hearth::model::StackId,
    action: hearth::model::Action,
) -> String {
    let acted = world.engine.act_on_stack(&world.requester(), stack, action).await.unwrap();
    world.settled(&acted).await
}

/// Brings one request to its end, and the answer back; each has a connection of its own.
async fn travel(
    mut from: TcpStream,
    end: std::net::SocketAddr,
    road: Arc<Mutex<Road>>,
    time: Option<Arc<SimulatedClock>>,
) {
    let Some(request) = read(&mut from, true).await else { return };
    let trouble = {
        let mut road = road.lock().unwrap();
        road.seen += 1;
        let number = road.seen - 1;
        road.trouble.filter(|(meets, _)| *meets == number).map(|(_, lost)| lost)
    };
    match trouble {
        Some(Lost::Request) => return,
        Some(Lost::Refused) => {
            let refused = b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\
                            connection: close\r\n\r\n";
            let _ = from.write_all(refused).await;
            return;
        }
        Some(Lost::Token) => {
            if let Some(time) = time {
                time.advance(TimeDelta::hours(2));
            }
        }
        Some(Lost::Answer) | None => {}
    }
    let Ok(mut there) = TcpStream::connect(end).await else { return };
    if there.write_all(&request).await.is_err() {
        return;
    }
    let Some(answer) = read(&mut there, false).await else { return };
    if trouble != Some(Lost::Answer) {
        let _ = from.write_all(&answer).await;
    }
}

/// A message with its body; a request asks for the connection to be closed behind it.
async fn read(stream: &mut TcpStream, closes: bool) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let head = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&bytes[..head]).to_lowercase();
            let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
            if bytes.len() >= head + length {
                if closes {
                    bytes.splice(head - 2..head - 2, *b"connection: close\r\n");
                }
                return Some(bytes);
            }
        }
        let mut more = [0; 4096];
        let read = stream.read(&mut more).await.ok()?;
        if read == 0 {
            return None;
        }
        bytes.extend_from_slice(&more[..read]);
    }
}
