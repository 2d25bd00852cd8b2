//! What is known of a connection beside its bytes. Its stream and its requests share it, all of
//! them on one thread.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::rc::Rc;

use tokio::time::Instant;

use super::Patience;
use super::bounds::{Bounds, OwnedPlace, Owner, Place};

/// A client's stay on one connection.
pub(in crate::api) struct Visit {
    patience: Patience,
    /// Requests between their head and their answer.
    at_work: Cell<usize>,
    /// When it was last known what the client does, and whether that was the first byte of a head.
    since: Cell<Instant>,
    head_begun: Cell<bool>,
    _place: Place<()>,
    /// Counted with the address until somebody shows a valid token.
    stranger: RefCell<Option<Place<IpAddr>>>,
    owner: RefCell<Option<(Owner, OwnedPlace)>>,
}

impl Visit {
    pub(super) fn new(patience: Patience, place: Place<()>, stranger: Place<IpAddr>) -> Self {
        Self {
            patience,
            at_work: Cell::new(0),
            since: Cell::new(Instant::now()),
            // A connection is made for a request, so the first head is under way.
            head_begun: Cell::new(true),
            _place: place,
            stranger: RefCell::new(Some(stranger)),
            owner: RefCell::default(),
        }
    }

    /// The client has sent something.
    pub(super) fn heard(&self) {
        if self.at_work.get() == 0 && !self.head_begun.replace(true) {
            self.since.set(Instant::now());
        }
    }

    /// Until when the head of a request has to be there; `None` while a request is at work.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let patience = if self.head_begun.get() { self.patience.head } else { self.patience.idle };
        (self.at_work.get() == 0).then(|| self.since.get() + patience)
    }

    /// A request has come in; it is at work until what is returned is dropped.
    pub(in crate::api) fn begin(self: &Rc<Self>) -> AtWork {
        self.at_work.set(self.at_work.get() + 1);
        self.head_begun.set(false);
        AtWork(Rc::clone(self))
    }

    /// The connection is this caller's from now on; `false` where he has as many as he may. A
    /// proxy's goes from one to the other.
    pub(in crate::api) fn belongs_to(&self, owner: &Owner, bounds: &Bounds) -> bool {
        let mut held = self.owner.borrow_mut();
        if held.as_ref().is_some_and(|(known, _)| known == owner) {
            return true;
        }
        let Some(place) = bounds.owned.take(owner) else { return false };
        *held = Some((owner.clone(), place));
        self.stranger.take();
        true
    }
}

/// A request at work.
pub(in crate::api) struct AtWork(Rc<Visit>);

impl Drop for AtWork {
    fn drop(&mut self) {
        let visit = &self.0;
        visit.at_work.set(visit.at_work.get() - 1);
        visit.since.set(Instant::now());
        visit.head_begun.set(false);
    }
}
