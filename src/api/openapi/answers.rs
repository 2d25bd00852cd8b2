//! What the routes answer where nothing is refused.

use serde_json::{Value, json};

use super::schema::{
    and, and_maybe, any, list, map, named, null, number, object, one_of, optional, or_null, text,
    truth,
};

/// The schema of the JSON that a request is answered with.
pub(super) fn answer(verb: &str, below: &str) -> Value {
    let wrapped = |key: &str, name: &str| object([(key, named(name))]);
    let listed = |key: &str, name: &str| object([(key, list(named(name)))]);
    match (verb, below) {
        ("GET", "/resource_types") => {
            let described = object([("resource_type", text()), ("description", or_null(text()))]);
            object([("resource_types", list(one_of(&[text(), described])))])
        }
        ("GET", "/template_versions") => {
            let version =
                object([("version", text()), ("type", text()), ("aliases", list(text()))]);
            object([("template_versions", list(version))])
        }
        ("GET", "/template_versions/{version}/functions") => {
            let function = object([("functions", text()), ("description", text())]);
            object([("template_functions", list(function))])
        }
        ("POST", "/validate") => {
            object([("Description", any()), ("Parameters", map()), ("Environment", map())])
        }
        ("GET", "/software_configs") => listed("software_configs", "SoftwareConfigListed"),
        (_, "/software_configs" | "/software_configs/{config}") => {
            wrapped("software_config", "SoftwareConfig")
        }
        ("GET", "/software_deployments") => listed("software_deployments", "SoftwareDeployment"),
        ("GET", "/software_deployments/metadata/{server}") => listed("metadata", "SoftwareConfig"),
        (_, "/software_deployments" | "/software_deployments/{deployment}") => {
            wrapped("software_deployment", "SoftwareDeployment")
        }
        ("GET", "/build_info") => {
            let revision = || object([("revision", text())]);
            object([("api", revision()), ("engine", revision())])
        }
        ("GET", "/services") => listed("services", "Service"),
        ("GET", "/webhooks") => listed("webhooks", "Webhook"),
        ("POST", "/webhooks") => object([("webhook", and(webhook(), [("key", text())]))]),
        ("GET", "/webhooks/{webhook}") => wrapped("webhook", "Webhook"),
        ("GET", "/stacks/detail") => listed("stacks", "StackListed"),
        ("GET", "/stacks") => {
            let page = [("links", list(named("Link"))), ("count", number())];
            and_maybe(listed("stacks", "StackListed"), page)
        }
        ("POST", "/stacks") => {
            object([("stack", object([("id", text()), ("links", list(named("Link")))]))])
        }
        ("POST", "/stacks/preview") => object([("stack", map())]),
        ("POST", "/stacks/plan") => wrapped("plan", "Plan"),
        (_, path) => of_stack(verb, path.trim_start_matches("/stacks/{name}/{id}")),
    }
}

/// What is answered of one stack.
fn of_stack(verb: &str, below: &str) -> Value {
    let wrapped = |key: &str, name: &str| object([(key, named(name))]);
    let listed = |key: &str, name: &str| object([(key, list(named(name)))]);
    match (verb, below) {
        ("GET", "") => wrapped("stack", "Stack"),
        ("GET", "/environment") => map(),
        ("PUT" | "PATCH", "/preview") => {
            let lists = ["unchanged", "updated", "replaced", "added", "deleted"];
            object([("resource_changes", object(lists.map(|name| (name, list(any())))))])
        }
        ("POST", "/plan") => wrapped("plan", "Plan"),
        ("GET", "/outputs") => {
            let output = object([("output_key", text()), ("description", any())]);
            object([("outputs", list(output))])
        }
        ("GET", "/outputs/{output}") => wrapped("output", "Output"),
        ("POST", "/actions") => {
            let planned = object([("to", number()), ("resources", list(named("PlannedResource")))]);
            one_of(&[null(), object([("rollback", planned)])])
        }
        ("GET", "/snapshots") => listed("snapshots", "Snapshot"),
        ("POST", "/snapshots") => named("Snapshot"),
        ("GET", "/snapshots/{snapshot}") => wrapped("snapshot", "Snapshot"),
        ("GET", "/resources") => listed("resources", "Resource"),
        ("GET", "/resources/{resource}") => wrapped("resource", "Resource"),
        ("PATCH", "/resources/{resource}") | ("POST", "/resources/{resource}/signal") => null(),
        ("GET", "/resources/{resource}/metadata") => object([("metadata", map())]),
        ("GET", "/events" | "/resources/{resource}/events") => listed("events", "Event"),
        ("GET", "/resources/{resource}/events/{event}") => {
            let more = [("resource_type", text()), ("resource_properties", or_null(map()))];
            object([("event", and(event(), more))])
        }
        ("GET", "/drift") => wrapped("drift", "Drift"),
        ("GET", "/history") => object([("history", list(map()))]),
        // A template, files, an export: whatever the user wrote.
        _ => map(),
    }
}

/// The schemas that are referred to.
pub(super) fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        ("Link", object([("href", text()), ("rel", text())])),
        ("StackListed", stack_listed()),
        ("Stack", stack()),
        ("Output", output()),
        ("Resource", resource()),
        ("Event", event()),
        ("Snapshot", snapshot()),
        ("SoftwareConfigListed", config_listed()),
        ("SoftwareConfig", config()),
        ("SoftwareDeployment", deployment()),
        ("Webhook", webhook()),
        ("Service", service()),
        ("Plan", plan()),
        ("PlannedResource", planned()),
        ("Drift", drift()),
    ]
}

