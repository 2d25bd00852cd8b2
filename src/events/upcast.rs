//! Old bodies in today's shape: an event lives for ever, its schema does not.

use std::borrow::Cow;

use serde_json::Value;

/// The body in the shape of the newest version. Each change of a shape adds an arm for
/// `(type, old version)` here and a recorded history under `tests/data/histories/`.
pub fn upcast<'a>(event_type: &str, version: u16, body: &'a str) -> Cow<'a, str> {
    match (event_type, version) {
        ("CallIntended", 1) => with_todays_stage(body, "step"),
        ("CallAnswered", 1) => with_todays_stage(body, "next"),
        _ => Cow::Borrowed(body),
    }
}

/// Stages that version 1 names otherwise: how, by what name today, and which of several of that
/// name it is.
const RENAMED: [(&str, &str, Option<u32>); 6] = [
    (r#""name":"extra_specs""#, "members", None),
    (r#""name":"tenants""#, "members", Some(1)),
    (r#""name":"agents""#, "members", None),
    (r#""name":"agent""#, "members", None),
    (r#""name":"drop""#, "rules", None),
    (r#""name":"add""#, "rules", None),
];

fn with_todays_stage<'a>(body: &'a str, field: &str) -> Cow<'a, str> {
    let found = RENAMED.iter().find(|(written, ..)| body.contains(written));
    let Some((written, name, index)) = found else { return Cow::Borrowed(body) };
    let Ok(mut value) = serde_json::from_str::<Value>(body) else { return Cow::Borrowed(body) };
    let Some(step) = value.get_mut(field).and_then(Value::as_object_mut) else {
        return Cow::Borrowed(body);
    };
    // The words may stand in what the step remembers.
    let former = step.get("name").and_then(Value::as_str).unwrap_or_default();
    if written.trim_start_matches(r#""name":"#).trim_matches('"') != former {
        return Cow::Borrowed(body);
    }
    step.insert("name".to_owned(), (*name).into());
    if let Some(index) = index {
        let state = step.entry("state").or_insert(Value::Null);
        state["index"] = (*index).into();
    }
    Cow::Owned(value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::events::{Event, ResourceEvent};

    fn stage(
        version: u16,
        event_type: &str,
        body: serde_json::Value,
    ) -> (String, serde_json::Value) {
        let event = ResourceEvent::decode(event_type, version, &body.to_string());
        let step = match event.unwrap_or_else(|error| panic!("{error}")) {
            ResourceEvent::CallIntended(body) => body.step,
            ResourceEvent::CallAnswered(body) => body.next,
            other => panic!("{other:?}"),
        };
        (step.name, step.state)
    }

    #[test]
    fn stages_of_version_1_have_their_names_of_today() {
        let intended = json!({ "token": "t", "step": { "name": "tenants", "mutates": true } });
        let (name, state) = stage(1, "CallIntended", intended);
        assert_eq!((name.as_str(), state), ("members", json!({ "index": 1 })));
        let answered = json!({ "next": { "name": "drop", "state": { "tries": 2 } } });
        let (name, state) = stage(1, "CallAnswered", answered.clone());
        assert_eq!((name.as_str(), state), ("rules", json!({ "tries": 2 })));
        assert_eq!(stage(2, "CallAnswered", answered).0, "drop");
    }

    #[test]
    fn a_word_that_a_step_remembers_is_no_stage() {
        let remembers = json!({ "pause": { "next": { "name": "drop" } } });
        let body = json!({ "next": { "name": "pause", "state": remembers } });
        let (name, state) = stage(1, "CallAnswered", body);
        assert_eq!((name.as_str(), state), ("pause", remembers));
    }
}
