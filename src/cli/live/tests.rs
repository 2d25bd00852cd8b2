//! What is known of stacks, folded from events, and the pictures of it.

use std::path::Path;

use chrono::TimeDelta;
use serde_json::{Value, json};
use uuid::Uuid;

use super::super::columns::width;
use super::draw::{Line, Picture};
use super::feed::Told;
use super::screen::difference;
use super::*;

const WEB: Uuid = Uuid::from_u128(1);
const TRAVERSAL: Uuid = Uuid::from_u128(2);
const GROUP: Uuid = Uuid::from_u128(3);

fn at(millis: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::milliseconds(millis)
}

fn told(stream: String, event_type: &str, millis: i64, body: Value) -> Told {
    Told {
        position: 1,
        stream,
        event_type: event_type.to_owned(),
        version: 1,
        at: at(millis),
        body,
    }
}

fn of_stack(stack: Uuid, event_type: &str, millis: i64, body: Value) -> Told {
    told(format!("stack-{stack}"), event_type, millis, body)
}

fn resource(number: u128) -> Uuid {
    Uuid::from_u128(1_000 + number)
}

/// A node of a traversal, with what it requires.
fn node(number: u128, name: &str, requires: &[&str]) -> Value {
    json!({ "name": name, "id": resource(number), "type": "OS::Heat::TestResource",
            "requires": requires })
}

fn traversal(stack: Uuid, action: &str, millis: i64, nodes: Vec<Value>) -> Told {
    let body = json!({ "traversal": TRAVERSAL, "action": action, "revision": 1, "nodes": nodes,
                       "deadline": null });
    of_stack(stack, "TraversalStarted", millis, body)
}

fn settled(stack: Uuid, action: &str, status: &str, millis: i64) -> Told {
    let body = json!({ "traversal": TRAVERSAL, "action": action, "status": status,
                       "reason": format!("Stack {action} ended") });
    of_stack(stack, "TraversalSettled", millis, body)
}

fn began(number: u128, name: &str, action: &str, millis: i64) -> Told {
    let body = json!({ "action": action, "traversal": TRAVERSAL, "stack_id": WEB, "stack_name": "web",
                       "project_id": "p", "name": name, "type": "OS::Heat::TestResource",
                       "user_id": "u" });
    told(format!("resource-{}", resource(number)), "ActionStarted", millis, body)
}

fn ended(number: u128, action: &str, status: &str, millis: i64) -> Told {
    let reason = if status == "FAILED" { "no room\nin the cloud" } else { "state changed" };
    let body = json!({ "action": action, "traversal": TRAVERSAL, "status": status, "reason": reason,
                       "physical_id": null });
    told(format!("resource-{}", resource(number)), "ActionSettled", millis, body)
}

fn given(events: &[Told]) -> State {
    let mut state = State::default();
    for event in events {
        state.apply(event);
    }
    state
}

fn drawn(state: &State, focus: Focus, columns: usize, lines: usize, millis: i64) -> Picture {
    picture(state, focus, View { columns, lines: Some(lines), top: None }, at(millis))
}

fn plain(picture: &Picture) -> Vec<String> {
    picture.lines.iter().map(Line::plain).collect()
}

const ONE: Focus = Focus::One(StackId(WEB));

/// A stack of 1,000 resources, one of which is a group of 20: some wait, some are at work, some
/// are done, and one has failed.
fn a_thousand() -> State {
    let mut nodes: Vec<Value> = (0..998).map(|n| node(n, &format!("server_{n:03}"), &[])).collect();
    nodes.push(node(998, "a_resource_with_a_very_long_name_that_no_column_can_hold", &[]));
    nodes.push(node(999, "workers", &[]));
    let mut events = vec![
        of_stack(WEB, "StackCreated", 0, created(WEB, "web", Value::Null)),
        traversal(WEB, "CREATE", 0, nodes),
        began(999, "workers", "CREATE", 500),
    ];
    let owner = json!({ "stack": WEB, "resource": resource(999), "name": "workers", "root": WEB,
                        "depth": 1 });
    events.push(of_stack(GROUP, "StackCreated", 500, created(GROUP, "web-workers", owner)));
    let members = (0..20).map(|n| node(2_000 + n, &n.to_string(), &[])).collect();
    events.push(traversal(GROUP, "CREATE", 500, members));
    for n in 0..300 {
        events.push(began(n, &format!("server_{n:03}"), "CREATE", 1_000));
    }
    for n in 0..250 {
        let status = if n == 7 { "FAILED" } else { "COMPLETE" };
        events.push(ended(n, "CREATE", status, 1_300 + 100 * n as i64));
    }
    for n in 0..5 {
        events.push(told(
            format!("resource-{}", resource(2_000 + n)),
            "ActionSettled",
            2_000,
            json!({ "action": "CREATE", "traversal": TRAVERSAL, "status": "COMPLETE",
                    "reason": "state changed", "physical_id": null }),
        ));
    }
    given(&events)
}

