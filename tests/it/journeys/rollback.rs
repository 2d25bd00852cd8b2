//! Rolling back a failed create or update.

use hearth::actors::UpdateStack;
use hearth::actors::plan::Change;
use hearth::actors::previewed::PreviewedResource;
use hearth::model::{Action, StackRevision, StackSettings};
use hearth::sandbox::{Fault, FaultRule};
use serde_json::json;

use crate::support::world::{Ground, hot, test_resource};

#[actix::test]
async fn a_failed_create_rolls_back_to_nothing_and_the_stack_stays() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "a": test_resource(json!({})),
        "b": { "type": "OS::Heat::TestResource", "depends_on": "a", "properties": { "fail": true } },
    }));
    let web = world.create_with("web", template, false).await.unwrap();
    assert_eq!(world.settled(&web).await, "ROLLBACK_COMPLETE");
    assert!(world.resources(web.stack).await.is_empty());
    let next = hot(json!({ "a": test_resource(json!({})) }));
    let updated = world.update(web.stack, next).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
}

#[actix::test]
async fn a_failed_update_takes_the_replaced_resource_back() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str, fail: bool| {
        hot(json!({
            "a": test_resource(json!({ "value": value, "update_replace": true })),
            "b": { "type": "OS::Heat::TestResource", "depends_on": "a",
                   "properties": { "value": value, "fail": fail } },
        }))
    };
    let web = world.create_with("web", with("one", false), false).await.unwrap();
    world.settled(&web).await;
    let before = world.physical_id(web.stack, "a").await;
    let failed = world.update(web.stack, with("two", true)).await.unwrap();
    assert_eq!(world.settled(&failed).await, "ROLLBACK_COMPLETE");
    assert_eq!(world.physical_id(web.stack, "a").await, before);
    assert_eq!(world.resources(web.stack).await, ["a UPDATE_COMPLETE", "b CREATE_COMPLETE"]);
    let events = world.events(web.stack).await;
    let own: Vec<&str> =
        events.iter().map(String::as_str).filter(|event| event.starts_with("web ")).collect();
    assert_eq!(
        own[2..],
        [
            "web UPDATE_IN_PROGRESS",
            "web UPDATE_FAILED",
            "web ROLLBACK_IN_PROGRESS",
            "web ROLLBACK_COMPLETE"
        ]
    );
}

#[actix::test]
async fn a_stack_out_of_time_fails_and_says_so() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let ask = hearth::actors::CreateStack {
        name: "web".into(),
        source: hearth::template::StackSource {
            template: hot(json!({ "a": test_resource(json!({ "wait_secs": 30 })) })),
            ..Default::default()
        },
        settings: StackSettings { timeout_mins: Some(0), ..StackSettings::default() },
    };
    let web = world.engine.create_stack(&world.requester(), ask).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    assert_eq!(world.reason(web.stack).await, "Timed out");
    let listed = world.views.resources(web.stack).await.unwrap();
    let wanted = format!(
        "CREATE aborted (Task create from TestResource \"a\" Stack \"web\" [{}] Timed out)",
        web.stack
    );
    assert_eq!(listed[0].reason, wanted);
}

/// The resources of which something becomes, and why.
fn told(kind: &[PreviewedResource]) -> Vec<String> {
    kind.iter().map(|resource| format!("{}: {}", resource.name, resource.why)).collect()
}

