//! What secret properties look up in the mappings of a template, which is secret wherever it is
//! looked up.

use std::sync::Arc;

use serde_json::Value;

use super::written::Secrets;
use crate::model::taint;
use crate::template::node::{Form, Node};
use crate::template::version::Version;

const FIND_IN_MAP: &str = "Fn::FindInMap";

impl Secrets<'_> {
    /// The template with what secret properties look up in its mappings as secret, too.
    pub(super) fn in_mappings(&self, root: Arc<Node>, version: &'static Version) -> Arc<Node> {
        let section = version.dialect.sections.mappings;
        if root.get(section).is_none_or(Node::is_null) {
            return root;
        }
        let mut marked = root.to_json();
        self.mark_template(&mut marked, version, 0);
        let mut paths = Vec::new();
        lookups(&marked, false, &mut paths);
        if paths.is_empty() {
            return root;
        }
        let mut root = Node::clone(&root);
        if let Form::Map(sections) = &mut root.form
            && let Some(mappings) = sections.get_mut(section)
        {
            paths.iter().for_each(|path| taint_at(mappings, path));
        }
        Arc::new(root)
    }
}

/// The arguments of the lookups in mappings that stand under secrets.
fn lookups<'v>(value: &'v Value, is_secret: bool, found: &mut Vec<&'v [Value]>) {
    if let Some(secret) = taint::marked(value) {
        return lookups(secret, true, found);
    }
    match value {
        Value::Object(map) => {
            if let (true, Some(path)) = (is_secret, map.get(FIND_IN_MAP)) {
                found.push(path.as_array().map_or(&[], Vec::as_slice));
            }
            map.values().for_each(|value| lookups(value, is_secret, found));
        }
        Value::Array(items) => items.iter().for_each(|item| lookups(item, is_secret, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Taints what stands at a path; a key that is a call may be any.
fn taint_at(node: &mut Node, path: &[Value]) {
    match (path, &mut node.form) {
        ([key, rest @ ..], Form::Map(map)) => {
            let entries = map.iter_mut();
            let meant = entries.filter(|(name, _)| key.as_str().is_none_or(|key| *name == key));
            meant.for_each(|(_, within)| taint_at(within, rest));
        }
        _ => *node = std::mem::take(node).into_tainted(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::NothingYet;
    use super::super::written::tests::{Types, load};
    use super::*;
    use crate::model::taint::masked;

    #[test]
    fn what_a_secret_property_looks_up_is_secret_wherever_it_is_read() {
        let find = |keys: Value| json!({ "Fn::FindInMap": keys });
        let region = json!({ "Ref": "region" });
        let shown = |password: Value| {
            let output = |value: Value| json!({ "Value": value });
            let definition = load(json!({
                "AWSTemplateFormatVersion": "2010-09-09",
                "Parameters": { "region": { "Type": "String", "Default": "north" } },
                "Mappings": { "M": { "north": { "pw": "hunter2", "ami": "a1" },
                                     "south": { "pw": "hunter3", "ami": "a2" } } },
                "Resources": { "a": { "Type": "Some::Type",
                                      "Properties": { "password": password } } },
                "Outputs": { "pw": output(find(json!(["M", "north", "pw"]))),
                             "ami": output(find(json!(["M", "north", "ami"]))) },
            }));
            let template = masked(&definition.template_kept(&Types));
            // What was kept is read again with its marks.
            for definition in [&definition, &load(definition.template())] {
                let outputs = definition.resolve_outputs(&NothingYet);
                let secret = outputs.iter().map(|output| taint::is_tainted(&output.value));
                assert_eq!(secret.collect::<Vec<bool>>(), [true, false]);
            }
            template["Mappings"].clone()
        };
        let open = |pw: [&str; 2]| {
            json!({ "M": { "north": { "pw": pw[0], "ami": "a1" },
                           "south": { "pw": pw[1], "ami": "a2" } } })
        };
        let literal = find(json!(["M", "north", "pw"]));
        let joined = json!({ "Fn::Join": ["", ["x", find(json!(["M", region, "pw"]))]] });
        assert_eq!(shown(literal), open(["******", "hunter3"]));
        assert_eq!(shown(joined), open(["******", "******"]));
    }
}
