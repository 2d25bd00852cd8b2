//! Addresses that stacks hand out, signed by keys of their own: whoever has one may signal, with
//! nothing else to show.

use hearth::events::log::MemoryLog;
use serde_json::{Value, json};
use url::Url;

use super::desk::within;
use super::signer::{Key, Pairs, query};
use crate::api::app::{Answered, App};
use crate::support::queue::Queue;
use crate::support::wait::until;

/// As curl asks, without any header of OpenStack's.
async fn curl(app: &App, verb: &str, address: &str, body: &Value) -> Answered {
    let body = (!body.is_null()).then(|| body.to_string());
    app.send(verb, address, &[("content-type", "application/json")], body).await
}

/// Creates the stack `web` and does not wait for it.
async fn accepted(app: &App, template: &Value) -> String {
    let body = json!({ "stack_name": "web", "template": template });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    created.json()["stack"]["id"].as_str().unwrap().to_owned()
}

/// Asks until an answer has what is looked for.
async fn awaited(app: &App, path: &str, found: impl Fn(&Value) -> Option<Value>) -> Value {
    until(&[app], path, async || found(&app.get(path).await.json())).await
}

/// Deletes the stack `web`; waits until it is gone.
async fn deleted(app: &App, id: &str) {
    let path = format!("/stacks/web/{id}");
    assert_eq!(app.ask("DELETE", &path, None).await.status, 204);
    let gone = |shown: &Value| {
        let status = shown["stack"]["stack_status"].clone();
        (status != "DELETE_IN_PROGRESS").then_some(status)
    };
    assert_eq!(awaited(app, &path, gone).await, "DELETE_COMPLETE");
}

/// The users of the stack `web`, and all keys for signatures.
async fn users_and_keys(app: &App) -> Vec<String> {
    let (token, _) = app.login("admin", "admin").await;
    let keystone = app.keystone.trim_end_matches('/');
    let mut found = Vec::new();
    for (kind, field) in [("users", "name"), ("credentials", "type")] {
        let asked = app.client.get(format!("{keystone}/{kind}")).header("x-auth-token", &token);
        let listed: Value = asked.send().await.unwrap().json().await.unwrap();
        let shown = listed[kind].as_array().unwrap().iter().map(|it| it[field].as_str().unwrap());
        found.extend(shown.filter(|it| *it == "ec2" || it.starts_with("web-")).map(str::to_owned));
    }
    found
}

fn output(shown: &Value, key: &str) -> String {
    let outputs = shown["outputs"].as_array().unwrap();
    let found = outputs.iter().find(|output| output["output_key"] == key);
    found.unwrap()["output_value"].as_str().unwrap_or_else(|| panic!("{shown}")).to_owned()
}

/// An address with another last letter of its signature.
fn forged(address: &str) -> String {
    let (rest, _) = address.rsplit_once("Signature=").unwrap();
    format!("{rest}Signature=AAAAZ09kAPMEfVo5bDKpAAAAAAAAAAAAAAAAAAAAAAA%3D")
}

fn code(answer: &Answered) -> (u16, &str) {
    (answer.status, within(&answer.text, "Code"))
}

/// Two handles and conditions: one that says its address, and one that is its address.
fn waiting(kind: &str) -> Value {
    json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "own": { "type": "OS::Heat::WaitConditionHandle",
                     "properties": { "signal_transport": "CFN_SIGNAL" } },
            "other": { "type": kind },
            "first": { "type": "OS::Heat::WaitCondition", "properties": {
                "handle": { "get_resource": "own" }, "timeout": 60 } },
            "second": { "type": "AWS::CloudFormation::WaitCondition", "properties": {
                "Handle": { "get_resource": "other" }, "Timeout": 60 } },
        },
        "outputs": {
            "first": { "value": { "get_attr": ["first", "data"] } },
            "second": { "value": { "get_attr": ["second", "Data"] } },
            "address": { "value": { "get_resource": "other" } },
        },
    })
}

