//! The beats of a declared type.
//!
//! ```text
//! create ─▶ call* ─▶ ready ─▶ done
//! call* ─▶ update ─▶ ready ─▶ done
//! delete ─▶ gone ─▶ done                    still there or in use: pause ─▶ delete
//! find ─▶ delete                            where the answer to the creation was lost
//! ```

use serde_json::Value;

use super::Declared;
use super::format::{Gone, Ready};
use super::progress::{Progress, done, next};
use super::special::Purpose;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{CloudError, Collection, Method, Request, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::driver::{Attempt, Beat, DriverError, Learned, Subject, Work};

/// All that a beat is about.
#[derive(Clone, Copy)]
pub(crate) struct Beating<'a> {
    pub(crate) cloud: &'a Asks<'a>,
    pub(crate) work: &'a Work,
    pub(crate) subject: &'a Subject,
    pub(crate) step: &'a Step,
    pub(crate) attempt: Attempt,
}

impl Beating<'_> {
    /// What the step remembers.
    pub(crate) fn progress(&self) -> Progress {
        Progress::of(self.step)
    }

    /// Whether the call may have been made before.
    pub(crate) fn is_unanswered(&self) -> bool {
        self.attempt == Attempt::Unanswered
    }
}

impl From<CloudError> for DriverError {
    fn from(error: CloudError) -> Self {
        Self {
            class: error.class().to_owned(),
            below: String::new(),
            message: error.to_string(),
            transient: error.is_transient(),
            unanswered: error.is_unanswered(),
            retry_after: error.retry_after(),
            conflict: error.is_conflict(),
            refused: error.is_refusal(),
        }
    }
}

/// Heat's error for an object that went to an error state.
pub(crate) fn in_error(status: &str, reason: &str) -> DriverError {
    DriverError::fatal("ResourceInError", format!("Went to status {status} due to \"{reason}\""))
}

/// Heat's error for a status that it does not know.
pub(crate) fn unknown_status(result: &str, status: &str) -> DriverError {
    DriverError::fatal(
        "ResourceUnknownStatus",
        format!("{result} - Unknown status {status} due to \"Unknown\""),
    )
}

/// A following step that remembers what the one before did.
fn carried(progress: &Progress, following: Step) -> Step {
    let progress = progress.at(Progress::of(&following).index);
    if following.mutates {
        progress.change(&following.name)
    } else {
        progress.look(&following.name)
    }
}

impl Declared {
    /// The step that an action begins with.
    pub(crate) fn first_step(&self, work: &Work, subject: &Subject) -> Step {
        let progress = Progress::default();
        match work {
            Work::Create => self.creation(subject),
            Work::Update { .. } => self.after_call(work, subject, 0),
            // The creation may have been carried out though its answer never came.
            Work::Delete if subject.physical_id.is_none() => progress.look("find"),
            Work::Delete => progress.change("delete"),
            Work::Act(_) => progress.look("check"),
        }
    }

    /// One beat as the file says.
    pub(crate) fn plain_beat(&self, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        match beating.step.name.as_str() {
            "note_others" => self.note_others(beating.cloud, beating.subject),
            "create" => self.create(beating),
            "call" => self.call(beating),
            "ready" => self.ready(beating),
            "update" => self.update(beating),
            "find" => self.find_to_delete(beating),
            "delete" => self.delete(beating),
            "gone" => self.gone(beating),
            "pause" => Ok(beating.progress().paused(beating.cloud.now())),
            "check" => self.show(beating.cloud, beating.subject).map(|_| done()),
            other => Err(self.incomplete(&format!("there is no step {other:?}"))),
        }
    }

