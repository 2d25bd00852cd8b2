//! `docs/resource-types.md` is what the registry, the walks and the recordings come to.
//! `UPDATE_GOLDEN=1` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use hearth::model::Action;
use hearth::resource_types::{Declared, Registry};
use serde_json::Value;

use super::walk::{self, Change, Walk};

const HEAD: &str = "\
# Resource types

<!-- Written by tests/it/walks/page.rs: UPDATE_GOLDEN=1 cargo test --test it walks::page -->

What each of Heat's resource types is put through.
All are made; the retired ones among them take anything and make nothing.
A walk (`tests/data/walks/`) creates, shows, checks, changes, names by name what was named by id, suspends, resumes, keeps in a snapshot and deletes an object, as far as its type does each, holds what there is to what is on record, and sees what somebody else changes or deletes, beside one of somebody else's that is its equal: on the sandbox straight through, with each answer lost, with each call lost before it arrives, across kills, and with a stack that is deleted while its creation is in doubt; and on a real cloud where one has the service (`tests/live`).
What no cloud keeps, as a configuration or a random text, is walked beside an engine.
Recorded means that the requests are held to those that the real Heat makes (`tests/data/recorded/`).
The steps are those that the walks of a type go: an update changes the object in place, a replacement is asked for and seen to be one.

";

#[test]
fn the_page_on_resource_types_is_true() {
    let registry = Registry::built_in().unwrap();
    let mut walks: BTreeMap<String, Vec<Walk>> = BTreeMap::new();
    for walk in walk::all() {
        walks.entry(walk.type_name.clone()).or_default().push(walk);
    }
    let is_real = |walks: &Vec<Walk>| walks.iter().any(|walk| walk.real);
    let recorded: Value =
        serde_json::from_str(include_str!("../../data/recorded/calls.json")).unwrap();
    let recorded = recorded.get("types").unwrap_or(&recorded);
    let names: BTreeSet<&str> = registry.declarations().map(|it| it.type_name.as_str()).collect();
    for name in walks.keys() {
        assert!(names.contains(name.as_str()), "{name} has a walk, and is no type");
    }
    let count = |of: usize| format!("{of} of {}", names.len());
    let real = walks.values().filter(|walks| is_real(walks)).count();
    let known = names.iter().filter(|name| recorded.get(name).is_some()).count();
    let mut page = HEAD.to_owned();
    page.push_str("| Type | Walked on the sandbox | On a real cloud | Recorded | Steps |\n");
    page.push_str("| --- | --- | --- | --- | --- |\n");
    let counts = [walks.len(), real, known].map(count);
    writeln!(page, "| all | {} |  |", counts.join(" | ")).unwrap();
    for name in names {
        let own = walks.get(name);
        let real = own.is_some_and(is_real);
        let marks = [own.is_some(), real, recorded.get(name).is_some()];
        let marks = marks.map(|mark| if mark { "yes" } else { "" });
        let driver = registry.driver(name);
        let steps = own.zip(driver).map(|(walks, driver)| steps(walks, &driver));
        let steps = steps.unwrap_or_default().join(", ");
        writeln!(page, "| `{name}` | {} | {steps} |", marks.join(" | ")).unwrap();
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/resource-types.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/resource-types.md is not what there is: UPDATE_GOLDEN=1");
}

/// What a type's walks play, in their order.
fn steps(walks: &[Walk], driver: &Declared) -> Vec<&'static str> {
    let any = |has: fn(&Walk) -> bool| walks.iter().any(has);
    let shows_more = |walk: &Walk| walk.updates.iter().any(|Change(_, shows)| !shows.is_empty());
    let steps = [
        ("create", true),
        ("show", any(|walk| !walk.shows.is_empty()) || walks.iter().any(shows_more)),
        ("check", true),
        ("update", any(|walk| !walk.updates.is_empty())),
        ("replace", any(|walk| !walk.replaces.is_empty())),
        ("suspend", driver.acts(Action::Suspend)),
        ("resume", driver.acts(Action::Resume)),
        ("snapshot", driver.acts(Action::Snapshot)),
        ("delete", true),
    ];
    steps.into_iter().filter(|(_, goes)| *goes).map(|(step, _)| step).collect()
}

