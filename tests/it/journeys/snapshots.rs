//! Snapshots: taken, restored, deleted, and what they keep in the cloud; the deletion policy.

use hearth::actors::Accepted;
use hearth::model::{Action, StackId, TraversalId};
use hearth::openstack::{Request, Service};
use hearth::sandbox::{Fault, FaultRule, Latencies, SandboxConfig};
use serde_json::{Value, json};

use crate::support::wait::until;
use crate::support::world::{Ground, World, hot, test_resource};

pub(crate) async fn take(world: &World, stack: &Accepted) -> TraversalId {
    let taken = world.engine.take_snapshot(&world.requester(), stack.stack, Some("s".into())).await;
    let (accepted, id) = taken.unwrap();
    assert_eq!(world.settled(&accepted).await, "SNAPSHOT_COMPLETE");
    id
}

pub(crate) async fn restore(world: &World, stack: &Accepted, id: TraversalId) -> String {
    let accepted =
        world.engine.restore_snapshot(&world.requester(), stack.stack, id).await.unwrap();
    world.settled(&accepted).await
}

async fn gone(world: &World, stack: &Accepted, id: TraversalId) {
    let accepted = world.engine.delete_snapshot(&world.requester(), stack.stack, id).await.unwrap();
    world.views.after(accepted.position).await.unwrap();
    world.shows("it is gone", async || world.views.snapshot(id).await.unwrap().is_none()).await;
}

/// A server of an image and a volume, both with a snapshot of their own.
fn machines(policy: &str) -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": "10.9.0.0/24" } },
        "server": { "type": "OS::Nova::Server", "depends_on": "subnet", "deletion_policy": policy,
            "properties": { "flavor": "m1.tiny", "image": "cirros",
                            "networks": [{ "network": { "get_resource": "net" } }] } },
        "volume": { "type": "OS::Cinder::Volume", "deletion_policy": policy,
                    "properties": { "size": 1 } },
    }))
}

/// A server with a volume on a device of its choice, which is on a label's side.
pub(crate) fn at_hand(label: &str, more: Value) -> Value {
    let mut volume = json!({ "size": 1, "description": label });
    volume.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hot(json!({
        "server": { "type": "OS::Nova::Server", "properties": {
            "flavor": "m1.tiny", "image": "cirros", "networks": [{ "network": "private" }],
            "metadata": { "label": label } } },
        "volume": { "type": "OS::Cinder::Volume", "properties": volume },
        "attachment": { "type": "OS::Cinder::VolumeAttachment", "properties": {
            "instance_uuid": { "get_resource": "server" },
            "volume_id": { "get_resource": "volume" }, "mountpoint": "/dev/vdz" } },
    }))
}

/// The volume of a stack as Cinder shows it.
pub(crate) async fn volume_of(ground: &Ground, world: &World, stack: StackId) -> Value {
    let id = world.physical_id(stack, "volume").await.unwrap();
    let request = Request::get(Service::Volume, format!("/volumes/{id}"));
    ground.session().send(request).await.unwrap().json().unwrap()["volume"].take()
}

/// Whether the volume is on its device of the server that the stack has.
pub(crate) async fn is_at_hand(ground: &Ground, world: &World, stack: StackId) -> bool {
    let volume = volume_of(ground, world, stack).await;
    let server = world.physical_id(stack, "server").await.unwrap();
    let attachments = volume["attachments"].as_array().unwrap();
    let attached = |it: &Value| it["server_id"] == *server && it["device"] == "/dev/vdz";
    volume["status"] == "in-use" && attachments.len() == 1 && attached(&attachments[0])
}

fn count(ground: &Ground, kind: &str) -> u64 {
    ground.counts()[kind].as_u64().unwrap()
}

#[actix::test]
async fn a_stack_goes_back_to_its_snapshot() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |value: &str, more: Value| {
        let mut resources = json!({ "a": test_resource(json!({ "value": value })) });
        resources.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hot(resources)
    };
    let b = json!({ "b": { "type": "OS::Heat::RandomString", "depends_on": "a" } });
    let web = world.create("web", with("one", b)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let known = world.events(web.stack).await.len();
    let id = take(&world, &web).await;
    assert_eq!(world.reason(web.stack).await, "Stack SNAPSHOT completed successfully");
    let expected = [
        "web SNAPSHOT_IN_PROGRESS",
        "a SNAPSHOT_IN_PROGRESS",
        "a SNAPSHOT_COMPLETE",
        "b SNAPSHOT_IN_PROGRESS",
        "b SNAPSHOT_COMPLETE",
        "web SNAPSHOT_COMPLETE",
    ];
    assert_eq!(world.events(web.stack).await[known..], expected);
    assert_eq!(world.resources(web.stack).await, ["a SNAPSHOT_COMPLETE", "b SNAPSHOT_COMPLETE"]);

    let updated = world.update(web.stack, with("two", json!({}))).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let known = world.events(web.stack).await.len();
    assert_eq!(restore(&world, &web, id).await, "RESTORE_COMPLETE");
    let expected = [
        "web RESTORE_IN_PROGRESS",
        "a UPDATE_IN_PROGRESS",
        "a UPDATE_COMPLETE",
        "b CREATE_IN_PROGRESS",
        "b CREATE_COMPLETE",
        "web RESTORE_COMPLETE",
    ];
    assert_eq!(world.events(web.stack).await[known..], expected);
}

