//! The reference in `docs/events.md`: every event with its stream, its version, when it is recorded and
//! what is in its body, put together from the types that are written and read (`src/events/`).
//! `UPDATE_GOLDEN=1` writes it anew.

use std::collections::{BTreeMap, BTreeSet};

use hearth::events::alarm::{AlarmState, Comparison, Statistic};
use hearth::events::log::BlobId;
use hearth::events::{
    AlarmEvent, ConfigEvent, DeploymentEvent, MetricEvent, OutletEvent, Position, ProjectEvent,
    PurgeEvent, ResourceEvent, ServerEvent, StackEvent, StreamId,
};
use hearth::model::{
    Action, AlarmId, CommandId, ConfigId, DeploymentId, Hook, ProjectId, ResourceId, ResourceName,
    Settling, StackId, StackName, StackRevision, Status, TraversalId, WebhookId,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const HEADING: &str = "\n## Reference\n";
const PREFACE: &str = "\
This chapter is put together by a test from the types that are written and read.
A field that is optional may be missing, for one in logs from before there was one; `[T]` is a list, `{K: V}` an object.
Times are as RFC 3339 writes them, JSON is whatever stands there.
";

/// The files with what may stand in a body.
const SOURCES: [&str; 16] = [
    include_str!("../../src/events/project.rs"),
    include_str!("../../src/events/stack.rs"),
    include_str!("../../src/events/resource.rs"),
    include_str!("../../src/events/software.rs"),
    include_str!("../../src/events/alarm.rs"),
    include_str!("../../src/events/outlet.rs"),
    include_str!("../../src/events/purge.rs"),
    include_str!("../../src/events/server.rs"),
    include_str!("../../src/events/envelope.rs"),
    include_str!("../../src/events/log/mod.rs"),
    include_str!("../../src/model/action.rs"),
    include_str!("../../src/model/hook.rs"),
    include_str!("../../src/model/selection.rs"),
    include_str!("../../src/model/stack_settings.rs"),
    include_str!("../../src/model/traversal_options.rs"),
    include_str!("../../src/model/trustor.rs"),
];
const IDS: &str = include_str!("../../src/model/id.rs");

#[test]
fn the_page_on_events_has_every_event_as_the_types_have_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/events.md");
    let kept = std::fs::read_to_string(path).unwrap();
    let prose = kept.split(HEADING).next().unwrap();
    let page = format!("{prose}{HEADING}\n{}", reference());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(page == kept, "docs/events.md is not what the types say: UPDATE_GOLDEN=1");
    // What is written by hand has every stream.
    for (_, stream) in streams() {
        assert!(prose.contains(&format!("`{stream}`")), "{stream}");
    }
}

#[test]
fn a_field_is_read_with_what_it_is() {
    let text = "/// A thing.\n/// More of it.\n#[derive(Clone)]\npub struct Thing {\n    /// Its name,\n    \
                /// as given.\n    #[serde(rename = \"type\")]\n    pub kind: String,\n    \
                #[serde(default, skip_serializing_if = \"Vec::is_empty\")]\n    pub all: Vec<Option<u64>>,\n}\n";
    let shapes = shapes(text);
    let thing = &shapes["Thing"];
    assert_eq!(thing.about, "A thing. More of it.");
    let rows = ["| `type` | text | Its name, as given. |", "| `all`, optional | [number] |  |"];
    assert_eq!(thing.rows(), rows);
    assert_eq!(about("\n#[derive(Clone)]\npub struct Thing {\n", "Thing"), "");
    assert_eq!(about(text, "Thing"), "A thing. More of it.");
}

/// The events of each kind of stream, and how such a stream is named.
fn streams() -> Vec<(&'static [(&'static str, u16)], String)> {
    let named = |stream: StreamId| {
        let nobody = StackId::default().to_string();
        stream.as_str().replace(&nobody, "{uuid}")
    };
    let project = ProjectId::from("{id}");
    // The id of an hour's data follows from the project and the hour.
    let metrics = StreamId::metrics(&project, 0);
    vec![
        (ProjectEvent::TYPES, named(StreamId::project(&project))),
        (StackEvent::TYPES, named(StreamId::stack(StackId::default()))),
        (ResourceEvent::TYPES, named(StreamId::resource(ResourceId::default()))),
        (ConfigEvent::TYPES, named(StreamId::config(ConfigId::default()))),
        (DeploymentEvent::TYPES, named(StreamId::deployment(DeploymentId::default()))),
        (AlarmEvent::TYPES, named(StreamId::alarm(AlarmId::default()))),
        (MetricEvent::TYPES, format!("{}-{{uuid}}", metrics.kind())),
        (OutletEvent::TYPES, named(StreamId::outlet("{name}"))),
        (PurgeEvent::TYPES, named(StreamId::purges())),
        (ServerEvent::TYPES, named(StreamId::servers())),
    ]
}