fn created(id: Uuid, name: &str, owner: Value) -> Value {
    let mut body = json!({ "stack_id": id, "name": name, "project_id": "p",
                           "owner_user_id": "u", "owner_user_name": "ada" });
    if !owner.is_null() {
        body["owner"] = owner;
    }
    body
}

#[test]
fn a_picture_fits_any_width_and_any_height() {
    let state = a_thousand();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/live");
    let is_rewritten = std::env::var_os("UPDATE_GOLDEN").is_some();
    for columns in [40, 80, 200] {
        for lines in [10, 50] {
            let seen = plain(&drawn(&state, ONE, columns, lines, 61_000));
            let text = seen.join("\n") + "\n";
            let file = folder.join(format!("{columns}x{lines}.txt"));
            if is_rewritten {
                std::fs::create_dir_all(&folder).unwrap();
                std::fs::write(&file, &text).unwrap();
            }
            assert_eq!(text, std::fs::read_to_string(&file).unwrap(), "{}", file.display());
        }
    }
    for columns in 1..220 {
        for lines in [1, 2, 3, 7, 24] {
            let seen = plain(&drawn(&state, ONE, columns, lines, 61_000));
            assert!(seen.len() <= lines, "{columns}x{lines}: {} lines", seen.len());
            let widest = seen.iter().map(|line| width(line)).max().unwrap_or(0);
            assert!(widest <= columns, "{columns}x{lines}: a line of {widest}");
        }
    }
}

#[test]
fn a_picture_of_a_thousand_resources_costs_what_is_in_sight() {
    let mut state = a_thousand();
    let paint = |picture: &Picture| picture.lines.iter().map(Line::painted).collect::<Vec<_>>();
    let first = drawn(&state, ONE, 80, 24, 61_200);
    // No line is made that is not in sight.
    assert_eq!((first.lines.len(), first.rows), (24, 1_000));
    // Where nothing changes nothing is written, be it asked ten times a second.
    let again = drawn(&state, ONE, 80, 24, 61_300);
    assert_eq!(difference(&paint(&first), &paint(&again)), "");
    // A resource out of sight changes the head alone.
    let fill =
        (0..100).map(|n| began(900 - n, &format!("server_{:03}", 900 - n), "CREATE", 61_300));
    fill.for_each(|event| {
        state.apply(&event);
    });
    let changed = difference(&paint(&first), &paint(&drawn(&state, ONE, 80, 24, 61_400)));
    assert_eq!(changed.matches("\x1b[K").count(), 1, "{changed:?}");
    // The most that can be written in a second is far below what any terminal takes.
    let later = difference(&paint(&first), &paint(&drawn(&state, ONE, 80, 24, 62_300)));
    assert!(later.len() < 24 * 160, "{}", later.len());
    assert!(DRAW_EVERY >= Duration::from_millis(100));
}

#[test]
fn a_window_follows_what_is_at_work_and_goes_where_it_is_told() {
    let state = a_thousand();
    let seen = plain(&drawn(&state, ONE, 80, 10, 61_000));
    assert!(seen[1].contains("server_249"), "{seen:?}");
    let top = View { columns: 80, lines: Some(10), top: Some(0) };
    let seen = picture(&state, ONE, top, at(61_000));
    assert!(plain(&seen)[1].contains("server_000"));
    assert_eq!(scrolled(Key::PageDown, &seen, Some(0)), Some(8));
    assert_eq!(scrolled(Key::Last, &seen, Some(0)), Some(992));
    assert_eq!(scrolled(Key::Up, &seen, Some(0)), Some(0));
    assert_eq!(scrolled(Key::Follow, &seen, Some(0)), None);
}

