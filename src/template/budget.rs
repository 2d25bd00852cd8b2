//! How much functions may make: a short template can say a very long text, and no input may use
//! up the machine.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::{Outcome, TemplateError};
use super::work;

/// What one look at a definition may make.
pub(crate) const VALUES_BYTES_MAX: usize = 32 * 1024 * 1024;

/// What one resource may make at least, however many there are.
const RESOURCE_BYTES_MIN: usize = 1024 * 1024;

/// What is left for the look at hand.
#[derive(Debug, Default)]
pub(crate) struct Budget(AtomicUsize);

impl Budget {
    /// Begins a look at all of a definition.
    pub(crate) fn renew(&self) {
        work::begin_look();
        self.0.store(VALUES_BYTES_MAX, Ordering::Relaxed);
    }

    /// Begins a look at one of so many resources.
    pub(crate) fn renew_for_one_of(&self, resources: usize) {
        let share = VALUES_BYTES_MAX / resources.max(1);
        self.0.store(share.max(RESOURCE_BYTES_MIN), Ordering::Relaxed);
    }

    /// Takes what is about to be made, or was.
    pub(crate) fn spend(&self, bytes: usize) -> Outcome<()> {
        work::step_over(bytes)?;
        match self.0.load(Ordering::Relaxed).checked_sub(bytes) {
            Some(left) => {
                self.0.store(left, Ordering::Relaxed);
                Ok(())
            }
            None => {
                let message =
                    "Request limit exceeded: Functions make more of the template than may be held.";
                Err(TemplateError::new("RequestLimitExceeded", message))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_is_made_than_what_is_left() {
        let budget = Budget::default();
        budget.renew_for_one_of(1_000);
        assert!(budget.spend(RESOURCE_BYTES_MIN - 1).is_ok());
        assert!(budget.spend(2).is_err());
        budget.renew();
        assert!(budget.spend(VALUES_BYTES_MAX).is_ok());
    }
}
