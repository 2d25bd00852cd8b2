//! Load balancers in Amazon's words, which are stacks of their own.

use serde_json::{Value, json};

use super::app::App;

use crate::support::wait::until;

fn template(instances: Value) -> Value {
    let instance = json!({ "type": "AWS::EC2::Instance", "properties": {
        "ImageId": "cirros", "InstanceType": "m1.nano" } });
    json!({
        "heat_template_version": "2018-08-31",
        "parameters": { "LbImageId": { "type": "string", "default": "cirros" },
                        "LbFlavor": { "type": "string", "default": "m1.nano" } },
        "resources": {
            "one": instance,
            "two": instance,
            "lb": { "type": "AWS::ElasticLoadBalancing::LoadBalancer", "properties": {
                "AvailabilityZones": ["nova"], "Instances": instances,
                "Listeners": [{ "LoadBalancerPort": 80, "InstancePort": 8080,
                                "Protocol": "HTTP" }] } },
        },
        "outputs": {
            "address": { "value": { "get_attr": ["lb", "DNSName"] } },
            "zone": { "value": { "get_attr": ["lb", "CanonicalHostedZoneName"] } },
            "name": { "value": { "get_resource": "lb" } },
            "member": { "value": { "get_attr": ["one", "PublicIp"] } },
        },
    })
}

fn all(names: &[&str]) -> Value {
    names.iter().map(|name| json!({ "get_resource": name })).collect()
}

/// Creates the stack `web` and does not wait for it.
async fn accepted(app: &App, template: Value) -> String {
    let body = json!({ "stack_name": "web", "template": template });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.json()["stack"]["id"].as_str().unwrap().to_owned()
}

/// What is in the stack of the load balancer, by name.
const PARTS: [&str; 5] =
    ["CfnLBAccessKey", "CfnLBUser", "LB_instance", "WaitCondition", "WaitHandle"];

/// The path of the stack of the load balancer, once its server is there and has told that it is
/// ready.
async fn ready(app: &App, id: &str) -> String {
    let signal = json!({ "Status": "SUCCESS", "UniqueId": "1", "Data": "", "Reason": "" });
    until(&[app], "the handle is there", async || {
        let listed = app.get(&format!("/stacks/web/{id}/resources?nested_depth=1")).await.json();
        let parts = listed["resources"].as_array().unwrap();
        let handle = parts.iter().find(|it| {
            it["resource_name"] == "WaitHandle" && it["resource_status"] == "CREATE_COMPLETE"
        });
        if let Some(handle) = handle {
            let links = handle["links"].as_array().unwrap();
            let stack = links.iter().find(|link| link["rel"] == "stack").unwrap();
            let (_, path) = stack["href"].as_str().unwrap().split_once("/stacks/").unwrap();
            let path = format!("/stacks/{path}");
            let signaled = format!("{path}/resources/WaitHandle/signal");
            let taken = app.ask("POST", &signaled, Some(signal.clone())).await;
            assert_eq!(taken.status, 200, "{}", taken.text);
            return Some(path);
        }
        let web = app.get(&format!("/stacks/web/{id}")).await.json()["stack"].clone();
        assert_eq!(web["stack_status"], "CREATE_IN_PROGRESS", "{}", web["stack_status_reason"]);
        None
    })
    .await
}

/// What haproxy is told, as the guest reads it.
async fn told(app: &App, stack: &str) -> String {
    let path = format!("{stack}/resources/LB_instance/metadata");
    let metadata = app.get(&path).await.json()["metadata"].clone();
    let files = &metadata["AWS::CloudFormation::Init"]["config"]["files"];
    files["/etc/haproxy/haproxy.cfg"]["content"].as_str().unwrap().to_owned()
}

