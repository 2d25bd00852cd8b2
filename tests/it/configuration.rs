//! `docs/configuration.md`: every option of Heat's and of ours. It is put together out of what
//! Heat's options are (`tests/data/configuration/heat_options.json`), what has an effect here
//! (`src/config/options.ini`), what that effect is (the table in `docs/operating.md`) and what
//! refuses a start (`src/config/heat_options.txt`). `UPDATE_GOLDEN=1` writes it anew.

use std::collections::{BTreeMap, BTreeSet};

use hearth::config::{OptionDefault, known_options};
use serde_json::Value;

use super::coverage::settings_rows_by_effect;

type Key = (String, String);

const PREFACE: &str = "\
# Configuration

Every option that Heat has, and every one that Hearth has, with its type, its default in Heat and here, and its effect here.
This page is put together by a test from the code's own lists; `docs/operating.md` explains how settings are given, and `hearth config show` prints those that hold.

`—` says that there is no such option, or that it has no value unless one is given.
An option without an effect is named once in the log at the start; where it is said that it refuses the start, it does so with any value that asks for more than Hearth gives.
Groups whose options come from the libraries under Heat are known as a whole: `cache`, `cors`, `database`, `ec2authtoken`, `healthcheck`, `keystone_authtoken`, `profiler`, `ssl` and all that begin with `oslo_`; of them, and of what oslo.log, oslo.messaging and oslo.service have in `DEFAULT`, the options are listed that have an effect here or that Heat itself declares.
";

#[test]
fn the_page_on_configuration_has_every_option_of_heats_and_of_ours() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/configuration.md");
    let page = page();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(page == kept, "docs/configuration.md is not what the lists say: UPDATE_GOLDEN=1");
}

fn page() -> String {
    let heats: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_str(include_str!("../data/configuration/heat_options.json")).unwrap();
    let ours: BTreeMap<Key, OptionDefault> = known_options()
        .into_iter()
        .map(|option| ((option.group, option.name), option.default))
        .collect();
    let effects = settings_rows_by_effect(include_str!("../../docs/operating.md"));
    let of_heat = heats
        .iter()
        .flat_map(|(group, options)| options.keys().map(|name| (group.clone(), name.clone())));
    let keys: BTreeSet<Key> = of_heat.chain(ours.keys().cloned()).collect();
    let mut page = PREFACE.to_owned();
    let mut last = "";
    for (group, name) in &keys {
        if group != last {
            page.push_str(&format!(
                "\n## [{group}]\n\n| Option | Type | In Heat | Here | Effect |\n\
                 | --- | --- | --- | --- | --- |\n"
            ));
            last = group;
        }
        let key = (group.clone(), name.clone());
        let heat = heats.get(group).and_then(|options| options.get(name));
        let kind = heat.map_or_else(|| kind_of(&ours[&key]), kind_in_heat);
        let there = heat.map_or("—".to_owned(), |option| shown(&option["default"]));
        let (here, effect) = match ours.get(&key) {
            Some(default) => (default_here(default), effects[&key].clone()),
            None => ("—".to_owned(), advice(group, name)),
        };
        page.push_str(&format!("| `{name}` | {kind} | {there} | {here} | {effect} |\n"));
    }
    page
}

fn kind_in_heat(option: &Value) -> String {
    let kind = match option["type"].as_str().unwrap() {
        "bool" => "boolean",
        "int" | "port" => "whole number",
        "float" => "number",
        "list" | "multistr" | "multi" => "list",
        _ => "text",
    };
    match option["choices"].as_array() {
        None => kind.to_owned(),
        Some(choices) => {
            let choices: Vec<String> = choices.iter().map(shown).collect();
            format!("one of {}", choices.join(", "))
        }
    }
}

fn kind_of(default: &OptionDefault) -> String {
    let kind = match default {
        OptionDefault::Value(value) if value == "true" || value == "false" => "boolean",
        OptionDefault::Value(value) if value.parse::<u64>().is_ok() => "whole number",
        OptionDefault::Value(_) | OptionDefault::Words(_) | OptionDefault::Secret => "text",
    };
    kind.to_owned()
}

fn default_here(default: &OptionDefault) -> String {
    match default {
        OptionDefault::Value(value) => shown(&Value::from(value.as_str())),
        OptionDefault::Words(words) => escaped(words),
        OptionDefault::Secret => "—, a secret".to_owned(),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "—".to_owned(),
        Value::String(text) if text.is_empty() => "—".to_owned(),
        Value::String(text) if text == "***" => "a secret".to_owned(),
        Value::String(text) => format!("`{}`", escaped(text)),
        Value::Array(items) if items.is_empty() => "—".to_owned(),
        Value::Array(items) => items.iter().map(shown).collect::<Vec<_>>().join(", "),
        other => format!("`{other}`"),
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

/// What is said of an option that has no effect.
fn advice(group: &str, name: &str) -> String {
    let refusals = include_str!("../../src/config/heat_options.txt").lines();
    let found = refusals.filter_map(|line| line.strip_prefix("! ")).find_map(|line| {
        let (option, rest) = line.split_once(" [")?;
        let (of, named) = option.split_once(' ')?;
        let is_of = of.strip_suffix('*').map_or(of == group, |start| group.starts_with(start));
        let (_, advice) = rest.split_once("]: ")?;
        (is_of && named == name).then_some(advice)
    });
    found.map_or("none".to_owned(), |advice| format!("refuses the start: {advice}"))
}
