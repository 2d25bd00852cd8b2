//! Everything that a client can get wrong: a fault in Heat's shape, and nothing written.

use serde_json::{Value, json};

use super::app::{Answered, App};

/// Sends a create, and checks that it is refused in Heat's shape and leaves nothing behind.
async fn refused(app: &App, body: Value) -> Value {
    let before = app.log.durable_position();
    let answered = app.ask("POST", "/stacks", Some(body.clone())).await;
    assert_eq!(app.log.durable_position(), before, "{body} was taken: {}", answered.text);
    fault(&answered)
}

/// The fault in an answer, its fixed parts checked.
fn fault(answered: &Answered) -> Value {
    let body = answered.json();
    assert_eq!(body["code"], answered.status, "{body}");
    assert!((400..500).contains(&answered.status), "{body}");
    assert!(body["title"].is_string(), "{body}");
    assert!(body["error"]["type"].is_string(), "{body}");
    assert_eq!(body["error"]["traceback"], Value::Null);
    assert!(answered.header("x-openstack-request-id").starts_with("req-"));
    assert!(answered.header("content-type").starts_with("application/json"));
    let explanation = match answered.status {
        400 => {
            "The server could not comply with the request since it is either malformed or \
             otherwise incorrect."
        }
        403 => "Access was denied to this resource.",
        404 => "The resource could not be found.",
        409 => "There was a conflict when trying to complete your request.",
        _ => return body,
    };
    assert_eq!(body["explanation"], explanation);
    body
}

fn ask(template: Value) -> Value {
    json!({ "stack_name": "web", "template": template })
}

fn with_resources(resources: Value) -> Value {
    ask(json!({ "heat_template_version": "2021-04-16", "resources": resources }))
}

fn one(type_name: &str, properties: Value) -> Value {
    with_resources(json!({ "a": { "type": type_name, "properties": properties } }))
}

#[actix::test]
async fn a_template_that_does_not_hold_together_is_refused() {
    let app = App::start().await;
    let value = "OS::Heat::Value";
    let cases: Vec<(&str, Value, &str, &str)> = vec![
        ("not YAML", ask(json!("a: [")), "HTTPBadRequest", "Template not in valid format"),
        ("no map", ask(json!("- a")), "HTTPBadRequest", "not a JSON object or YAML mapping"),
        (
            "no version",
            ask(json!({ "resources": {} })),
            "InvalidTemplateVersion",
            "The template version is invalid",
        ),
        (
            "unknown version",
            ask(json!({ "heat_template_version": "2001-01-01" })),
            "InvalidTemplateVersion",
            "2001-01-01",
        ),
        (
            "unknown section",
            ask(json!({ "heat_template_version": "2021-04-16", "things": {} })),
            "StackValidationFailed",
            "The template section is invalid: things",
        ),
        ("unknown type", one("OS::No::Type", json!({})), "StackValidationFailed", "OS::No::Type"),
        (
            "dangling reference",
            one(value, json!({ "value": { "get_resource": "b" } })),
            "InvalidTemplateReference",
            "The specified reference \"b\" (in a",
        ),
        (
            "cycle",
            with_resources(json!({
                "a": { "type": value, "properties": { "value": { "get_resource": "b" } } },
                "b": { "type": value, "properties": { "value": { "get_resource": "a" } } },
            })),
            "CircularDependencyException",
            "Circular Dependency Found: ",
        ),
    ];
    for (what, body, class, text) in cases {
        let fault = refused(&app, body).await;
        assert_eq!(fault["error"]["type"], class, "{what}: {fault}");
        let message = fault["error"]["message"].as_str().unwrap();
        assert!(message.contains(text), "{what}: {message}");
    }
    app.stop().await;
}

