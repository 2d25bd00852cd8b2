//! How the value of a property is written in a template, for whoever would write another there.

use serde_json::Value;

use super::functions::table;
use super::version::Version;
use super::{dialect::Dialect, document};

/// How a value is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stands {
    /// As it is.
    Plain,
    /// By a parameter that nothing else reads.
    Parameter(String),
    /// By a parameter that is read elsewhere, too.
    Shared(String),
    /// By a function of other values.
    Computed,
    /// Nowhere: it comes from elsewhere.
    Missing,
}

/// A template that can be written anew.
pub struct Draft {
    template: Value,
    dialect: &'static Dialect,
}

impl Draft {
    /// A draft of a template as it was sent; `None` where it cannot be read.
    pub fn of(template: &Value) -> Option<Draft> {
        let root = document::template(template).ok()?;
        let dialect = Version::of(&root).ok()?.dialect;
        Some(Draft { template: root.to_marked_json(), dialect })
    }

    /// How a property of a resource is written.
    pub fn stands(&self, resource: &str, property: &str) -> Stands {
        let place = self.place(resource, property);
        let Some(value) = self.template.pointer(&place) else { return Stands::Missing };
        if is_plain(value) {
            return Stands::Plain;
        }
        let Some(name) = parameter(value).filter(|name| self.declares(name)) else {
            return Stands::Computed;
        };
        match reads(&self.template, name) {
            1 => Stands::Parameter(name.to_owned()),
            _ => Stands::Shared(name.to_owned()),
        }
    }

    /// Writes a value where one stands.
    pub fn write(&mut self, resource: &str, property: &str, value: Value) {
        let place = self.place(resource, property);
        if let Some(stands) = self.template.pointer_mut(&place) {
            *stands = value;
        }
    }

    /// The template as it is now.
    pub fn template(self) -> Value {
        self.template
    }

    fn place(&self, resource: &str, property: &str) -> String {
        let keys =
            [self.dialect.sections.resources, resource, self.dialect.resource.properties, property];
        keys.map(|key| format!("/{}", key.replace('~', "~0").replace('/', "~1"))).concat()
    }

    fn declares(&self, parameter: &str) -> bool {
        self.template
            .get(self.dialect.sections.parameters)
            .is_some_and(|parameters| parameters.get(parameter).is_some())
    }
}

/// Whether no part of a value would be read as a call of a function.
pub fn is_plain(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            let is_call = map.len() == 1 && map.keys().all(|name| table::is_known(name));
            !is_call && map.values().all(is_plain)
        }
        Value::Array(items) => items.iter().all(is_plain),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// The parameter whose value a call gives as it is.
fn parameter(value: &Value) -> Option<&str> {
    let map = value.as_object().filter(|map| map.len() == 1)?;
    map.get("get_param").or_else(|| map.get("Ref"))?.as_str()
}

/// How often a parameter is read, in whole or in part.
fn reads(value: &Value, name: &str) -> usize {
    match value {
        Value::Object(map) => {
            let of_entry = |(key, value): (&String, &Value)| {
                let first = value.as_array().and_then(|path| path.first()).unwrap_or(value);
                let reads_it = ["get_param", "Ref"].contains(&key.as_str()) && first == name;
                usize::from(reads_it) + reads(value, name)
            };
            map.iter().map(of_entry).sum()
        }
        Value::Array(items) => items.iter().map(|item| reads(item, name)).sum(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft() -> Draft {
        let text = "heat_template_version: 2021-04-16\n\
                    parameters:\n  own: { type: string }\n  both: { type: string }\n\
                    resources:\n  a/b:\n    type: T\n    properties:\n      plain: [{ x: 1 }]\n      \
                    own: { get_param: own }\n      both: { get_param: both }\n      \
                    part: { get_param: [both, x] }\n      pseudo: { get_param: 'OS::stack_id' }\n      \
                    joined: [{ list_join: ['', [a]] }]\n";
        Draft::of(&text.into()).unwrap()
    }

    #[test]
    fn a_value_is_plain_or_a_parameters_or_computed() {
        let draft = draft();
        let own = Stands::Parameter("own".to_owned());
        let both = Stands::Shared("both".to_owned());
        for (property, stands) in [
            ("plain", Stands::Plain),
            ("own", own),
            ("both", both),
            ("part", Stands::Computed),
            ("pseudo", Stands::Computed),
            ("joined", Stands::Computed),
            ("none", Stands::Missing),
        ] {
            assert_eq!(draft.stands("a/b", property), stands, "{property}");
        }
        assert_eq!(draft.stands("c", "plain"), Stands::Missing);
        assert!(Draft::of(&json!("[")).is_none());
    }

    #[test]
    fn what_is_written_stands_there() {
        let mut draft = draft();
        draft.write("a/b", "plain", json!("other"));
        assert_eq!(draft.template()["resources"]["a/b"]["properties"]["plain"], "other");
    }

    #[test]
    fn what_reads_as_a_call_is_not_plain() {
        assert!(is_plain(&json!([{ "get_param": "a", "more": 1 }, null, 2])));
        for call in [json!({ "get_param": "a" }), json!([{ "a": { "Ref": "b" } }])] {
            assert!(!is_plain(&call), "{call}");
        }
    }
}
