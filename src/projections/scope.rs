//! Whose the events of the log are, for those who want some of them alone.

use std::collections::HashMap;

use uuid::Uuid;

use super::landmarks::{Landmark, Search, Told};
use super::stacks::StackRow;
use super::views::{ViewError, Views};
use crate::events::RecordedEvent;
use crate::model::{ResourceId, ResourceName, Selection, StackId, Status};

/// How many owners are remembered before they are looked up again.
const OWNERS_MAX: usize = 4_096;

/// The streams that events are told of.
pub const TOLD_KINDS: [&str; 3] = ["stack", "resource", "project"];

impl Selection {
    /// Where in the log there may be something of it, the rarest first.
    fn search(&self) -> Search {
        let mut search = Search::default();
        search.one_of(self.stacks.iter().map(|stack| match self.with_nested {
            true => Landmark::Tree(stack.root),
            false => Landmark::Stack(stack.id),
        }));
        search.one_of(self.resources.iter().map(|name| Landmark::Resource(name)));
        search.one_of(self.callers.iter().map(|user| Landmark::Caller(user)));
        search.one_of(self.types.iter().map(|kind| Landmark::Type(kind)));
        search.one_of(self.actions.iter().map(|word| Landmark::Action(word)));
        let statuses: Vec<_> = self.statuses.iter().map(|status| split_status(status)).collect();
        search.one_of(statuses.iter().map(|(_, status)| Landmark::Status(status)));
        search.one_of(self.project.iter().map(Landmark::Project));
        search
    }

    /// Whether a stack is selected, which stands within these, the nearest first.
    fn takes_stack(&self, stack: &StackRow, within: &[StackId]) -> bool {
        let is_own = self.project.as_ref().is_none_or(|project| *project == stack.project_id);
        let is_named = |id: &StackId| self.stacks.iter().any(|named| named.id == *id);
        is_own && (self.stacks.is_empty() || is_named(&stack.id) || within.iter().any(is_named))
    }

    /// Whether an event passes by what it says itself.
    fn takes_content(&self, event: &RecordedEvent) -> bool {
        let among = |wanted: &[String], value: &str| wanted.iter().any(|one| one == value);
        if !self.types.is_empty() && !among(&self.types, &event.event_type) {
            return false;
        }
        let caller = event.meta.caller.as_ref();
        let is_by = |wanted: &[String]| {
            caller.is_some_and(|it| among(wanted, &it.user_id) || among(wanted, &it.user_name))
        };
        if !self.callers.is_empty() && !is_by(&self.callers) {
            return false;
        }
        if self.actions.is_empty() && self.statuses.is_empty() {
            return true;
        }
        let Told { action, status } = Told::by(event);
        let is_acting = |action: &String| among(&self.actions, action);
        (self.actions.is_empty() || action.as_ref().is_some_and(is_acting))
            && (self.statuses.is_empty()
                || self.statuses.iter().map(|wanted| split_status(wanted)).any(|(of, wanted)| {
                    status.as_deref() == Some(wanted) && (of.is_none() || of == action.as_deref())
                }))
    }
}

/// `COMPLETE`, or the action with it: `CREATE_COMPLETE`.
fn split_status(text: &str) -> (Option<&str>, &str) {
    for status in [Status::Complete, Status::Failed, Status::InProgress] {
        let action = text.strip_suffix(status.as_str()).and_then(|action| action.strip_suffix('_'));
        if let Some(action) = action {
            return (Some(action), status.as_str());
        }
    }
    (None, text)
}

/// A selection, and whose the streams are that were met so far.
pub struct Scope {
    selection: Selection,
    owners: HashMap<String, Owner>,
}

/// Whether a stream's stack is selected, and the name if it is a resource's stream.
#[derive(Clone)]
struct Owner {
    selected: bool,
    resource: Option<ResourceName>,
}

impl Scope {
    /// Of the selection alone.
    pub fn new(selection: Selection) -> Self {
        Self { selection, owners: HashMap::new() }
    }

    /// Where in the log there may be something of it.
    pub fn search(&self) -> Search {
        self.selection.search()
    }

    /// Whether an event is one of them.
    pub async fn takes(&mut self, views: &Views, event: &RecordedEvent) -> Result<bool, ViewError> {
        if !self.selection.takes_content(event) {
            return Ok(false);
        }
        let owner = self.owner(views, event).await?;
        let wanted = &self.selection.resources;
        let is_wanted = wanted.is_empty()
            || owner.resource.is_some_and(|name| wanted.iter().any(|one| one == name.as_str()));
        Ok(owner.selected && is_wanted)
    }

    async fn owner(&mut self, views: &Views, event: &RecordedEvent) -> Result<Owner, ViewError> {
        let stream = event.stream.as_str();
        if let Some(owner) = self.owners.get(stream) {
            return Ok(owner.clone());
        }
        // The views know whose a stream is once they have passed its first event.
        views.after(event.position).await?;
        let owner = self.looked_up(views, stream).await?;
        if self.owners.len() >= OWNERS_MAX {
            self.owners.clear();
        }
        self.owners.insert(stream.to_owned(), owner.clone());
        Ok(owner)
    }

    async fn looked_up(&self, views: &Views, stream: &str) -> Result<Owner, ViewError> {
        let nobody = Owner { selected: false, resource: None };
        let Some((kind, id)) = stream.split_once('-') else { return Ok(nobody) };
        let (stack, resource) = match (kind, Uuid::try_parse(id)) {
            ("project", _) => {
                let is_own =
                    self.selection.project.as_ref().is_none_or(|project| project.as_str() == id);
                let selected = is_own && self.selection.stacks.is_empty();
                return Ok(Owner { selected, resource: None });
            }
            ("stack", Ok(id)) => (StackId(id), None),
            ("resource", Ok(id)) => match views.owner_of(ResourceId(id)).await? {
                Some((stack, name)) => (stack, Some(name)),
                None => return Ok(nobody),
            },
            _ => return Ok(nobody),
        };
        let Some(stack) = views.stack(stack).await? else { return Ok(nobody) };
        let mut within = Vec::new();
        let mut next = stack.within.as_ref().map(|within| within.parent);
        while let Some(parent) = next.filter(|_| self.selection.with_nested) {
            within.push(parent);
            next = views.stack(parent).await?.and_then(|it| it.within).map(|it| it.parent);
        }
        Ok(Owner { selected: self.selection.takes_stack(&stack, &within), resource })
    }
}
