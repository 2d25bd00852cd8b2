//! Wrong values of properties, a sample over all properties of all types, beside what the real Heat
//! says of them; `tests/language/wrong_values.py` and `heat_words.py` made it, and make more. Where
//! Hearth says something else stands in a file, each time with its reason.
//!
//! `UPDATE_GOLDEN=1` writes that file anew; what had no reason gets `?`, with which the test fails.

use std::collections::{BTreeMap, BTreeSet};

use hearth::resource_types::Registry;
use hearth::template::{PseudoParameters, StackDefinition, StackSource};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::type_schemas::{GONE_FROM_HEAT, IDLE_IN_HEAT};

const CASES: &str = "tests/data/resource_types/wrong_values.jsonl";
const DIFFERENCES: &str = "tests/data/resource_types/wrong_values_differences.yaml";

/// A type, properties of a resource `r` of that type, and Heat's words; null: it takes them.
type Case = (String, Map<String, Value>, Option<String>);

#[derive(Debug, Default, Deserialize, Serialize)]
struct Differences {
    reasons: BTreeMap<String, String>,
    cases: Vec<Difference>,
}

#[derive(Debug, PartialEq, Deserialize, Serialize)]
struct Difference {
    r#type: String,
    properties: Map<String, Value>,
    /// Hearth's words; null: it takes them.
    says: Option<String>,
    reason: String,
}

fn cases() -> Vec<Case> {
    let path = std::env::var_os("WRONG_VALUES").unwrap_or(CASES.into());
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// What Hearth says of a resource.
fn said(registry: &Registry, type_name: &str, properties: &Map<String, Value>) -> Option<String> {
    let pseudo = PseudoParameters { stack_name: "exam".to_owned(), ..PseudoParameters::default() };
    let resource = json!({ "type": type_name, "properties": properties });
    let template = json!({ "heat_template_version": "2021-04-16", "resources": { "r": resource } });
    let source = StackSource { template: template.to_string().into(), ..StackSource::default() };
    let outcome = StackDefinition::load(&source, &pseudo, registry)
        .and_then(|definition| registry.validate(&definition));
    outcome.err().map(|refusal| refusal.message)
}

#[test]
fn wrong_values_are_refused_in_heats_words() {
    let registry = Registry::built_in().unwrap();
    let listed: Differences =
        serde_yaml::from_str(&std::fs::read_to_string(DIFFERENCES).unwrap()).unwrap();
    let mut found = Differences { reasons: listed.reasons.clone(), cases: Vec::new() };
    for (type_name, properties, expected) in cases() {
        let says = said(&registry, &type_name, &properties);
        if says != expected {
            let is_this = |it: &&Difference| it.r#type == type_name && it.properties == properties;
            let reason = listed.cases.iter().find(is_this).map_or("?", |it| &it.reason).to_owned();
            found.cases.push(Difference { r#type: type_name, properties, says, reason });
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(DIFFERENCES, serde_yaml::to_string(&found).unwrap()).unwrap();
    }
    let unlisted: Vec<_> = found.cases.iter().filter(|it| !listed.cases.contains(it)).collect();
    let stale: Vec<_> = listed.cases.iter().filter(|it| !found.cases.contains(it)).collect();
    assert!(unlisted.is_empty() && stale.is_empty(), "unlisted {unlisted:#?}\nstale {stale:#?}");
    let used: BTreeSet<&String> = found.cases.iter().map(|it| &it.reason).collect();
    let reasons: BTreeSet<&String> = found.reasons.keys().collect();
    assert_eq!(used, reasons, "each difference has a reason, and each reason a difference");
}

#[test]
fn the_sample_has_every_property_of_every_type() {
    let registry = Registry::built_in().unwrap();
    let mut sampled = BTreeSet::new();
    for (type_name, properties, _) in cases() {
        sampled.extend(properties.into_iter().map(|(name, _)| (type_name.clone(), name)));
    }
    let is_typed = |name: &str| registry.declarations().any(|it| it.type_name == name);
    assert!(sampled.iter().all(|(type_name, _)| is_typed(type_name)));
    let known = registry
        .declarations()
        .filter(|it| ![GONE_FROM_HEAT, IDLE_IN_HEAT].contains(&it.type_name.as_str()));
    let declared = known.flat_map(|declaration| {
        let names = declaration.properties.keys();
        names.map(|name| (declaration.type_name.clone(), name.clone()))
    });
    let missed: Vec<_> = declared.filter(|it| !sampled.contains(it)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}
