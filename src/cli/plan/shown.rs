//! A plan as people know it from other tools: a sign before each resource that something becomes
//! of, what differs in it, and how many there are of each.

use serde_json::Value;

use crate::cli::columns::{cut, table};

/// What becomes of a resource: the API's word, the sign, its color, and the word of the counts.
const SIGNS: [(&str, char, u8, &str); 7] = [
    ("created", '+', 32, "create"),
    ("updated", '~', 33, "update"),
    ("replaced", '±', 35, "replace"),
    ("deleted", '-', 31, "delete"),
    ("kept", '=', 34, "keep in the cloud"),
    ("suspended", '~', 33, "suspend"),
    ("resumed", '~', 33, "resume"),
];

/// The plan in lines that fit.
pub(in crate::cli) fn text(plan: &Value, columns: Option<usize>, is_colored: bool) -> String {
    let resources = || plan["resources"].as_array().into_iter().flatten();
    let signed = resources().filter_map(|resource| {
        let change = resource["change"].as_str()?;
        let (_, sign, color, _) = SIGNS.iter().find(|(known, ..)| *known == change)?;
        Some((resource, *sign, *color))
    });
    let signed: Vec<_> = signed.collect();
    let rows = signed.iter().map(|(resource, sign, _)| {
        let text = |key: &str| resource[key].as_str().unwrap_or_default().to_owned();
        let is_sure = resource["at_least"] == resource["change"];
        let sign = format!("{sign}{}", if is_sure { ' ' } else { '?' });
        vec![sign, text("resource_name"), text("resource_type"), text("why")]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let heads = table(&rows, columns);
    let mut lines = Vec::new();
    for (head, (resource, _, color)) in heads.lines().zip(&signed) {
        lines.push(match is_colored {
            true => format!("\x1b[{color}m{head}\x1b[0m"),
            false => head.to_owned(),
        });
        let differs = resource["properties"].as_array().into_iter().flatten();
        let differs = differs.map(|it| format!("     {}", property(it, resource)));
        lines.extend(differs.map(|line| columns.map_or(line.clone(), |fits| cut(&line, fits))));
        if let Some(loses) = resource["loses"].as_str() {
            let said = if resource["change"] == "created" { "comes back without" } else { "lost" };
            let line = format!("     {said}: {loses}");
            lines.push(columns.map_or(line.clone(), |fits| cut(&line, fits)));
        }
        let users: Vec<&str> = resource["leads_to"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if !users.is_empty() && resource["change"] != "created" {
            let line = format!("     which leads to {}", users.join(", "));
            lines.push(columns.map_or(line.clone(), |fits| cut(&line, fits)));
        }
    }
    if !lines.is_empty() {
        lines.push(String::new());
    }
    lines.push(counts(plan));
    let resting = resources().filter(|resource| resource["stays_suspended"] == true);
    let resting: Vec<&str> = resting.filter_map(|it| it["resource_name"].as_str()).collect();
    if !resting.is_empty() {
        let line = format!("suspended until the stack is resumed: {}", resting.join(", "));
        lines.push(columns.map_or(line.clone(), |fits| cut(&line, fits)));
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// `name: "old" -> "new"`.
fn property(differs: &Value, resource: &Value) -> String {
    let name = differs["name"].as_str().unwrap_or_default();
    let new = match differs["known"] == true {
        true => differs["new"].to_string(),
        false => "(known once it is done)".to_owned(),
    };
    match resource["change"] == "created" {
        true => format!("{name}: {new}"),
        false => format!("{name}: {} -> {new}", differs["old"]),
    }
}

fn counts(plan: &Value) -> String {
    let name = plan["stack_name"].as_str().unwrap_or_default();
    let count = |word: &str| plan["counts"][word].as_u64().unwrap_or_default();
    let told = SIGNS.iter().filter(|(word, ..)| count(word) > 0);
    let mut told: Vec<String> =
        told.map(|(word, _, _, to)| format!("{} to {to}", count(word))).collect();
    if told.is_empty() {
        told.push("nothing to do".to_owned());
    }
    if count("unchanged") > 0 {
        told.push(format!("{} unchanged", count("unchanged")));
    }
    format!("{name}: {}", told.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_plan_reads_as_those_of_other_tools() {
        let plan = json!({
            "stack_name": "web",
            "counts": { "created": 1, "updated": 1, "replaced": 1, "deleted": 1, "kept": 1,
                        "unchanged": 2 },
            "resources": [
                { "resource_name": "a", "resource_type": "T", "change": "created",
                  "at_least": "created", "why": "it is new",
                  "properties": [{ "name": "size", "old": null, "new": 1, "known": true }],
                  "leads_to": ["b"] },
                { "resource_name": "b", "resource_type": "T", "change": "updated",
                  "at_least": "unchanged", "why": "size may change",
                  "properties": [{ "name": "size", "old": 1, "new": null, "known": false }],
                  "leads_to": [] },
                { "resource_name": "c", "resource_type": "T", "change": "replaced",
                  "at_least": "replaced", "why": "name changes",
                  "properties": [{ "name": "name", "old": "x", "new": "y", "known": true }],
                  "leads_to": ["b"] },
                { "resource_name": "d", "resource_type": "T", "change": "deleted",
                  "at_least": "deleted", "why": "the template does not have it",
                  "loses": "the data on the volume", "properties": [], "leads_to": [] },
                { "resource_name": "e", "resource_type": "T", "change": "kept",
                  "at_least": "kept", "why": "the template does not have it",
                  "properties": [], "leads_to": [] },
                { "resource_name": "f", "resource_type": "T", "change": "unchanged",
                  "at_least": "unchanged", "why": "", "properties": [], "leads_to": [] },
            ],
        });
        let expected = "+   a  T  it is new\n     size: 1\n\
                        ~?  b  T  size may change\n     size: 1 -> (known once it is done)\n\
                        ±   c  T  name changes\n     name: \"x\" -> \"y\"\n     \
                        which leads to b\n\
                        -   d  T  the template does not have it\n     lost: the data on the volume\n\
                        =   e  T  the template does not have it\n\n\
                        web: 1 to create, 1 to update, 1 to replace, 1 to delete, \
                        1 to keep in the cloud, 2 unchanged\n";
        assert_eq!(text(&plan, None, false), expected);
        let colored = text(&plan, None, true);
        assert!(colored.starts_with("\x1b[32m+   a  T  it is new\x1b[0m\n"), "{colored}");
        assert!(
            text(&plan, Some(12), false).lines().take(5).all(|line| line.chars().count() <= 12)
        );
    }

    #[test]
    fn a_plan_of_nothing_says_so() {
        let plan = json!({ "stack_name": "web", "counts": { "unchanged": 3 }, "resources": [] });
        assert_eq!(text(&plan, None, false), "web: nothing to do, 3 unchanged\n");
    }
}
