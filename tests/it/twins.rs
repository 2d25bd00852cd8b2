//! Resources of two stacks that are equal in all that a user can give, made at the same time:
//! whatever answer is lost, each has an object of its own, and no deletion takes the other's.

use hearth::actors::Accepted;
use hearth::openstack::{Request, Service};
use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::support::wait::{Written, until};
use crate::support::world::{Ground, World, hot};

const NETWORKS: &str = "/v2.0/networks";
const KEY_PAIRS: &str = "/os-keypairs";
/// So late is a creation carried out: both stacks have looked by then what others have.
const LATE_MS: u64 = 800;

fn late(path: &str, count: Option<u64>, fault: Fault) -> FaultRule {
    FaultRule {
        method: Some("POST".into()),
        path: Some(format!("{path}$")),
        count,
        fault,
        skip: 0,
        probability: None,
        latency_ms: LATE_MS,
    }
}

fn net(deletion_policy: &str) -> Value {
    let properties = json!({ "name": "twin", "value_specs": { "description": "the same" } });
    hot(json!({ "twin": {
        "type": "OS::Neutron::Net",
        "properties": properties,
        "deletion_policy": deletion_policy,
    } }))
}

fn key_pair(key: &str) -> Value {
    let properties = json!({ "name": "twin", "public_key": format!("ssh-rsa {key} a@b") });
    hot(json!({ "twin": { "type": "OS::Nova::KeyPair", "properties": properties } }))
}

/// A key that is none.
const KEY: &str = "AAAAB3NzaC1yc2EAAAADAQABAAAAAQC0";

/// The ids or names of the objects that are called so, as the cloud lists them.
async fn objects(ground: &Ground, service: Service, path: &str) -> Vec<String> {
    let listed: Value =
        ground.session().send(Request::get(service, path)).await.unwrap().json().unwrap();
    let list = listed.as_object().unwrap().values().find_map(Value::as_array).unwrap();
    let objects = list.iter().map(|object| object.get("keypair").unwrap_or(object));
    let twins = objects.filter(|object| object["name"] == "twin");
    let ids = twins.map(|it| it.get("id").unwrap_or(&it["name"]).as_str().unwrap().to_owned());
    ids.collect()
}

async fn networks(ground: &Ground) -> Vec<String> {
    objects(ground, Service::Network, NETWORKS).await
}

async fn wait_for_networks(ground: &Ground, count: usize) {
    let are_there = async || networks(ground).await.len() >= count;
    until(&[&Written(&ground.sandbox)], format!("{count} networks"), are_there).await;
}

async fn both(world: &World, template: &Value) -> [Accepted; 2] {
    let one = world.create("one", template.clone()).await.unwrap();
    [one, world.create("other", template.clone()).await.unwrap()]
}

async fn owned(world: &World, stack: &Accepted) -> String {
    world.physical_id(stack.stack, "twin").await.unwrap()
}

