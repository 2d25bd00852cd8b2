//! Groups: their members, how they grow, shrink and change, and what they show of them.

use std::collections::BTreeMap;

use hearth::actors::{Accepted, UpdateStack};
use hearth::model::StackId;
use hearth::projections::ResourceRow;
use hearth::template::StackSource;
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot, test_resource};

/// A stack with a group `g`, and outputs of it by attribute.
struct Grouped {
    type_name: &'static str,
    properties: Value,
    policy: Value,
    outputs: &'static [&'static [&'static str]],
}

impl Grouped {
    /// A ResourceGroup of test resources.
    fn of(count: usize, value: &str) -> Self {
        let properties = json!({
            "count": count,
            "resource_def": test_resource(json!({ "value": value })),
        });
        Self { type_name: "OS::Heat::ResourceGroup", properties, policy: json!({}), outputs: &[] }
    }

    /// An AutoScalingGroup of test resources.
    fn scaling(desired: Option<usize>, value: &str) -> Self {
        let mut properties = json!({
            "min_size": 1,
            "max_size": 5,
            "resource": test_resource(json!({ "value": value })),
        });
        if let Some(desired) = desired {
            properties["desired_capacity"] = desired.into();
        }
        let type_name = "OS::Heat::AutoScalingGroup";
        Self { type_name, properties, policy: json!({}), outputs: &[] }
    }

    fn with(mut self, key: &str, value: Value) -> Self {
        self.properties[key] = value;
        self
    }

    fn template(&self) -> Value {
        let group = json!({
            "type": self.type_name,
            "properties": self.properties,
            "update_policy": self.policy,
        });
        let mut template = hot(json!({ "g": group }));
        for path in self.outputs {
            let parts: Vec<&str> = std::iter::once("g").chain(path.iter().copied()).collect();
            template["outputs"][path.join("/")] = json!({ "value": { "get_attr": parts } });
        }
        template
    }

    async fn create(&self, world: &World) -> Accepted {
        let web = world.create("web", self.template()).await.unwrap();
        let end = world.settled(&web).await;
        assert_eq!(end, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
        web
    }

    async fn update(&self, world: &World, stack: StackId) {
        let updated = world.update(stack, self.template()).await.unwrap();
        let end = world.settled(&updated).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(stack).await);
    }
}

/// The stack of the members of `g`.
async fn members_of(world: &World, stack: StackId) -> StackId {
    world.physical_id(stack, "g").await.unwrap().parse().unwrap()
}

/// The members of `g`: `NAME ACTION_STATUS`.
async fn members(world: &World, stack: StackId) -> Vec<String> {
    world.resources(members_of(world, stack).await).await
}

async fn output(world: &World, stack: StackId, key: &str) -> Value {
    let shown = world.views.stack_shown(stack).await.unwrap().unwrap();
    shown.outputs.iter().find(|output| output.key == key).unwrap().placed.value.clone()
}

/// The states that the members' stack itself has gone through.
async fn ways(world: &World, stack: StackId) -> Vec<String> {
    let child = members_of(world, stack).await;
    let prefix = "web-g-";
    let events = world.events(child).await;
    let own = events.iter().filter(|event| event.starts_with(prefix));
    own.map(|event| event.split_once(' ').unwrap().1.to_owned()).collect()
}

#[actix::test]
async fn a_group_has_members_that_grow_and_shrink() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = Grouped::of(2, "v-%index%").create(&world).await;
    assert_eq!(members(&world, web.stack).await, ["0 CREATE_COMPLETE", "1 CREATE_COMPLETE"]);
    let child = members_of(&world, web.stack).await;
    let first = world.physical_id(child, "0").await;
    Grouped::of(3, "v-%index%").update(&world, web.stack).await;
    let three = ["0 CREATE_COMPLETE", "1 CREATE_COMPLETE", "2 CREATE_COMPLETE"];
    assert_eq!(members(&world, web.stack).await, three, "growing leaves members alone");
    assert_eq!(world.physical_id(child, "0").await, first);
    Grouped::of(1, "v-%index%").update(&world, web.stack).await;
    assert_eq!(members(&world, web.stack).await, ["0 CREATE_COMPLETE"]);
    let events = world.events(child).await.len();
    Grouped::of(1, "v-%index%").update(&world, web.stack).await;
    assert_eq!(world.events(child).await.len(), events, "nothing changed");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn attributes_of_a_group_are_those_of_its_members() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let outputs: &[&[&str]] = &[
        &["output"],
        &["attributes", "output"],
        &["resource.1.output"],
        &["resource.1"],
        &["refs"],
        &["refs_map"],
        &["refs_map", "0"],
        &["removed_rsrc_list"],
    ];
    let web = Grouped { outputs, ..Grouped::of(2, "v-%index%") }.create(&world).await;
    let child = members_of(&world, web.stack).await;
    let ids = [world.physical_id(child, "0").await, world.physical_id(child, "1").await];
    for (key, wanted) in [
        ("output", json!(["v-0", "v-1"])),
        ("attributes/output", json!({ "0": "v-0", "1": "v-1" })),
        ("resource.1.output", json!("v-1")),
        ("resource.1", json!(ids[1])),
        ("refs", json!(ids)),
        ("refs_map", json!({ "0": ids[0], "1": ids[1] })),
        ("refs_map/0", json!(ids[0])),
        ("removed_rsrc_list", json!([])),
    ] {
        assert_eq!(output(&world, web.stack, key).await, wanted, "{key}");
    }
}

