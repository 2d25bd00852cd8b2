//! The node that leads, and its replacement when it dies, hangs or steps down.
//!
//! Of the two ways to keep a log on this server, this is the second: the crate has the connection
//! string and the subscriptions; appends go through `tonic` in a session of ours, and so do reads.
//! The crate sets no TCP_NODELAY, so that who waits for one small call waits for 44 ms; one refused
//! append closes its session for all others in flight; and after a hundred sessions its client hangs.
//! What is left of it is wrapped: it is given one node, which we have found, and is thrown away with
//! the first error that is not an answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ::eventstore::{Client, Endpoint};
use futures::stream::{FuturesUnordered, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit, mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};
use tonic::client::Grpc;
use tonic::codec::ProstCodec;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};
use uuid::Uuid;

use super::super::LogError;
use super::address::{Address, CALL_TIME_MAX};
use super::queries::{self, Enough, Found, Wanted};
use super::wire::{
    BatchAppendReq, BatchAppendResp, ClusterInfo, DeleteOptions, DeleteReq, DeleteResp, Empty, Id,
    MemberPlace, ReadOptions, ReadReq, ReadResp,
};
use crate::clock::{Clock, SystemClock};

/// How long a node may take until it has shown that it leads.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(1);
/// The pause between two rounds in which no node led.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// How long new work is taken while no node leads.
const LEADERLESS_MAX: Duration = Duration::from_secs(10);
/// How large an answer may be.
const MESSAGE_SIZE_MAX: usize = 17 << 20;
/// How many appends may wait to be sent.
const REQUESTS_MAX: usize = 256;
/// How many reads may be under way: a connection has a hundred calls in all.
const READS_MAX: usize = 48;
const WALKS_MAX: usize = 16;

const BATCH_APPEND: &str = "/event_store.client.streams.Streams/BatchAppend";
const READ: &str = "/event_store.client.streams.Streams/Read";
const DELETE: &str = "/event_store.client.streams.Streams/Delete";
const TOMBSTONE: &str = "/event_store.client.streams.Streams/Tombstone";
const GOSSIP: &str = "/event_store.client.gossip.Gossip/Read";
/// How many nodes are remembered beside those of the connection string.
const MEMBERS_MAX: usize = 16;

/// Who waits for the answer to which append.
type Waiting = Arc<Mutex<HashMap<Uuid, oneshot::Sender<BatchAppendResp>>>>;

/// A node that led when it was found.
pub(super) struct Node {
    pub(super) endpoint: Endpoint,
    channel: Channel,
    requests: mpsc::Sender<BatchAppendReq>,
    waiting: Waiting,
    session: JoinHandle<()>,
    /// Whether somebody found that it does not answer, or does not lead any more.
    is_left: watch::Sender<bool>,
}

impl Node {
    /// Ends whatever is under way there, whose outcome nobody knows then.
    fn leave(&self) {
        self.is_left.send_replace(true);
        self.session.abort();
        lock(&self.waiting).clear();
    }

    /// The outcome of a call, if it comes before the node is left.
    async fn unless_left<T>(
        &self,
        call: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let mut left = self.is_left.subscribe();
        tokio::select! {
            biased;
            outcome = call => outcome,
            _ = left.wait_for(|is_left| *is_left) => Err(silent()),
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.session.abort();
    }
}

/// How a stream is deleted.
#[derive(Clone, Copy)]
pub(super) enum Deletion {
    /// It can never be written again.
    ForEver,
    /// If it ends at this revision; then it can be written again, and its revisions go on. So one
    /// that comes late takes away nothing that was written since.
    At(u64),
}

/// The nodes of the server, one of which leads.
pub(super) struct Nodes {
    pub(super) address: Address,
    runtime: Handle,
    current: Mutex<Option<Arc<Node>>>,
    /// Held by the one that looks for the node that leads.
    search: tokio::sync::Mutex<()>,
    /// The nodes that another one named last, for a time in which those of the connection string
    /// are away.
    members: Mutex<Vec<Endpoint>>,
    /// How many more reads may be under way, and how many that are filtered, which may take long.
    reads: Semaphore,
    walks: Semaphore,
    /// Since when there was none that leads; `None` while there is one.
    leaderless: Mutex<Option<Instant>>,
}

impl Nodes {
    pub(super) fn new(address: Address, runtime: Handle) -> Self {
        Self {
            address,
            runtime,
            current: Mutex::default(),
            search: tokio::sync::Mutex::default(),
            members: Mutex::default(),
            reads: Semaphore::new(READS_MAX),
            walks: Semaphore::new(WALKS_MAX),
            leaderless: Mutex::new(Some(Instant::now())),
        }
    }

