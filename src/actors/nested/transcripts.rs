//! The lives of the types whose work is a child stack, as data: what the child is told in each action,
//! and that no lost telling, lost answer or kill changes it. `UPDATE_GOLDEN=1` writes down anew what
//! is told; `CASE=OS::Heat::Stack` plays one type.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::story::{Story, given_with};
use super::{Defined, Telling, Turn};
use crate::actors::resource::ResourceCommand;
use crate::actors::resource::story as resource;
use crate::actors::stack::StackCommand;
use crate::actors::stack::story as stack;
use crate::model::{Action, CommandId, IndexMap, JsonMap, Refusal, Status};
use crate::resource_types::case;
use crate::resource_types::declared::nesting::{ChildStage, is_look};
use crate::resource_types::stage::Stages;
use crate::resource_types::{Beat, Failure, Learned};

const FILE: &str = "tests/data/resource_types/children.yaml";
/// What the file begins with, and keeps.
const HEAD: usize = 2;

/// The length of a name by chance, in characters.
const CHANCE_LENGTH: usize = 12;

/// More beats than any action in the file has.
const BEATS_MAX: usize = 50;

#[derive(Deserialize, Serialize)]
struct Life {
    /// A resource `c` that it names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used: Option<Used>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, String>,
    given: Value,
    /// The properties that an update changes.
    changed: Value,
    /// What the child is told, by the action.
    #[serde(default)]
    told: IndexMap<String, Vec<Value>>,
}

#[derive(Deserialize, Serialize)]
struct Used {
    #[serde(rename = "type")]
    type_name: String,
    properties: Value,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Trouble {
    /// The resource is killed before its child hears of it.
    TellingLost,
    /// The resource is killed before it hears that its child was told.
    AnswerLost,
    /// The resource is killed before any beat.
    Killed,
    /// The child refuses what it is told.
    Refused,
    /// What the child is told fails.
    Fails,
}

/// A resource in the midst of its life.
struct Living<'a> {
    story: Story,
    life: &'a Life,
    told: IndexMap<String, Vec<Value>>,
    /// The commands that the child has taken.
    taken: Vec<CommandId>,
    /// Members' names by chance, in their order.
    names: Vec<String>,
    /// The beats until a trouble.
    trouble: Option<(Trouble, usize)>,
    /// How many beats were made.
    beats: usize,
}

