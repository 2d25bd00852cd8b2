use serde_json::json;

use super::*;

/// What a rule says of values; nothing where they keep it.
fn check(rule: &str, values: Value) -> String {
    let rule: Rule = serde_yaml::from_str(rule).unwrap();
    let Value::Object(values) = values else { unreachable!() };
    super::check(&[rule], "a", &values).err().map(|refusal| refusal.message).unwrap_or_default()
}

#[test]
fn of_properties_some_are_set_together_and_some_are_not() {
    let conflict = "Cannot define the following properties at the same time: a, b.";
    let unset = "At least one of the following properties must be specified: a, b.";
    assert_eq!(check("exactly_one: [a, b]", json!({ "a": 1, "b": null })), "");
    assert_eq!(check("exactly_one: [a, b]", json!({ "a": 1, "b": 2 })), conflict);
    assert_eq!(check("exactly_one: [a, b]", json!({ "a": "" })), "");
    assert_eq!(check("{ exactly_one: [a, b], truthy: true }", json!({ "a": "" })), unset);
    assert_eq!(check("at_most_one: [a, b]", json!({})), "");
    assert_eq!(check("at_least_one: [a, b]", json!({})), unset);
    let needs = "a cannot be specified without c.";
    assert_eq!(check("needs: [a, b, c]", json!({ "a": 1, "b": 2 })), needs);
    assert_eq!(check("needs: [a, b, c]", json!({ "b": 2 })), "");
}

#[test]
fn a_rule_may_hold_for_some_values_alone() {
    let vlan = "{ when: { type: [vlan, null] }, needs: [id], says: 'id is for {type}' }";
    assert_eq!(check(vlan, json!({ "type": "vlan" })), "id is for vlan");
    assert_eq!(check(vlan, json!({})), "id is for None");
    assert_eq!(check(vlan, json!({ "type": "flat" })), "");
    let flat = "{ when: { type: [flat] }, refuses: [id] }";
    let conflict = "Cannot define the following properties at the same time: type, id.";
    assert_eq!(check(flat, json!({ "type": "flat", "id": 3 })), conflict);
    let ports = "{ unless: { protocol: [icmp] }, ascending: [min, max] }";
    assert_eq!(check(ports, json!({ "protocol": "icmp", "min": 8, "max": 0 })), "");
    let falls = "min cannot be greater than max.";
    assert_eq!(check(ports, json!({ "min": 8, "max": 0 })), falls);
    let lengths = "{ ascending: [min, max], truthy: true }";
    assert_eq!(check(lengths, json!({ "min": 8, "max": 0 })), "");
    assert_eq!(check(lengths, json!({ "min": 8, "max": 2 })), falls);
}

#[test]
fn entries_of_lists_are_held_to_rules_and_differ() {
    let each = "{ each: roles, exactly_one: [a, b], says: 'one for {role}' }";
    let conflict = "Cannot define the following properties at the same time: a, b.";
    assert_eq!(check(each, json!({ "roles": [{ "a": 1 }, { "role": "x" }] })), "one for x");
    assert_eq!(check(each, json!({ "roles": [{ "a": 1, "b": 2 }] })), conflict);
    let twice = json!({ "refs": [{ "ref": "x" }, { "ref": "y" }, { "ref": "x" }] });
    assert_eq!(check("differ: refs.ref", twice), "Duplicate refs.ref: x.");
    assert_eq!(check("differ: refs.ref", json!({ "refs": [{}, {}] })), "");
    let lists = "{ differ: refs.of, says: \"{resource} has one twice\" }";
    assert_eq!(check(lists, json!({ "refs": [{ "of": ["x", "x"] }, { "of": ["y"] }] })), "");
    let twice = json!({ "refs": [{ "of": ["x"] }, { "of": ["y", "x"] }] });
    assert_eq!(check(lists, twice), "a has one twice");
}

#[test]
fn properties_that_are_set_may_have_to_differ() {
    let refs = "{ at_most_one: [a, b, c], alike: true, says: each once }";
    assert_eq!(check(refs, json!({ "a": "x", "b": "y", "c": "x" })), "each once");
    assert_eq!(check(refs, json!({ "a": "x", "b": "y", "c": null })), "");
    assert_eq!(check(refs, json!({ "a": null, "b": null })), "");
}

#[test]
fn an_entry_is_held_to_all_rules_before_the_next_one_is() {
    let rules = [
        "{ each: groups.tasks, exactly_one: [action, workflow] }",
        "{ each: groups.tasks, given: { type: [direct] }, refuses: [requires], says: 'not {name}' }",
    ];
    let rules = rules.map(|rule| serde_yaml::from_str::<Rule>(rule).unwrap());
    let check = |kind: &str, tasks: [Value; 2]| {
        let values = json!({ "type": kind, "groups": [{ "tasks": tasks }] });
        let Value::Object(values) = values else { unreachable!() };
        super::check(&rules, "a", &values).err().map(|refusal| refusal.message).unwrap_or_default()
    };
    let first = json!({ "name": "t", "action": "x", "requires": [] });
    let unset = "At least one of the following properties must be specified: action, workflow.";
    assert_eq!(check("direct", [first.clone(), json!({})]), "not t");
    assert_eq!(check("reverse", [first.clone(), json!({})]), unset);
    assert_eq!(check("reverse", [first.clone(), first]), "");
}

#[test]
fn a_value_is_matched_as_a_whole() {
    let rule = "{ matches: { id: '[1-9][0-9]?' }, says: 'up to 99' }";
    assert_eq!(check(rule, json!({ "id": 99 })), "");
    assert_eq!(check(rule, json!({ "id": 100 })), "up to 99");
    assert_eq!(check(rule, json!({})), "");
    let either = "matches: { id: 'a|ab' }";
    assert_eq!(check(either, json!({ "id": "ab" })), "");
    let words = "\"abc\" does not match pattern \"a|ab\"";
    assert_eq!(check(either, json!({ "id": "abc" })), words);
}
