//! The subcommands that read the log alone, on a log that a test has written.

use std::path::Path;
use std::process::{Command, Output};
use std::sync::Arc;

use hearth::clock::{Clock, SimulatedClock};
use hearth::events::log::{EventLog, Head, SqliteLog};
use hearth::events::resource::{ActionStarted, CallIntended, Definition, Step};
use hearth::events::stack::{
    Node, RevisionAccepted, StackCreated, TraversalSettled, TraversalStarted,
};
use hearth::events::{Event, Meta, NewEvent, ResourceEvent, StackEvent, StreamId};
use hearth::model::{
    Action, Caller, ProjectId, ResourceId, ResourceName, Scope, StackId, StackName, StackRevision,
    Status, TraversalId,
};
use serde_json::json;

/// What version 1 of the seals makes of something.
const SEAL: &str = "c2VjcmV0IHRoYXQgaXMgbG9uZyBlbm91Z2ggdG8gYmUgYSBzZWFs";

/// Writes the history of a stack `web` with one resource, and gives its id.
pub(super) async fn a_log_with_one_stack(folder: &Path) -> StackId {
    let clock = SimulatedClock::new(3);
    let log = SqliteLog::open(&folder.join("log.db")).unwrap();
    let (stack_id, resource) = (StackId(clock.fresh_id()), ResourceId(clock.fresh_id()));
    let traversal = TraversalId(clock.fresh_id());
    let stack = [
        StackEvent::StackCreated(StackCreated {
            stack_id,
            name: StackName::from("web"),
            project_id: ProjectId::from("p1"),
            owner_user_id: "u1".to_owned(),
            owner_user_name: "alice".to_owned(),
            owner: None,
        }),
        StackEvent::RevisionAccepted(RevisionAccepted {
            adopts: None,
            back_to: None,
            revision: StackRevision(1),
            action: Action::Create,
            origin: StackRevision(1),
            source: Some(log.put_blob(b"{}").await.unwrap()),
            source_bytes: 2,
            parameters: Default::default(),
            shown_parameters: Default::default(),
            description: String::new(),
            outputs: Vec::new(),
            settings: Default::default(),
            user_id: None,
            roles: None,
            facade: serde_json::Value::Null,
            event_sinks: Vec::new(),
            claim: None,
            restart: None,
        }),
        StackEvent::TraversalStarted(TraversalStarted {
            traversal,
            action: Action::Create,
            revision: StackRevision(1),
            nodes: vec![Node {
                name: ResourceName::from("net"),
                id: resource,
                type_name: "OS::Neutron::Net".to_owned(),
                requires: Vec::new(),
                description: String::new(),
            }],
            rows: None,
            deadline: None,
            options: Default::default(),
            trustor: None,
        }),
    ];
    let net = [
        ResourceEvent::ActionStarted(ActionStarted {
            action: Action::Create,
            traversal,
            stack_id,
            stack_name: StackName::from("web"),
            project_id: ProjectId::from("p1"),
            name: ResourceName::from("net"),
            type_name: "OS::Neutron::Net".to_owned(),
            definition: Some(Definition {
                driver_type: "OS::Neutron::Net".to_owned(),
                properties: json!({"name": {"sealed": SEAL}}).as_object().unwrap().clone(),
                deletion_policy: "Delete".to_owned(),
                ..Definition::default()
            }),
            deadline: None,
            user_id: "u1".to_owned(),
            roles: None,
            hooks: Vec::new(),
            observes: false,
            replaces: Vec::new(),
            retains: false,
        }),
        ResourceEvent::CallIntended(CallIntended {
            step: Step { name: "create".to_owned(), mutates: true, ..Step::default() },
            token: "web-net-abc".to_owned(),
        }),
        ResourceEvent::ActionSettled(
            serde_json::from_value(json!({
                "action": "CREATE", "traversal": traversal, "status": "COMPLETE",
                "reason": "state changed", "physical_id": "net-1",
            }))
            .unwrap(),
        ),
    ];
    let settled = [StackEvent::TraversalSettled(TraversalSettled {
        traversal,
        action: Action::Create,
        status: Status::Complete,
        reason: "Stack CREATE completed successfully".to_owned(),
        outputs: Vec::new(),
        rows: None,
    })];
    let own = StreamId::stack(stack_id);
    let head = write(&log, &clock, &own, Head::default(), &stack).await;
    write(&log, &clock, &StreamId::resource(resource), Head::default(), &net).await;
    write(&log, &clock, &own, head, &settled).await;
    stack_id
}