/// What every view of a stack has.
fn stack_seen() -> Value {
    object([
        ("id", text()),
        ("links", list(named("Link"))),
        ("stack_name", text()),
        ("description", any()),
        ("stack_status", text()),
        ("stack_status_reason", text()),
        ("creation_time", text()),
        ("updated_time", or_null(text())),
        ("deletion_time", or_null(text())),
        ("stack_owner", text()),
        ("parent", or_null(text())),
        ("stack_user_project_id", or_null(text())),
    ])
}

fn stack_listed() -> Value {
    let listed = and(stack_seen(), [("tags", or_null(list(text())))]);
    // For administrators, and of all projects.
    and_maybe(listed, [("project", text())])
}

fn stack() -> Value {
    let shown = and(
        stack_seen(),
        [
            ("template_description", any()),
            ("parameters", map()),
            ("notification_topics", list(any())),
            ("capabilities", list(any())),
            ("disable_rollback", truth()),
            ("timeout_mins", or_null(number())),
            ("tags", list(text())),
        ],
    );
    and_maybe(shown, [("outputs", list(named("Output")))])
}

fn output() -> Value {
    let output = object([("output_key", text()), ("description", any()), ("output_value", any())]);
    and_maybe(output, [("output_error", text())])
}

fn resource() -> Value {
    let resource = object([
        ("resource_name", text()),
        ("logical_resource_id", text()),
        ("physical_resource_id", text()),
        ("resource_type", text()),
        ("resource_status", text()),
        ("resource_status_reason", text()),
        ("creation_time", text()),
        ("updated_time", text()),
        ("links", list(named("Link"))),
        ("required_by", list(text())),
    ]);
    and_maybe(
        resource,
        [("parent_resource", text()), ("description", text()), ("attributes", map())],
    )
}

fn event() -> Value {
    object([
        ("id", text()),
        ("links", list(named("Link"))),
        ("event_time", text()),
        ("logical_resource_id", text()),
        ("resource_name", text()),
        ("physical_resource_id", or_null(text())),
        ("resource_status", text()),
        ("resource_status_reason", text()),
    ])
}

fn snapshot() -> Value {
    object([
        ("id", text()),
        ("name", or_null(text())),
        ("action", any()),
        ("status", text()),
        ("status_reason", or_null(text())),
        ("creation_time", text()),
        (
            "data",
            object([
                ("name", text()),
                ("id", text()),
                ("action", text()),
                ("status", text()),
                ("environment", map()),
                ("files", map()),
                ("template", any()),
                ("resources", map()),
                ("project_id", text()),
                ("tags", list(text())),
            ]),
        ),
    ])
}

fn config_listed() -> Value {
    let config = object([
        ("id", text()),
        ("name", or_null(text())),
        ("group", or_null(text())),
        ("creation_time", text()),
    ]);
    // For administrators.
    and_maybe(config, [("project", text())])
}

fn config() -> Value {
    and(
        config_listed(),
        [("config", any()), ("inputs", list(map())), ("outputs", list(map())), ("options", any())],
    )
}

fn deployment() -> Value {
    let deployment = object([
        ("id", text()),
        ("server_id", text()),
        ("input_values", any()),
        ("output_values", any()),
        ("action", or_null(text())),
        ("status", or_null(text())),
        ("status_reason", or_null(text())),
        ("config_id", text()),
        ("creation_time", text()),
    ]);
    and_maybe(deployment, [("updated_time", text())])
}

fn webhook() -> Value {
    object([
        ("id", text()),
        ("origin", text()),
        ("stack", list(text())),
        ("nested", truth()),
        ("resource", list(text())),
        ("type", list(text())),
        ("action", list(text())),
        ("status", list(text())),
        ("caller", list(text())),
        ("after", number()),
        ("creation_time", text()),
    ])
}

fn service() -> Value {
    object([
        ("id", text()),
        ("binary", text()),
        ("engine_id", text()),
        ("host", text()),
        ("hostname", text()),
        ("topic", text()),
        ("report_interval", number()),
        ("created_at", text()),
        ("updated_at", text()),
        ("deleted_at", null()),
        ("status", text()),
    ])
}

fn plan() -> Value {
    object([
        ("id", or_null(text())),
        ("action", text()),
        ("stack_name", text()),
        ("stack_id", or_null(text())),
        ("back_to", or_null(number())),
        ("revision", number()),
        ("position", number()),
        ("changes", truth()),
        ("counts", json!({ "type": "object", "additionalProperties": number() })),
        ("resources", list(named("PlannedResource"))),
    ])
}

fn planned() -> Value {
    let property = object([("name", text()), ("old", any()), ("new", any()), ("known", truth())]);
    object([
        ("resource_name", text()),
        ("resource_type", text()),
        ("physical_resource_id", or_null(text())),
        ("change", text()),
        ("at_least", text()),
        ("why", text()),
        ("loses", any()),
        ("stays_suspended", truth()),
        ("properties", list(property)),
        ("leads_to", list(text())),
    ])
}

fn drift() -> Value {
    let property = optional([("name", text()), ("recorded", any()), ("live", any())]);
    let resource = object([
        ("resource_name", text()),
        ("resource_type", text()),
        ("physical_resource_id", or_null(text())),
        ("drift", text()),
        ("properties", list(property)),
        ("problem", or_null(text())),
    ]);
    object([
        ("stack_name", text()),
        ("stack_id", text()),
        ("drifts", truth()),
        ("resources", list(resource)),
    ])
}