#[actix::test]
async fn a_load_balancer_is_a_stack_that_follows_its_instances() {
    let app = App::start().await;
    let id = accepted(&app, template(all(&["one"]))).await;
    let child = ready(&app, &id).await;
    let web = app.settled("web").await;
    assert_eq!(web["stack_status"], "CREATE_COMPLETE", "{}", web["stack_status_reason"]);
    let output = |web: &Value, key: &str| {
        let outputs = web["outputs"].as_array().unwrap();
        outputs.iter().find(|it| it["output_key"] == key).unwrap()["output_value"].clone()
    };
    assert_eq!((output(&web, "name"), output(&web, "zone")), (json!("lb"), json!("")));
    let listed = app.get(&format!("/stacks/web/{id}/resources?nested_depth=1")).await.json();
    let listed = listed["resources"].as_array().unwrap();
    let mut names: Vec<&str> = listed
        .iter()
        .filter(|it| it["parent_resource"] == "lb")
        .map(|it| it["resource_name"].as_str().unwrap())
        .collect();
    names.sort_unstable();
    assert_eq!(names, PARTS);
    let server = format!("{child}/resources/LB_instance?with_attr=PublicIp");
    let server = app.get(&server).await.json()["resource"].clone();
    assert_eq!(output(&web, "address"), server["attributes"]["PublicIp"]);
    assert_ne!(output(&web, "address"), "0.0.0.0");
    let one = output(&web, "member");
    let before = told(&app, &child).await;
    assert!(before.contains(&format!(" {}:8080\n", one.as_str().unwrap())), "{before}");
    assert!(before.contains("server1") && !before.contains("server2"), "{before}");

    // Another instance is told of by the metadata; the server stays.
    let body = json!({ "template": template(all(&["one", "two"])) });
    let path = format!("/stacks/web/{id}");
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    let web = app.settled("web").await;
    assert_eq!(web["stack_status"], "UPDATE_COMPLETE", "{}", web["stack_status_reason"]);
    let after = told(&app, &child).await;
    assert!(after.contains("server2") && !after.contains("0.0.0.0:"), "{after}");
    let now = app.get(&format!("{child}/resources/LB_instance")).await.json()["resource"].clone();
    assert_eq!(now["physical_resource_id"], server["physical_resource_id"]);
    assert_eq!(app.get(&child).await.json()["stack"]["stack_status"], "UPDATE_COMPLETE");

    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    app.comes_to(&path, "DELETE_COMPLETE").await;
    app.stop().await;
}

#[actix::test]
async fn what_a_load_balancer_is_made_of_is_shown_before_it_is_made() {
    let app = App::start().await;
    let body = json!({ "template": template(all(&["one"])) });
    let valid = app.ask("POST", "/validate?show_nested=true", Some(body.clone())).await.json();
    let shown = &valid["NestedParameters"]["lb"];
    assert_eq!(shown["Type"], "AWS::ElasticLoadBalancing::LoadBalancer", "{valid}");
    let parameters = shown["Parameters"].as_object().unwrap();
    let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
    assert_eq!(names, ["LbImageId", "LbFlavor", "LBTimeout"]);
    assert_eq!(parameters["LbFlavor"]["Value"], "m1.nano");
    assert_eq!(parameters["LBTimeout"]["Default"], "600");

    let mut body = body;
    body["stack_name"] = "web".into();
    let previewed = app.ask("POST", "/stacks/preview", Some(body)).await.json();
    let resources = previewed["stack"]["resources"].as_array().unwrap();
    let nested = resources.iter().find_map(|it| it.as_array()).unwrap();
    let mut names: Vec<&str> =
        nested.iter().map(|it| it["resource_name"].as_str().unwrap()).collect();
    names.sort_unstable();
    assert_eq!(names, PARTS);
    app.stop().await;
}

#[actix::test]
async fn a_look_takes_less_than_what_lies_between_two() {
    let app = App::start().await;
    let health = json!({ "HealthyThreshold": 1, "UnhealthyThreshold": 1, "Target": "TCP:80",
                         "Interval": 4, "Timeout": 5 });
    let mut template = template(all(&["one"]));
    template["resources"]["lb"]["properties"]["HealthCheck"] = health;
    let body = json!({ "stack_name": "web", "template": template });
    let refused = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(refused.status, 400);
    let error = refused.json()["error"].clone();
    assert_eq!(error["type"], "StackValidationFailed");
    assert_eq!(error["message"], "Interval must be larger than Timeout");
    app.stop().await;
}

