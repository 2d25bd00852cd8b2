//! Walks: what each resource type is put through, as data (`tests/data/walks/`), on any cloud.
//!
//! Beside each walk stands a bystander: an object of somebody else's that is equal in all that a
//! user can give, made before. At the end it is as it was, and nothing else is left.

use std::collections::BTreeMap;
use std::path::PathBuf;

use hearth::model::JsonMap;
use hearth::resource_types::Reality;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::case;
use super::runner::{Made, Runner};

/// Fields that change though nobody changes the object.
const PASSING: [&str; 7] = [
    "status",
    "updated_at",
    "revision_number",
    // Where Neutron has put a router: nowhere before it first had a gateway.
    "availability_zones",
    "date",
    "x-trans-id",
    "x-openstack-request-id",
];

/// One type's walk.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Walk {
    /// That of its file.
    #[serde(skip)]
    name: String,
    #[serde(rename = "type")]
    pub(crate) type_name: String,
    /// Whose project it is in: `demo`, or `admin`.
    #[serde(default = "demo")]
    pub(crate) by: String,
    /// What has to be there beside what `create` refers to.
    #[serde(default)]
    needs: Vec<String>,
    /// Properties.
    #[serde(default)]
    create: Map<String, Value>,
    /// Attributes afterwards, by dotted path.
    #[serde(default)]
    pub(crate) shows: Map<String, Value>,
    /// Changes in place, and attributes after each.
    #[serde(default)]
    pub(crate) updates: Vec<Change>,
    /// A change that makes the object anew.
    #[serde(default)]
    pub(crate) replaces: Map<String, Value>,
    /// Properties by which the bystander differs, or why there is none.
    #[serde(default)]
    bystander: Bystander,
    /// What is not seen that somebody else does to the object, as far as there is one, and why.
    #[serde(default)]
    unseen: Unseen,
    /// The sandbox's tables in which something stays on purpose.
    #[serde(default)]
    leaves: Vec<String>,
    /// Whether there has to be an engine: the type's objects are kept by it, or belong to a stack.
    #[serde(default)]
    pub(crate) engine: bool,
    /// Whether the real cloud of `tests/live` has the type's service.
    #[serde(default)]
    pub(crate) real: bool,
}

/// Properties and attributes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Change(
    pub(crate) Map<String, Value>,
    #[serde(default)] pub(crate) Map<String, Value>,
);

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Bystander {
    Differs(Map<String, Value>),
    None(#[expect(dead_code, reason = "for the reader of the walk")] String),
}

impl Default for Bystander {
    fn default() -> Self {
        Bystander::Differs(Map::new())
    }
}

/// Reasons.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unseen {
    change: Option<String>,
    deletion: Option<String>,
    /// That a name is the same as the id that it stands for.
    name: Option<String>,
}

/// Something that walks stand on.
#[derive(Clone, Debug, Deserialize)]
struct Need {
    #[serde(rename = "type")]
    type_name: String,
    #[serde(default)]
    properties: Map<String, Value>,
}

fn demo() -> String {
    "demo".to_owned()
}

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/walks")
}

fn read<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let text = std::fs::read_to_string(directory().join(name)).unwrap();
    serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("walks/{name}: {error}"))
}

/// Every walk.
pub(crate) fn all() -> Vec<Walk> {
    let files = std::fs::read_dir(directory()).unwrap();
    let mut names: Vec<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "needs.yaml");
    names.sort();
    let walk = |file: &String| {
        let name = file.trim_end_matches(".yaml").to_owned();
        Walk { name, ..read(file) }
    };
    names.iter().map(walk).collect()
}

impl Walk {
    /// How many objects there are of each kind, but for those that stay.
    pub(crate) fn counted(&self, mut counts: Value) -> Value {
        counts.as_object_mut().unwrap().retain(|kind, _| !self.leaves.contains(kind));
        counts
    }
}