    fn create(&self, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, subject, .. } = *beating;
        if beating.is_unanswered()
            && let Some(object) = self.find(cloud, subject)?
        {
            return self.created(beating, &object);
        }
        let request = self.create_request(cloud, subject)?;
        match cloud.send(request) {
            Ok(response) => {
                let object = self.declaration().unwrapped(response.json()?);
                self.created(beating, &object)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The creation as a request.
    pub(crate) fn create_request(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<Request, DriverError> {
        let declaration = self.declaration();
        let (method, path, nulls) = match &declaration.create {
            Some(create) => match (&create.post, &create.put) {
                (Some(path), _) => (Method::Post, path, &create.nulls),
                (None, Some(path)) => (Method::Put, path, &create.nulls),
                (None, None) => return Err(self.incomplete("create has no method")),
            },
            None => return Err(self.incomplete("it says nothing of create")),
        };
        let properties = self.properties(&subject.properties);
        let mut properties = declaration.resolved(cloud, properties)?;
        properties.retain(|_, value| !value.is_null());
        for name in nulls {
            properties.entry(name.clone()).or_insert(Value::Null);
        }
        let body = self.body(Purpose::Create, subject, properties);
        Ok(declaration.request(method, path, subject, None).json(body))
    }

    /// What follows when the object is there: its calls, or the wait until it is ready.
    pub(crate) fn created(
        &self,
        beating: &Beating<'_>,
        object: &Value,
    ) -> Result<Beat, DriverError> {
        let physical_id = self
            .declaration()
            .id_of(object)
            .ok_or_else(|| self.incomplete("the answer to create has no id"))?;
        let learned = Self::made(beating.subject, Some(physical_id));
        let following = self.after_call(beating.work, beating.subject, 0);
        // The answer often says already that there is nothing to wait for.
        let is_ready = following.name == "done"
            || (following.name == "ready" && matches!(self.readiness(object), Ok(true)));
        if is_ready {
            return Ok(Beat::Done { learned });
        }
        Ok(next(learned, carried(&beating.progress(), following)))
    }

    /// What follows a creation: its calls, the wait until the object is ready, or nothing.
    pub(crate) fn after_creation(&self, subject: &Subject) -> Step {
        self.after_call(&Work::Create, subject, 0)
    }

    /// The step after the calls before `index` are made.
    fn after_call(&self, work: &Work, subject: &Subject, index: u32) -> Step {
        let declaration = self.declaration();
        let properties = self.properties(&subject.properties);
        let applies = |name: &String| match work {
            Work::Update { changed, .. } => changed.contains(name),
            Work::Create | Work::Delete | Work::Act(_) => match properties.get(name) {
                None | Some(Value::Null) => false,
                Some(Value::Array(list)) => !list.is_empty(),
                Some(Value::Object(map)) => !map.is_empty(),
                Some(_) => true,
            },
        };
        let calls = declaration.calls.iter().zip(0..).skip(index as usize);
        for (call, index) in calls {
            if applies(&call.for_property) {
                return Progress { index, ..Progress::default() }.change("call");
            }
        }
        match work {
            Work::Update { changed, .. } if self.sends_update(changed) => {
                Progress::default().change("update")
            }
            Work::Create if declaration.ready.is_some() => Progress::default().look("ready"),
            Work::Create | Work::Update { .. } | Work::Delete | Work::Act(_) => {
                Progress::default().look("done")
            }
        }
    }

    /// Whether an update of these properties has a body.
    fn sends_update(&self, changed: &std::collections::BTreeSet<String>) -> bool {
        let declaration = self.declaration();
        let has_call =
            declaration.update.as_ref().is_some_and(|it| it.put.is_some() || it.patch.is_some());
        has_call
            && changed.iter().any(|name| {
                !declaration.body.omit.contains(name) || declaration.body.merge.contains(name)
            })
    }

    fn call(&self, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let progress = beating.progress();
        let Some(call) = self.declaration().calls.get(progress.index as usize) else {
            return Err(self.incomplete("there is no such call"));
        };
        let mut properties = self.properties(&beating.subject.properties);
        properties.retain(|name, _| *name == call.for_property);
        let properties = self.declaration().resolved(beating.cloud, properties)?;
        let value = properties.get(&call.for_property);
        beating.cloud.send(self.property_call(call, beating.subject, value)?)?;
        let following = self.after_call(beating.work, beating.subject, progress.index + 1);
        Ok(match following.name.as_str() {
            "done" => done(),
            _ => next(Learned::default(), carried(&progress, following)),
        })
    }

    fn ready(&self, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, subject, .. } = *beating;
        let object = match (self.collection(), &subject.physical_id) {
            (Some(collection), Some(id)) => cloud.poll_one(&collection, id)?,
            _ => self.show(cloud, subject)?,
        };
        match self.readiness(&object) {
            Ok(true) => Ok(done()),
            Ok(false) => Ok(Beat::Wait { after: None }),
            Err(error) => Err(error),
        }
    }

    /// The collection that the object is one of, where it is shown as such and nothing else is in
    /// its paths: those who wait for objects of it share one list.
    fn collection(&self) -> Option<Collection> {
        let declaration = self.declaration();
        let (_, shown) = declaration.show.as_ref()?.parts()?;
        let items = shown.strip_suffix("/{id}").filter(|path| !path.contains('{'))?;
        Some(Collection {
            service: Service::of_type(declaration.service.as_deref()?),
            list: self.list_path().unwrap_or(items).to_owned().into(),
            items: items.to_owned().into(),
            member: declaration.wrap.clone()?.into(),
            members: self.list_name()?.into(),
        })
    }

    /// Whether the object can be used; an error when it never will be.
    fn readiness(&self, object: &Value) -> Result<bool, DriverError> {
        let Some(Ready { field, ok, fail, wait, unknown }) = &self.declaration().ready else {
            return Ok(true);
        };
        let status = object[field.as_str()].as_str().unwrap_or_default();
        let is_in = |list: &[String]| list.iter().any(|known| known == status);
        if is_in(ok) {
            Ok(true)
        } else if is_in(fail) {
            Err(in_error(status, "Unknown"))
        } else {
            match wait {
                Some(wait) if !is_in(wait) => {
                    Err(unknown_status(unknown.as_deref().unwrap_or("Resource failed"), status))
                }
                Some(_) | None => Ok(false),
            }
        }
    }

    fn update(&self, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, work, subject, .. } = *beating;
        let (Work::Update { before, changed }, Some(update)) = (work, &self.declaration().update)
        else {
            return Err(self.incomplete("it says nothing of update"));
        };
        let (method, path) = match (&update.put, &update.patch) {
            (Some(path), _) => (Method::Put, path),
            (None, Some(path)) => (Method::Patch, path),
            (None, None) => return Ok(done()),
        };
        let all = self.properties(&subject.properties);
        let before = self.properties(before);
        let sent = update.send.as_ref();
        let mut properties = JsonMap::new();
        let names = self.declaration().properties.keys();
        for name in names.filter(|name| {
            sent.map_or_else(|| changed.contains(*name), |sent| sent.contains(*name))
        }) {
            let value = all.get(name).cloned().unwrap_or_else(|| self.unset(name, subject));
            properties.insert(name.clone(), self.only_news(name, value, &before));
        }
        let properties = self.declaration().resolved(cloud, properties)?;
        let body = self.body(Purpose::Update, subject, properties);
        let request = self.declaration().request(method, path, subject, None).json(body);
        match cloud.send(request) {
            Ok(_) if update.ready => {
                Ok(next(Learned::default(), Progress::default().look("ready")))
            }
            Ok(_) => Ok(done()),
            Err(error) => Err(error.into()),
        }
    }

    /// What is sent for a property that is no longer set.
    fn unset(&self, name: &str, subject: &Subject) -> Value {
        let declaration = self.declaration();
        match declaration.body.unset.get(name) {
            Some(value) => value.clone(),
            None if declaration.name.as_deref() == Some(name) => {
                subject.physical_name.as_str().into()
            }
            None => Value::Null,
        }
    }

    /// Of a map whose keys become fields, those that changed.
    fn only_news(&self, name: &str, mut value: Value, before: &JsonMap) -> Value {
        let is_merged = self.declaration().body.merge.iter().any(|merged| merged == name);
        if let (true, Value::Object(map), Some(Value::Object(before))) =
            (is_merged, &mut value, before.get(name))
        {
            map.retain(|key, value| before.get(key) != Some(value));
        }
        value
    }

    fn find_to_delete(&self, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        if !self.may_be_made(beating.subject) {
            return Ok(done());
        }
        match self.find(beating.cloud, beating.subject) {
            Ok(Some(object)) => {
                let physical_id = self.declaration().id_of(&object);
                let learned = Learned { physical_id, ..Learned::default() };
                Ok(next(learned, Progress::default().change("delete")))
            }
            Ok(None) => Ok(done()),
            // A service that refuses to list has not made anything for us either.
            Err(error) if !error.transient => Ok(done()),
            Err(error) => Err(error),
        }
    }

    fn delete(&self, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, subject, .. } = *beating;
        let progress = beating.progress();
        let Some(delete) = &self.declaration().delete else {
            return Ok(done());
        };
        let request = self.declaration().request(Method::Delete, &delete.delete, subject, None);
        match cloud.send(request) {
            Ok(_) if delete.gone == Gone::Assumed => Ok(done()),
            Ok(_) => Ok(next(Learned::default(), progress.look("gone"))),
            Err(error) if error.is_not_found() => Ok(done()),
            Err(error) if error.is_conflict() => {
                progress.again(cloud.now(), error.into(), |p| p.change("delete"))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn gone(&self, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, subject, .. } = *beating;
        let progress = beating.progress();
        let object = match self.look(cloud, subject)? {
            Some(object) => object,
            None => return Ok(done()),
        };
        let (gone, fail): (Gone, &[String]) = match &self.declaration().delete {
            Some(delete) => (delete.gone, &delete.fail),
            None => (Gone::Assumed, &[]),
        };
        match gone {
            Gone::Assumed => Ok(done()),
            Gone::Polled => {
                let ready = self.declaration().ready.as_ref();
                let field = ready.map_or("status", |ready| ready.field.as_str());
                let status = object[field].as_str().unwrap_or_default();
                match fail.iter().any(|failed| failed == status) {
                    true => Err(in_error(status, "Unknown")),
                    false => Ok(Beat::Wait { after: None }),
                }
            }
            Gone::Again => {
                let name = subject.physical_id.as_deref().unwrap_or(&subject.physical_name);
                let error = DriverError::fatal(
                    "PhysicalResourceExists",
                    format!("The physical resource for ({name}) exists."),
                );
                progress.again(cloud.now(), error, |p| p.change("delete"))
            }
        }
    }

    /// The object as the cloud shows it.
    pub(crate) fn show(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Value, DriverError> {
        let Some((method, path)) = self.declaration().show.as_ref().and_then(|show| show.parts())
        else {
            return Ok(Value::Null);
        };
        let request = self.declaration().request(method, path, subject, None);
        Ok(self.declaration().unwrapped(cloud.send(request)?.json()?))
    }

    /// The object, or that there is none.
    pub(crate) fn look(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<Option<Value>, DriverError> {
        let Some((method, path)) = self.declaration().show.as_ref().and_then(|show| show.parts())
        else {
            return Ok(None);
        };
        let request = self.declaration().request(method, path, subject, None);
        match cloud.send(request) {
            Ok(response) => Ok(Some(self.declaration().unwrapped(response.json()?))),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
