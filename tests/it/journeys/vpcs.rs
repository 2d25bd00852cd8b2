//! Templates in EC2's words: instances in VPCs, with addresses and volumes, over the sandbox.

use hearth::model::StackId;
use hearth::openstack::{Request, Service};
use serde_json::{Value, json};

use crate::support::world::{Ground, World, hot};

fn vpc() -> Value {
    let vpc = || json!({ "get_resource": "vpc" });
    json!({
        "vpc": { "type": "AWS::EC2::VPC", "properties": { "CidrBlock": "10.0.0.0/16" } },
        "subnet": { "type": "AWS::EC2::Subnet", "properties": {
            "VpcId": vpc(), "CidrBlock": "10.0.0.0/24" } },
        "gateway": { "type": "AWS::EC2::InternetGateway" },
        "attached": { "type": "AWS::EC2::VPCGatewayAttachment", "properties": {
            "VpcId": vpc(), "InternetGatewayId": { "get_resource": "gateway" } } },
        "table": { "type": "AWS::EC2::RouteTable", "properties": { "VpcId": vpc() } },
        "associated": { "type": "AWS::EC2::SubnetRouteTableAssociation", "properties": {
            "RouteTableId": { "get_resource": "table" }, "SubnetId": { "get_resource": "subnet" } } },
    })
}

fn with_instance() -> Value {
    let mut resources = vpc();
    let instance = json!({
        "port": { "type": "AWS::EC2::NetworkInterface", "properties": {
            "SubnetId": { "get_resource": "subnet" }, "PrivateIpAddress": "10.0.0.7" } },
        "instance": { "type": "AWS::EC2::Instance", "properties": {
            "ImageId": "cirros", "InstanceType": "m1.nano",
            "NetworkInterfaces": [{ "get_resource": "port" }] } },
        "address": { "type": "AWS::EC2::EIP", "depends_on": ["attached", "associated"] },
        "addressed": { "type": "AWS::EC2::EIPAssociation", "properties": {
            "EIP": { "get_resource": "address" },
            "InstanceId": { "get_resource": "instance" } } },
        "volume": { "type": "AWS::EC2::Volume", "deletion_policy": "Snapshot", "properties": {
            "AvailabilityZone": "nova", "Size": 1 } },
        "attachment": { "type": "AWS::EC2::VolumeAttachment", "properties": {
            "InstanceId": { "get_resource": "instance" },
            "VolumeId": { "get_resource": "volume" }, "Device": "/dev/vdc" } },
        "bucket": { "type": "AWS::S3::Bucket", "properties": { "AccessControl": "Private" } },
    });
    resources.as_object_mut().unwrap().extend(instance.as_object().unwrap().clone());
    resources
}

async fn shown(ground: &Ground, path: String) -> Value {
    ground.session().send(Request::get(Service::Network, path)).await.unwrap().json().unwrap()
}

/// The networks that a router's ports are on, and the one that it leads to.
async fn routed(ground: &Ground, router: &str) -> (usize, bool) {
    let ports = shown(ground, format!("/v2.0/ports?device_id={router}")).await;
    let ports = ports["ports"].as_array().unwrap();
    let inside = ports.iter().filter(|it| it["device_owner"] == "network:router_interface");
    let shown = shown(ground, format!("/v2.0/routers/{router}")).await;
    (inside.count(), !shown["router"]["external_gateway_info"].is_null())
}

/// The router of a VPC, which bears its name.
async fn router_of(ground: &Ground, world: &World, stack: StackId) -> String {
    let vpc = world.physical_id(stack, "vpc").await.unwrap();
    let network = shown(ground, format!("/v2.0/networks/{vpc}")).await;
    let name = network["network"]["name"].as_str().unwrap();
    let routers = shown(ground, format!("/v2.0/routers?name={name}")).await;
    routers["routers"][0]["id"].as_str().unwrap().to_owned()
}

#[actix::test]
async fn a_subnet_goes_to_the_router_of_its_table_and_comes_back() {
    let ground = Ground::new().await;
    let before = ground.counts();
    let world = ground.start().await;
    let web = world.create("web", hot(vpc())).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let table = world.physical_id(web.stack, "table").await.unwrap();
    let of_vpc = router_of(&ground, &world, web.stack).await;
    assert_eq!(routed(&ground, &table).await, (1, true), "the table comes before the attachment");
    assert_eq!(routed(&ground, &of_vpc).await, (0, false));
    let mut less = vpc();
    for name in ["associated", "attached"] {
        less.as_object_mut().unwrap().remove(name);
    }
    let updated = world.update(web.stack, hot(less)).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(routed(&ground, &table).await, (0, false));
    assert_eq!(routed(&ground, &of_vpc).await, (1, false));
    let updated = world.update(web.stack, hot(vpc())).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    assert_eq!(routed(&ground, &table).await, (1, true));
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), before);
}

#[actix::test]
async fn an_instance_in_a_vpc_has_an_address_and_a_volume_that_is_kept() {
    let ground = Ground::new().await;
    let mut before = ground.counts();
    let world = ground.start().await;
    let mut template = hot(with_instance());
    template["outputs"] = json!({
        "address": { "value": { "get_resource": "address" } },
        "allocation": { "value": { "get_attr": ["address", "AllocationId"] } },
        "inside": { "value": { "get_attr": ["port", "PrivateIpAddress"] } },
    });
    let web = world.create("web", template).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE", "{}", world.reason(web.stack).await);
    let allocation = world.physical_id(web.stack, "address").await.unwrap();
    let address = shown(&ground, format!("/v2.0/floatingips/{allocation}")).await;
    assert_eq!(address["floatingip"]["fixed_ip_address"], "10.0.0.7");
    let public = address["floatingip"]["floating_ip_address"].as_str();
    let outputs = world.views.stack_shown(web.stack).await.unwrap().unwrap().outputs;
    let outputs: Vec<Value> = outputs.into_iter().map(|output| output.placed.value).collect();
    assert_eq!(outputs, [json!(public), json!(allocation), json!("10.0.0.7")]);
    assert_eq!(world.physical_id(web.stack, "addressed").await.as_deref(), public);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(
        world.settled(&deleted).await,
        "DELETE_COMPLETE",
        "{}",
        world.reason(web.stack).await
    );
    let backups = before["backups"].as_u64().unwrap_or_default();
    before["backups"] = json!(backups + 1);
    assert_eq!(ground.counts(), before, "a backup of the volume is kept");
}
