//! Which events of the log somebody wants.

use std::sync::Arc;

use uuid::Uuid;

use super::error::ViewError;
use super::landmarks::{Landmark, Search, Told};
use super::owners::Owner;
use super::views::Views;
use crate::events::RecordedEvent;
use crate::model::{ProjectId, ResourceId, ResourceName, Selection, StackId, Status};

/// The streams that events are told of.
pub const TOLD_KINDS: [&str; 3] = ["stack", "resource", "project"];

impl Selection {
    /// Where in the log there may be something of it, the rarest first.
    pub fn search(&self) -> Search {
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

    /// Whether an event is one of them.
    pub async fn takes(&self, views: &Views, event: &RecordedEvent) -> Result<bool, ViewError> {
        if !self.takes_content(event) {
            return Ok(false);
        }
        let owner = owner(views, event).await?;
        Ok(owner.is_some_and(|owner| self.takes_what_is_of(&owner)))
    }

    fn takes_what_is_of(&self, owner: &Owner) -> bool {
        let is_own = |project| self.project.as_ref().is_none_or(|own| own == project);
        match owner {
            Owner::Project(project) => {
                is_own(project) && self.stacks.is_empty() && self.resources.is_empty()
            }
            Owner::Stack { id, project, within, resource } => {
                let is_named = |id: &StackId| self.stacks.iter().any(|named| named.id == *id);
                let is_selected = self.stacks.is_empty()
                    || is_named(id)
                    || (self.with_nested && within.iter().any(is_named));
                let is_wanted = |name: &ResourceName| {
                    self.resources.iter().any(|wanted| wanted == name.as_str())
                };
                is_own(project)
                    && is_selected
                    && (self.resources.is_empty() || resource.as_ref().is_some_and(is_wanted))
            }
        }
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

/// Whose the stream of an event is.
async fn owner(views: &Views, event: &RecordedEvent) -> Result<Option<Arc<Owner>>, ViewError> {
    let known = views.owners().known(&event.stream);
    if known.is_some() {
        return Ok(known);
    }
    // The views know whose a stream is once they have passed its first event.
    views.after(event.position).await?;
    let owner = looked_up(views, event.stream.as_str()).await?.map(Arc::new);
    if let Some(owner) = &owner {
        views.owners().remember(&event.stream, Arc::clone(owner));
    }
    Ok(owner)
}

async fn looked_up(views: &Views, stream: &str) -> Result<Option<Owner>, ViewError> {
    let Some((kind, id)) = stream.split_once('-') else { return Ok(None) };
    let (id, resource) = match (kind, Uuid::try_parse(id)) {
        ("project", _) => return Ok(Some(Owner::Project(ProjectId(id.to_owned())))),
        ("stack", Ok(id)) => (StackId(id), None),
        ("resource", Ok(id)) => match views.owner_of(ResourceId(id)).await? {
            Some((stack, name)) => (stack, Some(name)),
            None => return Ok(None),
        },
        _ => return Ok(None),
    };
    let Some(stack) = views.stack(id).await? else { return Ok(None) };
    let mut within = Vec::new();
    let mut next = stack.within.as_ref().map(|within| within.parent);
    while let Some(parent) = next {
        within.push(parent);
        next = views.stack(parent).await?.and_then(|it| it.within).map(|it| it.parent);
    }
    Ok(Some(Owner::Stack { id, project: stack.project_id, within, resource }))
}