#[test]
fn members_stand_below_their_group_where_there_is_room_and_are_folded_otherwise() {
    let owner = json!({ "stack": WEB, "resource": resource(1), "name": "group", "root": WEB,
                        "depth": 1 });
    let state = given(&[
        of_stack(WEB, "StackCreated", 0, created(WEB, "web", Value::Null)),
        traversal(WEB, "CREATE", 0, vec![node(1, "group", &[]), node(2, "last", &["group"])]),
        began(1, "group", "CREATE", 0),
        of_stack(GROUP, "StackCreated", 0, created(GROUP, "web-group", owner)),
        traversal(GROUP, "CREATE", 0, (0..4).map(|n| node(10 + n, &n.to_string(), &[])).collect()),
        ended(10, "CREATE", "COMPLETE", 1_000),
        ended(11, "CREATE", "FAILED", 1_000),
    ]);
    let seen = plain(&drawn(&state, ONE, 60, 10, 2_000));
    let names: Vec<&str> = seen[1..].iter().map(|line| line[..10].trim_end()).collect();
    assert_eq!(names, ["▸ group", "✓   0", "✗   1", "·   2", "·   3", "· last"]);
    let seen = plain(&drawn(&state, ONE, 60, 5, 2_000));
    assert!(seen[1].starts_with("▸ group") && seen[1].contains("1 of 4, 1 failed"), "{seen:?}");
    assert!(seen[2].starts_with("✗   1") && seen[3].starts_with("· last"), "{seen:?}");
}

#[test]
fn resources_stand_below_all_that_they_use() {
    let nodes = vec![
        node(1, "server", &["network", "port"]),
        node(2, "network", &[]),
        node(3, "port", &["network"]),
    ];
    let state = given(&[traversal(WEB, "CREATE", 0, nodes), ended(3, "CREATE", "COMPLETE", 10)]);
    let names: Vec<String> =
        state.stacks[0].members.iter().map(|member| member.shown.clone()).collect();
    assert_eq!(names, ["network", "port", "server"]);
    assert_eq!(state.stacks[0].members[1].status.progress, Progress::Done);
}

#[test]
fn times_come_from_the_events_and_not_from_when_they_were_heard() {
    let events = [
        traversal(WEB, "CREATE", 0, vec![node(1, "a", &[]), node(2, "b", &[])]),
        began(1, "a", "CREATE", 100),
        began(2, "b", "CREATE", 200),
        ended(1, "CREATE", "FAILED", 1_600),
    ];
    // A list that is read first, as after a restart, takes nothing from them.
    let mut state = State::default();
    state.take_stack(&json!({ "id": WEB, "stack_name": "web",
                              "stack_status": "CREATE_IN_PROGRESS" }));
    let href = format!("http://api/v1/p/stacks/web/{WEB}");
    let row = |name: &str, status: &str| {
        json!({ "resource_name": name, "resource_status": status,
                "resource_type": "OS::Heat::TestResource", "resource_status_reason": "",
                "links": [{ "rel": "stack", "href": href }] })
    };
    state.take_resources(&json!([row("a", "CREATE_FAILED"), row("b", "CREATE_IN_PROGRESS")]));
    for event in &events {
        state.apply(event);
    }
    let seen = plain(&drawn(&state, ONE, 60, 9, 95_000));
    assert_eq!(seen[0], "web  CREATE_IN_PROGRESS  1m35s  0 of 2, 1 at work, 1 failed");
    assert_eq!(seen[1], "✗ a  CREATE_FAILED          1.5s  no room in the cloud");
    assert_eq!(seen[2], "▸ b  CREATE_IN_PROGRESS    1m34s");
    // And a list that is read once more leaves them.
    state.take_resources(&json!([row("a", "CREATE_FAILED"), row("b", "CREATE_COMPLETE")]));
    state.apply(&ended(2, "CREATE", "COMPLETE", 96_000));
    assert_eq!(plain(&drawn(&state, ONE, 60, 9, 99_000))[2], "✓ b  CREATE_COMPLETE       1m35s");
}

#[test]
fn a_resource_that_another_replaces_stays_in_sight_until_it_is_gone() {
    let replaced = json!({ "traversal": TRAVERSAL, "name": "a", "old": resource(1),
                           "new": resource(2), "type": "OS::Heat::TestResource" });
    let required = json!({ "traversal": TRAVERSAL, "reason": "the size changes" });
    let state = given(&[
        traversal(WEB, "UPDATE", 0, vec![node(1, "a", &[])]),
        began(1, "a", "UPDATE", 0),
        told(format!("resource-{}", resource(1)), "ReplacementRequired", 100, required),
        of_stack(WEB, "ReplacementStarted", 100, replaced),
        began(2, "a", "CREATE", 100),
        ended(2, "CREATE", "COMPLETE", 300),
        began(1, "a", "DELETE", 400),
    ]);
    let seen = plain(&drawn(&state, ONE, 60, 9, 1_400));
    assert_eq!(seen[0], "  UPDATE_IN_PROGRESS  1s  1 of 1, 1 at work");
    assert_eq!(seen[1], "▸ a (former)  DELETE_IN_PROGRESS       1s");
    assert_eq!(seen[2], "✓ a           CREATE_COMPLETE        0.2s");
}

