//! What a reader of one project might send to end the process, or to fill its memory.

use std::sync::Arc;

use hearth::projections::StackQuery;
use serde_json::{Map, Value, json};

use super::app::{Answered, App};

const HOT: &str = "heat_template_version: 2018-08-31\n";
const TOO_MANY: &str = "Request limit exceeded: Maximum resources per stack exceeded.";

/// A create of a template, and of what goes with it.
fn of(template: impl Into<Value>, beside: Value) -> String {
    let mut body = json!({ "stack_name": "hostile", "template": template.into() });
    body.as_object_mut().unwrap().extend(beside.as_object().unwrap().clone());
    body.to_string()
}

fn hot(rest: String) -> String {
    of(format!("{HOT}{rest}"), json!({}))
}

/// A resource whose value is this.
fn value(value: String) -> String {
    hot(format!("resources: {{a: {{type: OS::Heat::Value, properties: {{value: {value}}}}}}}\n"))
}

fn around(open: &str, inner: &str, close: &str, depth: usize) -> String {
    format!("{}{inner}{}", open.repeat(depth), close.repeat(depth))
}

/// One line for each number, with the one after it; the last is followed by `end`.
fn links(count: usize, end: usize, line: impl Fn(usize, usize) -> String) -> String {
    (0..count).map(|at| line(at, if at + 1 == count { end } else { at + 1 })).collect()
}

