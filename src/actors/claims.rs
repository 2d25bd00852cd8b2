//! Which object each resource of a stack has: what a search for a lost call must not adopt.
//!
//! Of two equal resources without a mark of ours, one may find the other's object while the answer
//! to its creation is still on its way. The first to hear of an object has it; to the other it is
//! as though no answer had come, and it looks for one of its own.

use std::collections::{BTreeMap, BTreeSet};

use super::resource::Report;
use crate::model::{Action, ResourceId, Status};
use crate::resource_types::{Beat, Declared, Failure, Subject};

/// The physical ids that the resources of a stack have.
#[derive(Clone, Debug, Default)]
pub struct Claims(BTreeMap<ResourceId, String>);

impl Claims {
    /// Notes how a resource stands.
    pub fn note(&mut self, report: &Report) {
        let gone = (report.action, report.status) == (Action::Delete, Status::Complete);
        match &report.physical_id {
            _ if gone => drop(self.0.remove(&report.id)),
            Some(physical_id) => drop(self.0.insert(report.id, physical_id.clone())),
            // What it has heard of last may not be on record yet.
            None => {}
        }
    }

    /// Forgets a resource that goes to rest.
    pub fn forget(&mut self, id: ResourceId) {
        self.0.remove(&id);
    }

    /// What the others have.
    pub fn of_others(&self, id: ResourceId) -> BTreeSet<String> {
        let others = self.0.iter().filter(|(other, _)| **other != id);
        others.map(|(_, physical_id)| physical_id.clone()).collect()
    }

    /// What a beat came to, once it is known that nobody else has its object.
    pub fn claimed(
        &mut self,
        id: ResourceId,
        driver: &Declared,
        subject: &Subject,
        result: Result<Beat, Failure>,
    ) -> Result<Beat, Failure> {
        let learned = match &result {
            Ok(Beat::Next { learned, .. } | Beat::Done { learned }) => &learned.physical_id,
            Ok(Beat::Wait { .. } | Beat::Replace { .. }) | Err(_) => &None,
        };
        let Some(heard) =
            learned.as_ref().filter(|heard| subject.physical_id.as_ref() != Some(heard))
        else {
            return result;
        };
        let is_anothers = self.0.iter().any(|(other, has)| *other != id && has == heard);
        if is_anothers && driver.is_unmarked(subject) {
            let words = format!("{heard} belongs to another resource of the stack");
            return Err(Failure::InDoubt(Box::new(Failure::Silent(words))));
        }
        self.0.insert(id, heard.clone());
        result
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::resource_types::{Learned, Registry};

    /// A resource without a mark, once others' objects are noted that look like its own.
    fn twin() -> Subject {
        Subject { data: [("others".to_owned(), json!([]))].into(), ..Subject::default() }
    }

    fn heard(id: &str) -> Result<Beat, Failure> {
        let learned = Learned { physical_id: Some(id.to_owned()), ..Learned::default() };
        Ok(Beat::Done { learned })
    }

    #[test]
    fn the_answer_to_a_creation_whose_object_a_twin_has_adopted_counts_as_lost() {
        let registry = Registry::built_in().unwrap();
        let net = registry.driver("OS::Neutron::Net").unwrap();
        let [one, other] = [1, 2].map(|id| ResourceId(uuid::Uuid::from_u128(id)));
        let twin = twin();
        let mut claims = Claims::default();
        assert_eq!(claims.claimed(one, &net, &twin, heard("n1")), heard("n1"));
        let lost = claims.claimed(other, &net, &twin, heard("n1")).unwrap_err();
        assert!(lost.is_unanswered() && lost.is_transient(), "{lost:?}");
        assert_eq!(claims.of_others(other), ["n1".to_owned()].into());
        assert_eq!(claims.claimed(other, &net, &twin, heard("n2")), heard("n2"));
        // Hearing of it again changes nothing.
        assert_eq!(claims.claimed(one, &net, &twin, heard("n1")), heard("n1"));
    }

    #[test]
    fn what_has_a_mark_is_taken_by_it() {
        let registry = Registry::built_in().unwrap();
        let net = registry.driver("OS::Neutron::Net").unwrap();
        let [one, other] = [1, 2].map(|id| ResourceId(uuid::Uuid::from_u128(id)));
        let marked = Subject::default();
        let mut claims = Claims::default();
        assert_eq!(claims.claimed(one, &net, &marked, heard("n1")), heard("n1"));
        assert_eq!(claims.claimed(other, &net, &marked, heard("n1")), heard("n1"));
    }
}
