//! What the keys of a file come to: made-up types, played to a service that is a list of calls and
//! answers.

mod members;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Declared, reader};
use crate::clock::{Clock, SimulatedClock};
use crate::model::JsonMap;
use crate::openstack::{Body, CloudError, Method, Request, Response, answered};
use crate::resource_types::asks::{Answer, Ask, Facts, Run};
use crate::resource_types::job::{Attempt, Beat, Reality, Subject, Work};

/// A call as a line, the status and the body of its answer.
type Line = (&'static str, u16, Value);

fn declared(keys: &str) -> Declared {
    let text = format!("type: A::B\nclass: B\nservice: network\n{keys}");
    Declared::new(reader::read(&text).unwrap_or_else(|mistakes| panic!("{mistakes:?}")))
}

fn map(value: Value) -> JsonMap {
    value.as_object().cloned().unwrap_or_default()
}

fn subject(properties: Value) -> Subject {
    let physical_name = "stack-b-1".to_owned();
    Subject { properties: map(properties), physical_name, ..Subject::default() }
}

fn line(request: &Request) -> String {
    let query: Vec<String> =
        request.query.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let mark = if query.is_empty() { "" } else { "?" };
    let body = match &request.body {
        Body::Json(body) => format!(" {body}"),
        Body::None | Body::Bytes { .. } => String::new(),
    };
    format!("{} {}{mark}{}{body}", request.method.as_str(), request.path, query.join("&"))
}

/// Who answers, in the order of the lines.
struct Service<'a> {
    lines: std::slice::Iter<'a, Line>,
}

impl Service<'_> {
    fn called(&mut self, request: &Request) -> Result<Value, CloudError> {
        let asked = line(request);
        let (expected, status, body) =
            self.lines.next().unwrap_or_else(|| panic!("nobody expects {asked}"));
        assert_eq!(asked, *expected);
        let response = answered(request, "http://service", *status, &[], body.to_string().into())?;
        response.json()
    }

    fn response(&mut self, request: &Request) -> Result<Response, CloudError> {
        let bytes = self.called(request)?.to_string().into();
        answered(request, "http://service", 200, &[], bytes)
    }

    fn answer(&mut self, ask: &Ask) -> Result<Answer, CloudError> {
        match ask {
            Ask::Call(request) => self.response(request).map(Answer::Response),
            Ask::Calls(requests) => {
                Ok(Answer::Responses(requests.iter().map(|one| self.response(one)).collect()))
            }
            Ask::Poll { collection, id } => {
                let path = format!("{}/{id}", collection.items);
                let request = Request::new(Method::Get, collection.service.clone(), path);
                Ok(Answer::Object(collection.object(self.called(&request)?)))
            }
            Ask::Project => Ok(Answer::Text("project-1".to_owned())),
            Ask::Claim { ids, .. } => Ok(Answer::Claimed(ids.first().cloned())),
            other => panic!("{other:?}"),
        }
    }

    fn run<T>(&mut self, program: impl Fn(&crate::resource_types::asks::Asks<'_>) -> T) -> T {
        let facts = Facts::at(SimulatedClock::new(1).now());
        let mut run = Run::new(facts);
        loop {
            match run.go_on(&program) {
                Ok(outcome) => return outcome,
                Err(ask) => {
                    let answer = self.answer(&ask);
                    run.answered(ask, answer);
                }
            }
        }
    }
}

/// Plays an action; the error is what it ended with.
fn play(
    declared: &Declared,
    work: &Work,
    subject: &mut Subject,
    first: Attempt,
    lines: &[Line],
) -> Result<(), String> {
    let mut service = Service { lines: lines.iter() };
    let mut step = declared.first(work, subject);
    let mut attempt = first;
    let outcome = loop {
        let beat = service.run(|cloud| declared.beat(cloud, work, subject, &step, attempt));
        match beat {
            Ok(Beat::Next { learned, next }) => {
                subject.physical_id = learned.physical_id.or(subject.physical_id.take());
                subject.data.extend(learned.data);
                (step, attempt) = (next, Attempt::First);
            }
            Ok(Beat::Wait { .. }) => attempt = Attempt::First,
            Ok(Beat::Done { learned }) => {
                subject.physical_id = learned.physical_id.or(subject.physical_id.take());
                subject.data.extend(learned.data);
                break Ok(());
            }
            Ok(Beat::Replace { reason }) => break Err(reason),
            Err(error) => break Err(error.to_string()),
        }
    };
    assert_eq!(service.lines.next(), None, "not asked");
    outcome
}

