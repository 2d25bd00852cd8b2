//! Secrets that are written in templates: defaults of hidden parameters, values of properties that
//! are secrets by their type, wherever a resource is defined.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::secrets::{is_hidden, may_be_template};
use super::{NESTED_DEPTH_MAX, StackDefinition};
use crate::model::taint::{self, taint};
use crate::model::{JsonMap, ResourceName};
use crate::template::environment::Environment;
use crate::template::environment::registry::is_template;
use crate::template::functions::table::{self, Position};
use crate::template::node::Node;
use crate::template::version::Version;
use crate::template::{TypeLookup, document};

/// The calls that only name what stands elsewhere, so that nothing is written in them.
const REFERENCES: [&str; 6] =
    ["get_param", "get_resource", "get_attr", "get_file", "Ref", "Fn::GetAtt"];
/// Where in a value the properties of other resources stand, and beside them their types.
const DEFINITIONS: [(&str, &str); 2] =
    [("properties", "type"), ("resource_properties", "resources")];
/// Where in a value the parameters of another stack stand.
const PARAMETERS: [&str; 2] = ["parameters", "Parameters"];

/// How many entries of environments are looked at; for types beyond that it is taken that all of
/// their properties are secrets. An entry is some 5 ns.
const LOOKS_MAX: usize = 2_000_000;

/// What is secret by the types of a stack, whatever its environment calls them.
pub(super) struct Secrets<'a> {
    environment: &'a Environment,
    types: &'a dyn TypeLookup,
    /// What types by single names come to.
    known: RefCell<HashMap<String, Kinds>>,
    looks_left: Cell<usize>,
}

/// The types that have the entries of a map for properties.
#[derive(Clone, Default)]
struct Kinds {
    types: BTreeSet<String>,
    /// A template is among them, whose properties are its parameters.
    has_template: bool,
    /// One cannot be told, so that every property may be a secret.
    has_unknown: bool,
}

/// How a value is written.
#[derive(Clone, Copy)]
struct Written {
    /// The language of the calls in it; none where they are resolved.
    version: Option<&'static Version>,
    /// How many texts it stands in, one within the next.
    depth: u32,
    in_call: bool,
}

impl StackDefinition {
    fn secrets<'a>(&'a self, types: &'a dyn TypeLookup) -> Secrets<'a> {
        Secrets::new(&self.environment, types)
    }

    /// The template as it is kept: with marks also on the secrets that are written in it.
    pub(crate) fn template_kept(&self, types: &dyn TypeLookup) -> Value {
        let mut template = self.template();
        self.secrets(types).mark_template(&mut template, self.version, 0);
        template
    }

    /// The names of the files that are templates with secrets written in them.
    pub(crate) fn secret_files(&self, types: &dyn TypeLookup) -> BTreeSet<String> {
        let secrets = self.secrets(types);
        let candidates = self.files.texts.iter().filter(|(_, text)| may_be_template(text));
        let secret = candidates.filter(|(name, text)| {
            let root = self.files.template(name, text);
            root.is_ok_and(|root| secrets.is_secret_within(&root, 0))
        });
        secret.map(|(name, _)| name.clone()).collect()
    }

    /// Resolved properties of a resource with marks also on the secrets in the definitions and the
    /// templates that stand in them. Where a template stands behind its type, they are its
    /// parameters, and as secret as with the type that it stands for.
    pub(crate) fn mark_written(
        &self,
        name: &ResourceName,
        mut properties: JsonMap,
        types: &dyn TypeLookup,
    ) -> JsonMap {
        let secrets = self.secrets(types);
        let provided = self.definitions.get(name.as_str());
        let provided = provided.filter(|_| self.providers.contains_key(name.as_str()));
        let own = secrets.kinds(provided.map(|it| it.declared_type.as_str()));
        let written = Written { version: None, depth: 0, in_call: false };
        secrets.mark_map(&mut properties, &own, written);
        properties
    }
}

impl<'a> Secrets<'a> {
    pub(super) fn new(environment: &'a Environment, types: &'a dyn TypeLookup) -> Self {
        let looks_left = Cell::new(LOOKS_MAX);
        Self { environment, types, known: RefCell::default(), looks_left }
    }

