//! What becomes of the stacks within a stack by a plan.

use std::borrow::Borrow;
use std::sync::Arc;

use super::fates::{Child, Outlook, Wanted, as_made};
use super::values::Foreseen;
use super::{Change, FoundChild, FoundResource, goes_with, of_stack};
use crate::actors::definition::dependencies;
use crate::actors::nested::{Around, ChildBeat, question};
use crate::actors::preview::made_anew;
use crate::actors::previewed::{FarAsk, PreviewWithin, PreviewedResource};
use crate::actors::resource::{Resource, Verdict};
use crate::actors::stack::Known;
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::taint::plain_map;
use crate::model::{Action, JsonMap, ResourceName, TraversalId};
use crate::openstack::Elsewhere;
use crate::resource_types::child::{ChildAsk, Nested, ResourceUsed};
use crate::resource_types::{Budget, Declared, Failure, Subject, Work};
use crate::template::{StackDefinition, TemplateError};

/// Of a stack whose key is destroyed: what becomes of it can be told in part.
const UNREADABLE: &str = "what was secret in its nested stack cannot be read any more";

impl<R: Borrow<Resource>> Foreseen<'_, R> {
    /// What becomes of a resource and of its child stack by a verdict on the resource.
    pub(super) fn child(
        &self,
        name: &ResourceName,
        (made, entry): (&FoundResource<R>, &PreviewedResource),
        (wanted, verdict): (&Wanted, &Verdict),
        budget: &mut Budget,
    ) -> Result<Child, TemplateError> {
        let resource = made.resource.borrow();
        let driver = self.planning.stack.registry.driver(&wanted.definition.driver_type);
        let Some(driver) = driver else { return Ok(Child::none(verdict)) };
        let Some(nested) = driver.nests() else { return Ok(Child::none(verdict)) };
        match verdict {
            Verdict::SeeChild | Verdict::Updated => {}
            Verdict::Replaced(_) => {
                let within = match wanted.is_sure() {
                    true => self.replaced(name, entry, budget)?,
                    false => Vec::new(),
                };
                return Ok(Child { within, ..Child::none(verdict) });
            }
            Verdict::Left
            | Verdict::Mended
            | Verdict::SeeFailed
            | Verdict::Restricted(_)
            | Verdict::Refused(_)
            | Verdict::Unsupported(_) => return Ok(Child::none(verdict)),
        }
        let stays = |child: &&FoundChild<R>| child.seen.child.action != Action::Delete;
        let Some(child) = made.child.as_deref().filter(stays) else {
            let subject = resource.subject(&wanted.definition, &self.planning.resource);
            let is_here = resource.child_stack().is_some()
                || nested.elsewhere(&subject) == Elsewhere::default();
            return Ok(match is_here {
                true => Child::because(Change::Replaced, "its nested stack is gone"),
                false => self.elsewhere((driver.as_ref(), nested), subject, (wanted, verdict)),
            });
        };
        if !wanted.is_sure() {
            // What the child is to be is not known yet.
            return Ok(Child::none(verdict));
        }
        let coming = self.coming(resource, wanted, child, (driver.as_ref(), nested));
        let Ok((definition, is_in_batches)) = coming else {
            let why = child.seen.known.is_none().then(|| UNREADABLE.to_owned());
            return Ok(Child { most: Change::Updated, why, ..Child::none(verdict) });
        };
        let is_same = (child.seen.known.as_ref())
            .is_some_and(|known| known.definition.is_same_as(&definition));
        if *verdict == Verdict::SeeChild && is_same && child.is_healthy() {
            return Ok(Child::none(verdict));
        }
        let why = match (verdict, is_same) {
            _ if child.seen.known.is_none() => Some(UNREADABLE),
            (Verdict::SeeChild, true) => Some("something in its nested stack is not healthy"),
            (Verdict::SeeChild, false) => Some("its nested stack changes"),
            _ => None,
        };
        let within = match is_in_batches {
            true => Vec::new(),
            false => self.within(name, child, definition, budget)?,
        };
        let why = why.map(str::to_owned);
        Ok(Child { most: Change::Updated, within, why, far: None })
    }

    /// A stack in another place: what changes there is for the Heat there to say.
    fn elsewhere(
        &self,
        (driver, nested): (&Declared, &dyn Nested),
        subject: Subject,
        (wanted, verdict): (&Wanted, &Verdict),
    ) -> Child {
        let why = (*verdict == Verdict::SeeChild)
            .then(|| "its stack stands elsewhere, and every update updates it".to_owned());
        let subject = Subject { properties: driver.properties(&subject.properties), ..subject };
        let (stack, clock) = (&self.planning.stack, &self.planning.clock);
        let ask = ChildAsk {
            work: &Work::Update { before: JsonMap::new(), changed: Default::default() },
            subject: &subject,
            definition: &self.known.definition,
            child: None,
            used: None,
            templates: stack.registry.operator_templates(),
            room: stack.bounds.room(),
            timeout: stack.stack_action_timeout,
            now: clock.now(),
            chance: &|bytes| clock.fill(bytes),
        };
        let body = question(nested, &ask).ok().filter(|_| wanted.is_sure());
        let far = body.map(|body| FarAsk {
            type_name: wanted.definition.driver_type.clone(),
            stack_name: subject.physical_name.clone(),
            body,
        });
        Child { most: Change::Updated, within: Vec::new(), why, far }
    }

    /// The definition that a child should have, and whether it comes to it in batches.
    fn coming(
        &self,
        resource: &Resource,
        wanted: &Wanted,
        child: &FoundChild<R>,
        (driver, nested): (&Declared, &dyn Nested),
    ) -> Result<(StackDefinition, bool), Failure> {
        let (knowledge, of) = (&self.planning.stack, &self.planning.resource);
        let subject = resource.subject(&wanted.definition, of);
        let former = as_made(resource);
        let changed = resource.changed(&former, &wanted.definition, of);
        let beat = ChildBeat {
            knowledge,
            driver,
            nested,
            work: &Work::Update { before: plain_map(former.properties), changed },
            subject: &subject,
            step: &Step::default(),
            nesting: &resource.nesting(&wanted.definition, TraversalId::default()),
        };
        let used = beat.uses().and_then(|reference| self.used(&reference));
        let around = Around {
            known: self.known,
            seen: Some(&child.seen),
            used: used.as_ref(),
            timeout: knowledge.stack_action_timeout,
        };
        let moment = Moment::of(self.planning.clock.as_ref());
        Ok((beat.wanted(around, &moment)?, beat.is_in_batches(around, &moment)))
    }

    /// The resource that has a reference, as a child is made with it.
    fn used(&self, reference: &str) -> Option<ResourceUsed> {
        let is_meant = |outlook: &Outlook| outlook.reference.as_str() == Some(reference);
        let (name, outlook) = self.outlooks.iter().find(|(_, outlook)| is_meant(outlook))?;
        let data = self.present(name).filter(|_| outlook.most < Change::Replaced);
        Some(ResourceUsed {
            properties: outlook.definition.properties.clone(),
            metadata: outlook.definition.metadata.clone(),
            data: data.into_iter().flat_map(|resource| resource.data.clone()).collect(),
        })
    }

    /// The plan of a child that there is.
    fn within(
        &self,
        name: &ResourceName,
        child: &FoundChild<R>,
        definition: StackDefinition,
        budget: &mut Budget,
    ) -> Result<Vec<PreviewWithin>, TemplateError> {
        let text = self.known.definition.provider(name).map_or(0, |it| it.text_bytes());
        budget.take_stack(text)?;
        let stack_name = definition.stack_name().to_owned();
        let registry = &self.planning.stack.registry;
        let Ok(dependencies) = dependencies(registry, &definition) else { return Ok(Vec::new()) };
        let known = Arc::new(Known::new(definition, dependencies));
        let plan = of_stack(self.planning, &known, &child.found, budget)?;
        let (resource, stack) = (name.to_string(), Some(child.id));
        Ok(vec![PreviewWithin { resource, name: stack_name, stack, plan }])
    }

    /// A child that goes, and one that comes.
    fn replaced(
        &self,
        name: &ResourceName,
        entry: &PreviewedResource,
        budget: &mut Budget,
    ) -> Result<Vec<PreviewWithin>, TemplateError> {
        let gone = self.found.resources.get(name).and_then(|it| goes_with(it, entry));
        let new = made_anew(self.planning, self.known, name, entry, budget)?;
        Ok(gone.into_iter().chain(new).collect())
    }
}