#[actix::test]
async fn a_load_balancer_is_told_of_a_groups_members() {
    let app = App::start().await;
    let template = |size: u64| {
        json!({
            "AWSTemplateFormatVersion": "2010-09-09",
            "Parameters": { "LbImageId": { "Type": "String", "Default": "cirros" },
                            "LbFlavor": { "Type": "String", "Default": "m1.nano" } },
            "Resources": {
                "conf": { "Type": "AWS::AutoScaling::LaunchConfiguration", "Properties": {
                    "ImageId": "cirros", "InstanceType": "m1.nano" } },
                "g": { "Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {
                    "AvailabilityZones": ["nova"], "MinSize": 1, "MaxSize": 4,
                    "DesiredCapacity": size, "LaunchConfigurationName": { "Ref": "conf" },
                    "LoadBalancerNames": [{ "Ref": "lb" }] } },
                "up": { "Type": "AWS::AutoScaling::ScalingPolicy", "Properties": {
                    "AutoScalingGroupName": { "Ref": "g" }, "ScalingAdjustment": "1",
                    "AdjustmentType": "ChangeInCapacity" } },
                "lb": { "Type": "AWS::ElasticLoadBalancing::LoadBalancer", "Properties": {
                    "AvailabilityZones": ["nova"],
                    "Listeners": [{ "LoadBalancerPort": 80, "InstancePort": 8080,
                                    "Protocol": "TCP" }] } },
            },
            "Outputs": { "list": { "Value": { "Fn::GetAtt": ["g", "InstanceList"] } } },
        })
    };
    let id = accepted(&app, template(2)).await;
    let child = ready(&app, &id).await;
    let web = app.settled("web").await;
    assert_eq!(web["stack_status"], "CREATE_COMPLETE", "{}", web["stack_status_reason"]);
    let addresses = |web: &Value| -> Vec<String> {
        let list = web["outputs"][0]["output_value"].as_str().unwrap();
        list.split(',').map(str::to_owned).collect()
    };
    let lists = |config: &str, members: &[String]| {
        let count = config.lines().filter(|line| line.starts_with("    server ")).count();
        let named = |address: &String| config.contains(&format!(" {address}:8080\n"));
        count == members.len() && members.iter().all(named)
    };
    let members = addresses(&web);
    let config = told(&app, &child).await;
    assert_eq!(members.len(), 2);
    assert!(lists(&config, &members), "{members:?} {config}");

    let signaled = app.ask("POST", &format!("/stacks/web/{id}/resources/up/signal"), None).await;
    assert_eq!(signaled.status, 200, "{}", signaled.text);
    let lists_three = async || {
        let members = addresses(&app.get(&format!("/stacks/web/{id}")).await.json()["stack"]);
        members.len() == 3 && lists(&told(&app, &child).await, &members)
    };
    until(&[&app], "it lists three members", lists_three).await;
    let body = json!({ "template": template(1) });
    assert_eq!(app.ask("PUT", &format!("/stacks/web/{id}"), Some(body)).await.status, 202);
    let web = app.settled("web").await;
    assert_eq!(web["stack_status"], "UPDATE_COMPLETE", "{}", web["stack_status_reason"]);
    let (members, config) = (addresses(&web), told(&app, &child).await);
    assert_eq!(members.len(), 1);
    assert!(lists(&config, &members), "{members:?} {config}");
    app.stop().await;
}

#[actix::test]
async fn what_is_no_load_balancer_is_told_nothing() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "conf": { "type": "AWS::AutoScaling::LaunchConfiguration", "properties": {
                "ImageId": "cirros", "InstanceType": "m1.nano" } },
            "other": { "type": "OS::Heat::RandomString" },
            "g": { "type": "OS::Heat::InstanceGroup", "depends_on": "other", "properties": {
                "AvailabilityZones": ["nova"], "Size": 1,
                "LaunchConfigurationName": { "get_resource": "conf" },
                "LoadBalancerNames": ["nothing"] } },
        },
    });
    app.create("web", template).await;
    let web = app.settled("web").await;
    let expected = "Resource CREATE failed: Error: resources.g: Unsupported resource 'nothing' in \
                    LoadBalancerNames";
    assert_eq!(web["stack_status_reason"], expected);
    app.stop().await;
}