#[actix::test]
async fn an_earlier_revision_becomes_the_newest() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str, more: &str| {
        hot(json!({ "a": test_resource(json!({ "value": value })),
                    more: test_resource(json!({ "value": "same" })) }))
    };
    let web = world.create("web", with("one", "b")).await.unwrap();
    world.settled(&web).await;
    let updated = world.update(web.stack, with("two", "c")).await.unwrap();
    world.settled(&updated).await;
    let first = world.physical_id(web.stack, "a").await;

    let who = world.requester();
    let before = ground.log.durable_position();
    let plan = world.engine.preview_roll_back_to(&who, web.stack, StackRevision(1)).await.unwrap();
    assert_eq!(ground.log.durable_position(), before, "a plan writes nothing");
    assert_eq!(told(&plan.added), ["b: it is new"]);
    assert_eq!(told(&plan.updated), ["a: value changes"]);
    assert_eq!(told(&plan.deleted), ["c: the template does not have it"]);

    let back = world.roll_back(web.stack, StackRevision(1)).await.unwrap();
    assert_eq!(world.settled(&back).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["a UPDATE_COMPLETE", "b CREATE_COMPLETE"]);
    assert_eq!(world.physical_id(web.stack, "a").await, first);

    for missing in [0, 9] {
        let who = world.requester();
        let asked = world.engine.roll_back_to(&who, web.stack, StackRevision(missing));
        let refused = asked.await.unwrap_err();
        assert_eq!(refused.message, format!("The Revision ({missing}) could not be found."));
    }
}

#[actix::test]
async fn a_plan_to_go_back_says_what_then_happens() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |tag: &str, cidr: &str, value: &str| {
        hot(json!({
            "net": { "type": "OS::Neutron::Net", "properties": { "tags": [tag] } },
            "subnet": { "type": "OS::Neutron::Subnet", "properties": {
                "network": { "get_resource": "net" }, "cidr": cidr } },
            "router": { "type": "OS::Neutron::Router" },
            "interface": { "type": "OS::Neutron::RouterInterface", "properties": {
                "router": { "get_resource": "router" }, "subnet": { "get_resource": "subnet" } } },
            "value": test_resource(json!({ "value": value })),
            "reader": test_resource(json!({ "value": { "get_attr": ["value", "output"] } })),
            "group": { "type": "OS::Heat::ResourceGroup", "properties": { "count": 1,
                "resource_def": { "type": "OS::Heat::TestResource",
                                  "properties": { "value": { "get_resource": "net" } } } } },
        }))
    };
    let web = world.create("web", with("one", "10.9.0.0/24", "x")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    for (revision, tag, cidr, value) in [
        (2, "two", "10.9.0.0/24", "x"),
        (4, "two", "10.8.0.0/24", "x"),
        (6, "one", "10.9.0.0/24", "y"),
    ] {
        let updated = world.update(web.stack, with(tag, cidr, value)).await.unwrap();
        assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE", "{revision}");
        let who = world.requester();
        let to = StackRevision(1);
        let plan = world.engine.preview_roll_back_to(&who, web.stack, to).await.unwrap();
        let before = world.views.resources(web.stack).await.unwrap();
        let known = ground.log.durable_position();
        let back = world.roll_back(web.stack, to).await.unwrap();
        let end = world.settled(&back).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
        let after = world.views.resources(web.stack).await.unwrap();
        for row in &after {
            let former = before.iter().find(|it| it.name == row.name).unwrap();
            let says =
                |kind: &[PreviewedResource]| kind.iter().any(|it| it.name == row.name.as_str());
            let is_touched = row.updated_at.is_some_and(|at| Some(at) != former.updated_at);
            let is_replaced = row.id != former.id;
            let did = (is_replaced, is_touched && !is_replaced);
            let said = (says(&plan.replaced), says(&plan.updated));
            assert_eq!(did, said, "revision {revision}, {}, since {known:?}", row.name);
        }
    }
}

#[actix::test]
async fn a_plan_to_go_back_warns_where_a_volume_would_have_to_shrink() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |size: u32| {
        hot(json!({ "volume": { "type": "OS::Cinder::Volume", "properties": { "size": size } } }))
    };
    let web = world.create("web", with(1)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let updated = world.update(web.stack, with(2)).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let who = world.requester();
    let plan = world.engine.preview_roll_back_to(&who, web.stack, StackRevision(1)).await.unwrap();
    assert_eq!(plan.updated[0].why, "size changes (Shrinking volume is not supported.)");
    let back = world.roll_back(web.stack, StackRevision(1)).await.unwrap();
    assert_eq!(world.settled(&back).await, "UPDATE_FAILED");
    assert!(world.reason(web.stack).await.ends_with("Shrinking volume is not supported."));
}

