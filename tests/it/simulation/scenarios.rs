//! Situations in which revisions meet, each a file of `tests/data/simulation/scenarios`: templates
//! by name, and steps. The situations and their ends are those that Heat's own engine is held to.
//! `CASE=update_adds` plays one.

use std::collections::BTreeMap;
use std::path::Path;

use hearth::actors::stack::StackCommand;
use hearth::model::StackId;
use indexmap::IndexMap;
use serde::Deserialize;

use super::template::Template;
use super::world::World;
use crate::support::case;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Scenario {
    /// The situation, in words.
    #[serde(rename = "when")]
    _when: String,
    templates: IndexMap<String, Template>,
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Step {
    /// Create the stack from a template.
    Create(String),
    Update(String),
    /// Go back to where the stack was: a cancelled update, or a create whose time runs out.
    RollBack,
    Delete,
    /// The cloud answers for these resources alone, until nothing more can happen.
    Finish(Vec<String>),
    /// The cloud answers for all; the stack ends in this state, and is what its template says.
    End(String),
    /// How many live objects names have.
    Count(BTreeMap<String, usize>),
    /// The physical ids of these are remembered.
    Remember(Vec<String>),
    /// These have the physical ids that they had.
    Kept(Vec<String>),
    /// These have other physical ids.
    Replaced(Vec<String>),
}

#[test]
fn revisions_that_meet_end_as_in_heats_own_scenarios() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/simulation/scenarios");
    let files = std::fs::read_dir(folder).unwrap();
    let named = files.map(|file| {
        let path = file.unwrap().path();
        (path.file_stem().unwrap().to_string_lossy().into_owned(), path)
    });
    let named: Vec<_> = named.collect();
    assert_eq!(named.len(), 21);
    for (name, path) in case::chosen(named, |(name, _)| vec![name]) {
        let text = std::fs::read_to_string(&path).unwrap();
        let read: serde_json::Value = serde_yaml::from_str(&text).unwrap();
        let scenario: Scenario =
            serde_json::from_value(read).unwrap_or_else(|error| panic!("{name}: {error}"));
        // The order in which the machines hear of things is another with every seed.
        for seed in 0..20 {
            play(&name, &scenario, seed);
        }
    }
}

fn play(name: &str, scenario: &Scenario, seed: u64) {
    let mut world = World::new(seed);
    world.let_through = Some(Vec::new());
    let mut stack = StackId::default();
    let mut remembered: BTreeMap<String, Option<String>> = BTreeMap::new();
    for step in &scenario.steps {
        let right = match step {
            Step::Create(template) => {
                let template = &scenario.templates[template];
                stack = world.create(template, false, None).unwrap();
                true
            }
            Step::Update(template) => {
                world.update(stack, &scenario.templates[template], false).unwrap();
                true
            }
            Step::RollBack => {
                if world.ask_stack(stack, StackCommand::CancelUpdate).is_err() {
                    world.time_out(stack);
                }
                true
            }
            Step::Delete => {
                world.ask_stack(stack, StackCommand::Delete { trustor: None }).unwrap();
                true
            }
            Step::Finish(names) => {
                world.let_through = Some(names.clone());
                world.run()
            }
            Step::End(state) => {
                world.let_through = None;
                world.run();
                world.check_end(stack);
                world.state(stack) == *state
            }
            Step::Count(counts) => counts.iter().all(|(name, count)| world.count(name) == *count),
            Step::Remember(names) => {
                for name in names {
                    remembered.insert(name.clone(), world.physical_id(stack, name));
                }
                true
            }
            Step::Kept(names) => {
                names.iter().all(|name| world.physical_id(stack, name) == remembered[name])
            }
            Step::Replaced(names) => {
                names.iter().all(|name| world.physical_id(stack, name) != remembered[name])
            }
        };
        let wrongs: Vec<&String> = world.wrongs.iter().chain(&world.cloud.wrongs).collect();
        assert!(
            right && wrongs.is_empty(),
            "{name}, seed {seed}: {}: {wrongs:?}\n{}",
            world.state(stack),
            world.story.join("\n"),
        );
    }
}