#[actix::test]
async fn removed_members_are_not_used_again_until_the_list_is_made_anew() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let three = || Grouped::of(3, "x");
    let removing =
        |list: Value| three().with("removal_policies", json!([{ "resource_list": list }]));
    let web = three().create(&world).await;
    let child = members_of(&world, web.stack).await;
    let first = world.physical_id(child, "1").await.unwrap();
    let names = async || -> Vec<String> {
        let members = members(&world, web.stack).await;
        members.iter().map(|row| row.split(' ').next().unwrap().to_owned()).collect()
    };
    removing(json!(["0"])).update(&world, web.stack).await;
    assert_eq!(names().await, ["1", "2", "3"]);
    removing(json!([first, "nobody"])).update(&world, web.stack).await;
    assert_eq!(names().await, ["2", "3", "4"]);
    three().update(&world, web.stack).await;
    assert_eq!(names().await, ["2", "3", "4"], "what was removed stays removed");
    three().with("removal_policies_mode", json!("update")).update(&world, web.stack).await;
    assert_eq!(names().await, ["0", "1", "2"]);
}

#[actix::test]
async fn members_are_made_in_batches() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let policy = json!({ "batch_create": { "max_batch_size": 2, "pause_time": 0.01 } });
    let web = Grouped { policy, ..Grouped::of(3, "x") }.create(&world).await;
    let wanted = [
        "CREATE_IN_PROGRESS",
        "CREATE_COMPLETE",
        "UPDATE_IN_PROGRESS",
        "UPDATE_COMPLETE",
        "UPDATE_IN_PROGRESS",
        "UPDATE_COMPLETE",
    ];
    assert_eq!(ways(&world, web.stack).await, wanted);
    assert_eq!(members(&world, web.stack).await.len(), 3);
}

#[actix::test]
async fn members_are_changed_in_batches_the_highest_first() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let policy = || {
        json!({ "rolling_update": {
        "min_in_service": 1, "max_batch_size": 2, "pause_time": 0.01 } })
    };
    let web = Grouped { policy: policy(), ..Grouped::of(3, "x") }.create(&world).await;
    Grouped { policy: policy(), ..Grouped::of(3, "y") }.update(&world, web.stack).await;
    assert_eq!(ways(&world, web.stack).await.len(), 2 + 2 * 2);
    let child = members_of(&world, web.stack).await;
    let events = world.events(child).await;
    let updates: Vec<&str> = events
        .iter()
        .filter(|event| event.ends_with("UPDATE_COMPLETE") && !event.starts_with("web-g-"))
        .map(|event| &event[..1])
        .collect();
    assert_eq!(updates.len(), 3, "{events:?}");
    assert_eq!(updates[2], "0", "{events:?}");
    // Another size alone is no reason for batches.
    Grouped { policy: policy(), ..Grouped::of(5, "y") }.update(&world, web.stack).await;
    assert_eq!(ways(&world, web.stack).await.len(), 2 + 2 * 3);
}

