//! What the services of a recording have since: what was made and deleted while it is played.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{RecordedAnswer, RecordedRequest, RecordedType};
use crate::model::JsonMap;
use crate::resource_types::python;

/// Objects made and deleted.
#[derive(Default)]
pub(super) struct Made {
    /// The objects of each collection, by the path to which they were posted.
    objects: BTreeMap<String, Vec<Value>>,
    /// The answers to their creations, by their own paths.
    shown: BTreeMap<String, Value>,
    gone: BTreeSet<String>,
    /// What was put somewhere, by its path.
    put: BTreeMap<String, Value>,
    /// The paths of what the recording made, whether it is made yet or not.
    to_be_made: BTreeSet<String>,
    /// The paths of Neutron's objects that the recording puts something into: they are there before.
    to_be_put: BTreeSet<String>,
    /// The last recorded look at each of them that found it.
    seen: BTreeMap<String, RecordedAnswer>,
}

fn id(object: &Value) -> Option<String> {
    ["id", "port_id", "name"].iter().find_map(|key| Some(object[*key].as_str()?.to_owned()))
}

/// The object of an answer, within its wrap where it has one.
fn object(answer: &RecordedAnswer) -> Option<(String, &Value)> {
    let wrapped = answer.body.as_object().and_then(|body| body.values().next());
    let mut objects = [&answer.body].into_iter().chain(wrapped);
    objects.find_map(|object| Some((id(object)?, object)))
}

impl Made {
    pub(super) fn of(recorded: &RecordedType) -> Self {
        let creations = recorded.requests.values().flatten().filter(|one| one.method == "POST");
        let to_be_made = creations.filter_map(|one| {
            let (id, _) = object(recorded.answers.get(one.answer?)?)?;
            Some(format!("{}/{id}", one.path.trim_end_matches('/')))
        });
        let all = recorded.requests.values().flatten();
        let puts = all.filter(|one| one.method == "PUT" && one.service == "network");
        let to_be_put = puts.map(|one| one.path.clone()).collect();
        Self { to_be_made: to_be_made.collect(), to_be_put, ..Self::default() }
    }

    /// An answer to a look that fits what is there by now.
    pub(super) fn correct(&mut self, asked: &RecordedRequest, answer: &mut RecordedAnswer) {
        if asked.method != "GET" || !self.to_be_made.contains(&asked.path) {
            return;
        }
        if !self.shown.contains_key(&asked.path) {
            *answer = RecordedAnswer { status: 404, ..RecordedAnswer::default() };
        } else if answer.status < 400 {
            self.seen.insert(asked.path.clone(), answer.clone());
        } else {
            let shown = self.shown[&asked.path].clone();
            let made = RecordedAnswer { status: 200, body: shown, ..RecordedAnswer::default() };
            *answer = self.seen.get(&asked.path).cloned().unwrap_or(made);
        }
    }

    /// Notes what a request leads to, and brings the lists of its answer up to what is there.
    pub(super) fn note(&mut self, asked: &RecordedRequest, answer: &mut RecordedAnswer) {
        if asked.method == "DELETE" && answer.status < 400 {
            self.gone.extend(asked.path.rsplit('/').next().map(str::to_owned));
            self.shown.remove(&asked.path);
            self.drop_parts(&asked.path);
        }
        if asked.method == "PUT" && answer.status < 400 && answer.body.is_object() {
            self.put.insert(asked.path.clone(), answer.body.clone());
        }
        if asked.method == "POST"
            && answer.status < 400
            && let Some((id, object)) = object(answer)
        {
            self.gone.remove(&id);
            self.shown
                .insert(format!("{}/{id}", asked.path.trim_end_matches('/')), answer.body.clone());
            self.objects.entry(asked.path.clone()).or_default().push(object.clone());
        }
        let lists = answer.body.as_object_mut().into_iter().flat_map(JsonMap::values_mut);
        for list in lists.filter_map(Value::as_array_mut) {
            for made in self.objects.get(&asked.path).into_iter().flatten() {
                if !list.iter().any(|item| id(item) == id(made)) {
                    list.push(made.clone());
                }
            }
            list.retain(|item| id(item).is_none_or(|id| !self.gone.contains(&id)));
        }
    }

    /// What names the object of a path as its own (`security_group_id`) goes with that.
    fn drop_parts(&mut self, path: &str) {
        let mut steps = path.rsplit('/');
        let (Some(id), Some(collection)) = (steps.next(), steps.next()) else { return };
        let field = format!("{}_id", collection.trim_end_matches('s').replace('-', "_"));
        let is_part = |body: &Value| {
            let object = body.as_object().and_then(|body| body.values().next());
            object.is_some_and(|object| object[field.as_str()] == id)
        };
        self.shown.retain(|_, body| !is_part(body));
    }

    /// The paths of what was made and is still there.
    pub(super) fn left(&self) -> impl Iterator<Item = &String> {
        self.shown.keys()
    }

    /// The answer to what nobody asked when the recording was made: the collection with what was
    /// made, what was made itself, or nothing; and what is sent is done.
    pub(super) fn answer(&self, asked: &RecordedRequest) -> RecordedAnswer {
        let found = |body| RecordedAnswer { status: 200, body, ..RecordedAnswer::default() };
        let none = |status| RecordedAnswer { status, ..RecordedAnswer::default() };
        match asked.method.as_str() {
            "GET" if self.shown.contains_key(&asked.path) => found(self.shown[&asked.path].clone()),
            "GET" if self.put.contains_key(&asked.path) => found(self.put[&asked.path].clone()),
            "GET" if self.has_collection(&asked.path) || !asked.query.is_empty() => {
                found(self.collection(asked))
            }
            "GET" if self.to_be_put.contains(&asked.path) => found(json!({})),
            "GET" | "HEAD" => none(404),
            "POST" => {
                let mut body = asked.body.clone().unwrap_or_default();
                let object = body.as_object_mut().and_then(|body| body.values_mut().next());
                if let Some(Value::Object(object)) = object {
                    object.insert("id".to_owned(), "sup".into());
                }
                RecordedAnswer { status: 201, body, ..RecordedAnswer::default() }
            }
            _ => none(204),
        }
    }

    fn has_collection(&self, path: &str) -> bool {
        let holds = |one: &String| one.rsplit_once('/').is_some_and(|(parent, _)| parent == path);
        is_collection(path) || self.to_be_made.iter().any(holds)
    }

    /// What was made in a collection, where it is what the query asks for.
    fn collection(&self, asked: &RecordedRequest) -> Value {
        let path = asked.path.strip_suffix("/detail").unwrap_or(&asked.path);
        let name = path.rsplit('/').next().unwrap_or_default();
        let name = name.strip_prefix("os-").unwrap_or(name).replace('-', "_");
        let is_asked_for = |object: &&Value| {
            let same = |(field, wanted): (&String, &Value)| {
                object.get(field).is_none_or(|value| python::text(value) == python::text(wanted))
            };
            let is_gone = id(object).is_some_and(|id| self.gone.contains(&id));
            !is_gone && asked.query.iter().all(same)
        };
        let made = self.objects.get(path).into_iter().flatten().filter(is_asked_for);
        json!({ name: made.collect::<Vec<_>>() })
    }
}

/// Whether a path names a collection, as far as can be seen: its last part is a word and no id.
fn is_collection(path: &str) -> bool {
    let path = path.strip_suffix("/detail").unwrap_or(path);
    let last = path.rsplit('/').next().unwrap_or_default();
    last.ends_with('s') && !last.contains(|letter: char| letter.is_ascii_digit())
}