fn reference() -> String {
    let mut shapes: BTreeMap<String, Shape> =
        SOURCES.iter().flat_map(|text| shapes(text)).collect();
    flatten(&mut shapes);
    let mut text = PREFACE.to_owned();
    let mut used = BTreeSet::new();
    for (kinds, stream) in streams() {
        text.push_str(&format!("\n### In `{stream}`\n\n"));
        text.push_str("| Event | Version | Recorded when |\n| --- | --- | --- |\n");
        for (name, version) in kinds {
            let when = &shapes.get(*name).unwrap_or_else(|| panic!("no type of {name}")).about;
            assert!(!when.is_empty(), "nothing says when {name} is recorded");
            text.push_str(&format!("| `{name}` | {version} | {when} |\n"));
        }
        for (name, version) in kinds {
            let shape = shapes.remove(*name).unwrap();
            text.push_str(&format!("\n#### `{name}`, version {version}\n\n{}", shape.table()));
            used.extend(shape.parts());
        }
    }
    let (values, mut parts) = (values(), BTreeMap::new());
    while let Some(name) = used.pop_first() {
        if values.contains_key(name.as_str()) || parts.contains_key(&name) {
            continue;
        }
        let shape = shapes.remove(&name).unwrap_or_else(|| panic!("nothing says what {name} is"));
        used.extend(shape.parts());
        parts.insert(name, shape);
    }
    text.push_str("\n### Parts of bodies\n");
    for (name, shape) in parts {
        let (about, table) = (shape.sentences(), shape.table());
        assert!(!about.is_empty(), "nothing says what {name} is");
        text.push_str(&format!("\n#### `{name}`\n\n{about}\n\n{table}"));
    }
    text.push_str("\n### Values\n\n| Name | Is | Meaning |\n| --- | --- | --- |\n");
    for (name, is) in values {
        let texts = SOURCES.iter().chain([&IDS]);
        let about = texts.map(|text| about(text, name)).find(|it| !it.is_empty()).unwrap();
        text.push_str(&format!("| `{name}` | {is} | {about} |\n"));
    }
    text
}

/// What has a name of its own and stands in JSON as one value.
fn values() -> BTreeMap<&'static str, String> {
    BTreeMap::from([
        ("Action", words::<Action>()),
        ("AlarmId", plain(AlarmId::default())),
        ("AlarmState", words::<AlarmState>()),
        ("BlobId", plain(BlobId(String::new()))),
        ("CommandId", plain(CommandId::default())),
        ("Comparison", words::<Comparison>()),
        ("ConfigId", plain(ConfigId::default())),
        ("DeploymentId", plain(DeploymentId::default())),
        ("Hook", words::<Hook>()),
        ("Settling", words::<Settling>()),
        ("Position", plain(Position(0))),
        ("ProjectId", plain(ProjectId::default())),
        ("ResourceId", plain(ResourceId::default())),
        ("ResourceName", plain(ResourceName::default())),
        ("StackId", plain(StackId::default())),
        ("StackName", plain(StackName::default())),
        ("StackRevision", plain(StackRevision(0))),
        ("Statistic", words::<Statistic>()),
        ("Status", words::<Status>()),
        ("StreamId", plain(StreamId::purges())),
        ("TraversalId", plain(TraversalId::default())),
        ("WebhookId", plain(WebhookId::default())),
    ])
}

/// What a value is that stands for a type.
fn plain(value: impl Serialize) -> String {
    let is = match serde_json::to_value(value).unwrap() {
        Value::Number(_) => "number",
        Value::String(text) if text == StackId::default().to_string() => "a UUID",
        Value::String(_) => "text",
        other => panic!("{other} is no value by itself"),
    };
    is.to_owned()
}

/// The words of a type, as its reader names them to whom has another.
fn words<T: DeserializeOwned>() -> String {
    let Err(refused) = serde_json::from_str::<T>("\"?\"") else { panic!("any word will do") };
    let refused = refused.to_string();
    let words: Vec<&str> = refused.split('`').skip(3).step_by(2).collect();
    assert!(words.len() > 1, "{refused}");
    format!("`{}`", words.join("`, `"))
}

/// What is said of a type above it, or above its name in a list.
fn about(text: &str, name: &str) -> String {
    let declares = [
        format!("pub struct {name} {{"),
        format!("pub struct {name}("),
        format!("pub enum {name} {{"),
        format!("    {name},"),
    ];
    let (mut about, mut is_within) = (String::new(), false);
    for line in text.lines() {
        let sentence = line.trim().strip_prefix("/// ");
        if let Some(sentence) = sentence {
            about = if is_within { joined(&about, sentence) } else { sentence.to_owned() };
        } else if declares.iter().any(|start| line.starts_with(start.as_str())) {
            return about;
        } else if line.is_empty() {
            about.clear();
        }
        is_within = sentence.is_some();
    }
    String::new()
}

