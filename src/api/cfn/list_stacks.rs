//! `ListStacks`: a project's stacks by their statuses and by pages, both as Amazon has them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::arn;
use super::asked::Asked;
use super::fault::{CfnFault, VALIDATION};
use super::pages::{PAGE, READ, cut, token, unknown};
use super::stacks::{Outcome, Served};
use crate::api::v1::time;
use crate::model::{Action, StackId, Status};
use crate::projections::{StackField, StackQuery, StackRow, TagFilter};

/// What Amazon's stacks may be at and Heat's never are.
const AMAZONS: [&str; 11] = [
    "IMPORT_COMPLETE",
    "IMPORT_IN_PROGRESS",
    "IMPORT_ROLLBACK_COMPLETE",
    "IMPORT_ROLLBACK_FAILED",
    "IMPORT_ROLLBACK_IN_PROGRESS",
    "REVIEW_IN_PROGRESS",
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_ROLLBACK_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
    "UPDATE_ROLLBACK_FAILED",
    "UPDATE_ROLLBACK_IN_PROGRESS",
];

impl Served<'_> {
    pub(super) async fn list_stacks(&self) -> Outcome {
        let wanted = Wanted::of(self.asked)?;
        let hidden = self.state.settings.hidden_stack_tags.clone();
        let query = StackQuery {
            project: Some(self.context.caller.project_id.clone()),
            filters: wanted.filters(),
            tags: TagFilter { hidden, ..TagFilter::default() },
            deleted: wanted.has(Action::Delete, Status::Complete),
            marker: self.last_listed().await?,
            limit: Some(READ),
            ..StackQuery::default()
        };
        let found = self.stacks_at(query, &wanted).await?;
        let (page, next) = cut(found, |stack| stack.id.to_string());
        let page = page.iter().map(summary);
        Ok(json!({ "StackSummaries": page.collect::<Vec<_>>(), "NextToken": next }))
    }

    /// The stack that the page before ended with, which may be deleted by now.
    async fn last_listed(&self) -> Result<Option<StackId>, CfnFault> {
        let Some(id) = token::<StackId>(self.asked)? else { return Ok(None) };
        let stack = self.state.views.stack(id).await?;
        let is_own = stack.is_some_and(|it| it.project_id == self.context.caller.project_id);
        if is_own { Ok(Some(id)) } else { Err(unknown()) }
    }

    /// More than a page of the stacks that are wanted, or all that there are.
    async fn stacks_at(
        &self,
        mut query: StackQuery,
        wanted: &Wanted,
    ) -> Result<Vec<StackRow>, CfnFault> {
        let mut found = Vec::new();
        loop {
            let rows = self.state.views.stacks(query.clone()).await?;
            let is_last = rows.len() <= PAGE;
            query.marker = rows.last().map(|row| row.id);
            found.extend(rows.into_iter().filter(|row| wanted.takes(row)));
            if is_last || found.len() > PAGE {
                return Ok(found);
            }
        }
    }
}

/// The statuses that are asked for; none at all takes each, but of stacks that live, as in Heat.
struct Wanted(Option<BTreeSet<(Action, Status)>>);

impl Wanted {
    fn of(asked: &Asked) -> Result<Self, CfnFault> {
        let names = asked.members("StackStatusFilter");
        if names.is_empty() {
            return Ok(Self(None));
        }
        let mut wanted = BTreeSet::new();
        for name in names.iter().filter(|name| !AMAZONS.contains(&name.as_str())) {
            let none = || CfnFault::new(VALIDATION, format!("{name} is no status of a stack."));
            wanted.insert(read(name).ok_or_else(none)?);
        }
        Ok(Self(Some(wanted)))
    }

    /// What a query can tell apart: it would take any action with any status.
    fn filters(&self) -> Vec<(StackField, Vec<String>)> {
        let Some(wanted) = &self.0 else { return Vec::new() };
        let actions = wanted.iter().map(|(action, _)| action.to_string());
        let statuses = wanted.iter().map(|(_, status)| status.to_string());
        vec![(StackField::Action, actions.collect()), (StackField::Status, statuses.collect())]
    }

    /// Whether a status is named.
    fn has(&self, action: Action, status: Status) -> bool {
        self.0.as_ref().is_some_and(|wanted| wanted.contains(&(action, status)))
    }

    fn takes(&self, stack: &StackRow) -> bool {
        self.0.is_none() || self.has(stack.action, stack.status)
    }
}

/// A status by Heat's word; no word of an action has a `_`.
fn read(name: &str) -> Option<(Action, Status)> {
    let (action, status) = name.split_once('_')?;
    let action = serde_json::from_value(action.into()).ok()?;
    let status = serde_json::from_value(status.into()).ok()?;
    Some((action, status))
}

fn summary(stack: &StackRow) -> Value {
    json!({
        "CreationTime": time(stack.created_at),
        "LastUpdatedTime": stack.updated_at.map(time),
        "StackId": arn::of(stack),
        "StackName": stack.name,
        "StackStatusReason": stack.reason,
        "StackStatus": format!("{}_{}", stack.action, stack.status),
        "DeletionTime": stack.deleted_at.map(time),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_read_by_heats_words() {
        assert_eq!(read("ROLLBACK_IN_PROGRESS"), Some((Action::Rollback, Status::InProgress)));
        assert_eq!(read("CHECK_FAILED"), Some((Action::Check, Status::Failed)));
        for none in ["", "CREATE", "COMPLETE", "create_complete", "CREATE_FAILED_", "GROW_FAILED"] {
            assert_eq!(read(none), None, "{none}");
        }
        assert!(AMAZONS.iter().all(|name| read(name).is_none()));
    }
}
