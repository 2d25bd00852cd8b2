//! Servers that run what they are told, where that is asked for (`guests = process`): for each one
//! that is ACTIVE a guest, which is no machine but a loop in this process. It reads the user data and
//! the metadata of its server and answers over the same interfaces as agents do. What it runs are
//! processes of this machine and of this process's user, within limits: so it is for a sandbox that
//! nobody else reaches.

mod agent;
mod boot;
mod calls;
mod hooks;
mod keeper;
mod processes;
mod script;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::AbortHandle;

use super::guest_limits::GuestLimits;
use super::nova;
use super::shared::Shared;
use agent::{Guest, Tools};
use calls::Calls;
use keeper::Keeper;

/// The scripts that a guest runs of user data as Nova keeps them, and what it is told to begin with.
#[doc(hidden)]
pub fn boot_of(user_data: &str) -> (Vec<String>, serde_json::Value) {
    let boot = boot::read(user_data);
    (boot.scripts, boot.metadata)
}

/// How often it is looked which servers there are.
const LOOKED_EVERY: Duration = Duration::from_millis(500);
/// How many servers have a guest at once.
const GUESTS_MAX: usize = 64;
/// How many scripts run at once.
const SCRIPTS_AT_ONCE: usize = 16;

/// Guests at work until they are dropped.
pub(super) struct Guests {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
    /// Ends what they run if this process is killed.
    _keeper: Keeper,
}

/// A guest that is at work.
struct AtWork {
    user_data: String,
    /// Whether its scripts are to end.
    stopped: Arc<AtomicBool>,
    task: AbortHandle,
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.task.abort();
    }
}

impl Guests {
    /// Starts them on a thread of their own.
    pub(super) fn start(shared: Arc<Shared>, limits: GuestLimits) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let mark = shared.clock.fresh_id().simple().to_string();
        let marked = format!("{}={mark}", processes::VARIABLE);
        let keeper = Keeper::start(&marked, &script::directory(&mark), script::PATH)?;
        let tools = Arc::new(Tools {
            mark,
            clock: Arc::clone(&shared.clock),
            calls: Calls::new().map_err(io::Error::other)?,
            limits,
            turns: Semaphore::new(SCRIPTS_AT_ONCE),
        });
        let (stop, mut stopped) = watch::channel(false);
        let thread = std::thread::Builder::new().name("guests".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = watch_over(&shared, &tools) => {}
                    _ = stopped.wait_for(|stopped| *stopped) => {}
                }
            });
        })?;
        Ok(Self { stop, thread: Some(thread), _keeper: keeper })
    }
}

impl Drop for Guests {
    /// Waits until no script runs any more.
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread of the guests has failed");
        }
    }
}

/// Has a guest at work for each server that is ACTIVE.
async fn watch_over(shared: &Shared, tools: &Arc<Tools>) {
    let mut at_work: BTreeMap<String, AtWork> = BTreeMap::new();
    loop {
        let servers = {
            let mut cloud = shared.cloud();
            if let Err(error) = cloud.settle(shared.clock.now()) {
                tracing::error!(%error, "the sandbox cannot write its journal");
            }
            nova::active(&cloud, GUESTS_MAX)
        };
        // One that was rebuilt with other user data is another.
        at_work.retain(|id, guest| servers.get(id) == Some(&guest.user_data));
        for (server, user_data) in servers {
            at_work.entry(server.clone()).or_insert_with(|| {
                let stopped = Arc::new(AtomicBool::new(false));
                let guest = Guest {
                    server,
                    user_data: user_data.clone(),
                    stopped: Arc::clone(&stopped),
                    tools: Arc::clone(tools),
                };
                AtWork { user_data, stopped, task: tokio::spawn(guest.work()).abort_handle() }
            });
        }
        tokio::time::sleep(LOOKED_EVERY).await;
    }
}
