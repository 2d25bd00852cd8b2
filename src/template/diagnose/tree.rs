//! Finding the nodes that an error speaks of, by its place in the text or by the path in its
//! message, and taking them out of the way.

use super::set_aside;
use crate::template::functions::table;
use crate::template::node::{Form, Node, NodeMap, Place};

/// A step from a node to one in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

/// From the root of a document to a node.
pub(super) type Path = Vec<Step>;

/// The node at a path.
pub(super) fn at<'n>(root: &'n Node, path: &[Step]) -> Option<&'n Node> {
    path.iter().try_fold(root, |node, step| match step {
        Step::Key(key) => node.get(key),
        Step::Index(index) => node.as_list()?.get(*index),
    })
}

fn at_mut<'n>(root: &'n mut Node, path: &[Step]) -> Option<&'n mut Node> {
    path.iter().try_fold(root, |node, step| match (step, &mut node.form) {
        (Step::Key(key), Form::Map(map)) => map.get_mut(key.as_str()),
        (Step::Index(index), Form::List(items)) => items.get_mut(*index),
        _ => None,
    })
}

/// The path as Heat writes it: `resources.a.properties.b[0]`.
pub(super) fn shown(path: &[Step]) -> String {
    let mut out = String::new();
    for step in path {
        match step {
            Step::Key(key) if out.is_empty() => out.clone_from(key),
            Step::Key(key) => out = format!("{out}.{key}"),
            Step::Index(index) => out = format!("{out}[{index}]"),
        }
    }
    out
}

/// The deepest node that stands at a place, or whose key does: below a path, if it is there, as
/// an alias makes the same place stand in several.
pub(super) fn path_below(root: &Node, above: &[Step], place: Place) -> Option<Path> {
    let fits = |node: &Node| node.place == place || node.key_place == place;
    let below = at(root, above).and_then(|node| find(node, &mut above.to_vec(), &fits));
    below.or_else(|| find(root, &mut Vec::new(), &fits))
}

/// The first node below a path that is this text.
pub(super) fn path_to_text(root: &Node, above: &[Step], text: &str) -> Option<Path> {
    find(at(root, above)?, &mut above.to_vec(), &|node| node.as_text() == Some(text))
}

/// The entry whose key stands at a place.
pub(super) fn path_to_key(root: &Node, place: Place) -> Option<Path> {
    find(root, &mut Vec::new(), &|node| node.key_place == place)
}

fn find(node: &Node, path: &mut Path, fits: &dyn Fn(&Node) -> bool) -> Option<Path> {
    let deeper = match &node.form {
        Form::Map(map) => map.iter().find_map(|(key, item)| {
            path.push(Step::Key(key.to_string()));
            let found = find(item, path, fits);
            path.pop();
            found
        }),
        Form::List(items) => items.iter().enumerate().find_map(|(index, item)| {
            path.push(Step::Index(index));
            let found = find(item, path, fits);
            path.pop();
            found
        }),
        _ => None,
    };
    deeper.or_else(|| fits(node).then(|| path.clone()))
}

/// Follows a path as a message writes it, as far as it goes in the text: what a function gives is
/// not in it.
pub(super) fn path_written(root: &Node, written: &str) -> Path {
    let mut path = Vec::new();
    let (mut node, mut rest) = (root, written);
    while let Some((step, next, left)) = step(node, rest) {
        path.push(step);
        (node, rest) = (next, left);
    }
    path
}

