//! What somebody changed in the cloud: found by looks, put on record, accepted or brought back.

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use hearth::actors::CreateStack;
use hearth::actors::drift::{FieldFound, Found};
use hearth::clock::{Clock, SimulatedClock, SystemClock};
use hearth::events::log::Filter;
use hearth::events::stack::DriftLooked;
use hearth::events::{Position, StackEvent};
use hearth::model::taint::MASK;
use hearth::model::{Action, DriftEvery, StackSettings};
use hearth::outlets::{OutletParts, Outlets};
use hearth::sandbox::FaultRule;
use hearth::template::StackSource;
use serde_json::{Value, json};

use super::reality::{Other, network};
use crate::support::wait::until;
use crate::support::world::{Ground, World, hot};

#[actix::test]
async fn what_somebody_changed_is_found_by_a_look_and_put_on_record_by_a_check() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", network()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let found = async || {
        let found = world.engine.drift(&world.requester(), web.stack).await.unwrap();
        found.into_iter().map(|it| (it.path, it.found)).collect::<Vec<_>>()
    };
    let check = async || {
        let who = world.requester();
        let checked = world.engine.act_on_stack(&who, web.stack, Action::Check).await.unwrap();
        world.settled(&checked).await
    };
    let same = |name: &str| (name.to_owned(), Found::Same);
    let before = ground.log.durable_position();
    let all = [same("net"), same("subnet"), same("port"), same("value")];
    assert_eq!(found().await, all);
    assert_eq!(ground.log.durable_position(), before, "a look writes nothing");
    assert_eq!(check().await, "CHECK_COMPLETE");
    assert_eq!(ground.count("RealityObserved").await, 0);

    let id = world.physical_id(web.stack, "net").await.unwrap();
    let other = Other::new(&ground, &world);
    let renamed = json!({ "network": { "name": "their-name" } });
    other.send("PUT", &format!("/network/v2.0/networks/{id}"), renamed).await;
    let name = FieldFound {
        name: "name".to_owned(),
        recorded: "own-name".into(),
        live: "their-name".into(),
    };
    assert_eq!(found().await[0], ("net".to_owned(), Found::Differs(vec![name])));
    assert_eq!(check().await, "CHECK_COMPLETE");
    assert_eq!(ground.count("RealityObserved").await, 1, "a network has no check of its own");

    let id = world.physical_id(web.stack, "port").await.unwrap();
    other.send("DELETE", &format!("/network/v2.0/ports/{id}"), Value::Null).await;
    assert!(found().await.contains(&("port".to_owned(), Found::Gone)));
    assert_eq!(check().await, "CHECK_COMPLETE");
    assert_eq!(ground.count("RealityObserved").await, 3);
}

