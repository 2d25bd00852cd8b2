//! Updates and rollbacks of an engine, each with its plan, which is compared with what happened
//! once the stack is at rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use futures::FutureExt;
use futures::future::BoxFuture;
use hearth::actors::{Accepted, Preview, UpdateStack};
use hearth::model::{Action, Refusal, StackId, StackRevision, Status};
use hearth::projections::StackRow;

use super::plans::{Ended, Stands, Stood, unannounced};
use super::world::World;

/// The plans of what is under way.
pub(crate) type Announced = Mutex<BTreeMap<StackId, (Preview, Stands)>>;

/// What an update asks for that no plan sees.
type Asks = fn(&UpdateStack) -> bool;

/// Updates that are not compared with their plans, and why.
const UNSEEN: [(Asks, &str); 1] = [(
    |ask| ask.options.observes,
    "a plan does not look at what was changed behind the stack's back",
)];

impl World {
    /// Updates a stack as it is asked; what happens is held to the plan.
    pub(crate) async fn update_as(
        &self,
        stack: StackId,
        ask: UpdateStack,
    ) -> Result<Accepted, Refusal> {
        let is_unseen = UNSEEN.iter().any(|(asks, _)| asks(&ask));
        let before = self.stands_at_rest(stack).await.filter(|_| !is_unseen);
        let plan = self.engine.plan_update(&self.requester(), stack, &ask).await;
        let plan = plan.map(|plan| plan.changes);
        let accepted = self.engine.update_stack(&self.requester(), stack, ask).await?;
        self.announce(stack, before, plan);
        Ok(accepted)
    }

    /// Takes a stack back to an earlier revision; what happens is held to the plan.
    pub(crate) async fn roll_back(
        &self,
        stack: StackId,
        to: StackRevision,
    ) -> Result<Accepted, Refusal> {
        let before = self.stands_at_rest(stack).await;
        let plan = self.engine.preview_roll_back_to(&self.requester(), stack, to).await;
        let plan = plan.map(|plan| plan.changes);
        let accepted = self.engine.roll_back_to(&self.requester(), stack, to).await?;
        self.announce(stack, before, plan);
        Ok(accepted)
    }

    fn announce(&self, stack: StackId, before: Option<Stands>, plan: Result<Preview, Refusal>) {
        let mut announced = self.announced.lock().unwrap();
        announced.remove(&stack);
        match plan {
            Ok(plan) => announced.extend(before.map(|before| (stack, (plan, before)))),
            // A call of its own was lost.
            Err(refusal) if refusal.class == "HTTPServiceUnavailable" => {}
            Err(refusal) => panic!("what is carried out has no plan: {refusal:?}"),
        }
    }

    /// Nothing is held to the plan any more: something else was asked for meanwhile.
    pub(crate) fn forget_plan(&self, stack: StackId) {
        self.announced.lock().unwrap().remove(&stack);
    }

    /// What was announced is compared with what happened.
    pub(crate) async fn hold_to_plan(&self, stack: &StackRow) {
        let Some((plan, before)) = self.announced.lock().unwrap().remove(&stack.id) else { return };
        let ended = match (stack.action, stack.status) {
            (Action::Update, Status::Complete) => Ended::Complete,
            (Action::Update, _) => Ended::BrokenOff,
            // Something else was asked for, or the stack went back by itself.
            _ => return,
        };
        let after = self.stands(stack.id).await;
        let wrongs = unannounced(&plan, (&before, &after), ended, &BTreeSet::new());
        assert!(
            wrongs.is_empty(),
            "{} does not do what its plan says ({ended:?}): {wrongs:#?}\n{:#?}",
            stack.name,
            self.events(stack.id).await,
        );
    }

    async fn stands_at_rest(&self, id: StackId) -> Option<Stands> {
        let row = self.views.stack(id).await.unwrap()?;
        if row.status == Status::InProgress {
            return None;
        }
        Some(self.stands(id).await)
    }

    fn stands(&self, id: StackId) -> BoxFuture<'_, Stands> {
        async move {
            let mut stands = Stands::new();
            // What is deleted is listed until the stack comes to its end once.
            let is_gone = (Action::Delete, Status::Complete);
            let mut rows = self.views.resources(id).await.unwrap();
            rows.retain(|row| (row.action, row.status) != is_gone);
            for row in rows {
                let child = row.physical_id.as_ref().and_then(|id| id.parse().ok());
                let within = match child {
                    Some(child) if self.views.stack(child).await.unwrap().is_some() => {
                        self.stands(child).await
                    }
                    _ => Stands::new(),
                };
                let stood = Stood {
                    id: row.id,
                    physical_id: row.physical_id,
                    acted: format!("{:?}", row.updated_at),
                    is_begun: row.action != Action::Init,
                    within,
                };
                stands.insert(row.name.to_string(), stood);
            }
            stands
        }
        .boxed()
    }
}
