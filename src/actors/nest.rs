//! The resources of a stack, awake or at rest. Their actors live on the stack's own thread and
//! share this with it: one that has nothing left to do hands its state over as it ends, and the
//! stack wakes it from there.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{Arc, Weak};

use actix::prelude::*;

use super::look::LookOnce;
use super::resource::Resource;
use super::shell::Shell;
use crate::events::log::Head;
use crate::model::ResourceId;

/// What is on its way to a resource, or under way for it, holds a share of this: while there is
/// one beside the actor's own, the actor does not go to rest.
pub(super) type Busy = Arc<()>;

/// A resource that is awake.
struct Awake {
    address: Addr<Shell<Resource>>,
    busy: Weak<()>,
    /// Others than the stack know its address, and may send to it at any time.
    known: Option<Busy>,
}

/// See the module.
#[derive(Clone, Default)]
pub(super) struct Nest(Rc<RefCell<Inner>>);

#[derive(Default)]
struct Inner {
    awake: HashMap<ResourceId, Awake>,
    resting: HashMap<ResourceId, Box<(Resource, Head)>>,
}

impl Nest {
    /// Resources that were read back and have not been told anything yet.
    pub(super) fn of(resting: HashMap<ResourceId, Box<(Resource, Head)>>) -> Self {
        Self(Rc::new(RefCell::new(Inner { awake: HashMap::new(), resting })))
    }

    /// A resource that is awake: its address, and a share of its being busy.
    pub(super) fn awake(&self, id: ResourceId) -> Option<(Addr<Shell<Resource>>, Busy)> {
        let inner = self.0.borrow();
        let awake = inner.awake.get(&id)?;
        // What broke off stays here until its stack is woken anew: nothing is begun in its place.
        Some((awake.address.clone(), awake.busy.upgrade().unwrap_or_default()))
    }

    /// A resource has been woken.
    pub(super) fn wake(&self, id: ResourceId, address: Addr<Shell<Resource>>, busy: &Busy) {
        let awake = Awake { address, busy: Arc::downgrade(busy), known: None };
        self.0.borrow_mut().awake.insert(id, awake);
    }

    /// The address of a resource is told to others: it stays awake as long as its stack.
    pub(super) fn keep_awake(&self, id: ResourceId) {
        if let Some(awake) = self.0.borrow_mut().awake.get_mut(&id) {
            awake.known = awake.busy.upgrade();
        }
    }

    /// A resource goes to rest.
    pub(super) fn rest(&self, id: ResourceId, resource: Resource, head: Head) {
        let mut inner = self.0.borrow_mut();
        inner.awake.remove(&id);
        inner.resting.insert(id, Box::new((resource, head)));
    }

    /// Looks at one that rests, which goes on doing so; the look comes back if it does not.
    pub(super) fn look_resting<T>(
        &self,
        id: ResourceId,
        look: LookOnce<T>,
    ) -> Result<T, LookOnce<T>> {
        match self.0.borrow().resting.get(&id) {
            Some(resting) => Ok(look(&resting.0)),
            None => Err(look),
        }
    }

    /// Takes one out that rests, to be woken.
    pub(super) fn take_resting(&self, id: ResourceId) -> Option<Box<(Resource, Head)>> {
        self.0.borrow_mut().resting.remove(&id)
    }

    /// All that there are, with the addresses of those that are awake.
    pub(super) fn all(&self) -> Vec<(ResourceId, Option<Addr<Shell<Resource>>>)> {
        let inner = self.0.borrow();
        let awake = inner.awake.iter().map(|(id, awake)| (*id, Some(awake.address.clone())));
        awake.chain(inner.resting.keys().map(|id| (*id, None))).collect()
    }
}