/// Those that `CASE` asks for, by their names or their types'.
pub(crate) fn chosen() -> Vec<Walk> {
    case::chosen(all(), |walk| vec![&walk.name, &walk.type_name])
}

/// What a walk stands on and beside.
pub(crate) struct Stage {
    /// Makes all that is not the walk's own.
    other: Runner,
    needs: BTreeMap<String, Need>,
    made: Vec<(String, Made)>,
    /// As it looks with the bystander in it.
    seen: Vec<Map<String, Value>>,
    bystander: Option<(Made, Map<String, Value>)>,
    /// The properties of the walk's object.
    pub(crate) properties: Value,
}

impl Stage {
    /// The properties of the walk that may say a name where they have the id of what was made for
    /// it, by that name.
    async fn by_names(&mut self, walk: &Walk, resolved: &[String]) -> Map<String, Value> {
        let mut named = Map::new();
        for (property, value) in walk.create.iter().filter(|(name, _)| resolved.contains(name)) {
            let need = value.get("get_resource").and_then(Value::as_str);
            let Some(need) = need else { continue };
            if let Some(name) = self.need(need).await.name() {
                named.insert(property.clone(), name.into());
            }
        }
        named
    }

    /// Makes what the walk needs, and the bystander.
    pub(crate) async fn set(walk: &Walk, other: Runner) -> Stage {
        let (needs, made) = (read("needs.yaml"), Vec::new());
        let properties = Value::Null;
        let seen = Vec::new();
        let mut stage = Stage { other, needs, made, seen, bystander: None, properties };
        for name in &walk.needs {
            Box::pin(stage.need(name)).await;
        }
        stage.properties = stage.filled(walk.create.clone().into()).await;
        if let Bystander::Differs(differs) = &walk.bystander {
            let mut properties = stage.properties.clone();
            let differs = stage.filled(differs.clone().into()).await;
            for (name, value) in differs.as_object().unwrap() {
                properties[name] = value.clone();
            }
            properties.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            let made = stage.other.create(&walk.type_name, "bystander", properties).await;
            let seen = stage.seen(&made).await;
            stage.bystander = Some((made, seen));
        }
        for (_, made) in &stage.made {
            let seen = stage.seen(made).await;
            stage.seen.push(seen);
        }
        stage
    }

    /// The value with references to what there is; what it names is made first.
    pub(crate) async fn filled(&mut self, value: Value) -> Value {
        match value {
            Value::Array(items) => {
                let mut filled = Vec::new();
                for item in items {
                    filled.push(Box::pin(self.filled(item)).await);
                }
                Value::Array(filled)
            }
            Value::Object(map) => match (map.get("get_resource"), map.get("get_attr")) {
                (Some(Value::String(name)), _) => self.need(name).await.reference(),
                (_, Some(Value::Array(path))) => {
                    let made = self.need(path[0].as_str().unwrap()).await;
                    self.other.attributes(&made).await[path[1].as_str().unwrap()].clone()
                }
                _ => {
                    let mut filled = Map::new();
                    for (key, value) in map {
                        filled.insert(key, Box::pin(self.filled(value)).await);
                    }
                    Value::Object(filled)
                }
            },
            other => other,
        }
    }

    async fn need(&mut self, name: &str) -> Made {
        if let Some((_, made)) = self.made.iter().find(|(known, _)| known == name) {
            return made.clone();
        }
        let need = self.needs.get(name).unwrap_or_else(|| panic!("needs.yaml has no {name}"));
        let Need { type_name, properties } = need.clone();
        let properties = Box::pin(self.filled(properties.into())).await;
        let made = self.other.create(&type_name, name, properties).await;
        self.made.push((name.to_owned(), made.clone()));
        made
    }

    /// What is seen of an object, but for what time changes and each answer has of its own.
    async fn seen(&self, made: &Made) -> Map<String, Value> {
        let mut seen = self.other.attributes(made).await;
        match seen.remove("show") {
            Some(Value::Object(mut shown)) => {
                shown.retain(|key, _| !PASSING.contains(&key.as_str()));
                shown
            }
            _ => seen,
        }
    }