#[actix::test]
async fn whoever_has_a_handles_address_signals_it_and_nothing_else() {
    let app = App::start().await;
    for kind in ["AWS::CloudFormation::WaitConditionHandle", "OS::Heat::UpdateWaitConditionHandle"]
    {
        let id = accepted(&app, &waiting(kind)).await;
        let path = format!("/stacks/web/{id}/resources/own");
        let signal = awaited(&app, &path, |shown| {
            let signal = shown["resource"]["attributes"]["signal"].as_str()?;
            let signal: Value = serde_json::from_str(signal).ok()?;
            signal["alarm_url"].is_string().then_some(signal)
        });
        let own = signal.await["alarm_url"].as_str().unwrap().to_owned();
        let path = format!("/stacks/web/{id}");
        let other = awaited(&app, &path, |shown| {
            let address = output(&shown["stack"], "address");
            address.starts_with("http").then(|| address.into())
        });
        let other = other.await.as_str().unwrap().to_owned();
        assert!(own.starts_with(&format!("{}/v1/waitcondition/arn%3A", app.cfn_url)), "{own}");
        assert!(!own.contains("Timestamp"), "it is good for days: {own}");

        assert_eq!(code(&curl(&app, "PUT", &forged(&own), &json!({})).await).0, 403);
        assert_eq!(code(&curl(&app, "POST", &own, &json!({})).await).0, 403);
        let elsewhere = own.replace("resources/own", "resources/other");
        assert_eq!(code(&curl(&app, "PUT", &elsewhere, &json!({})).await).0, 403);

        let heard = curl(&app, "PUT", &own, &json!({ "id": "a", "data": "one" })).await;
        assert_eq!(heard.text, "<resource>own</resource>");
        let body = json!({ "Status": "SUCCESS", "UniqueId": "b", "Reason": "ok", "Data": "two" });
        let heard = curl(&app, "PUT", &other, &body).await;
        assert_eq!(heard.text, "<resource>other</resource>");
        let settled = app.settled("web").await;
        assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{settled}");
        assert_eq!(output(&settled, "first"), r#"{"a": "one"}"#);
        assert_eq!(output(&settled, "second"), r#"{"b": "two"}"#);

        deleted(&app, &id).await;
        // The key is gone with the stack, however lately it was found good.
        assert_eq!(code(&curl(&app, "PUT", &own, &json!({})).await).0, 403);
        assert_eq!(users_and_keys(&app).await, Vec::<String>::new(), "{kind}");
    }
    app.stop().await;
}

#[actix::test]
async fn whoever_has_an_address_uses_up_a_share_of_its_own() {
    let app = App::writing(std::sync::Arc::new(MemoryLog::new()), 2_000_000).await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": { "handle": { "type": "AWS::CloudFormation::WaitConditionHandle" } },
        "outputs": { "address": { "value": { "get_resource": "handle" } } },
    });
    let web = app.create("web", template.clone()).await;
    let address = output(&web, "address");
    let (mut taken, data) = (0, "x".repeat(20_000));
    let refused = loop {
        let body = json!({ "Status": "SUCCESS", "UniqueId": "a", "Reason": "ok", "Data": data });
        let heard = curl(&app, "PUT", &address, &body).await;
        match heard.status {
            200 => taken += 1,
            _ => break heard,
        }
    };
    assert_eq!(code(&refused), (403, "AccessDenied"));
    assert!(refused.text.contains("200000 bytes that the users of a stack"), "{}", refused.text);
    assert!((2..=10).contains(&taken), "{taken}");
    // Others of the project go on, and so do users of other stacks.
    let other = app.create("other", template).await;
    let body = json!({ "Status": "SUCCESS", "UniqueId": "a", "Reason": "ok", "Data": data });
    let heard = curl(&app, "PUT", &output(&other, "address"), &body).await;
    assert_eq!(heard.status, 200, "{}", heard.text);
    app.stop().await;
}

