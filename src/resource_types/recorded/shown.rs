//! What is asked, as recordings show it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::RecordedRequest;
use crate::model::JsonMap;
use crate::openstack::{Body, Request, Service};
use crate::resource_types::asks::SoftwareAsk;
use crate::resource_types::software::{ConfigContent, SoftwareConfig};

/// A request as recordings show it.
pub(super) fn shown(request: &Request, project: &str) -> RecordedRequest {
    let mut headers = BTreeMap::new();
    for (name, value) in &request.headers {
        headers.insert(name.to_lowercase(), value.clone());
    }
    if let Some(version) = request.microversion {
        headers.insert("openstack-api-version".to_owned(), version.to_string());
    }
    let body = match &request.body {
        Body::None => None,
        Body::Json(body) => Some(body.clone()),
        Body::Bytes { content_type, bytes } => {
            headers.insert("content-type".to_owned(), content_type.clone());
            let text = || String::from_utf8_lossy(bytes).into_owned();
            Some(serde_json::from_slice(bytes).unwrap_or_else(|_| text().into()))
        }
    };
    if matches!(request.body, Body::Json(_)) {
        headers.insert("content-type".to_owned(), "application/json".to_owned());
    }
    let mut query = JsonMap::new();
    for (name, value) in &request.query {
        let value = match query.shift_remove(name) {
            None => Value::from(value.as_str()),
            Some(Value::Array(mut all)) => {
                all.push(value.as_str().into());
                Value::Array(all)
            }
            Some(one) => json!([one, value]),
        };
        query.insert(name.clone(), value);
    }
    RecordedRequest {
        service: request.service.as_str().to_owned(),
        method: request.method.as_str().to_owned(),
        path: path_of(request, project),
        query,
        headers,
        body,
        answer: None,
    }
}

/// The path below the catalog's address of the service.
fn path_of(request: &Request, project: &str) -> String {
    let path = request.path.split_once('?').map_or(&*request.path, |(path, _)| path);
    let of_project = |version: &str| format!("/{version}/{}{path}", project);
    let is_versioned = path
        .strip_prefix("/v")
        .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()));
    let path = if is_versioned { path } else { path.trim_end_matches('/') };
    match &request.service {
        Service::Compute if !is_versioned => format!("/v2.1{path}"),
        Service::Volume if !is_versioned => of_project("v3"),
        Service::ObjectStore => format!("/v1/AUTH_{}{path}", project),
        Service::Other(name) if &**name == "database" && !is_versioned => of_project("v1.0"),
        Service::Other(name) if &**name == "orchestration" && !is_versioned => of_project("v1"),
        _ => path.to_owned(),
    }
}

/// An ask of the engine as recordings show it.
pub(super) fn engine_call(ask: &SoftwareAsk, is_deployed: bool) -> RecordedRequest {
    let of = |id: &dyn ToString| json!({ "arg0": id.to_string() });
    // An id that Heat makes up, and Hearth has of the resource.
    const OWN: &str = "{own}";
    let (path, body) = match ask {
        SoftwareAsk::Config(id) => ("show_software_config", of(id)),
        SoftwareAsk::CreateConfig(_, config) => ("create_software_config", sent(config)),
        SoftwareAsk::DeleteConfig(id) => ("delete_software_config", of(id)),
        SoftwareAsk::Deployment(_) => ("show_software_deployment", of(&OWN)),
        SoftwareAsk::Deploy(_, deploy) => {
            let mut body = json!({
                "deployment_id": OWN,
                "config_id": deploy.config_id.to_string(),
                "action": deploy.action,
                "input_values": deploy.input_values,
                "status": deploy.status,
                "status_reason": deploy.status_reason,
            });
            if is_deployed {
                ("update_software_deployment", body)
            } else {
                body["server_id"] = deploy.server_id.as_str().into();
                ("create_software_deployment", body)
            }
        }
        SoftwareAsk::Signal(id, details) => {
            ("signal_software_deployment", json!({ "arg0": id, "details": details }))
        }
        SoftwareAsk::GiveUp(id) => ("update_software_deployment", of(id)),
        SoftwareAsk::DeleteDeployment(_) => ("delete_software_deployment", of(&OWN)),
    };
    RecordedRequest {
        service: "engine".to_owned(),
        method: "CALL".to_owned(),
        path: path.to_owned(),
        body: Some(body),
        ..RecordedRequest::default()
    }
}

pub(super) fn config(body: &Value) -> SoftwareConfig {
    let text = |name: &str| body[name].as_str().map(str::to_owned);
    let content: Option<ConfigContent> = serde_json::from_value(body.clone()).ok();
    SoftwareConfig {
        name: text("name"),
        group: text("group"),
        content: content.unwrap_or_default(),
    }
}

fn sent(config: &SoftwareConfig) -> Value {
    let mut body = json!({
        "name": config.name,
        "group": config.group,
        "config": config.content.config,
        "inputs": config.content.inputs,
        "outputs": config.content.outputs,
        "options": config.content.options,
    });
    if let Some(body) = body.as_object_mut() {
        body.retain(|_, value| *value != json!([]) && *value != json!({}) && !value.is_null());
    }
    body
}
