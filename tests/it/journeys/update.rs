//! Updating stacks: in place, by replacement, by removal.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::cut_log::CutLog;
use crate::support::wait::until;
use crate::support::world::{Ground, hot, test_resource};

#[actix::test]
async fn a_template_that_changes_nothing_touches_no_resource() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({ "value": "one" })) }));
    let web = world.create("web", template.clone()).await.unwrap();
    world.settled(&web).await;
    let updated = world.update(web.stack, template).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(
        world.events(web.stack).await[4..],
        ["web UPDATE_IN_PROGRESS", "web UPDATE_COMPLETE"]
    );
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE"]);
}

#[actix::test]
async fn a_changed_value_is_updated_in_place_and_reaches_its_users() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str| {
        hot(json!({
            "a": test_resource(json!({ "value": value })),
            "b": test_resource(json!({ "value": { "get_attr": ["a", "output"] } })),
        }))
    };
    let web = world.create("web", with("one")).await.unwrap();
    world.settled(&web).await;
    let before = world.physical_id(web.stack, "a").await;
    let updated = world.update(web.stack, with("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["a UPDATE_COMPLETE", "b UPDATE_COMPLETE"]);
    assert_eq!(world.physical_id(web.stack, "a").await, before);
}

#[actix::test]
async fn a_replacement_is_created_before_the_old_one_goes() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str| {
        hot(json!({
            "a": test_resource(json!({ "value": value, "update_replace": true })),
            "b": test_resource(json!({ "value": { "get_attr": ["a", "output"] } })),
        }))
    };
    let web = world.create("web", with("one")).await.unwrap();
    world.settled(&web).await;
    let updated = world.update(web.stack, with("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(
        world.events(web.stack).await[6..],
        [
            "web UPDATE_IN_PROGRESS",
            "a UPDATE_IN_PROGRESS",
            "a UPDATE_COMPLETE",
            "a CREATE_IN_PROGRESS",
            "a CREATE_COMPLETE",
            "b UPDATE_IN_PROGRESS",
            "b UPDATE_COMPLETE",
            "a DELETE_IN_PROGRESS",
            "a DELETE_COMPLETE",
            "web UPDATE_COMPLETE",
        ]
    );
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "b UPDATE_COMPLETE"]);
}

#[actix::test]
async fn a_resource_left_out_is_deleted_and_a_new_one_created() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world
        .create("web", hot(json!({ "a": test_resource(json!({})), "b": test_resource(json!({})) })))
        .await
        .unwrap();
    world.settled(&web).await;
    let template = hot(json!({ "a": test_resource(json!({})), "c": test_resource(json!({})) }));
    let updated = world.update(web.stack, template).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE", "c CREATE_COMPLETE"]);
}

#[actix::test]
async fn a_failed_stack_is_mended_by_updating_it() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |fail: bool| hot(json!({ "a": test_resource(json!({ "fail": fail })) }));
    let web = world.create("web", with(true)).await.unwrap();
    world.settled(&web).await;
    for _ in 0..2 {
        let failed = world.update(web.stack, with(true)).await.unwrap();
        assert_eq!(world.settled(&failed).await, "UPDATE_FAILED");
    }
    let mended = world.update(web.stack, with(false)).await.unwrap();
    assert_eq!(world.settled(&mended).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["a CREATE_COMPLETE"]);
}

#[actix::test]
async fn an_update_that_comes_as_its_stack_goes_to_rest_is_carried_out() {
    /// More than a stack stays awake with nothing to do.
    const LONG: Duration = Duration::from_millis(2300);
    let ground = Ground::new().await;
    let template = |value: &str| hot(json!({ "a": test_resource(json!({ "value": value })) }));
    let world = ground.start().await;
    let web = world.create("web", template("one")).await.unwrap();
    world.settled(&web).await;
    world.engine.shutdown();

    let log = Arc::new(CutLog::new(ground.log.clone(), i64::MAX));
    let world = ground.start_on(log.clone()).await;
    let held = log.hold().await;
    let let_go = async {
        tokio::time::sleep(LONG).await;
        drop(held);
    };
    let (updated, ()) = futures::join!(world.update(web.stack, template("two")), let_go);
    assert_eq!(world.settled(&updated.unwrap()).await, "UPDATE_COMPLETE");
}

#[actix::test]
async fn a_stack_that_rests_is_woken_where_the_log_has_lost_its_end() {
    let ground = Ground::new().await;
    let log = Arc::new(CutLog::new(ground.log.clone(), i64::MAX));
    let world = ground.start_on(log.clone()).await;
    // Of another's stack, which nobody here knows, that is on record then.
    let elsewhere = Arc::new(CutLog::new(ground.log.clone(), 6));
    let other = ground.start_on(elsewhere.clone()).await;
    let template = hot(json!({ "net": { "type": "OS::Neutron::Net" } }));
    let web = other.create("web", template).await.unwrap();
    until(&[&*elsewhere], "the log breaks off", async || elsewhere.is_cut()).await;
    log.fall_back();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
}

#[actix::test]
async fn a_port_that_loses_its_security_groups_has_the_default_group_again() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |groups: Value| {
        let mut template = hot(json!({
            "net": { "type": "OS::Neutron::Net" },
            "web": { "type": "OS::Neutron::SecurityGroup" },
            "port": { "type": "OS::Neutron::Port", "properties": {
                "network": { "get_resource": "net" }, "security_groups": groups } },
        }));
        if groups.is_null() {
            let properties = &mut template["resources"]["port"]["properties"];
            properties.as_object_mut().unwrap().shift_remove("security_groups");
        }
        template
    };
    let groups = async |stack| {
        let (who, wanted) = (world.requester(), ["security_groups".to_owned()]);
        let seen = world.engine.inspect_resource(&who, stack, &"port".into(), &wanted).await;
        seen.unwrap()["security_groups"].clone()
    };
    let web = world.create("web", with(Value::Null)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let default = groups(web.stack).await;
    for (given, is_default) in [(json!([{ "get_resource": "web" }]), false), (Value::Null, true)] {
        let updated = world.update(web.stack, with(given)).await.unwrap();
        let end = world.settled(&updated).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
        assert_eq!(groups(web.stack).await == default, is_default);
    }
}