#[actix::test]
async fn a_type_that_takes_the_place_of_another_is_planned_as_an_update() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let of_type = |type_name: &str| {
        hot(json!({
            "config": { "type": "OS::Heat::SoftwareConfig" },
            "group": { "type": type_name, "properties": {
                "servers": {}, "config": { "get_resource": "config" } } },
        }))
    };
    let web = world.create("web", of_type("OS::Heat::SoftwareDeployments")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let template = Some(of_type("OS::Heat::SoftwareDeploymentGroup"));
    let ask = UpdateStack { template, ..UpdateStack::default() };
    let plan = world.engine.plan_update(&world.requester(), web.stack, &ask).await.unwrap();
    assert_eq!(told(&plan.updated), ["group: type, definition changes"]);
    // Heat's own preview knows nothing of substitutes.
    let who = world.requester();
    let preview = world.engine.preview_update(&who, web.stack, &ask, false).await.unwrap();
    assert_eq!(told(&preview.replaced), ["group: the type was OS::Heat::SoftwareDeployments"]);
    let updated = world.update_as(web.stack, ask).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
}

#[actix::test]
async fn what_hangs_on_a_value_that_is_not_known_yet_may_change() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str, entity: &str| {
        hot(json!({
            "a": test_resource(json!({ "value": value, "entity_name": entity })),
            "b": test_resource(json!({ "value": { "get_attr": ["a", "output"] } })),
            "c": test_resource(json!({
                "value": { "get_attr": ["b", "output"] }, "update_replace": true })),
            "d": test_resource(json!({ "value": { "get_resource": "a" } })),
        }))
    };
    let web = world.create("web", with("one", "x")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    for (value, entity, sure) in [("one", "y", "entity_name"), ("two", "y", "value")] {
        let template = Some(with(value, entity));
        let ask = UpdateStack { template, ..UpdateStack::default() };
        let plan = world.engine.plan_update(&world.requester(), web.stack, &ask).await.unwrap();
        assert_eq!(
            told(&plan.updated),
            [format!("a: {sure} changes"), "b: value may change".into()]
        );
        assert_eq!(told(&plan.replaced), ["c: value may change"]);
        assert_eq!(told(&plan.unchanged), ["d: "]);
        let least: Vec<_> = plan.updated.iter().chain(&plan.replaced).map(|it| it.least).collect();
        let unchanged = Some(Change::Unchanged);
        assert_eq!(least, [None, unchanged, unchanged]);
        let updated = world.update_as(web.stack, ask).await.unwrap();
        assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    }
}

#[actix::test]
async fn there_is_a_way_back_from_a_suspended_stack() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str| hot(json!({ "a": test_resource(json!({ "value": value })) }));
    let web = world.create("web", with("one")).await.unwrap();
    world.settled(&web).await;
    world.settled(&world.update(web.stack, with("two")).await.unwrap()).await;
    let who = world.requester();
    let suspended = world.engine.act_on_stack(&who, web.stack, Action::Suspend).await.unwrap();
    assert_eq!(world.settled(&suspended).await, "SUSPEND_COMPLETE");
    let refused = world.update(web.stack, with("three")).await.unwrap_err();
    assert_eq!(refused.message, "Updating a stack when it is suspended is not supported.");
    let back = world.roll_back(web.stack, StackRevision(1)).await.unwrap();
    assert_eq!(world.settled(&back).await, "UPDATE_COMPLETE");
    // And back again: a rollback is a revision as any other.
    let again = world.roll_back(web.stack, StackRevision(2)).await.unwrap();
    assert_eq!(world.settled(&again).await, "UPDATE_COMPLETE");
    let revisions = world.views.revisions(web.stack).await.unwrap();
    assert_eq!(revisions.len(), 4);
}

