//! Looking for what a call may have made whose answer never came: by the name or token that is
//! ours, or, where the user's own words fill both, by all that was asked for. Others may have made
//! an object that looks the same, so those are noted before the creation and never taken for ours.
//! The same is so of what is no object of its own but an entry of a list or a field of another
//! object: a router's interface, the port of a floating IP.

use serde_json::Value;

use super::calls::Call;
use super::plain_stage::PlainStage;
use super::progress::next;
use super::{Declared, dotted, shape};
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::Method;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject};
use crate::resource_types::python;
use crate::resource_types::resource_type::Purpose;
use crate::resource_types::stage::Stages;

/// The resource data that has the ids of others' objects which look like the one to be made.
const OTHERS: &str = "others";

/// How an object is known among others.
enum Marks {
    /// A field has the physical name, which nobody else's object has.
    Own(String, Value),
    /// The fields that were asked for, which others' objects may have too.
    Alike(JsonMap),
}

impl Marks {
    fn are_on(&self, object: &Value) -> bool {
        match self {
            Self::Own(field, token) => shown(object, field) == Some(token),
            // Lists leave fields out, and show numbers as text; what they show must agree.
            Self::Alike(fields) => {
                let mut shown = fields
                    .iter()
                    .filter_map(|(field, value)| Some((value, shown(object, field)?)))
                    .peekable();
                shown.peek().is_some()
                    && shown.all(|(value, has)| python::text(value) == python::text(has))
            }
        }
    }
}

impl Declared {
    /// The step that makes the object, or notes others' objects that look like it first.
    pub(crate) fn creation(&self, subject: &Subject) -> Step {
        let is_own = matches!(self.signed_with(subject), Marks::Own(..));
        let is_seen = match self.declaration().knows_id() {
            true => !self.stands_by_itself(),
            false => !is_own && self.list_path().is_some(),
        };
        match !is_seen {
            true => PlainStage::Create.step(),
            false => PlainStage::NoteOthers.step(),
        }
    }