#[test]
fn in_a_stack_that_is_deleted_only_what_is_gone_is_done() {
    let state = given(&[
        traversal(WEB, "CREATE", 0, vec![node(1, "a", &[]), node(2, "b", &[])]),
        ended(1, "CREATE", "COMPLETE", 10),
        ended(2, "CREATE", "COMPLETE", 10),
        traversal(WEB, "DELETE", 100, Vec::new()),
        began(1, "a", "DELETE", 100),
        ended(1, "DELETE", "COMPLETE", 200),
    ]);
    assert_eq!(plain(&drawn(&state, ONE, 60, 9, 1_100))[0], "  DELETE_IN_PROGRESS  1s  1 of 2");
}

#[test]
fn all_stacks_are_lines_with_what_is_at_work_below_them() {
    let mut state = given(&[
        of_stack(WEB, "StackCreated", 0, created(WEB, "web", Value::Null)),
        traversal(WEB, "CREATE", 0, vec![node(1, "a", &[]), node(2, "b", &[])]),
        began(1, "a", "CREATE", 0),
        of_stack(GROUP, "StackCreated", 0, created(GROUP, "old", Value::Null)),
        traversal(GROUP, "DELETE", 0, Vec::new()),
        settled(GROUP, "DELETE", "COMPLETE", 900),
    ]);
    let seen = plain(&drawn(&state, Focus::All, 60, 9, 5_000));
    assert_eq!(seen[0], "stacks  2, at work: 1");
    assert_eq!(seen[1], "▸ web  CREATE_IN_PROGRESS       5s  0 of 2, 1 at work");
    assert_eq!(seen[2], "▸   a  CREATE_IN_PROGRESS       5s");
    assert_eq!(seen[3], "✓ old  DELETE_COMPLETE        0.9s");
    // What is gone is let go of after a while.
    state.forget(at(20_000));
    assert_eq!(state.stacks.len(), 1);
}

#[test]
fn what_is_within_a_stack_that_was_gone_before_anybody_listed_it_has_its_path() {
    let owner = json!({ "stack": WEB, "resource": resource(1), "name": "group", "root": WEB,
                        "depth": 1 });
    let mut state = given(&[
        of_stack(WEB, "StackCreated", 0, created(WEB, "web", Value::Null)),
        traversal(WEB, "UPDATE", 0, vec![node(1, "group", &[])]),
        of_stack(GROUP, "StackCreated", 0, created(GROUP, "web-group", owner)),
        traversal(GROUP, "UPDATE", 0, vec![node(10, "0", &[])]),
    ]);
    let gone = Uuid::from_u128(4);
    let id = crate::model::ResourceId(resource(11));
    let name = crate::model::physical_name(&"web-group".into(), &"1".into(), id, 255);
    let within = |stack: Uuid, stack_name: &str, mut event: Told| {
        event.body["stack_id"] = json!(stack);
        event.body["stack_name"] = json!(stack_name);
        event
    };
    let events = [
        within(GROUP, "web-group", began(11, "1", "DELETE", 100)),
        traversal(gone, "DELETE", 100, Vec::new()),
        within(gone, &name, began(21, "leaf", "DELETE", 200)),
        ended(21, "DELETE", "COMPLETE", 300),
        settled(gone, "DELETE", "COMPLETE", 300),
        ended(11, "DELETE", "COMPLETE", 400),
    ];
    let told: Vec<String> = events
        .iter()
        .filter_map(|event| state.apply(event))
        .map(|change| {
            assert_eq!(change.stack, StackId(WEB));
            format!("{} {}", change.path, change.status.status())
        })
        .collect();
    let expected = [
        "group/1 DELETE_IN_PROGRESS",
        "group/1/leaf DELETE_IN_PROGRESS",
        "group/1/leaf DELETE_COMPLETE",
        "group/1 DELETE_COMPLETE",
    ];
    assert_eq!(told, expected);
}

#[test]
fn what_is_watched_ends_where_another_action_begins_but_not_where_it_is_rolled_back() {
    let status = |text| LiveStatus::of(text, "");
    let overtaken = [
        ("UPDATE_COMPLETE", "CHECK_IN_PROGRESS"),
        ("UPDATE_FAILED", "UPDATE_IN_PROGRESS"),
        ("UPDATE_COMPLETE", "ROLLBACK_IN_PROGRESS"),
    ];
    for (end, next) in overtaken {
        assert!(status(end).is_overtaken_by(&status(next)), "{end}, {next}");
    }
    let same = [("CREATE_FAILED", "ROLLBACK_IN_PROGRESS"), ("CREATE_FAILED", "CREATE_FAILED")];
    for (end, next) in same {
        assert!(!status(end).is_overtaken_by(&status(next)), "{end}, {next}");
    }
}