#[actix::test]
async fn a_failed_stack_can_be_kept_and_what_failed_counts_as_kept() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({
        "a": test_resource(json!({ "fail": true })),
        "b": { "type": "OS::Heat::TestResource", "depends_on": "a" },
    }));
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_FAILED");
    let id = take(&world, &web).await;
    assert_eq!(world.resources(web.stack).await, ["a SNAPSHOT_COMPLETE", "b SNAPSHOT_COMPLETE"]);
    assert_eq!(restore(&world, &web, id).await, "RESTORE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["a SNAPSHOT_COMPLETE", "b CREATE_COMPLETE"]);
    assert_eq!(world.physical_id(web.stack, "a").await, None);
}

#[actix::test]
async fn a_snapshot_has_images_and_backups_that_go_with_it() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let empty = ground.counts();
    let web = world.create("web", machines("Delete")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let (images, backups) = (count(&ground, "images"), count(&ground, "backups"));
    let first = take(&world, &web).await;
    let second = take(&world, &web).await;
    assert_eq!((count(&ground, "images"), count(&ground, "backups")), (images + 2, backups + 2));
    gone(&world, &web, first).await;
    assert_eq!((count(&ground, "images"), count(&ground, "backups")), (images + 1, backups + 1));
    assert_eq!(restore(&world, &web, second).await, "RESTORE_COMPLETE");
    let template = world.engine.source_of(&world.requester(), web.stack).await.unwrap().template;
    let properties = |name: &str| template["resources"][name]["properties"].clone();
    assert_ne!(properties("server")["image"], "cirros");
    assert!(properties("volume")["backup_id"].is_string());
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), empty, "images and backups are gone with the stack");
}

#[actix::test]
async fn a_snapshot_that_is_interrupted_leaves_neither_image_nor_backup() {
    let slow = std::time::Duration::from_millis(300);
    for updates_first in [false, true] {
        let latencies = Latencies { image: slow, volume: slow, ..Latencies::none() };
        let listen = ([127, 0, 0, 1], 0).into();
        let config = SandboxConfig { listen, latencies, ..SandboxConfig::instant() };
        let ground = Ground::with(config).await;
        let world = ground.start().await;
        let empty = ground.counts();
        let web = world.create("web", machines("Delete")).await.unwrap();
        assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
        let answered = ground.count("CallAnswered").await;
        world.engine.take_snapshot(&world.requester(), web.stack, None).await.unwrap();
        // Until both the image and the backup are known to have been asked for.
        let are_asked_for = async || ground.count("CallAnswered").await >= answered + 2;
        until(&[&ground], "both are asked for", are_asked_for).await;
        if updates_first {
            let updated = world.update(web.stack, machines("Retain")).await.unwrap();
            assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
            let updated = world.update(web.stack, machines("Delete")).await.unwrap();
            assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
        }
        let deleted = world.delete(web.stack).await.unwrap();
        let end = world.settled(&deleted).await;
        assert_eq!(end, "DELETE_COMPLETE", "{}", world.reason(web.stack).await);
        assert_eq!(ground.counts(), empty, "after an update: {updates_first}");
    }
}

#[actix::test]
async fn what_is_deleted_by_the_policy_snapshot_is_kept_as_one() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let before = ground.counts();
    let web = world.create("web", machines("Snapshot")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    for (kind, more) in [("servers", 0), ("volumes", 0), ("images", 1), ("backups", 1)] {
        assert_eq!(count(&ground, kind), before[kind].as_u64().unwrap() + more, "{kind}");
    }
}

