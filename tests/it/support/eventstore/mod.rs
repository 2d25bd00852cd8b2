//! A server that stands in for EventStoreDB and KurrentDB: one node or several over real gRPC, as
//! measured on a real one. It answers what `tests/data/eventstore/recorded.jsonl` has recorded, and
//! does beside it what a server under load does: it commits late, shows half an append, falls
//! silent, steps down, dies and comes back.

#![expect(clippy::result_large_err, reason = "a status of gRPC is as large as it is")]

mod append;
pub(crate) mod guard;
pub(crate) mod place;
mod reads;
mod server;
pub(crate) mod store;
mod subscribe;
pub(crate) mod wire;

use std::collections::HashMap;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use hearth::clock::{Clock, SystemClock};
use serde_json::json;
use tokio::sync::{oneshot, watch};

use self::guard::Guard;
use self::store::{Expected, Store};

/// What the nodes have in common.
pub(crate) struct Cluster {
    state: Mutex<State>,
    /// Else everybody is let in, and nothing is encrypted.
    guard: Option<Guard>,
    /// Told after whatever changes in `state`.
    changed: watch::Sender<u64>,
}

struct State {
    store: Store,
    leader: Option<usize>,
    nodes: Vec<Node>,
    faults: Faults,
    /// The streams of appends that wait to be committed, and which node led when each came: until
    /// then it drops what is sent again.
    pending: HashMap<String, Option<usize>>,
    /// How many reads were asked for, and how many appends.
    reads: usize,
    appends: usize,
}

struct Node {
    address: SocketAddr,
    paused: bool,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

/// What goes wrong from now on.
#[derive(Default)]
struct Faults {
    /// So many appends are answered with a time-out and committed so much later.
    late: (usize, Duration),
    /// Appends are answered with a time-out and committed when this is over.
    no_quorum: bool,
    /// So many appends and deletions are allowed still, where not all are.
    allowed: Option<usize>,
    /// For how long only the first event of a group is seen in the whole log.
    half_groups: Duration,
    /// What readers of the whole log do not see yet.
    hidden_from: Option<usize>,
    /// So many reads of streams fail.
    failing_reads: usize,
    /// After how long the next deletion is done, and after how long it fails.
    lost_deletion: Option<(Duration, Duration)>,
    /// For how long a read of the whole log with a filter says nothing.
    slow_walks: Duration,
}

/// The running server; it stops when this goes.
pub(crate) struct StandIn {
    pub(crate) cluster: Arc<Cluster>,
}

impl Cluster {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.send_modify(|count| *count += 1);
    }