fn created(declared: &Declared, properties: Value, lines: &[Line]) -> Subject {
    let mut subject = subject(properties);
    play(declared, &Work::Create, &mut subject, Attempt::First, lines).unwrap();
    subject
}

fn updated(
    declared: &Declared,
    subject: &mut Subject,
    changes: Value,
    lines: &[Line],
) -> Result<(), String> {
    let before = subject.properties.clone();
    let changes = map(changes);
    let changed: BTreeSet<String> = changes.keys().cloned().collect();
    subject.properties.extend(changes);
    subject.properties.retain(|_, value| !value.is_null());
    let work = Work::Update { before, changed };
    play(declared, &work, subject, Attempt::First, lines)
}

fn deleted(declared: &Declared, subject: &mut Subject, lines: &[Line]) -> Result<(), String> {
    play(declared, &Work::Delete, subject, Attempt::First, lines)
}

const MEMBER: &str = "
properties:
  pool: { type: string, required: true }
  size: { type: integer, update_allowed: true }
  mode: { type: string, update_allowed: true }
translation:
  - { resolve: pool, finder: octavia.pool }
wrap: member
at: \"/pools/{pool}/members\"
token: name
body: { omit: [pool] }
busy: { status: 409, says: immutable }
create: {}
show: {}
ready: { field: state.now, ok: [ACTIVE], fail: [ERROR], gone: [DELETED], reason: state.why }
update: { put: true, always: [mode], nulls: dropped, wrap: change, fields: { mode: kind }, ready: { field: state.now, ok: [DEGRADED] } }
delete: { gone: polled, fail: [ERROR] }
";

fn member() -> (Declared, Subject) {
    let declared = declared(MEMBER);
    let made = created(
        &declared,
        json!({ "pool": "web", "size": 1 }),
        &[
            ("GET /v2.0/lbaas/pools/web", 404, json!({})),
            (
                "GET /v2.0/lbaas/pools?name=web",
                200,
                json!({ "pools": [{ "id": "p1", "name": "web" }] }),
            ),
            (
                "POST /pools/p1/members {\"member\":{\"size\":1,\"name\":\"stack-b-1\"}}",
                409,
                json!({ "faultstring": "Load Balancer l is immutable" }),
            ),
            ("GET /v2.0/lbaas/pools/web", 404, json!({})),
            (
                "GET /v2.0/lbaas/pools?name=web",
                200,
                json!({ "pools": [{ "id": "p1", "name": "web" }] }),
            ),
            (
                "POST /pools/p1/members {\"member\":{\"size\":1,\"name\":\"stack-b-1\"}}",
                201,
                json!({ "member": { "id": "m1", "state": { "now": "BUILD" } } }),
            ),
            (
                "GET /pools/p1/members/m1",
                200,
                json!({ "member": { "state": { "now": "ACTIVE" } } }),
            ),
        ],
    );
    (declared, made)
}

#[test]
fn what_hearth_alone_keeps_shows_its_properties_in_the_types_that_others_say() {
    let declared = declared(
        "properties: { value: { type: any, typed_by: kind }, kind: { type: string } }\n\
         attributes: { given: { repeats: value } }\nid: { is: name }\nlocal: {}\n",
    );
    let made = |kind: &str, value: Value| {
        let subject = subject(json!({ "kind": kind, "value": value }));
        declared.plain_local(&Work::Create, &subject).unwrap()
    };
    for (kind, value) in [("boolean", "true"), ("number", "7"), ("other", "x")] {
        let made = made(kind, value.into()).unwrap();
        assert_eq!(made.attributes["given"], value);
        assert_eq!(made.learned.physical_id.as_deref(), Some("stack-b-1"));
    }
    for (kind, value) in [("number", "seven"), ("boolean", "yes"), ("json", "{}")] {
        assert!(made(kind, value.into()).is_err());
    }
}

#[test]
fn a_creation_that_comes_too_early_is_asked_for_again_and_what_a_name_stood_for_is_kept() {
    let (_, made) = member();
    assert_eq!(made.physical_id.as_deref(), Some("m1"));
    assert_eq!(made.data["at"], json!({ "pool": "p1" }));
}

#[test]
fn an_update_has_names_a_wrap_and_an_end_of_its_own() {
    let (declared, mut made) = member();
    made.properties.insert("mode".to_owned(), "a".into());
    let lines = [
        ("PUT /pools/p1/members/m1 {\"change\":{\"kind\":\"a\"}}", 200, json!({})),
        ("GET /pools/p1/members/m1", 200, json!({ "member": { "state": { "now": "ACTIVE" } } })),
        ("GET /pools/p1/members/m1", 200, json!({ "member": { "state": { "now": "DEGRADED" } } })),
    ];
    updated(&declared, &mut made, json!({ "size": null }), &lines).unwrap();
}

