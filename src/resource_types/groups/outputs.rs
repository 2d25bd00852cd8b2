//! What a group's stack gives out of its members, and what attributes of the group are made of it.
//! The names of the outputs are Heat's, which users see in the nested stack.

use serde_json::{Value, json};

use crate::model::JsonMap;
use crate::resource_types::python;
use crate::template::{attribute_parts, select};

/// An attribute of a group that is read, with the path within it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Read {
    pub(crate) name: String,
    pub(crate) path: Vec<Value>,
}

impl Read {
    /// By its key.
    pub(crate) fn of(key: &str) -> Read {
        let (name, path) = attribute_parts(key);
        Read { name, path }
    }

    /// The member and what is read of it, where it is one member's: `resource.NAME[.ATTRIBUTE]`.
    pub(crate) fn of_member(&self) -> Option<(&str, Vec<Value>)> {
        let (member, attribute) = match self.name.strip_prefix("resource.")?.split_once('.') {
            Some((member, attribute)) => (member, Some(attribute)),
            None => (self.name.strip_prefix("resource.")?, None),
        };
        let path = attribute.map(Value::from).into_iter().chain(self.path.iter().cloned());
        Some((member, path.collect()))
    }

    /// The attribute and the path as one path.
    pub(crate) fn whole(&self) -> Vec<Value> {
        std::iter::once(Value::from(self.name.as_str())).chain(self.path.iter().cloned()).collect()
    }
}

/// The name of the output for a path.
pub(crate) fn output_name(path: &[Value]) -> String {
    path.iter().map(python::text).collect::<Vec<_>>().join(", ")
}

/// How a template language refers to its resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Language {
    Hot,
    Cfn,
}

impl Language {
    pub(crate) fn reference(self, member: &str) -> Value {
        match self {
            Language::Hot => json!({ "get_resource": member }),
            Language::Cfn => json!({ "Ref": member }),
        }
    }

    pub(crate) fn attribute(self, member: &str, path: &[Value]) -> Value {
        let path: Vec<Value> =
            std::iter::once(Value::from(member)).chain(path.iter().cloned()).collect();
        match self {
            Language::Hot => json!({ "get_attr": path }),
            Language::Cfn => json!({ "Fn::GetAtt": path }),
        }
    }

    /// A template of members and outputs.
    pub(crate) fn template(
        self,
        members: impl Iterator<Item = (String, Value)>,
        outputs: JsonMap,
    ) -> Value {
        let members: JsonMap = members.collect();
        let wrap = |key: &str, value: Value| json!({ key: value });
        match self {
            Language::Hot => json!({
                "heat_template_version": "2015-04-30",
                "resources": members,
                "outputs": outputs.into_iter().map(|(name, value)| (name, wrap("value", value)))
                    .collect::<JsonMap>(),
            }),
            Language::Cfn => json!({
                "HeatTemplateFormatVersion": "2012-12-12",
                "Resources": members,
                "Outputs": outputs.into_iter().map(|(name, value)| (name, wrap("Value", value)))
                    .collect::<JsonMap>(),
            }),
        }
    }

    /// The members of such a template.
    pub(crate) fn members(self, template: &Value) -> Option<&JsonMap> {
        let section = match self {
            Language::Hot => "resources",
            Language::Cfn => "Resources",
        };
        template.get(section)?.as_object()
    }
}

/// A value for each member, by its name.
pub(crate) fn map(members: &[String], value: impl Fn(&str) -> Value) -> Value {
    Value::Object(members.iter().map(|name| (name.clone(), value(name))).collect())
}

/// A value for each member, in their order.
pub(crate) fn list(members: &[String], value: impl Fn(&str) -> Value) -> Value {
    members.iter().map(|name| value(name)).collect()
}

/// What the path leads to; null where it leads nowhere.
pub(crate) fn at(value: &Value, path: &[Value]) -> Value {
    select(value, path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_member_is_named_in_the_attribute() {
        let parts = |name: &str, path: Value| {
            let path = path.as_array().cloned().unwrap_or_default();
            let read = Read { name: name.to_owned(), path };
            read.of_member().map(|(member, path)| (member.to_owned(), Value::Array(path)))
        };
        assert_eq!(parts("resource.0", json!([])), Some(("0".to_owned(), json!([]))));
        let within = Some(("0".to_owned(), json!(["networks.x", "a"])));
        assert_eq!(parts("resource.0.networks.x", json!(["a"])), within);
        assert_eq!(parts("resource.0", json!(["ip"])), Some(("0".to_owned(), json!(["ip"]))));
        assert_eq!(parts("refs", json!([])), None);
    }

    #[test]
    fn outputs_have_the_names_that_users_know() {
        assert_eq!(
            output_name(&[json!("attributes"), json!("ips"), json!(0)]),
            "attributes, ips, 0"
        );
    }
}
