//! What becomes of one resource by a plan.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::fates::{
    Child, METADATA, NEW_ID, Outlook, Wanted, as_made, change_of, properties_before,
};
use super::values::Foreseen;
use super::{Change, FoundResource};
use crate::actors::preview::{made_anew, previewed, unresolved};
use crate::actors::previewed::{PreviewWithin, PreviewedResource};
use crate::actors::resource::{Resource, Terms, Verdict, settings_changed};
use crate::events::resource::Definition;
use crate::model::taint::plain_map;
use crate::model::{
    Action, JsonMap, ResourceId, ResourceName, StackRevision, Status, TraversalId,
    TraversalOptions, physical_name,
};
use crate::resource_types::child::REFERENCE;
use crate::resource_types::{Budget, Declared, Subject};
use crate::template::{Part, ResourceResolved, TemplateError};

impl<R: Borrow<Resource>> Foreseen<'_, R> {
    /// What becomes of a resource, and of the stack that stands for it.
    pub(super) fn outlook(
        &self,
        name: &ResourceName,
        budget: &mut Budget,
    ) -> Result<(Outlook, Vec<PreviewWithin>), TemplateError> {
        let found = self.found.resources.get(name);
        // What was never begun, or is deleted, is created.
        let made = found.filter(|it| it.resource.borrow().is_there());
        let wanted = self.wanted(name, made.map(|it| it.resource.borrow()));
        let resolved = match &wanted.refused {
            Some(_) => unresolved(self.known, name),
            None => ResourceResolved {
                properties: plain_map(wanted.definition.properties.clone()),
                metadata: plain_map(wanted.definition.metadata.clone()),
                update_policy: JsonMap::new(),
            },
        };
        let entry = previewed(self.planning, self.known, name, resolved)?;
        let Some(made) = made else {
            let why = match found.map(|it| it.resource.borrow().action) {
                None => "it is new",
                Some(Action::Delete) => "it was deleted",
                Some(_) => "it was never made",
            };
            let differs = wanted.differences(&JsonMap::new(), None)?;
            let mut entry = PreviewedResource { why: why.to_owned(), differs, ..entry };
            if let Some(problem) = &wanted.refused {
                entry.why.push_str(&format!(" ({problem})"));
            }
            let child = made_anew(self.planning, self.known, name, &entry, budget)?;
            let outlook = self.anew(Change::Added, wanted.definition, None, entry);
            return Ok((outlook, child.into_iter().collect()));
        };
        self.changed(name, made, wanted, entry, budget)
    }

    fn wanted(&self, name: &ResourceName, present: Option<&Resource>) -> Wanted {
        let registry = &self.planning.stack.registry;
        self.asked.set(false);
        self.made_up.set(false);
        // The plan has no revision yet.
        let now = self.planning.clock.now();
        let made = self.known.definition_of(name, self, registry, StackRevision(0), now);
        let mut wanted = Wanted {
            definition: Definition::default(),
            unsure: BTreeSet::new(),
            unsure_settings: Vec::new(),
            made_up: BTreeSet::new(),
            refused: None,
        };
        let (asked, made_up) = (self.asked.take(), self.made_up.take());
        if asked || made_up {
            self.known.definition.each_part(name, self, |part| {
                if let (true, Part::Property(property)) = (self.made_up.take(), &part) {
                    wanted.made_up.insert((*property).to_owned());
                }
                if self.asked.take() {
                    match part {
                        Part::Property(property) => drop(wanted.unsure.insert(property.to_owned())),
                        Part::Metadata => wanted.unsure_settings.push(METADATA),
                        Part::UpdatePolicy => wanted.unsure_settings.push("update_policy"),
                    }
                }
            });
        }
        match made {
            Ok(definition) => wanted.definition = definition,
            Err(problem) => {
                // What is not known may be what makes it wrong.
                wanted.refused = wanted.is_sure().then_some(problem.message);
                wanted.definition = present.map(as_made).unwrap_or_default();
                let driver_type = registry.driver_type(&self.known.definition, name);
                wanted.definition.driver_type = driver_type.unwrap_or_default().to_owned();
            }
        }
        wanted
    }

    /// What becomes of a resource that there is.
    fn changed(
        &self,
        name: &ResourceName,
        made: &FoundResource<R>,
        wanted: Wanted,
        mut entry: PreviewedResource,
        budget: &mut Budget,
    ) -> Result<(Outlook, Vec<PreviewWithin>), TemplateError> {
        let resource = made.resource.borrow();
        entry.physical_id = resource.physical_id.clone();
        entry.child = resource.child_stack();
        let restricted = self.known.definition.restricted_actions(name);
        let type_name = self.known.declared_type(name);
        let terms = Terms {
            traversal: TraversalId::default(),
            since: self.planning.clock.now(),
            type_name: &type_name,
            restricted: &restricted,
            options: TraversalOptions::default(),
            is_through: false,
        };
        let knowledge = &self.planning.resource;
        let is_lost = made.is_lost;
        let verdict = |definition: &Definition, unsure: &BTreeSet<String>| match &wanted.refused {
            Some(problem) => Verdict::Refused(problem.clone()),
            None => resource.verdict(terms, definition, (unsure, is_lost), knowledge),
        };
        let least = wanted.at_least(&as_made(resource));
        let surely = verdict(&least, &BTreeSet::new());
        let perhaps = match wanted.is_sure() {
            true => surely.clone(),
            false => verdict(&wanted.definition, &wanted.unsure),
        };
        let may_be_same = matches!(surely, Verdict::Replaced(Some(_)))
            && resource.may_be_same(terms.traversal, &least, knowledge);
        let surely = if may_be_same { Verdict::Updated } else { surely };
        let is_sure = wanted.is_sure() && !may_be_same;
        let child = self.child(name, (made, &entry), (&wanted, &perhaps), budget)?;
        let Child { most, within, why, far } = child;
        entry.far = far;
        let most = match wanted.unsure_settings.is_empty() {
            true => most,
            false => most.max(Change::Updated),
        };
        let at_least = if is_sure { most } else { change_of(&surely).min(most) };
        entry.least = (at_least < most).then_some(at_least);
        entry.why = match (most, why) {
            (Change::Unchanged, _) if perhaps == Verdict::Mended => {
                format!("it is {}_FAILED, and counts as healthy again", resource.action)
            }
            (Change::Unchanged, _) => String::new(),
            (_, Some(why)) => why,
            (_, None) => self.why(resource, &least, &wanted, &perhaps),
        };
        if most > Change::Unchanged {
            let changed = resource.changed(&as_made(resource), &wanted.definition, knowledge);
            let before = properties_before(resource, &wanted.definition);
            entry.differs = wanted.differences(&before, Some(&changed))?;
        }
        let rests =
            |driver: Arc<Declared>| driver.acts(Action::Suspend) && driver.nests().is_none();
        entry.stays_suspended = most <= Change::Updated
            && resource.is_suspended()
            && knowledge.registry.driver(&wanted.definition.driver_type).is_some_and(rests);
        let outlook = match most {
            Change::Unchanged | Change::Updated => {
                self.stays(most, resource, wanted, &least, entry)
            }
            Change::Replaced | Change::Added if at_least == Change::Replaced => {
                self.anew(Change::Replaced, wanted.definition, Some(resource), entry)
            }
            Change::Replaced | Change::Added => {
                let outlook = self.stays(most, resource, wanted, &least, entry);
                Outlook { is_reference_sure: false, ..outlook }
            }
        };
        Ok((outlook, within))
    }

    /// What others get of a resource that stays in its place.
    fn stays(
        &self,
        most: Change,
        resource: &Resource,
        wanted: Wanted,
        at_least: &Definition,
        entry: PreviewedResource,
    ) -> Outlook {
        let knowledge = &self.planning.resource;
        let driver = knowledge.registry.driver(&wanted.definition.driver_type);
        let reference = |definition: &Definition| {
            let subject = resource.subject(definition, knowledge);
            driver.as_ref().map(|driver| driver.reference(&subject)).unwrap_or_default()
        };
        let nests = driver.as_ref().is_some_and(|driver| driver.nests().is_some());
        let now = reference(&as_made(resource));
        // A child stack may give another for its reference.
        let by_child = nests && resource.data.contains_key(REFERENCE);
        let (is_reference_sure, reference) = if most == Change::Unchanged {
            (true, now)
        } else {
            let then = reference(&wanted.definition);
            match !by_child && (wanted.is_sure() || reference(at_least) == then) {
                true => (true, then),
                false => (false, now),
            }
        };
        let definition = wanted.definition;
        Outlook { most, definition, reference, is_reference_sure, is_made_up: false, entry }
    }

    /// What others get of a resource that is made anew.
    fn anew(
        &self,
        change: Change,
        definition: Definition,
        former: Option<&Resource>,
        entry: PreviewedResource,
    ) -> Outlook {
        let knowledge = &self.planning.resource;
        let driver = knowledge.registry.driver(&definition.driver_type);
        let stack_name = self.known.definition.stack_name();
        let limit = driver.as_ref().map_or(255, |driver| driver.declaration().physical_name_limit);
        let name = ResourceName::from(entry.name.as_str());
        let subject = Subject {
            physical_name: physical_name(&stack_name.into(), &name, ResourceId::default(), limit),
            name: Some(name),
            physical_id: Some(NEW_ID.to_owned()),
            properties: plain_map(definition.properties.clone()),
            ..Subject::default()
        };
        // What it is by no name of its own is only known once it is made.
        let unnamed =
            Subject { physical_name: String::new(), physical_id: None, ..subject.clone() };
        let reference = |of: &Subject| driver.as_ref().map(|driver| driver.reference(of));
        let is_made_up = reference(&subject) != reference(&unnamed);
        let reference = reference(&subject).unwrap_or_default();
        // A child stack that says its reference itself may say the same again.
        let is_reference_sure = !former.is_some_and(|it| it.data.contains_key(REFERENCE));
        Outlook { most: change, definition, reference, is_reference_sure, is_made_up, entry }
    }

    /// Why a resource that there is changes.
    fn why(
        &self,
        resource: &Resource,
        least: &Definition,
        wanted: &Wanted,
        verdict: &Verdict,
    ) -> String {
        let knowledge = &self.planning.resource;
        let former = as_made(resource);
        let driver = knowledge.registry.driver(&least.driver_type);
        let failed = format!("it is {}_FAILED", resource.action);
        let renewed = driver.as_ref().is_some_and(|driver| driver.declaration().renewed);
        if *verdict == Verdict::Replaced(None) {
            return match () {
                () if !knowledge.registry.may_become(&former.driver_type, &least.driver_type) => {
                    format!("the type was {}", former.driver_type)
                }
                () if resource.status == Status::Failed => failed,
                () if renewed => "every update makes it anew".to_owned(),
                () if resource.action == Action::Delete => "it was deleted".to_owned(),
                () => "it was never made".to_owned(),
            };
        }
        let changed = resource.changed(&former, least, knowledge);
        let mut sure: Vec<&str> = changed.iter().map(String::as_str).collect();
        sure.extend(settings_changed(&former, least));
        let unsure = wanted.unsure.iter().map(String::as_str).filter(|name| !sure.contains(name));
        let unsure = unsure.chain(wanted.unsure_settings.iter().copied());
        let unsure: Vec<&str> = unsure.collect();
        let mut parts = Vec::new();
        if !sure.is_empty() {
            parts.push(format!("{} changes", sure.join(", ")));
        }
        if !unsure.is_empty() {
            parts.push(format!("{} may change", unsure.join(", ")));
        }
        if parts.is_empty() && resource.status == Status::Failed {
            parts.push(failed);
        }
        let mut why = parts.join("; ");
        if let Some(warning) = warning(driver.as_deref(), &former, least, verdict) {
            why.push_str(if why.is_empty() { "" } else { " " });
            why.push_str(&format!("({warning})"));
        }
        why
    }
}

/// Why an update will fail, where that is known beforehand.
fn warning(
    driver: Option<&Declared>,
    former: &Definition,
    after: &Definition,
    verdict: &Verdict,
) -> Option<String> {
    match verdict {
        Verdict::Restricted(word) => Some(format!("{word} is restricted for resource.")),
        Verdict::Refused(text) | Verdict::Unsupported(text) => Some(text.clone()),
        Verdict::Left
        | Verdict::Mended
        | Verdict::SeeFailed
        | Verdict::SeeChild
        | Verdict::Updated
        | Verdict::Replaced(_) => {
            let properties = |of: &Definition| plain_map(of.properties.clone());
            let warning = driver?.program().warning(&properties(former), &properties(after))?;
            Some(warning.to_owned())
        }
    }
}
