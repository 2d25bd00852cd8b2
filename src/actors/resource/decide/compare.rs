//! Carry out what a definition makes of the resource: leave it, update it or ask to be replaced.

use crate::actors::resource::command::{Converge, Outcome, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::resource::verdict::Verdict;
use crate::actors::shell::Decision;
use crate::events::resource::{ActionSettled, Definition, ReplacementRequired, UpdateRefused};
use crate::model::{Action, JsonMap, Status, TraversalId};

impl Decider<'_> {
    pub(super) fn compare(
        &mut self,
        converge: &Converge,
        definition: Definition,
    ) -> Decision<Resource> {
        let verdict =
            self.compared(self.terms(converge), &definition, &Default::default(), self.knowledge);
        // The update looks, and asks to be replaced where it is so.
        let looks = matches!(verdict, Verdict::Replaced(Some(_)))
            && self.may_be_same(converge.traversal, &definition, self.knowledge);
        let verdict = if looks { Verdict::Updated } else { verdict };
        self.go_by(verdict, converge, definition)
    }

    pub(super) fn go_by(
        &mut self,
        verdict: Verdict,
        converge: &Converge,
        definition: Definition,
    ) -> Decision<Resource> {
        match verdict {
            Verdict::Left => self.leave(converge, &definition),
            Verdict::Mended => self.mend(converge.traversal),
            Verdict::SeeFailed => self.see_failed(converge, definition),
            Verdict::SeeChild => self.see_child(converge, &definition),
            Verdict::Updated => self.start(Action::Update, converge, definition),
            Verdict::Replaced(None) => self.without_event(converge.traversal, Outcome::Replace),
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
    ) -> Decision<Resource> {
        self.working.concluded = Some((converge.traversal, Outcome::Converged));
        let look = self.look_up(definition);
        Decision::nothing().and_do(look.unwrap_or(ResourceEffect::Report))
    }

    /// What no update touches is healthy again with the next one, in Heat's words.
    fn mend(&self, traversal: TraversalId) -> Decision<Resource> {
        let reason = "Update status to COMPLETE for FAILED resource neither update nor replace.";
        let reason = reason.to_owned();
        Decision::record(ActionSettled {
            physical_id: self.physical_id.clone(),
            attributes: JsonMap::clone(&self.attributes),
            ..ActionSettled::new(self.action, traversal, Status::Complete, reason)
        })
        .and_do(ResourceEffect::Report)
    }

    /// The environment keeps the resource from it: it stays as it is, and the update fails.
    fn refuse(&self, converge: &Converge, word: &str) -> Decision<Resource> {
        let traversal = converge.traversal;
        let reason = format!("{word} is restricted for resource.");
        Decision::record(UpdateRefused { traversal, reason }).and_do(ResourceEffect::Report)
    }
}
