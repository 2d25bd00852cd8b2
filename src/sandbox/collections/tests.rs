//! Each key of the format, on services that are made up.

use chrono::{DateTime, TimeDelta, Utc};

use super::super::config::{Latencies, SandboxConfig};
use super::service::Microversions;
use super::*;
use crate::clock::{Clock, SystemClock};

/// A cloud with one service, `s`, and who asks it.
struct Ground {
    cloud: Cloud,
    scope: Scope,
    at: DateTime<Utc>,
}

impl Ground {
    /// The service has these collections.
    fn of(collections: &str) -> Ground {
        let text = format!("service: s\nname: n\nerrors: octavia\ncollections:\n{collections}");
        Self::with(Collections::of(&text).unwrap())
    }

    fn with(collections: Collections) -> Ground {
        let latencies =
            Latencies { object: std::time::Duration::from_secs(1), ..Latencies::none() };
        let config = Arc::new(SandboxConfig { latencies, ..SandboxConfig::instant() });
        let cloud = Cloud::open(config, Arc::new(SystemClock), collections).unwrap();
        let scope = Scope::of_service("p");
        Ground { cloud, scope, at: SystemClock.now() }
    }

    /// Sends `POST /a?x=y` with a body; the status and the body of the answer.
    fn ask(&mut self, line: &str, body: Value) -> (u16, Value) {
        let text = if body.is_null() { String::new() } else { body.to_string() };
        self.send(line, text)
    }

    fn send(&mut self, line: &str, body: String) -> (u16, Value) {
        let (method, url) = line.split_once(' ').unwrap();
        let (path, query) = url.split_once('?').unwrap_or((url, ""));
        let mut ask = Ask::internal(self.at);
        method.clone_into(&mut ask.method);
        ask.path = path.trim_matches('/').split('/').map(str::to_owned).collect();
        ask.query = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        "http://sandbox".clone_into(&mut ask.base);
        ask.body = body.into();
        self.cloud.settle(self.at).unwrap();
        let path: Vec<&str> = ask.path.iter().map(String::as_str).collect();
        let reply = answer(&mut self.cloud, &ask, &self.scope, "s", &path);
        let answer = match reply {
            None => return (0, Value::Null),
            Some(Ok(answer)) => answer,
            Some(Err(refusal)) => {
                self.cloud.collections.tables().for_each(|table| table.undo());
                refusal
            }
        };
        self.cloud.collections.tables().for_each(|table| table.keep());
        (answer.status, serde_json::from_slice(&answer.body).unwrap_or_default())
    }

    /// Makes an object; its id.
    fn make(&mut self, path: &str, body: Value) -> String {
        let (status, made) = self.ask(&format!("POST {path}"), body.clone());
        assert!((200..300).contains(&status), "{path} {body}: {status} {made}");
        let inner = made.as_object().unwrap().values().next().unwrap().clone();
        inner["id"].as_str().or(made["id"].as_str()).unwrap().to_owned()
    }

    fn later(&mut self) {
        self.at += TimeDelta::seconds(2);
    }
}

#[test]
fn parts_of_an_object_lie_below_it_and_go_with_it() {
    let mut ground = Ground::of(
        "  pool: { at: /v2/pools, attributes: {} }
  member: { at: '/v2/pools/{pool}/members', attributes: { n: [whole, put, 1] }, unique: [[n]] }",
    );
    let one = ground.make("/v2/pools", json!({"pool": {}}));
    let two = ground.make("/v2/pools", json!({"pool": {}}));
    let member = ground.make(&format!("/v2/pools/{one}/members"), json!({"member": {}}));
    // Alike in another pool is no matter.
    ground.make(&format!("/v2/pools/{two}/members"), json!({"member": {}}));
    assert_eq!(ground.ask(&format!("POST /v2/pools/{one}/members"), json!({"member": {}})).0, 409);
    let shown = ground.ask(&format!("GET /v2/pools/{one}/members"), Value::Null).1;
    assert_eq!(shown["members"][0]["id"], json!(member));
    assert_eq!(shown["members"].as_array().unwrap().len(), 1);
    assert!(shown["members"][0].get("_parent").is_none());
    assert_eq!(ground.ask(&format!("GET /v2/pools/{two}/members/{member}"), Value::Null).0, 404);
    assert_eq!(ground.ask("GET /v2/pools/none/members", Value::Null).0, 404);
    assert_eq!(ground.ask(&format!("DELETE /v2/pools/{one}"), Value::Null).0, 204);
    assert_eq!(ground.ask(&format!("GET /v2/pools/{one}/members/{member}"), Value::Null).0, 404);
}

