//! Addresses that were signed in advance: whoever signals there until he is heard is heard once,
//! though Keystone's word on the signature is lost.

use std::sync::Arc;

use hearth::events::Position;
use hearth::events::log::{Filter, MemoryLog};
use hearth::sandbox::FaultRule;
use serde_json::{Value, json};

use super::{rule, ways};
use crate::api::app::{App, SetUp};
use crate::support::wait::{WAIT_MAX, polled, until};

fn template() -> Value {
    json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "config": "x" } },
            "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                "config": { "get_resource": "config" }, "server": "s1",
                "signal_transport": "CFN_SIGNAL" } },
            "group": { "type": "OS::Heat::AutoScalingGroup", "properties": {
                "min_size": 1, "max_size": 5, "resource": { "type": "OS::Heat::TestResource" } } },
            "up": { "type": "OS::Heat::ScalingPolicy", "properties": {
                "auto_scaling_group_id": { "get_resource": "group" },
                "adjustment_type": "change_in_capacity", "scaling_adjustment": 1 } },
        },
        "outputs": {
            "up": { "value": { "get_attr": ["up", "alarm_url"] } },
            "size": { "value": { "get_attr": ["group", "current_size"] } },
        },
    })
}

/// Signals until that is heard, as `curl --retry` does.
async fn signal(app: &App, address: &str, body: &Value, place: &str) {
    let is_heard = async || {
        let heard = app.send("POST", address, &[], Some(body.to_string())).await;
        assert!(
            heard.status == 200 || heard.status >= 500,
            "{place}: {} {}",
            heard.status,
            heard.text
        );
        heard.status == 200
    };
    polled(WAIT_MAX, format!("{place}: somebody hears"), is_heard).await;
}

/// Where the server of the only deployment answers.
async fn answer_at(app: &App) -> String {
    until(&[app], "the deployment waits for its server", async || {
        let listed = app.get("/software_deployments").await.json();
        if let Some(config) = listed["software_deployments"][0]["config_id"].as_str() {
            let config = app.get(&format!("/software_configs/{config}")).await.json();
            let inputs =
                config["software_config"]["inputs"].as_array().cloned().unwrap_or_default();
            let found = inputs.iter().find(|input| input["name"] == "deploy_signal_id");
            if let Some(address) = found.and_then(|input| input["value"].as_str()) {
                return Some(address.to_owned());
            }
        }
        None
    })
    .await
}

fn output(stack: &Value, key: &str) -> Value {
    let outputs = stack["outputs"].as_array().unwrap();
    outputs.iter().find(|output| output["output_key"] == key).unwrap()["output_value"].clone()
}

/// How many events of a type there are.
async fn count(app: &App, event_type: &str) -> usize {
    let all = app.log.read_all(Position(0), &Filter::default(), usize::MAX).await.unwrap();
    all.iter().filter(|event| event.event_type.as_ref() == event_type).count()
}

/// How many signals were taken, changes of a group's size among them.
async fn taken(app: &App) -> usize {
    count(app, "SignalTaken").await + count(app, "ResizeTaken").await
}

#[actix::test]
async fn a_signal_at_a_signed_address_counts_once_whatever_is_lost() {
    // The answer of the deployment's server, and the signal to the policy.
    for skip in 0..2 {
        for fault in ways() {
            let place = format!("signature {skip} meets {fault:?}");
            let path = Some("/v3/ec2tokens".to_owned());
            let faults = vec![FaultRule { path, ..rule(skip, fault) }];
            let setup = SetUp { faults, ..SetUp::default() };
            let app = App::set_up(Arc::new(MemoryLog::new()), setup).await;
            let body = json!({ "stack_name": "web", "template": template() });
            let created = app.ask("POST", "/stacks", Some(body)).await;
            assert_eq!(created.status, 201, "{place}: {}", created.text);
            let answer = json!({ "deploy_status_code": 0 });
            signal(&app, &answer_at(&app).await, &answer, &place).await;
            let stack = app.settled("web").await;
            assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{place}: {stack}");
            assert_eq!(output(&stack, "size"), 1, "{place}");
            let before = taken(&app).await;
            let up = output(&stack, "up").as_str().unwrap().to_owned();
            signal(&app, &up, &json!({ "current": "alarm" }), &place).await;
            let grows = async || output(&app.settled("web").await, "size") != 1;
            until(&[&app], format!("{place}: it grows"), grows).await;
            let are_handled = async || taken(&app).await <= count(&app, "SignalHandled").await;
            until(&[&app], format!("{place}: every signal is handled"), are_handled).await;
            assert_eq!(output(&app.settled("web").await, "size"), 2, "{place}");
            // The policy's, and the group's that comes of it.
            assert_eq!(taken(&app).await - before, 2, "{place}");
            app.stop().await;
        }
    }
}
