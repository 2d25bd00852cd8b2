//! Runs of workflows, which several types begin. The id of a run is ours, so that the same run is
//! begun once however often it is asked for.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::model::JsonMap;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::python;

/// A run that is to be begun.
pub(super) struct Run<'a> {
    pub(super) id: Uuid,
    /// A workflow by its id or its name.
    pub(super) workflow: &'a str,
    pub(super) description: &'a str,
    pub(super) input: &'a Value,
    pub(super) params: &'a JsonMap,
}

impl Run<'_> {
    /// Begins the run; its id as the service has it.
    pub(super) fn begin(&self, cloud: &Asks<'_>) -> Result<String, Failure> {
        let named = match Uuid::try_parse(self.workflow) {
            Ok(_) => "workflow_id",
            Err(_) => "workflow_name",
        };
        let mut body = json!({
            "id": self.id,
            "description": self.description,
            named: self.workflow,
            "input": python::json(self.input),
        });
        if !self.params.is_empty() {
            body["params"] = python::json(&self.params.clone().into()).into();
        }
        let begun = cloud.send(Request::post(workflows(), "/v2/executions").json(body))?.json()?;
        Ok(begun["id"].as_str().map_or_else(|| self.id.to_string(), str::to_owned))
    }
}

/// A run as it is now.
pub(super) fn shown(cloud: &Asks<'_>, id: &str) -> Result<Value, Failure> {
    Ok(cloud.send(Request::get(workflows(), place(id)))?.json()?)
}

/// Deletes a run. One that is gone is no error.
pub(super) fn delete(cloud: &Asks<'_>, id: &str) -> Result<(), Failure> {
    match cloud.send(Request::delete(workflows(), place(id))) {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn place(id: &str) -> String {
    format!("/v2/executions/{}", path_segment(id))
}

/// What a field has that is JSON as text.
pub(super) fn read(text: &Value) -> Value {
    text.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

pub(super) fn workflows() -> Service {
    Service::of_type("workflowv2")
}
