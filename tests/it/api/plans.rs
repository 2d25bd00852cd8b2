//! Plans that bind, and changes of a stack that is as its client saw it.

use hearth::clock::{Clock, SystemClock};
use serde_json::{Value, json};

use super::app::{Answered, App};

fn template(value: &str, more: &[&str]) -> Value {
    let mut resources = json!({
        "a": { "type": "OS::Heat::TestResource", "properties": { "value": value } },
        "b": { "type": "OS::Heat::TestResource", "properties": {
            "value": { "get_attr": ["a", "output"] } } },
    });
    for name in more {
        resources[*name] = json!({ "type": "OS::Heat::TestResource", "deletion_policy": "Retain" });
    }
    json!({ "heat_template_version": "2021-04-16", "resources": resources })
}

/// A stack's path behind the project's.
async fn path_of(app: &App, name: &str) -> String {
    let moved = app.get(&format!("/stacks/{name}")).await;
    moved.header("location").split_once(&app.project).unwrap().1.to_owned()
}

/// Asks with a header more.
async fn ask_with(
    app: &App,
    (verb, path): (&str, &str),
    header: (&str, &str),
    body: Option<Value>,
) -> Answered {
    let path = format!("/v1/{}{path}", app.project);
    let headers = [("x-auth-token", app.token.as_str()), header];
    app.send(verb, &path, &headers, body.map(|body| body.to_string())).await
}

async fn plan(app: &App, path: &str, asked: Value) -> Value {
    let answered = app.ask("POST", path, Some(asked)).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    answered.json()["plan"].clone()
}

/// What becomes of each resource.
fn changes(plan: &Value) -> Vec<String> {
    let text = |of: &Value, key: &str| of[key].as_str().unwrap().to_owned();
    let resources = plan["resources"].as_array().unwrap().iter();
    resources.map(|it| format!("{} {}", text(it, "resource_name"), text(it, "change"))).collect()
}

fn id(plan: &Value) -> &str {
    plan["id"].as_str().unwrap()
}

/// The text of a refusal.
fn refusal(answered: &Answered, status: u16, class: &str) -> String {
    assert_eq!(answered.status, status, "{}", answered.text);
    let fault = answered.json();
    assert_eq!(fault["error"]["type"], class);
    fault["error"]["message"].as_str().unwrap().to_owned()
}

#[actix::test]
async fn a_create_makes_what_its_plan_says_or_nothing() {
    let app = App::start().await;
    let body = json!({ "stack_name": "web", "template": template("one", &[]) });
    let before = app.log.durable_position();
    let planned = plan(&app, "/stacks/plan", body.clone()).await;
    assert_eq!(app.log.durable_position(), before, "a plan writes nothing");
    assert_eq!(changes(&planned), ["a created", "b created"]);
    assert_eq!(planned["counts"], json!({ "created": 2 }));
    assert_eq!((&planned["changes"], &planned["stack_id"]), (&json!(true), &Value::Null));
    assert_eq!(planned["resources"][0]["leads_to"], json!(["b"]));
    let other = json!({ "stack_name": "web", "template": template("two", &[]) });
    let named = ("hearth-plan", id(&planned));
    let refused = ask_with(&app, ("POST", "/stacks"), named, Some(other)).await;
    let told = refusal(&refused, 409, "PlanOutdated");
    assert!(told.ends_with("What is asked for is not what the plan was made of."), "{told}");
    assert_eq!(app.get("/stacks/web").await.status, 404);
    let made = ask_with(&app, ("POST", "/stacks"), named, Some(body)).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    app.stop().await;
}

