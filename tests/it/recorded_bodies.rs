//! Recorded bodies: `tests/data/histories/bodies.jsonl` has for each event, with every field that it
//! may have, what the code of then wrote. Whatever is written today has to be among them, and each
//! line is read for ever.
//!
//! A line is `[KIND, TYPE, VERSION, BODY]`. `UPDATE_GOLDEN=1` adds what is not there yet, and changes
//! no line that is.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use hearth::events::alarm::*;
use hearth::events::log::BlobId;
use hearth::events::outlet::Delivered;
use hearth::events::project::*;
use hearth::events::purge::{PurgedStream, StreamsPurged};
use hearth::events::resource::*;
use hearth::events::server::ServerStarted;
use hearth::events::software::*;
use hearth::events::stack::*;
use hearth::events::{
    AlarmEvent, ConfigEvent, DecodeError, DeploymentEvent, Event, MetricEvent, OutletEvent,
    Position, ProjectEvent, PurgeEvent, ResourceEvent, ServerEvent, StackEvent, StreamId,
};
use hearth::model::selection::NamedStack;
use hearth::model::{
    Action, AlarmId, CommandId, ConfigId, DeploymentId, Hook, JsonMap, ProjectId, ResourceId,
    ResourceName, Selection, Settling, StackId, StackName, StackRevision, StackSettings, Status,
    TraversalId, TraversalOptions, Trustor, WebhookId,
};
use serde_json::{Value, json};
use uuid::Uuid;

