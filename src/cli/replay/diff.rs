//! What differs in a stack between two moments: its definition, its resources, what it puts out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::state::{Replayed, time};
use crate::cli::columns::{cut, table};
use crate::cli::stack_log::{Histories, StackLog};
use crate::events::Then;
use crate::projections::{DIFFERENCES_MAX, differences};

/// What is compared as a whole, with the title that it has in a text.
const PARTS: [(&str, &str); 6] = [
    ("stack", "Stack"),
    ("template", "Template"),
    ("environment", "Environment"),
    ("files", "Files"),
    ("parameters", "Parameters"),
    ("outputs", "Outputs"),
];

/// What became of a resource: the word, and the sign that plans have for it.
const SIGNS: [(&str, char); 4] =
    [("created", '+'), ("changed", '~'), ("replaced", '±'), ("deleted", '-')];

/// What of a resource is known by its place, and not compared.
const NAMES: [&str; 3] = ["resource_name", "resource_id", "resource_type"];

/// The differences between two moments.
pub(super) struct Diff {
    stack_name: String,
    /// Position and time of each.
    moments: [(u64, String); 2],
    /// By the names of `PARTS`.
    parts: BTreeMap<&'static str, Vec<Value>>,
    resources: Vec<Value>,
}

/// A stack at one moment, as it is compared.
struct Side {
    replayed: Replayed,
    parts: Value,
    resources: Map<String, Value>,
}

impl Side {
    async fn of(from: &Histories, log: &StackLog, then: Then) -> Result<Side, String> {
        let replayed = Replayed::of(log, Some(log.when(then)?))?;
        let mut parts = replayed.source(from).await?;
        let mut shown = replayed.as_json();
        let mut stack = shown["stack"].take();
        parts["parameters"] = stack["parameters"].take();
        let outputs = shown["outputs"].as_array().into_iter().flatten().map(|output| {
            let key = output["output_key"].as_str().unwrap_or_default().to_owned();
            (key, output["output_value"].clone())
        });
        parts["outputs"] = outputs.collect();
        parts["stack"] = stack;
        let resources = shown["resources"].as_array().into_iter().flatten().map(|resource| {
            let name = resource["resource_name"].as_str().unwrap_or_default();
            // Beside one that replaces it, one that is still there has no name of its own.
            let key = match resource["replaced"] == true {
                true => {
                    format!("{name} ({})", resource["resource_id"].as_str().unwrap_or_default())
                }
                false => name.to_owned(),
            };
            (key, resource.clone())
        });
        Ok(Side { parts, resources: resources.collect(), replayed })
    }
}

impl Diff {
    /// Compares a stack at one moment with itself at another.
    pub(super) async fn between(
        from: &Histories,
        log: &StackLog,
        (old, new): (Then, Then),
    ) -> Result<Diff, String> {
        let (old, new) = (Side::of(from, log, old).await?, Side::of(from, log, new).await?);
        let parts = PARTS.map(|(name, _)| (name, differences(&old.parts[name], &new.parts[name])));
        let names: BTreeSet<&String> = old.resources.keys().chain(new.resources.keys()).collect();
        let resources =
            names.iter().filter_map(|name| resource(name, &old.resources, &new.resources));
        let moment = |side: &Side| (side.replayed.position.0, time(side.replayed.at));
        Ok(Diff {
            stack_name: new.parts["stack"]["stack_name"].as_str().unwrap_or_default().to_owned(),
            moments: [moment(&old), moment(&new)],
            resources: resources.collect(),
            parts: parts.into(),
        })
    }

    /// Keeps one resource alone, where one is named.
    pub(super) fn keep(&mut self, resource: Option<&str>) {
        if let Some(name) = resource {
            self.parts.clear();
            self.resources.retain(|it| it["resource_name"] == name);
        }
    }

    pub(super) fn as_json(&self) -> Value {
        let moment = |(position, at): &(u64, String)| json!({ "position": position, "at": at });
        let mut shown = json!({
            "stack_name": self.stack_name,
            "from": moment(&self.moments[0]),
            "to": moment(&self.moments[1]),
        });
        for (name, differences) in &self.parts {
            shown[*name] = differences.clone().into();
        }
        shown["resources"] = self.resources.clone().into();
        shown
    }

    pub(super) fn as_text(&self, columns: Option<usize>) -> String {
        let [from, to] =
            self.moments.each_ref().map(|(position, at)| format!("position {position} ({at})"));
        let mut lines = vec![format!("{}: {from} → {to}", self.stack_name)];
        for (name, title) in PARTS {
            let differences = self.parts.get(name).map(Vec::as_slice).unwrap_or_default();
            if !differences.is_empty() {
                lines.extend([String::new(), title.to_owned()]);
                lines.extend(differences.iter().map(|it| format!("  {}", told(it))));
            }
            if differences.len() >= DIFFERENCES_MAX {
                lines.push("  and more".to_owned());
            }
        }
        if !self.resources.is_empty() {
            lines.extend([String::new(), "Resources".to_owned()]);
        }
        let text =
            |resource: &Value, key: &str| resource[key].as_str().unwrap_or_default().to_owned();
        let rows = self.resources.iter().map(|resource| {
            let sign = SIGNS.iter().find(|(word, _)| resource["change"] == *word);
            let sign = sign.map(|(_, sign)| sign.to_string()).unwrap_or_default();
            vec![sign, text(resource, "resource_name"), text(resource, "resource_type")]
        });
        let heads = table(&rows.collect::<Vec<_>>(), None);
        for (head, resource) in heads.lines().zip(&self.resources) {
            lines.push(format!("  {head}"));
            let differences = resource["differences"].as_array().into_iter().flatten();
            lines.extend(differences.map(|it| format!("      {}", told(it))));
        }
        if lines.len() == 1 {
            lines.push("nothing differs".to_owned());
        }
        let fit = |line: String| columns.map_or(line.clone(), |columns| cut(&line, columns));
        lines.into_iter().map(fit).collect::<Vec<_>>().join("\n")
    }
}

/// What became of a resource; nothing where it is the same.
fn resource(name: &str, old: &Map<String, Value>, new: &Map<String, Value>) -> Option<Value> {
    let (before, after) = (old.get(name), new.get(name));
    let one = after.or(before)?;
    let change = match (before, after) {
        (None, _) => "created",
        (_, None) => "deleted",
        (Some(before), Some(after)) if before["resource_id"] != after["resource_id"] => "replaced",
        (Some(before), Some(after)) if before != after => "changed",
        _ => return None,
    };
    let compared = |side: Option<&Value>| {
        let mut side = side.cloned().unwrap_or_default();
        if let Value::Object(side) = &mut side {
            side.retain(|key, _| !NAMES.contains(&key.as_str()));
        }
        side
    };
    let differences = match change {
        "changed" | "replaced" => differences(&compared(before), &compared(after)),
        _ => Vec::new(),
    };
    Some(json!({
        "resource_name": one["resource_name"],
        "resource_type": one["resource_type"],
        "change": change,
        "differences": differences,
    }))
}

/// `place: old → new`.
pub(super) fn told(difference: &Value) -> String {
    let place = difference["place"].as_str().unwrap_or_default();
    let word = |value: &Value| match value {
        Value::Null => "-".to_owned(),
        Value::String(text) if !text.is_empty() && !text.contains(char::is_whitespace) => {
            text.clone()
        }
        value => value.to_string(),
    };
    format!("{place}: {} → {}", word(&difference["old"]), word(&difference["new"]))
}