#[actix::test]
async fn a_suspended_handle_takes_no_signal_and_a_resumed_one_does() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": { "handle": { "type": "AWS::CloudFormation::WaitConditionHandle" } },
        "outputs": { "address": { "value": { "get_resource": "handle" } } },
    });
    let id = accepted(&app, &template).await;
    let address = output(&app.settled("web").await, "address");
    let body = json!({ "Status": "SUCCESS", "UniqueId": "a", "Reason": "", "Data": "" });
    for (action, status) in [("suspend", 403), ("resume", 200)] {
        let path = format!("/stacks/web/{id}/actions");
        assert_eq!(app.ask("POST", &path, Some(json!({ action: null }))).await.status, 200);
        app.settled("web").await;
        assert_eq!(curl(&app, "PUT", &address, &body).await.status, status, "{action}");
    }
    app.stop().await;
}

fn scaled() -> Value {
    json!({
        "heat_template_version": "2018-08-31",
        "resources": {
            "group": { "type": "OS::Heat::AutoScalingGroup", "properties": {
                "min_size": 1, "max_size": 5, "resource": { "type": "OS::Heat::TestResource" } } },
            "up": { "type": "OS::Heat::ScalingPolicy", "properties": {
                "auto_scaling_group_id": { "get_resource": "group" },
                "adjustment_type": "change_in_capacity", "scaling_adjustment": 1 } },
            "more": { "type": "AWS::AutoScaling::ScalingPolicy", "properties": {
                "AutoScalingGroupName": { "get_resource": "group" },
                "AdjustmentType": "ChangeInCapacity", "ScalingAdjustment": 2 } },
        },
        "outputs": {
            "up": { "value": { "get_attr": ["up", "alarm_url"] } },
            "more": { "value": { "get_attr": ["more", "AlarmUrl"] } },
            "reference": { "value": { "get_resource": "more" } },
            "size": { "value": { "get_attr": ["group", "current_size"] } },
        },
    })
}

#[actix::test]
async fn an_alarm_scales_a_group_at_the_address_of_its_policy() {
    let app = App::start().await;
    let id = accepted(&app, &scaled()).await;
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{settled}");
    let (up, more) = (output(&settled, "up"), output(&settled, "more"));
    assert_eq!(output(&settled, "reference"), more);
    assert!(up.starts_with(&format!("{}/v1/signal/arn%3A", app.cfn_url)), "{up}");
    assert_eq!(code(&curl(&app, "POST", &forged(&up), &json!({})).await).0, 403);
    // As Aodh sends it, and as somebody does who has nothing to say.
    for (address, body, size) in [(&up, json!({ "current": "alarm" }), 2), (&more, json!(null), 4)]
    {
        let heard = curl(&app, "POST", address, &body).await;
        assert_eq!((heard.status, heard.text.as_str()), (200, ""));
        let grown = |shown: &Value| {
            let outputs = shown["stack"]["outputs"].as_array()?;
            let found = outputs.iter().find(|output| output["output_key"] == "size")?;
            (found["output_value"] == size).then_some(Value::Null)
        };
        awaited(&app, &format!("/stacks/web/{id}"), grown).await;
    }
    assert_eq!(users_and_keys(&app).await.len(), 4);
    deleted(&app, &id).await;
    assert_eq!(users_and_keys(&app).await, Vec::<String>::new());
    app.stop().await;
}

/// An agent's look at its server's metadata.
async fn polled(app: &App, known: &Value, (name, path): (&str, &str)) -> Answered {
    let text = |name: &str| known[name].as_str().unwrap_or_else(|| panic!("{known}")).to_owned();
    let key = Key { access: text("access_key_id"), secret: text("secret_access_key") };
    let url = Url::parse(&text("metadata_url")).unwrap();
    let host = format!("{}:{}", url.host_str().unwrap(), url.port().unwrap());
    let params = [
        ("Action", "DescribeStackResource"),
        ("Version", "2010-05-15"),
        ("ContentType", "JSON"),
        ("StackName", name),
        ("LogicalResourceId", path.split('.').next().unwrap()),
    ];
    let params: Pairs =
        params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    // As os-collect-config signs it.
    let params = key.version_2("GET", &host, url.path(), &params, None);
    app.send("GET", &format!("{url}?{}", query(&params)), &[], None).await
}

