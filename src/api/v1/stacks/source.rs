//! Reading what a client sends to make or change a stack.

use std::collections::BTreeMap;

use serde_json::Value;

use super::container::add_files;
use crate::actors::{RequestContext, SettingsGiven};
use crate::api::ApiState;
use crate::api::error::Fault;
use crate::api::request::{boolean, number, tags};
use crate::model::{JsonMap, ProjectId, TraversalOptions};
use crate::template::{EnvironmentMerged, EnvironmentSent};

/// What is read and not passed on: other keys are tolerated, as in Heat.
const NOT_WITH_CREATE: &str = "converge";

/// A definition as it was sent.
pub(in crate::api::v1) struct Sent {
    /// An object, or text in YAML or JSON.
    pub(in crate::api::v1) template: Option<Value>,
    environment: Value,
    environment_files: Vec<String>,
    parameters: JsonMap,
    pub(in crate::api::v1) files: BTreeMap<String, String>,
}

impl Sent {
    /// Reads the parts of a body that define a stack.
    pub(in crate::api::v1) async fn read(
        state: &ApiState,
        who: &RequestContext,
        body: &JsonMap,
    ) -> Result<Self, Fault> {
        if body.contains_key("adopt_stack_data") {
            return Err(Fault::new("NotSupported", "Stack Adopt is not supported."));
        }
        let mut sent =
            Self { template: template(state, who, body).await?, ..Self::beside_template(body)? };
        if let Some(container) = container(body)? {
            add_files(state, who, container, &mut sent.files).await?;
        }
        Ok(sent)
    }

    /// Whether a body says nothing at all of a definition.
    pub(super) fn is_silent(body: &JsonMap) -> Result<bool, Fault> {
        let has_template =
            ["template", "template_url"].iter().any(|key| given(body, key).is_some());
        let is_empty = Self::beside_template(body)?.is_empty() && container(body)?.is_none();
        Ok(!has_template && is_empty)
    }

    fn beside_template(body: &JsonMap) -> Result<Self, Fault> {
        Ok(Self {
            template: None,
            environment: environment(body)?,
            environment_files: names(body, "environment_files")?,
            parameters: parameters(body)?,
            files: files(body)?,
        })
    }

    fn is_empty(&self) -> bool {
        let environment_is_empty = match &self.environment {
            Value::Null => true,
            Value::Object(map) => map.values().all(is_blank),
            Value::String(text) => text.trim().is_empty(),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) => false,
        };
        environment_is_empty
            && self.environment_files.is_empty()
            && self.parameters.is_empty()
            && self.files.is_empty()
    }

    /// Whether the environment cannot be put together without a template.
    pub(super) fn needs_template(&self) -> bool {
        self.template.is_none() && !self.environment_files.is_empty()
    }

    /// The environments as one. Parameters are merged by the types that a template gives them:
    /// the one that was sent, or else the stored one.
    pub(in crate::api::v1) async fn merged(
        self,
        state: &ApiState,
        project: &ProjectId,
        stored: Option<Value>,
    ) -> Result<(Self, EnvironmentMerged), Fault> {
        let merge = move || {
            let sent = EnvironmentSent {
                template: self.template.as_ref().or(stored.as_ref()).unwrap_or(&Value::Null),
                environment: &self.environment,
                environment_files: &self.environment_files,
                files: &self.files,
                parameters: &self.parameters,
            };
            let merged = sent.merge();
            merged.map(|merged| (self, merged))
        };
        Ok(state.engine.work(project, merge).await??)
    }
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// A value that is there and not null.
fn given<'a>(body: &'a JsonMap, key: &str) -> Option<&'a Value> {
    body.get(key).filter(|value| !value.is_null())
}

fn parameters(body: &JsonMap) -> Result<JsonMap, Fault> {
    match body.get("parameters") {
        None => Ok(JsonMap::new()),
        Some(Value::Object(parameters)) => Ok(parameters.clone()),
        Some(Value::Array(none)) if none.is_empty() => Ok(JsonMap::new()),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) => Err(Fault::malformed()),
        Some(_) => Err(Fault::new("ValueError", "parameters is not a map")),
    }
}

fn environment(body: &JsonMap) -> Result<Value, Fault> {
    match body.get("environment") {
        None => Ok(Value::Null),
        Some(Value::Bool(_) | Value::Number(_) | Value::Array(_)) => Err(Fault::malformed()),
        Some(given) => Ok(given.clone()),
    }
}

