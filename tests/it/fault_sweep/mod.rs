//! Every call to the cloud fails in turn, in each way that a call can: the end is right,
//! and the cloud holds no duplicate and no orphan.

mod addresses;
mod agents;
mod alarms;
mod deployments;
mod elsewhere;
mod groups;
mod servers;
mod signals;
mod snapshots;

use fancy_regex::Regex;
use futures::StreamExt;
use hearth::sandbox::{Fault, FaultRule, RequestSeen};
use serde_json::{Value, json};

use crate::support::keystone::users_of;
use crate::support::world::{Ground, World, hot};

/// How many stories are told side by side: they wait more than they work.
const SIDE_BY_SIDE: usize = 4;

/// How a call can fail: refused for now, lost before it was carried out, or after.
fn ways() -> [Fault; 3] {
    [Fault::Status { code: 503, retry_after: None }, Fault::DropRequest, Fault::DropReply]
}

/// Requests to the cloud, by a method or any, and a pattern of their paths.
type Calls<'a> = (Option<&'a str>, &'a str);

/// Tells a story on a ground of its own, and again for each of its calls of a kind and each way in
/// which that can fail. What is spared is of somebody outside, who would not try again.
async fn each_call_fails(
    calls: &str,
    spared: &[Calls<'_>],
    calls_min: usize,
    story: impl AsyncFn(&Ground, &str),
) {
    let ground = Ground::new().await;
    story(&ground, "no call fails").await;
    let fits = |(method, path): &Calls<'_>, seen: &RequestSeen| {
        let bare = seen.path.split('?').next().unwrap_or_default();
        let is_there = Regex::new(path).unwrap().is_match(bare).unwrap();
        is_there && method.is_none_or(|method| method == seen.method)
    };
    let seen = ground.sandbox.requests();
    let of_hearth = seen.iter().filter(|seen| !spared.iter().any(|calls| fits(calls, seen)));
    let count = of_hearth.filter(|seen| fits(&(None, calls), seen)).count();
    assert!(count >= calls_min, "the story makes only {count} calls");
    let all = ways().into_iter().flat_map(|fault| (0..count).map(move |at| (at, fault.clone())));
    let story = &story;
    let told = futures::stream::iter(all).for_each_concurrent(SIDE_BY_SIDE, |(at, fault)| {
        let place = format!("call {at} of {calls} meets {fault:?}");
        let let_pass = spared.iter().map(|(method, path)| FaultRule {
            method: method.map(str::to_owned),
            path: Some((*path).to_owned()),
            ..FaultRule::default()
        });
        let fails = FaultRule { path: Some(calls.to_owned()), ..rule(at as u64, fault) };
        let rules = let_pass.chain([fails]).collect();
        async move {
            let ground = Ground::new().await;
            ground.sandbox.set_faults(rules).unwrap();
            story(&ground, &place).await;
        }
    });
    told.await;
}

/// Nothing is left of the stack `web`.
async fn assert_nothing_left(ground: &Ground, empty: &Value, place: &str) {
    let users = users_of(ground, "web").await;
    assert!(users.is_empty(), "{place}: {users:?} are left behind");
    assert_eq!(&ground.counts(), empty, "{place}: something is left behind");
}

fn template(cidr: &str) -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net", "properties": { "name": "own-name" } },
        "subnet": { "type": "OS::Neutron::Subnet", "properties": {
            "network": { "get_resource": "net" }, "cidr": cidr } },
        "group": { "type": "OS::Neutron::SecurityGroup",
                   "properties": { "rules": [{ "protocol": "tcp", "port_range_min": 22,
                                               "port_range_max": 22 }] } },
        "router": { "type": "OS::Neutron::Router" },
        "interface": { "type": "OS::Neutron::RouterInterface", "properties": {
            "router": { "get_resource": "router" }, "subnet": { "get_resource": "subnet" } } },
    }))
}

#[actix::test]
async fn a_lost_reply_is_found_again() {
    sweep(Fault::DropReply).await;
}

#[actix::test]
async fn a_lost_request_is_sent_again() {
    sweep(Fault::DropRequest).await;
}

#[actix::test]
async fn a_transient_error_is_tried_again() {
    sweep(Fault::Status { code: 503, retry_after: None }).await;
}

/// The journey with the fault at each call in turn.
async fn sweep(fault: Fault) {
    let calls = {
        let ground = Ground::new().await;
        let world = ground.start().await;
        journey(&ground, &world, "none").await;
        calls_made(&ground, "/network/")
    };
    assert!(calls > 12, "the journey makes only {calls} calls");
    let fault = &fault;
    let each = futures::stream::iter(0..calls).for_each_concurrent(SIDE_BY_SIDE, async |skip| {
        let ground = Ground::new().await;
        ground.sandbox.set_faults(vec![rule(skip as u64, fault.clone())]).unwrap();
        let world = ground.start().await;
        journey(&ground, &world, &format!("call {skip} meets {fault:?}")).await;
    });
    each.await;
}

fn rule(skip: u64, fault: Fault) -> FaultRule {
    FaultRule {
        path: Some("/network/".to_owned()),
        skip,
        count: Some(1),
        fault,
        ..FaultRule::default()
    }
}

fn calls_made(ground: &Ground, path: &str) -> usize {
    let seen = ground.sandbox.requests();
    seen.iter().filter(|request| request.path.contains(path)).count()
}

async fn journey(ground: &Ground, world: &World, what: &str) {
    let empty = ground.counts();
    let web = world.create("web", template("10.9.0.0/24")).await.unwrap();
    let end = world.settled(&web).await;
    assert_eq!(end, "CREATE_COMPLETE", "{what}: {}", world.reason(web.stack).await);
    let full = ground.counts();
    let grown = |kind: &str| full[kind].as_u64().unwrap_or(0) - empty[kind].as_u64().unwrap_or(0);
    assert_eq!((grown("networks"), grown("subnets"), grown("routers")), (1, 1, 1), "{what}");
    let updated = world.update(web.stack, template("10.8.0.0/24")).await.unwrap();
    let end = world.settled(&updated).await;
    assert_eq!(end, "UPDATE_COMPLETE", "{what}: {}", world.reason(web.stack).await);
    assert_eq!(ground.counts(), full, "{what}: after the update");
    let deleted = world.delete(web.stack).await.unwrap();
    let end = world.settled(&deleted).await;
    assert_eq!(end, "DELETE_COMPLETE", "{what}: {}", world.reason(web.stack).await);
    assert_eq!(ground.counts(), empty, "{what}: something is left behind");
}