#[actix::test]
async fn an_update_does_what_its_plan_says_or_is_told_what_came_between() {
    let app = App::start().await;
    app.create("web", template("one", &["kept"])).await;
    let path = path_of(&app, "web").await;
    let body = json!({ "template": template("two", &[]) });
    let planning = format!("{path}/plan");
    let planned = plan(&app, &planning, json!({ "update": body })).await;
    assert_eq!(changes(&planned), ["a updated", "b updated", "kept kept"]);
    let a = &planned["resources"][0];
    assert_eq!(a["why"], "value changes");
    assert_eq!(a["leads_to"], json!(["b"]));
    let differs = json!([{ "name": "value", "old": "one", "new": "two", "known": true }]);
    assert_eq!(a["properties"], differs);
    let b = &planned["resources"][1];
    let differs = json!([{ "name": "value", "old": "one", "new": null, "known": false }]);
    assert_eq!((&b["at_least"], &b["properties"]), (&json!("unchanged"), &differs));

    // The same plan again is the same; a PATCH of the same is another.
    assert_eq!(id(&plan(&app, &planning, json!({ "update": body })).await), id(&planned));
    assert_ne!(id(&plan(&app, &planning, json!({ "patch": body })).await), id(&planned));
    let named = ("hearth-plan", id(&planned));
    let other = json!({ "template": template("three", &[]) });
    let refused = ask_with(&app, ("PUT", &path), named, Some(other)).await;
    assert!(refusal(&refused, 409, "PlanOutdated").contains("is not what the plan was made of"));

    let between = json!({ "template": template("between", &["kept"]) });
    assert_eq!(app.ask("PUT", &path, Some(between)).await.status, 202);
    app.settled("web").await;
    let refused = ask_with(&app, ("PUT", &path), named, Some(body.clone())).await;
    let told = refusal(&refused, 409, "PlanOutdated");
    assert!(told.contains("(revision 1 at ") && told.contains("it has revision 2"), "{told}");
    assert!(told.contains("Since then: web: RevisionAccepted at "), "{told}");
    assert!(told.contains(" by demo"), "{told}");

    let planned = plan(&app, &planning, json!({ "update": body })).await;
    let named = ("hearth-plan", id(&planned));
    assert_eq!(ask_with(&app, ("PUT", &path), named, Some(body.clone())).await.status, 202);
    assert_eq!(app.settled("web").await["stack_status"], "UPDATE_COMPLETE");
    // Once is enough: the stack has moved on by this very update.
    let again = ask_with(&app, ("PUT", &path), named, Some(body.clone())).await;
    refusal(&again, 409, "PlanOutdated");
    let nothing = plan(&app, &planning, json!({ "update": body })).await;
    assert_eq!(
        (&nothing["changes"], &nothing["counts"]),
        (&json!(false), &json!({"unchanged": 2}))
    );
    app.stop().await;
}

#[actix::test]
async fn a_way_back_from_what_a_failed_update_has_tried_starts_from_that() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    let mut failing = template("two", &[]);
    failing["resources"]["a"]["properties"]["fail"] = json!(true);
    let failing = json!({ "template": failing });
    assert_eq!(app.ask("PUT", &path, Some(failing)).await.status, 202);
    assert_eq!(app.settled("web").await["stack_status"], "UPDATE_FAILED");
    let back = json!({ "update": { "template": template("one", &[]) } });
    let planned = plan(&app, &format!("{path}/plan"), back).await;
    let resources = planned["resources"].as_array().unwrap();
    let a = resources.iter().find(|it| it["resource_name"] == "a").unwrap();
    let differs = a["properties"].as_array().unwrap();
    let of = |name: &str| differs.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!((&of("value")["old"], &of("value")["new"]), (&json!("two"), &json!("one")));
    assert_eq!(of("fail")["old"], true);
    app.stop().await;
}