/// Creates with a chain, a circle or a comb of a length, of each kind that there is.
fn creates(length: usize) -> Vec<(&'static str, String)> {
    let n = length;
    let conditions = |end: usize, of: fn(usize, usize) -> String| {
        let lines = links(n, end, of);
        hot(format!(
            "conditions:\n{lines}  c{n}: true\nresources: {{a: {{type: OS::Heat::None, condition: \
             c0}}}}\n"
        ))
    };
    let resources = |end: usize, of: fn(usize, usize) -> String| {
        hot(format!("resources:\n{}  r{n}: {{type: OS::Heat::None}}\n", links(n, end, of)))
    };
    let yaql = |expression: String| {
        value(format!("{{yaql: {{data: {{}}, expression: \"{expression}\"}}}}"))
    };
    let pattern = |pattern: String| {
        hot(format!(
            "parameters: {{p: {{type: string, default: a, constraints: [{{allowed_pattern: \
             \"{pattern}\"}}]}}}}\n"
        ))
    };
    let registry = |end: usize| {
        let entries = (0..n).map(|at| {
            let next = if at + 1 == n { end } else { at + 1 };
            (format!("My::T{at}"), Value::from(format!("My::T{next}")))
        });
        let registry: Map<String, Value> = entries.collect();
        of(
            format!("{HOT}resources: {{a: {{type: My::T0}}}}\n"),
            json!({ "environment": { "resource_registry": registry } }),
        )
    };
    let files = |end: usize| {
        let template = |next: usize| format!("{HOT}resources: {{a: {{type: f{next}.yaml}}}}\n");
        let files = (0..n).map(|at| {
            (format!("f{at}.yaml"), Value::from(template(if at + 1 == n { end } else { at + 1 })))
        });
        of(template(0), json!({ "files": files.collect::<Map<_, _>>() }))
    };
    let with_parameter = |deep: Value| {
        of(
            format!("{HOT}parameters: {{p: {{type: json}}}}\n"),
            json!({ "parameters": { "p": deep } }),
        )
    };
    let raw = |part: &str| {
        let deep = around("[", "", "]", n);
        format!(r#"{{"stack_name": "hostile", "template": {{}}, "{part}": {{"a": {deep}}}}}"#)
    };
    vec![
        ("a chain of conditions", conditions(n, |at, next| format!("  c{at}: {{not: c{next}}}\n"))),
        (
            "a circle of conditions",
            conditions(0, |at, next| format!("  c{at}: {{not: c{next}}}\n")),
        ),
        (
            "a comb of conditions",
            conditions(n, |at, next| {
                format!("  c{at}: {{and: [c{next}, {{or: [c{next}, c{at}]}}]}}\n")
            }),
        ),
        (
            "a chain of depends_on",
            resources(n, |at, next| {
                format!("  r{at}: {{type: OS::Heat::None, depends_on: r{next}}}\n")
            }),
        ),
        (
            "a circle of depends_on",
            resources(0, |at, next| {
                format!("  r{at}: {{type: OS::Heat::None, depends_on: r{next}}}\n")
            }),
        ),
        (
            "a chain of get_attr",
            resources(n, |at, next| {
                format!(
                    "  r{at}: {{type: OS::Heat::Value, properties: {{value: {{get_attr: [r{next}, value]}}}}}}\n"
                )
            }),
        ),
        (
            "a comb of get_resource",
            resources(n, |at, _| {
                format!(
                    "  r{at}: {{type: OS::Heat::Value, properties: {{value: {{get_resource: r0}}}}}}\n"
                )
            }),
        ),
        ("lists in lists", value(around("[", "", "]", n))),
        ("maps in maps", value(around("{a: ", "1", "}", n))),
        ("lists in lists, never closed", value("[".repeat(n))),
        ("a block in a block", hot(format!("description:\n  {}x\n", "- ".repeat(n)))),
        ("keys of keys", hot("? ".repeat(n))),
        (
            "JSON in JSON",
            of(format!("{{\"heat_template_version\": {}}}", around("[", "1", "]", n)), json!({})),
        ),
        (
            "a template of lists as an object",
            raw("template").replacen(r#""template": {}, "#, "", 1),
        ),
        ("an environment of lists", raw("environment")),
        ("files of lists", raw("files")),
        ("parameters of lists", raw("parameters")),
        ("a parameter with JSON in JSON", with_parameter(around("[", "1", "]", n).into())),
        (
            "a parameter of lists",
            with_parameter((0..100).fold(json!([]), |inner, _| json!([inner]))),
        ),
        (
            "an environment with lists in lists",
            of(
                HOT,
                json!({ "environment": format!("parameters: {{p: {}}}", around("[", "", "]", n)) }),
            ),
        ),
        (
            "a chain of aliases",
            hot(format!(
                "description:\n- &a0 x\n{}",
                links(n, n, |at, next| format!("- &a{next} [*a{at}]\n"))
            )),
        ),
        (
            "a chain of merge keys",
            hot(format!(
                "resources:\n  r0: &r0 {{a: 1}}\n{}",
                links(n, n, |at, next| format!("  r{next}: &r{next} {{<<: *r{at}}}\n"))
            )),
        ),
        ("a chain of types", registry(n)),
        ("a circle of types", registry(0)),
        ("a chain of nested templates", files(n)),
        ("a circle of nested templates", files(0)),
        ("calls in calls", value(around("{list_join: ['', [", "a", "]]}", n))),
        ("choices in choices", value(around("{if: [true, ", "a", ", b]}", n))),
        ("attributes by attributes", value(around("{get_attr: [a, value, ", "a", "]}", n))),
        ("a path without end", value(format!("{{get_attr: [a, value{}]}}", ", 0".repeat(n)))),
        (
            "a group in a group",
            value(around(
                "{type: OS::Heat::ResourceGroup, properties: {resource_def: ",
                "{}",
                "}}",
                n,
            )),
        ),
        ("parentheses", yaql(around("(", "1", ")", n))),
        ("negations", yaql(format!("{}true", "not ".repeat(n)))),
        ("a sum without end", yaql(format!("1{}", " + 1".repeat(n)))),
        ("a member of a member", yaql(format!("${}", ".a".repeat(n)))),
        ("a call of a call", yaql(around("str(", "1", ")", n))),
        ("a list in a list in yaql", yaql(around("[", "1", "]", n))),
        ("a lambda in a lambda", yaql(around("[1].select(", "$", ")", n))),
        ("a stream of a stream", yaql(format!("[1]{}", ".select($)".repeat(n)))),
        ("a let in a let", yaql(format!("{}1", "let(a => 1) -> ".repeat(n)))),
        ("a group in a group of a pattern", pattern(around("(", "a", ")", n))),
        ("a repetition of a repetition", pattern(around("(?:", "a", "){9}", n))),
        ("a choice of a pattern", pattern(format!("a{}", "|a".repeat(n)))),
        ("a look ahead of a look ahead", pattern(around("(?=", "a", ")", n))),
    ]
}

/// Sends what a create takes to everything that reads it.
async fn sent_everywhere(app: &App, base: &str, name: &str, body: &str, writes: bool) {
    let token = [("x-auth-token", app.token.as_str())];
    let mut ways = vec![
        ("POST", "/validate?show_nested=true".to_owned()),
        ("POST", "/stacks/preview".to_owned()),
    ];
    if writes {
        ways.push(("POST", "/stacks".to_owned()));
        ways.push(("PUT", format!("{base}/preview?show_nested=true")));
        ways.push(("PUT", base.to_owned()));
    }
    for (verb, path) in ways {
        let path = format!("/v1/{}{path}", app.project);
        let answered = app.send(verb, &path, &token, Some(body.to_owned())).await;
        let status = answered.status;
        assert!(status < 500, "{name} of {} bytes, {verb} {path}: {}", body.len(), answered.text);
        let is_fault = || {
            answered.json()["error"]["message"].is_string()
                || answered.json()["error"]["type"].is_string()
        };
        assert!(status < 400 || is_fault(), "{name}, {verb} {path}: {}", answered.text);
    }
}

/// The path of a stack that can be updated.
async fn base(app: &App) -> String {
    let template = json!({ "heat_template_version": "2018-08-31" });
    let stack = app.create("base", template).await;
    format!("/stacks/base/{}", stack["id"].as_str().unwrap())
}

#[actix::test]
async fn chains_circles_and_combs_do_not_end_the_process() {
    let app = App::start().await;
    let base = base(&app).await;
    for (name, body) in creates(1_500) {
        sent_everywhere(&app, &base, name, &body, true).await;
    }
    assert_eq!(app.get("/stacks").await.status, 200);
    app.stop().await;
}

#[actix::test]
async fn chains_of_a_hundred_thousand_do_not_end_the_process() {
    let app = App::start().await;
    for (name, body) in creates(100_000) {
        sent_everywhere(&app, "", name, &body, false).await;
    }
    assert_eq!(app.get("/stacks").await.status, 200);
    app.stop().await;
}

#[actix::test]
async fn values_that_are_wrapped_from_resource_to_resource_stay_readable() {
    let app = App::start().await;
    let wrapped = |inner: String| around("[", &inner, "]", 60);
    let resources: String = (0..6)
        .map(|at: usize| {
            let inner = match at.checked_sub(1) {
                None => "x".to_owned(),
                Some(before) => format!("{{get_attr: [v{before}, value]}}"),
            };
            let value = wrapped(inner);
            format!("  v{at}: {{type: OS::Heat::Value, properties: {{value: {value}}}}}\n")
        })
        .collect();
    let stack = app.create("wrapped", format!("{HOT}resources:\n{resources}").into()).await;
    assert_eq!(stack["stack_status"], "CREATE_FAILED");
    let reason = stack["stack_status_reason"].as_str().unwrap();
    assert!(reason.contains("Recursion depth exceeds 100."), "{reason}");
    let log = Arc::clone(&app.log);
    app.stop().await;
    // The log can be read back by who starts next.
    let app = App::over(log).await;
    let stacks = app.views.stacks(StackQuery::default()).await.unwrap();
    assert!(stacks.iter().any(|stack| stack.name.as_str() == "wrapped"));
    app.stop().await;
}

/// Templates that stand within each other, so many times in each.
fn multiplied(by: usize, levels: usize) -> String {
    let template = |level: usize| {
        let kind = match level == levels {
            true => "OS::Heat::None".to_owned(),
            false => format!("level{}.yaml", level + 1),
        };
        let resource = |at: usize| {
            // Heat looks at one of several that are written alike.
            (format!("r{at}"), json!({ "type": kind, "metadata": { "at": at } }))
        };
        let resources: Map<String, Value> = (0..by).map(resource).collect();
        json!({ "heat_template_version": "2018-08-31", "resources": resources })
    };
    let files = (1..=levels)
        .map(|level| (format!("level{level}.yaml"), Value::from(template(level).to_string())));
    of(template(0), json!({ "files": files.collect::<Map<_, _>>() }))
}

fn refused_as_too_large(answered: &Answered) {
    assert_eq!(answered.status, 400, "{}", answered.text);
    let fault = answered.json();
    let message = fault["error"]["message"].as_str().unwrap();
    assert!(message.ends_with(TOO_MANY), "{message}");
}

#[actix::test]
async fn templates_that_multiply_are_refused_wherever_they_are_read() {
    let app = App::start().await;
    let base = base(&app).await;
    let body = multiplied(20, 3);
    assert!(body.len() < 10_000, "few words say it");
    for (verb, path) in [
        ("POST", "/validate?show_nested=true".to_owned()),
        ("POST", "/stacks/preview".to_owned()),
        ("POST", "/stacks".to_owned()),
        ("PUT", format!("{base}/preview?show_nested=true")),
        ("PUT", base.clone()),
    ] {
        let path = format!("/v1/{}{path}", app.project);
        let token = [("x-auth-token", app.token.as_str())];
        refused_as_too_large(&app.send(verb, &path, &token, Some(body.clone())).await);
    }
    // A tree that is as large as may be is shown.
    let path = format!("/v1/{}/stacks/preview", app.project);
    let token = [("x-auth-token", app.token.as_str())];
    let shown = app.send("POST", &path, &token, Some(multiplied(5, 3))).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    app.stop().await;
}

#[actix::test]
async fn a_group_is_counted_before_its_members_are_made() {
    let app = App::start().await;
    let group = |count: u32, padding: usize| {
        let member =
            json!({ "type": "OS::Heat::None", "properties": { "a": "x".repeat(padding) } });
        json!({ "heat_template_version": "2018-08-31", "resources": { "g": {
            "type": "OS::Heat::ResourceGroup",
            "properties": { "count": count, "resource_def": member } } } })
    };
    let preview = |template: Value| {
        app.ask("POST", "/stacks/preview", Some(json!({ "stack_name": "g", "template": template })))
    };
    refused_as_too_large(&preview(group(50_000, 1)).await);
    refused_as_too_large(&preview(group(900, 100_000)).await);
    assert_eq!(preview(group(900, 1)).await.status, 200);
    let made = app.create("group", group(50_000, 1)).await;
    assert_eq!(made["stack_status"], "CREATE_FAILED");
    assert!(made["stack_status_reason"].as_str().unwrap().ends_with(TOO_MANY), "{made}");
    app.stop().await;
}

#[actix::test]
async fn an_answer_is_no_larger_than_may_be_held() {
    let app = App::start().await;
    let member = json!({ "type": "OS::Heat::None", "properties": { "a": "x".repeat(50_000) } });
    let group = json!({ "type": "OS::Heat::ResourceGroup", "properties": {
        "count": 300, "resource_def": member } });
    let template = json!({ "heat_template_version": "2018-08-31",
        "resources": { "a": group, "b": group, "c": group } });
    let body = json!({ "stack_name": "large", "template": template });
    let answered = app.ask("POST", "/stacks/preview", Some(body)).await;
    assert_eq!(answered.status, 400, "{} bytes", answered.text.len());
    assert!(answered.text.contains("The answer exceeds maximum allowed size"), "{}", answered.text);
    app.stop().await;
}