#[test]
fn what_failed_says_why_and_what_is_shown_as_deleted_is_gone() {
    let (declared, mut made) = member();
    let error = json!({ "member": { "state": { "now": "ERROR", "why": "no host" } } });
    let lines = [
        ("DELETE /pools/p1/members/m1", 204, Value::Null),
        ("GET /pools/p1/members/m1", 200, error),
    ];
    let failed = deleted(&declared, &mut made, &lines).unwrap_err();
    assert!(failed.contains("Went to status ERROR"), "{failed}");
    // Nobody waits for what has failed and is not to be changed.
    let lines = [
        ("DELETE /pools/p1/members/m1", 409, json!({ "faultstring": "it is immutable now" })),
        ("GET /pools/p1/members/m1", 200, json!({ "member": { "state": { "now": "ERROR" } } })),
    ];
    let failed = deleted(&declared, &mut made, &lines).unwrap_err();
    assert!(failed.contains("Went to status ERROR"), "{failed}");
    let lines = [
        ("DELETE /pools/p1/members/m1", 409, json!({ "faultstring": "it is immutable now" })),
        ("GET /pools/p1/members/m1", 200, json!({ "member": { "state": { "now": "ACTIVE" } } })),
        ("DELETE /pools/p1/members/m1", 204, Value::Null),
        ("GET /pools/p1/members/m1", 200, json!({ "member": { "state": { "now": "PENDING" } } })),
        ("GET /pools/p1/members/m1", 200, json!({ "member": { "state": { "now": "DELETED" } } })),
    ];
    deleted(&declared, &mut made, &lines).unwrap();
}

#[test]
fn what_stands_below_a_parent_that_is_gone_is_gone() {
    let declared = declared(MEMBER);
    let none = json!({ "pools": [] });
    let lines = [
        ("GET /v2.0/lbaas/pools/web", 404, json!({})),
        ("GET /v2.0/lbaas/pools?name=web", 200, none),
    ];
    deleted(&declared, &mut subject(json!({ "pool": "web" })), &lines).unwrap();
}

const QUOTA: &str = "
properties:
  project: { type: string, required: true }
  cores: { type: integer, update_allowed: true }
  ram: { type: integer, update_allowed: true }
wrap: quota
at: \"/quotas/{project}\"
id: { is: name }
body: { omit: [project] }
create: { put: true }
show: {}
update: { put: true, send: [cores, ram], nulls: dropped }
delete: {}
";

#[test]
fn what_is_put_stands_in_its_place_and_has_a_name_for_an_id() {
    let declared = declared(QUOTA);
    let lines = [("PUT /quotas/p {\"quota\":{\"cores\":1,\"ram\":2}}", 200, json!({}))];
    let mut made = created(&declared, json!({ "project": "p", "cores": 1, "ram": 2 }), &lines);
    assert_eq!(made.physical_id.as_deref(), Some("stack-b-1"));
    let lines = [("PUT /quotas/p {\"quota\":{\"ram\":3}}", 200, json!({}))];
    updated(&declared, &mut made, json!({ "cores": null, "ram": 3 }), &lines).unwrap();
    deleted(&declared, &mut made, &[("DELETE /quotas/p", 204, Value::Null)]).unwrap();
}