#[actix::test]
async fn parameters_that_do_not_fit_are_refused() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": {
            "size": { "type": "number", "constraints": [{ "range": { "max": 3 } }] },
        },
        "resources": {},
    });
    let with = |parameters: Value| {
        let mut body = ask(template.clone());
        body["parameters"] = parameters;
        body
    };
    for (parameters, class, text) in [
        (json!({}), "UserParameterMissing", "The Parameter (size) was not provided."),
        (
            json!({ "size": 9 }),
            "StackValidationFailed",
            "Parameter 'size' is invalid: 9 is out of range (min: None, max: 3)",
        ),
        (json!({ "size": 1, "other": 2 }), "UnknownUserParameter", "other"),
    ] {
        let fault = refused(&app, with(parameters)).await;
        assert_eq!(fault["error"]["type"], class, "{fault}");
        assert!(fault["error"]["message"].as_str().unwrap().contains(text), "{fault}");
    }
    app.stop().await;
}

#[actix::test]
async fn names_must_be_free_and_well_formed() {
    let app = App::start().await;
    let template = json!({ "heat_template_version": "2021-04-16", "resources": {} });
    app.create("web", template.clone()).await;
    let fault = refused(&app, ask(template.clone())).await;
    assert_eq!(fault["error"]["type"], "StackExists");
    assert_eq!(fault["error"]["message"], "The Stack (web) already exists.");
    assert_eq!(fault["code"], 409);
    // Nothing else is looked at where the name is taken.
    let unknown = json!({ "a": { "type": "OS::No::Type" } });
    let unknown = json!({ "heat_template_version": "2021-04-16", "resources": unknown });
    assert_eq!(refused(&app, ask(unknown)).await["error"]["type"], "StackExists");
    let long = "x".repeat(256);
    for name in ["1web", "we b", "web/1", "", &long] {
        let body = json!({ "stack_name": name, "template": template });
        let fault = refused(&app, body).await;
        assert_eq!(fault["error"]["type"], "StackValidationFailed", "{name}");
        assert!(fault["error"]["message"].as_str().unwrap().starts_with("Invalid stack name"));
    }
    let fault = refused(&app, json!({ "template": template })).await;
    assert_eq!(fault["error"]["message"], "No stack name specified");
    let fault = refused(&app, json!({ "stack_name": "new" })).await;
    assert_eq!(fault["error"]["message"], "No template specified");
    app.stop().await;
}

#[actix::test]
async fn what_is_too_large_is_refused() {
    let app = App::start().await;
    let padded = |bytes: usize| {
        ask(json!({ "heat_template_version": "2021-04-16", "description": "x".repeat(bytes) }))
    };
    let resources: serde_json::Map<String, Value> = (0..1_001)
        .map(|number| (format!("r{number}"), json!({ "type": "OS::Heat::None" })))
        .collect();
    let bomb = "heat_template_version: 2021-04-16\n\
        description: &a [x,x,x,x,x,x,x,x,x,x]\n\
        parameters: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n\
        conditions: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n\
        outputs: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n\
        resources: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n\
        x: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n\
        y: [*f,*f,*f,*f,*f,*f,*f,*f,*f,*f]\n";
    for (body, text) in [
        (padded(1_200_000), "exceeds maximum allowed size (1048576 bytes)"),
        (padded(600_000), "exceeds maximum allowed size (524288 bytes)"),
        (with_resources(Value::Object(resources)), "Maximum resources per stack exceeded"),
    ] {
        let fault = refused(&app, body).await;
        assert_eq!(fault["error"]["type"], "RequestLimitExceeded", "{fault}");
        assert!(fault["error"]["message"].as_str().unwrap().contains(text), "{fault}");
    }
    let fault = refused(&app, ask(bomb.into())).await;
    assert_eq!(fault["code"], 400);
    app.stop().await;
}

