//! The update of an object and its deletion.

use serde_json::{Value, json};

use super::Declared;
use super::beating::Beating;
use super::calls::{Form, Gone, Unset, Update};
use super::paths::{unless_missing, words};
use super::plain_stage::PlainStage;
use super::progress::{done, next};
use super::sequence::Turn;
use super::shape;
use crate::model::JsonMap;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::Purpose;

impl Declared {
    pub(super) fn update(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, .. } = *beating;
        let (Work::Update { before, changed }, Some(update)) = (work, &self.declaration().update)
        else {
            return Err(self.incomplete("it says nothing of update"));
        };
        let Some((method, path)) = update.parts() else { return Ok(done()) };
        let all = self.properties(&subject.properties);
        let before = self.properties(before);
        for (name, refused) in update.refuses.iter().filter(|(name, _)| changed.contains(*name)) {
            if refused.is(before.get(name), all.get(name)) {
                return Err(Failure::UnsupportedAction(refused.says.clone()));
            }
        }
        let is_sent = |name: &String| match &update.send {
            Some(sent) => sent.contains(name),
            None => changed.contains(name) || update.always.contains(name),
        };
        let mut properties = JsonMap::new();
        let names = self.declaration().properties.keys();
        let is_part = |name: &&String| !self.is_member(name) && !update.omit.contains(name);
        for name in names.filter(|name| is_sent(name)).filter(is_part) {
            let value = all.get(name).cloned().unwrap_or_else(|| self.unset(name, subject));
            properties.insert(name.clone(), self.only_news(name, value, &before));
        }
        let properties = self.carried_by_bodies(properties);
        let mut properties = self.looked_up(cloud, subject, properties)?;
        if update.nulls == Unset::Dropped {
            properties.retain(|_, value| !value.is_null());
        }
        let body = match update.form {
            Form::Object => self.body(Purpose::Update, subject, properties),
            Form::JsonPatch => self.patch(update, subject, properties),
        };
        // What it takes to say so may come to nothing.
        if self.says_nothing(&body) && !words(path).any(|word| changed.contains(word)) {
            return Ok(self.after(beating, Turn::Update));
        }
        let request = self.request(cloud, method, path, subject, None)?.json(body);
        match cloud.send(request) {
            Ok(_) => Ok(match self.after(beating, Turn::Update) {
                // What it is from now on, nobody else has made it.
                Beat::Next { next: step, .. } if Self::was_there(subject) => {
                    next(Self::made(subject, None), step)
                }
                Beat::Done { .. } if Self::was_there(subject) => {
                    Beat::Done { learned: Self::made(subject, None) }
                }
                beat => beat,
            }),
            Err(error) if self.declaration().is_busy(&error) => Ok(Beat::Wait { after: None }),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a body has no field.
    fn says_nothing(&self, body: &Value) -> bool {
        let is_empty = |fields: &Value| match fields {
            Value::Array(operations) => operations.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        };
        let update = self.declaration().update.as_ref();
        let wrap = update.and_then(|it| it.wrap.as_ref()).or(self.declaration().wrap.as_ref());
        let is_alone = body.as_object().is_some_and(|fields| fields.len() == 1);
        let inner = wrap.and_then(|wrap| body.get(wrap)).filter(|_| is_alone);
        is_empty(inner.unwrap_or(body))
    }

    /// An update as a list of operations (RFC 6902).
    fn patch(&self, update: &Update, subject: &Subject, properties: JsonMap) -> Value {
        let mut fields = self.body(Purpose::Update, subject, properties);
        let wrap = update.wrap.as_ref().or(self.declaration().wrap.as_ref());
        if let Some(inner) = wrap.and_then(|wrap| fields.get_mut(wrap)) {
            fields = inner.take();
        }
        let fields = fields.as_object().cloned().unwrap_or_default();
        let operation = |(field, value): (String, Value)| {
            let path = format!("/{}", field.replace('~', "~0").replace('/', "~1"));
            match value {
                Value::Null => json!({ "op": "remove", "path": path }),
                value => json!({ "op": "replace", "path": path, "value": value }),
            }
        };
        fields.into_iter().map(operation).collect()
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

    pub(super) fn delete(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, .. } = *beating;
        let progress = beating.progress();
        let Some((delete, (method, path))) =
            self.declaration().delete.as_ref().and_then(|delete| Some((delete, delete.parts()?)))
        else {
            return Ok(done());
        };
        let request = self.request(cloud, method, path, subject, None);
        let Some(mut request) = unless_missing(request)? else { return Ok(done()) };
        for (name, value) in &delete.query {
            request = request.query(name.clone(), value.clone());
        }
        if let Some(body) = &delete.body {
            let properties = self.properties(&subject.properties);
            let values = Value::Object(self.looked_up(cloud, subject, properties)?);
            request = request.json(shape::body(body, &values).into());
        }
        match cloud.send(request) {
            Ok(_) if delete.gone == Gone::Assumed => Ok(done()),
            Ok(_) => Ok(next(Learned::default(), progress.to(PlainStage::Gone))),
            Err(error) if error.is_not_found() => Ok(done()),
            // What has failed stays busy for ever.
            Err(error) if self.declaration().is_busy(&error) => match self.look(cloud, subject)? {
                Some(object) => self.goes(&object, &delete.fail),
                None => Ok(done()),
            },
            Err(error) if error.is_conflict() => {
                progress.again_to_go(cloud.now(), error.into(), |p| p.to(PlainStage::Delete))
            }
            Err(error) => Err(error.into()),
        }
    }

    pub(super) fn gone(&self, beating: &Beating<'_>) -> Result<Beat, Failure> {
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
            Gone::Polled => self.goes(&object, fail),
            Gone::Again => {
                let name = subject.physical_id.as_deref().unwrap_or(&subject.physical_name);
                let error = Failure::StillThere(name.to_owned());
                progress.again_to_go(cloud.now(), error, |p| p.to(PlainStage::Delete))
            }
        }
    }

    /// Waits for an object that is to go, unless its state says that it will not.
    fn goes(&self, object: &Value, fail: &[String]) -> Result<Beat, Failure> {
        let state = self.declaration().state_of(object);
        match fail.contains(&state) {
            true => Err(Failure::in_error(&state, "Unknown")),
            false => Ok(Beat::Wait { after: None }),
        }
    }
}