async fn write<E: Event>(
    log: &SqliteLog,
    clock: &SimulatedClock,
    stream: &StreamId,
    mut head: Head,
    events: &[E],
) -> Head {
    let meta = Arc::new(Meta {
        caller: Some(Arc::new(Caller {
            user_id: "u1".to_owned(),
            user_name: "alice".to_owned(),
            project_id: ProjectId::from("p1"),
            project_name: "demo".to_owned(),
            roles: vec!["member".to_owned()],
            scope: Scope::default(),
            admin: false,
        })),
        ..Meta::default()
    });
    for event in events {
        clock.advance(chrono::TimeDelta::milliseconds(1_500));
        let event = NewEvent::of(event, clock.now(), meta.clone()).unwrap();
        let appended = log.append(stream, head, vec![event]).await.unwrap();
        log.durable(appended.position).await.unwrap();
        head = appended.head;
    }
    head
}

fn hearth(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(arguments)
        .args(["--data".as_ref(), folder.as_os_str()])
        .output()
        .unwrap()
}

fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[tokio::test]
async fn history_lists_revisions_and_events() {
    let folder = tempfile::tempdir().unwrap();
    let id = a_log_with_one_stack(folder.path()).await;
    for name in ["web", &id.to_string()] {
        let text = printed(&hearth(folder.path(), &["history", name]));
        let expected = format!(
            "Stack web ({id}) of project p1, created 2026-01-01T00:00:01.500000Z by alice\n\n\
             Revisions\n   \
             1  2026-01-01T00:00:03.000000Z  alice       CREATE\n\n\
             Events\n2026-01-01  alice\n       \
             1  2026-01-01T00:00:01.500000Z  (stack)  StackCreated: web\n       \
             2  2026-01-01T00:00:03.000000Z  (stack)  RevisionAccepted: 1 CREATE\n       \
             3  2026-01-01T00:00:04.500000Z  (stack)  TraversalStarted: CREATE to revision 1, resources: 1\n       \
             4  2026-01-01T00:00:06.000000Z  net      ActionStarted: CREATE OS::Neutron::Net\n       \
             5  2026-01-01T00:00:07.500000Z  net      CallIntended: create as web-net-abc\n       \
             6  2026-01-01T00:00:09.000000Z  net      ActionSettled: CREATE COMPLETE: state changed\n       \
             7  2026-01-01T00:00:10.500000Z  (stack)  TraversalSettled: CREATE COMPLETE: Stack CREATE completed successfully\n"
        );
        assert_eq!(text, expected);
    }
    let lines = printed(&hearth(folder.path(), &["history", "web", "--json"]));
    assert_eq!(lines.lines().count(), 7);
    assert!(lines.contains("\"name\":\"******\"") && !lines.contains(SEAL));
}

#[tokio::test]
async fn history_of_one_resource_or_revision_leaves_the_rest_out() {
    let folder = tempfile::tempdir().unwrap();
    a_log_with_one_stack(folder.path()).await;
    let history = |more: &[&str]| hearth(folder.path(), &[&["history", "web"], more].concat());
    let text = printed(&history(&["--resource", "net"]));
    let (_, listed) = text.split_once("\n\n").unwrap();
    assert_eq!(
        listed,
        "Revisions\n   \
         1  2026-01-01T00:00:03.000000Z  alice       CREATE\n\n\
         Events\n2026-01-01  alice\n       \
         4  2026-01-01T00:00:06.000000Z  net  ActionStarted: CREATE OS::Neutron::Net\n       \
         5  2026-01-01T00:00:07.500000Z  net  CallIntended: create as web-net-abc\n       \
         6  2026-01-01T00:00:09.000000Z  net  ActionSettled: CREATE COMPLETE: state changed\n"
    );
    assert_eq!(printed(&history(&["--revision", "1"])), printed(&history(&[])));
    assert_eq!(printed(&history(&["--resource", "net", "--json"])).lines().count(), 3);
    for (more, told) in [
        (["--resource", "port"], "hearth history: the stack had no resource port\n"),
        (["--revision", "2"], "hearth history: the stack has no revision 2\n"),
    ] {
        let output = history(&more);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(String::from_utf8_lossy(&output.stderr), told);
    }
}

