//! Attributes as the cloud has them: fields of the shown object, or what further calls show.

use serde_json::Value;

use super::{Declared, dotted};
use crate::model::JsonMap;
use crate::openstack::Method;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;
use crate::resource_types::python;
use crate::resource_types::schema::AttributeSchema;

impl Declared {
    /// One attribute; null where there is nothing.
    pub(super) fn attribute(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        object: &Value,
        name: &str,
    ) -> Result<Value, Failure> {
        let Some(schema) = self.declaration().attributes.get(name) else {
            return Ok(object.get(name).cloned().unwrap_or_default());
        };
        let answer;
        let (shown, place) = match &schema.get {
            None => (object, Some(schema.field.as_deref().unwrap_or(name))),
            Some(path) => {
                let mut request = self.request(cloud, Method::Get, path, subject, None)?;
                for (key, text) in &schema.query {
                    let text = self.filled(cloud, subject, text, str::to_owned)?;
                    request = request.query(key, text);
                }
                answer = cloud.send(request)?.json()?;
                (&answer, schema.list.as_deref().or(schema.field.as_deref()))
            }
        };
        let found = match place {
            Some(place) => dotted::one(shown, place).cloned().unwrap_or_default(),
            None => shown.clone(),
        };
        Ok(formed(schema, found))
    }
}

/// A value in the form that the attribute has.
fn formed(schema: &AttributeSchema, found: Value) -> Value {
    let value = match (&schema.by, found) {
        (Some(by), Value::Array(items)) => {
            let entry = |item: &Value| {
                let value = match &schema.value {
                    Some(key) => item.get(key).cloned().unwrap_or_default(),
                    None => item.clone(),
                };
                Some((python::text(item.get(by)?), value))
            };
            Value::Object(items.iter().filter_map(entry).collect::<JsonMap>())
        }
        (None, Value::Array(items)) if schema.value.is_some() => {
            let field = |item: &Value| item.get(schema.value.as_ref()?).cloned();
            items.iter().filter_map(field).collect()
        }
        (_, found) => found,
    };
    match value {
        value if schema.text && !value.is_null() => python::text(&value).into(),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(schema: &str, found: Value, expected: Value) {
        assert_eq!(formed(&serde_yaml::from_str(schema).unwrap(), found), expected);
    }

    #[test]
    fn a_list_becomes_a_map_by_its_names() {
        let refs = json!([{ "name": "a", "ref": "x" }, { "name": "b", "ref": "y" }, {}]);
        check("{ by: name, value: ref }", refs.clone(), json!({ "a": "x", "b": "y" }));
        check("{ by: name }", json!([{ "name": "a" }]), json!({ "a": { "name": "a" } }));
        check("{ value: ref }", refs.clone(), json!(["x", "y"]));
        check("{}", refs.clone(), refs);
    }

    #[test]
    fn a_value_may_be_wanted_as_text() {
        check("{ text: true }", json!(true), json!("True"));
        check("{ text: true }", json!(3), json!("3"));
        check("{ text: true }", json!(null), json!(null));
    }
}
