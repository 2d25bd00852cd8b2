//! How much work on templates a thread may do, and how deep it may go. It is counted by the thread
//! and not handed on as an argument, so that no corner of the language can leave it out: steps are
//! taken wherever one evaluates, from the tree of stacks down to a pattern.
//!
//! Two counts run at a time. A look, such as the resolving of one resource, has its own, wherever
//! it is made; it depends on nothing but the template and its values. A request has one for all
//! that is done for it, which ends early where nobody waits any more.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use super::error::{Outcome, TemplateError};
use crate::model::Refusal;
use crate::model::sizes::{ANSWER_BYTES_MAX, answer_too_large};

/// How deep evaluations nest: calls within calls, and conditions that ask for conditions.
pub(crate) const DEPTH_MAX: u32 = 150;

/// How deep the value nests that an evaluation gives. Events wrap it, and JSON is read back 128
/// deep.
pub(crate) const VALUE_DEPTH_MAX: u32 = 100;

/// The steps of one look. A step is some 100 ns.
pub(crate) const LOOK_STEPS_MAX: u64 = 1_000_000;

/// The steps of all that is done for one request.
pub const REQUEST_STEPS_MAX: u64 = 20_000_000;

/// The bytes that cost as much as a step.
const BYTES_PER_STEP: usize = 64;

/// After how many steps it is asked whether to go on.
const STEPS_PER_ASK: u64 = 10_000;

/// The class of the refusal where it is not gone on with a request.
pub const GIVEN_UP: &str = "HTTPServiceUnavailable";

/// Whether to go on with a request.
pub type GoesOn = Arc<dyn Fn() -> bool + Send + Sync>;

/// Why the work for a request ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Steps,
    Answer,
    /// Nobody waits for it.
    Left,
}

/// The counts of a thread.
struct Work {
    /// All steps that the thread ever took.
    taken: Cell<u64>,
    look: Cell<u64>,
    /// As good as endless outside of a request.
    request: Cell<u64>,
    /// Below how many steps of the request it is asked next.
    ask_below: Cell<u64>,
    answer_bytes: Cell<usize>,
    depth: Cell<u32>,
    /// Whether a value has been met that makes one around it too deep, perhaps.
    met_deep: Cell<bool>,
    goes_on: RefCell<Option<GoesOn>>,
    over: Cell<Option<Over>>,
}

thread_local! {
    static WORK: Work = const {
        Work {
            taken: Cell::new(0),
            look: Cell::new(LOOK_STEPS_MAX),
            request: Cell::new(u64::MAX),
            ask_below: Cell::new(0),
            answer_bytes: Cell::new(usize::MAX),
            depth: Cell::new(0),
            met_deep: Cell::new(false),
            goes_on: RefCell::new(None),
            over: Cell::new(None),
        }
    };
}

/// Does what a request asks for, within its bounds; the refusal where they did not suffice,
/// whatever the job made of that.
pub fn within_request<T>(goes_on: GoesOn, job: impl FnOnce() -> T) -> Result<T, Refusal> {
    within_steps(REQUEST_STEPS_MAX, goes_on, job)
}

/// The same within so many steps.
pub fn within_steps<T>(steps: u64, goes_on: GoesOn, job: impl FnOnce() -> T) -> Result<T, Refusal> {
    let request = Request::begin(steps, goes_on);
    let made = job();
    match request.over() {
        None => Ok(made),
        Some(over) => Err(over.error().into()),
    }
}

/// A request that the thread works on; what is bounded in it is no longer where it is dropped.
struct Request;

impl Request {
    fn begin(steps: u64, goes_on: GoesOn) -> Self {
        WORK.with(|work| {
            work.request.set(steps);
            work.ask_below.set(steps.saturating_sub(STEPS_PER_ASK));
            work.answer_bytes.set(ANSWER_BYTES_MAX);
            work.goes_on.replace(Some(goes_on));
            work.over.set(None);
        });
        Self
    }

    fn over(&self) -> Option<Over> {
        WORK.with(|work| work.over.get())
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        WORK.with(|work| {
            work.request.set(u64::MAX);
            work.ask_below.set(0);
            work.answer_bytes.set(usize::MAX);
            work.goes_on.replace(None);
            work.over.set(None);
        });
    }
}

impl Over {
    fn error(self) -> TemplateError {
        match self {
            Over::Steps => too_much(),
            Over::Answer => TemplateError::new("RequestLimitExceeded", answer_too_large().message),
            Over::Left => TemplateError::new(
                GIVEN_UP,
                "The work on the template took too long and was given up.",
            ),
        }
    }
}

fn too_much() -> TemplateError {
    let message =
        "Request limit exceeded: The template takes more work than a request may ask for.";
    TemplateError::new("RequestLimitExceeded", message)
}

impl Work {
    fn step(&self, steps: u64) -> Outcome<()> {
        let Some(look) = self.look.get().checked_sub(steps) else {
            self.look.set(0);
            return Err(too_much());
        };
        self.look.set(look);
        self.step_of_request(steps)
    }

    fn step_of_request(&self, steps: u64) -> Outcome<()> {
        self.taken.set(self.taken.get().wrapping_add(steps));
        let Some(request) = self.request.get().checked_sub(steps) else {
            return Err(self.end(Over::Steps));
        };
        self.request.set(request);
        if request < self.ask_below.get() {
            self.ask_below.set(request.saturating_sub(STEPS_PER_ASK));
            let goes_on = self.goes_on.borrow();
            if goes_on.as_ref().is_some_and(|goes_on| !goes_on()) {
                return Err(self.end(Over::Left));
            }
        }
        Ok(())
    }

