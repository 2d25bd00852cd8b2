//! Types in Amazon's words, cut at every append.

use hearth::model::StackId;
use hearth::projections::StackQuery;
use serde_json::{Value, json};

use super::{Life, reached, sweep};
use crate::support::cut_log::CutLog;
use crate::support::wait::repeat;
use crate::support::world::{World, hot};

/// A user with a key, of whom another update makes another.
struct Keyed;

fn template(path: &str) -> Value {
    hot(json!({
        "user": { "type": "AWS::IAM::User", "properties": { "Path": path } },
        "key": { "type": "AWS::IAM::AccessKey",
                 "properties": { "UserName": { "get_resource": "user" } } },
    }))
}

impl Life for Keyed {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", template("/a/")).await.ok()?;
        reached(world, log, &web, "CREATE_COMPLETE").await?;
        let updated = world.update(web.stack, template("/b/")).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }
}

#[actix::test]
async fn a_key_is_made_once_whenever_the_process_ended() {
    sweep(&Keyed, 30).await;
}

/// A load balancer that gets another instance.
struct Balanced;

fn balanced(instances: Value) -> Value {
    let mut template = hot(json!({
        "one": { "type": "AWS::EC2::Instance", "properties": {
            "ImageId": "cirros", "InstanceType": "m1.nano" } },
        "lb": { "type": "AWS::ElasticLoadBalancing::LoadBalancer", "properties": {
            "AvailabilityZones": ["nova"], "Instances": instances,
            "Listeners": [{ "LoadBalancerPort": 80, "InstancePort": 8080, "Protocol": "TCP" }] } },
    }));
    template["parameters"] = json!({
        "LbImageId": { "type": "string", "default": "cirros" },
        "LbFlavor": { "type": "string", "default": "m1.nano" },
    });
    template
}

impl Balanced {
    /// The guest tells that it is ready.
    async fn tell(world: &World) {
        let who = world.requester();
        let signal = json!({ "Status": "SUCCESS", "UniqueId": "1", "Data": "", "Reason": "" });
        let query = StackQuery { nested: true, ..StackQuery::default() };
        for stack in world.views.stacks(query).await.unwrap() {
            let handle = "WaitHandle".into();
            drop(world.engine.signal_resource(&who, stack.id, &handle, &signal).await);
        }
    }
}

impl Life for Balanced {
    async fn live(&self, world: &World, log: &CutLog) -> Option<()> {
        let web = world.create("web", balanced(json!([]))).await.ok()?;
        tokio::select! {
            end = reached(world, log, &web, "CREATE_COMPLETE") => end?,
            never = repeat(async || Self::tell(world).await) => match never {},
        }
        let template = balanced(json!([{ "get_resource": "one" }]));
        let updated = world.update(web.stack, template).await.ok()?;
        reached(world, log, &updated, "UPDATE_COMPLETE").await?;
        let deleted = world.delete(web.stack).await.ok()?;
        reached(world, log, &deleted, "DELETE_COMPLETE").await
    }

    fn has_ports_of_its_own(&self) -> bool {
        false
    }

    async fn help(&self, world: &World, _stack: StackId) {
        Self::tell(world).await;
    }
}

#[actix::test]
async fn a_load_balancer_is_made_once_whenever_the_process_ended() {
    sweep(&Balanced, 50).await;
}
