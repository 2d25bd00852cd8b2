//! Circles of files, which import each other, over others or at once: a module and its children may,
//! and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

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
    let paths: Vec<String> = paths_in(text).iter().map(|path| path.join("::")).collect();
    let wanted = ["super::a::self", "super::a::B", "super::a::c::D", "super::a::c::E"];
    assert!(wanted.iter().all(|path| paths.contains(&(*path).to_owned())), "{paths:?}");
    assert!(paths.contains(&"crate::g::H::new".to_owned()), "{paths:?}");

    let module = |text: &str| text.split('/').map(str::to_owned).collect::<Module>();
    assert!(are_kin(&module("a"), &module("a/b")) && !are_kin(&module("a/b"), &module("a/c")));
    let imports = [("a", "a/c"), ("a/c", "a/d"), ("a/d", "a/e"), ("a/e", "a/c")];
    let imports = imports.map(|(from, to)| (module(from), BTreeSet::from([module(to)])));
    let found: Vec<String> = in_circles(&BTreeMap::from(imports)).into_iter().collect();
    assert_eq!(found, ["a/c", "a/d", "a/e"]);
}

/// What each file imports, but for the modules that it is in and those that are in it.
fn imports_of_files(source: &Path) -> BTreeMap<Module, BTreeSet<Module>> {
    let files: BTreeMap<Module, PathBuf> =
        rust_files(source).into_iter().map(|file| (module_of(source, &file), file)).collect();
    let imports = files.iter().map(|(module, file)| {
        let paths = paths_in(&std::fs::read_to_string(file).unwrap());
        let used = paths.iter().map(|path| leads_to(module, path, &files));
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

/// The module that a path of one leads to.
fn leads_to(from: &Module, path: &[String], files: &BTreeMap<Module, PathBuf>) -> Module {
    let mut at = from.clone();
    for part in path {
        match part.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            _ => {
                at.push(part.clone());
                if !files.contains_key(&at) {
                    at.pop();
                    break;
                }
            }
        }
    }
    at
}

/// The paths that begin with `crate`, `super` or `self`, in code alone.
fn paths_in(text: &str) -> Vec<Vec<String>> {
    // Unit tests stand at the foot of a file and may reach further.
    let text = text.split("#[cfg(test)]").next().unwrap_or_default();
    let code: Vec<&str> =
        text.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let tokens = tokens(&code.join("\n"));
    let mut paths = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let begins = matches!(tokens[at].as_str(), "crate" | "super" | "self")
            && tokens.get(at + 1).is_some_and(|next| next == "::");
        match begins {
            true => tree(&tokens, &mut at, &[], &mut paths),
            false => at += 1,
        }
    }
    paths
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

/// The paths of a tree of imports.
fn tree(tokens: &[String], at: &mut usize, before: &[String], paths: &mut Vec<Vec<String>>) {
    let mut path = before.to_vec();
    loop {
        match tokens.get(*at).map(String::as_str) {
            Some("{") => {
                *at += 1;
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
            Some(token) => {
                path.push(token.to_owned());
                *at += 1;
                if tokens.get(*at).is_none_or(|next| next != "::") {
                    paths.push(path);
                    return;
                }
                *at += 1;
            }
            None => return,
        }
    }
}

/// The files from which imports lead back to them.
fn in_circles(imports: &BTreeMap<Module, BTreeSet<Module>>) -> BTreeSet<String> {
    let places: BTreeMap<&Module, usize> =
        imports.keys().enumerate().map(|(place, module)| (module, place)).collect();
    let edges: Vec<Vec<usize>> = imports
        .values()
        .map(|used| used.iter().filter_map(|module| places.get(module).copied()).collect())
        .collect();
    let comes_back = |start: usize| {
        let mut seen = vec![false; edges.len()];
        let mut todo = edges[start].clone();
        while let Some(next) = todo.pop() {
            if !std::mem::replace(&mut seen[next], true) {
                todo.extend(&edges[next]);
            }
        }
        seen[start]
    };
    let found = places.into_iter().filter(|(_, place)| comes_back(*place));
    found.map(|(module, _)| module.join("/")).collect()
}