    /// What the walk stood on, and the bystander, is as it was; then all goes.
    pub(crate) async fn clear(mut self) {
        // What the walk needed later may stand in what was there before.
        while self.made.len() > self.seen.len()
            && let Some((_, made)) = self.made.pop()
        {
            self.other.delete(made).await;
        }
        for ((name, made), before) in self.made.iter().zip(&self.seen) {
            assert_eq!(&self.seen(made).await, before, "{name}, after the walk");
        }
        if let Some((made, before)) = self.bystander.take() {
            assert_eq!(self.seen(&made).await, before, "the bystander of {}", made.type_name);
            self.other.delete(made).await;
        }
        while let Some((_, made)) = self.made.pop() {
            self.other.delete(made).await;
        }
    }
}

/// Plays a walk; `other` makes what is not its own.
pub(crate) async fn play(walk: &Walk, mut run: Runner, other: Runner) {
    let mut stage = Stage::set(walk, other).await;
    let mut made = run.create(&walk.type_name, "own", stage.properties.clone()).await;
    // What stands in another object may have its id.
    let is_within = |made: &Made| made.subject.properties.values().any(|value| value == made.id());
    if let Some((bystander, _)) = stage.bystander.as_ref().filter(|_| !is_within(&made)) {
        assert_ne!(made.id(), bystander.id(), "{} took what is another's", walk.type_name);
    }
    let shows = stage.filled(walk.shows.clone().into()).await;
    look(&run, &made, &shows).await;
    run.check(&mut made).await;
    assert_eq!(run.reality(&made).await, same(), "{} was created", walk.type_name);
    // A name and the id that it stands for are the same.
    let by_names = stage.by_names(walk, &made.resolved()).await;
    if !by_names.is_empty() && walk.unseen.name.is_none() {
        let is_same = run.comes_to_the_same(&made, by_names.into()).await;
        assert!(is_same, "{} by name", walk.type_name);
    }
    for Change(properties, shows) in &walk.updates {
        let properties = stage.filled(properties.clone().into()).await;
        let before = made.clone();
        run.update(&mut made, properties).await;
        assert_eq!(run.reality(&made).await, same(), "{} was updated", walk.type_name);
        // To whoever knows it as it was before, the change is drift.
        if walk.unseen.change.is_none() && run.says_otherwise(&before, &made) {
            assert_ne!(run.reality(&before).await, same(), "{} was updated", walk.type_name);
        }
        let shows = stage.filled(shows.clone().into()).await;
        look(&run, &made, &shows).await;
    }
    if !walk.replaces.is_empty() {
        let properties = stage.filled(walk.replaces.clone().into()).await;
        assert!(run.replaces(&made, properties), "{} changes in place", walk.type_name);
    }
    run.act(&mut made).await;
    run.check(&mut made).await;
    let made = run.delete(made).await;
    let is_gone = run.reality(&made).await == Reality::Gone;
    assert_eq!(is_gone, walk.unseen.deletion.is_none(), "{} was deleted", walk.type_name);
    stage.clear().await;
}

/// What there is, is what is on record.
fn same() -> Reality {
    Reality::Differs(JsonMap::new())
}

/// Holds attributes to what is expected of them.
async fn look(run: &Runner, made: &Made, expected: &Value) {
    let expected = expected.as_object().unwrap();
    if expected.is_empty() {
        return;
    }
    let seen = Value::Object(run.attributes(made).await.into_iter().collect());
    for (path, expected) in expected {
        let pointer = format!("/{}", path.replace('.', "/"));
        let found = seen.pointer(&pointer).cloned().unwrap_or_default();
        assert_eq!(&found, expected, "{} of {}: {seen:#}", path, made.type_name);
    }
}
