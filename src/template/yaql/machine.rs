//! What an evaluation may still do: its bounds on steps, depth and memory, and what is held until
//! its end.

use std::rc::Rc;

use super::failure;
use super::limits;
use crate::template::error::Outcome;
use crate::template::work;

/// How many steps an expression may take. A value costs more the larger it is.
const STEPS_MAX: usize = 400_000;
/// The bytes of a value that cost as much as a step.
const BYTES_PER_STEP: usize = 64;
/// How deep evaluations may be nested in each other.
const EVALUATIONS_MAX: usize = 120;

/// The state of an evaluation.
pub(super) struct Machine {
    steps_left: usize,
    steps_max: usize,
    depth: usize,
    depth_max: usize,
    kept: Vec<Rc<dyn Held>>,
}

/// What may hold on to a long chain of others. All of it is held by the machine until the end, so
/// that none falls with the one before it, the whole chain deep down the stack.
pub(super) trait Held {
    /// Forgets what it holds.
    fn clear(&self);
}

impl Drop for Machine {
    fn drop(&mut self) {
        for kept in &self.kept {
            kept.clear();
        }
        // The newest first: it refers to older ones, which are still held.
        while self.kept.pop().is_some() {}
    }
}

impl Machine {
    pub(super) fn new() -> Self {
        let steps_max = work::steps_left().min(STEPS_MAX);
        // What is evaluated around the expression stands on the same stack.
        let depth_max = work::levels_left().min(EVALUATIONS_MAX);
        Self { steps_left: steps_max, steps_max, depth: 0, depth_max, kept: Vec::new() }
    }

    /// How many steps it took.
    pub(super) fn steps_taken(&self) -> usize {
        self.steps_max - self.steps_left
    }

    /// Holds something until the end.
    pub(super) fn hold(&mut self, held: Rc<dyn Held>) {
        self.kept.push(held);
    }

    /// Counts steps.
    pub(super) fn step(&mut self, steps: usize) -> Outcome<()> {
        self.steps_left = self.steps_left.checked_sub(steps).ok_or_else(failure::steps)?;
        Ok(())
    }

    /// Goes one level deeper, until `leave`.
    pub(super) fn enter(&mut self) -> Outcome<()> {
        if self.depth >= self.depth_max {
            return Err(failure::depth());
        }
        self.depth += 1;
        Ok(())
    }

    /// Comes back from a level.
    pub(super) fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Refuses a size over the memory quota.
    pub(super) fn limit_bytes(&mut self, bytes: usize) -> Outcome<()> {
        self.step(bytes / BYTES_PER_STEP)?;
        if bytes > limits::memory_quota() { Err(failure::memory()) } else { Ok(()) }
    }
}
