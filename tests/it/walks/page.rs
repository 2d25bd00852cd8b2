//! `docs/resource-types.md` is what the registry, the walks and the recordings come to.
//! `UPDATE_GOLDEN=1` writes it anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::PathBuf;

use hearth::resource_types::Registry;
use serde_json::Value;

use super::walk;

const HEAD: &str = "\
# Resource types

<!-- Written by tests/it/walks/page.rs: UPDATE_GOLDEN=1 cargo test --test it walks::page -->

What each of Heat's resource types is put through.
A type that is made has a driver, and be it that of a retired type, which makes nothing; the others are known, so that templates with them can be looked over.
A walk (`tests/data/walks/`) creates, shows, checks, changes, suspends, resumes, keeps in a snapshot and deletes an object, as far as its type does each, holds what there is to what is on record, and sees what somebody else changes or deletes, beside one of somebody else's that is its equal: on the sandbox straight through, with each answer lost, with each call lost before it arrives, and across kills; and on a real cloud where one has the service (`tests/live`).
Recorded means that the requests are held to those that the real Heat makes (`tests/data/recorded/`).

";

#[test]
fn the_page_on_resource_types_is_true() {
    let registry = Registry::built_in().unwrap();
    let mut walks: BTreeMap<String, bool> = BTreeMap::new();
    for walk in walk::all("") {
        *walks.entry(walk.type_name).or_default() |= walk.real;
    }
    let recorded: Value =
        serde_json::from_str(include_str!("../../data/recorded/calls.json")).unwrap();
    let recorded = recorded.get("types").unwrap_or(&recorded);
    let names: BTreeMap<&str, bool> = registry
        .declarations()
        .map(|it| (it.type_name.as_str(), registry.is_made(&it.type_name)))
        .collect();
    for name in walks.keys() {
        assert_eq!(names.get(name.as_str()), Some(&true), "{name} has a walk, and is not made");
    }
    let count = |of: usize| format!("{of} of {}", names.len());
    let made = names.values().filter(|made| **made).count();
    let real = walks.values().filter(|real| **real).count();
    let known = names.keys().filter(|name| recorded.get(name).is_some()).count();
    let mut page = HEAD.to_owned();
    page.push_str("| Type | Made | Walked on the sandbox | On a real cloud | Recorded |\n");
    page.push_str("| --- | --- | --- | --- | --- |\n");
    let counts = [made, walks.len(), real, known].map(count);
    writeln!(page, "| all | {} |", counts.join(" | ")).unwrap();
    for (name, made) in names {
        let walk = walks.get(name);
        let marks = [made, walk.is_some(), walk == Some(&true), recorded.get(name).is_some()];
        let marks = marks.map(|mark| if mark { "yes" } else { "" });
        writeln!(page, "| `{name}` | {} |", marks.join(" | ")).unwrap();
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/resource-types.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/resource-types.md is not what there is: UPDATE_GOLDEN=1");
}
