//! When an object can be used, and when it is gone: what a field of it says.

use serde::Deserialize;
use serde_json::Value;

use super::{Declaration, dotted};
use crate::model::IndexMap;
use crate::openstack::CloudError;
use crate::resource_types::failure::Failure;
use crate::resource_types::python;

/// A field of the object that tells when it can be used.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Its dotted path; with `[]` every entry of a list has one, and all are waited for.
    #[serde(default = "status")]
    pub field: String,
    #[serde(default)]
    pub ok: Vec<String>,
    #[serde(default)]
    pub fail: Vec<String>,
    /// The values that are waited out; without them all others are.
    #[serde(default)]
    pub wait: Option<Vec<String>>,
    /// What all other values are.
    #[serde(default)]
    pub others: Option<Others>,
    /// The end of Heat's sentence about a value that is none of these.
    #[serde(default)]
    pub unknown: Option<String>,
    /// The field that says why it failed.
    #[serde(default)]
    pub reason: Option<String>,
    /// Why it failed, by the value, where no field says so; `{id}` is a field of the object.
    #[serde(default)]
    pub says: IndexMap<String, String>,
    /// The values of an object that is shown though it is gone.
    #[serde(default)]
    pub gone: Vec<String>,
    /// That it is shown at all is enough.
    #[serde(default)]
    pub exists: bool,
}

/// What a value is that no list has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Others {
    Ok,
    Wait,
    Fail,
}

fn status() -> String {
    "status".to_owned()
}

fn has(list: &[String], status: &str) -> bool {
    list.iter().any(|known| known == status)
}

impl Ready {
    /// Whether the object can be used; an error when it never will be.
    pub(super) fn is_met(&self, object: &Value) -> Result<bool, Failure> {
        if self.exists {
            return Ok(true);
        }
        let found = dotted::all(object, &self.field);
        if found.is_empty() && !self.field.contains("[]") {
            return self.judge("", object);
        }
        let mut is_met = true;
        for value in found {
            is_met &= self.judge(&text(value), object)?;
        }
        Ok(is_met)
    }

    fn judge(&self, status: &str, object: &Value) -> Result<bool, Failure> {
        if has(&self.ok, status) {
            return Ok(true);
        }
        if has(&self.fail, status) {
            let reason = self.reason.as_ref().and_then(|path| dotted::one(object, path));
            let reason = reason.map(text).filter(|reason| !reason.is_empty());
            let reason = reason.or_else(|| Some(said(self.says.get(status)?, object)));
            return Err(Failure::in_error(status, reason.as_deref().unwrap_or("Unknown")));
        }
        let others = match &self.wait {
            Some(wait) if has(wait, status) => Others::Wait,
            Some(_) => self.others.unwrap_or(Others::Fail),
            None => self.others.unwrap_or(Others::Wait),
        };
        match others {
            Others::Ok => Ok(true),
            Others::Wait => Ok(false),
            Others::Fail => {
                let unknown = self.unknown.as_deref().unwrap_or("Resource failed");
                Err(Failure::unknown_status(said(unknown, object), status))
            }
        }
    }

    /// Whether the object has failed and nothing in it could say why.
    pub(super) fn lacks_reason(&self, object: &Value) -> bool {
        let reason = self.reason.as_ref().filter(|_| self.is_met(object).is_err());
        reason.is_some_and(|path| dotted::one(object, path).is_none())
    }

    /// Whether what is shown is gone nevertheless.
    fn is_gone(&self, object: &Value) -> bool {
        dotted::one(object, &self.field).is_some_and(|value| has(&self.gone, &text(value)))
    }
}

/// A text with fields of the object in it.
fn said(text: &str, object: &Value) -> String {
    let mut parts = text.split('{');
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (field, rest) = part.split_once('}').unwrap_or(("", part));
        said.push_str(&dotted::one(object, field).map(self::text).unwrap_or_default());
        said.push_str(rest);
    }
    said
}

fn text(value: &Value) -> String {
    if value.is_null() { String::new() } else { python::text(value) }
}

impl Declaration {
    /// The field that tells how an object is.
    pub(super) fn state_of(&self, object: &Value) -> String {
        let field = self.ready.as_ref().map_or("status", |ready| ready.field.as_str());
        dotted::one(object, field).map(text).unwrap_or_default()
    }

    /// Whether what is shown is gone nevertheless.
    pub(super) fn shows_gone(&self, object: &Value) -> bool {
        self.ready.as_ref().is_some_and(|ready| ready.is_gone(object))
    }

    /// Whether an answer means that the call has to be made again later.
    pub(super) fn is_busy(&self, error: &CloudError) -> bool {
        let Some(busy) = &self.busy else { return false };
        error.status() == Some(busy.status)
            && busy.says.as_ref().is_none_or(|words| error.to_string().contains(words))
    }
}