#[actix::test]
async fn what_has_come_between_is_told_of_nested_stacks_too() {
    let app = App::start().await;
    let inner = |value: &str| {
        let resource =
            json!({ "type": "OS::Heat::TestResource", "properties": { "value": value } });
        json!({ "heat_template_version": "2021-04-16", "resources": { value: resource } })
    };
    let nested = json!({ "type": "OS::Heat::Stack",
                         "properties": { "template": inner("one").to_string() } });
    let outer = json!({ "heat_template_version": "2021-04-16", "resources": { "inner": nested } });
    app.create("web", outer).await;
    let path = path_of(&app, "web").await;
    let planned = plan(&app, &format!("{path}/plan"), json!({ "delete": {} })).await;
    let shown = app.get(&format!("{path}/resources/inner")).await.json();
    let child = shown["resource"]["physical_resource_id"].as_str().unwrap().to_owned();
    let within = path_of(&app, &child).await;
    let changed = json!({ "template": inner("two") });
    assert_eq!(app.ask("PUT", &within, Some(changed)).await.status, 202);
    app.comes_to(&within, "UPDATE_COMPLETE").await;
    let named = ("hearth-plan", id(&planned));
    let refused = ask_with(&app, ("DELETE", &path), named, None).await;
    let told = refusal(&refused, 409, "PlanOutdated");
    assert!(told.contains("inner: RevisionAccepted at "), "{told}");
    app.stop().await;
}

#[actix::test]
async fn what_the_cloud_has_yet_to_name_is_not_known_beforehand() {
    let app = App::start().await;
    let template = |length: u8| {
        json!({ "heat_template_version": "2021-04-16", "resources": {
            "made": { "type": "OS::Heat::RandomString", "properties": { "length": length } },
            "b": { "type": "OS::Heat::TestResource", "properties": {
                "value": { "list_join": ["/", ["to", { "get_resource": "made" }]] } } },
            "group": { "type": "OS::Heat::ResourceGroup", "properties": { "count": 1,
                "resource_def": { "type": "OS::Heat::TestResource", "properties": {
                    "value": { "get_resource": "made" } } } } },
        } })
    };
    let body = json!({ "stack_name": "web", "template": template(8) });
    let planned = plan(&app, "/stacks/plan", body).await;
    let of = |plan: &Value, name: &str| {
        let mut resources = plan["resources"].as_array().unwrap().iter();
        resources.find(|it| it["resource_name"] == name).unwrap().clone()
    };
    let unknown = json!([{ "name": "value", "old": null, "new": null, "known": false }]);
    let b = of(&planned, "b");
    assert_eq!((&b["properties"], &b["at_least"]), (&unknown, &json!("created")));
    assert_eq!(of(&planned, "made")["properties"][0]["new"], 8);
    assert!(!planned.to_string().contains("00000000-0000"), "{planned}");

    app.create("web", template(8)).await;
    let path = path_of(&app, "web").await;
    let asked = json!({ "update": { "template": template(9) } });
    let planned = plan(&app, &format!("{path}/plan"), asked).await;
    for name in ["b", "group/0"] {
        let changed = of(&planned, name);
        let properties = &changed["properties"][0];
        assert_eq!((&properties["known"], &properties["new"]), (&json!(false), &Value::Null));
        assert_eq!(
            (&changed["change"], &changed["at_least"]),
            (&json!("updated"), &json!("updated"))
        );
    }
    assert!(!planned.to_string().contains("00000000-0000"), "{planned}");
    app.stop().await;
}

