//! Which events a feed carries: those of the project's own stacks that the filters take.

use std::collections::HashMap;

use uuid::Uuid;

use crate::api::ApiState;
use crate::api::error::Fault;
use crate::api::request::Params;
use crate::events::RecordedEvent;
use crate::model::{ProjectId, ResourceId, ResourceName, StackId};
use crate::projections::{StackRow, ViewError, Views};

/// How many owners a feed remembers before it looks them up again.
const OWNERS_MAX: usize = 4_096;

/// What a client asked for. Empty filters take all.
pub(super) struct Selection {
    /// `None` is every project.
    project: Option<ProjectId>,
    stacks: Vec<String>,
    /// The stacks that were found under the names.
    named: Vec<StackId>,
    /// All that is within them is taken, too.
    with_nested: bool,
    resources: Vec<String>,
    types: Vec<String>,
    statuses: Vec<String>,
}

impl Selection {
    /// Reads the filters; a stack that is named must exist.
    pub(super) async fn of(
        state: &ApiState,
        params: &Params,
        project: Option<ProjectId>,
    ) -> Result<Self, Fault> {
        let stacks = params.all("stack");
        let mut named = Vec::new();
        for stack in &stacks {
            let found = state.views.find(project.clone(), stack.clone()).await?;
            named.push(found.ok_or_else(|| Fault::no_stack(stack))?.id);
        }
        Ok(Self {
            project,
            stacks,
            named,
            with_nested: params.boolean("nested")?.unwrap_or(false),
            resources: params.all("resource"),
            types: params.all("type"),
            statuses: params.all("status"),
        })
    }

    /// The stack that is named, if it is one alone.
    pub(super) fn only_stack(&self) -> Option<StackId> {
        match self.named[..] {
            [stack] => Some(stack),
            _ => None,
        }
    }

    fn takes_stack(&self, stack: &StackRow) -> bool {
        let id = stack.id.to_string();
        self.project.as_ref().is_none_or(|project| *project == stack.project_id)
            && (self.stacks.is_empty()
                || self.stacks.iter().any(|wanted| *wanted == id || wanted == stack.name.as_str())
                || self.takes_tree(stack))
    }

    /// Whether a stack stands within one that is named.
    fn takes_tree(&self, stack: &StackRow) -> bool {
        let named = |root: &StackId| self.named.contains(root);
        self.with_nested && stack.within.as_ref().is_some_and(|within| named(&within.root))
    }

    /// Whether an event passes by what it says itself.
    fn takes_content(&self, event: &RecordedEvent) -> bool {
        if !self.types.is_empty() && !self.types.iter().any(|kind| **kind == *event.event_type) {
            return false;
        }
        self.statuses.is_empty() || self.statuses.iter().any(|status| has_status(event, status))
    }
}

/// `COMPLETE`, `CREATE_COMPLETE`, or `IN_PROGRESS` of what starts an action.
fn has_status(event: &RecordedEvent, wanted: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Told {
        action: Option<String>,
        status: Option<String>,
    }
    let Ok(told) = serde_json::from_str::<Told>(&event.body) else { return false };
    let starts = event.event_type.ends_with("Started").then(|| "IN_PROGRESS".to_owned());
    let Some(status) = told.status.or(starts) else { return false };
    let whole = told.action.map(|action| format!("{action}_{status}"));
    wanted == status || whole.is_some_and(|whole| whole == wanted)
}

/// A selection, and whose the streams are that were met so far.
pub(super) struct Scope {
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
    pub(super) fn new(selection: Selection) -> Self {
        Self { selection, owners: HashMap::new() }
    }

    /// Whether the feed carries an event.
    pub(super) async fn takes(
        &mut self,
        views: &Views,
        event: &RecordedEvent,
    ) -> Result<bool, ViewError> {
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
        let stack = views.stack(stack).await?;
        let selected = stack.is_some_and(|stack| self.selection.takes_stack(&stack));
        Ok(Owner { selected, resource })
    }
}
