//! What a beat of a declared type is about.

use super::progress::Progress;
use crate::events::resource::Step;
use crate::resource_types::asks::Asks;
use crate::resource_types::job::{Attempt, Subject, Work};

/// All that a beat is about.
#[derive(Clone, Copy)]
pub struct Beating<'a> {
    pub cloud: &'a Asks<'a>,
    pub work: &'a Work,
    pub subject: &'a Subject,
    pub step: &'a Step,
    pub attempt: Attempt,
}

impl Beating<'_> {
    /// What the step remembers.
    pub(crate) fn progress(&self) -> Progress {
        Progress::of(self.step)
    }

    /// Whether the call may have been made before.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.attempt == Attempt::Unanswered
    }
}
