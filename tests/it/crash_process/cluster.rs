//! The cluster beneath the server's log, whose nodes are killed and paused.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::support::chance::Chance;

/// Names the directory of a cluster that `tests/galera/cluster` made, for this test alone: with
/// `HEARTH_LOG`, its address.
const VARIABLE: &str = "CRASH_CLUSTER";
const NODES: [u8; 3] = [1, 2, 3];
/// How long a cluster needs until it has dropped a node, and what the server may need on top.
const DROPPED_WITHIN: Duration = Duration::from_millis(6_300);
const ON_TOP: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Clone)]
pub(super) struct Cluster(OsString);

/// What befalls it.
#[derive(Debug)]
pub(super) struct Mishap {
    nodes: Vec<u8>,
    /// Or killed.
    paused: bool,
    lasts: Duration,
}

impl Mishap {
    pub(super) fn any(chance: &mut Chance) -> Self {
        let mut nodes = NODES.to_vec();
        for _ in 0..chance.below(NODES.len() as u64) {
            nodes.remove(chance.below(nodes.len() as u64) as usize);
        }
        Self { nodes, paused: chance.one_in(2), lasts: chance.millis(0..12_000) }
    }

    /// How long a command may wait for its answer. Nobody is answered while most of the nodes are
    /// away; and of one that is back before it was dropped, a cluster may make twelve seconds.
    pub(super) fn longest_wait(&self) -> Option<Duration> {
        let longest = DROPPED_WITHIN + ON_TOP;
        (self.nodes.len() == 1 && self.lasts > longest).then_some(longest)
    }
}

impl Cluster {
    /// The one that the environment names.
    pub(super) fn named() -> Option<Self> {
        std::env::var_os(VARIABLE).map(Self)
    }

    /// Returns when all nodes work together again.
    pub(super) async fn befall(&self, mishap: &Mishap) {
        for node in &mishap.nodes {
            self.tell(if mishap.paused { "pause" } else { "kill" }, *node).await;
        }
        tokio::time::sleep(mishap.lasts).await;
        if mishap.paused {
            for node in &mishap.nodes {
                self.tell("resume", *node).await;
            }
        }
        // All at once: none of them is ready before enough are there.
        futures::future::join_all(mishap.nodes.iter().map(|node| self.tell("node", *node))).await;
    }

    async fn tell(&self, what: &'static str, node: u8) {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/galera/cluster");
        let mut command = Command::new(program);
        command.arg(what).arg(&self.0).arg(node.to_string());
        let told = tokio::task::spawn_blocking(move || command.status().unwrap());
        assert!(told.await.unwrap().success(), "{what} {node}");
    }
}