    /// Marks the secrets that are written in a template, and says whether there are any.
    pub(super) fn mark_template(
        &self,
        template: &mut Value,
        version: &'static Version,
        depth: u32,
    ) -> bool {
        let (sections, keys) = (&version.dialect.sections, &version.dialect.resource);
        let mut found = false;
        let parameters = template.get_mut(sections.parameters).and_then(Value::as_object_mut);
        for schema in parameters.into_iter().flat_map(|all| all.values_mut()) {
            if !is_hidden(schema) {
                continue;
            }
            let key = version.dialect.parameter.default;
            if let Some(default) = schema.get_mut(key).filter(|default| !default.is_null()) {
                *default = taint(default.take());
                found = true;
            }
        }
        let written = Written { version: Some(version), depth, in_call: false };
        let resources = template.get_mut(sections.resources).and_then(Value::as_object_mut);
        for resource in resources.into_iter().flat_map(|all| all.values_mut()) {
            let Some(type_name) = resource.get(keys.kind).and_then(Value::as_str) else { continue };
            let kinds = self.kinds([type_name]);
            if let Some(properties) = resource.get_mut(keys.properties) {
                found |= self.mark(properties, &kinds, written);
            }
        }
        found
    }

    fn is_secret_within(&self, root: &Node, depth: u32) -> bool {
        let version = Version::of(root);
        version.is_ok_and(|version| self.mark_template(&mut root.to_json(), version, depth))
    }

    /// Whether a text is a template with secrets written in it; what lies too deep to be run is
    /// taken for one.
    fn is_secret_text(&self, text: &str, depth: u32) -> bool {
        may_be_template(text)
            && (depth > NESTED_DEPTH_MAX
                || document::template_text(text, document::ROOT)
                    .is_ok_and(|root| self.is_secret_within(&root, depth)))
    }

    /// Marks the secrets in a value, the entries of which are properties of these types.
    fn mark(&self, value: &mut Value, kinds: &Kinds, written: Written) -> bool {
        if taint::marked(value).is_some() || written.is_reference(value) {
            return false;
        }
        let is_call = written.call(value).is_some();
        let within = Written { in_call: written.in_call || is_call, ..written };
        let none = Kinds::default();
        let found = match value {
            Value::String(text) => self.is_secret_text(text, written.depth + 1),
            Value::Array(items) => {
                let mut found = false;
                for item in items {
                    found |= self.mark(item, &none, within);
                }
                found
            }
            Value::Object(_) if is_call && self.mentions(value, kinds) => true,
            Value::Object(map) if is_call => self.mark_map(map, &none, within),
            Value::Object(map) => return self.mark_map(map, kinds, within),
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        };
        // What a text or a call comes to is secret as a whole.
        if found && !value.is_array() {
            *value = taint(value.take());
        }
        found
    }

    fn mark_map(&self, map: &mut JsonMap, own: &Kinds, written: Written) -> bool {
        let within: Vec<Kinds> =
            map.keys().map(|name| self.kinds_at(map, name, written.in_call)).collect();
        let mut found = false;
        for ((name, value), kinds) in map.iter_mut().zip(&within) {
            let is_own = !value.is_null() && taint::marked(value).is_none() && self.has(own, name);
            if is_own && !written.is_reference(value) {
                *value = taint(value.take());
                found = true;
            } else {
                found |= self.mark(value, kinds, written);
            }
        }
        found
    }

    /// The types of which an entry of a map has the properties. In a call its parts may stand far
    /// from each other.
    fn kinds_at(&self, map: &JsonMap, name: &str, in_call: bool) -> Kinds {
        if PARAMETERS.contains(&name) {
            return Kinds { has_template: true, ..Kinds::default() };
        }
        let Some((_, types)) = DEFINITIONS.iter().find(|(properties, _)| *properties == name)
        else {
            return Kinds::default();
        };
        let names: Option<Vec<&str>> = match map.get(*types) {
            None if !in_call => return Kinds::default(),
            Some(Value::String(name)) => Some(vec![name]),
            Some(Value::Array(names)) => names.iter().map(Value::as_str).collect(),
            _ => None,
        };
        match names {
            Some(names) => self.kinds(names),
            None => Kinds { has_unknown: true, ..Kinds::default() },
        }
    }

    fn kinds<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Kinds {
        let mut all = Kinds::default();
        for name in names {
            let known = self.known.borrow().get(name).cloned();
            let kinds = known.unwrap_or_else(|| self.kinds_by(name));
            all.types.extend(kinds.types);
            all.has_template |= kinds.has_template;
            all.has_unknown |= kinds.has_unknown;
        }
        all
    }