#[actix::test]
async fn what_is_deleted_is_not_announced_and_what_is_left_over_is() {
    let app = App::start().await;
    let test =
        |properties: Value| json!({ "type": "OS::Heat::TestResource", "properties": properties });
    let template =
        |resources: Value| json!({ "heat_template_version": "2021-04-16", "resources": resources });
    let made = |value: &str, fails: bool| {
        let mut b = test(json!({ "value": value, "fail": fails }));
        b["depends_on"] = "a".into();
        template(json!({ "b": b, "a": test(json!({ "value": value, "update_replace": true })) }))
    };
    let gone = template(json!({ "old": test(json!({})), "b": test(json!({ "value": "one" })) }));
    app.create("web", gone).await;
    let path = path_of(&app, "web").await;
    let update = async |template: Value| {
        let body = json!({ "template": template });
        assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
        app.settled("web").await["stack_status"].clone()
    };
    let planned = async |template: Value| {
        let asked = json!({ "update": { "template": template } });
        changes(&plan(&app, &format!("{path}/plan"), asked).await)
    };
    let failing = test(json!({ "fail": true }));
    let failing = template(json!({ "b": test(json!({ "value": "one" })), "c": failing }));
    assert_eq!(update(failing).await, "UPDATE_FAILED");
    let only_b = || template(json!({ "b": test(json!({ "value": "one" })) }));
    assert_eq!(planned(only_b()).await, ["c deleted", "b unchanged"]);
    let deletion = plan(&app, &format!("{path}/plan"), json!({ "delete": {} })).await;
    assert_eq!(changes(&deletion), ["b deleted", "c deleted"]);
    assert_eq!(update(only_b()).await, "UPDATE_COMPLETE");

    assert_eq!(update(made("one", false)).await, "UPDATE_COMPLETE");
    assert_eq!(update(made("two", true)).await, "UPDATE_FAILED");
    assert_eq!(planned(made("two", false)).await, ["b replaced", "a deleted", "a unchanged"]);
    assert_eq!(update(made("two", false)).await, "UPDATE_COMPLETE");
    assert_eq!(planned(made("two", false)).await, ["b unchanged", "a unchanged"]);
    app.stop().await;
}

#[actix::test]
async fn what_happens_to_a_resource_alone_ends_a_plan_as_well() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    let body = json!({ "template": template("two", &[]) });
    let planned = plan(&app, &format!("{path}/plan"), json!({ "update": body })).await;
    let mark = json!({ "mark_unhealthy": true, "resource_status_reason": "burnt" });
    let marked = app.ask("PATCH", &format!("{path}/resources/b"), Some(mark)).await;
    assert_eq!(marked.status, 200, "{}", marked.text);
    let named = ("hearth-plan", id(&planned));
    let refused = ask_with(&app, ("PUT", &path), named, Some(body)).await;
    let told = refusal(&refused, 409, "PlanOutdated");
    assert!(told.contains("b: HealthMarked at "), "{told}");
    app.stop().await;
}

#[actix::test]
async fn rollback_suspend_resume_and_delete_have_plans_too() {
    let app = App::start().await;
    app.create("web", template("one", &["kept"])).await;
    let path = path_of(&app, "web").await;
    let (planning, actions) = (format!("{path}/plan"), format!("{path}/actions"));
    let body = json!({ "template": template("two", &["kept"]) });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    app.settled("web").await;

    let back = json!({ "rollback": { "to": 1 } });
    let planned = plan(&app, &planning, back.clone()).await;
    assert_eq!((&planned["action"], &planned["revision"]), (&json!("ROLLBACK"), &json!(2)));
    assert_eq!(changes(&planned), ["a updated", "b updated", "kept unchanged"]);
    let named = ("hearth-plan", id(&planned));
    assert_eq!(ask_with(&app, ("POST", &actions), named, Some(back)).await.status, 200);
    app.settled("web").await;

    for (action, done) in [("suspend", "suspended"), ("resume", "resumed")] {
        let asked = json!({ action: null });
        let planned = plan(&app, &planning, asked.clone()).await;
        let told = changes(&planned);
        assert!(told.iter().all(|it| it.ends_with(done) || it.ends_with("unchanged")), "{told:?}");
        let named = ("hearth-plan", id(&planned));
        let stale = ask_with(&app, ("DELETE", &path), named, None).await;
        refusal(&stale, 409, "PlanOutdated");
        assert_eq!(ask_with(&app, ("POST", &actions), named, Some(asked)).await.status, 200);
        app.settled("web").await;
    }

    let planned = plan(&app, &planning, json!({ "delete": {} })).await;
    assert_eq!(changes(&planned), ["a deleted", "b deleted", "kept kept"]);
    let named = ("hearth-plan", id(&planned));
    assert_eq!(ask_with(&app, ("DELETE", &path), named, None).await.status, 204);
    app.stop().await;
}