#[test]
fn states_pass_with_time_and_the_root_is_at_work_meanwhile() {
    let states =
        "states: { field: status, made: [MAKING, UP], changed: [CHANGING, UP], dropped: GOING }";
    let mut ground = Ground::of(&format!(
        "  lb: {{ at: /lbs, attributes: {{ name: [text, put, ''] }}, {states}, root: {{ of: lb }} }}
  pool:
    at: /pools
    attributes: {{ lb_id: [id, post] }}
    refers: {{ lb_id: lb }}
    {states}
    root: {{ of: lb, by: [lb_id] }}
  member: {{ at: '/pools/{{pool}}/members', attributes: {{}}, {states}, root: {{ of: lb }}, busy: '{{id}} works' }}",
    ));
    let status = |ground: &mut Ground, path: &str| {
        let shown = ground.ask(&format!("GET {path}"), Value::Null).1;
        shown.as_object().and_then(|it| it.values().next()?["status"].as_str().map(str::to_owned))
    };
    let lb = ground.make("/lbs", json!({"lb": {}}));
    let new_pool = json!({"pool": {"lb_id": lb}});
    assert_eq!(ground.ask("POST /pools", new_pool.clone()).0, 409);
    assert_eq!(status(&mut ground, &format!("/lbs/{lb}")).as_deref(), Some("MAKING"));
    ground.later();
    let pool = ground.make("/pools", new_pool);
    assert_eq!(status(&mut ground, &format!("/lbs/{lb}")).as_deref(), Some("CHANGING"));
    let members = format!("/pools/{pool}/members");
    let (code, body) = ground.ask(&format!("POST {members}"), json!({"member": {}}));
    assert_eq!((code, &body["faultstring"]), (409, &json!(format!("{lb} works"))));
    ground.later();
    let member = ground.make(&members, json!({"member": {}}));
    assert_eq!(status(&mut ground, &format!("{members}/{member}")).as_deref(), Some("MAKING"));
    ground.later();
    assert_eq!(status(&mut ground, &format!("{members}/{member}")).as_deref(), Some("UP"));
    assert_eq!(ground.ask(&format!("PUT /lbs/{lb}"), json!({"lb": {"name": "a"}})).0, 200);
    assert_eq!(ground.ask(&format!("DELETE {members}/{member}"), Value::Null).0, 409);
    ground.later();
    assert_eq!(ground.ask(&format!("DELETE {members}/{member}"), Value::Null).0, 204);
    assert_eq!(status(&mut ground, &format!("{members}/{member}")).as_deref(), Some("GOING"));
    ground.later();
    assert_eq!(ground.ask(&format!("GET {members}/{member}"), Value::Null).0, 404);
    assert_eq!(ground.ask(&format!("DELETE /lbs/{lb}"), Value::Null).0, 409, "it has a pool");
}

#[test]
fn what_goes_from_some_states_alone_is_in_use_in_others() {
    let mut ground = Ground::of(
        "  a:
    at: /as
    attributes: { status: [text, nobody, ''] }
    made: { at: '{micros}' }
    statuses: { in_use: 400 }
    states: { field: status, made: [MAKING, UP], dropped: GOING, goes_from: [UP], takes: volume, reached: { since: '{now}' } }",
    );
    let a = format!("/as/{}", ground.make("/as", json!({"a": {}})));
    let shown = |ground: &mut Ground| ground.ask(&format!("GET {a}"), Value::Null).1["a"].clone();
    let made = shown(&mut ground);
    assert!(made["at"].as_str().unwrap().contains('.'), "{made}");
    // A volume takes no time here: the next request finds it up.
    assert_eq!((&made["status"], made["since"].is_string()), (&json!("UP"), true));
    assert_eq!(ground.ask(&format!("DELETE {a}"), Value::Null).0, 204);
    assert_eq!(ground.ask(&format!("GET {a}"), Value::Null).0, 404);
    let other = ground.make("/as", json!({"a": {}}));
    ground.ask(&format!("GET /as/{other}"), Value::Null);
    let rows = ground.cloud.collections.table_mut(("s", "a"));
    rows.edit(&other).unwrap()["status"] = json!("WEDGED");
    assert_eq!(ground.ask(&format!("DELETE /as/{other}"), Value::Null).0, 400);
}

