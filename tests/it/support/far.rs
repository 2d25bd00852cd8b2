//! A second Hearth in another region of the same cloud, on a log of its own, behind a road on which
//! a request or its answer can be lost.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};

use hearth::actors::{Engine, EngineParts};
use hearth::api::{ApiParts, ApiSettings, RunningApi, serve};
use hearth::clock::{Clock, SystemClock};
use hearth::events::log::{EventLog, MemoryLog};
use hearth::events::vault::{MasterKey, Vault};
use hearth::projections::{StackQuery, StackRow, Views};
use hearth::resource_types::Registry;
use hearth::sandbox::SandboxConfig;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::world::{Ground, World, hot};

/// The region's name in the catalog.
pub(crate) const REGION: &str = "Elsewhere";

/// What happens on the road.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Lost {
    Request,
    Answer,
    /// It is answered 503 on the way.
    Refused,
}

/// How many requests were under way, and which of them meets with what.
#[derive(Default)]
struct Road {
    seen: usize,
    trouble: Option<(usize, Lost)>,
}

pub(crate) struct Far {
    pub(crate) ground: Ground,
    views: Views,
    log: Arc<MemoryLog>,
    road: Arc<Mutex<Road>>,
    engine: Engine,
    running: RunningApi,
}

impl Far {
    pub(crate) async fn new() -> Far {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let road = Arc::new(Mutex::new(Road::default()));
        let entry = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let region = (REGION.to_owned(), format!("http://{}", entry.local_addr().unwrap()));
        let ground =
            Ground::with(SandboxConfig { other_regions: vec![region], ..SandboxConfig::instant() })
                .await;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let kept = Arc::new(MemoryLog::new());
        let log: Arc<dyn EventLog> = kept.clone();
        let cloud = Arc::new(ground.cloud(true));
        let master = MasterKey::fresh(clock.as_ref());
        let vault = Arc::new(Vault::new(log.clone(), master, clock.clone()));
        let registry = Arc::new(Registry::built_in().unwrap());
        let views = Views::in_memory(log.clone()).await.unwrap();
        let engine = Engine::start(EngineParts {
            log: log.clone(),
            vault: vault.clone(),
            registry: registry.clone(),
            cloud: Some(cloud.clone()),
            clock: clock.clone(),
            limits: Ground::limits(),
            may_use: |_, _| true,
        });
        let settings = ApiSettings {
            json_body_size_max: 1_048_576,
            template_size_max: 524_288,
            auth_url: ground.sandbox.auth_url.clone(),
            build_revision: "unknown".into(),
            host: "there".into(),
            hidden_stack_tags: Vec::new(),
            workers: Some(1),
        };
        let parts = ApiParts {
            engine: engine.clone(),
            views: views.clone(),
            cloud: Some(cloud),
            vault,
            registry,
            clock,
            log,
            settings,
        };
        let running = serve(parts, listener).unwrap();
        let end = running.address;
        let travelled = road.clone();
        actix::spawn(async move {
            while let Ok((from, _)) = entry.accept().await {
                actix::spawn(travel(from, end, travelled.clone()));
            }
        });
        Far { ground, views, log: kept, road, engine, running }
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

    pub(crate) async fn stop(self) {
        self.running.stop().await;
        self.engine.shutdown().await;
    }
}

/// A template whose stack elsewhere has a network.
pub(crate) fn template(name: &str) -> Value {
    let there =
        hot(json!({ "net": { "type": "OS::Neutron::Net", "properties": { "name": name } } }));
    hot(json!({ "far": { "type": "OS::Heat::Stack", "properties": {
        "context": { "region_name": REGION }, "template": there.to_string() } } }))
}

/// How many networks the cloud has.
pub(crate) fn networks(ground: &Ground) -> u64 {
    ground.counts()["networks"].as_u64().unwrap_or_default()
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
async fn travel(mut from: TcpStream, end: std::net::SocketAddr, road: Arc<Mutex<Road>>) {
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
        Some(Lost::Answer) | None => {}
    }
    let Ok(mut there) = TcpStream::connect(end).await else { return };
    if there.write_all(&request).await.is_err() {
        return;
    }
    let Some(answer) = read(&mut there, false).await else { return };
    if trouble.is_none() {
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