impl Living<'_> {
    fn begin<'a>(type_name: &str, life: &'a Life, trouble: Option<(Trouble, usize)>) -> Living<'a> {
        let declared = json!({ "type": type_name, "properties": life.given });
        let mut template = json!({ "resources": { "a": declared } });
        if let Some(used) = &life.used {
            template["resources"]["c"] = json!(used);
        }
        let story = given_with(&template, &life.files);
        let (told, taken, names) = Default::default();
        Living { story, life, told, taken, names, trouble, beats: 0 }
    }

    /// Whether the trouble is now, once.
    fn meets(&mut self, trouble: Trouble) -> bool {
        let meets = self.trouble == Some((trouble, self.beats));
        if meets {
            self.trouble = None;
        }
        meets
    }

    /// Makes the beats of an action to its end.
    fn act(mut self, action: &str) -> Self {
        for _ in 0..BEATS_MAX {
            if !self.story.resource.resource.in_progress() {
                return self;
            }
            if self.meets(Trouble::Killed) {
                self = self.wake();
            }
            self = self.beat(action);
            self.beats += 1;
        }
        panic!("{action} goes on for ever");
    }

    fn beat(self, action: &str) -> Self {
        if self.story.resource.call().is_none() {
            // What has failed is made again after a pause.
            let epoch = self.story.resource.beat();
            return self.when(ResourceCommand::Due { epoch });
        }
        let beat = self.story.beat();
        if is_look(beat.step) {
            let next = ChildStage::Define.step();
            return self.answer(Ok(Beat::Next { learned: Learned::default(), next }));
        }
        match beat.turn(&self.story.moment()) {
            Turn::Define => match beat.defined(&self.sight(), &self.story.moment()) {
                Ok(Defined::Beat(beat)) => self.answer(Ok(*beat)),
                Ok(Defined::Child(defined)) => {
                    let telling = self.story.tells(*defined, &self.sight());
                    self.tell(action, telling)
                }
                Err(failure) => self.answer(Err(failure)),
            },
            Turn::Tell(telling) => self.tell(action, telling),
            Turn::Await => self.await_child(),
            // The clock is the only one that is waited for.
            Turn::Answer(Ok(Beat::Wait { after })) => {
                let after = chrono::TimeDelta::from_std(after.unwrap_or_default()).unwrap();
                self.story.parent.clock.advance(after);
                self
            }
            Turn::Answer(answer) => self.answer(answer),
        }
    }

    fn sight(&self) -> super::Sight {
        let used = self.life.used.as_ref().map(|used| {
            let made = resource::converge(1, &used.type_name, used.properties.clone());
            let made = resource::given_nothing().when(made);
            super::Used::of(&made.resource).unwrap()
        });
        super::Sight { used, ..self.story.sight() }
    }

    /// The child is told something, under an id that it knows again.
    fn tell(mut self, action: &str, telling: Telling) -> Self {
        if self.meets(Trouble::TellingLost) {
            return self.wake();
        }
        if self.meets(Trouble::Refused) {
            let answer = self.story.beat().told(telling.then, Err(Refusal::validation("no")));
            return self.answer(answer);
        }
        let makes = matches!(telling.command, StackCommand::Create(_));
        if !makes && !self.story.child.view().exists() {
            let gone = Refusal::not_found("Stack", "a");
            let answer = self.story.beat().told(telling.then, Err(gone));
            return self.answer(answer);
        }
        if makes && self.story.child.stack.is_deleted() {
            // Each repetition of a create has another child.
            self.story.child = stack::given_nothing();
        }
        let is_first = !self.taken.contains(&telling.id);
        if is_first {
            self.taken.push(telling.id);
            let shown = self.with_names(shown(&telling.command));
            self.told.entry(action.to_owned()).or_default().push(shown);
            self.story.child = self.story.child.when(telling.command);
        }
        if self.meets(Trouble::AnswerLost) {
            return self.wake();
        }
        let answer = self.story.beat().told(telling.then, Ok(()));
        self.answer(answer)
    }

    /// The same with numbers in place of names by chance.
    fn with_names(&mut self, shown: Value) -> Value {
        let mut text = shown.to_string();
        let template = shown.get("create").or(shown.get("update"));
        let members = ["resources", "Resources"]
            .iter()
            .find_map(|section| template?.get(section)?.as_object())
            .into_iter()
            .flat_map(JsonMap::keys);
        for name in members.filter(|name| name.len() == CHANCE_LENGTH) {
            if !self.names.contains(name) {
                self.names.push(name.clone());
            }
        }
        for (number, name) in self.names.iter().enumerate() {
            text = text.replace(name, &format!("member-{number}"));
        }
        serde_json::from_str(&text).unwrap()
    }

    /// What the child is at comes to its end.
    fn await_child(mut self) -> Self {
        let told = self.story.child.at_work();
        let fails = told.filter(|_| self.meets(Trouble::Fails));
        let child = match fails {
            Some(name) => self.story.child.when_it_fails(&name, "Error: no"),
            None => self.story.child,
        };
        self.story.child = child.when_all_are_done();
        let end = self.story.child.view().end(&self.story.child.knowledge);
        let end = end.unwrap_or_else(|| panic!("the child is in {}", self.story.child.state()));
        let (beat, seen, moment) = (self.story.beat(), self.story.seen(), self.story.moment());
        let answer = beat.ended(&end, seen.as_ref(), &moment);
        self.answer(answer)
    }

    fn answer(mut self, answer: Result<Beat, Failure>) -> Self {
        self.story.resource = self.story.resource.when_answered(answer);
        self
    }

    fn wake(mut self) -> Self {
        self.story.resource = self.story.resource.when_woken();
        self
    }

    fn when(mut self, command: ResourceCommand) -> Self {
        self.story.resource = self.story.resource.when(command);
        self
    }

    /// All actions one after the other, as far as they succeed; the state that each came to.
    fn live(mut self) -> (Self, Vec<String>) {
        let (life, mut states) = (self.life, Vec::new());
        for action in ["create", "update", "suspend", "resume", "check", "delete"] {
            self = match action {
                "create" => self,
                "update" => Self { story: self.story.when_changed(&life.changed), ..self },
                "suspend" => self.when(resource::act(3, Action::Suspend)),
                "resume" => self.when(resource::act(4, Action::Resume)),
                "check" => self.when(resource::act(5, Action::Check)),
                _ => self.when(resource::clean_up(6)),
            };
            self = self.act(action);
            let resource = &self.story.resource.resource;
            states.push(format!("{} {}", resource.action, resource.status));
            if resource.status != Status::Complete {
                self = self.when(resource::clean_up(7)).act("delete");
                break;
            }
        }
        (self, states)
    }
}