#[actix::test]
async fn numbers_of_a_policy_may_be_written_as_texts() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let policy = json!({ "rolling_update": { "max_batch_size": "2", "min_in_service": "0" } });
    let group = |value| Grouped { policy: policy.clone(), ..Grouped::of(2, value) };
    let web = group("x").create(&world).await;
    group("y").update(&world, web.stack).await;
    assert_eq!(ways(&world, web.stack).await.len(), 2 + 2, "one batch of two");
}

#[actix::test]
async fn a_group_goes_on_under_the_name_that_took_the_place_of_its_own() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let group = |type_name| {
        hot(json!({
            "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "echo" } },
            "g": { "type": type_name, "properties": {
                "config": { "get_resource": "config" }, "signal_transport": "NO_SIGNAL",
                "servers": { "0": "one", "1": "two" } } },
        }))
    };
    let web = world.create("web", group("OS::Heat::SoftwareDeployments")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let child = world.physical_id(web.stack, "g").await;
    let updated = world.update(web.stack, group("OS::Heat::SoftwareDeploymentGroup")).await;
    assert_eq!(world.settled(&updated.unwrap()).await, "UPDATE_COMPLETE");
    assert_eq!(world.physical_id(web.stack, "g").await, child);
    let rows = world.views.resources(web.stack).await.unwrap();
    assert!(rows.iter().any(|row| row.type_name == "OS::Heat::SoftwareDeploymentGroup"));
}

#[actix::test]
async fn pauses_that_last_longer_than_the_action_may_are_refused() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let policy = json!({ "batch_create": { "max_batch_size": 1, "pause_time": 1800 } });
    let group = Grouped { policy, ..Grouped::of(3, "x") };
    let web = world.create("web", group.template()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let text = "Resource CREATE failed: ValueError: resources.g: The current update policy will \
                result in stack update timeout.";
    assert_eq!(world.reason(web.stack).await, text);
}

#[actix::test]
async fn a_failed_member_is_told_by_its_number_and_mended_by_the_next_update() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let failing = Grouped::of(2, "x")
        .with("resource_def", test_resource(json!({ "value": "x", "fail": true })));
    let web = world.create("web", failing.template()).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let reason = world.reason(web.stack).await;
    assert!(
        reason.starts_with("Resource CREATE failed: ValueError: resources.g.resources["),
        "{reason}"
    );
    Grouped::of(2, "x").update(&world, web.stack).await;
    assert_eq!(members(&world, web.stack).await, ["0 CREATE_COMPLETE", "1 CREATE_COMPLETE"]);
}

#[actix::test]
async fn a_variable_of_another_name_makes_the_group_anew() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = Grouped::of(1, "x").create(&world).await;
    let before = world.physical_id(web.stack, "g").await;
    Grouped::of(1, "x").with("index_var", json!("__i__")).update(&world, web.stack).await;
    assert_ne!(world.physical_id(web.stack, "g").await, before);
}

#[actix::test]
async fn a_chain_makes_one_member_after_the_other() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let chain = |types: &[&str]| Grouped {
        type_name: "OS::Heat::ResourceChain",
        properties: json!({
            "resources": types,
            "resource_properties": { "value": "x" },
        }),
        policy: json!({}),
        outputs: &[&["refs"], &["attributes", "value"]],
    };
    let value = "OS::Heat::Value";
    let web = chain(&[value, value]).create(&world).await;
    let child = members_of(&world, web.stack).await;
    assert_eq!(
        world.events(child).await[1..5],
        ["0 CREATE_IN_PROGRESS", "0 CREATE_COMPLETE", "1 CREATE_IN_PROGRESS", "1 CREATE_COMPLETE",]
    );
    let values = output(&world, web.stack, "attributes/value").await;
    assert_eq!(values, json!({ "0": "x", "1": "x" }));
    chain(&[value, value, value]).update(&world, web.stack).await;
    let refs = output(&world, web.stack, "refs").await;
    assert_eq!(refs.as_array().unwrap().len(), 3);
}

