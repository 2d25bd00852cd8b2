//! Policies that change the size of groups when they are signaled.

use std::time::Duration;

use hearth::actors::EngineLimits;
use hearth::model::{StackId, Status};
use hearth::projections::EventQuery;
use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot, test_resource};

/// A group `g` with policies `up`, `down` and `percent`.
fn template(group: Value, policy: Value) -> Value {
    let mut properties = json!({
        "min_size": 1,
        "max_size": 4,
        "resource": test_resource(json!({ "value": "x" })),
    });
    merge(&mut properties, &group);
    let scaling = |by: i64, kind: &str| {
        let mut properties = json!({
            "auto_scaling_group_id": { "get_resource": "g" },
            "scaling_adjustment": by,
            "adjustment_type": kind,
        });
        merge(&mut properties, &policy);
        json!({ "type": "OS::Heat::ScalingPolicy", "properties": properties })
    };
    let mut template = hot(json!({
        "g": { "type": "OS::Heat::AutoScalingGroup", "properties": properties },
        "up": scaling(1, "change_in_capacity"),
        "down": scaling(-1, "change_in_capacity"),
        "percent": scaling(50, "percent_change_in_capacity"),
    }));
    template["outputs"] = json!({
        "size": { "value": { "get_attr": ["g", "current_size"] } },
        "list": { "value": { "get_attr": ["g", "outputs_list", "output"] } },
    });
    template
}

fn merge(into: &mut Value, from: &Value) {
    for (key, value) in from.as_object().unwrap() {
        into[key] = value.clone();
    }
}

/// Signals a policy, and waits until all that came of it is done.
async fn signal(ground: &Ground, world: &World, stack: StackId, name: &str) {
    let who = world.requester();
    world.engine.signal_resource(&who, stack, &name.into(), &Value::Null).await.unwrap();
    ground.signals_over().await;
    ground.views_catch_up(world).await;
}

async fn output(world: &World, stack: StackId, key: &str) -> Value {
    let shown = world.views.stack_shown(stack).await.unwrap().unwrap();
    let output = shown.outputs.iter().find(|output| output.key == key).unwrap();
    world.opened(stack, &output.placed)
}

/// How often the event list tells of a signal to the resource.
async fn told(world: &World, stack: StackId, name: &str) -> usize {
    let line = format!("{name} SIGNAL_COMPLETE");
    world.events(stack).await.iter().filter(|event| **event == line).count()
}

#[actix::test]
async fn a_signal_to_a_policy_changes_the_size_of_its_group() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", template(json!({}), json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, web.stack, "size").await, 1);
    for (policy, size, events) in
        [("up", 2, 1), ("percent", 3, 1), ("up", 4, 2), ("up", 4, 2), ("down", 3, 1)]
    {
        signal(&ground, &world, web.stack, policy).await;
        assert_eq!(output(&world, web.stack, "size").await, size, "{policy}");
        assert_eq!(told(&world, web.stack, policy).await, events, "{policy}");
    }
    assert_eq!(output(&world, web.stack, "list").await, json!(["x", "x", "x"]));
    let resources = world.resources(web.stack).await;
    assert!(resources.iter().all(|it| it.ends_with("CREATE_COMPLETE")), "{resources:?}");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_group_that_rests_takes_no_signal() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    // It rests from its creation on.
    let web = world.create("web", template(json!({ "cooldown": 3600 }), json!({}))).await.unwrap();
    world.settled(&web).await;
    signal(&ground, &world, web.stack, "up").await;
    assert_eq!(output(&world, web.stack, "size").await, 1);
    assert_eq!(told(&world, web.stack, "up").await, 0, "an idle signal is not told");
    let who = world.requester();
    let metadata = world.engine.resource_metadata(&who, web.stack, &"g".into()).await;
    let metadata = Value::Object(metadata.unwrap());
    assert_eq!(metadata["scaling_in_progress"], false);
    let ends = metadata["cooldown_end"].as_object().unwrap();
    assert_eq!(ends.values().next().unwrap(), "ExactCapacity : 1");
}

#[actix::test]
async fn the_rest_after_a_signal_is_the_policy_s_own() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", template(json!({}), json!({ "cooldown": 3600 }))).await.unwrap();
    world.settled(&web).await;
    signal(&ground, &world, web.stack, "up").await;
    signal(&ground, &world, web.stack, "up").await;
    assert_eq!(output(&world, web.stack, "size").await, 2);
    // An update of the group takes place all the same.
    let desired = template(json!({ "desired_capacity": 4 }), json!({ "cooldown": 3600 }));
    let updated = world.update(web.stack, desired).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(output(&world, web.stack, "size").await, 4);
}

