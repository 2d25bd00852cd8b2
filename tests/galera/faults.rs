//! Nodes of a cluster killed and paused under load: nothing acknowledged is lost, nothing is there
//! twice, the order is kept, and nobody waits much longer than the cluster itself.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures::StreamExt;
use hearth::events::log::chain::Verifier;
use hearth::events::log::{EventLog, Filter, MariadbLog};
use hearth::events::{Position, RecordedEvent, StreamRevision};

use super::cases::{number, stream, within};
use super::database::Database;

/// Names the directory of the cluster, which `tests/galera/cluster` made.
const CLUSTER: &str = "HEARTH_TEST_GALERA";
/// How often all of the faults befall it.
const ROUNDS: &str = "HEARTH_TEST_GALERA_ROUNDS";
const WRITERS: u64 = 16;
/// How long a cluster needs until it has dropped a node, and what we may need on top.
const DROPPED_WITHIN: Duration = Duration::from_millis(6_300);
const ON_TOP: Duration = Duration::from_secs(2);
/// How long work goes on between two faults.
const BETWEEN: Duration = Duration::from_secs(1);

/// What befalls the cluster. While a node is left that others go on with, the longest wait is known.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Kill(&'static [u8]),
    Pause(u8),
}

const FAULTS: [Fault; 3] = [Fault::Kill(&[1]), Fault::Pause(1), Fault::Kill(&[1, 2, 3])];

fn cluster(arguments: &[&str]) {
    let folder = std::env::var_os(CLUSTER).unwrap();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/galera/cluster");
    let mut command = Command::new(program);
    command.arg(arguments[0]).arg(folder).args(&arguments[1..]);
    assert!(command.status().unwrap().success(), "{arguments:?}");
}

impl Fault {
    /// Befalls the cluster, and is mended; a node that was paused for long ends when it wakes.
    fn befall(self) {
        match self {
            Self::Kill(nodes) => {
                for node in nodes {
                    cluster(&["kill", &node.to_string()]);
                }
                std::thread::sleep(DROPPED_WITHIN + ON_TOP);
                // All at once: none of them is ready before enough are there.
                let starting: Vec<_> = nodes
                    .iter()
                    .map(|node| std::thread::spawn(move || cluster(&["node", &node.to_string()])))
                    .collect();
                starting.into_iter().for_each(|started| started.join().unwrap());
            }
            Self::Pause(node) => {
                let node = node.to_string();
                cluster(&["pause", &node]);
                std::thread::sleep(DROPPED_WITHIN * 2);
                cluster(&["resume", &node]);
                std::thread::sleep(BETWEEN);
                cluster(&["node", &node]);
            }
        }
    }

    /// Whether most of the nodes are left, so that work goes on.
    fn leaves_most(self) -> bool {
        match self {
            Self::Kill(nodes) => nodes.len() < 2,
            Self::Pause(_) => true,
        }
    }
}

/// Appends event after event to a stream of its own and waits for each; how many were acknowledged,
/// and the longest wait since the last reset.
async fn write(log: Arc<MariadbLog>, name: u64, stop: Arc<AtomicBool>, waits: Waits) -> u64 {
    let mut acknowledged = 0;
    let mut head = log.read(&stream(name), StreamRevision(0)).await.unwrap().head;
    while !stop.load(Ordering::SeqCst) {
        let begun = Instant::now();
        let event = number(head.next);
        let written = match log.append(&stream(name), head, vec![event]).await {
            Ok(appended) => log.durable(appended.position).await.map(|()| appended.head),
            Err(error) => Err(error),
        };
        waits.note(begun.elapsed());
        match written {
            Ok(next) => (head, acknowledged) = (next, next.next),
            // Nothing is taken while no cluster is there.
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                if let Ok(slice) = log.read(&stream(name), StreamRevision(0)).await {
                    head = slice.head;
                }
            }
        }
    }
    acknowledged
}

#[derive(Clone, Default)]
struct Waits(Arc<std::sync::Mutex<Duration>>);

impl Waits {
    fn note(&self, wait: Duration) {
        let mut longest = self.0.lock().unwrap();
        *longest = wait.max(*longest);
    }

    fn take(&self) -> Duration {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

async fn follow(log: Arc<MariadbLog>, last: tokio::sync::watch::Receiver<u64>) -> Vec<Position> {
    let mut seen = Vec::new();
    let mut events = log.subscribe(Position(0), Filter::default());
    let mut last = last;
    loop {
        tokio::select! {
            event = events.next() => seen.push(event.unwrap().unwrap().position),
            _ = last.changed() => {}
        }
        let end = *last.borrow();
        if end > 0 && seen.last().is_some_and(|position| position.0 >= end) {
            return seen;
        }
    }
}

#[ignore = "kills and pauses the nodes of the cluster that HEARTH_TEST_GALERA names"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_killed_and_paused_under_load_lose_and_double_nothing() {
    let rounds: usize =
        std::env::var_os(ROUNDS).map_or(1, |rounds| rounds.to_str().unwrap().parse().unwrap());
    let database = Database::fresh();
    let log = Arc::new(MariadbLog::open(&database.address(), "a test", None).unwrap());
    let (stop, waits) = (Arc::new(AtomicBool::new(false)), Waits::default());
    let (told, last) = tokio::sync::watch::channel(0);
    let following = tokio::spawn(follow(log.clone(), last));
    let writers: Vec<_> = (0..WRITERS)
        .map(|name| tokio::spawn(write(log.clone(), name, stop.clone(), waits.clone())))
        .collect();
    for fault in (0..rounds).flat_map(|_| FAULTS) {
        tokio::time::sleep(BETWEEN).await;
        waits.take();
        let before = log.durable_position();
        tokio::task::spawn_blocking(move || fault.befall()).await.unwrap();
        within("writing again", async {
            let after = log.durable_position();
            while log.durable_position() <= after {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        let longest = waits.take();
        println!("{fault:?}: {longest:.1?} at most, {before} to {}", log.durable_position());
        if fault.leaves_most() {
            assert!(longest < DROPPED_WITHIN + ON_TOP, "{fault:?}: {longest:?}");
        }
    }
    stop.store(true, Ordering::SeqCst);
    let mut acknowledged = Vec::new();
    for writer in writers {
        acknowledged.push(within("the writers", writer).await.unwrap());
    }
    let end = log.durable_position();
    told.send(end.0).unwrap();
    let seen = within("the follower", following).await.unwrap();
    drop(log);

    let log = MariadbLog::open(&database.address(), "a test", None).unwrap();
    let mut verifier = Verifier::default();
    let mut stored: Vec<Arc<RecordedEvent>> = Vec::new();
    loop {
        let after = stored.last().map_or(Position(0), |event| event.position);
        let page = log.read_all(after, &Filter::default(), 5_000).await.unwrap();
        if page.is_empty() {
            break;
        }
        stored.extend(page);
    }
    for event in &stored {
        verifier.check(event).unwrap();
        assert_eq!(&*event.body, event.revision.0.to_string());
    }
    for (name, count) in (0..).zip(acknowledged) {
        let slice = log.read(&stream(name), StreamRevision(0)).await.unwrap();
        assert!(slice.head.next >= count, "{} of {count} acknowledged", slice.head.next);
    }
    assert_eq!(seen, stored.iter().map(|event| event.position).collect::<Vec<_>>());
    println!("{} events, each once, in order", stored.len());
}