#[actix::test]
async fn a_scaling_group_lets_the_oldest_go_and_keeps_its_size() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let outputs: &[&[&str]] = &[&["current_size"], &["outputs_list", "output"], &["refs"]];
    let sized = |desired| Grouped { outputs, ..Grouped::scaling(desired, "x") };
    let web = sized(Some(2)).create(&world).await;
    let first = members(&world, web.stack).await;
    assert_eq!(first.len(), 2);
    sized(Some(3)).update(&world, web.stack).await;
    let grown = members(&world, web.stack).await;
    assert_eq!(output(&world, web.stack, "current_size").await, 3);
    assert_eq!(output(&world, web.stack, "outputs_list/output").await, json!(["x", "x", "x"]));
    sized(None).update(&world, web.stack).await;
    assert_eq!(members(&world, web.stack).await, grown, "the size stays");
    sized(Some(1)).update(&world, web.stack).await;
    let left = members(&world, web.stack).await;
    let newest: Vec<&String> = grown.iter().filter(|member| !first.contains(member)).collect();
    assert_eq!(left.iter().collect::<Vec<_>>(), newest);
}

#[actix::test]
async fn a_scaling_group_changes_its_members_one_by_one_and_ends_with_its_size() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = Grouped::scaling(Some(2), "x").create(&world).await;
    Grouped::scaling(Some(2), "y").update(&world, web.stack).await;
    assert_eq!(ways(&world, web.stack).await.len(), 2 + 3 * 2);
    let members = members(&world, web.stack).await;
    assert!(members.iter().all(|member| member.ends_with("UPDATE_COMPLETE")), "{members:?}");
}

#[actix::test]
async fn the_oldest_member_goes_once_another_served_in_its_place() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let policy = json!({ "min_in_service": 3, "max_batch_size": 1 });
    let group = |value| Grouped::scaling(Some(3), value).with("rolling_updates", policy.clone());
    let names = async |stack| -> Vec<String> {
        let members = members(&world, stack).await;
        members.iter().map(|row| row.split(' ').next().unwrap().to_owned()).collect()
    };
    let web = group("x").create(&world).await;
    let before = names(web.stack).await;
    group("y").update(&world, web.stack).await;
    let after = names(web.stack).await;
    assert_eq!(after.len(), 3);
    let stayed = after.iter().filter(|name| before.contains(name)).count();
    assert_eq!(stayed, 2, "{before:?} {after:?}");
}

/// A group of one template, and the file that has it.
fn of_file(group: Grouped, file: &str) -> (Value, BTreeMap<String, String>) {
    let key =
        if group.type_name == "OS::Heat::ResourceGroup" { "resource_def" } else { "resource" };
    let template = group.with(key, json!({ "type": file })).template();
    let behind = hot(json!({ "a": test_resource(json!({ "value": "x" })) })).to_string();
    (template, BTreeMap::from([(file.to_owned(), behind)]))
}

#[actix::test]
async fn members_that_are_as_they_were_keep_the_files_of_the_former_template() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let rolling = || {
        let policy = json!({ "rolling_update": { "min_in_service": 1, "max_batch_size": 1 } });
        Grouped { policy, ..Grouped::of(2, "x") }
    };
    let slow = || Grouped::scaling(Some(2), "x").with("rolling_updates", Value::Null);
    for group in [&rolling as &dyn Fn() -> Grouped, &slow] {
        let (template, files) = of_file(group(), "/old/member.yaml");
        let source = StackSource { template, files, ..StackSource::default() };
        let web = world.create_of("web", source).await.unwrap();
        assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
        let (template, files) = of_file(group(), "/new/member.yaml");
        let template = Some(template);
        let ask = UpdateStack { template, files, ..UpdateStack::default() };
        let updated = world.update_as(web.stack, ask).await.unwrap();
        let end = world.settled(&updated).await;
        assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
        let deleted = world.delete(web.stack).await.unwrap();
        assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    }
}

