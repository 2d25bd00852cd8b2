//! The cluster beneath the server's log, whose nodes are killed and paused.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error, Opts};

use crate::support::chance::Chance;

/// Names the directory of a cluster that `tests/galera/cluster` made, for this test alone: with
/// `HEARTH_LOG`, its address.
const VARIABLE: &str = "CRASH_CLUSTER";
const NODES: [u8; 3] = [1, 2, 3];
/// Its address, which the server is told as well.
const ADDRESS: &str = "HEARTH_LOG";
/// How often a row is written at a node, and from when on that counts as standing still.
const BEAT: Duration = Duration::from_millis(50);
const STILL: Duration = Duration::from_millis(500);

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

    /// The nodes that go on.
    fn others(&self) -> impl Iterator<Item = u8> {
        NODES.into_iter().filter(|node| !self.nodes.contains(node))
    }
}

impl Cluster {
    /// The one that the environment names.
    pub(super) fn named() -> Option<Self> {
        std::env::var_os(VARIABLE).map(Self)
    }

    /// Returns when all nodes work together again; how long the others stood still meanwhile.
    pub(super) async fn befall(&self, mishap: &Mishap) -> Duration {
        let mended = Arc::new(AtomicBool::new(false));
        let watch = |node| tokio::spawn(stands_still(node, mended.clone()));
        let others: Vec<_> = mishap.others().map(watch).collect();
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
        mended.store(true, Ordering::SeqCst);
        let mut longest = Duration::ZERO;
        for other in others {
            longest = longest.max(other.await.unwrap());
        }
        longest
    }

    async fn tell(&self, what: &'static str, node: u8) {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/galera/cluster");
        let mut command = Command::new(program);
        command.arg(what).arg(&self.0).arg(node.to_string());
        let told = tokio::task::spawn_blocking(move || command.status().unwrap());
        assert!(told.await.unwrap().success(), "{what} {node}");
    }
}

/// Writes at a node as anybody would, until all is mended; how long that stood still.
async fn stands_still(node: u8, mended: Arc<AtomicBool>) -> Duration {
    let (mut still, mut conn, mut written) = (Duration::ZERO, None, Instant::now());
    while !mended.load(Ordering::SeqCst) {
        if write(&mut conn, node).await.is_err() {
            conn = None;
        } else {
            let since = written.elapsed();
            still += if since > STILL { since } else { Duration::ZERO };
            written = Instant::now();
        }
        tokio::time::sleep(BEAT).await;
    }
    still
}

async fn write(conn: &mut Option<Conn>, node: u8) -> Result<(), Error> {
    let conn = match conn {
        Some(conn) => conn,
        None => conn.insert(connect(node).await?),
    };
    conn.query_drop(format!("REPLACE INTO hearth_beside.beat VALUES ({node}, NOW(6))")).await
}

async fn connect(node: u8) -> Result<Conn, Error> {
    let address = std::env::var_os(ADDRESS).unwrap().into_string().unwrap();
    let (login, hosts) = address.rsplit_once('@').unwrap();
    let (hosts, _) = hosts.split_once('/').unwrap();
    let host = hosts.split(',').nth(usize::from(node) - 1).unwrap();
    let mut conn = Conn::new(Opts::from_url(&format!("{login}@{host}/mysql")).unwrap()).await?;
    conn.query_drop("CREATE DATABASE IF NOT EXISTS hearth_beside").await?;
    let table = "CREATE TABLE IF NOT EXISTS hearth_beside.beat \
                 (node TINYINT PRIMARY KEY, at DATETIME(6))";
    conn.query_drop(table).await?;
    Ok(conn)
}