#[test]
fn lists_of_an_administrator_have_his_project_alone_until_he_asks_for_all() {
    let mut ground = Ground::of(
        "  a: { at: /as, all_tenants: true, attributes: { n: [whole, put, 1] }, open: [n], hidden: [tenant_id, project_id] }",
    );
    ground.scope.is_admin = true;
    ground.make("/as", json!({"a": {}}));
    ground.make("/as", json!({"a": {"project_id": "q", "n": 2}}));
    let list = |ground: &mut Ground, query: &str| {
        let (_, list) = ground.ask(&format!("GET /as{query}"), Value::Null);
        list["as"].as_array().unwrap().iter().map(|it| it["n"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(list(&mut ground, ""), [Value::Null], "it is open");
    assert_eq!(list(&mut ground, "?all_tenants=1"), [Value::Null, json!(2)]);
    assert_eq!(list(&mut ground, "?all_tenants=1&project_id=q"), [json!(2)]);
}

#[test]
fn neutron_takes_several_objects_and_pages_are_as_long_as_a_file_says() {
    let text = "service: s\nname: n\nerrors: neutron\npage_max: 2\ncollections: { a: { at: /as, standard: true, attributes: { n: [whole, put, 1] } } }";
    let mut ground = Ground::with(Collections::of(text).unwrap());
    let (status, made) = ground.ask("POST /as", json!({"as": [{"n": 1}, {"n": 2}, {"n": 3}]}));
    assert_eq!((status, &made["as"][2]["n"]), (201, &json!(3)));
    let (_, page) = ground.ask("GET /as", Value::Null);
    assert_eq!((page["as"].as_array().unwrap().len(), page["as_links"].is_array()), (2, true));
    let id = made["as"][0]["id"].as_str().unwrap();
    let (status, refused) = ground.ask(&format!("PUT /as/{id}"), json!({"a": {"id": "other"}}));
    let text = &refused["NeutronError"]["message"];
    assert_eq!((status, text), (400, &json!("Cannot update read-only attribute id")));
}

#[test]
fn actions_change_lists_and_maps_of_an_object() {
    let mut ground = Ground::of(
        "  a:
    at: /as
    attributes: { hosts: [list, nobody, []], meta: [object, nobody, {}], subs: [list, nobody, []] }
    kept_while: hosts
    actions:
      add_host: { do: [add, hosts], entry: '{given.host}' }
      remove_host: { do: [drop, hosts], entry: '{given.host}' }
      set: { do: [merge, meta], entry: '{given}' }
      allow: { do: [add, _access], entry: { id: '{fresh}', to: '{given.to}' }, answer: [entry, access] }
      deny: { do: [drop, _access], entry: { id: '{given.id}' }, by: id, answer: nothing, status: 202 }
      list: { do: [read, _access], answer: [field, all] }
      add_subs: { via: put, do: [add, subs], each: to.subs, entry: '{given}', by: port, answer: bare }
      name_it: { via: get, do: [set, _name], entry: '{given.name}', answer: [field, name] }
      forget: { via: put, do: [unset, meta], entry: '{given.keys}' }
      empty: { via: get, do: [clear, hosts] }",
    );
    let a = format!("/as/{}", ground.make("/as", json!({"a": {}})));
    let act = |ground: &mut Ground, body: Value| ground.ask(&format!("POST {a}/action"), body);
    assert_eq!(act(&mut ground, json!({"add_host": {"host": "x"}})).1["a"]["hosts"], json!(["x"]));
    assert_eq!(act(&mut ground, json!({"add_host": {"host": "x"}})).0, 409);
    assert_eq!(ground.ask(&format!("DELETE {a}"), Value::Null).0, 409);
    assert_eq!(act(&mut ground, json!({"remove_host": {"host": "x"}})).1["a"]["hosts"], json!([]));
    assert_eq!(act(&mut ground, json!({"remove_host": {"host": "x"}})).0, 404);
    act(&mut ground, json!({"set": {"k": "v", "l": "w"}}));
    assert_eq!(act(&mut ground, json!({"set": {"l": null}})).1["a"]["meta"], json!({"k": "v"}));
    let forgotten = ground.ask(&format!("PUT {a}/forget"), json!({"keys": ["k"]})).1;
    assert_eq!(forgotten["a"]["meta"], json!({}));
    let access = act(&mut ground, json!({"allow": {"to": "me"}})).1["access"].clone();
    assert_eq!(access["to"], "me");
    assert_eq!(act(&mut ground, json!({"list": null})).1["all"], json!([access]));
    assert_eq!(act(&mut ground, json!({"deny": {"id": access["id"]}})).0, 202);
    assert_eq!(act(&mut ground, json!({"list": null})).1["all"], json!([]));
    let subs = json!({"to": {"subs": [{"port": "a", "n": 1}, {"port": "b"}]}});
    let (_, added) = ground.ask(&format!("PUT {a}/add_subs"), subs.clone());
    assert_eq!(added["subs"].as_array().map(Vec::len), Some(2));
    assert_eq!(ground.ask(&format!("PUT {a}/add_subs"), subs).0, 409);
    let named = ground.ask(&format!("GET {a}/name_it?name=x"), Value::Null).1;
    assert_eq!(named, json!({"name": "x"}));
    act(&mut ground, json!({"add_host": {"host": "x"}}));
    assert_eq!(ground.ask(&format!("GET {a}/empty"), Value::Null).1["a"]["hosts"], json!([]));
    assert_eq!(act(&mut ground, json!({"what": {}})).0, 0);
    assert_eq!(ground.ask(&format!("DELETE {a}"), Value::Null).0, 204);
}

#[test]
fn maps_have_paths_of_their_own() {
    let mut ground =
        Ground::of("  a: { at: /as, attributes: { x: [object, post, {}] }, maps: [x] }");
    let a = ground.make("/as", json!({"a": {"x": {"k": "v"}}}));
    let x = format!("/as/{a}/x");
    assert_eq!(ground.ask(&format!("POST {x}"), json!({"x": {"l": "w"}})).0, 200);
    assert_eq!(ground.ask(&format!("GET {x}/k"), Value::Null).1, json!({"k": "v"}));
    assert_eq!(ground.ask(&format!("DELETE {x}/k"), Value::Null).0, 202);
    assert_eq!(ground.ask(&format!("DELETE {x}/k"), Value::Null).0, 404);
    assert_eq!(ground.ask(&format!("PUT {x}"), json!({"x": {"m": "n"}})).0, 200);
    assert_eq!(ground.ask(&format!("GET {x}"), Value::Null).1, json!({"x": {"m": "n"}}));
}

#[test]
fn what_lasts_is_there_unset_and_again_after_a_deletion() {
    let mut ground = Ground::of(
        "  quota: { at: /quotas, id: project, lasting: true, hidden: [project], attributes: { n: [whole, put, 7], m: [whole, put, 1] } }",
    );
    let shown = |ground: &mut Ground| ground.ask("GET /quotas/p", Value::Null).1["quota"].clone();
    assert_eq!(shown(&mut ground), json!({"n": 7, "m": 1}));
    assert_eq!(ground.ask("PUT /quotas/p", json!({"quota": {"n": 9}})).1["quota"]["n"], 9);
    assert_eq!(ground.ask("PUT /quotas/p", json!({"quota": {"o": 9}})).0, 400);
    assert_eq!(shown(&mut ground), json!({"n": 9, "m": 1}));
    assert_eq!(ground.ask("DELETE /quotas/p", Value::Null).0, 204);
    assert_eq!(shown(&mut ground), json!({"n": 7, "m": 1}));
    ground.scope.is_admin = false;
    assert_eq!(ground.ask("PUT /quotas/p", json!({"quota": {"n": 9}})).0, 403);
    assert_eq!(ground.ask("GET /quotas/q", Value::Null).0, 403);
}

#[test]
fn what_is_single_has_the_path_of_its_list() {
    let mut ground = Ground::of(
        "  t: { at: /ts, attributes: {} }
  e: { at: '/ts/{t}/e', single: true, id: eid, attributes: { x: [text, put] }, shown: { t: '{_parent}' } }",
    );
    let t = ground.make("/ts", json!({"t": {}}));
    let e = format!("/ts/{t}/e");
    assert_eq!(ground.ask(&format!("GET {e}"), Value::Null), (200, json!({})));
    assert_eq!(ground.ask(&format!("POST {e}"), json!({"e": {"x": "a"}})).0, 201);
    assert_eq!(ground.ask(&format!("POST {e}"), json!({"e": {"x": "a"}})).0, 409);
    assert_eq!(ground.ask(&format!("PUT {e}/any"), json!({"e": {"x": "b"}})).0, 200);
    let shown = ground.ask(&format!("GET {e}"), Value::Null).1;
    assert_eq!((&shown["x"], &shown["t"]), (&json!("b"), &json!(t)));
    assert_eq!(ground.ask(&format!("DELETE {e}/any"), Value::Null).0, 204);
    assert_eq!(ground.ask(&format!("DELETE {e}/any"), Value::Null).0, 404);
}

#[test]
fn bodies_are_bare_patched_and_put() {
    let mut ground = Ground::of(
        "  a:
    at: /as
    id: uuid
    also_by: name
    body: bare
    update: json_patch
    rest: more
    renamed: { title: name }
    created: [uuid, where]
    attributes: { name: [text, put, ''], n: [any, put, 5], more: [object, nobody, {}] }
    made: { by: '{user}', at: '{now}' }
    changed: { at: changed }
    shown: { where: '{base}/{uuid}' }
  b: { at: /bs, create: put, body: sent_bare, attributes: { id: [text, post], n: [whole, put, 1] } }
  c: { at: /cs, update: patch, ids: number, attributes: {}, rest: . }",
    );
    let (status, made) = ground.ask("POST /as", json!({"title": "x", "n": 1, "o": 2}));
    let id = made["uuid"].as_str().unwrap().to_owned();
    assert_eq!(
        (status, &made),
        (201, &json!({"uuid": id, "where": format!("http://sandbox/{id}")}))
    );
    let patch = json!([
        {"op": "replace", "path": "/name", "value": "y"}, {"op": "remove", "path": "/n"},
    ]);
    let (_, changed) = ground.ask("PATCH /as/x", patch);
    assert_eq!(
        (&changed["name"], &changed["n"], &changed["at"]),
        (&json!("y"), &json!(5), &json!("changed"))
    );
    assert_eq!((&changed["more"], &changed["by"]), (&json!({"o": 2}), &json!("")));
    assert_eq!(ground.ask("PUT /as/x", json!({"name": "z"})).0, 0);
    assert_eq!(
        ground.ask("PUT /bs/one", json!({})).1["b"],
        json!({"id": "one", "n": 1, "tenant_id": "p", "project_id": "p"})
    );
    assert_eq!(ground.ask("PUT /bs/one", json!({"n": 2})).0, 200);
    assert_eq!(ground.ask("POST /bs", json!({"id": "two"})).0, 0);
    for number in [1, 2] {
        assert_eq!(ground.ask("POST /cs", json!({"c": {"k": "v"}})).1["c"]["id"], number);
    }
    assert_eq!(ground.ask("PATCH /cs/2", json!({"c": {"k": "w"}})).1["c"]["k"], "w");
}

#[test]
fn texts_are_several_objects() {
    let mut ground = Ground::of(
        "  w: { at: /ws, body: yaml, also_by: name, attributes: { name: [text, post], definition: [any, put, ''], input: [text, put, ''], tags: [list, put, []], scope: [text, put, ''] } }",
    );
    let text = "version: '2.0'\none:\n  input: [a, {b: 1}]\ntwo:\n  tags: [x]\n";
    let (status, made) = ground.send("POST /ws?scope=public", text.to_owned());
    assert_eq!((status, made["ws"].as_array().map(Vec::len)), (201, Some(2)));
    assert_eq!(
        (&made["ws"][0]["input"], &made["ws"][1]["tags"]),
        (&json!("a, b=1"), &json!(["x"]))
    );
    let (status, _) = ground.send("PUT /ws", "one:\n  input: [c]\n".to_owned());
    let shown = ground.ask("GET /ws/one", Value::Null).1;
    assert_eq!((status, &shown["input"], &shown["scope"]), (200, &json!("c"), &json!("public")));
    assert_eq!(ground.send("POST /ws", "- a".to_owned()).0, 400);
}

#[test]
fn what_refers_to_what_is_looked_after() {
    let mut ground = Ground::of(
        "  a: { at: /as, attributes: { name: [text, put, ''] }, shows: { bs: { of: [b], by: keeps }, one: { of: [b], by: goes, as: one }, all: { of: [b], by: list.id, as: ids } } }
  b:
    at: /bs
    attributes: { keeps: [any, put, null], goes: [any, put, null], forgets: [any, put, null], list: [list, put, []], by: [any, post, null] }
    refers: { keeps: a, list.id: a }
    goes_with: { goes: a }
    forgets: { forgets: a, by: a }
    sets: { by: name }",
    );
    let a = ground.make("/as", json!({"a": {}}));
    assert_eq!(ground.ask("POST /bs", json!({"b": {"keeps": "none"}})).0, 404);
    assert_eq!(ground.ask("POST /bs", json!({"b": {"list": [{"id": "none"}]}})).0, 404);
    let b = ground.make("/bs", json!({"b": {"keeps": a, "list": [{"id": a}], "by": a}}));
    let shown = ground.ask(&format!("GET /as/{a}"), Value::Null).1["a"].clone();
    assert_eq!((&shown["bs"], &shown["one"]), (&json!([{"id": b}]), &Value::Null));
    assert_eq!((&shown["all"], &shown["name"]), (&json!([b]), &json!(b)));
    assert_eq!(ground.ask(&format!("DELETE /as/{a}"), Value::Null).0, 409);
    let change = json!({"b": {"keeps": null, "list": [], "forgets": a}});
    assert_eq!(ground.ask(&format!("PUT /bs/{b}"), change).0, 200);
    let goes = ground.make("/bs", json!({"b": {"goes": a}}));
    assert_eq!(ground.ask(&format!("DELETE /as/{a}"), Value::Null).0, 204);
    assert_eq!(ground.ask(&format!("GET /bs/{b}"), Value::Null).1["b"]["forgets"], Value::Null);
    assert_eq!(ground.ask(&format!("GET /bs/{goes}"), Value::Null).0, 404);
}

#[test]
fn values_are_held_to_what_is_allowed_and_seen_by_whom_it_is_for() {
    let mut ground = Ground::of(
        "  a:
    at: /as
    admin_sets: [n]
    detail: true
    newest_first: true
    no_filters: [public]
    unique: [[name]]
    alike: twice
    attributes: { name: [text, put], n: [whole, put, 1], v: [text, put, x], public: [flag, put, true], s: [object, put, {}], h: [text, put, ''] }
    values: { v: [x, y] }
    ranges: { n: [1, 9] }
    hidden: [h]
    admin_sees: [n]
    others_see: { s: [k] }
    statuses: { create: 200, delete: 202 }",
    );
    let mut refused = |given: Value| ground.ask("POST /as", json!({"a": given}));
    assert_eq!(refused(json!({"name": "a", "v": "z"})).0, 400);
    assert_eq!(refused(json!({"name": "a", "n": 10})).0, 400);
    assert_eq!(refused(json!({})).0, 400);
    let made = refused(json!({"name": "a", "h": "b", "s": {"k": 1, "l": 2}}));
    assert_eq!((made.0, made.1["a"].get("h")), (200, None));
    assert_eq!(refused(json!({"name": "a"})).1["faultstring"], "twice");
    ground.ask("POST /as", json!({"a": {"name": "b"}}));
    let list = ground.ask("GET /as/detail?public=all", Value::Null).1;
    let names: Vec<&Value> = list["as"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["b", "a"]);
    ground.scope.is_admin = false;
    assert_eq!(ground.ask("POST /as", json!({"a": {"name": "c", "n": 2}})).0, 403);
    let list = ground.ask("GET /as?name=a", Value::Null).1["as"][0].clone();
    assert_eq!((list.get("n"), &list["s"]), (None, &json!({"k": 1})));
    let id = list["id"].as_str().unwrap();
    assert_eq!(ground.ask(&format!("DELETE /as/{id}"), Value::Null).0, 202);
}

#[test]
fn versions_are_chosen_by_a_header() {
    let all = Microversions {
        header: "x-version".to_owned(),
        oldest: "2.0".to_owned(),
        newest: "2.65".to_owned(),
    };
    let chosen = |asked: Option<&str>| {
        let mut ask = Ask::internal(SystemClock.now());
        if let Some(asked) = asked {
            ask.headers.insert(
                actix_web::http::header::HeaderName::from_static("x-version"),
                asked.parse().unwrap(),
            );
        }
        all.chosen(&ask).map_err(|refusal| refusal.status)
    };
    assert_eq!(chosen(None).as_deref(), Ok("2.0"));
    assert_eq!(chosen(Some("latest")).as_deref(), Ok("2.65"));
    assert_eq!(chosen(Some("shares 2.13")).as_deref(), Ok("2.13"));
    assert_eq!(chosen(Some("2.66")), Err(406));
    assert_eq!(chosen(Some("new")), Err(406));
}

#[test]
fn files_of_every_sandbox_are_right() {
    super::super::rules::collections(None).unwrap();
}

#[test]
fn files_of_a_directory_join_those_of_every_sandbox() {
    let directory = tempfile::tempdir().unwrap();
    let write = |target: &str| {
        let text = format!(
            "service: network\nname: neutron\nerrors: neutron\ncollections:\n  bunk:\n    at: /v2.0/bunks\n    attributes: {{ port_id: [id, post] }}\n    refers: {{ port_id: {target} }}\n"
        );
        std::fs::write(directory.path().join("bunk.yaml"), text).unwrap();
    };
    write("port");
    let all = super::super::rules::collections(Some(directory.path())).unwrap();
    let path = ["v2.0", "bunks", "some"];
    let (place, rest) = all.at("network", &path).unwrap();
    assert_eq!((place.collection.list.as_str(), rest), ("bunks", &["some"][..]));
    assert!(all.at("network", &["v2.0"]).is_none());
    write("pirt");
    let error = super::super::rules::collections(Some(directory.path())).err().unwrap();
    assert_eq!(error.to_string(), "network: bunk: port_id: there is no pirt");
    write("port");
    let again = directory.path().join("again.yaml");
    std::fs::copy(directory.path().join("bunk.yaml"), again).unwrap();
    let error = super::super::rules::collections(Some(directory.path())).err().unwrap();
    assert!(error.to_string().ends_with("network: there is a bunk already"), "{error}");
}

#[test]
fn a_file_is_refused_with_a_reason() {
    let refused = |collection: &str| {
        let text = format!("service: s\nname: n\nerrors: nova\ncollections: {{ a: {collection} }}");
        Service::read(&text).unwrap_err()
    };
    let error = refused("{ at: /a, attributes: {}, refers: { b: c } }");
    assert_eq!(error, "a has no attribute b");
    assert!(refused("{ at: /a, atributes: {} }").contains("atributes"));
    refused("{ at: /a, attributes: { name: [texts, put] } }");
    refused("{ at: /a, attributes: {}, actions: { b: { do: [bend, c] } } }");
    let text = "service: s\nname: n\nerrors: nova\ncollections: { a: { at: /a, attributes: {}, hook: line } }";
    let error = Collections::of(text).err().unwrap();
    assert_eq!(error.to_string(), "test.yaml: a: there is no hook line");
}
