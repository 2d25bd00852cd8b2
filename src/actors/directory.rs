//! Finds or wakes an actor by its id. A stack and its resources share an arbiter; stacks spread
//! over all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use actix::prelude::*;

use super::project::Project;
use super::shell::Shell;
use super::stack::Stack;
use crate::model::{ProjectId, StackId};

/// The pause before an actor that broke off is woken again; the log may be out of order for long.
const REWAKE_AFTER: Duration = Duration::from_millis(500);

/// How an actor that rests begins on an arbiter.
pub trait Wakes: Send + Sync {
    fn stack(self: Arc<Self>, arbiter: &ArbiterHandle, id: StackId) -> Addr<Shell<Stack>>;

    fn project(self: Arc<Self>, arbiter: &ArbiterHandle, id: &ProjectId) -> Addr<Shell<Project>>;
}

/// Where the living actors are.
pub struct Directory {
    arbiters: Vec<ArbiterHandle>,
    living: Mutex<Living>,
}

#[derive(Default)]
struct Living {
    stacks: HashMap<StackId, Addr<Shell<Stack>>>,
    projects: HashMap<ProjectId, Addr<Shell<Project>>>,
    /// `None` before anybody can be woken, and once nobody is to be: it holds all that actors work
    /// with, and that holds the directory.
    waking: Option<Arc<dyn Wakes>>,
}

impl Directory {
    /// A directory over as many arbiters as the machine has cores. Needs a running actix system.
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            arbiters: (0..cores).map(|_| Arbiter::new().handle()).collect(),
            living: Mutex::default(),
        }
    }

    /// Hands over how actors are woken, once.
    pub fn open(&self, waking: Arc<dyn Wakes>) {
        self.living().waking = Some(waking);
    }

    /// The stack's actor, woken if it rests; `None` once the engine stops.
    pub fn stack(&self, id: StackId) -> Option<Addr<Shell<Stack>>> {
        let mut living = self.living();
        let waking = Arc::clone(living.waking.as_ref()?);
        if let Some(address) = living.stacks.get(&id).filter(|address| address.connected()) {
            return Some(address.clone());
        }
        let address = waking.stack(&self.arbiter(id.0.as_u128()), id);
        living.stacks.insert(id, address.clone());
        Some(address)
    }

    /// The project's actor, woken if it rests; `None` once the engine stops.
    pub fn project(&self, id: &ProjectId) -> Option<Addr<Shell<Project>>> {
        let mut living = self.living();
        let waking = Arc::clone(living.waking.as_ref()?);
        if let Some(address) = living.projects.get(id).filter(|address| address.connected()) {
            return Some(address.clone());
        }
        let address = waking.project(&self.arbiter(0), id);
        living.projects.insert(id.clone(), address.clone());
        Some(address)
    }

    /// Forgets a stack's actor that stops, unless another has taken its place.
    pub fn forget_stack(&self, id: StackId, address: &Addr<Shell<Stack>>) {
        let mut living = self.living();
        if living.stacks.get(&id) == Some(address) {
            living.stacks.remove(&id);
        }
    }

    /// Forgets a project's actor that stops.
    pub fn forget_project(&self, address: &Addr<Shell<Project>>) {
        self.living().projects.retain(|_, living| living != address);
    }

    /// Forgets the projects' actors, which stop: whoever is asked for next is read anew.
    pub fn forget_projects(&self) {
        self.living().projects.clear();
    }

    /// Wakes a stack after a pause: it broke off and may owe work.
    pub fn rewake(self: &Arc<Self>, id: StackId) {
        let directory = self.clone();
        actix::spawn(async move {
            tokio::time::sleep(REWAKE_AFTER).await;
            directory.stack(id);
        });
    }

    /// The ids of the stacks that are awake.
    pub fn awake(&self) -> Vec<StackId> {
        self.living().stacks.keys().copied().collect()
    }

    /// Lets nobody be woken any more, and gives out who is awake.
    pub fn close(&self) -> Vec<Addr<Shell<Stack>>> {
        let living = std::mem::take(&mut *self.living());
        living.stacks.into_values().collect()
    }

    /// Ends the threads on which actors live, and whoever still is.
    pub fn stop(&self) {
        drop(self.close());
        for arbiter in &self.arbiters {
            arbiter.stop();
        }
    }

    fn arbiter(&self, spread: u128) -> ArbiterHandle {
        self.arbiters[(spread % self.arbiters.len() as u128) as usize].clone()
    }

    fn living(&self) -> MutexGuard<'_, Living> {
        self.living.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Default for Directory {
    fn default() -> Self {
        Self::new()
    }
}