#[actix::test]
async fn a_stack_goes_back_to_what_it_was_at_a_position_or_a_time() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    let actions = format!("{path}/actions");
    let (position, time) = (app.log.durable_position().0, SystemClock.now());
    let body = json!({ "template": template("two", &[]) });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    app.settled("web").await;
    let time = time.format("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    for at in [json!(position), json!(position.to_string()), json!(time)] {
        let asked = json!({ "rollback": { "at": at } });
        let planned = plan(&app, &format!("{path}/plan"), asked).await;
        assert_eq!((&planned["back_to"], &planned["changes"]), (&json!(1), &json!(true)), "{at}");
    }
    let asked = json!({ "rollback": { "at": position } });
    assert_eq!(app.ask("POST", &actions, Some(asked)).await.status, 200);
    app.settled("web").await;
    let shown = app.get(&format!("{path}/template")).await.json();
    assert_eq!(shown["resources"]["a"]["properties"]["value"], "one");
    for (at, status) in [(json!(0), 404), (json!("1970-01-01"), 404), (json!("then"), 400)] {
        let asked = json!({ "rollback": { "at": at } });
        let refused = app.ask("POST", &actions, Some(asked)).await;
        assert_eq!(refused.status, status, "{at}: {}", refused.text);
        let is_told = refused.text.contains("The stack web was not there yet at ");
        assert_eq!(is_told, status == 404, "{}", refused.text);
    }
    let both = json!({ "rollback": { "to": 1, "at": position } });
    assert_eq!(app.ask("POST", &actions, Some(both)).await.status, 400);
    app.stop().await;
}

#[actix::test]
async fn a_plan_shows_no_secret_and_its_id_gives_none_away() {
    let app = App::start().await;
    let body = |secret: &str| {
        json!({ "stack_name": "web", "parameters": { "word": secret }, "template": {
            "heat_template_version": "2021-04-16",
            "parameters": { "word": { "type": "string", "hidden": true } },
            "resources": {
                "a": { "type": "OS::Heat::TestResource", "properties": {
                    "value": { "get_param": "word" } } },
                // A secret by its type, though it stands in the template.
                "b": { "type": "OS::Nova::Server", "properties": {
                    "image": "cirros", "flavor": "m1.tiny", "admin_pass": "hunter2-z",
                    "networks": [{ "network": "private" }] } },
            },
        } })
    };
    let planned = plan(&app, "/stacks/plan", body("hunter2-x")).await;
    assert!(!planned.to_string().contains("hunter2"), "{planned}");
    assert_eq!(planned["resources"][0]["properties"][0]["new"], "******");
    // What differs in a secret alone is another plan all the same.
    assert_ne!(id(&plan(&app, "/stacks/plan", body("hunter2-y")).await), id(&planned));
    app.stop().await;
}

#[actix::test]
async fn what_is_no_plan_is_refused() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    for (asked, told) in [
        (json!({}), "No action specified"),
        (json!({ "delete": {}, "suspend": {} }), "Multiple actions specified"),
        (json!({ "burn": {} }), "Invalid action burn specified"),
    ] {
        let refused = app.ask("POST", &format!("{path}/plan"), Some(asked)).await;
        assert_eq!(refusal(&refused, 400, "HTTPBadRequest"), told);
    }
    let asked = json!({ "update": [] });
    assert_eq!(app.ask("POST", &format!("{path}/plan"), Some(asked)).await.status, 400);
    let refused = ask_with(&app, ("DELETE", &path), ("hearth-plan", "x"), None).await;
    refusal(&refused, 400, "HTTPBadRequest");
    let moved = app.ask("POST", "/stacks/web/plan", Some(json!({ "delete": {} }))).await;
    assert_eq!(moved.status, 302, "{}", moved.text);
    assert!(moved.header("location").ends_with("/plan"));
    app.stop().await;
}

