//! Stacks of many resources: how often the cloud is asked, and that none is made twice.

use std::time::{Duration, Instant};

use hearth::model::{StackId, Status};
use hearth::sandbox::{Latencies, Quotas, RequestSeen, SandboxConfig};
use serde_json::{Map, Value, json};

use crate::support::wait::until_within;
use crate::support::world::{Ground, World, hot};

/// How long a stack may take, on whatever machine.
const WAIT_MAX: Duration = Duration::from_secs(240);

async fn ended(world: &World, stack: StackId) -> String {
    let end = async || {
        let row = world.views.stack(stack).await.unwrap();
        let row = row.filter(|row| row.status != Status::InProgress)?;
        Some(format!("{}_{} {}", row.action, row.status, row.reason))
    };
    until_within(WAIT_MAX, &[world], "it ends", end).await
}

fn many(count: usize, resource: &Value) -> Map<String, Value> {
    (0..count).map(|index| (format!("r{index}"), resource.clone())).collect()
}

#[actix::test]
async fn a_thousand_servers_are_waited_for_by_twenty_requests_a_second_at_most() {
    let latencies = Latencies { server: Duration::from_secs(3), ..Latencies::none() };
    let requests_remembered = 100_000;
    let quotas = Quotas::unlimited();
    let config =
        SandboxConfig { latencies, quotas, requests_remembered, ..SandboxConfig::instant() };
    let ground = Ground::with(config).await;
    let world = ground.start().await;
    let server = json!({ "type": "OS::Nova::Server", "properties": {
        "image": "cirros", "flavor": "m1.nano", "networks": [{ "allocate_network": "none" }] } });
    let began = Instant::now();
    let web = world.create("web", hot(many(1000, &server).into())).await.unwrap();
    assert_eq!(
        ended(&world, web.stack).await,
        "CREATE_COMPLETE Stack CREATE completed successfully"
    );
    let took = began.elapsed().as_secs_f64();
    let asked = |method: &'static str| {
        let of_servers = move |seen: &RequestSeen| {
            let path = seen.path.split('?').next().unwrap_or_default();
            seen.method == method && path.contains("/servers")
        };
        ground.sandbox.requests().into_iter().filter(of_servers).count()
    };
    let looks = asked("GET");
    println!("{looks} looks in {took:.1} s");
    assert_eq!(asked("POST"), 1000);
    assert!(looks as f64 <= 20.0 * took, "{looks} looks in {took} s");
}

#[actix::test]
async fn a_hundred_members_of_a_balancer_that_is_busy_are_made_once_each() {
    let latencies = Latencies { object: Duration::from_millis(3), ..Latencies::none() };
    let requests_remembered = 100_000;
    let config = SandboxConfig { latencies, requests_remembered, ..SandboxConfig::instant() };
    let ground = Ground::with(config).await;
    let world = ground.start().await;
    let member = |index: usize| {
        json!({ "type": "OS::Octavia::PoolMember", "properties": {
            "pool": { "get_resource": "pool" }, "address": format!("10.0.0.{index}"),
            "protocol_port": 80 } })
    };
    let mut resources: Map<String, Value> =
        (0..100).map(|index| (format!("r{index}"), member(index + 100))).collect();
    let balancer = json!({ "type": "OS::Octavia::LoadBalancer",
        "properties": { "vip_subnet": "private-subnet" } });
    let pool = json!({ "type": "OS::Octavia::Pool", "properties": {
        "loadbalancer": { "get_resource": "balancer" }, "protocol": "HTTP",
        "lb_algorithm": "ROUND_ROBIN" } });
    resources.extend([("balancer".to_owned(), balancer), ("pool".to_owned(), pool)]);
    let began = Instant::now();
    let web = world.create("web", hot(resources.into())).await.unwrap();
    assert_eq!(
        ended(&world, web.stack).await,
        "CREATE_COMPLETE Stack CREATE completed successfully"
    );
    let requests = ground.sandbox.requests();
    let creates =
        requests.iter().filter(|seen| seen.method == "POST" && seen.path.contains("/members"));
    let (made, refused): (Vec<_>, Vec<_>) = creates.partition(|seen| seen.status == 201);
    println!("{} refused in {:?}", refused.len(), began.elapsed());
    assert_eq!(made.len(), 100);
    assert!(!refused.is_empty() && refused.iter().all(|seen| seen.status == 409));
    assert_eq!(ground.counts()["load-balancer.member"], 100);
    let deleted = world.delete(web.stack).await.unwrap();
    world.views.after(deleted.position).await.unwrap();
    assert!(ended(&world, web.stack).await.starts_with("DELETE_COMPLETE"));
    assert_eq!(ground.counts()["load-balancer.member"], 0);
}
