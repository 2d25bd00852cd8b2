//! What the routes read of a body. Keys that are not described are passed over, as in Heat, unless
//! the schema says otherwise.

use serde_json::{Map, Value, json};

use super::schema::{
    and_maybe, any, list, map, named, number, object, one_of, optional, or_null, text, text_within,
    truth,
};
use crate::api::selection;
use crate::api::v1::{actions, stacks};
use crate::model::sizes::{
    ACTION, GROUP, NAME, REASON, RESOURCE_REASON, SERVER, STACK_NAME, STATUS, USERS_PROJECT,
};

/// The schema of what a route reads of its body, and whether there has to be one; `None` where no
/// body is read.
pub(super) fn body(verb: &str, below: &str) -> Option<(Value, bool)> {
    let required = |name: &str| Some((named(name), true));
    let read = match (verb, below) {
        ("POST", "/validate") => return required("Definition"),
        ("POST", "/software_configs") => return required("SoftwareConfigCreate"),
        ("POST", "/software_deployments") => return required("SoftwareDeploymentCreate"),
        ("PUT", "/software_deployments/{deployment}") => {
            return required("SoftwareDeploymentUpdate");
        }
        ("POST", "/webhooks") => return required("WebhookCreate"),
        ("POST", "/stacks" | "/stacks/preview" | "/stacks/plan") => {
            return required("StackCreate");
        }
        ("POST", "/stacks/{name}/{id}/snapshots/{snapshot}/restore") => return None,
        ("PUT", "/stacks/{name}/{id}" | "/stacks/{name}/{id}/preview") => {
            return required("StackUpdate");
        }
        ("PATCH", "/stacks/{name}/{id}" | "/stacks/{name}/{id}/preview") => {
            return required("StackPatch");
        }
        ("POST", "/stacks/{name}/{id}/plan") => return required("StackPlan"),
        ("POST", "/stacks/{name}/{id}/actions") => return required("StackAction"),
        ("POST", "/stacks/{name}/{id}/snapshots") => return required("SnapshotTake"),
        ("PATCH", "/stacks/{name}/{id}/resources/{resource}") => return required("ResourceMark"),
        // A signal is any object, and what is led on comes again with its body.
        ("POST" | "PUT" | "PATCH", _) => map(),
        _ => return None,
    };
    Some((read, false))
}

/// Where a template is.
const TEMPLATE: &[&str] = &["template", "template_url"];

/// The schemas that are referred to.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    let filters = selection::FILTERS.iter().chain([&selection::STACK]);
    let filters: Map<String, Value> = filters
        .map(|param| (param.name.to_owned(), param.described()["schema"].clone()))
        .chain([("url".to_owned(), text())])
        .collect();
    vec![
        ("Definition", with_any(definition(), TEMPLATE)),
        // What is adopted brings its template.
        ("StackCreate", with_any(create(), &["template", "template_url", "adopt_stack_data"])),
        ("StackUpdate", with_any(update(), TEMPLATE)),
        ("StackPatch", and_maybe(update(), [("clear_parameters", list(text()))])),
        ("StackAction", one_named(actions::names(), &[("rollback", rollback())])),
        (
            "StackPlan",
            one_named(
                stacks::plan::names(),
                &[
                    ("update", named("StackUpdate")),
                    ("patch", named("StackPatch")),
                    ("rollback", rollback()),
                ],
            ),
        ),
        ("SnapshotTake", optional([("name", or_null(text_within(NAME)))])),
        ("ResourceMark", mark()),
        ("SoftwareConfigCreate", config()),
        ("SoftwareDeploymentCreate", deployment()),
        ("SoftwareDeploymentUpdate", deployment_change()),
        (
            "WebhookCreate",
            json!({
                "type": "object",
                "required": ["url"],
                "properties": filters,
                "additionalProperties": false,
            }),
        ),
    ]
}

fn definition() -> Value {
    let text_or_map = || one_of(&[map(), text()]);
    let file = one_of(&[text(), map(), list(any())]);
    optional([
        ("template", or_null(text_or_map())),
        ("template_url", or_null(text())),
        ("environment", or_null(text_or_map())),
        ("environment_files", or_null(list(text()))),
        ("parameters", map()),
        ("files", or_null(json!({ "type": "object", "additionalProperties": file }))),
        ("files_container", or_null(text())),
    ])
}

/// The same, which has one of these members at least.
fn with_any(definition: Value, names: &[&str]) -> Value {
    let mut definition = definition;
    definition["anyOf"] = names.iter().map(|name| json!({ "required": [name] })).collect();
    definition
}

/// How a stack is to be handled.
fn handled(definition: Value) -> Value {
    let minutes = json!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    and_maybe(
        definition,
        [
            ("timeout_mins", or_null(minutes)),
            ("disable_rollback", truth()),
            ("tags", or_null(text())),
        ],
    )
}

fn create() -> Value {
    let mut create = handled(definition());
    create["required"] = json!(["stack_name"]);
    and_maybe(create, [("stack_name", text_within(STACK_NAME)), ("adopt_stack_data", text())])
}

fn update() -> Value {
    and_maybe(handled(definition()), [("converge", truth())])
}

/// The revision to go back to, by its number or by when it was the newest.
fn rollback() -> Value {
    optional([
        ("to", json!({ "type": "integer", "minimum": 1, "maximum": u32::MAX })),
        ("at", one_of(&[text(), number()])),
        ("plan", truth()),
    ])
}

/// An object with one member, named for what is to be done.
fn one_named(names: impl Iterator<Item = &'static str>, known: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> = names
        .map(|name| {
            let found = known.iter().find(|(known, _)| *known == name);
            (name.to_owned(), found.map_or_else(any, |(_, schema)| schema.clone()))
        })
        .collect();
    json!({
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "properties": properties,
        "additionalProperties": false,
    })
}

fn mark() -> Value {
    let mark = object([("mark_unhealthy", truth())]);
    let reason = or_null(text_within(RESOURCE_REASON));
    let mut mark = and_maybe(mark, [("resource_status_reason", reason)]);
    mark["additionalProperties"] = false.into();
    mark
}

fn config() -> Value {
    optional([
        ("name", or_null(text_within(NAME))),
        ("group", or_null(text_within(GROUP))),
        ("config", any()),
        ("inputs", or_null(list(object([("name", text())])))),
        ("outputs", or_null(list(object([("name", text())])))),
        ("options", any()),
    ])
}

fn deployment_change() -> Value {
    optional([
        ("config_id", or_null(text())),
        ("action", or_null(text_within(ACTION))),
        ("status", or_null(text_within(STATUS))),
        ("status_reason", or_null(text_within(REASON))),
        ("input_values", any()),
        ("output_values", any()),
    ])
}

fn deployment() -> Value {
    let mut deployment = deployment_change();
    deployment["required"] = json!(["config_id"]);
    and_maybe(
        deployment,
        [
            ("server_id", or_null(text_within(SERVER))),
            ("stack_user_project_id", or_null(text_within(USERS_PROJECT))),
        ],
    )
}
