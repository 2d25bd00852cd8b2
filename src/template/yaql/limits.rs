//! How far an expression may go where an operator says so. That holds for the whole process, as in
//! Heat, and is said once, before the first expression.

use std::sync::OnceLock;

/// How many elements of a collection an expression may go through: Heat's default of the option
/// `limit_iterators`.
const LIMIT_ITERATORS: usize = 200;
/// How large, in bytes, a single value may get: Heat's default of the option `memory_quota`.
const MEMORY_QUOTA: usize = 10_000;

/// Far beyond what the bound on steps lets an expression make.
const NO_LIMIT: usize = 1 << 40;

static CHOSEN: OnceLock<Limits> = OnceLock::new();

/// The group `[yaql]`; `None` is no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `limit_iterators`: elements of a collection.
    pub iterators: Option<usize>,
    /// `memory_quota`: bytes of a value.
    pub memory: Option<usize>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { iterators: Some(LIMIT_ITERATORS), memory: Some(MEMORY_QUOTA) }
    }
}

/// Sets the limits; what was set before stays.
pub fn limit(limits: Limits) {
    let _ = CHOSEN.set(limits);
}

pub(super) fn iterators() -> usize {
    let chosen = CHOSEN.get().copied().unwrap_or_default();
    chosen.iterators.unwrap_or(NO_LIMIT)
}

pub(super) fn memory_quota() -> usize {
    let chosen = CHOSEN.get().copied().unwrap_or_default();
    chosen.memory.unwrap_or(NO_LIMIT)
}