/// The services whose types are all to be walked, and types without a service that are as well.
const CORE: [&str; 4] = ["compute", "identity", "network", "volumev3"];
/// The one property that does not change in place has one value alone.
const NEVER_REPLACED: &str = "OS::Neutron::IKEPolicy";
const CORE_TYPES: [&str; 2] = ["OS::Heat::AccessPolicy", "OS::Heat::DeployedServer"];

#[test]
fn each_core_type_has_a_walk_with_every_step_that_it_can_go() {
    let registry = Registry::built_in().unwrap();
    let walks = walk::all();
    let mut lacking = Vec::new();
    for declaration in registry.declarations() {
        let name = declaration.type_name.as_str();
        let service = declaration.service.as_deref().unwrap_or_default();
        let is_core = CORE.contains(&service) || CORE_TYPES.contains(&name);
        let is_walked = !declaration.accepts_anything;
        if !is_core || !is_walked {
            continue;
        }
        let own: Vec<_> = walks.iter().filter(|walk| walk.type_name == name).collect();
        let mut looks = own.iter().flat_map(|walk| {
            let updates = walk.updates.iter().map(|Change(_, shows)| shows);
            updates.chain([&walk.shows])
        });
        let has_look = looks.any(|shows| !shows.is_empty());
        let has_update = own.iter().any(|walk| !walk.updates.is_empty());
        let is_updated = declaration.properties.values().any(|property| property.update_allowed);
        if own.is_empty() {
            lacking.push(format!("{name}: a walk"));
            continue;
        }
        let is_shown = declaration.show.is_some() && !declaration.attributes.is_empty();
        if is_shown && !has_look {
            lacking.push(format!("{name}: attributes"));
        }
        if is_updated && !has_update {
            lacking.push(format!("{name}: an update"));
        }
        let mut properties = declaration.properties.values();
        let is_replaced = properties.any(|property| {
            !property.update_allowed && !property.immutable && property.implemented
        });
        if is_replaced
            && name != NEVER_REPLACED
            && !own.iter().any(|walk| !walk.replaces.is_empty())
        {
            lacking.push(format!("{name}: a replacement"));
        }
    }
    assert_eq!(lacking, [""; 0]);
}

/// Types that have neither a walk nor a child stack, and why.
const UNWALKED: [(&str, &str); 5] = [
    ("AWS::CloudFormation::WaitCondition", WAITS),
    ("AWS::IAM::AccessKey", "The user whose key it is stands beside it in its stack."),
    ("OS::Heat::SwiftSignal", "It waits for what somebody puts to the object of its handle."),
    ("OS::Heat::WaitCondition", WAITS),
    ("OS::Mistral::CronTrigger", "The workflow that it starts is none that a type makes."),
];
const WAITS: &str = "It waits for another resource to be signaled: waits.yaml.";

#[test]
fn each_type_that_makes_something_has_a_walk_or_a_reason_why_not() {
    let registry = Registry::built_in().unwrap();
    let walks = walk::all();
    let mut lacking = Vec::new();
    for declaration in registry.declarations() {
        let name = declaration.type_name.as_str();
        let Some(driver) = registry.driver(name) else {
            continue;
        };
        let is_retired = declaration.accepts_anything && declaration.support.status() == "HIDDEN";
        let is_walked = walks.iter().any(|walk| walk.type_name == name);
        if !is_walked && !is_retired && driver.nests().is_none() {
            lacking.push(name);
        }
    }
    lacking.sort_unstable();
    assert_eq!(lacking, UNWALKED.map(|(name, _)| name));
}