#[actix::test]
async fn what_was_suspended_stays_so_on_the_way_back_and_can_be_resumed() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let server = |value: &str| {
        json!({ "type": "OS::Nova::Server", "properties": {
            "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
            "metadata": { "k": value } } })
    };
    let with = |value: &str, more: &str| {
        hot(json!({
            "own": server(value),
            "same": server("same"),
            "group": { "type": "OS::Heat::ResourceGroup", "properties": {
                "count": 1, "resource_def": server(value) } },
            "still": { "type": "OS::Heat::ResourceGroup", "properties": {
                "count": 1, "resource_def": test_resource(json!({})) } },
            more: test_resource(json!({})),
        }))
    };
    let statuses = || {
        let servers = ground.sandbox.state()["servers"].clone();
        let of = |status: &str| servers.to_string().matches(status).count();
        [of("\"ACTIVE\""), of("\"SUSPENDED\"")].map(|count| count > 0)
    };
    let web = world.create("web", with("one", "b")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    world.settled(&world.update(web.stack, with("two", "c")).await.unwrap()).await;
    let act = async |action: Action| {
        let who = world.requester();
        let acted = world.engine.act_on_stack(&who, web.stack, action).await.unwrap();
        (world.settled(&acted).await, world.reason(web.stack).await)
    };
    assert_eq!(act(Action::Suspend).await.0, "SUSPEND_COMPLETE");
    for revision in [1, 2] {
        let (who, to) = (world.requester(), StackRevision(revision));
        let plan = world.engine.preview_roll_back_to(&who, web.stack, to).await.unwrap();
        let listed = plan.changes.listed();
        let resting = listed.iter().filter(|it| it.entry.stays_suspended);
        let mut resting: Vec<&str> = resting.map(|it| it.path.as_str()).collect();
        resting.sort_unstable();
        assert_eq!(resting, ["group/0", "own", "same"]);
        let back = world.roll_back(web.stack, to).await.unwrap();
        let reason = async || world.reason(web.stack).await;
        assert_eq!(world.settled(&back).await, "UPDATE_COMPLETE", "{}", reason().await);
        assert_eq!(statuses(), [false, true], "nothing is resumed by the way");
    }
    let plan = world.engine.plan_act(&world.requester(), web.stack, Action::Resume).await.unwrap();
    let acted: Vec<&str> = plan.acted.iter().map(|(_, entry)| entry.name.as_str()).collect();
    assert_eq!(acted, ["own", "same", "group", "still"]);
    let (end, reason) = act(Action::Resume).await;
    assert_eq!(end, "RESUME_COMPLETE", "{reason}");
    assert_eq!(statuses(), [true, false]);
    let updated = world.update(web.stack, with("three", "d")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(act(Action::Suspend).await.0, "SUSPEND_COMPLETE");
    assert_eq!(statuses(), [false, true]);
}

#[actix::test]
async fn what_a_failed_deletion_has_left_is_taken_back_and_the_rest_is_made_anew() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "volume": { "type": "OS::Cinder::Volume", "properties": { "size": 1 } },
    }));
    let empty = ground.counts();
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let made = ground.counts();
    let network = world.physical_id(web.stack, "net").await;
    let rule = FaultRule {
        method: Some("DELETE".to_owned()),
        path: Some("/v2.0/networks/".to_owned()),
        count: Some(1),
        fault: Fault::Status { code: 403, retry_after: None },
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![rule]).unwrap();
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_FAILED");
    world.at_rest(web.stack).await;

    let who = world.requester();
    let plan = world.engine.preview_roll_back_to(&who, web.stack, StackRevision(1)).await.unwrap();
    let lost: Vec<_> = plan.replaced.iter().chain(&plan.added).map(|it| &it.loses).collect();
    assert!(lost.contains(&&Some("the data on the volume".to_owned())), "{lost:?}");
    let back = world.engine.roll_back_to(&who, web.stack, StackRevision(1)).await.unwrap();
    assert_eq!(world.settled(&back).await, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(ground.counts(), made, "each thing is there once");
    assert!(world.physical_id(web.stack, "net").await.is_some() && network.is_some());
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), empty);
}