#[actix::test]
async fn a_check_of_its_own_puts_on_record_what_somebody_changed() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let server = json!({ "type": "OS::Nova::Server", "properties": { "name": "own-name",
        "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }] } });
    let web = world.create("web", hot(json!({ "server": server }))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let check = async || {
        let who = world.requester();
        let checked = world.engine.act_on_stack(&who, web.stack, Action::Check).await.unwrap();
        world.settled(&checked).await
    };
    assert_eq!(check().await, "CHECK_COMPLETE");
    assert_eq!(ground.count("RealityObserved").await, 0);
    let id = world.physical_id(web.stack, "server").await.unwrap();
    let renamed = json!({ "server": { "name": "their-name" } });
    let path = format!("/compute/v2.1/servers/{id}");
    Other::new(&ground, &world).send("PUT", &path, renamed).await;
    assert_eq!(check().await, "CHECK_COMPLETE", "a finding is no failure");
    assert_eq!(ground.count("RealityObserved").await, 1);
}

/// A network whose name is a text, and a security group whose name is a parameter.
fn named() -> Value {
    let mut template = hot(json!({
        "net": { "type": "OS::Neutron::Net", "properties": { "name": "own-name" } },
        "group": { "type": "OS::Neutron::SecurityGroup", "properties": {
            "name": { "get_param": "label" } } },
        "joined": { "type": "OS::Neutron::Net", "properties": {
            "name": { "list_join": ["-", ["a", "b"]] } } },
    }));
    template["parameters"] = json!({ "label": { "type": "string", "default": "own-group" } });
    template
}

#[actix::test]
async fn what_differs_is_accepted_or_brought_back() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", named()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let other = Other::new(&ground, &world);
    let rename = async |resource: &str, kind: &str, name: &str| {
        let id = world.physical_id(web.stack, resource).await.unwrap();
        let path = format!("/network/v2.0/{}s/{id}", kind.replace('_', "-"));
        other.send("PUT", &path, json!({ kind: { "name": name } })).await;
        id
    };
    let is_as_on_record = async || {
        let found = world.engine.drift(&world.requester(), web.stack).await.unwrap();
        found.iter().all(|it| it.found == Found::Same)
    };
    let who = world.requester();
    let refused = world.engine.accept_drift(&who, web.stack).await.unwrap_err();
    assert_eq!(refused.message, "Nothing differs from what is on record.");

    let net = rename("net", "network", "their-name").await;
    rename("group", "security_group", "their-group").await;
    let before = ground.counts();
    let accepted = world.engine.accept_drift(&world.requester(), web.stack).await.unwrap();
    assert_eq!(
        world.settled(&accepted).await,
        "UPDATE_COMPLETE",
        "{}",
        world.reason(web.stack).await
    );
    assert!(is_as_on_record().await);
    assert_eq!(ground.counts(), before, "nothing is made anew");
    assert_eq!(world.physical_id(web.stack, "net").await.unwrap(), net);
    let source = world.engine.source_of(&world.requester(), web.stack).await.unwrap();
    assert_eq!(source.template["resources"]["net"]["properties"]["name"], "their-name");
    assert_eq!(source.parameters["label"], "their-group");

    rename("joined", "network", "other").await;
    let refused = world.engine.accept_drift(&world.requester(), web.stack).await.unwrap_err();
    assert_eq!(refused.message, "What there is cannot be accepted: joined.name is computed.");
    let repaired = world.engine.repair_drift(&world.requester(), web.stack).await.unwrap();
    assert_eq!(world.settled(&repaired).await, "UPDATE_COMPLETE");
    assert!(is_as_on_record().await);
    assert!(ground.sandbox.state()["networks"].to_string().contains("a-b"));
}

#[actix::test]
async fn what_stands_in_the_place_of_a_secret_is_shown_and_accepted_nowhere() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let hidden = |secret: &str| {
        let mut template = hot(json!({ "net": { "type": "OS::Neutron::Net", "properties": {
            "name": { "get_param": "pw" } } } }));
        template["parameters"] =
            json!({ "pw": { "type": "string", "hidden": true, "default": secret } });
        template
    };
    let web = world.create("web", hidden("hidden-before")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let updated = world.update(web.stack, hidden("hidden-now")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let id = world.physical_id(web.stack, "net").await.unwrap();
    let renamed = json!({ "network": { "name": "hidden-before" } });
    let path = format!("/network/v2.0/networks/{id}");
    Other::new(&ground, &world).send("PUT", &path, renamed).await;

    let found = world.engine.drift(&world.requester(), web.stack).await.unwrap().remove(0);
    let (recorded, live) = (MASK.into(), MASK.into());
    let name = FieldFound { name: "name".to_owned(), recorded, live };
    assert_eq!(found.found, Found::Differs(vec![name]));
    let who = world.requester();
    let checked = world.engine.act_on_stack(&who, web.stack, Action::Check).await.unwrap();
    assert_eq!(world.settled(&checked).await, "CHECK_COMPLETE");
    world.engine.look_for_drift(web.stack).await.unwrap();
    assert_eq!((ground.count("RealityObserved").await, looks(&ground).await.len()), (1, 1));
    let events = ground.log.read_all(Position(0), &Filter::default(), 10_000).await.unwrap();
    let shown = events.iter().find(|event| event.body.contains("hidden-before"));
    assert!(shown.is_none(), "{shown:?}");
    let refused = world.engine.accept_drift(&world.requester(), web.stack).await.unwrap_err();
    assert_eq!(refused.message, "What there is cannot be accepted: net.name is secret.");

    let repaired = world.engine.repair_drift(&world.requester(), web.stack).await.unwrap();
    assert_eq!(world.settled(&repaired).await, "UPDATE_COMPLETE");
    assert!(ground.sandbox.state()["networks"].to_string().contains("hidden-now"));
}

/// The looks that are on record, in their order.
async fn looks(ground: &Ground) -> Vec<DriftLooked> {
    let events = ground.log.read_all(Position(0), &Filter::default(), 10_000).await.unwrap();
    let looks = events.iter().filter(|event| &*event.event_type == "DriftLooked");
    looks
        .map(|event| match event.decode() {
            Ok(StackEvent::DriftLooked(looked)) => looked,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[actix::test]
async fn what_an_update_changes_while_somebody_looks_is_no_drift() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let net = |name: &str| {
        hot(json!({ "net": { "type": "OS::Neutron::Net",
                                                "properties": { "name": name } } }))
    };
    let web = world.create("web", net("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let late = FaultRule {
        method: Some("GET".to_owned()),
        path: Some("/network/v2.0/networks/".to_owned()),
        count: Some(1),
        latency_ms: 2_000,
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![late]).unwrap();
    let (looked, end) = futures::join!(world.engine.look_for_drift(web.stack), async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let updated = world.update(web.stack, net("two")).await.unwrap();
        world.settled(&updated).await
    });
    assert_eq!(end, "UPDATE_COMPLETE");
    assert!(looked.unwrap_err().is_unavailable());
    assert!(looks(&ground).await.is_empty());
    world.engine.look_for_drift(web.stack).await.unwrap();
    assert!(looks(&ground).await[0].resources.is_empty());
}

#[actix::test]
async fn a_stack_is_looked_at_when_its_schedule_says_so() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let create = async |name: &str, tag: Option<&str>| {
        let source = StackSource { template: named(), ..StackSource::default() };
        let ask = CreateStack {
            name: name.into(),
            source,
            settings: StackSettings {
                tags: tag.map(str::to_owned).into_iter().collect(),
                ..StackSettings::default()
            },
        };
        world.engine.create_stack(&world.requester(), ask).await
    };
    let refused = create("web", Some("hearth:drift_every=10s")).await.unwrap_err();
    assert!(refused.message.contains("from 5m to 366d"), "{refused}");
    let web = create("web", Some("hearth:drift_every=5m")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let plain = create("plain", None).await.unwrap();
    assert_eq!(world.settled(&plain).await, "CREATE_COMPLETE");
    let never = create("never", Some("hearth:drift_every=never")).await.unwrap();
    assert_eq!(world.settled(&never).await, "CREATE_COMPLETE");

    let id = world.physical_id(web.stack, "net").await.unwrap();
    let renamed = json!({ "network": { "name": "their-name" } });
    let path = format!("/network/v2.0/networks/{id}");
    Other::new(&ground, &world).send("PUT", &path, renamed).await;
    let position = world.views.stack(web.stack).await.unwrap().unwrap().position;
    let at = |minutes: i64| SystemClock.now() + TimeDelta::minutes(minutes);
    let due = async |world: &World, default: Option<TimeDelta>, minutes| {
        world.views.drift_due(default, at(minutes)).await.unwrap()
    };
    assert!(due(&world, None, 4).await.is_empty());
    assert_eq!(due(&world, None, 6).await, [web.stack]);
    assert_eq!(due(&world, Some(TimeDelta::hours(1)), 61).await, [web.stack, plain.stack]);

    let clock = SimulatedClock::new(1);
    clock.advance(at(6) - clock.now());
    let outlets = Outlets::start(&OutletParts {
        engine: world.engine.clone(),
        views: world.views.clone(),
        log: ground.log.clone(),
        clock: Arc::new(clock),
        notifications: None,
        tracer: Default::default(),
        drift_every: DriftEvery::Never,
    });
    until(&[&ground], "a look", async || !looks(&ground).await.is_empty()).await;
    outlets.stop().await;
    let found = looks(&ground).await.remove(0);
    assert_eq!((found.same, found.resources.len(), found.more), (2, 1, 0));
    let net = &found.resources[0];
    assert_eq!((net.path.as_str(), net.drift.as_str()), ("net", "differs"));
    let name = &net.properties[0];
    let (own, theirs) = (Some("own-name".into()), Some("their-name".into()));
    assert_eq!((&name.recorded, &name.live), (&own, &theirs));

    // The next one is due by what is on record, also for another process.
    world.engine.shutdown();
    let world = ground.start().await;
    ground.views_catch_up(&world).await;
    assert!(due(&world, None, 4).await.is_empty());
    assert_eq!(due(&world, None, 6).await, [web.stack]);
    // Whoever saw the stack before may still change it: it is as it was.
    assert_eq!(world.views.stack(web.stack).await.unwrap().unwrap().position, position);
    let mut who = world.requester();
    who.conditions.at = Some(vec![position]);
    let repaired = world.engine.repair_drift(&who, web.stack).await.unwrap();
    assert_eq!(world.settled(&repaired).await, "UPDATE_COMPLETE");
}