    /// Ends the work for the request: every further step fails.
    fn end(&self, over: Over) -> TemplateError {
        self.request.set(0);
        let over = self.over.get().unwrap_or(over);
        self.over.set(Some(over));
        over.error()
    }
}

/// Begins a look.
pub(crate) fn begin_look() {
    WORK.with(|work| work.look.set(LOOK_STEPS_MAX));
}

/// Takes steps.
pub(crate) fn step(steps: usize) -> Outcome<()> {
    WORK.with(|work| work.step(steps as u64))
}

/// Takes the steps that so many bytes cost.
pub(crate) fn step_over(bytes: usize) -> Outcome<()> {
    step(bytes / BYTES_PER_STEP)
}

/// Takes steps where no look needs to be under way.
pub(crate) fn step_of_request(steps: usize) -> Outcome<()> {
    WORK.with(|work| work.step_of_request(steps as u64))
}

/// How many steps the thread has taken since it stood at that count.
pub(crate) fn steps_since(count: u64) -> u64 {
    WORK.with(|work| work.taken.get().wrapping_sub(count))
}

/// How many steps are left.
pub(crate) fn steps_left() -> usize {
    let left = WORK.with(|work| work.look.get().min(work.request.get()));
    usize::try_from(left).unwrap_or(usize::MAX)
}

/// Takes what is held for the answer.
pub(crate) fn hold(bytes: usize) -> Outcome<()> {
    WORK.with(|work| match work.answer_bytes.get().checked_sub(bytes) {
        Some(left) => {
            work.answer_bytes.set(left);
            Ok(())
        }
        None => Err(work.end(Over::Answer)),
    })
}

/// One level of an evaluation, for as long as it is held.
pub(crate) struct Level;

impl Drop for Level {
    fn drop(&mut self) {
        WORK.with(|work| work.depth.set(work.depth.get() - 1));
    }
}

/// Goes one level deeper. The words are Heat's, of stacks that nest too deep.
pub(crate) fn deeper() -> Outcome<Level> {
    WORK.with(|work| {
        let depth = work.depth.get();
        if depth >= DEPTH_MAX {
            return Err(too_deep(DEPTH_MAX));
        }
        work.depth.set(depth + 1);
        Ok(Level)
    })
}

/// How many levels deeper one may go.
pub(crate) fn levels_left() -> usize {
    WORK.with(|work| (DEPTH_MAX - work.depth.get()) as usize)
}

/// What is said of what nests deeper than it may.
pub(crate) fn too_deep(limit: u32) -> TemplateError {
    let message = format!("Request limit exceeded: Recursion depth exceeds {limit}.");
    TemplateError::new("RequestLimitExceeded", message)
}

impl Level {
    /// Notes the value of a call that stands at this level.
    pub(crate) fn meet(&self, value_depth: u32) {
        WORK.with(|work| {
            if work.depth.get() + value_depth > VALUE_DEPTH_MAX {
                work.met_deep.set(true);
            }
        });
    }

    /// Whether all is evaluated with this level, and the value may be too deep.
    pub(crate) fn ends_deep(&self) -> bool {
        WORK.with(|work| work.depth.get() == 1 && work.met_deep.replace(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn always() -> GoesOn {
        Arc::new(|| true)
    }

    #[test]
    fn a_request_that_took_all_its_steps_is_refused_whatever_came_of_it() {
        let refused = within_request(always(), || {
            begin_look();
            while step_of_request(1_000_000).is_ok() {}
            assert!(step(1).is_err(), "what is over stays over");
        });
        assert_eq!(refused.unwrap_err().class, "RequestLimitExceeded");
        begin_look();
        assert!(step(1_000).is_ok(), "what comes after is bounded anew");
    }

    #[test]
    fn a_look_ends_alone() {
        let made = within_request(always(), || {
            begin_look();
            assert!(step(LOOK_STEPS_MAX as usize + 1).is_err());
            begin_look();
            step(1)
        });
        assert!(made.unwrap().is_ok());
    }

    #[test]
    fn work_that_nobody_waits_for_ends() {
        let refused = within_request(Arc::new(|| false), || {
            begin_look();
            let steps = (0..).take_while(|_| step(1).is_ok()).count() as u64;
            assert_eq!(steps, STEPS_PER_ASK);
        });
        assert_eq!(refused.unwrap_err().class, "HTTPServiceUnavailable");
    }

    #[test]
    fn an_answer_is_bounded() {
        let refused = within_request(always(), || {
            assert!(hold(ANSWER_BYTES_MAX).is_ok());
            assert!(hold(1).is_err());
        });
        assert!(refused.unwrap_err().message.contains("exceeds maximum allowed size"));
        assert!(hold(ANSWER_BYTES_MAX + 1).is_ok(), "without a request there is no answer");
    }

    #[test]
    fn levels_are_left_when_a_job_panics() {
        let panicked = std::panic::catch_unwind(|| {
            let _levels: Vec<Level> = (0..DEPTH_MAX).map(|_| deeper().unwrap()).collect();
            assert!(deeper().is_err());
            panic!("as a poisoned template would");
        });
        assert!(panicked.is_err() && deeper().is_ok());
    }
}