    /// Whether there was a leader when somebody last asked.
    pub(super) fn reachable(&self) -> bool {
        lock(&self.leaderless).is_none()
    }

    /// Whether there was one not long ago: what is new may wait for the next.
    pub(super) fn led_lately(&self) -> bool {
        lock(&self.leaderless).is_none_or(|since| since.elapsed() < LEADERLESS_MAX)
    }

    fn known(&self) -> Option<Arc<Node>> {
        lock(&self.current).clone()
    }

    fn found_leader(&self, node: Node) {
        *lock(&self.current) = Some(Arc::new(node));
        *lock(&self.leaderless) = None;
    }

    /// The node that leads; waits for one.
    pub(super) async fn leader(&self) -> Arc<Node> {
        loop {
            if let Some(node) = self.known() {
                return node;
            }
            if let Err(reason) = self.find().await {
                if self.reachable() {
                    tracing::warn!(log = %self.address, %reason, "no node of the log leads");
                }
                lock(&self.leaderless).get_or_insert_with(Instant::now);
                tokio::time::sleep(ROUND_PAUSE).await;
            }
        }
    }

    /// The same for whoever waits so long and no longer. Errors: `Unavailable`.
    pub(super) async fn leader_by(&self, end: Instant) -> Result<Arc<Node>, LogError> {
        let found = timeout_at(end, self.leader()).await;
        found.map_err(|_| LogError::Unavailable("no node of the log leads".to_owned()))
    }

    /// One look for a leader at all nodes, where none is known.
    pub(super) async fn find(&self) -> Result<(), String> {
        let _one_at_a_time = self.search.lock().await;
        if self.known().is_none() {
            let node = self.round().await?;
            self.found_leader(node);
        }
        Ok(())
    }