#[actix::test]
async fn a_default_deployment_on_a_default_server_is_fetched_and_answered_with_keys() {
    let app = App::start().await;
    let server = |kind: &str| match kind {
        "OS::Nova::Server" => json!({ "type": kind, "properties": {
            "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
            "user_data_format": "SOFTWARE_CONFIG" } }),
        _ => json!({ "type": kind }),
    };
    for kind in ["OS::Nova::Server", "OS::Heat::DeployedServer"] {
        let template = json!({
            "heat_template_version": "2018-08-31",
            "resources": {
                "server": server(kind),
                "neighbor": server(kind),
                "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
                    "config": "x", "outputs": [{ "name": "said" }] } },
                "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                    "config": { "get_resource": "config" },
                    "server": { "get_resource": "server" } } },
            },
            "outputs": { "said": { "value": { "get_attr": ["deployment", "said"] } } },
        });
        let id = accepted(&app, &template).await;
        let path = format!("/stacks/web/{id}/resources/server/metadata");
        let agent = awaited(&app, &path, |shown| {
            let known = shown["metadata"]["os-collect-config"]["cfn"].clone();
            (!known.is_null()).then_some(known)
        });
        let agent = agent.await;
        assert_eq!(agent["metadata_url"], format!("{}/v1/", app.cfn_url));
        let place = (agent["stack_name"].as_str().unwrap(), agent["path"].as_str().unwrap());
        let deployment = until(&[&app], "it is told of a deployment", async || {
            let answer = polled(&app, &agent, place).await;
            assert_eq!(answer.status, 200, "{}", answer.text);
            let detail = answer.json()["DescribeStackResourceResponse"]
                ["DescribeStackResourceResult"]["StackResourceDetail"]
                .clone();
            let metadata: Value = match &detail["Metadata"] {
                Value::String(text) => serde_json::from_str(text).unwrap(),
                other => other.clone(),
            };
            metadata["deployments"].get(0).cloned()
        })
        .await;
        let other = polled(&app, &agent, ("web", "neighbor.Metadata")).await;
        assert_eq!(other.status, 403, "{}", other.text);
        let told = |name: &str| {
            let inputs = deployment["inputs"].as_array().unwrap();
            let input = inputs.iter().find(|input| input["name"] == name);
            input.unwrap_or_else(|| panic!("no {name} in {deployment}"))["value"].clone()
        };
        assert_eq!(told("deploy_signal_transport"), "CFN_SIGNAL");
        assert_eq!(told("deploy_signal_verb"), "POST");
        let address = told("deploy_signal_id").as_str().unwrap().to_owned();
        let answer = json!({ "said": "done", "deploy_status_code": 0 });
        assert_eq!(code(&curl(&app, "POST", &forged(&address), &answer).await).0, 403);
        let heard = curl(&app, "POST", &address, &answer).await;
        assert_eq!(heard.status, 200, "{}", heard.text);
        let settled = app.settled("web").await;
        assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{kind}: {settled}");
        assert_eq!(output(&settled, "said"), "done");
        assert_eq!(users_and_keys(&app).await.len(), 6);
        deleted(&app, &id).await;
        assert_eq!(users_and_keys(&app).await, Vec::<String>::new(), "{kind}");
    }
    app.stop().await;
}

/// What the server of the only deployment is told, once it is another configuration than `former`:
/// its id, and where to answer.
async fn told_anew(app: &App, former: &Value) -> (Value, String) {
    let (config, inputs) = inputs_anew(app, former).await;
    (config, inputs["deploy_signal_id"].as_str().unwrap().to_owned())
}

/// The same with all that it is told.
async fn inputs_anew(app: &App, former: &Value) -> (Value, Value) {
    let config = awaited(app, "/software_deployments", |listed| {
        let config = listed["software_deployments"].get(0)?["config_id"].clone();
        (config != *former).then_some(config)
    });
    let config = config.await;
    let path = format!("/software_configs/{}", config.as_str().unwrap());
    let inputs = app.get(&path).await.json()["software_config"]["inputs"].clone();
    let inputs = inputs.as_array().unwrap().iter();
    let named = inputs.map(|it| (it["name"].as_str().unwrap().to_owned(), it["value"].clone()));
    (config, Value::Object(named.collect()))
}

