//! What there is of an object, against its properties as they are on record.

use serde_json::Value;

use super::Declared;
use super::shape;
use super::translation::rename;
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Reality, Subject};
use crate::resource_types::python;
use crate::resource_types::resource_type::At;

impl Declared {
    /// Compares the live object with the subject's properties. What the template does not say is
    /// nothing to compare with.
    pub(super) fn compared(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Reality, Failure> {
        let (program, at) = (self.program(), At { declared: self, cloud, subject });
        let Some(object) = program.object(at)? else {
            return Ok(Reality::Gone);
        };
        let given = self.properties(&subject.properties);
        let wanted = self.looked_up(cloud, subject, given)?;
        let mut differs = JsonMap::new();
        for (name, schema) in &self.declaration().properties {
            let is_observed = program.observes(subject, name, schema.update_allowed)
                && !self.declaration().unobserved.contains(name);
            let wanted = wanted.get(name).filter(|wanted| !wanted.is_null());
            let Some(wanted) = wanted.filter(|_| is_observed) else { continue };
            let live = match self.live_members(cloud, subject, name, wanted)? {
                Some(live) => Some(live),
                None => program.live(at, &object, name, wanted)?,
            };
            let is_told =
                |live: &Value| !agrees(wanted, live) && !self.is_mark(subject, name, live);
            if let Some(live) = live.filter(is_told) {
                differs.insert(name.clone(), live);
            }
        }
        Ok(Reality::Differs(differs))
    }

    /// Whether a field has what Hearth finds the object by, because the user has put nothing there.
    fn is_mark(&self, subject: &Subject, name: &str, live: &Value) -> bool {
        self.declaration().token.as_deref() == Some(name) && *live == subject.physical_name
    }

    /// A property as the shown object has it; `None` where it tells nothing of it.
    pub(crate) fn plain_live(&self, object: &Value, name: &str, wanted: &Value) -> Option<Value> {
        let rules = &self.declaration().body;
        if rules.merge.iter().any(|merged| merged == name) {
            let keys = wanted.as_object().into_iter().flat_map(JsonMap::keys);
            let known = keys.filter_map(|key| Some((key.clone(), object.get(key)?.clone())));
            return Some(Value::Object(known.collect()));
        }
        if let Some(shape) = &rules.shape {
            return shape::read(shape, object, name).filter(|live| !live.is_null());
        }
        let field = rules.fields.get(name).map_or(name, String::as_str);
        Some(self.in_own_words(name, object.get(field)?.clone(), wanted))
    }

    /// A field under the names that the property has within; of a map, what is said of it.
    fn in_own_words(&self, name: &str, live: Value, wanted: &Value) -> Value {
        let mut map = JsonMap::from_iter([(name.to_owned(), live)]);
        let mut has_other_names = false;
        for (path, field) in &self.declaration().body.fields {
            let path: Vec<&str> = path.split('.').collect();
            if path.len() > 1 && path.first() == Some(&name) {
                has_other_names = true;
                rename(&mut map, &path, field);
            }
        }
        let mut live = map.shift_remove(name).unwrap_or_default();
        if let (true, Value::Object(live)) = (has_other_names, &mut live) {
            live.retain(|key, _| wanted.get(key).is_some_and(|value| !value.is_null()));
        }
        live
    }
}

/// Whether what there is is what is wanted. Maps may have more keys where they stand in lists:
/// clouds add some of their own. The order of texts in a list is of no account.
fn agrees(wanted: &Value, live: &Value) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            let set = wanted.iter().filter(|(_, value)| !value.is_null());
            let mut count = 0;
            let all = set
                .inspect(|_| count += 1)
                .all(|(key, value)| live.get(key).is_some_and(|live| agrees(value, live)));
            all && count == live.values().filter(|value| !value.is_null()).count()
        }
        (Value::Array(wanted), Value::Array(live)) => {
            wanted.len() == live.len()
                && wanted.iter().all(|one| live.iter().any(|other| covers(one, other)))
        }
        _ => same_text(wanted, live),
    }
}

/// Whether an entry of a list is the one that is wanted.
fn covers(wanted: &Value, live: &Value) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => wanted
            .iter()
            .filter(|(_, value)| !value.is_null())
            .all(|(key, value)| live.get(key).is_some_and(|live| covers(value, live))),
        (Value::Array(_), Value::Array(_)) => agrees(wanted, live),
        _ => same_text(wanted, live),
    }
}

/// Numbers and truth values may be written as text; nothing is as good as an empty text.
fn same_text(wanted: &Value, live: &Value) -> bool {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::Bool(value) => value.to_string(),
        other => python::text(other),
    };
    python::equal(wanted, live) || text(wanted).eq_ignore_ascii_case(&text(live))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(wanted: Value, live: Value, agree: bool) {
        assert_eq!(agrees(&wanted, &live), agree, "{wanted} and {live}");
    }

    #[test]
    fn values_agree_however_they_are_written() {
        check(json!(4), json!("4"), true);
        check(json!(true), json!("True"), true);
        check(json!(""), json!(null), true);
        check(json!("a"), json!("b"), false);
        check(json!("a"), json!(null), false);
    }

    #[test]
    fn a_map_is_compared_whole_and_an_entry_of_a_list_by_what_is_said_of_it() {
        check(json!({"a": 1}), json!({"a": 1, "b": 2}), false);
        check(json!({"a": 1, "b": null}), json!({"a": 1}), true);
        check(json!([{"start": "1"}]), json!([{"start": "1", "end": "9"}]), true);
        check(json!(["x", "y"]), json!(["y", "x"]), true);
        check(json!(["x"]), json!(["x", "y"]), false);
    }
}