    /// Notes the objects of others that look like the one to be made.
    pub(crate) fn note_others(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Beat, Failure> {
        let subject = &*self.placed(cloud, subject)?;
        let ids: Vec<String> = if let Some(find) = self.entries_by() {
            let entries = self.entries_there(cloud, subject, find)?;
            entries.into_iter().map(|(id, _)| id).collect()
        } else if self.declaration().knows_id() {
            let known = self.known(cloud, subject)?;
            self.look(cloud, &known)?.and(known.physical_id).into_iter().collect()
        } else {
            let marks = self.marks(cloud, subject)?;
            let objects = self.objects(cloud, subject, &marks)?;
            let alike = objects.iter().filter(|object| marks.are_on(object));
            alike.filter_map(|object| self.declaration().id_of(object)).collect()
        };
        Ok(Self::noted(subject, ids, PlainStage::Create.step()))
    }

    /// Notes the ids of what is there before ours is made, and goes on with `then`.
    pub(crate) fn noted(subject: &Subject, ids: Vec<String>, then: Step) -> Beat {
        let others = (OTHERS.to_owned(), ids.into());
        let data = [others].into_iter().chain(Self::kept_places(subject)).collect();
        next(Learned { data, ..Learned::default() }, then)
    }

    /// Whether an object was there before ours was made.
    pub(crate) fn is_others(subject: &Subject, id: &str) -> bool {
        let others = subject.data.get(OTHERS).and_then(Value::as_array);
        others.is_some_and(|ids| ids.iter().any(|known| known == id))
    }

    /// Whether what is made of the subject was there before, so that it stays when the resource goes.
    pub(crate) fn was_there(subject: &Subject) -> bool {
        let others = subject.data.get(OTHERS).and_then(Value::as_array);
        others.is_some_and(|ids| !ids.is_empty())
    }

    /// What is learned when the service has put something where it may have been already: what was
    /// there before stays noted.
    pub(crate) fn put(subject: &Subject, physical_id: Option<String>) -> Learned {
        let mut learned = Self::made(subject, physical_id);
        if Self::was_there(subject) {
            learned.data.remove(OTHERS);
        }
        learned
    }

    /// What is learned when the object is there.
    pub(crate) fn made(subject: &Subject, physical_id: Option<String>) -> Learned {
        let noted = subject.data.contains_key(OTHERS).then(|| (OTHERS.to_owned(), Value::Null));
        let data = noted.into_iter().chain(Self::kept_places(subject)).collect();
        Learned { physical_id, data, ..Learned::default() }
    }

    /// Whether a creation may have been sent: a look at what others have comes before it where the
    /// object has no mark of our own.
    pub(crate) fn may_be_made(&self, subject: &Subject) -> bool {
        subject.data.contains_key(OTHERS)
            || match self.declaration().knows_id() {
                true if self.declaration().has_entry() => Self::may_be_sent(subject),
                true => self.stands_by_itself(),
                false => matches!(self.signed_with(subject), Marks::Own(..)),
            }
    }

    /// Whether something may have been made before which it is looked what is there. What left
    /// without that look, an earlier version sent.
    pub(crate) fn may_be_sent(subject: &Subject) -> bool {
        subject.data.contains_key(OTHERS) || subject.unanswered
    }

    /// Whether the object of a twin looks the same in all that there is to know it by: others'
    /// are noted where there is no mark.
    pub(crate) fn is_unmarked(subject: &Subject) -> bool {
        subject.data.contains_key(OTHERS)
    }

    /// Whether its user may give the id, so that another project's object may have it too.
    pub(crate) fn is_named(&self) -> bool {
        self.declaration().is_named()
    }

    /// The object that an earlier creation of this resource made.
    pub(crate) fn find(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<Option<Value>, Failure> {
        if let Some(find) = self.entries_by() {
            let entries = self.entries_there(cloud, subject, find)?;
            let ours = entries.into_iter().find(|(id, _)| !Self::is_others(subject, id));
            let Some((_, entry)) = ours else { return Ok(None) };
            // Two resources that ask for the same have it by the same id.
            let id = self.known(cloud, subject)?.physical_id.into_iter().collect();
            return Ok(cloud.claim(id, self.is_named())?.map(|_| entry));
        }
        if self.declaration().knows_id() {
            let known = self.known(cloud, subject)?;
            let Some(id) = known.physical_id.as_ref().filter(|id| !Self::is_others(subject, id))
            else {
                return Ok(None);
            };
            let Some(object) = self.look(cloud, &known)? else { return Ok(None) };
            return Ok(cloud.claim(vec![id.clone()], self.is_named())?.map(|_| object));
        }
        let marks = self.marks(cloud, subject)?;
        let mut alike = Vec::new();
        for object in self.objects(cloud, subject, &marks)? {
            let id = self.declaration().id_of(&object).filter(|id| {
                subject.physical_id.as_ref() != Some(id) && !Self::is_others(subject, id)
            });
            if let Some(id) = id.filter(|_| marks.are_on(&object)) {
                if matches!(marks, Marks::Own(..)) {
                    return Ok(Some(object));
                }
                alike.push((id, object));
            }
        }
        if alike.is_empty() {
            return Ok(None);
        }
        // A twin's creation may have made them: nobody has what another resource has.
        let ids = alike.iter().map(|(id, _)| id.clone()).collect();
        let ours = cloud.claim(ids, self.is_named())?;
        Ok(alike.into_iter().find(|(id, _)| Some(id) == ours.as_ref()).map(|(_, object)| object))
    }

    /// By what the entry of a list is known that stands for the object.
    fn entries_by(&self) -> Option<&Call> {
        self.declaration().find.as_ref().filter(|_| self.declaration().has_entry())
    }

    /// The entries of a list that may stand for the object, each with its id, or with the one that
    /// the object will have.
    fn entries_there(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        find: &Call,
    ) -> Result<Vec<(String, Value)>, Failure> {
        let properties = self.properties(&subject.properties);
        let properties = Value::Object(self.looked_up(cloud, subject, properties)?);
        let has = |entry: &Value| {
            find.has.iter().all(|(path, wanted)| match shape::filled(wanted, &properties) {
                None => true,
                Some(wanted) => dotted::all(entry, path).into_iter().any(|value| match &wanted {
                    Value::Array(all) => all.contains(value),
                    wanted => wanted == value,
                }),
            })
        };
        let known = self.known(cloud, subject)?.physical_id.unwrap_or_default();
        let entries = self.listed(cloud, subject, &[])?.into_iter().filter(has);
        let with_id = entries.map(|entry| {
            (entry["id"].as_str().map_or_else(|| known.clone(), str::to_owned), entry)
        });
        Ok(with_id.collect())
    }

    /// The subject with the id that is known before its object is made.
    fn known(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Subject, Failure> {
        let physical_id = self.physical_id(cloud, subject, &Value::Null)?;
        Ok(Subject { physical_id, ..subject.clone() })
    }

    /// Whether nobody else's object can be in the way of what is made: it is put where it belongs
    /// however often, or cannot be seen.
    pub(super) fn stands_by_itself(&self) -> bool {
        let declaration = self.declaration();
        let is_put = declaration.create.as_ref().is_some_and(|create| create.put.is_some());
        declaration.knows_id() && !declaration.has_entry() && (is_put || declaration.show.is_none())
    }

    /// The key of a list of such objects.
    pub(super) fn list_name(&self) -> Option<String> {
        let declaration = self.declaration();
        let plural = || declaration.wrap.as_ref().map(|wrap| format!("{wrap}s"));
        declaration.list.clone().or_else(plural)
    }

    pub(super) fn list_path(&self) -> Option<&str> {
        let declaration = self.declaration();
        match (&declaration.find, &declaration.create) {
            (Some(find), _) if find.parts().is_some() => find.parts().map(|(_, path)| path),
            (_, Some(create)) => create.post.as_deref(),
            (_, None) => None,
        }
    }

    /// The objects that there are, as far as the service filters them.
    fn objects(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        marks: &Marks,
    ) -> Result<Vec<Value>, Failure> {
        let filters = match marks {
            Marks::Own(field, token) => vec![(field, token)],
            Marks::Alike(fields) => {
                self.signing().filter_map(|field| fields.get_key_value(field)).collect()
            }
        };
        let is_filtered = !self.declaration().find.as_ref().is_some_and(|find| find.unfiltered);
        self.listed(cloud, subject, if is_filtered { &filters } else { &[] })
    }

    /// The objects that a list with these parameters has.
    fn listed(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        filters: &[(&String, &Value)],
    ) -> Result<Vec<Value>, Failure> {
        let declaration = self.declaration();
        let Some(path) = self.list_path() else { return Ok(Vec::new()) };
        let find = declaration.find.as_ref();
        let microversion = find.and_then(|find| find.microversion.as_deref());
        let mut request = self.request(cloud, Method::Get, path, subject, microversion)?;
        for (field, value) in filters {
            request = request.query((*field).clone(), python::text(value));
        }
        for (name, value) in declaration.find.iter().flat_map(|find| &find.query) {
            let value = self.filled(cloud, subject, value, str::to_owned)?;
            request = request.query(name.clone(), value);
        }
        let objects = cloud.list(request, |body| {
            let list = self.list_name().and_then(|list| dotted::one(&body, &list).cloned());
            match list {
                Some(Value::Array(objects)) => objects,
                Some(_) => Vec::new(),
                None => match body {
                    // Some services answer with nothing around a list.
                    Value::Array(objects) => objects,
                    // What is a field of another object has that one alone.
                    whole if declaration.has_entry() => vec![whole],
                    _ => Vec::new(),
                },
            }
        })?;
        // Some services wrap each object of a list once more.
        let unwrapped = objects.into_iter().map(|object| {
            match declaration.wrap.as_deref().and_then(|wrap| object.get(wrap)) {
                Some(inner) if inner.is_object() => inner.clone(),
                _ => object,
            }
        });
        Ok(unwrapped.collect())
    }

    fn marks(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Marks, Failure> {
        match self.signed_with(subject) {
            Marks::Own(field, token) => Ok(Marks::Own(field, token)),
            Marks::Alike(_) => {
                let properties = self.properties(&subject.properties);
                let properties = self.carried_by_bodies(properties);
                let properties = self.looked_up(cloud, subject, properties)?;
                let mut fields = self.scalars(subject, properties);
                let by = self.declaration().find.as_ref().map_or(&[][..], |find| &find.by);
                fields.retain(|field, _| by.is_empty() || by.contains(field));
                Ok(Marks::Alike(fields))
            }
        }
    }

    /// The mark of our own that a creation puts on the object, or what was asked for.
    fn signed_with(&self, subject: &Subject) -> Marks {
        let fields = self.scalars(subject, self.properties(&subject.properties));
        let token: Value = subject.physical_name.as_str().into();
        match self.signing().find(|field| fields.get(*field) == Some(&token)) {
            Some(field) => Marks::Own(field.clone(), token),
            None => Marks::Alike(fields),
        }
    }

    /// The fields that can have the physical name.
    fn signing(&self) -> impl Iterator<Item = &String> {
        let declaration = self.declaration();
        let named =
            declaration.name.as_ref().map(|name| declaration.body.fields.get(name).unwrap_or(name));
        named.into_iter().chain(&declaration.token)
    }

    /// The fields of a creation that have one value, without secrets.
    fn scalars(&self, subject: &Subject, properties: JsonMap) -> JsonMap {
        let body = self.body(Purpose::Create, subject, properties);
        let Value::Object(mut fields) = self.declaration().unwrapped(body) else {
            return JsonMap::new();
        };
        // A template may have them further in.
        if self.declaration().body.shape.is_some() {
            fields = flattened(fields);
        }
        fields.retain(|_, value| value.is_string() || value.is_number() || value.is_boolean());
        fields
    }
}

/// A field of an object, or what is at a dotted path in it.
fn shown<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get(field).or_else(|| dotted::one(object, field))
}

/// Fields of maps beside the maps, by their dotted paths.
fn flattened(fields: JsonMap) -> JsonMap {
    let mut flat = JsonMap::new();
    for (name, value) in fields {
        match value {
            Value::Object(inner) => {
                let inner = flattened(inner).into_iter();
                flat.extend(inner.map(|(key, value)| (format!("{name}.{key}"), value)));
            }
            value => {
                flat.insert(name, value);
            }
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn alike_is_what_agrees_in_all_that_a_list_shows() {
        let Value::Object(fields) = json!({ "name": "x", "ram": 512, "secret": "s" }) else {
            unreachable!()
        };
        let marks = Marks::Alike(fields);
        assert!(marks.are_on(&json!({ "name": "x", "ram": "512", "id": "1" })));
        assert!(!marks.are_on(&json!({ "name": "x", "ram": 1024 })));
        assert!(!marks.are_on(&json!({ "id": "1" })), "nothing that was sent is shown");
    }

    #[test]
    fn a_mark_may_lie_further_in() {
        let Value::Object(fields) = json!({ "type": "key", "meta": { "name": "x" } }) else {
            unreachable!()
        };
        let marks = Marks::Alike(flattened(fields));
        assert!(marks.are_on(&json!({ "type": "key", "meta": { "name": "x", "mode": "cbc" } })));
        assert!(!marks.are_on(&json!({ "type": "key", "meta": { "name": "y" } })));
    }

    #[test]
    fn nothing_is_alike_where_nothing_was_asked_for() {
        assert!(!Marks::Alike(JsonMap::new()).are_on(&json!({ "id": "1" })));
    }

    #[test]
    fn others_are_only_those_that_were_noted() {
        let data = BTreeMap::from([(OTHERS.to_owned(), json!(["1"]))]);
        let subject = Subject { data, ..Subject::default() };
        assert!(Declared::is_others(&subject, "1"));
        assert!(!Declared::is_others(&subject, "2"));
    }
}