#[actix::test]
async fn a_policy_without_its_group_fails_alone() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let mut template = template(json!({}), json!({}));
    template["resources"]["up"]["properties"]["auto_scaling_group_id"] = json!("nobody");
    template["resources"]["down"]["properties"]["auto_scaling_group_id"] =
        json!({ "get_resource": "up" });
    let web = world.create("web", template).await.unwrap();
    world.settled(&web).await;
    for policy in ["up", "down"] {
        signal(&ground, &world, web.stack, policy).await;
        assert_eq!(output(&world, web.stack, "size").await, 1);
        assert_eq!(told(&world, web.stack, policy).await, 0);
    }
}

#[actix::test]
async fn instances_are_made_of_a_launch_configuration() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |size: usize| {
        json!({
            "HeatTemplateFormatVersion": "2012-12-12",
            "Resources": {
                "conf": { "Type": "AWS::AutoScaling::LaunchConfiguration", "Properties": {
                    "ImageId": "cirros", "InstanceType": "m1.tiny" } },
                "g": { "Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {
                    "AvailabilityZones": ["nova"], "MinSize": "1", "MaxSize": "3",
                    "DesiredCapacity": size, "LaunchConfigurationName": { "Ref": "conf" } } },
                "up": { "Type": "AWS::AutoScaling::ScalingPolicy", "Properties": {
                    "AutoScalingGroupName": { "Ref": "g" }, "ScalingAdjustment": "1",
                    "AdjustmentType": "ChangeInCapacity" } },
                "proxy": { "Type": "OS::Heat::TestResource", "Metadata": {
                    "servers": { "Fn::GetAtt": ["g", "InstanceList"] } } },
            },
            "Outputs": { "list": { "Value": { "Fn::GetAtt": ["g", "InstanceList"] } } },
        })
    };
    let mut instance = json!({
        "HeatTemplateFormatVersion": "2012-12-12",
        "Parameters": {
            "ImageId": { "Type": "String" }, "InstanceType": { "Type": "String" },
            "Tags": { "Type": "CommaDelimitedList" },
        },
        "Resources": { "it": { "Type": "OS::Heat::TestResource",
                               "Properties": { "value": { "Ref": "ImageId" } } } },
    });
    // It stands behind the type of members by way of another, and need not have all of its
    // attributes.
    instance["Outputs"]["PublicIp"] = json!({ "Value": { "Fn::GetAtt": ["it", "output"] } });
    let web = world.create_mapped("web", with(2), "AWS::EC2::Instance", &instance).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert_eq!(output(&world, web.stack, "list").await, "cirros,cirros");
    signal(&ground, &world, web.stack, "up").await;
    assert_eq!(output(&world, web.stack, "list").await, "cirros,cirros,cirros");
    let who = world.requester();
    let metadata = world.engine.resource_metadata(&who, web.stack, &"proxy".into()).await;
    assert_eq!(json!(metadata.unwrap()), json!({ "servers": "cirros,cirros,cirros" }));
}