async fn deleted(world: &World, stack: &Accepted) {
    let deleted = world.delete(stack.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
}

/// Waits until one of the stacks is settled, and tells it from the one in doubt.
async fn first_settled(world: &World, stacks: [Accepted; 2]) -> (Accepted, Accepted) {
    let [one, other] = stacks;
    let first = async || {
        let rows = world.resources(one.stack).await;
        if rows == ["twin CREATE_COMPLETE"] {
            return Ok(true);
        }
        if world.resources(other.stack).await == ["twin CREATE_COMPLETE"] {
            return Ok(false);
        }
        Err(format!("{rows:?}"))
    };
    let is_one = until(&[world], "one of them is settled", first).await;
    if is_one { (one, other) } else { (other, one) }
}

#[actix::test]
async fn two_stacks_whose_answers_are_lost_have_an_object_each() {
    let ground = Ground::new().await;
    ground.sandbox.set_faults(vec![late(NETWORKS, Some(2), Fault::DropReply)]).unwrap();
    let world = ground.start().await;
    let [one, other] = both(&world, &net("Delete")).await;
    for stack in [&one, &other] {
        assert_eq!(world.settled(stack).await, "CREATE_COMPLETE", "{:?}", stack.stack);
    }
    let [mine, yours] = [owned(&world, &one).await, owned(&world, &other).await];
    assert_ne!(mine, yours);
    let mut there = networks(&ground).await;
    there.sort();
    let mut both = vec![mine, yours.clone()];
    both.sort();
    assert_eq!(there, both, "and nothing is left over");
    deleted(&world, &one).await;
    assert_eq!(networks(&ground).await, [yours]);
    deleted(&world, &other).await;
    assert!(networks(&ground).await.is_empty());
}

#[actix::test]
async fn what_the_other_stack_has_is_known_after_a_restart() {
    let ground = Ground::new().await;
    let first = late(NETWORKS, Some(1), Fault::None);
    let rules = vec![first, late(NETWORKS, Some(1), Fault::DropReply)];
    ground.sandbox.set_faults(rules).unwrap();
    let world = ground.start_doubting().await;
    let stacks = both(&world, &net("Delete")).await;
    let (sure, doubtful) = first_settled(&world, stacks).await;
    wait_for_networks(&ground, 2).await;
    world.engine.shutdown();

    let world = ground.start().await;
    assert_eq!(world.settled(&doubtful).await, "CREATE_COMPLETE");
    let [mine, yours] = [owned(&world, &sure).await, owned(&world, &doubtful).await];
    assert_ne!(mine, yours);
    deleted(&world, &doubtful).await;
    assert_eq!(networks(&ground).await, [mine]);
}

#[actix::test]
async fn what_another_stack_has_left_in_the_cloud_is_its_users() {
    let ground = Ground::new().await;
    let first = late(NETWORKS, Some(1), Fault::None);
    let rules = vec![first, late(NETWORKS, Some(1), Fault::DropRequest)];
    ground.sandbox.set_faults(rules).unwrap();
    let world = ground.start_doubting().await;
    let stacks = both(&world, &net("Retain")).await;
    let (sure, doubtful) = first_settled(&world, stacks).await;
    let kept = owned(&world, &sure).await;
    deleted(&world, &sure).await;
    assert_eq!(networks(&ground).await, std::slice::from_ref(&kept));
    world.engine.shutdown();

    let world = ground.start().await;
    assert_eq!(world.settled(&doubtful).await, "CREATE_COMPLETE");
    assert_ne!(owned(&world, &doubtful).await, kept);
    assert_eq!(networks(&ground).await.len(), 2);
}

#[actix::test]
async fn a_name_that_both_want_is_one_stacks_and_the_others_deletion_leaves_it() {
    let ground = Ground::new().await;
    ground.sandbox.set_faults(vec![late(KEY_PAIRS, Some(2), Fault::DropReply)]).unwrap();
    let world = ground.start().await;
    let stacks = both(&world, &key_pair(KEY)).await;
    let (sure, refused) = first_settled(&world, stacks).await;
    assert_eq!(world.settled(&refused).await, "CREATE_FAILED");
    let there = async || objects(&ground, Service::Compute, KEY_PAIRS).await;
    deleted(&world, &refused).await;
    assert_eq!(there().await, ["twin"]);
    deleted(&world, &sure).await;
    assert!(there().await.is_empty());
}

#[actix::test]
async fn a_key_pair_gives_its_name_to_its_successor() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let web = world.create("web", key_pair(KEY)).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let new = KEY.replace("QC0", "QC1");
    let updated = world.update(web.stack, key_pair(&new)).await.unwrap();
    // A plan says of what is replaced that its id changes; a name stays.
    world.forget_plan(web.stack);
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(world.resources(web.stack).await, ["twin CREATE_COMPLETE"]);
    let shown = Request::get(Service::Compute, format!("{KEY_PAIRS}/twin"));
    let shown: Value = ground.session().send(shown).await.unwrap().json().unwrap();
    assert_eq!(shown["keypair"]["public_key"], format!("ssh-rsa {new} a@b"));
    deleted(&world, &web).await;
    assert!(objects(&ground, Service::Compute, KEY_PAIRS).await.is_empty());
}