#[test]
fn an_entry_of_a_list_stands_for_what_has_no_id_and_what_was_there_before_stays() {
    let file = "
properties:
  router: { type: string, required: true }
  subnet: { type: string }
  port: { type: string }
list: ports
id: { made_of: [\"{router}:subnet={subnet}\", \"{router}:port={port}\"] }
body: { shape: { subnet: \"{subnet}\", port: \"{port}\" } }
create: { put: \"/routers/{router}/join\" }
find:
  get: /ports
  query: { device: \"{router}\" }
  where: { owner: [one, two], \"ips[].subnet\": \"{subnet}\", id: \"{port}\" }
delete: { put: \"/routers/{router}/leave\", body: { subnet: \"{subnet}\", port: \"{port}\" } }
";
    let joined = declared(file);
    let entry =
        |id: &str, owner: &str| json!({ "id": id, "owner": owner, "ips": [{ "subnet": "s" }] });
    let list = |entries: &[Value]| json!({ "ports": entries });
    let (look, join) = ("GET /ports?device=r", "PUT /routers/r/join {\"subnet\":\"s\"}");
    let leave = ("PUT /routers/r/leave {\"subnet\":\"s\"}", 200, json!({}));
    let (ours, theirs) = (entry("1", "two"), entry("2", "one"));
    let none = list(&[entry("3", "three")]);

    let unknown = subject(json!({ "router": "r", "subnet": "s" }));
    let lines = [(look, 200, none.clone()), (join, 200, json!({}))];
    let mut made = created(&joined, json!({ "router": "r", "subnet": "s" }), &lines);
    assert_eq!(made.physical_id.as_deref(), Some("r:subnet=s"));

    // The answer was lost: what is there now and was not before is ours.
    let mut lost = unknown.clone();
    let lines = [(look, 200, none.clone()), (join, 500, json!({}))];
    play(&joined, &Work::Create, &mut lost, Attempt::First, &lines).unwrap_err();
    let found = (look, 200, list(std::slice::from_ref(&ours)));
    deleted(&joined, &mut lost.clone(), &[found.clone(), leave.clone()]).unwrap();
    // A look that is refused has not found out anything.
    deleted(&joined, &mut lost.clone(), &[(look, 403, json!({}))]).unwrap_err();
    deleted(&joined, &mut lost.clone(), &[(look, 404, json!({}))]).unwrap();
    deleted(&joined, &mut lost, &[(look, 200, none)]).unwrap();

    // Another's was there before.
    let mut refused = unknown.clone();
    let there = (look, 200, list(std::slice::from_ref(&theirs)));
    let lines = [there.clone(), (join, 409, json!({}))];
    play(&joined, &Work::Create, &mut refused, Attempt::First, &lines).unwrap_err();
    deleted(&joined, &mut refused, std::slice::from_ref(&there)).unwrap();

    // It was taken without a word: it stays, and what has come since is ours.
    let mut taken = unknown.clone();
    let lines = [there.clone(), (join, 200, json!({}))];
    play(&joined, &Work::Create, &mut taken, Attempt::First, &lines).unwrap();
    deleted(&joined, &mut taken.clone(), &[there]).unwrap();
    let both = (look, 200, list(&[theirs, ours]));
    deleted(&joined, &mut taken, &[both, leave.clone()]).unwrap();

    // Nothing was sent without a look, unless by an earlier version.
    deleted(&joined, &mut unknown.clone(), &[]).unwrap();
    let mut old = Subject { unanswered: true, ..unknown };
    deleted(&joined, &mut old, &[found, leave.clone()]).unwrap();

    // What a name stood for is in the id.
    let resolved = "translation: [{ resolve: router, finder: neutron.router }]\n";
    let named = declared(&format!("{file}{resolved}"));
    made.properties = map(json!({ "router": "name", "subnet": "s" }));
    deleted(&named, &mut made, &[leave]).unwrap();
}

#[test]
fn an_id_that_is_made_of_parts_finds_what_a_lost_call_made_and_leaves_others_alone() {
    let declared = declared(
        "
properties:
  router: { type: string, required: true }
at: \"/routers/{router}/gateway/{project}\"
id: { made_of: \"{router}:{project}\" }
create: {}
show: { get: \"/routers/{router}/gateway\" }
delete: {}
",
    );
    let post = "POST /routers/r/gateway/project-1 {\"router\":\"r\"}";
    let look = "GET /routers/r/gateway";
    let there = json!({ "network": "n" });
    let made = created(
        &declared,
        json!({ "router": "r" }),
        &[(look, 200, json!({})), (post, 201, json!({}))],
    );
    assert_eq!(made.physical_id.as_deref(), Some("r:project-1"));

    // The answer was lost: what is there now and was not before is ours.
    let mut subject = subject(json!({ "router": "r" }));
    let noted = [(look, 200, json!({})), (post, 500, json!({}))];
    play(&declared, &Work::Create, &mut subject, Attempt::First, &noted).unwrap_err();
    let lines = [
        (look, 200, there.clone()),
        ("DELETE /routers/r/gateway/project-1/r:project-1", 204, Value::Null),
    ];
    deleted(&declared, &mut subject.clone(), &lines).unwrap();

    // Another's was there before.
    subject.data.clear();
    let noted = [(look, 200, there), (post, 409, json!({}))];
    play(&declared, &Work::Create, &mut subject, Attempt::First, &noted).unwrap_err();
    deleted(&declared, &mut subject, &[]).unwrap();
}

#[test]
fn a_body_has_the_shape_that_the_file_draws_and_is_compared_backwards() {
    let declared = declared(
        "
properties:
  name: { type: string }
  size: { type: integer, update_allowed: true }
  input: { type: map }
id: self.ref
list: orders
name: name
body:
  shape: { type: key, meta: { name: \"{name}\", size: \"{size}\" }, input: { json: \"{input}\" } }
create: { post: /orders/ }
show: { get: \"/orders/{uuid}\" }
ready: { exists: true }
delete: { put: \"/orders/{uuid}/stop\", body: { of: \"{size}\" }, query: { force: \"true\" } }
",
    );
    let made = json!({ "self": { "ref": "http://x/orders/7" } });
    let lines = [
        // The name is not where lists show it, so others' objects are noted first.
        ("GET /orders/", 200, json!({ "orders": [] })),
        (
            "POST /orders/ {\"type\":\"key\",\"meta\":{\"name\":\"stack-b-1\",\"size\":3},\"input\":\"{\\\"a\\\": 1}\"}",
            201,
            made,
        ),
        ("GET /orders/7", 404, json!({})),
        ("GET /orders/7", 200, json!({ "type": "key" })),
    ];
    let mut subject = created(&declared, json!({ "size": 3, "input": { "a": 1 } }), &lines);
    assert_eq!(subject.physical_id.as_deref(), Some("http://x/orders/7"));
    let shown = [("GET /orders/7", 200, json!({ "meta": { "size": 4 } }))];
    let mut service = Service { lines: shown.iter() };
    let reality = service.run(|cloud| declared.reality(cloud, &subject)).unwrap();
    assert_eq!(reality, Reality::Differs(map(json!({ "size": 4 }))));
    let lines = [("PUT /orders/7/stop?force=true {\"of\":3}", 202, Value::Null)];
    deleted(&declared, &mut subject, &lines).unwrap();
}

#[test]
fn an_update_may_be_a_list_of_operations_and_a_body_without_what_is_empty() {
    let declared = declared(
        "
properties:
  name: { type: string }
  tags: { type: list, update_allowed: true }
  size: { type: integer, update_allowed: true }
id: uuid
list: clusters
name: name
at: /clusters
body: { nulls: empty }
create: {}
show: {}
ready: { field: \"nodes[].status\", ok: [UP], others: ok, wait: [BUILD], fail: [DOWN] }
update: { patch: true, as: json_patch }
delete: {}
",
    );
    let lines = [(
        "POST /clusters {\"size\":1,\"name\":\"stack-b-1\"}",
        201,
        json!({ "uuid": "u", "nodes": [] }),
    )];
    let mut made = created(&declared, json!({ "tags": [], "size": 1 }), &lines);
    let patch = "PATCH /clusters/u [{\"op\":\"replace\",\"path\":\"/size\",\"value\":2}]";
    updated(&declared, &mut made, json!({ "size": 2 }), &[(patch, 200, json!({}))]).unwrap();

    let ready = declared.declaration().ready.as_ref().unwrap();
    let nodes = |states: &[&str]| -> Value {
        json!({ "nodes": states.iter().map(|it| json!({ "status": it })).collect::<Vec<_>>() })
    };
    assert_eq!(ready.is_met(&nodes(&["UP", "BUILD"])).ok(), Some(false));
    assert_eq!(ready.is_met(&nodes(&["UP", "IDLE"])).ok(), Some(true));
    assert!(ready.is_met(&nodes(&["UP", "DOWN"])).is_err());
}

#[test]
fn a_change_that_is_none_is_refused_before_anything_is_sent() {
    let declared = declared(
        "
properties:
  place: { type: string, update_allowed: true }
  gate: { type: string, update_allowed: true }
create: { post: /things }
show: { get: \"/things/{id}\" }
update:
  put: \"/things/{id}\"
  refuses: { place: { once_set: true, says: Moving }, gate: { to: [auto], says: A gate } }
delete: { delete: \"/things/{id}\" }
wrap: thing
token: name
",
    );
    let lines = [(
        "POST /things {\"thing\":{\"name\":\"stack-b-1\"}}",
        200,
        json!({ "thing": { "id": "1" } }),
    )];
    let mut made = created(&declared, json!({}), &lines);
    let moved = [("PUT /things/1 {\"thing\":{\"place\":\"x\"}}", 200, json!({}))];
    assert_eq!(updated(&declared, &mut made, json!({ "place": "x" }), &moved), Ok(()));
    for (change, what) in
        [(json!({ "place": "y" }), "Moving"), (json!({ "gate": "auto" }), "A gate")]
    {
        let refused = updated(&declared, &mut made.clone(), change, &[]);
        assert_eq!(refused, Err(format!("{what} is not supported for resource.")));
    }
}