/// What stands among the fields of others is no part by itself.
fn flatten(shapes: &mut BTreeMap<String, Shape>) {
    let fields = shapes.values().flat_map(|shape| &shape.fields);
    let kinds: Vec<_> = fields.filter(|it| it.is_flat).map(|it| it.kind.clone()).collect();
    for kind in kinds {
        let part = shapes.remove(kind.trim_matches('`')).unwrap();
        for shape in shapes.values_mut() {
            if let Some(at) = shape.fields.iter().position(|it| it.is_flat && it.kind == kind) {
                shape.fields.splice(at..=at, part.fields.clone());
            }
        }
    }
}

/// A type that stands in a body.
#[derive(Default)]
struct Shape {
    about: String,
    fields: Vec<Field>,
}

#[derive(Clone, Default)]
struct Field {
    name: String,
    kind: String,
    about: String,
    is_optional: bool,
    is_flat: bool,
}

impl Shape {
    /// A line has one sentence.
    fn sentences(&self) -> String {
        self.about.replace(". ", ".\n")
    }

    fn table(&self) -> String {
        if self.fields.is_empty() {
            return "Nothing.\n".to_owned();
        }
        let rows = self.rows().join("\n");
        format!("| Field | Is | Meaning |\n| --- | --- | --- |\n{rows}\n")
    }

    /// The names of what its fields hold.
    fn parts(&self) -> Vec<String> {
        let names = self.fields.iter().flat_map(|field| field.kind.split('`').skip(1).step_by(2));
        names.map(str::to_owned).collect()
    }

    fn rows(&self) -> Vec<String> {
        let row = |field: &Field| {
            let optional = if field.is_optional { ", optional" } else { "" };
            let (name, kind) = (&field.name, &field.kind);
            format!("| `{name}`{optional} | {kind} | {} |", field.about.replace('|', "\\|"))
        };
        self.fields.iter().map(row).collect()
    }
}

/// The structs of a file with public fields, as rustfmt writes them.
fn shapes(text: &str) -> BTreeMap<String, Shape> {
    let (mut found, mut about, mut all_optional) = (BTreeMap::new(), String::new(), false);
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(sentence) = line.strip_prefix("/// ") {
            about = joined(&about, sentence);
        } else if let Some(name) =
            line.strip_prefix("pub struct ").and_then(|it| it.strip_suffix(" {"))
        {
            let mut fields = fields(&mut lines.by_ref().take_while(|line| *line != "}"));
            let optional = std::mem::take(&mut all_optional);
            fields.iter_mut().for_each(|field| field.is_optional |= optional);
            let about = std::mem::take(&mut about);
            found.insert(name.to_owned(), Shape { about, fields });
        } else if let Some(name) =
            line.strip_prefix("pub struct ").and_then(|it| it.strip_suffix(" {}"))
        {
            let about = std::mem::take(&mut about);
            found.insert(name.to_owned(), Shape { about, fields: Vec::new() });
        } else if line == "#[serde(default)]" {
            all_optional = true;
        } else if !line.starts_with('#') {
            about.clear();
            all_optional = false;
        }
    }
    found
}

fn fields(lines: &mut dyn Iterator<Item = &str>) -> Vec<Field> {
    let (mut all, mut field) = (Vec::new(), Field::default());
    for line in lines.map(str::trim) {
        if let Some(sentence) = line.strip_prefix("/// ") {
            field.about = joined(&field.about, sentence);
        } else if line.starts_with("#[serde(") {
            field.is_optional |= line.contains("default");
            field.is_flat |= line.contains("flatten");
            let renamed = line.split("rename = \"").nth(1).and_then(|rest| rest.split('"').next());
            field.name = renamed.unwrap_or(&field.name).to_owned();
        } else if let Some((name, kind)) =
            line.strip_prefix("pub ").and_then(|it| it.trim_end_matches(',').split_once(": "))
        {
            if field.name.is_empty() {
                field.name = name.to_owned();
            }
            field.is_optional |= kind.starts_with("Option<");
            field.kind = kind_shown(kind);
            all.push(std::mem::take(&mut field));
        }
    }
    all
}

fn joined(before: &str, more: &str) -> String {
    format!("{before} {more}").trim().to_owned()
}

/// A type in the words of JSON.
fn kind_shown(kind: &str) -> String {
    let inner = |outer: &str| kind.strip_prefix(outer)?.strip_suffix('>');
    if let Some(kind) = inner("Option<").or_else(|| inner("Box<")) {
        return kind_shown(kind);
    }
    if let Some(kind) = inner("Vec<").or_else(|| inner("BTreeSet<")) {
        return format!("[{}]", kind_shown(kind));
    }
    if let Some((key, value)) =
        inner("BTreeMap<").or_else(|| inner("IndexMap<")).and_then(|it| it.split_once(", "))
    {
        return format!("{{{}: {}}}", kind_shown(key), kind_shown(value));
    }
    match kind {
        "String" => "text".to_owned(),
        "bool" => "true or false".to_owned(),
        "u16" | "u32" | "u64" | "usize" | "i64" | "f64" => "number".to_owned(),
        "Value" | "serde_json::Value" => "JSON".to_owned(),
        "JsonMap" => "an object".to_owned(),
        "DateTime<Utc>" => "a time".to_owned(),
        _ => format!("`{kind}`"),
    }
}
