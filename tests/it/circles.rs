//! Circles of files, which import each other, over others or at once: a module and its children may,
//! and no others. What a module hands on (`pub use`) counts as imported from where it is made.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::layers::rust_files;

/// A module's path below the crate.
type Module = Vec<String>;

#[test]
fn no_imports_of_files_lead_back_to_one_of_them() {
    let found = in_circles(&imports_of_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src")));
    assert!(found.is_empty(), "these are in a circle of imports: {found:#?}");
}

#[test]
fn every_form_of_import_counts_and_a_module_may_import_its_children() {
    let text = "use super::a::{self, B, c::{D, E as F}};\nlet x = crate::g::H::new();\n";
    let written = Written::of(text);
    let paths: Vec<String> = written.paths.iter().map(|path| path.join("::")).collect();
    let wanted = ["super::a", "super::a::B", "super::a::c::D", "super::a::c::E"];
    assert!(wanted.iter().all(|path| paths.contains(&(*path).to_owned())), "{paths:?}");
    assert!(paths.contains(&"crate::g::H::new".to_owned()), "{paths:?}");

    assert!(are_kin(&module("a"), &module("a/b")) && !are_kin(&module("a/b"), &module("a/c")));
    let imports = [("a", "a/c"), ("a/c", "a/d"), ("a/d", "a/e"), ("a/e", "a/c")];
    let imports = imports.map(|(from, to)| (module(from), BTreeSet::from([module(to)])));
    let found: Vec<String> = in_circles(&BTreeMap::from(imports)).into_iter().collect();
    assert_eq!(found, ["a/c -> a/d", "a/d -> a/e", "a/e -> a/c"]);
}

#[test]
fn what_a_module_hands_on_is_imported_from_where_it_is_made() {
    let files = [
        ("a", "mod b; mod c;\npub use b::{Limit as Bound, other}; use c::Kind;"),
        ("a/b", "use super::c::convert;"),
        ("a/c", "use super::Bound;\nuse serde_json::Value;"),
        ("a/d", "use super::Kind;"),
        ("e", "use crate::a;\nfn f() { a::other() }"),
    ];
    let files = files.map(|(name, text)| (module(name), Written::of(text)));
    let imports = imports(&BTreeMap::from(files));
    assert_eq!(imports[&module("a/d")], BTreeSet::from([module("a/c")]));
    assert_eq!(imports[&module("e")], BTreeSet::from([module("a"), module("a/b")]));
    let found: Vec<String> = in_circles(&imports).into_iter().collect();
    assert_eq!(found, ["a/b -> a/c", "a/c -> a/b"]);
}

fn module(text: &str) -> Module {
    text.split('/').map(str::to_owned).collect()
}

/// What is written in a file.
#[derive(Default)]
struct Written {
    /// Every path in it, from where it stands.
    paths: Vec<Vec<String>>,
    /// Those that it imports, by the names that they have in it.
    names: BTreeMap<String, Vec<String>>,
}

/// What each file imports, but for its kin.
fn imports_of_files(source: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let files = rust_files(source).into_iter().map(|file| {
        let text = std::fs::read_to_string(&file).unwrap();
        (module_of(source, &file), Written::of(&text))
    });
    imports(&files.collect())
}

fn imports(files: &BTreeMap<Module, Written>) -> BTreeMap<Module, BTreeSet<Module>> {
    let imports = files.iter().map(|(module, written)| {
        let used = written.paths.iter().map(|path| leads_to(module, path, files));
        (
            module.clone(),
            used.filter(|used| files.contains_key(used) && !are_kin(module, used)).collect(),
        )
    });
    imports.collect()
}

fn module_of(source: &Path, file: &Path) -> Module {
    let path = file.strip_prefix(source).unwrap().with_extension("");
    let mut parts: Module =
        path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    if parts.last().is_some_and(|last| last == "mod" || last == "lib") {
        parts.pop();
    }
    parts
}

/// Whether one is in the other.
fn are_kin(one: &Module, other: &Module) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// The file that has what a path of one leads to, be it imported where the path looks for it.
fn leads_to(from: &Module, path: &[String], files: &BTreeMap<Module, Written>) -> Module {
    let mut at = from.clone();
    for (place, part) in path.iter().enumerate() {
        match part.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            _ => {
                at.push(part.clone());
                if files.contains_key(&at) {
                    continue;
                }
                at.pop();
                let imported = files.get(&at).and_then(|written| written.names.get(part));
                // A package may have the name by which it is imported.
                let Some(imported) = imported.filter(|it| it.first() != Some(part)) else { break };
                return leads_to(&at, &[imported, &path[place + 1..]].concat(), files);
            }
        }
    }
    at
}

impl Written {
    /// In code alone: unit tests stand at the foot of a file and may reach further.
    fn of(text: &str) -> Self {
        let text = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> =
            text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
        let tokens = tokens(&code.join("\n"));
        let (mut written, mut at) = (Self::default(), 0);
        while at < tokens.len() {
            let is_import = tokens[at] == "use";
            at += usize::from(is_import);
            let mut found = Vec::new();
            match is_import || tokens.get(at + 1).is_some_and(|next| next == "::") {
                true => tree(&tokens, &mut at, &[], &mut found),
                false => at += 1,
            }
            if is_import {
                written.names.extend(found.iter().cloned());
            }
            written.paths.extend(found.into_iter().map(|(_, path)| path));
        }
        written
    }
}

/// Words, `::` and single signs.
fn tokens(code: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    let mut in_word = false;
    for sign in code.chars() {
        let is_word = sign.is_alphanumeric() || sign == '_';
        match tokens.last_mut() {
            Some(last) if is_word && in_word => last.push(sign),
            Some(last) if sign == ':' && last == ":" => last.push(sign),
            _ if sign.is_whitespace() => {}
            _ => tokens.push(sign.to_string()),
        }
        in_word = is_word;
    }
    tokens
}

/// The paths of a tree of imports, with their names.
fn tree(
    tokens: &[String],
    at: &mut usize,
    before: &[String],
    paths: &mut Vec<(String, Vec<String>)>,
) {
    let mut path = before.to_vec();
    while let Some(token) = tokens.get(*at) {
        *at += 1;
        if token == "{" {
            while let Some(token) = tokens.get(*at) {
                match token.as_str() {
                    "}" => break,
                    "," => *at += 1,
                    _ => tree(tokens, at, &path, paths),
                }
            }
            *at += 1;
            return;
        }
        if token != "self" || path.is_empty() {
            path.push(token.clone());
        }
        match tokens.get(*at).map(String::as_str) {
            Some("::") => *at += 1,
            Some("as") => {
                paths.extend(tokens.get(*at + 1).map(|name| (name.clone(), path)));
                *at += 2;
                return;
            }
            _ => {
                paths.extend(path.last().cloned().map(|name| (name, path)));
                return;
            }
        }
    }
}

/// The imports that lead back to the file that they stand in.
fn in_circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<String> {
    let leads_back = |(from, used): &(&Module, &Module)| {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![*used]);
        while let Some(next) = todo.pop() {
            if next == *from {
                return true;
            }
            if seen.insert(next) {
                todo.extend(imports.get(next).into_iter().flatten());
            }
        }
        false
    };
    let all = imports.iter().flat_map(|(from, used)| used.iter().map(move |used| (from, used)));
    all.filter(leads_back)
        .map(|(from, used)| format!("{} -> {}", from.join("/"), used.join("/")))
        .collect()
}
