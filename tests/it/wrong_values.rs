//! Wrong values of properties, a sample over all types, beside what the real Heat says of them;
//! `tests/language/wrong_values.py` made it, and makes more.

use hearth::resource_types::Registry;
use hearth::template::{PseudoParameters, StackDefinition, StackSource};
use serde_json::{Map, Value, json};

/// A type, properties of a resource `r` of that type, and Heat's words; null: it takes them.
type Case = (String, Map<String, Value>, Option<String>);

#[test]
fn wrong_values_are_refused_in_heats_words() {
    let registry = Registry::built_in().unwrap();
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/resource_types/wrong_values.jsonl");
    let cases = std::env::var_os("WRONG_VALUES").unwrap_or(own.into());
    let cases = std::fs::read_to_string(cases).unwrap();
    let pseudo = PseudoParameters { stack_name: "exam".to_owned(), ..PseudoParameters::default() };
    let mut wrongs = Vec::new();
    for line in cases.lines() {
        let (type_name, properties, expected): Case = serde_json::from_str(line).unwrap();
        let resource = json!({ "type": type_name, "properties": properties });
        let template =
            json!({ "heat_template_version": "2021-04-16", "resources": { "r": resource } });
        let source =
            StackSource { template: template.to_string().into(), ..StackSource::default() };
        let said = StackDefinition::load(&source, &pseudo, &registry)
            .and_then(|definition| registry.validate(&definition));
        let said = said.err().map(|refusal| refusal.message);
        if said != expected {
            wrongs.push(format!("{line}\n  {said:?}"));
        }
    }
    assert!(wrongs.is_empty(), "{} differ:\n{}", wrongs.len(), wrongs.join("\n"));
}
