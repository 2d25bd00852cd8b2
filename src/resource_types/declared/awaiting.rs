//! Looking at an object until it can be used.

use serde_json::Value;

use super::Declared;
use super::beating::Beating;
use super::calls::Awaited;
use super::id::Id;
use super::ready::Ready;
use super::sequence::Turn;
use crate::openstack::{Collection, Service};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Work};

impl Declared {
    /// One look at an object that is waited for.
    pub(super) fn ready(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, work, .. } = *beating;
        let wanted = self.wanted(work);
        let object = match (self.collection(), &subject.physical_id) {
            _ if wanted.is_some_and(|ready| ready.exists) => match self.look(cloud, subject)? {
                Some(object) => object,
                None => return Ok(Beat::Wait { after: None }),
            },
            (Some(collection), Some(id)) => {
                let object = cloud.poll_one(&collection, id)?;
                // A list may leave out why an object failed.
                match wanted.is_some_and(|ready| ready.lacks_reason(&object)) {
                    true => self.show(cloud, subject)?,
                    false => object,
                }
            }
            _ => self.show(cloud, subject)?,
        };
        match wanted.map_or(Ok(true), |ready| ready.is_met(&object))? {
            true => Ok(self.after(beating, Turn::Ready)),
            false => Ok(Beat::Wait { after: None }),
        }
    }

    /// Whether an object is as one of the type that can be used; an error when it never will be.
    pub(crate) fn is_ready(&self, object: &Value) -> Result<bool, Failure> {
        self.declaration().ready.as_ref().map_or(Ok(true), |ready| ready.is_met(object))
    }

    /// What is waited for.
    fn wanted(&self, work: &Work) -> Option<&Ready> {
        let update = self.declaration().update.as_ref();
        match (work, update.map(|update| &update.ready)) {
            (Work::Update { .. }, Some(Awaited::With(ready))) => Some(ready),
            _ => self.declaration().ready.as_ref(),
        }
    }

    /// Whether the answer to a creation says that there is nothing to wait for.
    pub(super) fn says_ready(&self, object: &Value) -> bool {
        let ready = self.declaration().ready.as_ref();
        ready.is_none_or(|ready| !ready.exists && matches!(ready.is_met(object), Ok(true)))
    }

    /// The collection that the object is one of, where it is shown as such and nothing else is in
    /// its paths: those who wait for objects of it share one list.
    fn collection(&self) -> Option<Collection> {
        let declaration = self.declaration();
        let Id::Field(id) = &declaration.id else { return None };
        let (_, shown) = declaration.show.as_ref()?.parts()?;
        let items = shown.strip_suffix("/{id}").filter(|path| !path.contains('{'))?;
        Some(Collection {
            service: Service::of_type(declaration.service.as_deref()?),
            list: self.list_path().unwrap_or(items).to_owned().into(),
            items: items.to_owned().into(),
            member: declaration.wrap.clone().map(Into::into),
            id: id.clone().into(),
            members: self.list_name()?.into(),
        })
    }
}
