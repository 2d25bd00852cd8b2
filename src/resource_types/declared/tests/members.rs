//! Members, calls besides, attributes of further calls, and fields that tell objects apart.

use super::*;
use crate::events::resource::Step;
use crate::model::Action;

const GROUP: &str = "
properties:
  name: { type: string, update_allowed: true }
  hosts: { type: list, update_allowed: true }
  labels: { type: map, update_allowed: true }
wrap: group
name: name
body: { omit: [hosts, labels] }
create: { post: /groups }
show: { get: \"/groups/{id}\" }
update: { put: \"/groups/{id}\" }
delete: { delete: \"/groups/{id}\" }
members:
  - of: hosts
    live: { get: \"/groups/{id}/hosts\", list: hosts }
    entry: \"{item.id}\"
    add: { post: \"/groups/{id}/hosts\", body: { host: \"{item}\" } }
    drop: { delete: \"/groups/{id}/hosts/{item}\" }
    at_delete: drop
  - keys_of: labels
    live: { get: \"/groups/{id}/labels\", list: labels }
    takes: all
    before: update
    add: { put: \"/groups/{id}/labels\", body: { labels: \"{added}\" } }
    drop: { delete: \"/groups/{id}/labels/{item.key}\" }
";

const MADE: Line = ("POST /groups {\"group\":{\"name\":\"stack-b-1\"}}", 201, Value::Null);

fn made() -> Line {
    (MADE.0, MADE.1, json!({ "group": { "id": "g1", "name": "stack-b-1" } }))
}

fn hosts(ids: &[&str]) -> Value {
    json!({ "hosts": ids.iter().map(|id| json!({ "id": id })).collect::<Vec<_>>() })
}

#[test]
fn entries_of_a_list_come_and_go_by_calls_and_those_of_others_stay() {
    let declared = declared(GROUP);
    let mut group = created(
        &declared,
        json!({ "hosts": ["a", "b"] }),
        &[
            made(),
            ("POST /groups/g1/hosts {\"host\":\"a\"}", 201, json!({})),
            // It is there already.
            ("POST /groups/g1/hosts {\"host\":\"b\"}", 409, json!({})),
            ("GET /groups/g1/hosts", 200, hosts(&["a", "b"])),
        ],
    );
    let changes = json!({ "name": "x", "hosts": ["b", "c"] });
    let lines = [
        ("PUT /groups/g1 {\"group\":{\"name\":\"x\"}}", 200, json!({})),
        ("GET /groups/g1/hosts", 200, hosts(&["a", "b", "z"])),
        ("DELETE /groups/g1/hosts/a", 404, json!({})),
        ("POST /groups/g1/hosts {\"host\":\"c\"}", 201, json!({})),
    ];
    updated(&declared, &mut group, changes, &lines).unwrap();
    let lines = [
        ("GET /groups/g1/hosts", 200, hosts(&["b", "c", "z"])),
        ("DELETE /groups/g1/hosts/b", 204, Value::Null),
        ("DELETE /groups/g1/hosts/c", 204, Value::Null),
        ("DELETE /groups/g1", 204, Value::Null),
    ];
    deleted(&declared, &mut group, &lines).unwrap();
}

#[test]
fn a_conflict_that_leaves_an_entry_out_is_a_failure() {
    let declared = declared(GROUP);
    let mut group = created(&declared, json!({}), &[made()]);
    let lines = [
        ("GET /groups/g1/hosts", 200, hosts(&[])),
        ("POST /groups/g1/hosts {\"host\":\"a\"}", 409, json!({})),
        ("GET /groups/g1/hosts", 200, hosts(&[])),
    ];
    assert!(updated(&declared, &mut group, json!({ "hosts": ["a"] }), &lines).is_err());
}

#[test]
fn keys_of_a_map_are_sent_together_and_dropped_one_by_one() {
    let declared = declared(GROUP);
    let mut group = created(
        &declared,
        json!({ "labels": { "k": 1 } }),
        &[
            made(),
            ("GET /groups/g1/labels", 200, json!({ "labels": {} })),
            ("PUT /groups/g1/labels {\"labels\":{\"k\":1}}", 200, json!({})),
        ],
    );
    let changes = json!({ "name": "x", "labels": { "k": 2 } });
    let lines = [
        ("GET /groups/g1/labels", 200, json!({ "labels": { "k": 1, "old": 3 } })),
        ("DELETE /groups/g1/labels/old", 204, Value::Null),
        ("PUT /groups/g1/labels {\"labels\":{\"k\":2}}", 200, json!({})),
        ("PUT /groups/g1 {\"group\":{\"name\":\"x\"}}", 200, json!({})),
    ];
    updated(&declared, &mut group, changes, &lines).unwrap();
}

const OWNED: &str = "
properties:
  user: { type: string, required: true, update_allowed: true }
  roles: { type: list, update_allowed: true }
translation:
  - { resolve: user, finder: keystone.user }
id: { is: none }
update: {}
members:
  - of: roles
    first: add
    add: { put: \"/users/{user}/roles/{item}\" }
    drop: { delete: \"/users/{user}/roles/{item}\" }
    at_delete: drop
";

#[test]
fn what_is_nothing_but_members_moves_them_to_another_owner() {
    let declared = declared(OWNED);
    let user = |id: &str| json!({ "user": { "id": id } });
    let lines =
        [("GET /v3/users/ann", 200, user("u1")), ("PUT /users/u1/roles/r", 204, Value::Null)];
    let mut grant = created(&declared, json!({ "user": "ann", "roles": ["r"] }), &lines);
    assert_eq!(grant.physical_id, None);
    let lines = [
        // Two names may be the same user.
        ("GET /v3/users/bob", 200, user("u2")),
        ("GET /v3/users/ann", 200, user("u1")),
        ("GET /v3/users/bob", 200, user("u2")),
        ("PUT /users/u2/roles/r", 204, Value::Null),
        ("GET /v3/users/ann", 200, user("u1")),
        ("DELETE /users/u1/roles/r", 204, Value::Null),
    ];
    updated(&declared, &mut grant, json!({ "user": "bob" }), &lines).unwrap();
}

const CALLS: &str = "
properties:
  size: { type: integer, update_allowed: true }
attributes:
  address: { type: string, field: link.address }
  parts: { type: map, get: \"/groups/{id}/parts\", query: { all: \"true\" }, list: data.parts, by: name, value: ref }
wrap: group
body: { omit: [size] }
create: { post: /groups }
find: { by: [kind] }
show: { get: \"/groups/{id}\" }
ready: { ok: [ACTIVE] }
delete: { delete: \"/groups/{id}\" }
calls:
  - { put: \"/groups/{id}/stop\", when: [suspend, delete] }
  - { for_property: size, post: \"/groups/{id}/resize\", body: { size: \"{size}\" }, after: ready }
";

#[test]
fn calls_are_made_in_their_actions_and_behind_the_wait() {
    let declared = declared(CALLS);
    assert!(declared.acts(Action::Suspend) && !declared.acts(Action::Resume));
    let group = |status: &str| json!({ "group": { "id": "g1", "status": status } });
    let lines = [
        ("GET /groups", 200, json!({ "groups": [] })),
        ("POST /groups {\"group\":{}}", 201, group("BUILD")),
        ("GET /groups/g1", 200, group("ACTIVE")),
        ("POST /groups/g1/resize {\"size\":3}", 200, json!({})),
    ];
    let mut made = created(&declared, json!({ "size": 3 }), &lines);
    let lines = [("PUT /groups/g1/stop", 204, Value::Null)];
    let suspend = Work::Act(Action::Suspend);
    play(&declared, &suspend, &mut made, Attempt::First, &lines).unwrap();
    let lines = [("PUT /groups/g1/stop", 404, json!({})), ("DELETE /groups/g1", 204, Value::Null)];
    deleted(&declared, &mut made, &lines).unwrap();
}

#[test]
fn attributes_lie_deeper_or_behind_another_call() {
    let declared = declared(CALLS);
    let group = Subject { physical_id: Some("g1".to_owned()), ..subject(json!({})) };
    let parts = json!({ "data": { "parts": [{ "name": "a", "ref": "x" }] } });
    let lines = [
        ("GET /groups/g1", 200, json!({ "group": { "link": { "address": "here" } } })),
        ("GET /groups/g1/parts?all=true", 200, parts),
    ];
    let mut service = Service { lines: lines.iter() };
    let wanted = ["address".to_owned(), "parts".to_owned()];
    let shown = service.run(|cloud| declared.attributes(cloud, &group, &wanted)).unwrap();
    assert_eq!(Value::Object(shown), json!({ "address": "here", "parts": { "a": "x" } }));
}

#[test]
fn a_lost_creation_is_found_by_the_fields_that_tell_objects_apart() {
    let keys = "
properties: { kind: { type: string }, net: { type: string } }
wrap: group
create: { post: /groups }
find: { by: [kind] }
show: { get: \"/groups/{id}\" }
";
    let declared = declared(keys);
    let data = [("others".to_owned(), json!(["o"]))].into();
    let group = Subject { data, ..subject(json!({ "kind": "x", "net": "10.0.0.5/24" })) };
    let shown = |id: &str| json!({ "id": id, "kind": "x", "net": "10.0.0.0/24" });
    let lines = [("GET /groups", 200, json!({ "groups": [shown("o"), shown("n")] }))];
    let mut service = Service { lines: lines.iter() };
    let step = Step { name: "create".to_owned(), mutates: true, ..Step::default() };
    let unanswered = Attempt::Unanswered;
    let beat = service.run(|it| declared.beat(it, &Work::Create, &group, &step, unanswered));
    let Ok(Beat::Done { learned }) = beat else { panic!("{beat:?}") };
    assert_eq!(learned.physical_id.as_deref(), Some("n"), "the other one was there before");
}