#[actix::test]
async fn stacks_that_a_rolling_update_makes_are_updated_with_the_others() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let rolling = || {
        let pace = json!({ "min_in_service": 2, "max_batch_size": 1, "pause_time": 0 });
        Grouped::scaling(Some(2), "x").with("rolling_updates", pace)
    };
    let (template, files) = of_file(rolling(), "/old/member.yaml");
    let source = StackSource { template, files, ..StackSource::default() };
    let web = world.create_of("web", source).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let before = states(&world, web.stack).await;
    let (template, files) = of_file(rolling(), "/new/member.yaml");
    let ask = UpdateStack { template: Some(template), files, ..UpdateStack::default() };
    let updated = world.update_as(web.stack, ask).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let after = states(&world, web.stack).await;
    assert_eq!(after.len(), 2);
    assert_eq!(after.keys().filter(|name| before.contains_key(*name)).count(), 1, "{after:?}");
    assert!(after.values().all(|state| state == "UPDATE_COMPLETE"), "{after:?}");
}

/// How each member of the group `g` stands.
async fn states(world: &World, stack: StackId) -> BTreeMap<String, String> {
    let rows = world.views.resources(members_of(world, stack).await).await.unwrap();
    let state = |row: &ResourceRow| format!("{}_{}", row.action, row.status);
    rows.iter().map(|row| (row.name.to_string(), state(row))).collect()
}

#[actix::test]
async fn members_are_validated_once_there_are_any() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let wrong = json!({ "a": { "type": "OS::Heat::RandomString", "properties": {
        "length": "BAD" } } });
    let source = |count: usize| {
        let group = Grouped::of(count, "x").with("resource_def", json!({ "type": "m.yaml" }));
        let files = BTreeMap::from([("m.yaml".to_owned(), hot(wrong.clone()).to_string())]);
        StackSource { template: group.template(), files, ..StackSource::default() }
    };
    let web = world.create_of("web", source(0)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let StackSource { template, files, .. } = source(2);
    let ask = UpdateStack { template: Some(template), files, ..UpdateStack::default() };
    let who = world.requester();
    let refusal = world.engine.update_stack(&who, web.stack, ask).await.unwrap_err();
    let text = "resources.g<nested_stack>.resources.0<m.yaml>.resources.a: : \
                Value 'BAD' is not an integer";
    assert!(refusal.message.contains(text), "{refusal}");
    let refusal = world.create_of("other", source(2)).await.unwrap_err();
    assert!(refusal.message.contains(text), "{refusal}");
}

#[actix::test]
async fn sizes_that_cannot_be_are_refused() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    for (sizes, text) in [
        (json!({ "min_size": 3, "max_size": 2 }), "MinSize can not be greater than MaxSize"),
        (json!({ "desired_capacity": 9 }), "DesiredCapacity must be between MinSize and MaxSize"),
    ] {
        let mut group = Grouped::scaling(None, "x");
        for (key, value) in sizes.as_object().unwrap() {
            group = group.with(key, value.clone());
        }
        let refusal = world.create("web", group.template()).await.unwrap_err();
        assert_eq!(
            (refusal.class.as_ref(), refusal.message.as_str()),
            ("StackValidationFailed", text)
        );
    }
}

#[actix::test]
async fn groups_without_measure_are_refused_at_once() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let scaling = Grouped::scaling(None, "x");
    let groups = [
        Grouped::of(1_000_000_000_000, "x"),
        scaling
            .with("min_size", json!(1_000_000_000_000_u64))
            .with("max_size", json!(1_000_000_000_000_u64)),
    ];
    for (number, group) in groups.iter().enumerate() {
        let made = world.create(&format!("web{number}"), group.template()).await.unwrap();
        assert_eq!(world.settled(&made).await, "CREATE_FAILED");
        let reason = world.reason(made.stack).await;
        assert!(reason.ends_with("Maximum resources per stack exceeded."), "{reason}");
    }
}