fn files(body: &JsonMap) -> Result<BTreeMap<String, String>, Fault> {
    let Some(value) = given(body, "files") else { return Ok(BTreeMap::new()) };
    let Value::Object(files) = value else {
        // What can be walked over is taken for pairs in Python, and fails at the first.
        let is_walked = match value {
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
        };
        let class = if is_walked { "ValueError" } else { "AttributeError" };
        return Err(Fault::new(class, "files is not a map"));
    };
    files
        .iter()
        .map(|(name, content)| match content {
            Value::String(content) => Ok((name.clone(), content.clone())),
            // The client parses a file that is JSON; its text is what is meant.
            Value::Object(_) | Value::Array(_) => Ok((name.clone(), content.to_string())),
            Value::Null | Value::Bool(_) | Value::Number(_) => Err(Fault::malformed()),
        })
        .collect()
}

/// The container in Swift that has files of the stack; an empty name is none, as in Heat.
fn container(body: &JsonMap) -> Result<Option<&str>, Fault> {
    match given(body, "files_container") {
        None => Ok(None),
        Some(Value::String(name)) => Ok(Some(name.as_str()).filter(|name| !name.is_empty())),
        Some(_) => Err(Fault::malformed()),
    }
}

fn names(body: &JsonMap, key: &str) -> Result<Vec<String>, Fault> {
    let Some(value) = given(body, key) else { return Ok(Vec::new()) };
    let names = value.as_array().map(|names| {
        names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    });
    names.flatten().ok_or_else(|| Fault::bad_request(format!("{key} must be a list of names")))
}

async fn template(
    state: &ApiState,
    who: &RequestContext,
    body: &JsonMap,
) -> Result<Option<Value>, Fault> {
    // As in Heat, a template that is null hides the URL.
    if let (None, Some(url)) = (body.get("template"), given(body, "template_url")) {
        let url = url.as_str().map_or_else(|| url.to_string(), str::to_owned);
        let fetched = state.engine.fetch(who, &url).await.map(|text| Some(text.into()));
        return fetched.map_err(|reason| {
            Fault::bad_request(format!("Could not retrieve template: {reason}"))
        });
    }
    let Some(template) = given(body, "template") else { return Ok(None) };
    if !template.is_string() && !template.is_object() {
        return Err(Fault::malformed());
    }
    let length = match template {
        Value::String(text) => text.len(),
        other => other.to_string().len(),
    };
    let limit = state.settings.template_size_max;
    if length > limit {
        return Err(Fault::new(
            "RequestLimitExceeded",
            format!(
                "Request limit exceeded: Template size ({length} bytes) exceeds maximum allowed \
                 size ({limit} bytes)."
            ),
        ));
    }
    Ok(Some(template.clone()))
}

/// How a stack is to be handled, as far as the client says.
pub(super) struct Handling {
    pub(super) settings: SettingsGiven,
    pub(super) options: TraversalOptions,
}

impl Handling {
    pub(super) fn read(body: &JsonMap) -> Result<Self, Fault> {
        let observes = truth(body, "converge")?.unwrap_or(false);
        Ok(Self {
            settings: SettingsGiven {
                timeout_mins: timeout(body)?,
                disable_rollback: truth(body, "disable_rollback")?,
                tags: match given(body, "tags") {
                    None => None,
                    Some(Value::String(text)) => Some(tags(text)?),
                    Some(_) => return Err(Fault::new("AttributeError", "tags must be text")),
                },
            },
            options: TraversalOptions { observes, ..TraversalOptions::default() },
        })
    }
}

/// Refuses what only an update knows.
pub(super) fn refuse_update_options(body: &JsonMap) -> Result<(), Fault> {
    if !body.contains_key(NOT_WITH_CREATE) {
        return Ok(());
    }
    Err(Fault::bad_request(format!(
        "{NOT_WITH_CREATE} flag only supported in stack update (or update preview) request."
    )))
}

/// 0 is none, as in Heat.
fn timeout(body: &JsonMap) -> Result<Option<u32>, Fault> {
    let Some(value) = given(body, "timeout_mins") else { return Ok(None) };
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let minutes = number("timeout_mins", &text)?;
    let minutes = u32::try_from(minutes).map_err(|_| {
        Fault::bad_request(format!("Value '{text}' is invalid for 'timeout_mins': it is too long."))
    })?;
    Ok((minutes > 0).then_some(minutes))
}

fn truth(body: &JsonMap, key: &str) -> Result<Option<bool>, Fault> {
    let neither = || Fault::new("ValueError", format!("{key} is neither true nor false"));
    match body.get(key) {
        None => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(Value::String(text)) => boolean(key, text).map(Some).map_err(|_| neither()),
        Some(_) => Err(neither()),
    }
}