#[actix::test]
async fn instances_are_made_of_what_another_was_made_from() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let group = |source: &str, of: &str| {
        let mut group = json!({ "Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {
            "AvailabilityZones": ["nova"], "MinSize": "1", "MaxSize": "3" } });
        group["Properties"][source] = json!({ "Ref": of });
        group
    };
    let list = |of: &str| json!({ "Value": { "Fn::GetAtt": [of, "InstanceList"] } });
    let template = json!({
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {
            "seed": { "Type": "OS::Nova::Server", "Properties": {
                "image": "cirros", "flavor": "m1.tiny" } },
            "conf": { "Type": "AWS::AutoScaling::LaunchConfiguration", "Properties": {
                "InstanceId": { "Ref": "seed" } } },
            "configured": group("LaunchConfigurationName", "conf"),
            "direct": group("InstanceId", "seed"),
            "up": { "Type": "AWS::AutoScaling::ScalingPolicy", "Properties": {
                "AutoScalingGroupName": { "Ref": "direct" }, "ScalingAdjustment": "1",
                "AdjustmentType": "ChangeInCapacity" } },
        },
        "Outputs": { "configured": list("configured"), "direct": list("direct") },
    });
    let made_of =
        json!({ "Fn::Join": [" on ", [{ "Ref": "ImageId" }, { "Ref": "InstanceType" }]] });
    let instance = json!({
        "HeatTemplateFormatVersion": "2012-12-12",
        "Parameters": {
            "ImageId": { "Type": "String" }, "InstanceType": { "Type": "String" },
            "KeyName": { "Type": "String", "Default": "" },
            "SecurityGroups": { "Type": "CommaDelimitedList", "Default": "" },
            "Tags": { "Type": "CommaDelimitedList" },
        },
        "Resources": { "it": {
            "Type": "OS::Heat::TestResource", "Properties": { "value": made_of } } },
        "Outputs": { "PublicIp": { "Value": { "Fn::GetAtt": ["it", "output"] } } },
    });
    let web = world.create_mapped("web", template, "AWS::EC2::Instance", &instance).await;
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let one = output(&world, web.stack, "direct").await;
    let ids = one.as_str().unwrap().split_once(" on ").unwrap();
    assert!(!ids.0.is_empty() && !ids.1.is_empty(), "{one}");
    assert_eq!(output(&world, web.stack, "configured").await, one);
    signal(&ground, &world, web.stack, "up").await;
    let two = format!("{one},{one}").replace('"', "");
    assert_eq!(output(&world, web.stack, "direct").await, two);
}

#[actix::test]
async fn a_policy_says_where_it_is_signaled() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |by: i64| {
        let mut template = template(json!({}), json!({ "scaling_adjustment": by }));
        template["outputs"] = json!({ "url": { "value": { "get_attr": ["up", "signal_url"] } } });
        template
    };
    let web = world.create("web", with(1)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let project = world.requester().caller.project_id.clone();
    let url =
        format!("http://127.0.0.1:8004/v1/{project}/stacks/web/{}/resources/up/signal", web.stack);
    assert_eq!(output(&world, web.stack, "url").await, url);
    let updated = world.update(web.stack, with(2)).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(output(&world, web.stack, "url").await, url);
}

#[actix::test]
async fn a_group_says_why_it_cannot_have_its_new_size() {
    let ground = Ground::new().await;
    // The group, its policies and one member, and no more.
    let limits = EngineLimits { max_resources_per_stack: Some(5), ..Ground::limits() };
    let world = ground.start_within(limits).await;
    let web = world.create("web", template(json!({}), json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    signal(&ground, &world, web.stack, "up").await;
    assert_eq!(output(&world, web.stack, "size").await, 1);
    let events = world.views.events(web.stack, EventQuery::default()).await.unwrap();
    let told: Vec<_> = events.iter().filter(|event| event.action == "SIGNAL").collect();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!((told[0].name.as_str(), told[0].status), ("g", Status::Failed));
    assert!(told[0].reason.contains("Maximum resources per stack exceeded."), "{:?}", told[0]);
}

#[actix::test]
async fn a_group_says_why_a_new_member_cannot_be_made() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let member = json!({ "resource": { "type": "OS::Neutron::Net" } });
    let mut template = template(member, json!({}));
    template["outputs"].as_object_mut().unwrap().remove("list");
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let refused = FaultRule {
        method: Some("POST".to_owned()),
        path: Some("/networks".to_owned()),
        fault: Fault::Status { code: 403, retry_after: None },
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![refused]).unwrap();
    signal(&ground, &world, web.stack, "up").await;
    let told = world.events(web.stack).await;
    assert!(told.contains(&"g SIGNAL_FAILED".to_owned()), "{told:#?}");
}

#[actix::test]
async fn a_signal_that_is_taken_is_carried_out_however_its_process_stops() {
    let ground = Ground::new().await;
    let mut world = ground.start().await;
    let slow = test_resource(json!({ "value": "x", "action_wait_secs": { "create": 0.2 } }));
    let group = json!({ "max_size": 20, "resource": slow });
    let web = world.create("web", template(group, json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    for (number, millis) in [0, 1, 2, 4, 8, 16, 32, 64].into_iter().enumerate() {
        let who = world.requester();
        world.engine.signal_resource(&who, web.stack, &"up".into(), &Value::Null).await.unwrap();
        tokio::time::sleep(Duration::from_millis(millis)).await;
        world.engine.shutdown();
        drop(world);
        world = ground.start().await;
        ground.signals_over().await;
        ground.views_catch_up(&world).await;
        let size = output(&world, web.stack, "size").await;
        assert_eq!(size, number + 2, "stopped after {millis} ms");
    }
}
