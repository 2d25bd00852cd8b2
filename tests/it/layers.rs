//! Rooms import one way: the table here is the one of `ARCHITECTURE.md`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What any room may use.
const COMMON: [&str; 5] = ["model", "clock", "private_files", "metrics", "traces"];

/// A room and what else it may import.
const MAY_IMPORT: [(&str, &[&str]); 17] = [
    ("model", &[]),
    ("clock", &[]),
    ("private_files", &[]),
    ("metrics", &[]),
    ("traces", &[]),
    ("config", &[]),
    ("template", &[]),
    ("graph", &["template"]),
    ("events", &[]),
    ("openstack", &[]),
    // A driver's step is kept in an event, whose shape the log gives.
    ("resource_types", &["template", "graph", "openstack", "events"]),
    ("actors", &["template", "graph", "events", "openstack", "resource_types"]),
    ("projections", &["events"]),
    ("outlets", &["events", "openstack", "actors", "projections"]),
    ("sandbox", &[]),
    ("policy", &[]),
    (
        "api",
        &["policy", "projections", "actors", "template", "resource_types", "openstack", "events"],
    ),
];

#[test]
fn rooms_import_only_what_the_table_allows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for file in rust_files(&source) {
        let path = file.strip_prefix(&source).unwrap();
        let room = room_of(path);
        if matches!(room.as_str(), "cli" | "lib" | "main") {
            continue;
        }
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == room) else {
            wrong.push(format!("{}: the room {room} is not in the table", path.display()));
            continue;
        };
        for used in rooms_used(&std::fs::read_to_string(&file).unwrap()) {
            let fine =
                used == room || COMMON.contains(&used.as_str()) || allowed.contains(&used.as_str());
            if !fine {
                wrong.push(format!("{}: {room} may not import {used}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Its files are written from the services' documents, so that a mistake in a type shows.
#[test]
fn the_sandbox_knows_no_resource_type() {
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sandbox");
    let data = std::fs::read_dir(room.join("services")).unwrap().map(|entry| entry.unwrap().path());
    for file in rust_files(&room).into_iter().chain(data) {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(!text.contains("OS::") && !text.contains("resource_types"), "{}", file.display());
    }
}

#[test]
fn the_table_of_the_architecture_says_the_same() {
    let page = include_str!("../../ARCHITECTURE.md");
    for (room, allowed) in MAY_IMPORT {
        let row = page
            .lines()
            .find(|line| {
                line.starts_with(&format!("| `{room}/`"))
                    || line.starts_with(&format!("| `{room}.rs`"))
            })
            .unwrap_or_else(|| panic!("ARCHITECTURE.md has no row for {room}"));
        let last = row.trim_end_matches('|').rsplit('|').next().unwrap();
        let written: BTreeSet<&str> =
            last.split(',').map(|name| name.trim().trim_matches('`')).collect();
        let table: BTreeSet<&str> = if allowed.is_empty() {
            BTreeSet::from(["—"])
        } else {
            allowed.iter().copied().collect()
        };
        assert_eq!(written, table, "the row of {room} in ARCHITECTURE.md");
    }
}

#[test]
fn names_of_rooms_are_found_in_every_form_of_import() {
    let text = "use crate::events::{self, Log};\nuse crate::{model::Id, openstack::Session};\n\
                // crate::api is only spoken of\nlet x = crate::config::Settings::default();\n";
    let found: Vec<String> = rooms_used(text).into_iter().collect();
    assert_eq!(found, ["config", "events", "model", "openstack"]);
}

fn room_of(path: &Path) -> String {
    let first = path.components().next().unwrap().as_os_str().to_string_lossy();
    first.trim_end_matches(".rs").to_owned()
}

/// The rooms that a file names after `crate::`, in code alone.
fn rooms_used(text: &str) -> BTreeSet<String> {
    // Unit tests stand at the foot of a file and may reach further.
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let code = code.join("\n");
    let mut rooms = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            None => rooms.extend(identifier(after)),
            Some(group) => rooms.extend(heads_of_group(group)),
        }
    }
    // `$crate::` in a macro names the same rooms; `use crate::*` would name none and is not used.
    rooms
}

/// The first names of the parts of `{a::b, c::{d, e}}`.
fn heads_of_group(group: &str) -> Vec<String> {
    let mut depth = 1;
    let mut heads = Vec::new();
    let mut at_head = true;
    for (index, letter) in group.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 1 => at_head = true,
            _ if depth == 1 && at_head && !letter.is_whitespace() => {
                heads.extend(identifier(&group[index..]));
                at_head = false;
            }
            _ => {}
        }
        if depth == 0 {
            break;
        }
    }
    heads
}

fn identifier(text: &str) -> Option<String> {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    (end > 0).then(|| text[..end].to_owned())
}

pub(crate) fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    files
}

/// What a type asks is answered by `actors::executor`: its program waits for nothing.
#[test]
fn the_programs_of_types_do_not_wait() {
    let room = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/resource_types");
    let mut wrong = Vec::new();
    for file in rust_files(&room) {
        let text = std::fs::read_to_string(&file).unwrap();
        for word in ["async ", ".await", "tokio::", "Session"] {
            if text.contains(word) {
                wrong.push(format!("{}: {word}", file.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is peculiar to a type stands in its file, or in the Rust beside it.
#[test]
fn no_code_outside_a_types_own_file_knows_its_name() {
    // The stack's own lines of the event list have a type, in Heat's API.
    const OF_THE_API: &str = "src/projections/event_list.rs: OS::Heat::Stack";
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut named = Vec::new();
    for file in rust_files(&root.join("src")) {
        let path = file.strip_prefix(root).unwrap().display().to_string();
        // What is measured, and what tests are made of, are templates.
        let is_own = ["src/resource_types/types/", "src/cli/bench/"];
        let tests = ["/tests", "/story.rs", "/transcripts.rs", "/yaml/properties.rs"];
        let is_test = tests.iter().any(|test| path.contains(test));
        if is_test || is_own.iter().any(|own| path.starts_with(own)) {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        let code = without_tests(&text).lines().filter(|line| !line.trim_start().starts_with("//"));
        named.extend(code.flat_map(types_named).map(|name| format!("{path}: {name}")));
    }
    assert_eq!(named, [OF_THE_API], "\n{}", named.join("\n"));
}

/// The text of a file up to the tests at its foot.
fn without_tests(text: &str) -> &str {
    let mut modules = text.match_indices("#[cfg(test)]\nmod ");
    let begins = |at: usize| text[at..].lines().nth(1).is_some_and(|line| line.ends_with('{'));
    modules.find(|(at, _)| begins(*at)).map_or(text, |(at, _)| &text[..at])
}

/// The names of types in the texts of a line of code, and the beginnings of some.
fn types_named(line: &str) -> Vec<String> {
    let quoted = line.split('"').skip(1).step_by(2);
    let words = quoted.flat_map(|text| text.split(|c: char| !c.is_alphanumeric() && c != ':'));
    let is_type = |word: &&str| {
        let parts: Vec<&str> = word.split("::").collect();
        let is_whole = parts.len() == 3 && (parts[0] == "OS" || parts[0] == "AWS");
        is_whole && parts[1].starts_with(char::is_uppercase)
    };
    words.filter(is_type).map(str::to_owned).collect()
}

#[test]
fn names_of_types_are_found_in_code() {
    let line = "if name.starts_with(\"OS::Heat::\") || name == \"AWS::EC2::VPC\" {}";
    assert_eq!(types_named(line), ["OS::Heat::", "AWS::EC2::VPC"]);
    assert!(types_named("parameters.get(\"OS::stack_id\")").is_empty());
}