    /// Returns once what was asked for holds.
    async fn until(&self, holds: impl Fn(&State) -> bool) {
        let mut changed = self.changed.subscribe();
        while !holds(&self.lock()) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    /// Whether the user may write; counts how often.
    fn may_write(&self) -> bool {
        match &mut self.lock().faults.allowed {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    /// A node that was paused does nothing until it wakes.
    async fn awake(&self, node: usize) {
        self.until(|state| !state.nodes[node].paused).await;
    }
}

impl StandIn {
    /// So many new nodes; the last one leads.
    pub(crate) fn start(nodes: usize) -> Self {
        Self::over(Store::new(None), nodes)
    }

    /// The same, behind a guard.
    pub(crate) fn guarded(nodes: usize, guard: Guard) -> Self {
        Self::run(Store::new(None), nodes, Some(guard))
    }

    /// Nodes over a log.
    pub(crate) fn over(store: Store, nodes: usize) -> Self {
        Self::run(store, nodes, None)
    }

    fn run(store: Store, nodes: usize, guard: Option<Guard>) -> Self {
        let listeners: Vec<_> =
            (0..nodes).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let node = |listener: &TcpListener| Node {
            address: listener.local_addr().unwrap(),
            paused: false,
            running: None,
        };
        let state = State {
            store,
            leader: Some(nodes - 1),
            nodes: listeners.iter().map(node).collect(),
            faults: Faults::default(),
            pending: HashMap::new(),
            reads: 0,
            appends: 0,
        };
        let (state, changed) = (Mutex::new(state), watch::Sender::new(0));
        let cluster = Arc::new(Cluster { state, guard, changed });
        for (node, listener) in listeners.into_iter().enumerate() {
            let running = server::run(cluster.clone(), node, listener);
            cluster.lock().nodes[node].running = Some(running);
        }
        Self { cluster }
    }

    pub(crate) fn address(&self, node: usize) -> SocketAddr {
        self.cluster.lock().nodes[node].address
    }

    /// A connection string with every node.
    pub(crate) fn url(&self) -> String {
        format!("esdb://{}?tls=false", self.hosts())
    }

    /// Every node, as connection strings have them.
    pub(crate) fn hosts(&self) -> String {
        let state = self.cluster.lock();
        let hosts: Vec<_> = state.nodes.iter().map(|node| node.address.to_string()).collect();
        hosts.join(",")
    }

    pub(crate) fn leader(&self) -> Option<usize> {
        self.cluster.lock().leader
    }

    /// Another node leads, or nobody.
    pub(crate) fn lead(&self, leader: Option<usize>) {
        self.cluster.change(|state| state.leader = leader);
    }

    /// Kills a node: its connections are gone, and the next one leads if it did.
    pub(crate) fn kill(&self, node: usize) {
        let running = self.cluster.lock().nodes[node].running.take();
        self.cluster.change(|state| {
            state.nodes[node].paused = false;
            if state.leader == Some(node) {
                state.leader = state.nodes.iter().position(|node| node.running.is_some());
            }
        });
        if let Some((stop, thread)) = running {
            let _ = stop.send(());
            thread.join().unwrap();
        }
    }

    /// Starts a node that was killed; it leads only if nobody does.
    pub(crate) fn start_again(&self, node: usize) {
        let listener = TcpListener::bind(self.address(node)).unwrap();
        let running = server::run(self.cluster.clone(), node, listener);
        self.cluster.change(|state| {
            state.nodes[node].running = Some(running);
            state.leader = state.leader.or(Some(node));
        });
    }

    /// From now on a node is silent, or awake again.
    pub(crate) fn pause(&self, node: usize, paused: bool) {
        self.cluster.change(|state| state.nodes[node].paused = paused);
    }

    /// The only node, or all of them, are silent for so long; returns at once.
    pub(crate) fn silence(&self, time: Duration) {
        let all = |cluster: &Cluster, paused| {
            cluster.change(|state| state.nodes.iter_mut().for_each(|node| node.paused = paused));
        };
        all(&self.cluster, true);
        let cluster = self.cluster.clone();
        std::thread::spawn(move || {
            std::thread::sleep(time);
            all(&cluster, false);
        });
    }

    /// The next so many appends are answered with a time-out, and committed later.
    pub(crate) fn commit_late(&self, appends: usize, later: Duration) {
        self.cluster.change(|state| state.faults.late = (appends, later));
    }

    /// Appends are answered with a time-out and committed once there is a quorum again.
    pub(crate) fn quorum(&self, there: bool) {
        self.cluster.change(|state| state.faults.no_quorum = !there);
    }

    /// Somebody else appends an event.
    pub(crate) fn say(&self, stream: &str, event_type: &str, data: &str) {
        let event = json!({
            "id": { "string": SystemClock.fresh_id().to_string() },
            "metadata": { "type": event_type },
            "data": data,
        });
        self.cluster.change(|state| {
            state.store.append(stream, Expected::Any, &[event]).unwrap();
        });
    }

    /// The user may write no more after so many appends and deletions, or may again.
    pub(crate) fn allow(&self, writes: Option<usize>) {
        self.cluster.change(|state| state.faults.allowed = writes);
    }

    /// The next so many reads of streams fail.
    pub(crate) fn fail_reads(&self, reads: usize) {
        self.cluster.change(|state| state.faults.failing_reads = reads);
    }

    /// Nobody hears that the next deletion is done after a while: it fails after another.
    pub(crate) fn lose_deletion(&self, done: Duration, failed: Duration) {
        self.cluster.change(|state| state.faults.lost_deletion = Some((done, failed)));
    }

    /// From now on reads of the whole log with a filter say nothing for so long, as where much is
    /// passed over.
    pub(crate) fn walk_slowly(&self, time: Duration) {
        self.cluster.change(|state| state.faults.slow_walks = time);
    }

    /// How many reads were asked for so far; subscriptions are none.
    pub(crate) fn reads(&self) -> usize {
        self.cluster.lock().reads
    }

    /// How many appends were asked for so far.
    pub(crate) fn appends(&self) -> usize {
        self.cluster.lock().appends
    }

    /// From now on the whole log shows the first event of an append so much before the others.
    pub(crate) fn show_half_groups(&self, time: Duration) {
        self.cluster.change(|state| state.faults.half_groups = time);
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        let nodes = self.cluster.lock().nodes.len();
        (0..nodes).for_each(|node| self.kill(node));
    }
}
