//! A plan as one list, in which what is in a stack within another follows the resource that stands
//! for it.

use std::collections::HashMap;

use super::Change;
use crate::actors::previewed::{Preview, PreviewWithin, PreviewedResource};
use crate::model::Action;

/// A resource in the list.
pub struct Listed<'a> {
    /// Its name, behind the names that lead there.
    pub path: String,
    /// How many stacks its own stands within.
    pub depth: usize,
    pub change: &'static str,
    /// Less than the change, where a value is not known beforehand.
    pub at_least: &'static str,
    pub entry: &'a PreviewedResource,
    /// The resources beside it that use it and change as well.
    pub leads_to: Vec<&'a str>,
}

impl Preview {
    /// Every resource of the plan, by what becomes of it.
    pub fn listed(&self) -> Vec<Listed<'_>> {
        let mut listed = Vec::new();
        list(self, "", 0, &mut listed);
        listed
    }
}

/// The word for a resource of which nothing becomes.
pub const UNCHANGED: &str = "unchanged";

fn list<'a>(plan: &'a Preview, within: &str, depth: usize, listed: &mut Vec<Listed<'a>>) {
    let mut users: HashMap<&str, Vec<&str>> = HashMap::new();
    for changed in [&plan.added, &plan.updated, &plan.replaced].into_iter().flatten() {
        for required in &changed.requires {
            users.entry(required).or_default().push(&changed.name);
        }
    }
    let of = |change: &'static str, entries: &'a [PreviewedResource]| {
        entries.iter().map(move |entry| (change, entry))
    };
    let deleted = plan.deleted.iter().map(|entry| {
        let change = if entry.is_kept { "kept" } else { "deleted" };
        (change, entry)
    });
    let acted = plan.acted.iter().map(|(action, entry)| (acted(*action), entry));
    let all = of("created", &plan.added)
        .chain(of("updated", &plan.updated))
        .chain(of("replaced", &plan.replaced))
        .chain(deleted)
        .chain(acted)
        .chain(of(UNCHANGED, &plan.unchanged));
    for (change, entry) in all {
        let path = format!("{within}{}", entry.name);
        let below = format!("{path}/");
        let leads_to = match change {
            UNCHANGED => Vec::new(),
            _ => users.get(entry.name.as_str()).cloned().unwrap_or_default(),
        };
        let at_least = entry.least.map_or(change, word);
        listed.push(Listed { path, depth, change, at_least, entry, leads_to });
        // What an earlier change has left bears the name of what goes on.
        let is_gone = change == "deleted" || change == "kept";
        let is_of = |it: &&PreviewWithin| {
            it.resource == entry.name
                && it.stack.map_or(!is_gone, |stack| entry.child == Some(stack))
        };
        for within in plan.within.iter().filter(is_of) {
            list(&within.plan, &below, depth + 1, listed);
        }
    }
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Unchanged => UNCHANGED,
        Change::Updated => "updated",
        Change::Replaced => "replaced",
        Change::Added => "created",
    }
}

fn acted(action: Action) -> &'static str {
    match action {
        Action::Suspend => "suspended",
        Action::Resume => "resumed",
        Action::Init
        | Action::Create
        | Action::Delete
        | Action::Update
        | Action::Rollback
        | Action::Adopt
        | Action::Snapshot
        | Action::Check
        | Action::Restore => UNCHANGED,
    }
}
