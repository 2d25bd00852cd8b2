//! Stacks of CloudFormation's language, from their making to their end.

use serde_json::{Value, json};

use super::app::App;

fn template() -> Value {
    json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "A net and what is said of it",
        "Parameters": { "Text": { "Type": "String", "Default": "blue", "NoEcho": "true" } },
        "Conditions": { "Red": { "Fn::Equals": [{ "Ref": "Text" }, "red"] } },
        "Resources": {
            "Net": {
                "Type": "OS::Neutron::Net",
                "Properties": { "name": { "Fn::Join": ["-", [{ "Ref": "AWS::StackName" }, "net"]] } },
            },
            "Said": {
                "Type": "OS::Heat::TestResource",
                "DependsOn": "Net",
                "Properties": { "value": { "Fn::If": ["Red", "stop", "go"] } },
            },
            "Extra": { "Type": "OS::Heat::TestResource", "Condition": "Red" },
        },
        "Outputs": {
            "Id": { "Value": { "Ref": "Net" } },
            "Name": { "Value": { "Fn::GetAtt": ["Net", "name"] } },
            "Said": { "Value": { "Fn::GetAtt": ["Said", "output"] }, "Description": "what it says" },
        },
    })
}

fn output<'s>(stack: &'s Value, key: &str) -> &'s Value {
    let outputs = stack["outputs"].as_array().unwrap();
    &outputs.iter().find(|output| output["output_key"] == key).unwrap()["output_value"]
}

#[actix::test]
async fn a_stack_lives_and_its_template_comes_back_as_it_was_sent() {
    let app = App::start().await;
    let stack = app.create("cfn", template()).await;
    assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{stack}");
    let id = stack["id"].as_str().unwrap();
    assert_eq!(stack["description"], "A net and what is said of it");
    assert_eq!(
        stack["parameters"],
        json!({
            "Text": "******",
            "AWS::StackName": "cfn",
            "AWS::StackId": format!("arn:openstack:heat::{}:stacks/cfn/{id}", app.project),
            "AWS::Region": "ap-southeast-1",
        })
    );
    assert_eq!(*output(&stack, "Name"), "cfn-net");
    assert_eq!(*output(&stack, "Said"), "go");
    let path = format!("/stacks/cfn/{id}");
    assert_eq!(app.get(&format!("{path}/template")).await.json(), template());
    let resources = app.get(&format!("{path}/resources")).await.json();
    assert_eq!(resources["resources"].as_array().unwrap().len(), 2);

    let body = json!({ "template": template(), "parameters": { "Text": "red" } });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    let updated = app.settled("cfn").await;
    assert_eq!(updated["stack_status"], "UPDATE_COMPLETE", "{updated}");
    assert_eq!(*output(&updated, "Said"), "stop");
    assert_eq!(output(&updated, "Id"), output(&stack, "Id"));
    let resources = app.get(&format!("{path}/resources")).await.json();
    assert_eq!(resources["resources"].as_array().unwrap().len(), 3);

    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    app.shows("/stacks/cfn", |shown| shown.status == 404).await;
    app.stop().await;
}
