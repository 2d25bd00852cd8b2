//! Which object belongs to which resource, as far as a mark of ours does not tell: what a search
//! for a lost call must not adopt.
//!
//! Of two equal resources without a mark, in whatever stacks, one may find the other's object while
//! the answer to its creation is lost or still on its way. The first to claim an object has it; to
//! the other it is as though no answer had come, and it looks for one of its own. What is on record
//! the views know; what may not be yet is kept here, and stands here before the views are asked.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::resource::Resource;
use crate::model::{Holder, OnRecord, ProjectId, ResourceId, StackId};
use crate::openstack::CloudError;
use crate::resource_types::{Beat, Declared, Failure, Subject};

/// What resources without a mark have learned to be theirs.
#[derive(Default)]
pub struct Claims(Mutex<Claimed>);

#[derive(Default)]
struct Claimed {
    objects: HashMap<String, Claim>,
    of: HashMap<ResourceId, String>,
}

struct Claim {
    by: ResourceId,
    /// A search found it: the answer to the creation that made it may come yet.
    is_found: bool,
}

/// The resource that claims an object.
#[derive(Clone, Debug)]
pub struct Claimant {
    pub resource: ResourceId,
    pub stack: StackId,
    pub project: ProjectId,
    /// As the template says it.
    pub type_name: String,
}

impl Claimant {
    /// The resource as its machine knows it.
    pub fn of(resource: &Resource) -> Self {
        let stack = resource.stack.as_ref();
        Self {
            resource: resource.id,
            stack: stack.map(|stack| stack.id).unwrap_or_default(),
            project: stack.map(|stack| stack.project_id.clone()).unwrap_or_default(),
            type_name: resource.type_name.clone(),
        }
    }

    /// Whether an object that somebody has cannot be this resource's.
    pub fn yields_to(&self, holder: &Holder, named: bool) -> bool {
        let is_same = self.project == holder.project && self.type_name == holder.type_name;
        self.resource != holder.resource && (!named || (is_same && !holder.is_gone))
    }

    /// Whether another resource of the stack has such an object.
    pub fn shares_with(&self, holder: &Holder) -> bool {
        self.stack == holder.stack && self.yields_to(holder, true)
    }

    /// The object among all that may be claimed.
    fn object(&self, id: &str, named: bool) -> String {
        match named {
            true => format!("{} {} {id}", self.project, self.type_name),
            false => id.to_owned(),
        }
    }
}

impl Claims {
    /// The first object that nobody else has, by what is known here and on record.
    pub(super) async fn claim(
        &self,
        claimant: &Claimant,
        ids: &[String],
        named: bool,
        on_record: &dyn OnRecord,
    ) -> Result<Option<String>, CloudError> {
        for id in ids {
            if !self.find(claimant, id, named) {
                continue;
            }
            let known = match on_record.holders(id).await {
                Ok(known) => known,
                Err(reason) => {
                    self.release(claimant, id, named);
                    return Err(unknown(reason));
                }
            };
            if !known.iter().any(|holder| claimant.yields_to(holder, named)) {
                return Ok(Some(id.clone()));
            }
            self.release(claimant, id, named);
        }
        Ok(None)
    }

    /// A search has found an object: whether nobody here has claimed it.
    pub fn find(&self, claimant: &Claimant, id: &str, named: bool) -> bool {
        let object = claimant.object(id, named);
        let mut claimed = self.claimed();
        let is_free =
            claimed.objects.get(&object).is_none_or(|claim| claim.by == claimant.resource);
        if is_free {
            claimed.note(object, claimant.resource, true);
        }
        is_free
    }

    /// What was found is another's.
    pub fn release(&self, claimant: &Claimant, id: &str, named: bool) {
        let object = claimant.object(id, named);
        let mut claimed = self.claimed();
        if claimed.of.get(&claimant.resource) == Some(&object) {
            claimed.forget(claimant.resource);
        }
    }

    /// What a beat came to, once it is known that nobody else has found its object.
    pub fn learned(
        &self,
        claimant: &Claimant,
        driver: &Declared,
        subject: &Subject,
        result: Result<Beat, Failure>,
    ) -> Result<Beat, Failure> {
        let learned = match &result {
            Ok(Beat::Next { learned, .. } | Beat::Done { learned }) => &learned.physical_id,
            Ok(Beat::Wait { .. } | Beat::Replace { .. }) | Err(_) => &None,
        };
        let Some(id) = learned.as_ref().filter(|_| Declared::is_unmarked(subject)) else {
            return result;
        };
        let object = claimant.object(id, driver.is_named());
        let mut claimed = self.claimed();
        match claimed.objects.get(&object) {
            Some(claim) if claim.by == claimant.resource => {}
            Some(claim) if claim.is_found && !subject.replaces.contains(id) => {
                let words = format!("{id} belongs to another resource");
                return Err(Failure::InDoubt(Box::new(Failure::Silent(words))));
            }
            Some(_) | None => claimed.note(object, claimant.resource, false),
        }
        result
    }