    /// The node did not answer, or does not lead any more.
    pub(super) fn lost(&self, node: &Arc<Node>, why: &str) {
        let mut current = lock(&self.current);
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, node)) {
            let Endpoint { host, port } = &node.endpoint;
            tracing::info!(%host, port, why, "leaving a node of the log");
            *current = None;
            node.leave();
        }
    }

    async fn round(&self) -> Result<Node, String> {
        let members = lock(&self.members).clone();
        let mut due: Vec<Endpoint> = self.address.hosts.iter().chain(&members).cloned().collect();
        let mut reason = "it has no hosts".to_owned();
        let mut asked: Vec<Endpoint> = Vec::new();
        let mut unheard = 0_usize;
        let ask = |endpoint: Endpoint, is_first: bool| async move {
            if !is_first {
                tokio::time::sleep(ROUND_PAUSE).await;
            }
            let answer = timeout(CONNECT_TIME_MAX, self.connect(&endpoint)).await;
            (endpoint, is_first, answer)
        };
        // All at once: a silent one holds up nobody who waits for the one that leads.
        let mut answers = FuturesUnordered::new();
        loop {
            for endpoint in due.drain(..) {
                if !asked.contains(&endpoint) {
                    asked.push(endpoint.clone());
                    unheard += 1;
                    answers.push(ask(endpoint, true));
                }
            }
            if unheard == 0 {
                return Err(reason);
            }
            let Some((endpoint, is_first, answer)) = answers.next().await else {
                return Err(reason);
            };
            unheard -= usize::from(is_first);
            match answer {
                Ok(Ok(node)) => return Ok(node),
                Ok(Err(status)) => {
                    due.extend(named_leader(&status));
                    reason = explain(&endpoint, &status);
                    // It may be chosen while others are silent.
                    answers.push(ask(endpoint, false));
                }
                Err(_) => reason = format!("{}:{} is silent", endpoint.host, endpoint.port),
            }
        }
    }

    /// Connects to a node and has it show that it leads.
    async fn connect(&self, endpoint: &Endpoint) -> Result<Node, Status> {
        let unreachable = |error: tonic::transport::Error| Status::unavailable(error.to_string());
        let channel = self.address.channel(endpoint).map_err(unreachable)?;
        let channel = channel.connect().await.map_err(unreachable)?;
        self.learn_members(&channel).await;
        let (requests, due) = mpsc::channel(REQUESTS_MAX);
        let waiting = Waiting::default();
        let session = self.session(channel.clone(), due, waiting.clone());
        let session = self.runtime.spawn(session);
        let endpoint = endpoint.clone();
        let is_left = watch::Sender::new(false);
        let node = Node { endpoint, channel, requests, waiting, session, is_left };
        self.probe(&node).await?;
        Ok(node)
    }

    /// The crate's client of a node that leads, for a subscription. It is never freed.
    pub(super) fn client(&self, node: &Node) -> Result<Client, String> {
        let settings = self.address.client_settings(&node.endpoint)?;
        Client::with_runtime_handle(self.runtime.clone(), settings)
            .map_err(|error| error.to_string())
    }

    /// Remembers which other nodes a node knows of, leading or not. Where it does not say,
    /// those are known still that were known.
    async fn learn_members(&self, channel: &Channel) {
        if !self.address.discovers() {
            return;
        }
        let codec = ProstCodec::<Empty, ClusterInfo>::default();
        let mut grpc = Grpc::new(channel.clone());
        let asked = async {
            grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let request = self.request(Empty {});
            grpc.unary(request, PathAndQuery::from_static(GOSSIP), codec).await
        };
        let told = match asked.await {
            Ok(told) => told.into_inner(),
            Err(status) => {
                tracing::debug!(%status, "a node of the log does not tell of the others");
                return;
            }
        };
        let alive = told.members.into_iter().filter(|member| member.is_alive);
        let places = alive.filter_map(|member| {
            let MemberPlace { host, port } = member.place?;
            Some(Endpoint { host, port })
        });
        *lock(&self.members) = places.take(MEMBERS_MAX).collect();
    }

    /// Whether the node leads and answers.
    pub(super) async fn probe(&self, node: &Node) -> Result<(), Status> {
        let last = queries::last_options(&Wanted::Everything, 1);
        let answered = async { self.begin_read(node, last).await?.message().await };
        timeout(CALL_TIME_MAX, answered).await.map_err(|_| silent())?.map(drop)
    }

    /// Begins a read.
    async fn begin_read(
        &self,
        node: &Node,
        options: ReadOptions,
    ) -> Result<Streaming<ReadResp>, Status> {
        let request = self.request(ReadReq { options: Some(options) });
        let codec = ProstCodec::<ReadReq, ReadResp>::default();
        let mut grpc = Grpc::new(node.channel.clone()).max_decoding_message_size(MESSAGE_SIZE_MAX);
        grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let begun = grpc.server_streaming(request, PathAndQuery::from_static(READ), codec).await?;
        Ok(begun.into_inner())
    }

    /// The next answer to a read. Of a walk past what does not fit a filter the server says nothing,
    /// for as long as it takes: then it is the node that is asked now and then.
    async fn hear<T>(
        &self,
        node: &Node,
        is_filtered: bool,
        answer: impl Future<Output = Result<T, Status>>,
    ) -> Result<T, Status> {
        let mut answer = std::pin::pin!(answer);
        loop {
            match timeout(CALL_TIME_MAX, node.unless_left(&mut answer)).await {
                Ok(answer) => return answer,
                Err(_) if is_filtered => self.probe(node).await?,
                Err(_) => return Err(silent()),
            }
        }
    }

    /// The turn of a read, which comes before its node is chosen; `None` where that is too late.
    /// What is beyond the streams that a connection has would wait there, and look like silence.
    pub(super) async fn turn(
        &self,
        options: &ReadOptions,
        end: Instant,
    ) -> Option<SemaphorePermit<'_>> {
        let turns = if options.filter.is_some() { &self.walks } else { &self.reads };
        timeout_at(end, turns.acquire()).await.ok()?.ok()
    }

    /// What a read finds whose turn it is, each event within the time of a call; `None` where there
    /// is no such stream.
    pub(super) async fn read(
        &self,
        node: &Node,
        options: ReadOptions,
        enough: Enough<'_>,
    ) -> Result<Option<Vec<Found>>, Status> {
        let is_filtered = options.filter.is_some();
        let begun = self.begin_read(node, options);
        let mut found = self.hear(node, is_filtered, begun).await?;
        let mut events = Vec::new();
        while let Some(message) = self.hear(node, is_filtered, found.message()).await? {
            if message.no_stream.is_some() {
                return Ok(None);
            }
            let Some(event) = message.event.and_then(|event| event.event) else { continue };
            events.push(Found::from(event));
            if enough(&mut events) {
                break;
            }
        }
        Ok(Some(events))
    }

    /// Sends an append and waits for its answer. Errors: the reason why nobody knows what became
    /// of it.
    pub(super) async fn append(
        &self,
        node: &Node,
        mut request: BatchAppendReq,
    ) -> Result<BatchAppendResp, String> {
        let id = SystemClock.fresh_id();
        let (answer, answered) = oneshot::channel();
        request.correlation_id = Some(Id::of(id));
        lock(&node.waiting).insert(id, answer);
        let sent = async {
            node.requests.send(request).await.map_err(|_| "the session is closed")?;
            answered.await.map_err(|_| "the session was closed")
        };
        let outcome = timeout(CALL_TIME_MAX, sent).await;
        lock(&node.waiting).remove(&id);
        match outcome {
            Ok(answer) => answer.map_err(str::to_owned),
            Err(_) => Err("an append was not answered".to_owned()),
        }
    }

    /// Deletes a stream. Errors: see `Status`.
    pub(super) async fn delete(
        &self,
        node: &Node,
        stream: &str,
        deletion: Deletion,
    ) -> Result<(), Status> {
        let (path, revision, any) = match deletion {
            Deletion::ForEver => (TOMBSTONE, None, Some(Empty {})),
            Deletion::At(revision) => (DELETE, Some(revision), None),
        };
        let stream = Some(queries::name(stream));
        let request =
            self.request(DeleteReq { options: Some(DeleteOptions { stream, revision, any }) });
        let codec = ProstCodec::<DeleteReq, DeleteResp>::default();
        let mut grpc = Grpc::new(node.channel.clone());
        let call = async {
            grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            grpc.unary(request, PathAndQuery::from_static(path), codec).await
        };
        match timeout(CALL_TIME_MAX, node.unless_left(call)).await {
            Ok(answer) => answer.map(|_| ()),
            Err(_) => Err(Status::unavailable("a deletion was not answered")),
        }
    }

    fn request<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        let metadata = request.metadata_mut();
        metadata.insert("requires-leader", MetadataValue::from_static("true"));
        if let Some(user) = self.address.authorization() {
            metadata.insert("authorization", user);
        }
        request
    }

    /// Sends what is due and hands out the answers, until the call ends; then nobody is answered
    /// any more.
    fn session(
        &self,
        channel: Channel,
        due: mpsc::Receiver<BatchAppendReq>,
        waiting: Waiting,
    ) -> impl Future<Output = ()> + Send + use<> {
        let due = futures::stream::unfold(due, |mut due| async {
            due.recv().await.map(|request| (request, due))
        });
        let request = self.request(due);
        async move {
            let codec = ProstCodec::<BatchAppendReq, BatchAppendResp>::default();
            let mut grpc = Grpc::new(channel);
            let heard = async {
                let ready = grpc.ready().await;
                ready.map_err(|error| Status::unavailable(error.to_string()))?;
                let path = PathAndQuery::from_static(BATCH_APPEND);
                let mut answers = grpc.streaming(request, path, codec).await?.into_inner();
                while let Some(answer) = answers.message().await? {
                    let id = answer.correlation_id.as_ref().and_then(Id::get);
                    if let Some(waiting) = id.and_then(|id| lock(&waiting).remove(&id)) {
                        // Whoever has stopped waiting sends it again.
                        let _ = waiting.send(answer);
                    }
                }
                Ok::<(), Status>(())
            };
            if let Err(status) = heard.await {
                tracing::debug!(%status, "a session of appends has ended");
            }
            lock(&waiting).clear();
        }
    }
}

fn silent() -> Status {
    Status::unavailable("a read was not answered")
}

/// Who leads, as a node says that does not.
fn named_leader(status: &Status) -> Option<Endpoint> {
    let text = |name: &str| status.metadata().get(name)?.to_str().ok();
    let host = text("leader-endpoint-host")?.to_owned();
    let port = text("leader-endpoint-port")?.parse().ok()?;
    Some(Endpoint { host, port })
}

fn explain(endpoint: &Endpoint, status: &Status) -> String {
    let Endpoint { host, port } = endpoint;
    match status.code() {
        Code::PermissionDenied | Code::Unauthenticated => {
            format!("{host}:{port} refuses the user, or does not let it read $all: see $$$all")
        }
        _ => format!(
            "{host}:{port}: {} (no server there, or its certificate is of no issuer that is \
             trusted here: tlsCaFile)",
            status.message()
        ),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