/// What is recorded of one event.
type Line = (String, String, u16, Value);
/// A kind's name, its types and how a body of it is read and written again.
type Kind = (&'static str, &'static [(&'static str, u16)], fn(&str, u16, &str) -> Reread);
type Reread = Result<String, DecodeError>;

/// Every kind of event.
const KINDS: [Kind; 10] = [
    ("ProjectEvent", ProjectEvent::TYPES, reread::<ProjectEvent>),
    ("StackEvent", StackEvent::TYPES, reread::<StackEvent>),
    ("ResourceEvent", ResourceEvent::TYPES, reread::<ResourceEvent>),
    ("ConfigEvent", ConfigEvent::TYPES, reread::<ConfigEvent>),
    ("DeploymentEvent", DeploymentEvent::TYPES, reread::<DeploymentEvent>),
    ("AlarmEvent", AlarmEvent::TYPES, reread::<AlarmEvent>),
    ("MetricEvent", MetricEvent::TYPES, reread::<MetricEvent>),
    ("OutletEvent", OutletEvent::TYPES, reread::<OutletEvent>),
    ("PurgeEvent", PurgeEvent::TYPES, reread::<PurgeEvent>),
    ("ServerEvent", ServerEvent::TYPES, reread::<ServerEvent>),
];

#[test]
fn what_is_written_today_is_recorded_for_whoever_reads_it_tomorrow() {
    let (mut lines, mut text) = (recorded(), String::new());
    let mut missing = Vec::new();
    for line in written_today() {
        if !lines.contains(&line) {
            text.push_str(&format!("{}\n", json!(line)));
            missing.push(format!("{} version {}", line.1, line.2));
            lines.push(line);
        }
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let kept = std::fs::read_to_string(path()).unwrap_or_default();
        std::fs::write(path(), kept + &text).unwrap();
        missing.clear();
    }
    assert_eq!(missing, Vec::<String>::new(), "not in bodies.jsonl: UPDATE_GOLDEN=1 adds them");
}

#[test]
fn every_event_that_there_is_has_a_recorded_body() {
    let lines = recorded();
    let has = |kind: &str, name: &str, version: u16| {
        lines.iter().any(|line| (line.0.as_str(), line.1.as_str(), line.2) == (kind, name, version))
    };
    for (kind, types, _) in KINDS {
        for (name, version) in types {
            assert!(
                has(kind, name, *version),
                "{name} version {version} has no body in bodies.jsonl: give it one in \
                 `written_today`, then UPDATE_GOLDEN=1"
            );
        }
    }
}

#[test]
fn every_kind_of_event_is_known_here() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/events");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts = files.filter(|path| path.is_file()).map(|it| std::fs::read_to_string(it).unwrap());
    let mut declared = BTreeSet::new();
    for text in texts {
        for block in text.split("\nevents! {").skip(1) {
            let head = block.lines().map(str::trim).find(|line| {
                line.ends_with(" {") && !line.starts_with('#') && !line.starts_with("//")
            });
            declared.insert(head.unwrap().trim_end_matches(" {").to_owned());
        }
    }
    let known: BTreeSet<String> = KINDS.iter().map(|(kind, ..)| (*kind).to_owned()).collect();
    assert_eq!(declared, known);
}

#[test]
fn a_recorded_body_is_read_for_ever_and_nothing_of_it_is_lost() {
    let kinds: BTreeMap<&str, Kind> = KINDS.iter().map(|kind| (kind.0, *kind)).collect();
    for (kind, name, version, body) in recorded() {
        let (_, types, reread) = kinds[kind.as_str()];
        let again = reread(&name, version, &body.to_string());
        let again = again.unwrap_or_else(|error| panic!("{name} version {version}: {error}"));
        let again: Value = serde_json::from_str(&again).unwrap();
        // An older version has its own shape.
        if types.contains(&(name.as_str(), version)) {
            assert!(holds(&again, &body), "{name}: {body} is read as {again}");
        }
    }
}

/// Whether a value has all that another one has.
fn holds(value: &Value, part: &Value) -> bool {
    match (value, part) {
        (Value::Object(value), Value::Object(part)) => {
            part.iter().all(|(key, part)| value.get(key).is_some_and(|value| holds(value, part)))
        }
        (Value::Array(value), Value::Array(part)) => {
            let mut both = value.iter().zip(part);
            value.len() == part.len() && both.all(|(value, part)| holds(value, part))
        }
        _ => value == part,
    }
}

fn reread<E: Event>(event_type: &str, version: u16, body: &str) -> Reread {
    Ok(E::decode(event_type, version, body)?.encode().unwrap())
}

fn path() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/histories/bodies.jsonl")
}

fn recorded() -> Vec<Line> {
    let text = std::fs::read_to_string(path()).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// One body of each event, or several, which together have every field.
fn written_today() -> Vec<Line> {
    let mut lines = Vec::new();
    lines.extend(of("ProjectEvent", project()));
    lines.extend(of("StackEvent", stack()));
    lines.extend(of("ResourceEvent", resource()));
    lines.extend(of("ConfigEvent", config()));
    lines.extend(of("DeploymentEvent", deployment()));
    lines.extend(of("AlarmEvent", alarm()));
    lines.extend(of("MetricEvent", metric()));
    lines.extend(of::<OutletEvent>(
        "OutletEvent",
        vec![Delivered { position: Position(4_711) }.into()],
    ));
    lines.extend(of::<PurgeEvent>("PurgeEvent", vec![purge().into()]));
    lines.extend(of::<ServerEvent>("ServerEvent", vec![server().into()]));
    lines
}

fn of<E: Event>(kind: &str, events: Vec<E>) -> impl Iterator<Item = Line> {
    events.into_iter().map(move |event| {
        let body = serde_json::from_str(&event.encode().unwrap()).unwrap();
        (kind.to_owned(), event.event_type().to_owned(), event.version(), body)
    })
}

fn uuid(number: u128) -> Uuid {
    Uuid::from_u128(0x5f3a_9c10_7e24_4d6b_8a01_0000_0000_0000 + number)
}

fn at(second: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(1_790_000_000_123_456 + second * 1_000_000).unwrap()
}

fn map(value: Value) -> JsonMap {
    serde_json::from_value(value).unwrap()
}

/// A part as the vault leaves it.
fn sealed(place: &str) -> Value {
    json!({ "sealed": "v2:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8", "at": place })
}

fn trustor() -> Trustor {
    Trustor::of("u1", vec!["member".to_owned(), "heat_stack_owner".to_owned()])
}

fn roles() -> Option<Vec<String>> {
    trustor().roles
}

fn project() -> Vec<ProjectEvent> {
    let (name, stack_id) = (StackName::from("web"), StackId(uuid(1)));
    let selection = Selection {
        project: Some(ProjectId::from("p1")),
        stacks: vec![NamedStack { id: stack_id, root: StackId(uuid(2)) }],
        with_nested: true,
        resources: vec!["server".to_owned()],
        types: vec!["TraversalSettled".to_owned()],
        actions: vec!["CREATE".to_owned()],
        statuses: vec!["CREATE_COMPLETE".to_owned()],
        callers: vec!["alice".to_owned()],
    };
    vec![
        NameReserved { name: name.clone(), stack_id }.into(),
        NameReleased { name, stack_id }.into(),
        TrustGranted {
            user_id: "u1".to_owned(),
            trust_id: sealed("project-p1/1/trust_id"),
            roles: roles().unwrap(),
        }
        .into(),
        TrustReturned { user_id: "u1".to_owned(), trust_id: sealed("project-p1/2/trust_id") }
            .into(),
        WebhookMade {
            id: WebhookId(uuid(3)),
            origin: "https://hooks.example.org".to_owned(),
            target: sealed("project-p1/3/target"),
            selection,
        }
        .into(),
        WebhookDeleted { id: WebhookId(uuid(3)) }.into(),
        KeyClaimed {
            key: "a key".to_owned(),
            request: "9f86d081884c7d65".to_owned(),
            stack_id,
            command: CommandId(uuid(4)),
        }
        .into(),
    ]
}

fn rows() -> Option<Vec<Row>> {
    Some(vec![Row {
        name: ResourceName::from("server"),
        id: ResourceId(uuid(10)),
        type_name: "OS::Nova::Server".to_owned(),
        requires: vec![ResourceId(uuid(11))],
        revision: StackRevision(2),
        replaces: Some(ResourceId(uuid(12))),
        replaced_by: Some(ResourceId(uuid(13))),
    }])
}

fn outputs() -> Vec<OutputResolved> {
    let output = |key: &str, value: Value, error: Option<&str>| OutputResolved {
        key: key.to_owned(),
        description: "said of it".to_owned(),
        value,
        error: error.map(str::to_owned),
    };
    vec![
        output("address", "10.0.0.4".into(), None),
        output("password", sealed("stack-s/5/outputs/1/value"), None),
        output("none", Value::Null, Some("The Referenced Attribute is incorrect.")),
    ]
}

fn accepted() -> RevisionAccepted {
    RevisionAccepted {
        revision: StackRevision(3),
        action: Action::Update,
        origin: StackRevision(1),
        source: Some(BlobId("9f86d081884c7d659a2feaa0c55ad015".to_owned())),
        source_bytes: 1_024,
        parameters: map(json!({ "key": "k", "password": sealed("stack-s/1/parameters/password") })),
        shown_parameters: map(json!({ "key": "k", "password": "******" })),
        description: "A web".to_owned(),
        outputs: vec![OutputDeclared {
            key: "address".to_owned(),
            description: "Where it is".to_owned(),
            live: true,
        }],
        settings: StackSettings {
            tags: vec!["blue".to_owned()],
            timeout_mins: Some(30),
            disable_rollback: false,
        },
        back_to: Some(StackRevision(1)),
        adopts: Some(json!({ "server": { "resource_id": sealed("stack-s/1/adopts/server") } })),
        user_id: Some("u2".to_owned()),
        roles: roles(),
        facade: json!({ "metadata": { "a": 1 }, "deletion_policy": "Retain", "update_policy": {} }),
        event_sinks: vec![json!({ "type": "zaqar-queue", "target": "q", "ttl": 60 })],
        claim: Some(Claim { key: "a key".to_owned(), command: CommandId(uuid(4)) }),
        restart: Some(CommandId(uuid(5))),
    }
}

fn stack() -> Vec<StackEvent> {
    let (traversal, project_id) = (TraversalId(uuid(20)), ProjectId::from("p1"));
    let snapshot = TraversalId(uuid(21));
    let name = ResourceName::from("server");
    let type_name = || "OS::Nova::Server".to_owned();
    vec![
        StackCreated {
            stack_id: StackId(uuid(1)),
            name: StackName::from("web-nested-x3k"),
            project_id: project_id.clone(),
            owner_user_id: "u1".to_owned(),
            owner_user_name: "alice".to_owned(),
            owner: Some(Owner {
                stack: StackId(uuid(2)),
                resource: ResourceId(uuid(14)),
                name: ResourceName::from("nested"),
                root: StackId(uuid(2)),
                depth: 1,
            }),
        }
        .into(),
        accepted().into(),
        TraversalStarted {
            traversal,
            action: Action::Update,
            revision: StackRevision(3),
            nodes: vec![Node {
                name: name.clone(),
                id: ResourceId(uuid(10)),
                type_name: type_name(),
                requires: vec![ResourceName::from("port")],
                description: "The server".to_owned(),
            }],
            rows: rows(),
            deadline: Some(at(3_600)),
            options: TraversalOptions {
                observes: true,
                revisits: true,
                retains: true,
                settles: Some(Settling::Repair),
            },
            trustor: Some(trustor()),
        }
        .into(),
        ReplacementStarted {
            traversal,
            name: name.clone(),
            old: ResourceId(uuid(10)),
            new: ResourceId(uuid(13)),
            type_name: type_name(),
        }
        .into(),
        ActionDeferred { action: Action::Suspend, trustor: Some(trustor()) }.into(),
        TraversalSettled {
            traversal,
            action: Action::Update,
            status: Status::Complete,
            reason: "Stack UPDATE completed successfully".to_owned(),
            outputs: outputs(),
            rows: rows(),
        }
        .into(),
        SnapshotStarted { snapshot, name: Some("before".to_owned()), revision: StackRevision(3) }
            .into(),
        SnapshotSettled {
            snapshot,
            status: Status::Complete,
            reason: "Stack SNAPSHOT completed successfully".to_owned(),
            resources: vec![ResourceKept {
                name,
                type_name: "my::server".to_owned(),
                driver_type: type_name(),
                physical_id: Some("an id of the cloud".to_owned()),
                action: Action::Snapshot,
                status: Status::Complete,
                metadata: map(json!({ "a": 1 })),
                data: [("snapshot_image_id".to_owned(), "an image".into())].into(),
            }],
        }
        .into(),
        SnapshotDeletionStarted { snapshot, user_id: "u1".to_owned(), roles: roles() }.into(),
        SnapshotDeletionSettled {
            snapshot,
            status: Status::Failed,
            reason: "the image is in use".to_owned(),
        }
        .into(),
        OutputsChanged { outputs: outputs() }.into(),
        UserProjectMade { project_id: project_id.clone() }.into(),
        UserProjectDeleted { project_id }.into(),
        DriftLooked {
            same: 4,
            resources: vec![ResourceDrifted {
                path: "nested/server".to_owned(),
                type_name: type_name(),
                drift: "differs".to_owned(),
                properties: vec![FieldDrifted {
                    name: "flavor".to_owned(),
                    recorded: Some("m1.small".into()),
                    live: Some("m1.tiny".into()),
                }],
            }],
            more: 2,
        }
        .into(),
    ]
}

fn step() -> Step {
    Step {
        name: "members".to_owned(),
        mutates: true,
        commands: true,
        state: json!({ "index": 1, "left": ["a"] }),
    }
}

fn data() -> BTreeMap<String, Value> {
    [("admin_pass".to_owned(), sealed("resource-r/9/data")), ("gone".to_owned(), Value::Null)]
        .into()
}

fn started() -> ActionStarted {
    ActionStarted {
        action: Action::Create,
        traversal: TraversalId(uuid(20)),
        stack_id: StackId(uuid(1)),
        stack_name: StackName::from("web"),
        project_id: ProjectId::from("p1"),
        name: ResourceName::from("server"),
        type_name: "my::server".to_owned(),
        definition: Some(Definition {
            driver_type: "OS::Nova::Server".to_owned(),
            properties: map(json!({ "flavor": "m1.small", "admin_pass": sealed("resource-r/0") })),
            metadata: map(json!({ "a": 1 })),
            deletion_policy: "Snapshot".to_owned(),
            update_policy: map(json!({ "rolling_updates": { "max_batch_size": 1 } })),
            external_id: Some("somebody else's".to_owned()),
            attributes: vec!["first_address".to_owned()],
            revision: StackRevision(3),
            written: "c0ffee".to_owned(),
        }),
        deadline: Some(at(3_600)),
        user_id: "u1".to_owned(),
        roles: roles(),
        hooks: vec![Hook::PostCreate, Hook::PreUpdate],
        observes: true,
        replaces: vec!["a former one".to_owned()],
        retains: true,
    }
}

fn resource() -> Vec<ResourceEvent> {
    let (traversal, signal) = (TraversalId(uuid(20)), CommandId(uuid(6)));
    vec![
        started().into(),
        CallIntended { step: step(), token: "web-server-x3k".to_owned() }.into(),
        AnswersKept {
            searched: true,
            facts: json!({ "microversion": "2.96" }),
            answers: vec![
                KeptAnswer {
                    ask: "POST compute:/servers".to_owned(),
                    answer: Some(json!({ "server": { "id": "an id of the cloud" } })),
                },
                KeptAnswer { ask: "endpoint image".to_owned(), answer: None },
            ],
        }
        .into(),
        CallAnswered {
            physical_id: Some("an id of the cloud".to_owned()),
            data: data(),
            next: step(),
        }
        .into(),
        CallRetried {
            step: "create".to_owned(),
            error: "503 from the service compute".to_owned(),
            attempt: 2,
            until: at(4),
        }
        .into(),
        CreateRepeated { traversal, attempt: 1 }.into(),
        ReplacementRequired { traversal, reason: "flavor is another".to_owned() }.into(),
        AttributesObserved {
            attributes: map(
                json!({ "first_address": "10.0.0.4", "console": sealed("resource-r/7") }),
            ),
        }
        .into(),
        RealityObserved {
            traversal,
            gone: true,
            properties: map(json!({ "flavor": "m1.tiny", "admin_pass": sealed("resource-r/8") })),
        }
        .into(),
        HealthMarked { healthy: false, reason: "it does not answer".to_owned() }.into(),
        HookReached { traversal, hook: Hook::PreCreate }.into(),
        HookCleared { hook: Hook::PreDelete }.into(),
        HookLeft { hook: Hook::PostUpdate, silent: true }.into(),
        HookLeft { hook: Hook::PostDelete, silent: false }.into(),
        UpdateRefused { traversal, reason: "update is restricted for resource.".to_owned() }.into(),
        SignalTaken { signal, details: sealed("resource-r/13/details") }.into(),
        ResizeTaken {
            signal,
            resize: Resize {
                from: 1,
                to: 2,
                adjustment: 1.5,
                kind: "change_in_capacity".to_owned(),
                cooldown_secs: Some(60),
            },
        }
        .into(),
        SignalHandled {
            signal,
            reason: Some("Signal: status:SUCCESS reason:done".to_owned()),
            error: Some("it was in vain".to_owned()),
            metadata: map(json!({ "1": { "status": "SUCCESS" } })),
            data: data(),
            attributes: map(json!({ "data": "{}" })),
        }
        .into(),
        Remarked { reason: "alarm state changed".to_owned() }.into(),
        ActionSettled {
            action: Action::Create,
            traversal,
            status: Status::Failed,
            reason: "ResourceInError: resources.server: Went to status ERROR".to_owned(),
            physical_id: Some("an id of the cloud".to_owned()),
            data: data(),
            attributes: map(json!({ "first_address": "10.0.0.4" })),
            metadata: map(json!({ "a": 1 })),
            unanswered: true,
            again: true,
            untouched: true,
        }
        .into(),
    ]
}

fn config() -> Vec<ConfigEvent> {
    let config_id = ConfigId(uuid(30));
    vec![
        ConfigCreated {
            config_id,
            project_id: ProjectId::from("p1"),
            name: Some("install".to_owned()),
            group: Some("script".to_owned()),
            content: sealed("config-c/0/content"),
        }
        .into(),
        ConfigDeleted { config_id }.into(),
    ]
}

fn deployment() -> Vec<DeploymentEvent> {
    let deployment_id = DeploymentId(uuid(31));
    let change = DeploymentChange {
        config_id: Some(ConfigId(uuid(30))),
        action: Some("CREATE".to_owned()),
        status: Some("COMPLETE".to_owned()),
        status_reason: Some("Outputs received".to_owned()),
        input_values: Some(sealed("deployment-d/0/state/input_values")),
        output_values: Some(sealed("deployment-d/0/state/output_values")),
    };
    vec![
        DeploymentCreated {
            deployment_id,
            project_id: ProjectId::from("p1"),
            stack_user_project_id: Some("p2".to_owned()),
            server_id: "a server".to_owned(),
            state: change.clone(),
        }
        .into(),
        DeploymentUpdated { change }.into(),
        DeploymentDeleted { deployment_id }.into(),
    ]
}

fn rule(statistic: Statistic, comparison: Comparison, tells: bool) -> AlarmRule {
    AlarmRule {
        description: Some("too much to do".to_owned()),
        namespace: Some("system/linux".to_owned()),
        metric: "CPUUtilization".to_owned(),
        dimensions: [("AutoScalingGroupName".to_owned(), "web".to_owned())].into(),
        unit: Some("Percent".to_owned()),
        statistic,
        comparison,
        threshold: 72.5,
        period: 60,
        periods: 3,
        actions: [
            (AlarmState::Alarm, vec!["policy".to_owned()]),
            (AlarmState::Normal, vec!["arn:openstack:heat::p1:stacks/web/x/policy".to_owned()]),
            (AlarmState::NoData, vec!["restarter".to_owned()]),
        ]
        .into(),
        tells,
    }
}

fn alarm() -> Vec<AlarmEvent> {
    let (alarm_id, id) = (AlarmId(uuid(40)), CommandId(uuid(41)));
    let mut events: Vec<AlarmEvent> = vec![
        AlarmMade {
            alarm_id,
            project_id: ProjectId::from("p1"),
            name: "web-cpu-x3k".to_owned(),
            owner: Some(AlarmOwner {
                stack: StackId(uuid(1)),
                resource: ResourceName::from("cpu"),
            }),
            rule: rule(Statistic::Average, Comparison::GreaterThanThreshold, false),
        }
        .into(),
    ];
    let revised = [
        (Statistic::SampleCount, Comparison::GreaterThanOrEqualToThreshold),
        (Statistic::Sum, Comparison::LessThanThreshold),
        (Statistic::Minimum, Comparison::LessThanOrEqualToThreshold),
        (Statistic::Maximum, Comparison::GreaterThanThreshold),
    ];
    events.extend(revised.map(|(statistic, comparison)| {
        AlarmEvent::from(AlarmRevised { rule: rule(statistic, comparison, true) })
    }));
    events.extend([
        AlarmSuspended {}.into(),
        AlarmResumed {}.into(),
        AlarmStateSet {
            state: AlarmState::Alarm,
            reason: "3 periods were beyond 72.5".to_owned(),
            value: Some(93.25),
            by_hand: true,
            tells: vec![AlarmSignal { id, to: "policy".to_owned() }],
        }
        .into(),
        AlarmActionsTold {
            signals: vec![
                SignalTold { id, refused: None },
                SignalTold { id: CommandId(uuid(42)), refused: Some("it is gone".to_owned()) },
            ],
        }
        .into(),
        AlarmActionsSwitched { tells: false }.into(),
        AlarmDeleted { alarm_id }.into(),
    ]);
    events
}

fn metric() -> Vec<MetricEvent> {
    let datum = |value, several, at| Datum {
        metric: "CPUUtilization".to_owned(),
        dimensions: [("AlarmName".to_owned(), "web-cpu-x3k".to_owned())].into(),
        unit: Some("Percent".to_owned()),
        value,
        several,
        at,
    };
    let several = Sample { count: 4.0, sum: 50.0, minimum: 0.5, maximum: 30.0 };
    vec![
        DataPut {
            project_id: ProjectId::from("p1"),
            stack: Some(StackId(uuid(1))),
            namespace: "system/linux".to_owned(),
            data: vec![datum(93.25, None, None), datum(12.5, Some(several), Some(at(60)))],
        }
        .into(),
    ]
}

fn purge() -> StreamsPurged {
    StreamsPurged {
        streams: vec![PurgedStream {
            stream: StreamId::stack(StackId(uuid(9))),
            events: 12,
            hash: "9f86d081884c7d659a2feaa0c55ad015".to_owned(),
        }],
    }
}

fn server() -> ServerStarted {
    ServerStarted {
        api: "http://127.0.0.1:8004/v1".to_owned(),
        host: "controller".to_owned(),
        version: "0.1.0".to_owned(),
    }
}