    /// The views know by now what a resource has. What it has found stays claimed as long as it is
    /// there: whoever made that may hear of it late.
    pub fn rest(&self, id: ResourceId) {
        let mut claimed = self.claimed();
        let object = claimed.of.get(&id).and_then(|object| claimed.objects.get(object));
        if object.is_some_and(|claim| !claim.is_found) {
            claimed.forget(id);
        }
    }

    /// A resource is deleted.
    pub fn forget(&self, id: ResourceId) {
        self.claimed().forget(id);
    }

    fn claimed(&self) -> MutexGuard<'_, Claimed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claimed {
    fn note(&mut self, object: String, by: ResourceId, is_found: bool) {
        if self.of.get(&by) != Some(&object) {
            self.forget(by);
        }
        if let Some(former) = self.objects.insert(object.clone(), Claim { by, is_found })
            && former.by != by
        {
            self.of.remove(&former.by);
        }
        self.of.insert(by, object);
    }

    fn forget(&mut self, id: ResourceId) {
        if let Some(object) = self.of.remove(&id) {
            self.objects.remove(&object);
        }
    }
}

/// The views say nothing just now: it is asked again.
pub(super) fn unknown(reason: String) -> CloudError {
    CloudError::Unreachable { url: "the views".to_owned(), reason }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use futures::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::resource_types::{Learned, Registry};

    fn claimant(number: u128, stack: u128) -> Claimant {
        Claimant {
            resource: ResourceId(uuid::Uuid::from_u128(number)),
            stack: StackId(uuid::Uuid::from_u128(stack)),
            project: ProjectId::from("p"),
            type_name: "OS::Neutron::Net".to_owned(),
        }
    }

    fn holder(of: &Claimant) -> Holder {
        Holder {
            resource: of.resource,
            stack: of.stack,
            project: of.project.clone(),
            type_name: of.type_name.clone(),
            is_gone: false,
        }
    }

    /// A resource without a mark, once others' objects are noted that look like its own.
    fn twin() -> Subject {
        Subject { data: [("others".to_owned(), json!([]))].into(), ..Subject::default() }
    }

    fn heard(id: &str) -> Result<Beat, Failure> {
        let learned = Learned { physical_id: Some(id.to_owned()), ..Learned::default() };
        Ok(Beat::Done { learned })
    }

    fn driver(type_name: &str) -> Arc<Declared> {
        Registry::built_in().unwrap().driver(type_name).unwrap()
    }

    /// Who has which object, or why nobody can tell.
    struct Known(Result<Vec<(String, Holder)>, String>);

    #[async_trait]
    impl OnRecord for Known {
        async fn holders(&self, physical_id: &str) -> Result<Vec<Holder>, String> {
            let known = self.0.as_ref().map_err(Clone::clone)?;
            let of_id = known.iter().filter(|(id, _)| id == physical_id);
            Ok(of_id.map(|(_, holder)| holder.clone()).collect())
        }

        async fn unsettled(&self) -> Result<Vec<StackId>, String> {
            Ok(Vec::new())
        }
    }

    /// What a claim comes to where these are on record.
    fn claim(
        claims: &Claims,
        by: &Claimant,
        ids: &[&str],
        known: &[(&str, Holder)],
    ) -> Option<String> {
        let known = known.iter().map(|(id, holder)| ((*id).to_owned(), holder.clone()));
        let on_record = Known(Ok(known.collect()));
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        claims.claim(by, &ids, false, &on_record).now_or_never().unwrap().unwrap()
    }

    #[test]
    fn the_answer_to_a_creation_whose_object_a_twin_has_found_counts_as_lost() {
        let (claims, net) = (Claims::default(), driver("OS::Neutron::Net"));
        let [one, other] = [claimant(1, 1), claimant(2, 2)];
        assert_eq!(claim(&claims, &one, &["n1", "n2"], &[]).as_deref(), Some("n1"));
        assert_eq!(claims.learned(&one, &net, &twin(), heard("n1")), heard("n1"));
        claims.rest(one.resource);
        let lost = claims.learned(&other, &net, &twin(), heard("n1")).unwrap_err();
        assert!(lost.is_unanswered() && lost.is_transient(), "{lost:?}");
        assert_eq!(claim(&claims, &other, &["n1", "n2"], &[]).as_deref(), Some("n2"));
        // Hearing of it again changes nothing.
        assert_eq!(claims.learned(&one, &net, &twin(), heard("n1")), heard("n1"));
    }

    #[test]
    fn what_another_stack_has_heard_of_or_has_on_record_is_not_found() {
        let (claims, net) = (Claims::default(), driver("OS::Neutron::Net"));
        let [one, other] = [claimant(1, 1), claimant(2, 2)];
        claims.learned(&one, &net, &twin(), heard("n1")).unwrap();
        assert_eq!(claim(&claims, &other, &["n1"], &[]), None);
        claims.rest(one.resource);
        let on_record = [("n1", holder(&one))];
        assert_eq!(claim(&claims, &other, &["n1"], &on_record), None);
        assert_eq!(claim(&claims, &one, &["n1"], &on_record).as_deref(), Some("n1"));
        // What a deletion has left in the cloud is its user's.
        let kept = Holder { is_gone: true, ..holder(&claimant(3, 3)) };
        assert_eq!(claim(&claims, &other, &["n3", "n2"], &[("n3", kept)]).as_deref(), Some("n2"));
    }

    #[test]
    fn an_object_that_is_made_anew_under_an_old_id_is_its_makers() {
        let (claims, net) = (Claims::default(), driver("OS::Neutron::Net"));
        let [one, other] = [claimant(1, 1), claimant(2, 2)];
        claims.learned(&one, &net, &twin(), heard("n1")).unwrap();
        assert_eq!(claims.learned(&other, &net, &twin(), heard("n1")), heard("n1"));
        assert_eq!(claim(&claims, &one, &["n1"], &[]), None);
        // What was found is free again once its resource is deleted.
        claims.forget(other.resource);
        assert_eq!(claim(&claims, &one, &["n1"], &[]).as_deref(), Some("n1"));
        claims.forget(one.resource);
        assert_eq!(claims.learned(&other, &net, &twin(), heard("n1")), heard("n1"));
    }

    #[test]
    fn what_has_a_mark_is_taken_by_it() {
        let (claims, net) = (Claims::default(), driver("OS::Neutron::Net"));
        let [one, other] = [claimant(1, 1), claimant(2, 2)];
        let marked = Subject::default();
        assert_eq!(claims.learned(&one, &net, &marked, heard("n1")), heard("n1"));
        assert_eq!(claims.learned(&other, &net, &marked, heard("n1")), heard("n1"));
    }

    #[test]
    fn a_name_is_one_object_within_a_type_and_a_project_only() {
        let one = claimant(1, 1);
        let same = holder(&claimant(2, 2));
        assert!(one.yields_to(&same, true) && !one.shares_with(&same));
        let beside = holder(&claimant(2, 1));
        assert!(one.shares_with(&beside) && !one.shares_with(&holder(&one)));
        for other in [
            Holder { project: ProjectId::from("q"), ..same.clone() },
            Holder { type_name: "OS::Swift::Container".to_owned(), ..same.clone() },
            Holder { is_gone: true, ..same.clone() },
        ] {
            assert!(!one.yields_to(&other, true) && one.yields_to(&other, false), "{other:?}");
        }
    }

    #[test]
    fn a_predecessor_hands_its_name_on() {
        let (claims, key_pair) = (Claims::default(), driver("OS::Nova::KeyPair"));
        let [old, new] = [claimant(1, 1), claimant(2, 1)];
        assert!(claims.find(&old, "mine", true));
        let successor = Subject { replaces: vec!["mine".to_owned()], ..twin() };
        assert_eq!(claims.learned(&new, &key_pair, &successor, heard("mine")), heard("mine"));
        assert!(!claims.find(&old, "mine", true));
    }

    #[test]
    fn what_cannot_be_looked_up_is_not_claimed() {
        let claims = Claims::default();
        let on_record = Known(Err("stopped".to_owned()));
        let ids = ["n1".to_owned()];
        let by = claimant(1, 1);
        let outcome = claims.claim(&by, &ids, false, &on_record).now_or_never().unwrap();
        assert!(outcome.unwrap_err().is_transient());
        assert!(claims.find(&claimant(2, 2), "n1", false));
    }
}
