//! Collections whose objects come as YAML text, several in one: Mistral's workflows.

use serde_json::{Value, json};

use super::super::answer::{Answer, Reply};
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::doc::Doc;
use super::super::keystone::Scope;
use super::Place;
use super::bodies::view;
use super::objects::{change, make};
use crate::model::JsonMap;

/// Makes the objects of a text, or changes those of the same names.
pub(super) fn take(cloud: &mut Cloud, ask: &Ask, scope: &Scope, place: &Place) -> Reply {
    let collection = &place.collection;
    let text = String::from_utf8_lossy(&ask.body).into_owned();
    let wrong = |text: String| collection.bad_request(format!("Definition is invalid: {text}"));
    let all: JsonMap = serde_yaml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let mut views = Vec::new();
    for (name, of) in all.iter().filter(|(name, _)| *name != "version") {
        let inner = of.as_object().ok_or_else(|| wrong(format!("{name} is no map")))?;
        let mut given = JsonMap::new();
        given.set("name", name.as_str());
        given.set("definition", text.as_str());
        given.set("input", inputs(inner));
        given.set("tags", inner.list("tags").to_vec());
        for (key, value) in &ask.query {
            given.set(key, value.as_str());
        }
        let row = match ask.method.as_str() {
            "POST" => make(cloud, ask, scope, place, given)?,
            _ => {
                given.remove("name");
                change(cloud, ask, scope, place, (name, given))?
            }
        };
        views.push(Value::Object(view(cloud, ask, scope, place, &row)));
    }
    let statuses = collection.statuses;
    let status = if ask.method == "POST" { statuses.create } else { statuses.update };
    Ok(Answer::json(status, &json!({&collection.list: views})))
}

/// `a, b=1`: the names of what a workflow is given.
fn inputs(of: &JsonMap) -> String {
    let inputs = of.list("input").iter().map(|input| match input {
        Value::Object(unset) => {
            let parts = unset.iter().map(|(name, value)| format!("{name}={value}"));
            parts.collect::<Vec<_>>().join(", ")
        }
        other => super::super::doc::shown(other),
    });
    inputs.collect::<Vec<_>>().join(", ")
}
