//! The last chapter of `docs/events.md`: what is in the body of each event, put together from the
//! types that are written and read (`src/events/`). `UPDATE_GOLDEN=1` writes it anew.

use std::collections::BTreeMap;

use hearth::events::{
    AlarmEvent, ConfigEvent, DeploymentEvent, MetricEvent, OutletEvent, ProjectEvent, PurgeEvent,
    ResourceEvent, ServerEvent, StackEvent,
};

const HEADING: &str = "\n## Bodies\n";
const PREFACE: &str = "\
This chapter is put together by a test from the types that are written and read.
A field that is optional may be missing, for one in logs from before there was one; `[T]` is a list, `{K: V}` an object.
Times are as RFC 3339 writes them, ids are UUIDs, JSON is whatever stands there.
";

/// The files with what may stand in a body.
const SOURCES: [&str; 10] = [
    include_str!("../../src/events/project.rs"),
    include_str!("../../src/events/stack.rs"),
    include_str!("../../src/events/resource.rs"),
    include_str!("../../src/events/software.rs"),
    include_str!("../../src/events/alarm.rs"),
    include_str!("../../src/events/outlet.rs"),
    include_str!("../../src/events/purge.rs"),
    include_str!("../../src/events/server.rs"),
    include_str!("../../src/model/stack_settings.rs"),
    include_str!("../../src/model/traversal_options.rs"),
];

#[test]
fn the_page_on_events_has_every_body_as_the_types_have_it() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/events.md");
    let kept = std::fs::read_to_string(path).unwrap();
    let prose = kept.split(HEADING).next().unwrap();
    let page = format!("{prose}{HEADING}\n{}", bodies());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &page).unwrap();
    }
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(page == kept, "docs/events.md is not what the types say: UPDATE_GOLDEN=1");
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
}

fn bodies() -> String {
    let kinds = [
        ProjectEvent::TYPES,
        StackEvent::TYPES,
        ResourceEvent::TYPES,
        ConfigEvent::TYPES,
        DeploymentEvent::TYPES,
        AlarmEvent::TYPES,
        MetricEvent::TYPES,
        OutletEvent::TYPES,
        PurgeEvent::TYPES,
        ServerEvent::TYPES,
    ];
    let mut shapes: BTreeMap<String, Shape> =
        SOURCES.iter().flat_map(|text| shapes(text)).collect();
    flatten(&mut shapes);
    let mut text = PREFACE.to_owned();
    for (name, version) in kinds.into_iter().flatten() {
        let shape = shapes.remove(*name).unwrap_or_else(|| panic!("no type of {name} was found"));
        text.push_str(&shape.section(&format!("### `{name}`, version {version}")));
    }
    text.push_str("\n### Parts of bodies\n");
    for (name, shape) in &shapes {
        text.push_str(&shape.section(&format!("#### `{name}`")));
    }
    text
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
    fn section(&self, heading: &str) -> String {
        // A line has one sentence.
        let mut text = format!("\n{heading}\n\n{}\n", self.about.replace(". ", ".\n"));
        if !self.fields.is_empty() {
            text.push_str("\n| Field | Is | Meaning |\n| --- | --- | --- |\n");
        }
        for row in self.rows() {
            text.push_str(&format!("{row}\n"));
        }
        text
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
    let (mut found, mut about) = (BTreeMap::new(), String::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if let Some(sentence) = line.strip_prefix("/// ") {
            about = joined(&about, sentence);
        } else if let Some(name) =
            line.strip_prefix("pub struct ").and_then(|it| it.strip_suffix(" {"))
        {
            let fields = fields(&mut lines.by_ref().take_while(|line| *line != "}"));
            let about = std::mem::take(&mut about);
            found.insert(name.to_owned(), Shape { about, fields });
        } else if let Some(name) =
            line.strip_prefix("pub struct ").and_then(|it| it.strip_suffix(" {}"))
        {
            let about = std::mem::take(&mut about);
            found.insert(name.to_owned(), Shape { about, fields: Vec::new() });
        } else if !line.starts_with('#') {
            about.clear();
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
        "u16" | "u32" | "u64" => "number".to_owned(),
        "Value" | "serde_json::Value" => "JSON".to_owned(),
        "JsonMap" => "an object".to_owned(),
        "DateTime<Utc>" => "a time".to_owned(),
        _ => format!("`{kind}`"),
    }
}