#[actix::test]
async fn a_change_is_made_only_where_the_stack_is_as_it_was_seen() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    let (actions, snapshots) = (format!("{path}/actions"), format!("{path}/snapshots"));
    let (resource, signal) = (format!("{path}/resources/b"), format!("{path}/resources/b/signal"));
    let shown = app.get(&path).await;
    let seen = shown.header("etag").to_owned();
    assert!(seen.starts_with("\"1-") && seen.ends_with('"'), "{seen}");
    assert_eq!(app.get(&path).await.header("etag"), seen, "a look changes nothing");

    let body = Some(json!({ "template": template("two", &[]) }));
    let updated = ask_with(&app, ("PUT", &path), ("if-match", &seen), body.clone()).await;
    assert_eq!(updated.status, 202, "{}", updated.text);
    app.settled("web").await;
    let now = app.get(&path).await.header("etag").to_owned();
    assert!(now.starts_with("\"2-"), "{now}");
    let check = Some(json!({ "check": null }));
    let changes = [
        ("PUT", &path, body.clone()),
        ("PATCH", &path, Some(json!({}))),
        ("DELETE", &path, None),
        ("POST", &actions, check.clone()),
        ("POST", &actions, Some(json!({ "suspend": null }))),
        ("POST", &actions, Some(json!({ "rollback": { "to": 1 } }))),
        ("POST", &actions, Some(json!({ "cancel_update": null }))),
        ("POST", &snapshots, Some(json!({ "name": "x" }))),
        ("PATCH", &resource, Some(json!({ "mark_unhealthy": true }))),
        ("POST", &signal, Some(json!({ "done": true }))),
        ("POST", &signal, Some(json!({ "unset_hook": "pre-update" }))),
    ];
    let before = app.log.durable_position();
    for (verb, path, body) in changes {
        let refused = ask_with(&app, (verb, path), ("if-match", &seen), body).await;
        refusal(&refused, 412, "HTTPPreconditionFailed");
    }
    assert_eq!(app.log.durable_position(), before, "nothing was done");
    let mark = Some(json!({ "mark_unhealthy": true }));
    let marked = ask_with(&app, ("PATCH", &resource), ("if-match", &now), mark).await;
    assert_eq!(marked.status, 200, "{}", marked.text);
    assert_eq!(app.get(&path).await.header("etag"), now, "a mark is the resource's alone");
    let either = format!("{seen}, {now}");
    assert_eq!(ask_with(&app, ("POST", &actions), ("if-match", &either), check).await.status, 200);
    app.settled("web").await;
    assert_eq!(ask_with(&app, ("PUT", &path), ("if-match", "*"), body).await.status, 202);
    app.settled("web").await;
    let past = app.get(&format!("{path}?at=r1")).await;
    assert_eq!((past.status, past.header("etag")), (200, ""), "the past cannot be changed");
    app.stop().await;
}

#[actix::test]
async fn of_two_who_saw_the_same_one_changes_it() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    let seen = app.get(&path).await.header("etag").to_owned();
    let change = |value: &str| {
        let body = Some(json!({ "template": template(value, &[]) }));
        let (app, path, seen) = (&app, &path, &seen);
        async move { ask_with(app, ("PUT", path), ("if-match", seen), body).await.status }
    };
    let all = ["2", "3", "4", "5"].map(change);
    let mut answered = futures::future::join_all(all).await;
    answered.sort_unstable();
    assert_eq!(answered, [202, 412, 412, 412]);
    app.stop().await;
}