/// What a child is told, without what is the same in every template.
#[expect(clippy::wildcard_enum_match_arm, reason = "a resource tells its child nothing else")]
fn shown(command: &StackCommand) -> Value {
    let definition = |revise: &crate::actors::stack::Revise| {
        let definition = &revise.known.definition;
        let mut template = definition.template();
        if let Some(template) = template.as_object_mut() {
            for version in ["heat_template_version", "HeatTemplateFormatVersion"] {
                template.shift_remove(version);
            }
        }
        let parameters: JsonMap = definition.source().parameters;
        match parameters.is_empty() {
            true => template,
            false => json!({ "template": template, "parameters": parameters }),
        }
    };
    match command {
        StackCommand::Create(create) => json!({ "create": definition(&create.revise) }),
        StackCommand::Update(revise) => json!({ "update": definition(revise) }),
        StackCommand::Act { action, .. } => json!(action.as_str().to_lowercase()),
        StackCommand::Delete { .. } => json!("delete"),
        _ => json!("something else"),
    }
}

fn lives() -> IndexMap<String, Life> {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE)).unwrap();
    serde_yaml::from_str(&text).unwrap()
}

/// The types that `CASE` asks for.
fn chosen(lives: &IndexMap<String, Life>) -> Vec<(&String, &Life)> {
    case::chosen(lives.iter().collect(), |(name, _)| vec![name])
}

#[test]
fn children_are_told_what_is_written_down() {
    let (mut lives, mut wrongs) = (lives(), Vec::new());
    let mut all_told = BTreeMap::new();
    for (name, life) in chosen(&lives) {
        let (lived, states) = Living::begin(name, life, None).live();
        if states.last().map(String::as_str) != Some("DELETE COMPLETE") || states.len() != 6 {
            let reason = &lived.story.resource.resource.reason;
            wrongs.push(format!("{name} comes to {states:?}: {reason}"));
        }
        let told = lived.told;
        if life.told != told {
            wrongs.push(format!("{name}: {}", serde_yaml::to_string(&told).unwrap()));
        }
        all_told.insert(name.clone(), told);
    }
    for (name, told) in all_told {
        lives[&name].told = told;
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
        let text = std::fs::read_to_string(&path).unwrap();
        let head: Vec<&str> = text.lines().take(HEAD).collect();
        let body = serde_yaml::to_string(&lives).unwrap();
        std::fs::write(path, format!("{}\n{body}", head.join("\n"))).unwrap();
    }
    assert!(wrongs.is_empty(), "{}", wrongs.join("\n"));
}

#[test]
fn nothing_that_is_lost_changes_what_a_child_is_told() {
    let (lives, mut played) = (lives(), 0);
    let chosen = chosen(&lives);
    let is_all = chosen.len() == lives.len();
    for (name, life) in chosen {
        let (calm, expected) = Living::begin(name, life, None).live();
        for trouble in [
            Trouble::TellingLost,
            Trouble::AnswerLost,
            Trouble::Killed,
            Trouble::Refused,
            Trouble::Fails,
        ] {
            for at in 0..calm.beats {
                let place = format!("{name}: {trouble:?} at {at}");
                let (lived, states) = Living::begin(name, life, Some((trouble, at))).live();
                let (child, resource) = (&lived.story.child, &lived.story.resource.resource);
                assert!(!resource.is_there(), "{place}: {} {}", resource.action, resource.status);
                let is_left = child.view().exists() && !child.stack.is_deleted();
                assert!(!is_left, "{place} leaves {}", child.state());
                if lived.trouble.is_some() {
                    // There is nothing of the kind at this beat.
                    continue;
                }
                played += 1;
                match trouble {
                    Trouble::TellingLost | Trouble::AnswerLost | Trouble::Killed => {
                        assert_eq!(
                            (lived.told, states),
                            (calm.told.clone(), expected.clone()),
                            "{place}"
                        );
                    }
                    Trouble::Refused | Trouble::Fails => {
                        let failed = states.last().is_some_and(|state| state.ends_with("FAILED"));
                        // A stack that stands beside is deleted and made again.
                        let again = states == expected && lived.told != calm.told;
                        assert!(failed || again, "{place} comes to {states:?}");
                    }
                }
            }
        }
    }
    assert!(played > 300 || !is_all, "{played}");
}