#[actix::test]
async fn arguments_that_are_none_are_refused() {
    let app = App::start().await;
    let template = json!({ "heat_template_version": "2021-04-16", "resources": {} });
    for (key, value, class) in [
        ("timeout_mins", json!("soon"), "HTTPBadRequest"),
        ("timeout_mins", json!(-1), "HTTPBadRequest"),
        ("disable_rollback", json!("perhaps"), "ValueError"),
        ("tags", json!(["a"]), "AttributeError"),
        ("tags", json!("x".repeat(81)), "HTTPBadRequest"),
        ("environment", json!("things: {}"), "HTTPBadRequest"),
        ("environment", json!({ "parameters": null }), "HTTPBadRequest"),
        ("converge", json!(true), "HTTPBadRequest"),
        ("adopt_stack_data", json!("{}"), "HTTPBadRequest"),
        ("adopt_stack_data", json!({ "template": template }), "HTTPBadRequest"),
        ("adopt_stack_data", json!({ "template": template }).to_string().into(), "NotSupported"),
        ("parameters", json!([1]), "ValueError"),
    ] {
        let mut body = ask(template.clone());
        body[key] = value;
        let fault = refused(&app, body).await;
        assert_eq!(fault["error"]["type"], class, "{key}: {fault}");
        let is_python = matches!(class, "ValueError" | "AttributeError");
        assert_eq!(fault["error"].get("message").is_none(), is_python, "{fault}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_body_that_is_none_is_refused() {
    let app = App::start().await;
    let path = format!("/v1/{}/stacks", app.project);
    let token = ("x-auth-token", app.token.as_str());
    let template = r#"{"stack_name": "a", "template": {"heat_template_version": "2021-04-16"}}"#;
    for (kind, body) in [
        ("application/xml", template),
        ("application/json", ""),
        ("application/json", "null"),
        ("application/json", "[]"),
        ("application/json", "{\"stack_name\": "),
        ("application/json", "{1: 2}"),
    ] {
        let headers = [token, ("content-type", kind)];
        let answered = app.send("POST", &path, &headers, Some(body.to_owned())).await;
        let fault = fault(&answered);
        assert_eq!(fault["error"]["type"], "HTTPBadRequest", "{kind} {body}");
    }
    assert_eq!(app.log.durable_position().0, 0);
    app.stop().await;
}

#[actix::test]
async fn nobody_comes_in_without_a_token_or_with_another_projects() {
    let app = App::start().await;
    app.create("web", json!({ "heat_template_version": "2021-04-16", "resources": {} })).await;
    let path = format!("/v1/{}/stacks", app.project);
    for headers in [&[][..], &[("x-auth-token", "wrong")][..], &[("x-auth-token", "")][..]] {
        let answered = app.send("GET", &path, headers, None).await;
        assert_eq!(answered.status, 401);
        assert!(answered.header("www-authenticate").starts_with("Keystone uri=\"http://127.0.0.1"));
        assert_eq!(
            answered.json(),
            json!({ "error": {
                "code": 401,
                "title": "Unauthorized",
                "message": "The request you have made requires authentication.",
            } })
        );
    }
    let (other, other_project) = app.login("alt_demo", "alt_demo").await;
    let headers = [("x-auth-token", other.as_str())];
    let answered = app.send("GET", &path, &headers, None).await;
    assert_eq!(fault(&answered)["error"]["type"], "HTTPForbidden");
    assert_eq!(answered.status, 403);
    // In his own project another's stack is unknown, by name and by id.
    let stack = app.get("/stacks/web").await;
    let id = stack.header("location").rsplit('/').next().unwrap().to_owned();
    for path in ["web".to_owned(), id.clone(), format!("web/{id}"), format!("web/{id}/resources")] {
        let path = format!("/v1/{other_project}/stacks/{path}");
        let answered = app.send("GET", &path, &headers, None).await;
        assert_eq!(answered.status, 404, "{path}");
        assert_eq!(fault(&answered)["error"]["type"], "EntityNotFound");
    }
    app.stop().await;
}

#[actix::test]
async fn unknown_things_and_wrong_verbs_are_told_apart() {
    let app = App::start().await;
    let stack =
        app.create("web", json!({ "heat_template_version": "2021-04-16", "resources": {} })).await;
    let id = stack["id"].as_str().unwrap();
    let base = format!("/stacks/web/{id}");
    for (path, class) in [
        ("/stacks/nothing".to_owned(), "EntityNotFound"),
        (format!("/stacks/other/{id}"), "EntityNotFound"),
        ("/stacks/web/nothing".to_owned(), "EntityNotFound"),
        ("/stacks/web/00000000-0000-4000-8000-000000000000".to_owned(), "EntityNotFound"),
        (format!("{base}/resources/nothing"), "ResourceNotFound"),
        (format!("{base}/resources/nothing/events"), "HTTPNotFound"),
        (format!("{base}/outputs/nothing"), "NotFound"),
        (format!("{base}/resources/web/events/nothing"), "HTTPNotFound"),
        ("/resource_types/OS::No::Type".to_owned(), "EntityNotFound"),
        ("/template_versions/nothing/functions".to_owned(), "NotFound"),
    ] {
        let answered = app.get(&path).await;
        assert_eq!(answered.status, 404, "{path}: {}", answered.text);
        assert_eq!(fault(&answered)["error"]["type"], class, "{path}");
    }
    for (verb, path) in [
        ("PUT", "/stacks".to_owned()),
        ("DELETE", "/stacks".to_owned()),
        ("POST", base.clone()),
        ("GET", format!("{base}/actions")),
        ("POST", "/resource_types".to_owned()),
        ("HEAD", "/stacks".to_owned()),
    ] {
        let answered = app.ask(verb, &path, None).await;
        assert_eq!(answered.status, 405, "{verb} {path}");
        assert_eq!(answered.header("allow"), "");
        if verb != "HEAD" {
            let fault = answered.json();
            assert_eq!(fault["title"], "Method Not Allowed");
            assert_eq!(fault["explanation"], fault["error"]["message"]);
        }
    }
    let options = app.ask("OPTIONS", "/stacks", None).await;
    assert_eq!((options.status, options.header("allow")), (204, "GET,POST"));
    assert_eq!(app.get("/software_things").await.status, 404);
    app.stop().await;
}

#[actix::test]
async fn queries_that_make_no_sense_are_refused() {
    let app = App::start().await;
    let stack =
        app.create("web", json!({ "heat_template_version": "2021-04-16", "resources": {} })).await;
    let base = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    for path in [
        "/stacks?limit=-1".to_owned(),
        "/stacks?limit=many".to_owned(),
        "/stacks?show_deleted=1".to_owned(),
        "/stacks?sort_dir=up".to_owned(),
        "/stacks?with_count=yes".to_owned(),
        format!("/stacks?tags={}", "x".repeat(81)),
        format!("{base}?resolve_outputs=maybe"),
        format!("{base}/resources?colour=red"),
        format!("{base}/resources?nested_depth=deep"),
        format!("{base}/events?limit=x"),
        "/resource_types?support_status=GOOD".to_owned(),
        "/resource_types/OS::Heat::Value/template?template_type=xml".to_owned(),
    ] {
        let answered = app.get(&path).await;
        assert_eq!(answered.status, 400, "{path}: {}", answered.text);
        fault(&answered);
    }
    let answered = app.get("/stacks?global_tenant=true").await;
    assert_eq!(answered.status, 403);
    assert_eq!(
        fault(&answered)["error"]["message"],
        "You are not authorized to use stacks:global_index."
    );
    // Keys that nobody knows are passed over, but where Heat looks at them.
    assert_eq!(app.get("/stacks?colour=red").await.status, 200);
    app.stop().await;
}

#[actix::test]
async fn actions_are_refused_by_name_number_and_state() {
    let app = App::start().await;
    let stack =
        app.create("web", json!({ "heat_template_version": "2021-04-16", "resources": {} })).await;
    let path = format!("/stacks/web/{}/actions", stack["id"].as_str().unwrap());
    let before = app.log.durable_position();
    for (body, class, text) in [
        (json!({}), "HTTPBadRequest", "No action specified"),
        (json!({ "check": null, "suspend": null }), "HTTPBadRequest", "Multiple actions specified"),
        (json!({ "snapshot": null }), "HTTPBadRequest", "Invalid action snapshot specified"),
        (
            json!({ "rollback": { "to": 0 } }),
            "HTTPBadRequest",
            "The action rollback needs the number of a revision, {\"to\": 1}, or a position of the log \
             or a time, {\"at\": \"2026-01-31T12:00:00Z\"}",
        ),
        (
            json!({ "rollback": { "to": 7 } }),
            "EntityNotFound",
            "The Revision (7) could not be found.",
        ),
        (
            json!({ "cancel_update": null }),
            "NotSupported",
            "Cancelling update when stack is CREATE_COMPLETE is not supported.",
        ),
    ] {
        let fault = fault(&app.ask("POST", &path, Some(body)).await);
        assert_eq!(fault["error"]["type"], class, "{fault}");
        assert_eq!(fault["error"]["message"], text);
    }
    assert_eq!(app.log.durable_position(), before);
    app.stop().await;
}

#[actix::test]
async fn properties_that_do_not_fit_their_schema_are_refused() {
    let app = App::start().await;
    let value = "OS::Heat::Value";
    let random = "OS::Heat::RandomString";
    let cases: Vec<(&str, Value, &str)> = vec![
        (
            "unknown property",
            one(value, json!({ "value": 1, "colour": "red" })),
            "Property error: : resources.a.properties: : Unknown Property colour",
        ),
        (
            "wrong property type",
            one(random, json!({ "length": "long" })),
            "Property error: : resources.a.properties.length: : Value 'long' is not an integer",
        ),
        (
            "missing required property",
            one("OS::Neutron::Subnet", json!({ "cidr": "10.0.0.0/24" })),
            "network",
        ),
        (
            "failed constraint",
            one(random, json!({ "length": 1000 })),
            "Property error: : resources.a.properties.length: : 1000 is out of range (min: 1, max: 512)",
        ),
    ];
    for (what, body, text) in cases {
        let fault = refused(&app, body).await;
        assert_eq!(fault["error"]["type"], "StackValidationFailed", "{what}: {fault}");
        let message = fault["error"]["message"].as_str().unwrap();
        assert!(message.contains(text), "{what}: {message}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_cycle_is_found_by_a_mere_validation_too() {
    let app = App::start().await;
    let template = with_resources(json!({
        "a": { "type": "OS::Heat::TestResource", "depends_on": "b" },
        "b": { "type": "OS::Heat::TestResource", "depends_on": "a" },
    }));
    let answered = app.ask("POST", "/validate", Some(template)).await;
    assert_eq!(fault(&answered)["error"]["type"], "CircularDependencyException");
}

#[actix::test]
async fn an_object_where_none_is_taken_is_refused_after_the_policy_and_before_the_path() {
    let app = App::start().await;
    let object = || Some(json!({ "a": 1 }));
    let malformed = "The server could not comply with the request since it is either malformed or \
                     otherwise incorrect.";
    let nowhere = "/stacks/web/2f9a2a5e-0000-4000-8000-000000000000";
    for (verb, path) in [
        ("GET", "/stacks"),
        ("GET", "/stacks/detail"),
        ("GET", "/template_versions"),
        ("GET", nowhere),
        ("DELETE", nowhere),
        ("GET", "/software_configs"),
    ] {
        let answered = app.ask(verb, path, object()).await;
        assert_eq!(answered.status, 400, "{verb} {path}: {}", answered.text);
        assert_eq!(fault(&answered)["error"]["message"], malformed, "{verb} {path}");
    }
    // A token comes first, then the route, then the object itself, then the policy.
    let path = format!("/v1/{}/stacks", app.project);
    assert_eq!(app.send("GET", &path, &[], Some("{}".to_owned())).await.status, 401);
    assert_eq!(app.ask("GET", "/nothing", object()).await.status, 404);
    assert_eq!(app.ask("GET", "/services", object()).await.status, 403);
    let token = [("x-auth-token", app.token.as_str())];
    let services = format!("/v1/{}/services", app.project);
    assert_eq!(app.send("GET", &services, &token, Some("{".to_owned())).await.status, 400);
    let long = format!("{{\"a\": \"{}\"}}", "a".repeat(2 << 20));
    assert_eq!(app.send("GET", &path, &token, Some(long)).await.status, 400);
    // What is no object, or is declared to be something else, counts as nothing; and a redirect
    // leads on with whatever comes along.
    assert_eq!(app.send("GET", &path, &token, Some("[]".to_owned())).await.status, 200);
    let xml = [token[0], ("content-type", "application/xml")];
    assert_eq!(app.send("GET", &path, &xml, Some("{}".to_owned())).await.status, 200);
    app.create("web", json!({ "heat_template_version": "2021-04-16" })).await;
    assert_eq!(app.ask("GET", "/stacks/web", object()).await.status, 302);
    app.stop().await;
}