    fn kinds_by(&self, name: &str) -> Kinds {
        let registry = &self.environment.registry;
        let kinds = match registry.meanings(name, self.types, &self.looks_left) {
            Some(types) => {
                let has_template = types.iter().any(|name| is_template(name));
                Kinds { types, has_template, has_unknown: false }
            }
            None => Kinds { has_unknown: true, ..Kinds::default() },
        };
        self.known.borrow_mut().insert(name.to_owned(), kinds.clone());
        kinds
    }

    fn has(&self, kinds: &Kinds, property: &str) -> bool {
        kinds.has_unknown
            || kinds.has_template && self.environment.secret_names.contains(property)
            || kinds.types.iter().any(|type_name| self.types.is_secret(type_name, property))
    }

    /// Whether a secret property of these types is named anywhere in a value.
    fn mentions(&self, value: &Value, kinds: &Kinds) -> bool {
        match value {
            Value::String(text) => self.has(kinds, text),
            Value::Array(items) => items.iter().any(|item| self.mentions(item, kinds)),
            Value::Object(map) => {
                map.iter().any(|(name, value)| self.has(kinds, name) || self.mentions(value, kinds))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
        }
    }
}

impl Written {
    /// The name of the function that a value calls.
    fn call(self, value: &Value) -> Option<&str> {
        let map = value.as_object().filter(|map| map.len() == 1)?;
        let (name, version) = (map.keys().next()?, self.version?);
        table::lookup(version, Position::Value, name).map(|_| name.as_str())
    }

