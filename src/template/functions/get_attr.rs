//! `get_attr`, `Fn::GetAtt`: an attribute of a resource, or what a path leads to within it; since 2015-10-15
//! also all attributes.

use std::sync::Arc;

use serde_json::Value;

use super::{Call, Function, Read, Scope, unhashable, unpack};
use crate::model::{ResourceName, taint};
use crate::template::environment::registry::is_template;
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::subscript::index;
use crate::template::value::Datum;
use crate::template::{ALL_ATTRIBUTES, attribute_key, python, walk};

#[derive(Debug)]
struct GetAttr(Call);

/// Parses `[resource, attribute, path…]`.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    let Some(args) = call.args.as_list() else {
        return Err(TemplateError::kind(format!("Argument to \"{name}\" must be a list")));
    };
    if args.len() < 2 {
        let message = format!(
            "Arguments to \"{name}\" must be of the form [resource_name, attribute, (path), ...]"
        );
        return Err(TemplateError::value(message));
    }
    Ok(Arc::new(GetAttr(call)))
}

/// Parses `Fn::GetAtt`: `[resource, attribute]`.
pub(super) fn parse_pair(mut call: Call) -> Outcome<Arc<dyn Function>> {
    let parts = unpack(&call.args, 2).map_err(|error| match error.class.as_ref() {
        "ValueError" => TemplateError::value(format!(
            "Arguments to \"{}\" must be of the form [resource_name, attribute]",
            call.name
        )),
        _ => error,
    })?;
    call.args = Node::at(&call.args, Form::List(parts));
    Ok(Arc::new(GetAttr(call)))
}

/// Parses the same, or `[resource]`, which reads all attributes.
pub(super) fn parse_all(call: Call) -> Outcome<Arc<dyn Function>> {
    let name = &call.name;
    if !call.args.is_truthy() {
        let message = format!(
            "Arguments to \"{name}\" can be of the next forms: [resource_name] or \
             [resource_name, attribute, (path), ...]"
        );
        return Err(TemplateError::value(message));
    }
    let is_one = match &call.args.form {
        Form::List(items) => items.len() == 1,
        // Python takes a text of one character for a list of it.
        Form::Text(text) => text.chars().count() == 1,
        _ => false,
    };
    if is_one { Ok(Arc::new(GetAttr(call))) } else { parse(call) }
}

impl GetAttr {
    fn parts(&self) -> (&Node, Option<&Node>, &[Node]) {
        match self.args().as_list() {
            Some([resource, attribute, path @ ..]) => (resource, Some(attribute), path),
            Some([resource]) => (resource, None, &[]),
            _ => (self.args(), None, &[]),
        }
    }

    fn resource(&self, scope: &Scope<'_>) -> Outcome<String> {
        let name = walk::resolve(self.parts().0, scope)?;
        match unhashable(&name) {
            Some(error) => Err(error),
            None => Ok(python::text_of(&name)),
        }
    }

    fn attribute(&self, scope: &Scope<'_>) -> Outcome<Option<String>> {
        // An attribute written as null reads all, as one that is not there.
        let Some(attribute) = self.parts().1.filter(|node| !node.is_null()) else {
            return Ok(None);
        };
        Ok(Some(python::text_of(&walk::resolve(attribute, scope)?)))
    }

    /// The attribute; refuses one that is no text, and a step of its path that is a list or a map.
    /// None at all is an attribute that only `get_attr` takes.
    fn attribute_checked(&self, scope: &Scope<'_>) -> Outcome<Option<String>> {
        let (_, Some(attribute), path) = self.parts() else { return Ok(None) };
        let steps = path.iter().filter_map(|step| walk::resolve(step, scope).ok());
        if let Some(error) = steps.filter_map(|step| unhashable(&step)).next() {
            return Err(error);
        }
        match walk::resolve(attribute, scope)? {
            Datum::Text(text) => Ok(Some(text.into())),
            Datum::Null if attribute.is_null() && self.name() == "get_attr" => Ok(None),
            // What is not known yet may be a text.
            unknown @ Datum::Null if !attribute.is_null() => Ok(Some(python::text_of(&unknown))),
            other => {
                let kind = python::type_name(&other);
                let message = format!("The attribute of \"{}\" is no text: {kind}", self.name());
                Err(TemplateError::kind(message))
            }
        }
    }

