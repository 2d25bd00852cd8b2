//! An action of a stack or a resource, and how far it is.

use chrono::{DateTime, TimeDelta, Utc};

/// How far something is: of CREATE_IN_PROGRESS the second half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) enum Progress {
    #[default]
    Waiting,
    Working,
    Done,
    Failed,
}

/// An action and how far it is, since when, or how long it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::cli) struct LiveStatus {
    pub(in crate::cli) action: String,
    pub(in crate::cli) progress: Progress,
    /// When the action began, where that is known.
    pub(in crate::cli) since: Option<DateTime<Utc>>,
    /// When it was over.
    pub(in crate::cli) until: Option<DateTime<Utc>>,
    pub(in crate::cli) reason: String,
}

impl LiveStatus {
    /// Of `CREATE_IN_PROGRESS`.
    pub(in crate::cli) fn of(status: &str, reason: &str) -> LiveStatus {
        let (action, progress) = [
            ("_IN_PROGRESS", Progress::Working),
            ("_COMPLETE", Progress::Done),
            ("_FAILED", Progress::Failed),
        ]
        .into_iter()
        .find_map(|(end, progress)| Some((status.strip_suffix(end)?, progress)))
        .unwrap_or((status, Progress::Waiting));
        let progress = if action == "INIT" { Progress::Waiting } else { progress };
        LiveStatus {
            action: action.to_owned(),
            progress,
            reason: reason.to_owned(),
            ..LiveStatus::default()
        }
    }

    pub(super) fn begun(action: impl ToString, at: DateTime<Utc>) -> LiveStatus {
        LiveStatus {
            action: action.to_string(),
            progress: Progress::Working,
            since: Some(at),
            ..LiveStatus::default()
        }
    }

    pub(super) fn settle(&mut self, action: impl ToString, status: impl ToString, reason: String) {
        let whole = format!("{}_{}", action.to_string(), status.to_string());
        let since = self.since;
        *self = LiveStatus { since, ..LiveStatus::of(&whole, &reason) };
    }

    /// Takes in what is listed. Of what is known already the times stay; a list has only that
    /// since when something is at work.
    pub(super) fn follow(&mut self, listed: LiveStatus, since: Option<DateTime<Utc>>) {
        if listed.status() == self.status() {
            self.reason = listed.reason;
            return;
        }
        let is_at_work = listed.progress == Progress::Working;
        let since = match listed.action == self.action {
            true => self.since,
            false => since.filter(|_| is_at_work),
        };
        *self = LiveStatus { since, ..listed };
    }

    /// `CREATE_IN_PROGRESS`; nothing while it waits.
    pub(in crate::cli) fn status(&self) -> String {
        match self.progress {
            Progress::Waiting => String::new(),
            Progress::Working => format!("{}_IN_PROGRESS", self.action),
            Progress::Done => format!("{}_COMPLETE", self.action),
            Progress::Failed => format!("{}_FAILED", self.action),
        }
    }

    /// Whether the next status is of another action, and not of the rollback of this one.
    pub(super) fn is_overtaken_by(&self, next: &LiveStatus) -> bool {
        let rolls_back = self.progress == Progress::Failed && next.action == "ROLLBACK";
        next.progress == Progress::Working && !rolls_back
    }

    /// How long the action has been at work, or was.
    pub(in crate::cli) fn elapsed(&self, now: DateTime<Utc>) -> Option<TimeDelta> {
        let until = match self.progress {
            Progress::Working => now,
            Progress::Waiting | Progress::Done | Progress::Failed => self.until?,
        };
        Some((until - self.since?).max(TimeDelta::zero()))
    }
}
