//! Lists of containers and objects: prefix, delimiter, marker, and the forms they come in.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::answer::Answer;
use super::super::ask::Ask;

/// Longest list.
pub(super) const PAGE_MAX: usize = 10_000;

/// What a list is to show.
pub(super) struct Listing {
    json: bool,
    prefix: String,
    delimiter: Option<String>,
    marker: String,
    end_marker: Option<String>,
    limit: usize,
}

impl Listing {
    pub(super) fn of(ask: &Ask) -> Self {
        let text = |key: &str| ask.query(key).unwrap_or_default().to_owned();
        let accepts_json = ask.header("accept").is_some_and(|types| types.contains("json"));
        Self {
            json: ask.query("format").map_or(accepts_json, |format| format == "json"),
            prefix: text("prefix"),
            delimiter: ask.query("delimiter").filter(|d| !d.is_empty()).map(str::to_owned),
            marker: text("marker"),
            end_marker: ask.query("end_marker").filter(|m| !m.is_empty()).map(str::to_owned),
            limit: ask.query("limit").and_then(|limit| limit.parse().ok()).unwrap_or(PAGE_MAX),
        }
    }

    /// Entries have a `name`; they are sorted by it.
    pub(super) fn answer(&self, mut entries: Vec<Value>) -> Answer {
        entries.sort_by(|a, b| name(a).cmp(name(b)));
        let mut seen = BTreeSet::new();
        let mut shown = Vec::new();
        for entry in entries {
            let entry = match self.directory_of(name(&entry)) {
                Some(directory) if !seen.insert(directory.clone()) => continue,
                Some(directory) => json!({"subdir": directory}),
                None => entry,
            };
            if self.wants(name(&entry)) {
                shown.push(entry);
            }
        }
        shown.truncate(self.limit.min(PAGE_MAX));
        if self.json {
            return Answer::json(200, &Value::Array(shown));
        }
        if shown.is_empty() {
            return Answer::empty(204);
        }
        let lines: String = shown.iter().map(|entry| format!("{}\n", name(entry))).collect();
        Answer::text(200, "text/plain; charset=utf-8", lines)
    }

    fn wants(&self, name: &str) -> bool {
        name.starts_with(&self.prefix)
            && name > self.marker.as_str()
            && self.end_marker.as_ref().is_none_or(|end| name < end.as_str())
    }

    /// Up to the delimiter after the prefix: what stands for all that begin so.
    fn directory_of(&self, name: &str) -> Option<String> {
        let delimiter = self.delimiter.as_ref()?;
        let rest = name.strip_prefix(&self.prefix)?;
        let at = rest.find(delimiter.as_str())?;
        Some(format!("{}{}", self.prefix, &rest[..at + delimiter.len()]))
    }
}

fn name(entry: &Value) -> &str {
    entry.get("name").or(entry.get("subdir")).and_then(Value::as_str).unwrap_or_default()
}
