//! `plain-data`: maps that look like calls and are none, as the version does not have the
//! function. Heat takes them for data.

use super::unused::bodies;
use super::{Finding, Path, Step, Written};
use crate::template::functions::table::{self, Position};
use crate::template::node::{Form, Node};
use crate::template::suggest;
use crate::template::version::{VERSIONS, Version};

/// Words that are keys of ordinary data as well.
const ORDINARY: [&str; 10] =
    ["not", "and", "or", "equals", "contains", "filter", "repeat", "digest", "if", "yaql"];

/// Finds them.
pub(super) fn taken_as_data(written: &Written<'_>, version: &Version, found: &mut Vec<Finding>) {
    for (mut path, node) in bodies(written) {
        walk(written, version, node, &mut path, found);
    }
}

fn walk(
    written: &Written<'_>,
    version: &Version,
    node: &Node,
    path: &mut Path,
    found: &mut Vec<Finding>,
) {
    match &node.form {
        Form::Map(map) => {
            for (key, item) in map.iter() {
                path.push(Step::Key(key.to_string()));
                if map.len() == 1 {
                    found.extend(warning(written, version, key, item, path));
                }
                walk(written, version, item, path, found);
                path.pop();
            }
        }
        Form::List(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                walk(written, version, item, path, found);
                path.pop();
            }
        }
        _ => {}
    }
}

fn warning(
    written: &Written<'_>,
    version: &Version,
    name: &str,
    args: &Node,
    path: &Path,
) -> Option<Finding> {
    let position = Position::Value;
    if table::lookup(version, position, name).is_some() {
        return None;
    }
    // `if` with a list is hardly ever data.
    let is_ordinary = ORDINARY.contains(&name) && !(name == "if" && args.as_list().is_some());
    if is_ordinary {
        return None;
    }
    let of_language = || VERSIONS.iter().filter(|other| other.dialect == version.dialect);
    let newer = of_language().find(|other| {
        other.alias_of.is_none()
            && other.release > version.release
            && table::names(other, position).contains(&name)
    });
    let is_call_like = name.starts_with("Fn::") || name.contains('_') || table::is_known(name);
    let near = || {
        let known = table::names(version, position).into_iter().map(str::to_owned);
        suggest::nearest(name, known).filter(|_| is_call_like)
    };
    let (message, meant) = match newer {
        Some(newer) => {
            let since = newer.name;
            (format!("`{name}` is a function only since {since}: here it is plain data"), None)
        }
        None if name.starts_with("Fn::") || table::is_known(name) => {
            (format!("`{name}` is no function of this language: it is plain data"), near())
        }
        None => {
            let meant = near()?;
            (format!("`{name}` is no function: it is plain data"), Some(meant))
        }
    };
    let mut warning = written.warning("plain-data", path, args.key_place, message);
    warning.suggestion = meant;
    Some(warning)
}