#[actix::test]
async fn what_is_as_on_record_has_not_drifted() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    let told = app.get(&format!("{path}/drift")).await;
    assert_eq!(told.status, 200, "{}", told.text);
    let drift = told.json()["drift"].clone();
    assert_eq!((&drift["drifts"], &drift["stack_name"]), (&json!(false), &json!("web")));
    let a = &drift["resources"][0];
    assert_eq!((&a["resource_name"], &a["drift"]), (&json!("a"), &json!("same")));
    let act = |action: &str| {
        let body = Some(json!({ action: null }));
        let (app, path) = (&app, format!("{path}/actions"));
        async move { app.ask("POST", &path, body).await }
    };
    let refused = act("accept").await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert!(refused.text.contains("Nothing differs from what is on record."), "{}", refused.text);
    let repaired = act("repair").await;
    assert_eq!(repaired.status, 200, "{}", repaired.text);
    app.settled("web").await;
    app.stop().await;
}

#[actix::test]
async fn a_change_that_no_plan_holds_refuses_to_be_told_of_one() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    let planned = plan(&app, &format!("{path}/plan"), json!({ "delete": {} })).await;
    let before = app.log.durable_position();
    for (verb, below, body) in [
        ("POST", "/snapshots", json!({})),
        ("DELETE", "/abandon", json!({})),
        ("PATCH", "/resources/a", json!({ "mark_unhealthy": true })),
        ("POST", "/actions", json!({ "cancel_update": null })),
    ] {
        let named = ("hearth-plan", id(&planned));
        let refused = ask_with(&app, (verb, &format!("{path}{below}")), named, Some(body)).await;
        let told = refusal(&refused, 400, "HTTPBadRequest");
        assert!(told.contains("is not held to a plan"), "{verb} {below}: {told}");
    }
    assert_eq!(app.log.durable_position(), before);
    app.stop().await;
}

#[actix::test]
async fn a_rollback_takes_nothing_but_what_it_knows() {
    let app = App::start().await;
    app.create("web", template("one", &[])).await;
    let path = path_of(&app, "web").await;
    let update = json!({ "template": template("two", &[]) });
    assert_eq!(app.ask("PUT", &path, Some(update)).await.status, 202);
    app.settled("web").await;
    let before = app.log.durable_position();
    let ask = async |wanted: Value| {
        let asked = json!({ "rollback": wanted });
        app.ask("POST", &format!("{path}/actions"), Some(asked)).await
    };
    let planned = ask(json!({ "to": 1, "plan": "true" })).await;
    assert_eq!((planned.status, &planned.json()["rollback"]["to"]), (200, &json!(1)));
    for wrong in [json!({ "to": 1, "plan": "maybe" }), json!({ "to": 1, "plans": true })] {
        assert_eq!(ask(wrong.clone()).await.status, 400, "{wrong}");
    }
    assert_eq!(app.log.durable_position(), before, "nothing is carried out");
    app.stop().await;
}

#[actix::test]
async fn what_an_administrator_of_another_project_changes_is_of_the_owners() {
    let app = App::start().await;
    let template = |name: &str| {
        json!({
            "heat_template_version": "2021-04-16",
            "resources": {
                "net": { "type": "OS::Neutron::Net", "properties": { "name": name } },
                "of": { "type": "OS::Heat::TestResource", "properties": {
                    "value": { "get_param": "OS::project_id" } } },
            },
        })
    };
    app.create("web", template("one")).await;
    let path = path_of(&app, "web").await;
    let (token, _) = app.login("admin", "admin").await;
    let path = format!("/v1/{}{path}", app.project);
    let headers = [("x-auth-token", token.as_str())];
    let body = json!({ "template": template("two") });
    let asked = json!({ "update": body }).to_string();
    let planned = app.send("POST", &format!("{path}/plan"), &headers, Some(asked)).await;
    let planned = planned.json()["plan"].clone();
    assert_eq!(changes(&planned), ["net updated", "of unchanged"], "{planned}");
    let updated = app.send("PUT", &path, &headers, Some(body.to_string())).await;
    assert_eq!(updated.status, 202, "{}", updated.text);
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "UPDATE_COMPLETE", "{settled}");
    app.stop().await;
}