#[actix::test]
async fn what_cannot_be_done_is_refused_in_heats_words() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({ "wait_secs": 3 })) }));
    let web = world.create("web", template).await.unwrap();
    world.at_work(&web, "a").await;
    let who = world.requester();
    let refused = world.engine.take_snapshot(&who, web.stack, None).await.unwrap_err();
    let text = "Stack web already has an action (CREATE) in progress.";
    assert_eq!((&*refused.class, &*refused.message), ("ActionInProgress", text));
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");

    let unknown = TraversalId(uuid::Uuid::from_u128(7));
    let refused = world.engine.restore_snapshot(&who, web.stack, unknown).await.unwrap_err();
    let text = format!("Snapshot with id {unknown} not found");
    assert_eq!((&*refused.class, refused.message), ("NotFound", text));

    for _ in 0..32 {
        take(&world, &web).await;
    }
    let refused = world.engine.take_snapshot(&world.requester(), web.stack, None).await;
    let text = "Request limit exceeded: You have reached the maximum snapshots per stack, 32. \
                Please delete some snapshots.";
    assert_eq!(refused.unwrap_err().message, text);
}

#[actix::test]
async fn a_suspended_stack_can_be_kept_and_is_then_not_resumed() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let template = hot(json!({ "a": test_resource(json!({})) }));
    let web = world.create("web", template).await.unwrap();
    world.settled(&web).await;
    let act = async |action| {
        let acted = world.engine.act_on_stack(&world.requester(), web.stack, action).await.unwrap();
        world.settled(&acted).await
    };
    assert_eq!(act(Action::Suspend).await, "SUSPEND_COMPLETE");
    take(&world, &web).await;
    assert_eq!(act(Action::Resume).await, "RESUME_FAILED");
}

#[actix::test]
async fn a_server_that_starts_from_a_volume_is_restored_from_its_image() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let with = |name: &str| {
        hot(json!({ "server": { "type": "OS::Nova::Server", "properties": {
            "name": name, "flavor": "m1.tiny", "networks": [{ "network": "private" }],
            "block_device_mapping_v2": [
                { "image": "cirros", "volume_size": 1, "boot_index": 0,
                  "delete_on_termination": true },
                { "swap_size": 1 },
            ] } } }))
    };
    let web = world.create("web", with("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let before = world.physical_id(web.stack, "server").await.unwrap();
    let id = take(&world, &web).await;
    let updated = world.update(web.stack, with("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let end = restore(&world, &web, id).await;
    assert_eq!(end, "RESTORE_COMPLETE", "{}", world.reason(web.stack).await);
    let server = world.physical_id(web.stack, "server").await.unwrap();
    assert_ne!(server, before);
    let shown = Request::get(Service::Compute, format!("/servers/{server}"));
    let shown = ground.session().send(shown).await.unwrap().json().unwrap();
    assert_eq!(shown["server"]["name"], "one");
    assert!(shown["server"]["image"]["id"].is_string(), "{shown}");
    gone(&world, &web, id).await;
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_volume_that_a_server_has_is_filled_and_given_back() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", at_hand("one", json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    assert!(is_at_hand(&ground, &world, web.stack).await);
    let before = volume_of(&ground, &world, web.stack).await;
    let id = take(&world, &web).await;
    let updated = world.update(web.stack, at_hand("two", json!({}))).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let end = restore(&world, &web, id).await;
    assert_eq!(end, "RESTORE_COMPLETE", "{}", world.reason(web.stack).await);
    assert!(is_at_hand(&ground, &world, web.stack).await);
    let after = volume_of(&ground, &world, web.stack).await;
    assert_eq!((&after["id"], &after["description"]), (&before["id"], &"one".into()));
    let filled = ground.sandbox.requests().into_iter().filter(|it| it.path.ends_with("/restore"));
    assert_eq!(filled.count(), 1);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

#[actix::test]
async fn a_volume_that_cannot_be_filled_is_given_back_all_the_same() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", at_hand("one", json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let id = take(&world, &web).await;
    let refused = FaultRule {
        method: Some("POST".to_owned()),
        path: Some("/restore".to_owned()),
        count: Some(1),
        fault: Fault::Status { code: 400, retry_after: None },
        ..FaultRule::default()
    };
    ground.sandbox.set_faults(vec![refused]).unwrap();
    assert_eq!(restore(&world, &web, id).await, "RESTORE_FAILED");
    assert!(is_at_hand(&ground, &world, web.stack).await);
    // A second try has nothing in its way.
    let end = restore(&world, &web, id).await;
    assert_eq!(end, "RESTORE_COMPLETE", "{}", world.reason(web.stack).await);
    assert!(is_at_hand(&ground, &world, web.stack).await);
}

#[actix::test]
async fn a_volume_becomes_read_only_while_no_server_has_it() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", at_hand("one", json!({}))).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let updated = world.update(web.stack, at_hand("one", json!({ "read_only": true }))).await;
    let end = world.settled(&updated.unwrap()).await;
    assert_eq!(end, "UPDATE_COMPLETE", "{}", world.reason(web.stack).await);
    let volume = volume_of(&ground, &world, web.stack).await;
    assert_eq!(volume["metadata"]["readonly"], "True");
    assert!(is_at_hand(&ground, &world, web.stack).await);
}