    /// Whether a value only names what stands elsewhere, and so is nothing that is written.
    fn is_reference(self, value: &Value) -> bool {
        self.call(value).is_some_and(|name| REFERENCES.contains(&name))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;
    use crate::model::taint::masked;
    use crate::template::{PseudoParameters, StackSource};

    /// Types of any name, one of which has a secret property `password`.
    pub(in super::super) struct Types;

    impl TypeLookup for Types {
        fn exists(&self, _type_name: &str) -> bool {
            true
        }

        fn is_secret(&self, type_name: &str, property: &str) -> bool {
            type_name == "Some::Type" && property == "password"
        }
    }

    const PARAMETER: &str = "hunter";

    pub(in super::super) fn load(template: Value) -> StackDefinition {
        let environment = json!({ "resource_registry": {
            "My::Alias": "My::Other*", "My::Other*": "Some::Type",
            "resources": { "x": { "My::Own": "Some::Type" } },
        } });
        let hiding = json!({
            "heat_template_version": "2021-04-16",
            "parameters": { PARAMETER: { "type": "string", "hidden": true } },
        });
        let source = StackSource {
            template,
            environment: environment.as_object().unwrap().clone(),
            files: BTreeMap::from([("inner.yaml".to_owned(), hiding.to_string())]),
            ..StackSource::default()
        };
        StackDefinition::load(&source, &PseudoParameters::default(), &Types).unwrap()
    }

    fn template(type_name: &str, properties: &Value) -> Value {
        json!({
            "heat_template_version": "2021-04-16",
            "parameters": { "p": { "type": "string", "default": "x" } },
            "resources": { "a": { "type": type_name, "properties": properties } },
        })
    }

    /// The properties of a resource of a type with a secret property, as they are kept.
    fn kept(properties: Value) -> Value {
        let kept = load(template("Some::Type", &properties)).template_kept(&Types);
        masked(&kept["resources"]["a"]["properties"])
    }

    /// The definition of a resource with a secret and a value that is none.
    fn defined(type_name: &str) -> Value {
        json!({ "type": type_name, "properties": { "password": "hunter2", "open": "x" } })
    }

    #[test]
    fn a_secret_in_a_definition_that_a_property_has_is_not_kept_in_clear() {
        let group = |within: Value| json!({ "def": { "list": [within] } });
        for type_name in ["Some::Type", "My::Alias", "My::Own"] {
            let mut hidden = defined(type_name);
            hidden["properties"]["password"] = "******".into();
            let members = json!({ "type": "Group", "properties": group(defined(type_name)) });
            let hidden = json!({ "type": "Group", "properties": group(hidden) });
            assert_eq!(kept(group(members)), group(hidden), "{type_name}");
            let top = load(template(type_name, &defined(type_name)["properties"]));
            let top = masked(&top.template_kept(&Types)["resources"]["a"]["properties"]);
            assert_eq!(top, json!({ "password": "******", "open": "x" }), "{type_name}");
        }
        let open = group(defined("Open::Type"));
        assert_eq!(kept(open.clone()), open);
    }

    #[test]
    fn where_the_type_or_the_properties_are_made_by_a_call_nothing_written_is_kept_in_clear() {
        let properties = defined("Some::Type")["properties"].clone();
        let parameter = json!({ "get_param": "p" });
        let unknown = json!({ "type": parameter, "properties": properties });
        let masked = json!({ "type": parameter,
                             "properties": { "password": "******", "open": "******" } });
        assert_eq!(kept(json!({ "def": unknown })), json!({ "def": masked }));
        let merged =
            json!({ "map_merge": [{ "type": "Some::Type" }, { "properties": properties }] });
        assert_eq!(kept(json!({ "def": merged })), json!({ "def": "******" }));
        let merged = json!({ "map_merge": [properties, { "get_param": "p" }] });
        assert_eq!(
            kept(json!({ "def": { "type": "Some::Type", "properties": merged } })),
            json!({ "def": { "type": "Some::Type", "properties": "******" } })
        );
        let open = json!({ "def": { "type": "Open::Type", "properties": merged } });
        assert_eq!(kept(open.clone()), open);
    }

    #[test]
    fn what_is_given_to_members_of_several_types_is_secret_as_with_any_of_them() {
        let chain = |types: Value, password: &str| {
            json!({ "resources": types,
                    "resource_properties": { "password": password, "open": "x" } })
        };
        let types = json!(["Open::Type", "My::Alias"]);
        assert_eq!(kept(chain(types.clone(), "hunter2")), chain(types, "******"));
        let types = json!(["Open::Type"]);
        assert_eq!(kept(chain(types.clone(), "hunter2")), chain(types, "hunter2"));
    }

    #[test]
    fn what_is_given_to_a_parameter_that_a_template_hides_is_not_kept_in_clear() {
        let given = json!({ PARAMETER: "hunter2", "open": "x" });
        let hidden = json!({ PARAMETER: "******", "open": "x" });
        assert_eq!(
            kept(json!({ "def": { "type": "inner.yaml", "properties": given } })),
            json!({ "def": { "type": "inner.yaml", "properties": hidden } })
        );
        assert_eq!(kept(json!({ "parameters": given })), json!({ "parameters": hidden }));
    }

    #[test]
    fn resolved_definitions_bear_marks_too() {
        let definition = load(template("Some::Type", &json!({})));
        let given = json!({ "def": defined("My::Alias"), "text": nested(0, "password") });
        let properties = given.as_object().unwrap().clone();
        let marked = definition.mark_written(&"a".into(), properties, &Types);
        let mut hidden = defined("My::Alias");
        hidden["properties"]["password"] = "******".into();
        let shown = masked(&Value::Object(marked));
        assert_eq!(shown, json!({ "def": hidden, "text": "******" }));
    }

    #[test]
    fn what_is_written_in_a_call_under_a_secret_property_is_not_kept_in_clear() {
        let call = json!({ "list_join": ["", ["hunter2", { "get_param": "p" }]] });
        assert_eq!(
            kept(json!({ "password": call, "open": call })),
            json!({ "password": "******", "open": call })
        );
        let reference = json!({ "password": { "get_param": "p" } });
        assert_eq!(kept(reference.clone()), reference);
    }

    /// A template whose text stands in so many others, one within the next.
    fn nested(depth: u32, property: &str) -> String {
        let mut properties = json!({ property: "hunter2" });
        for _ in 0..depth {
            let text = within(&properties).to_string();
            properties = json!({ "template": text });
        }
        within(&properties).to_string()
    }

    fn within(properties: &Value) -> Value {
        json!({
            "heat_template_version": "2021-04-16",
            "resources": { "a": { "type": "Some::Type", "properties": properties } },
        })
    }

    #[test]
    fn a_secret_in_the_text_of_a_template_in_a_template_is_not_kept_in_clear() {
        assert_eq!(kept(json!({ "t": nested(1, "password") })), json!({ "t": "******" }));
        let open = json!({ "t": nested(1, "open"), "u": "heat_template_version" });
        assert_eq!(kept(open.clone()), open);
    }

    #[test]
    fn texts_within_texts_are_not_read_for_ever() {
        assert_eq!(kept(json!({ "t": nested(NESTED_DEPTH_MAX + 1, "open") }))["t"], "******");
    }
}