    /// The attribute and the path within it. An attribute of a resource of a template's stack may be
    /// written as the first steps of the path: `resource.a` and `output` are `resource.a.output`.
    fn place(&self, resource: &str, scope: &Scope<'_>) -> Outcome<(String, Vec<Value>)> {
        let attribute = self.attribute(scope)?.unwrap_or_else(|| ALL_ATTRIBUTES.to_owned());
        let mut path = Vec::with_capacity(self.parts().2.len());
        for component in self.parts().2 {
            path.push(walk::resolve(component, scope)?.to_json());
        }
        let has_child = scope.resources.get(resource).is_some_and(|it| is_template(it));
        if !has_child {
            return Ok((attribute, path));
        }
        let mut attribute = attribute;
        let mut steps = path.into_iter().peekable();
        while names_member(&attribute)
            && let Some(Value::String(step)) = steps.next_if(Value::is_string)
        {
            attribute = format!("{attribute}.{step}");
        }
        Ok((attribute, steps.collect()))
    }
}

/// Whether an attribute is a resource of a child stack, and not yet what of it: `resource.a`.
fn names_member(attribute: &str) -> bool {
    let Some(of_member) = attribute.strip_prefix("resource.") else { return false };
    match of_member.split_once('.') {
        None => true,
        Some((_, rest)) => names_member(rest),
    }
}

impl Function for GetAttr {
    fn call(&self) -> &Call {
        &self.0
    }

    fn check(&self, scope: &Scope<'_>) -> Outcome<()> {
        let resource = self.resource(scope)?;
        let Some(type_name) = scope.resources.get(&resource) else {
            return Err(TemplateError::reference(&resource, "unknown"));
        };
        let Some(attribute) = self.attribute_checked(scope)? else { return Ok(()) };
        // What a nested stack has is not known before it is there.
        let any = scope.types.takes_anything(type_name) || is_template(type_name);
        if any || scope.types.has_attribute(type_name, &attribute) {
            return Ok(());
        }
        let message = format!("The Referenced Attribute ({resource} {attribute}) is incorrect.");
        Err(TemplateError::new("InvalidTemplateAttribute", message))
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let resource = self.resource(scope)?;
        if !scope.resources.contains_key(&resource) {
            return Err(TemplateError::reference(&resource, "unknown"));
        }
        let (attribute, path) = self.place(&resource, scope)?;
        let resource = ResourceName(resource);
        let value = scope.values.attribute_at(&resource, &attribute, &path).map_err(|refusal| {
            TemplateError { class: refusal.class, ..TemplateError::validation(refusal.message) }
        })?;
        Ok(Some(value.as_ref().map_or(Datum::Null, |value| scope.read(value))))
    }

    fn reads(&self, scope: &Scope<'_>) -> Outcome<Option<Read>> {
        let resource = self.resource(scope)?;
        let mut attribute =
            self.attribute_checked(scope)?.unwrap_or_else(|| ALL_ATTRIBUTES.to_owned());
        let type_name = scope.resources.get(&resource);
        // A path is looked at where it says what is read, and nowhere else.
        if type_name.is_some_and(|type_name| scope.types.reads_paths(type_name)) {
            let (named, path) = self.place(&resource, scope)?;
            attribute = attribute_key(&named, &path);
        } else if names_member(&attribute) {
            attribute = self.place(&resource, scope)?.0;
        }
        Ok(Some(Read { resource, attribute: Some(attribute) }))
    }
}

/// Follows a path within an attribute; one that leads nowhere gives nothing.
pub(crate) fn select(value: &Value, path: &[Value]) -> Option<Value> {
    let Some((key, rest)) = path.split_first() else { return Some(value.clone()) };
    if let Some(secret) = taint::marked(value) {
        return select(secret, path).map(taint::taint);
    }
    match (value, key) {
        (Value::Object(map), Value::String(key)) => select(map.get(key)?, rest),
        (Value::Array(items), Value::Number(position)) => {
            let at = index(items.len(), position.as_i64()?.into())?;
            select(&items[at], rest)
        }
        (Value::String(text), Value::Number(position)) => {
            let at = index(text.chars().count(), position.as_i64()?.into())?;
            select(&Value::from(text.chars().nth(at)?.to_string()), rest)
        }
        _ => None,
    }
}