#[tokio::test]
async fn an_unknown_stack_or_log_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = hearth(folder.path(), &["history", "web"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no log at"));
    a_log_with_one_stack(folder.path()).await;
    let output = hearth(folder.path(), &["history", "other"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(output.stderr, b"hearth history: the log knows no stack other\n");
}

#[tokio::test]
async fn verify_proves_a_log_and_finds_a_changed_event() {
    let folder = tempfile::tempdir().unwrap();
    a_log_with_one_stack(folder.path()).await;
    let text = printed(&hearth(folder.path(), &["verify"]));
    assert!(text.starts_with("7 events in 2 streams: every chain holds\n"), "{text}");
    let file = rusqlite::Connection::open(folder.path().join("log.db")).unwrap();
    file.execute("UPDATE events SET body = replace(body, 'abc', 'xyz') WHERE position = 5", [])
        .unwrap();
    drop(file);
    let output = hearth(folder.path(), &["verify"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("is not what was written (position 5)"), "{said}");
}

#[tokio::test]
async fn replay_shows_how_a_stack_stood() {
    let folder = tempfile::tempdir().unwrap();
    let id = a_log_with_one_stack(folder.path()).await;
    let replay =
        |until: &[&str]| printed(&hearth(folder.path(), &[&["replay", "web"], until].concat()));
    let expected = format!(
        "Stack web ({id}) at position 5, 2026-01-01T00:00:07.500000Z\n\
         CREATE_IN_PROGRESS: Stack CREATE started\n\
         Revision 1 (CREATE)\n\n\
         Resources\n  \
         net  OS::Neutron::Net  CREATE_IN_PROGRESS\n"
    );
    assert_eq!(replay(&["--until", "5"]), expected);
    assert_eq!(replay(&["--until", "2026-01-01T00:00:08Z"]), expected);
    let before_its_resource = replay(&["--until", "3"]);
    assert!(before_its_resource.contains("net  OS::Neutron::Net  INIT_COMPLETE"));
    let end = replay(&[]);
    assert!(end.contains("CREATE_COMPLETE: Stack CREATE completed successfully"), "{end}");
    assert!(end.contains("net  OS::Neutron::Net  CREATE_COMPLETE  net-1"), "{end}");
    let json: serde_json::Value = serde_json::from_str(&replay(&["--json"])).unwrap();
    assert_eq!(json["stack"]["stack_status"], "CREATE_COMPLETE");
    assert_eq!(json["resources"][0]["properties"], json!({"name": "******"}));
    let output = hearth(folder.path(), &["replay", "web", "--until", "2025-12-31"]);
    assert_eq!(output.stderr, b"hearth replay: the stack was not there yet\n");
}

#[tokio::test]
async fn export_prints_what_a_stack_can_be_adopted_from() {
    let folder = tempfile::tempdir().unwrap();
    let id = a_log_with_one_stack(folder.path()).await;
    let text = printed(&hearth(folder.path(), &["export", "web"]));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let stack = |key: &str| document[key].clone();
    assert_eq!((stack("name"), stack("id")), (json!("web"), json!(id.to_string())));
    assert_eq!((stack("action"), stack("status")), (json!("CREATE"), json!("COMPLETE")));
    let net = &document["resources"]["net"];
    assert_eq!((&net["resource_id"], &net["name"]), (&json!("net-1"), &json!("net")));
    assert_eq!(net["type"], "OS::Neutron::Net");
    assert!(!text.contains(SEAL), "{text}");
    let unknown = hearth(folder.path(), &["export", "other"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert_eq!(unknown.stderr, b"hearth export: the log knows no stack other\n");
}
