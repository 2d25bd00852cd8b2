//! Bodies of calls, made from a resource's properties as its type's file says.

use serde_json::{Map, Value};

use super::Declared;
use super::besides::PropertyCall;
use super::format::{Declaration, Nulls};
use super::shape;
use super::translation::rename;
use crate::model::{IndexMap, JsonMap};
use crate::openstack::{Request, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;
use crate::resource_types::python;
use crate::resource_types::resource_type::Purpose;

impl Declaration {
    /// The service that is called.
    pub(crate) fn service(&self) -> Service {
        Service::of_type(self.service.as_deref().unwrap_or_default())
    }

    /// The object of an answer.
    pub(crate) fn unwrapped(&self, mut body: Value) -> Value {
        match self.wrap.as_deref().and_then(|wrap| body.get_mut(wrap)) {
            Some(object) => object.take(),
            None => body,
        }
    }
}

impl Declared {
    /// The whole body of a creation or an update with these properties.
    pub(crate) fn body(&self, purpose: Purpose, subject: &Subject, properties: JsonMap) -> Value {
        let declaration = self.declaration();
        let mut beside = JsonMap::new();
        let properties = self.with_meant_values(properties);
        let mut fields = match &declaration.body.shape {
            Some(shape) => self.shaped(shape, purpose, subject, properties),
            None => self.fields(purpose, properties, &mut beside),
        };
        if purpose == Purpose::Create {
            self.sign(subject, &mut fields);
        }
        self.program().body(purpose, subject, &mut fields);
        left_out(declaration.body.nulls, &mut fields);
        let update = declaration.update.as_ref().filter(|_| purpose == Purpose::Update);
        let wrap = update.and_then(|update| update.wrap.as_ref()).or(declaration.wrap.as_ref());
        match wrap.filter(|_| declaration.body.shape.is_none()) {
            Some(wrap) => {
                let mut body = Map::from_iter([(wrap.clone(), Value::Object(fields))]);
                body.extend(beside);
                Value::Object(body)
            }
            None => Value::Object(fields),
        }
    }

    /// Properties with what stands for nothing, or for no word on it, as such.
    fn with_meant_values(&self, mut properties: JsonMap) -> JsonMap {
        let rules = &self.declaration().body;
        let is_one_of = |words: &IndexMap<String, Vec<Value>>, name: &str, value: &Value| {
            words.get(name).is_some_and(|words| words.contains(value))
        };
        properties.retain(|name, value| !is_one_of(&rules.omit_when, name, value));
        for (name, value) in properties.iter_mut() {
            if is_one_of(&rules.null_when, name, value) {
                *value = Value::Null;
            }
        }
        properties
    }

    /// The fields as the file's template has them.
    fn shaped(
        &self,
        shape: &Value,
        purpose: Purpose,
        subject: &Subject,
        mut properties: JsonMap,
    ) -> JsonMap {
        if let Some(name) = &self.declaration().name
            && purpose == Purpose::Create
            && is_unset(properties.get(name))
        {
            properties.insert(name.clone(), subject.physical_name.as_str().into());
        }
        let rules = &self.declaration().body;
        properties.retain(|name, value| !(is_empty(value) && rules.omit_empty.contains(name)));
        let mut merged = JsonMap::new();
        for name in &rules.merge {
            if let Some(Value::Object(map)) = properties.shift_remove(name) {
                merged.extend(map);
            }
        }
        let mut fields = shape::body(shape, &Value::Object(properties));
        fields.extend(merged);
        fields
    }

    /// The properties that are not left out of every body: names in others need no look-up.
    pub(super) fn carried_by_bodies(&self, mut properties: JsonMap) -> JsonMap {
        let rules = &self.declaration().body;
        properties.retain(|name, _| {
            rules.shape.is_some() || rules.merge.contains(name) || !rules.omit.contains(name)
        });
        properties
    }

    /// Properties under the names and in the places that bodies have for them.
    fn fields(&self, purpose: Purpose, mut properties: JsonMap, beside: &mut JsonMap) -> JsonMap {
        let rules = &self.declaration().body;
        let mut merged = JsonMap::new();
        for name in &rules.merge {
            if let Some(Value::Object(map)) = properties.shift_remove(name) {
                merged.extend(map);
            }
        }
        properties.retain(|name, value| {
            let is_left_out = is_empty(value) && rules.omit_empty.contains(name);
            !is_left_out && !rules.omit.contains(name)
        });
        for name in &rules.as_text {
            if let Some(value @ Value::Number(_)) = properties.get_mut(name) {
                *value = python::text(value).into();
            }
        }
        for (name, key) in &rules.beside {
            if let Some(value) = properties.shift_remove(name) {
                beside.insert(key.clone(), value);
            }
        }
        let update = self.declaration().update.as_ref().filter(|_| purpose == Purpose::Update);
        let other = |from: &String| update.and_then(|update| update.fields.get(from));
        let own = update.iter().flat_map(|update| &update.fields);
        let own = own.filter(|(from, _)| !rules.fields.contains_key(*from));
        for (from, to) in rules.fields.iter().chain(own) {
            let to = other(from).unwrap_or(to);
            let path: Vec<&str> = from.split('.').collect();
            if let [parents @ .., last] = path.as_slice() {
                let target: Vec<&str> = parents.iter().copied().chain([to.as_str()]).collect();
                move_field(&mut properties, &target, last);
            }
        }
        properties.extend(merged);
        properties
    }

    /// Puts what finds the object again into a body: its name where that is ours, else the token.
    fn sign(&self, subject: &Subject, fields: &mut JsonMap) {
        let declaration = self.declaration();
        let named = declaration.name.as_ref();
        let is_unnamed = named.is_some_and(|name| is_unset(subject.properties.get(name)));
        if let (Some(name), true) = (named, is_unnamed) {
            let field = declaration.body.fields.get(name).unwrap_or(name);
            // A template has it where it belongs.
            if declaration.body.shape.is_none() {
                fields.insert(field.clone(), subject.physical_name.as_str().into());
            }
        } else if let Some(token) = &declaration.token
            && is_unset(fields.get(token))
        {
            fields.insert(token.clone(), subject.physical_name.as_str().into());
        }
    }

    /// The request of a call for one property.
    pub(super) fn property_call(
        &self,
        cloud: &Asks<'_>,
        call: &PropertyCall,
        subject: &Subject,
        value: Option<&Value>,
    ) -> Result<Request, Failure> {
        let Some((method, path)) = call.parts() else {
            return Err(self.incomplete("a call has no method"));
        };
        let request = self.request(cloud, method, path, subject, call.microversion.as_deref())?;
        let Some(body) = &call.body else { return Ok(request) };
        let value = value.filter(|value| !value.is_null()).unwrap_or(&call.unset);
        let placeholder = format!("{{{}}}", call.for_property.as_deref().unwrap_or_default());
        Ok(request.json(substituted(body, &placeholder, value)))
    }

    pub(super) fn incomplete(&self, what: &str) -> Failure {
        let type_name = &self.declaration().type_name;
        Failure::BadFile(format!("{type_name}: {what}"))
    }
}

/// Null and the empty text count as no name and no description.
fn is_unset(value: Option<&Value>) -> bool {
    value.is_none_or(|value| value.is_null() || value == "")
}

/// Takes out what bodies leave out besides what is unset.
fn left_out(nulls: Nulls, fields: &mut JsonMap) {
    let within = fields.values_mut().filter(|_| nulls != Nulls::Plain);
    within.for_each(without_nulls);
    if nulls == Nulls::Empty {
        fields.retain(|_, value| !is_empty(value) && !value.is_null());
    }
}

fn without_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(without_nulls);
        }
        Value::Array(list) => {
            list.retain(|value| !value.is_null());
            list.iter_mut().for_each(without_nulls);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Like `rename`, but a null is moved too: it says that the field is to be unset.
fn move_field(map: &mut JsonMap, path: &[&str], from: &str) {
    if let [name] = path {
        if let Some(value) = map.shift_remove(from) {
            map.insert((*name).to_owned(), value);
        }
    } else {
        rename(map, path, from);
    }
}

fn substituted(body: &Value, placeholder: &str, with: &Value) -> Value {
    match body {
        Value::String(text) if text == placeholder => with.clone(),
        Value::Object(map) => map
            .iter()
            .map(|(key, inner)| (key.clone(), substituted(inner, placeholder, with)))
            .collect::<JsonMap>()
            .into(),
        Value::Array(list) => {
            list.iter().map(|inner| substituted(inner, placeholder, with)).collect()
        }
        other => other.clone(),
    }
}
