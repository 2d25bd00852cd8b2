//! The beats of a declared type.
//!
//! ```text
//! create ─▶ … ─▶ done                       what comes between stands in `sequence`
//! delete ─▶ gone ─▶ done                    still there or in use: pause ─▶ delete
//! find ─▶ delete                            where the answer to the creation was lost
//! ```

use serde_json::Value;

use super::Declared;
use super::beating::Beating;
use super::paths::unless_missing;
use super::plain_stage::PlainStage;
use super::progress::{Progress, done, next};
use super::sequence::Turn;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Method, Request};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject, Work};
use crate::resource_types::resource_type::Purpose;
use crate::resource_types::stage::Stages;

impl Declared {
    /// The step that an action begins with.
    pub(crate) fn first_step(&self, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create => self.creation(subject),
            // The creation may have been carried out though its answer never came.
            Work::Delete if subject.physical_id.is_none() => PlainStage::Find.step(),
            // Of what was there before, it is looked whether it still is what it was.
            Work::Delete if self.declaration().has_entry() && Self::was_there(subject) => {
                PlainStage::Find.step()
            }
            Work::Act(action) if self.declaration().acts.contains(action) => {
                PlainStage::Check.step()
            }
            Work::Update { .. } | Work::Delete | Work::Act(_) => self.first_turn(work, subject),
        }
    }

    fn first_turn(&self, work: &Work, subject: &Subject) -> Step {
        let first = self.following(work, subject, None);
        first.map_or_else(|| PlainStage::Done.step(), |turn| turn.step(&Progress::default()))
    }

    /// One beat as the file says.
    pub(crate) fn plain_beat(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Some(stage) = PlainStage::of(beating.step) else {
            return Err(self.incomplete(&format!("there is no step {:?}", beating.step.name)));
        };
        match stage {
            PlainStage::Compare => self.compare(beating),
            PlainStage::NoteOthers => self.note_others(beating.cloud, beating.subject),
            PlainStage::Create => self.create(beating),
            PlainStage::Members | PlainStage::Release => {
                self.members(beating, beating.progress().index)
            }
            PlainStage::Call => self.call(beating),
            PlainStage::Update => self.update(beating),
            PlainStage::Ready => self.ready(beating),
            PlainStage::Find => self.find_to_delete(beating),
            PlainStage::Delete => self.delete(beating),
            PlainStage::Gone => self.gone(beating),
            PlainStage::Pause => Ok(beating.progress().paused(beating.cloud.now())),
            PlainStage::Check => self.check(beating),
            PlainStage::Done => Ok(done()),
        }
    }

    fn check(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let object = self.show(beating.cloud, beating.subject)?;
        let declaration = self.declaration();
        let status = declaration.state_of(&object);
        match declaration.healthy.takes(&status) {
            true => Ok(done()),
            false => Err(Failure::Unhealthy { expected: declaration.healthy.expected(), status }),
        }
    }

    fn create(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let subject = self.placed(beating.cloud, beating.subject)?;
        let beating = &Beating { subject: &subject, ..*beating };
        let Beating { cloud, subject, .. } = *beating;
        if beating.is_unanswered()
            && !self.declaration().is_put_in_place()
            && let Some(object) = self.find(cloud, subject)?
        {
            return self.created(beating, &object);
        }
        // What is nothing but members has no object of its own to make.
        if self.declaration().create.is_none() && !self.declaration().members.is_empty() {
            return self.created(beating, &Value::Null);
        }
        let request = self.create_request(cloud, subject)?;
        match cloud.send(request) {
            Ok(response) => {
                let object = self.declaration().unwrapped(response.json()?);
                self.created(beating, &object)
            }
            Err(error) if self.declaration().is_busy(&error) => Ok(Beat::Wait { after: None }),
            Err(error) => Err(error.into()),
        }
    }

    /// The creation as a request.
    pub(crate) fn create_request(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<Request, Failure> {
        let declaration = self.declaration();
        let Some(create) = &declaration.create else {
            return Err(self.incomplete("it says nothing of create"));
        };
        let (method, path) = match (&create.post, &create.put) {
            (Some(path), _) => (Method::Post, path),
            (None, Some(path)) => (Method::Put, path),
            (None, None) => return Err(self.incomplete("create has no method")),
        };
        let properties = self.properties(&subject.properties);
        let properties = self.carried_by_bodies(properties);
        let mut properties = self.looked_up(cloud, subject, properties)?;
        properties.retain(|_, value| !value.is_null());
        for name in &create.nulls {
            properties.entry(name.clone()).or_insert(Value::Null);
        }
        let body = self.body(Purpose::Create, subject, properties);
        let mut request = self.request(cloud, method, path, subject, None)?;
        for (name, value) in &create.query {
            request = request.query(name.clone(), value.clone());
        }
        Ok(request.json(body))
    }

    /// What follows when the object is there: its calls, or the wait until it is ready.
    pub(crate) fn created(&self, beating: &Beating<'_>, object: &Value) -> Result<Beat, Failure> {
        let physical_id = self.physical_id(beating.cloud, beating.subject, object)?;
        if physical_id.is_none() && !self.declaration().knows_id() {
            return Err(self.incomplete("the answer to create has no id"));
        }
        let learned = match self.declaration().has_entry() {
            true => Self::put(beating.subject, physical_id),
            false => Self::made(beating.subject, physical_id),
        };
        let mut following = self.following(beating.work, beating.subject, None);
        // The answer often says already that there is nothing to wait for.
        if following == Some(Turn::Ready) && self.says_ready(object) {
            following = self.following(beating.work, beating.subject, Some(Turn::Ready));
        }
        Ok(match following {
            None => Beat::Done { learned },
            Some(turn) => next(learned, turn.step(&beating.progress())),
        })
    }

    fn call(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let progress = beating.progress();
        let Some(call) = self.declaration().calls.get(progress.index as usize) else {
            return Err(self.incomplete("there is no such call"));
        };
        let mut properties = self.properties(&beating.subject.properties);
        properties.retain(|name, _| Some(name) == call.for_property.as_ref());
        let properties = self.looked_up(beating.cloud, beating.subject, properties)?;
        let value = call.for_property.as_ref().and_then(|name| properties.get(name));
        let request = self.property_call(beating.cloud, call, beating.subject, value)?;
        match beating.cloud.send(request) {
            Err(error) if self.declaration().is_busy(&error) => {
                return Ok(Beat::Wait { after: None });
            }
            // Before a deletion, what is gone needs nothing.
            Err(error) if *beating.work == Work::Delete && error.is_not_found() => {}
            answer => drop(answer?),
        }
        Ok(self.after(beating, Turn::Call(progress.index)))
    }

    fn find_to_delete(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if !self.may_be_made(beating.subject) {
            return Ok(done());
        }
        let Some(subject) = unless_missing(self.placed(beating.cloud, beating.subject))? else {
            return Ok(done());
        };
        if self.stands_by_itself() {
            let physical_id = self.physical_id(beating.cloud, &subject, &Value::Null)?;
            return Ok(self.found_to_delete(beating, &subject, physical_id));
        }
        match self.find(beating.cloud, &subject) {
            Ok(Some(object)) => {
                let physical_id = self.physical_id(beating.cloud, &subject, &object)?;
                Ok(self.found_to_delete(beating, &subject, physical_id))
            }
            Ok(None) => Ok(done()),
            Err(error) if error.is_not_found() || error.is_without_service() => Ok(done()),
            // Somebody may not list what may have been made for him nevertheless.
            Err(error) => Err(error),
        }
    }

    fn found_to_delete(
        &self,
        beating: &Beating<'_>,
        subject: &Subject,
        physical_id: Option<String>,
    ) -> Beat {
        next(Self::made(subject, physical_id), self.first_turn(beating.work, subject))
    }

    /// The object as the cloud shows it.
    pub(crate) fn show(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Value, Failure> {
        let Some((method, path)) = self.declaration().show.as_ref().and_then(|show| show.parts())
        else {
            return Ok(Value::Null);
        };
        let request = self.show_request(cloud, method, path, subject)?;
        Ok(self.declaration().unwrapped(cloud.send(request)?.json()?))
    }

    fn show_request(
        &self,
        cloud: &Asks<'_>,
        method: Method,
        path: &str,
        subject: &Subject,
    ) -> Result<Request, Failure> {
        let show = self.declaration().show.as_ref();
        let microversion = show.and_then(|show| show.microversion.as_deref());
        let mut request = self.request(cloud, method, path, subject, microversion)?;
        for (name, value) in show.iter().flat_map(|show| &show.query) {
            request = request.query(name.clone(), value.clone());
        }
        Ok(request)
    }

    /// The object, or that there is none.
    pub(crate) fn look(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<Option<Value>, Failure> {
        let Some((method, path)) = self.declaration().show.as_ref().and_then(|show| show.parts())
        else {
            return Ok(None);
        };
        let request = self.show_request(cloud, method, path, subject);
        let Some(request) = unless_missing(request)? else { return Ok(None) };
        match cloud.send(request) {
            Ok(response) => {
                let object = self.declaration().unwrapped(response.json()?);
                // Some show nothing where others say that there is nothing.
                let is_empty = object.as_object().is_some_and(JsonMap::is_empty);
                Ok((!is_empty && !self.declaration().shows_gone(&object)).then_some(object))
            }
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}