#[actix::test]
async fn a_server_answers_at_an_object_in_swift_each_time_it_is_deployed_to() {
    let app = App::start().await;
    let template = |script: &str| {
        json!({
            "heat_template_version": "2018-08-31",
            "resources": {
                "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
                    "config": script, "outputs": [{ "name": "said" }] } },
                "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                    "config": { "get_resource": "config" }, "server": "s1",
                    "signal_transport": "TEMP_URL_SIGNAL" } },
            },
            "outputs": { "said": { "value": { "get_attr": ["deployment", "said"] } } },
        })
    };
    let id = accepted(&app, &template("one")).await;
    let (config, address) = told_anew(&app, &Value::Null).await;
    assert_eq!(curl(&app, "PUT", &forged_at_swift(&address), &json!({})).await.status, 401);
    let put =
        curl(&app, "PUT", &address, &json!({ "said": "done", "deploy_status_code": 0 })).await;
    assert_eq!(put.status, 201, "{}", put.text);
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{settled}");
    assert_eq!(output(&settled, "said"), "done");
    // The answer to the first time is none to the second.
    let path = format!("/stacks/web/{id}");
    let body = json!({ "template": template("two") });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    let (_, address) = told_anew(&app, &config).await;
    curl(&app, "PUT", &address, &json!({ "deploy_status_code": 3 })).await;
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "UPDATE_FAILED", "{settled}");
    let reason = settled["stack_status_reason"].as_str().unwrap();
    assert!(reason.contains("non-zero status code: 3"), "{reason}");
    deleted(&app, &id).await;
    let gone = curl(&app, "PUT", &address, &json!({})).await;
    assert_eq!(gone.status, 404, "{}", gone.text);
    app.stop().await;
}

fn forged_at_swift(address: &str) -> String {
    address.replace("temp_url_sig=", "temp_url_sig=0")
}

#[actix::test]
async fn a_server_answers_with_a_message_in_a_queue_each_time_it_is_deployed_to() {
    let app = App::start().await;
    let template = |script: &str| {
        json!({
            "heat_template_version": "2018-08-31",
            "resources": {
                "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
                    "config": script, "outputs": [{ "name": "said" }] } },
                "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                    "config": { "get_resource": "config" }, "server": "s1",
                    "signal_transport": "ZAQAR_SIGNAL" } },
            },
            "outputs": { "said": { "value": { "get_attr": ["deployment", "said"] } } },
        })
    };
    let queue = |inputs: Value| async move {
        let part = |name: &str| inputs[format!("deploy_{name}")].clone();
        let names = ["auth_url", "user_id", "password", "project_id", "queue_id"];
        Queue::of(&names.into_iter().map(|name| (name, part(name))).collect()).await
    };
    let id = accepted(&app, &template("one")).await;
    let (config, inputs) = inputs_anew(&app, &Value::Null).await;
    let first = queue(inputs).await;
    first.post(&json!({ "said": "done", "deploy_status_code": 0 })).await;
    first.post(&json!({ "said": "twice", "deploy_status_code": 0 })).await;
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{settled}");
    assert_eq!(output(&settled, "said"), "done");
    // An answer to the first time is none to the second.
    let path = format!("/stacks/web/{id}");
    let body = json!({ "template": template("two") });
    assert_eq!(app.ask("PUT", &path, Some(body)).await.status, 202);
    let (_, inputs) = inputs_anew(&app, &config).await;
    queue(inputs).await.post(&json!({ "deploy_status_code": 3 })).await;
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "UPDATE_FAILED", "{settled}");
    let reason = settled["stack_status_reason"].as_str().unwrap();
    assert!(reason.contains("non-zero status code: 3"), "{reason}");
    deleted(&app, &id).await;
    assert_eq!(users_and_keys(&app).await, Vec::<String>::new());
    app.stop().await;
}
