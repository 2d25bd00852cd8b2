//! Keys that stacks hand out: what they open, and until when.

use serde_json::{Value, json};

use super::desk::{Desk, named, now, within};
use super::signer::{Key, query};
use crate::api::app::Answered;

/// A user with a key, an alarm and a resource that has metadata.
fn template() -> Value {
    json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {
            "User": { "Type": "AWS::IAM::User" },
            "Key": { "Type": "AWS::IAM::AccessKey",
                     "Properties": { "UserName": { "Ref": "User" } } },
            "hot": { "Type": "OS::Heat::CWLiteAlarm", "Properties": {
                "MetricName": "cpu", "Namespace": "system/linux", "Statistic": "Average",
                "Period": "60", "EvaluationPeriods": "1", "Threshold": "80",
                "ComparisonOperator": "GreaterThanThreshold" } },
            "Other": { "Type": "OS::Heat::TestResource", "Metadata": { "number": 7 } },
        },
        "Outputs": { "access": { "Value": { "Ref": "Key" } },
                     "secret": { "Value": { "Fn::GetAtt": ["Key", "SecretAccessKey"] } } },
    })
}

/// Makes the stack; it, and its user's key.
async fn made(desk: &Desk, name: &str) -> (Value, Key) {
    let stack = desk.app.create(name, template()).await;
    assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{stack}");
    let text = |name: &str| {
        let outputs = stack["outputs"].as_array().unwrap();
        let output = outputs.iter().find(|output| output["output_key"] == name).unwrap();
        output["output_value"].as_str().unwrap().to_owned()
    };
    let key = Key { access: text("access"), secret: text("secret") };
    (stack, key)
}

fn code(answer: &Answered) -> (u16, &str) {
    (answer.status, within(&answer.text, "Code"))
}

#[actix::test]
async fn data_of_a_stacks_user_are_for_alarms_of_that_stack_alone() {
    let desk = Desk::open().await;
    let (_, key) = made(&desk, "one").await;
    made(&desk, "two").await;
    let put = async |key: &Key, alarm: &str| {
        let datum = [
            ("Namespace", "system/linux"),
            ("MetricData.member.1.MetricName", "cpu"),
            ("MetricData.member.1.Value", "99"),
            ("MetricData.member.1.Dimensions.member.1.Name", "AlarmName"),
            ("MetricData.member.1.Dimensions.member.1.Value", alarm),
        ];
        desk.watch_as(key, "PutMetricData", &datum).await
    };
    let own = put(&key, "one-hot").await;
    assert_eq!(own.status, 200, "{}", own.text);
    let other = put(&key, "two-hot").await;
    assert_eq!(code(&other), (400, "InvalidParameterValue"), "{}", other.text);
    // The project itself may speak for all.
    let any = put(&desk.key, "two-hot").await;
    assert_eq!(any.status, 200, "{}", any.text);
    desk.app.stop().await;
}

#[actix::test]
async fn a_key_that_is_taken_back_opens_nothing_from_then_on() {
    let desk = Desk::open().await;
    let (stack, key) = made(&desk, "web").await;
    let path = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    let arn = format!("arn:openstack:heat::{}:{}", desk.app.project, &path[1..]);
    let other = [("StackName", arn.as_str()), ("LogicalResourceId", "Other")];
    let signed = named("DescribeStackResource", &other);
    let signed = query(&key.version_2("GET", &desk.host, "/v1/", &signed, Some(now())));
    // The same request each time, whose signature has been found good before.
    let read = async || desk.send("GET", &format!("/v1/?{signed}"), &[], None).await.status;
    assert_eq!(read().await, 200);
    for (action, status) in [("suspend", 403), ("resume", 200)] {
        let body = json!({ action: null });
        let acted = desk.app.ask("POST", &format!("{path}/actions"), Some(body)).await;
        assert!((200..300).contains(&acted.status), "{}", acted.text);
        desk.app.settled("web").await;
        assert_eq!(read().await, status, "{action}");
    }
    let mut template = template();
    template["Resources"].as_object_mut().unwrap().shift_remove("Key");
    template.as_object_mut().unwrap().shift_remove("Outputs");
    let body = json!({ "template": template });
    assert_eq!(desk.app.ask("PUT", &path, Some(body)).await.status, 202);
    assert_eq!(desk.app.settled("web").await["stack_status"], "UPDATE_COMPLETE");
    assert_eq!(read().await, 403);
    desk.app.stop().await;
}