/// One step along a written path: the longest key that fits, or an index, with or without
/// brackets.
fn step<'n, 'p>(node: &'n Node, path: &'p str) -> Option<(Step, &'n Node, &'p str)> {
    let path = path.strip_prefix('.').unwrap_or(path);
    match &node.form {
        Form::Map(map) => {
            // What comes after `<` is within the template that a resource stands for.
            let fits = |key: &str| {
                path.strip_prefix(key)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[', '<']))
            };
            let (key, next) =
                map.iter().filter(|(key, _)| fits(key)).max_by_key(|(key, _)| key.len())?;
            Some((Step::Key(key.to_string()), next, &path[key.len()..]))
        }
        Form::List(items) => {
            let (index, rest) = match path.strip_prefix('[') {
                Some(inside) => inside.split_once(']')?,
                None => path.split_at(path.find(['.', '[']).unwrap_or(path.len())),
            };
            let index = index.parse().ok()?;
            Some((Step::Index(index), items.get(index)?, rest))
        }
        _ => None,
    }
}

/// Takes an entry of a map away.
pub(super) fn remove(root: &mut Node, path: &[Step]) -> bool {
    let Some((last, parent)) = path.split_last() else { return false };
    match (last, at_mut(root, parent).map(|node| &mut node.form)) {
        (Step::Key(key), Some(Form::Map(map))) => map.shift_remove(key.as_str()).is_some(),
        (Step::Index(index), Some(Form::List(items))) if *index < items.len() => {
            items.remove(*index);
            true
        }
        _ => false,
    }
}

/// Gives an entry the name that was meant, unless another entry has it.
pub(super) fn rename(root: &mut Node, path: &[Step], meant: &str) -> bool {
    let Some((Step::Key(key), parent)) = path.split_last() else { return false };
    let Some(Form::Map(map)) = at_mut(root, parent).map(|node| &mut node.form) else {
        return false;
    };
    if map.contains_key(meant) {
        return false;
    }
    let Some((index, _, node)) = map.shift_remove_full(key.as_str()) else { return false };
    map.shift_insert(index, meant.into(), node);
    true
}

/// Adds an entry that has no value, where none may be missing.
pub(super) fn add_without_value(root: &mut Node, path: &[Step], key: &str) -> bool {
    let Some(Form::Map(map)) = at_mut(root, path).map(|node| &mut node.form) else { return false };
    let node = Node { form: set_aside::form(), ..Node::default() };
    map.insert(key.into(), node).is_none()
}

/// Takes what is at fault out of the way, the smallest part of it first that is still there:
/// the call, the property, the field, the entry, the section. False where nothing is left to take.
pub(super) fn set_aside(root: &mut Node, path: &[Step]) -> bool {
    (1..=path.len()).rev().any(|length| set_aside_here(root, &path[..length]))
}

fn set_aside_here(root: &mut Node, path: &[Step]) -> bool {
    let [Step::Key(section), inner @ ..] = path else { return false };
    // The sections of the other dialect begin with capitals, and so do its keys.
    let is_cfn = section.starts_with(char::is_uppercase);
    let section = section.to_lowercase();
    let Some(node) = at_mut(root, path) else { return false };
    if matches!(node.form, Form::Call(_)) {
        return false;
    }
    let is_call = |node: &Node| {
        let only = node.as_map().filter(|map| map.len() == 1).and_then(NodeMap::first);
        only.is_some_and(|(name, _)| table::is_known(name))
    };
    match (section.as_str(), inner) {
        (_, []) => remove(root, path),
        ("parameters", [_]) if is_cfn => replace(node, "Type", "String"),
        ("parameters", [_]) => replace(node, "type", "string"),
        ("conditions", [_]) => {
            !matches!(std::mem::replace(&mut node.form, Form::Bool(true)), Form::Bool(true))
        }
        ("resources", [_]) if is_cfn => replace(node, "Type", set_aside::TYPE),
        ("resources", [_]) => replace(node, "type", set_aside::TYPE),
        ("resources", [_, Step::Key(key)]) => match key.to_lowercase().as_str() {
            "type" => replace_text(node, set_aside::TYPE),
            "properties" | "metadata" | "update_policy" | "updatepolicy" => hide(node),
            _ => remove(root, path),
        },
        ("resources", [_, Step::Key(key), Step::Key(_)])
            if key.eq_ignore_ascii_case("properties") =>
        {
            hide(node)
        }
        ("outputs", [_, Step::Key(key)]) if key.eq_ignore_ascii_case("value") => hide(node),
        ("outputs", [_]) | ("parameter_groups", [_]) => remove(root, path),
        ("resources" | "outputs" | "conditions", _) if is_call(node) => hide(node),
        ("parameters", [_, Step::Key(key), Step::Index(_)])
            if key.eq_ignore_ascii_case("constraints") =>
        {
            remove(root, path)
        }
        _ => false,
    }
}

fn hide(node: &mut Node) -> bool {
    node.form = set_aside::form();
    true
}

fn replace_text(node: &mut Node, text: &str) -> bool {
    let is_new = node.as_text() != Some(text);
    node.form = Form::Text(text.into());
    is_new
}

/// Puts a map of one text in the place of a node; false if it is that already.
fn replace(node: &mut Node, key: &str, text: &str) -> bool {
    let is_same = node
        .as_map()
        .is_some_and(|map| map.len() == 1 && map.get(key).and_then(Node::as_text) == Some(text));
    let value = Node::at(node, Form::Text(text.into()));
    node.form = Form::Map(Box::new([(key.into(), value)].into_iter().collect()));
    !is_same
}
