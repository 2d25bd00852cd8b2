//! Looks that are taken before it is decided: at what failed, at a child stack, at attributes.

use super::hear::HEARING_PAUSE;
use super::settle::Ending;
use crate::actors::resource::command::{Converge, ResourceEffect};
use crate::actors::resource::state::{Decider, Resource};
use crate::actors::shell::Decision;
use crate::events::resource::{AttributesObserved, Definition};
use crate::model::JsonMap;

impl Decider<'_> {
    /// Asks the driver whether what failed can go on.
    pub(super) fn see_failed(
        &mut self,
        converge: &Converge,
        definition: Definition,
    ) -> Decision<Resource> {
        self.working.epoch += 1;
        let see = ResourceEffect::SeeFailed {
            epoch: self.working.epoch,
            subject: Box::new(self.subject(&definition)),
            driver_type: definition.driver_type,
            trustor: converge.trustor.clone(),
        };
        self.working.looking = Some(Box::new(converge.clone()));
        Decision::nothing().and_do(see)
    }

    pub(in crate::actors::resource) fn failed_seen(
        &mut self,
        epoch: u64,
        replace: bool,
    ) -> Decision<Resource> {
        if epoch != self.working.epoch {
            return Decision::nothing();
        }
        let Some(converge) = self.working.looking.take() else { return Decision::nothing() };
        match &converge.definition {
            Ok(definition) if !replace => self.compare(&converge, definition.clone()),
            Ok(definition) => {
                let verdict = Resource::made_anew(self.terms(&converge));
                self.go_by(verdict, &converge, definition.clone())
            }
            Err(_) => Decision::nothing(),
        }
    }

    /// The same definition may ask for another child: of another file, or of unhealthy
    /// members.
    pub(super) fn see_child(
        &mut self,
        converge: &Converge,
        definition: &Definition,
    ) -> Decision<Resource> {
        self.working.epoch += 1;
        self.working.looking = Some(Box::new(converge.clone()));
        Decision::nothing().and_do(ResourceEffect::SeeChild {
            epoch: self.working.epoch,
            driver_type: definition.driver_type.clone(),
            subject: Box::new(self.subject(definition)),
            nesting: self.nesting(definition, converge.traversal),
        })
    }

    pub(in crate::actors::resource) fn child_seen(
        &mut self,
        epoch: u64,
        differs: bool,
    ) -> Decision<Resource> {
        if epoch != self.working.epoch || self.in_progress() {
            return Decision::nothing();
        }
        let Some(converge) = self.working.looking.take() else { return Decision::nothing() };
        match &converge.definition {
            Ok(definition) if differs => {
                let updated = self.updated(self.terms(&converge));
                self.go_by(updated, &converge, definition.clone())
            }
            Ok(definition) => self.leave(&converge, definition),
            Err(_) => Decision::nothing(),
        }
    }

    /// The look for the attributes that are read and not known yet; `None` where there are none.
    pub(in crate::actors::resource) fn look_up(
        &mut self,
        definition: &Definition,
    ) -> Option<ResourceEffect> {
        let known = |name: &&String| self.attributes.contains_key(name.as_str());
        let wanted: Vec<String> =
            definition.attributes.iter().filter(|name| !known(name)).cloned().collect();
        if wanted.is_empty() {
            return None;
        }
        self.working.epoch += 1;
        Some(ResourceEffect::Observe {
            epoch: self.working.epoch,
            driver_type: definition.driver_type.clone(),
            subject: Box::new(self.subject(definition)),
            wanted,
            trustor: self.trustor.clone(),
        })
    }

    pub(in crate::actors::resource) fn observed(
        &mut self,
        epoch: u64,
        attributes: JsonMap,
    ) -> Decision<Resource> {
        if epoch != self.working.epoch {
            return Decision::nothing();
        }
        let is_known =
            |(name, value): (&String, &_)| self.attributes.get(name).is_some_and(|it| it == value);
        let is_new = !attributes.iter().all(is_known);
        let attributes = self.taint_attributes(attributes);
        if is_new && self.in_progress() {
            // Nothing else was left to do of the action.
            let mut kept = JsonMap::clone(&self.attributes);
            kept.extend(attributes);
            return self.settle(Ending { attributes: kept, ..Ending::complete() });
        }
        let mut decision = Decision::nothing();
        decision.events.extend(is_new.then(|| AttributesObserved { attributes }.into()));
        let decision = decision.and_do(ResourceEffect::Report);
        match self.is_hearing(epoch) {
            true => decision.and_do(ResourceEffect::Later { epoch, after: HEARING_PAUSE }),
            false => decision,
        }
    }
}
