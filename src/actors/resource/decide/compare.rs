//! Carry out what a definition makes of the resource: leave it, update it or ask to be replaced.

use crate::actors::resource::command::{Converge, Outcome, ResourceEffect};
use crate::actors::resource::state::{Knowledge, Resource};
use crate::actors::resource::verdict::Verdict;
use crate::actors::shell::Decision;
use crate::events::resource::{ActionSettled, Definition, ReplacementRequired, UpdateRefused};
use crate::model::{Action, JsonMap, Status, TraversalId};

impl Resource {
    pub(super) fn compare(
        &mut self,
        converge: &Converge,
        definition: Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        let verdict = self.compared(converge.terms(), &definition, &Default::default(), knowledge);
        // The update looks, and asks to be replaced where it is so.
        let looks = matches!(verdict, Verdict::Replaced(Some(_)))
            && self.may_be_same(converge.traversal, &definition, knowledge);
        let verdict = if looks { Verdict::Updated } else { verdict };
        self.go_by(verdict, converge, definition, knowledge)
    }

    pub(super) fn go_by(
        &mut self,
        verdict: Verdict,
        converge: &Converge,
        definition: Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        match verdict {
            Verdict::Left => self.leave(converge, &definition, knowledge),
            Verdict::Mended => self.mend(converge.traversal),
            Verdict::SeeFailed => self.see_failed(converge, definition, knowledge),
            Verdict::SeeChild => self.see_child(converge, &definition, knowledge),
            Verdict::Updated => self.start(Action::Update, converge, definition),
            Verdict::Replaced(None) => {
                self.outcome = Some((converge.traversal, Outcome::Replace));
                Decision::nothing().and_do(ResourceEffect::Report)
            }
            Verdict::Replaced(Some(reason)) => self
                .start_without(Action::Update, converge)
                .and_record(ReplacementRequired { traversal: converge.traversal, reason })
                .and_do(ResourceEffect::Report),
            Verdict::Restricted(word) => self.refuse(converge, word),
            Verdict::Refused(reason) => self.cannot_start(converge, reason),
            Verdict::Unsupported(reason) => {
                let failed = Outcome::Failed { action: Action::Update, reason };
                self.without_event(converge.traversal, failed)
            }
        }
    }

    /// Nothing changes; attributes that the template newly reads are looked up.
    pub(super) fn leave(
        &mut self,
        converge: &Converge,
        definition: &Definition,
        knowledge: &Knowledge,
    ) -> Decision<Self> {
        self.outcome = Some((converge.traversal, Outcome::Converged));
        let look = self.look_up(definition, knowledge);
        Decision::nothing().and_do(look.unwrap_or(ResourceEffect::Report))
    }

    /// What no update touches is well again with the next one, in Heat's words.
    fn mend(&self, traversal: TraversalId) -> Decision<Self> {
        let reason = "Update status to COMPLETE for FAILED resource neither update nor replace.";
        Decision::record(ActionSettled {
            action: self.action,
            traversal,
            status: Status::Complete,
            reason: reason.to_owned(),
            physical_id: self.physical_id.clone(),
            data: Default::default(),
            attributes: self.attributes.clone(),
            metadata: JsonMap::new(),
            unanswered: false,
            again: false,
            untouched: false,
        })
        .and_do(ResourceEffect::Report)
    }

    /// The environment keeps the resource from it: it stays as it is, and the update fails.
    fn refuse(&self, converge: &Converge, word: &str) -> Decision<Self> {
        let traversal = converge.traversal;
        let reason = format!("{word} is restricted for resource.");
        Decision::record(UpdateRefused { traversal, reason }).and_do(ResourceEffect::Report)
    }
}
