//! Secrets of every kind are planted in one tree of stacks, which is driven through its life; then
//! whatever Hearth keeps, prints or answers is searched for them and for all that was derived.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hearth::actors::EngineLimits;
use hearth::events::log::{EventLog, Filter, SqliteLog};
use hearth::events::{Position, StreamRevision};
use hearth::projections::Views;
use hearth::sandbox::{Fault, FaultRule};
use serde_json::{Value, json};

use crate::api::app::{Answered, App, SetUp};
use crate::support::printed::Printed;
use crate::support::wait;
use crate::support::world::loopback;

/// What is planted, by where.
const HIDDEN: &str = "Zk93-hidden-of-root";
const DEFAULTED: &str = "Qw81-given-by-default";
const WRITTEN: &str = "Bn27-default-of-hidden";
const LITERAL: &str = "Xc55-literal-admin-pass";
const INNER_LITERAL: &str = "Lm14-literal-in-a-file";
const INLINE: &str = "Dw94-default-in-an-inline-text";
const USER_DATA: &str = "Rt66-user-data";
const SIGNALED: &str = "Gh38-signal-data";
const CONFIG: &str = "Vb72-config-content";
const INPUT: &str = "Pl90-deployment-input";
const OUTPUT: &str = "Ty43-deployment-output";
const IN_GROUP: &str = "Mk61-literal-in-a-group";
const IN_NEST: &str = "Sd29-literal-in-a-group-in-a-group";
const IN_CHAIN: &str = "Fe83-literal-in-a-chain";
const PROVIDED: &str = "Wa17-literal-for-a-hidden-parameter";
const HANDED: &str = "Jh52-literal-for-a-stack-beside";
const MAPPED: &str = "Ur98-value-of-a-mapping";
const LAUNCHED: &str = "Oq46-user-data-of-a-launch-configuration";
const HOOKED: &str = "Np35-token-of-a-webhook";
const PLANTED: [&str; 19] = [
    HIDDEN,
    DEFAULTED,
    WRITTEN,
    LITERAL,
    INNER_LITERAL,
    INLINE,
    USER_DATA,
    SIGNALED,
    CONFIG,
    INPUT,
    OUTPUT,
    IN_GROUP,
    IN_NEST,
    IN_CHAIN,
    PROVIDED,
    HANDED,
    MAPPED,
    LAUNCHED,
    HOOKED,
];
/// What tokens begin with, as Keystone's do.
const TOKEN: &str = "gAAAAA";
/// What is shorter is found by chance.
const MARKER_MIN_CHARS: usize = 8;

fn inner() -> Value {
    json!({
        "heat_template_version": "2021-04-16",
        "parameters": {
            "value": { "type": "string" },
            "shared": { "type": "string", "hidden": true },
            "own": { "type": "string", "hidden": true, "default": WRITTEN },
        },
        "resources": {
            "v": { "type": "OS::Heat::TestResource", "properties": { "value": { "list_join": [
                "+", [{ "get_param": "value" }, { "get_param": "shared" }, { "get_param": "own" }]] } } },
            "server": { "type": "OS::Nova::Server", "properties": {
                "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
                "admin_pass": INNER_LITERAL } },
        },
        "outputs": { "joined": { "value": { "get_attr": ["v", "output"] } } },
    })
}

/// A template that stands as a text in a property.
fn inline() -> Value {
    json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "own": { "type": "string", "hidden": true, "default": INLINE } },
        "resources": { "v": { "type": "OS::Heat::TestResource",
                              "properties": { "value": { "get_param": "own" } } } },
    })
}

/// Every function of the language, on the hidden parameter.
fn derived() -> Value {
    let secret = json!({ "get_param": "password" });
    let upper = "$.data.s.toUpper()";
    json!({
        "str_replace": { "str_replace": { "template": "mysql://u:PW@db", "params": { "PW": secret } } },
        "str_replace_strict": { "str_replace_strict": { "template": "<PW>", "params": { "PW": secret } } },
        "list_join": { "list_join": ["/", ["a", secret]] },
        "str_split": { "str_split": ["-", secret] },
        "one_split": { "str_split": ["-", secret, 1] },
        "digest": { "digest": ["sha256", secret] },
        "repeat": { "repeat": { "template": "x-%i%", "for_each": { "%i%": [secret] } } },
        "map_merge": { "map_merge": [{ "a": 1 }, { "b": secret }] },
        "map_replace": { "map_replace": [{ "k": "old" }, { "values": { "old": secret } }] },
        "list_concat": { "list_concat": [["a"], [secret]] },
        "make_url": { "make_url": { "scheme": "http", "host": "h", "username": "u", "password": secret } },
        "if": { "if": ["always", secret, "other"] },
        "filter": { "filter": [["none"], [secret, "none"]] },
        "upper": { "yaql": { "expression": upper, "data": { "s": secret } } },
        "lower": { "yaql": { "expression": "$.data.s.toLower()", "data": { "s": secret } } },
        "substring": { "yaql": { "expression": "$.data.s.substring(5)", "data": { "s": secret } } },
        "reversed": { "yaql": { "expression": "$.data.s.replace('-', '~')", "data": { "s": secret } } },
        "in_map": { "deep": [{ "plain": "not-secret-at-all", "secret": secret }] },
    })
}

/// A server with a password, by a name that the environment has for its type.
fn server(password: &str) -> Value {
    json!({ "type": "My::Server", "properties": {
        "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
        "admin_pass": password } })
}

/// What there is in the other language alone.
fn cfn() -> Value {
    let find = |key: &str| json!({ "Fn::FindInMap": ["Keys", { "Ref": "where" }, key] });
    json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Parameters": { "where": { "Type": "String", "Default": "north" } },
        "Mappings": { "Keys": { "north": { "password": MAPPED, "image": "cirros" } } },
        "Resources": {
            "server": { "Type": "OS::Nova::Server", "Properties": {
                "image": find("image"), "flavor": "m1.tiny",
                "networks": [{ "network": "private" }],
                "admin_pass": { "Fn::Join": ["-", ["pw", find("password")]] } } },
            "launch": { "Type": "AWS::AutoScaling::LaunchConfiguration", "Properties": {
                "ImageId": "cirros", "InstanceType": "m1.tiny", "UserData": LAUNCHED } },
            "scaling": { "Type": "AWS::AutoScaling::AutoScalingGroup", "Properties": {
                "AvailabilityZones": ["nova"], "MinSize": "1", "MaxSize": "1",
                "LaunchConfigurationName": { "Ref": "launch" } } },
        },
        "Outputs": { "password": { "Value": find("password") },
                     "image": { "Value": find("image") } },
    })
}

/// What stands for an instance there.
fn instance() -> Value {
    let text = json!({ "Type": "String" });
    json!({
        "HeatTemplateFormatVersion": "2012-12-12",
        "Parameters": { "ImageId": text, "InstanceType": text, "UserData": text,
                        "Tags": { "Type": "CommaDelimitedList" } },
        "Resources": { "it": { "Type": "OS::Heat::TestResource",
                               "Properties": { "value": { "Ref": "UserData" } } } },
        "Outputs": { "PublicIp": { "Value": "10.0.0.1" } },
    })
}

fn template(credential: &str) -> Value {
    let secret = json!({ "get_param": "password" });
    let holder = |value: Value| json!({ "type": "OS::Heat::TestResource", "properties": { "value": value } });
    let mut resources = json!({
        "derived": { "type": "OS::Heat::Value", "properties": { "type": "json", "value": derived() } },
        "metadata": { "type": "OS::Heat::TestResource", "properties": { "value": "x" },
                      "metadata": { "of": secret, "upper": derived()["upper"] } },
        "again": holder(json!({ "get_attr": ["derived", "value", "upper"] })),
        "provider": { "type": "inner.yaml", "properties": { "value": derived()["lower"] } },
        "provided": { "type": "inner.yaml", "properties": { "value": "x", "own": PROVIDED } },
        "servers": { "type": "OS::Heat::ResourceGroup", "properties": {
            "count": 1, "resource_def": server(IN_GROUP) } },
        "nest": { "type": "OS::Heat::AutoScalingGroup", "properties": {
            "min_size": 1, "max_size": 1, "resource": { "type": "OS::Heat::ResourceGroup",
                "properties": { "count": 1, "resource_def": server(IN_NEST) } } } },
        "links": { "type": "OS::Heat::ResourceChain", "properties": {
            "resources": ["My::Server"], "resource_properties": server(IN_CHAIN)["properties"] } },
        "key": { "type": "OS::Nova::KeyPair", "properties": {
            "name": "made-by-the-cloud", "save_private_key": true } },
        "far": { "type": "OS::Heat::Stack", "properties": {
            "context": { "credential_secret_id": credential },
            "template": { "get_file": "plain.yaml" } } },
        "group": { "type": "OS::Heat::ResourceGroup", "properties": { "count": 2,
            "resource_def": { "type": "inner.yaml", "properties": { "value": derived()["upper"] } } } },
        "scaling": { "type": "OS::Heat::AutoScalingGroup", "properties": { "min_size": 1, "max_size": 2,
            "resource": { "type": "OS::Heat::TestResource", "properties": { "value": derived()["reversed"] } } } },
        "chain": { "type": "OS::Heat::ResourceChain", "properties": {
            "resources": ["OS::Heat::TestResource"], "resource_properties": { "value": derived()["digest"] } } },
        "beside": { "type": "OS::Heat::Stack", "properties": {
            "parameters": { "value": secret, "shared": "y", "own": HANDED },
            "template": { "get_file": "beside.yaml" } } },
        "inline": { "type": "OS::Heat::Stack", "properties": { "template": inline().to_string() } },
        "server": { "type": "OS::Nova::Server", "properties": {
            "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
            "admin_pass": LITERAL, "user_data_format": "SOFTWARE_CONFIG",
            "user_data": { "list_join": ["", ["#!/bin/sh ", USER_DATA]] } } },
        "random": { "type": "OS::Heat::RandomString", "properties": { "length": 32 } },
        "of_random": holder(json!({ "get_resource": "random" })),
        "handle": { "type": "OS::Heat::WaitConditionHandle", "properties": { "signal_transport": "HEAT_SIGNAL" } },
        "wait": { "type": "OS::Heat::WaitCondition", "properties": {
            "handle": { "get_resource": "handle" }, "timeout": 60, "count": 1 } },
        "swift": { "type": "OS::Heat::SwiftSignalHandle" },
        "of_swift": holder(json!({ "get_attr": ["swift", "endpoint"] })),
        "signed": { "type": "OS::Heat::WaitConditionHandle", "properties": { "signal_transport": "CFN_SIGNAL" } },
        "address": { "type": "AWS::CloudFormation::WaitConditionHandle" },
        "of_address": holder(json!({ "get_resource": "address" })),
        "policy": { "type": "OS::Heat::ScalingPolicy", "properties": {
            "auto_scaling_group_id": { "get_resource": "scaling" },
            "adjustment_type": "change_in_capacity", "scaling_adjustment": 1 } },
        "of_policy": holder(json!({ "get_attr": ["policy", "alarm_url"] })),
        "guest": { "type": "OS::Heat::DeployedServer" },
        "asking": { "type": "OS::Heat::DeployedServer", "properties": { "software_config_transport": "POLL_SERVER_HEAT" } },
        "config": { "type": "OS::Heat::SoftwareConfig", "properties": { "group": "script",
            "config": format!("echo {CONFIG}"), "inputs": [{ "name": "i" }],
            "outputs": [{ "name": "result" }] } },
        "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
            "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
            "signal_transport": "HEAT_SIGNAL", "input_values": { "i": INPUT } } },
    });
    resources["queue"] = json!({ "type": "OS::Heat::WaitConditionHandle", "properties": { "signal_transport": "ZAQAR_SIGNAL" } });
    resources["reading"] = json!({ "type": "OS::Heat::DeployedServer", "properties": { "software_config_transport": "POLL_TEMP_URL" } });
    resources["taking"] = json!({ "type": "OS::Heat::DeployedServer", "properties": { "software_config_transport": "ZAQAR_MESSAGE" } });
    resources["fallback"] = holder(json!({ "get_param": "written" }));
    let mut template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": {
            "password": { "type": "string", "hidden": true },
            "written": { "type": "string", "hidden": true, "default": WRITTEN },
        },
        "conditions": { "always": { "not": { "equals": [{ "get_param": "password" }, ""] } } },
        "resources": resources,
        "outputs": {
            "derived": { "value": { "get_attr": ["derived", "value"] } },
            "provider": { "value": { "get_attr": ["provider", "joined"] } },
            "group": { "value": { "get_attr": ["group", "joined"] } },
            "random": { "value": { "get_attr": ["random", "value"] } },
            "key": { "value": { "get_attr": ["key", "private_key"] } },
            "swift": { "value": { "get_attr": ["swift", "endpoint"] } },
            "handle": { "value": { "get_attr": ["handle", "signal"] } },
            "signed": { "value": { "get_attr": ["signed", "signal"] } },
            "address": { "value": { "get_resource": "address" } },
            "policy": { "value": { "get_attr": ["policy", "alarm_url"] } },
            "agent": { "value": { "get_attr": ["server", "os_collect_config", "cfn", "secret_access_key"] } },
            "guest": { "value": { "get_attr": ["guest", "os_collect_config", "cfn", "secret_access_key"] } },
            "asking": { "value": { "get_attr": ["asking", "os_collect_config", "heat", "password"] } },
            "waited": { "value": { "get_attr": ["wait", "data"] } },
            "plain": { "value": { "sealed": "a value of the user's own" } },
        },
    });
    template["outputs"]["queue"] = json!({ "value": { "get_attr": ["queue", "signal"] } });
    template["outputs"]["reading"] = json!({ "value": { "get_attr": ["reading", "os_collect_config", "request", "metadata_url"] } });
    template["outputs"]["taking"] =
        json!({ "value": { "get_attr": ["taking", "os_collect_config", "zaqar", "password"] } });
    template
}

/// All that must be found nowhere.
struct Markers(BTreeSet<String>);

impl Markers {
    /// What was planted, in the forms in which it may come up by itself, and all texts of outputs.
    fn of(outputs: &Value, credential: &str) -> Self {
        let mut markers = Self(BTreeSet::from([credential.to_owned()]));
        for planted in PLANTED {
            for text in [planted.to_owned(), planted.to_uppercase(), planted.to_lowercase()] {
                markers.0.insert(STANDARD.encode(&text));
                markers.0.insert(text);
            }
        }
        let shown = [
            "derived", "provider", "group", "random", "key", "swift", "handle", "signed", "queue",
            "address", "policy", "agent", "guest", "asking", "reading", "taking",
        ];
        for name in shown {
            assert!(!outputs[name].is_null(), "there is no {name}");
            markers.add(&outputs[name]);
        }
        markers.0.insert("temp_url_sig=".to_owned());
        let harmless = ["not-secret-at-all", "a value of the user's own"];
        markers.0.retain(|text| {
            text.chars().count() >= MARKER_MIN_CHARS && !harmless.contains(&text.as_str())
        });
        markers.0.insert(TOKEN.to_owned());
        markers
    }

    fn add(&mut self, value: &Value) {
        match value {
            // A private key has lines, any of which tells.
            Value::String(text) => {
                self.0.extend(text.lines().map(str::to_owned));
                self.0.insert(text.clone());
            }
            Value::Array(items) => items.iter().for_each(|item| self.add(item)),
            Value::Object(map) => map.values().for_each(|item| self.add(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Where a marker stands in a text, with what is around it.
    fn found(&self, text: &str) -> Vec<(String, String)> {
        // As JSON has them: a private key has line breaks.
        let as_json = |marker: &String| {
            let quoted = Value::from(marker.as_str()).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        };
        let found = self.0.iter().filter_map(|marker| {
            let at = text.find(marker.as_str()).or_else(|| text.find(&as_json(marker)))?;
            let around = text[..at].chars().rev().take(160).collect::<Vec<_>>();
            Some((marker.clone(), around.into_iter().rev().collect()))
        });
        found.collect()
    }
}

/// A place that is searched and what was found in it.
#[derive(Default)]
struct Search(Vec<String>);

impl Search {
    fn look(&mut self, place: &str, markers: &Markers, text: &str) {
        for (marker, around) in markers.found(text) {
            self.0.push(format!("{place}: {marker:?} after …{around}"));
        }
    }
}

/// Puts a credential of the same user's into the key manager, as for another cloud: the id there,
/// and the secret in it.
async fn stored_credential(app: &App) -> (String, String) {
    let token = [("x-auth-token", app.token.as_str())];
    let tokens = format!("{}/auth/tokens", app.keystone.trim_end_matches('/'));
    let headers = [token[0], ("x-subject-token", app.token.as_str())];
    let shown = app.send("GET", &tokens, &headers, None).await.json()["token"].clone();
    let user = shown["user"]["id"].as_str().unwrap();
    let path = tokens.replace("auth/tokens", &format!("users/{user}/application_credentials"));
    let body = json!({ "application_credential": { "name": "far", "unrestricted": true } });
    let made = app.send("POST", &path, &token, Some(body.to_string())).await;
    let made = made.json()["application_credential"].clone();
    let secret = made["secret"].as_str().unwrap().to_owned();
    let credential = json!({ "auth_type": "v3applicationcredential", "auth": {
        "auth_url": app.keystone, "application_credential_id": made["id"],
        "application_credential_secret": secret } });
    let services = shown["catalog"].as_array().unwrap();
    let barbican = services.iter().find(|service| service["type"] == "key-manager").unwrap();
    let url = format!("{}/v1/secrets", barbican["endpoints"][0]["url"].as_str().unwrap());
    let body = json!({ "name": "far", "payload": credential.to_string(),
                       "payload_content_type": "text/plain" });
    let stored = app.send("POST", &url, &token, Some(body.to_string())).await.json();
    let id = stored["secret_ref"].as_str().unwrap().rsplit('/').next().unwrap();
    (id.to_owned(), secret)
}

async fn outputs(app: &App, path: &str) -> Value {
    let shown = app.get(path).await.json();
    let listed = shown["stack"]["outputs"].as_array().unwrap();
    let pairs = listed.iter().map(|output| {
        (output["output_key"].as_str().unwrap().to_owned(), output["output_value"].clone())
    });
    pairs.collect()
}

/// Waits until a resource has got so far.
async fn until(app: &App, path: &str, name: &str, status: &str) -> Value {
    wait::until(&[app], format!("{name} is {status}"), async || {
        let shown = app.get(&format!("{path}/resources/{name}")).await.json()["resource"].clone();
        if shown["resource_status"] == status {
            return Some(shown);
        }
        assert!(
            !shown["resource_status"].as_str().is_some_and(|it| it.ends_with("FAILED")),
            "{shown}"
        );
        None
    })
    .await
}

/// Every path below a stack that a reader may get, but for those that show values on purpose.
async fn readable(app: &App, path: &str) -> Vec<String> {
    let mut paths: Vec<String> = [
        "/environment",
        "/export",
        "/resources",
        "/resources?nested_depth=5&with_detail=true",
        "/events",
        "/events?nested_depth=5",
        "/outputs",
        "/snapshots",
    ]
    .map(|rest| format!("{path}{rest}"))
    .to_vec();
    // As in Heat, outputs are shown to whoever may read the stack; what else there is of it is not.
    paths.push(format!("{path}?resolve_outputs=False"));
    for resource in
        app.get(&format!("{path}/resources")).await.json()["resources"].as_array().unwrap()
    {
        let of = format!("{path}/resources/{}", resource["resource_name"].as_str().unwrap());
        for event in app.get(&format!("{of}/events")).await.json()["events"].as_array().unwrap() {
            paths.push(format!("{of}/events/{}", event["id"].as_str().unwrap()));
        }
        paths.push(format!("{of}/events"));
        paths.push(of);
    }
    paths
}

/// An answer without the attributes of resources as they are now: as in Heat, they are shown to
/// whoever may read the stack.
fn without_attributes(text: &str) -> String {
    let Ok(mut answer) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    let listed = answer.get_mut("resources").and_then(Value::as_array_mut);
    for resource in listed.into_iter().flatten() {
        resource.as_object_mut().unwrap().shift_remove("attributes");
    }
    if let Some(Value::Object(resource)) = answer.get_mut("resource") {
        resource.shift_remove("attributes");
    }
    answer.to_string()
}

/// The feed from its beginning, as far as it goes.
async fn feed(app: &App) -> String {
    let url = format!("{}/v1/{}/feed", app.url, app.project);
    let request = app.client.get(url).header("x-auth-token", &app.token);
    let mut response = request.header("last-event-id", "0").send().await.unwrap();
    let mut text = String::new();
    let began = Instant::now();
    loop {
        match tokio::time::timeout(Duration::from_secs(2), response.chunk()).await {
            Ok(Ok(Some(chunk))) => text.push_str(&String::from_utf8_lossy(&chunk)),
            Err(_) if !text.contains("TraversalSettled") && began.elapsed().as_secs() < 60 => {}
            Ok(_) | Err(_) => return text,
        }
    }
}

fn hearth(folder: &Path, arguments: &[&str]) -> String {
    hearth_alone(&[arguments, &["--data", folder.to_str().unwrap()]].concat())
}

/// A command that reads no log.
fn hearth_alone(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[actix::test]
async fn a_thief_or_a_reader_finds_no_secret_of_any_kind_anywhere() {
    let printed = Printed::of_the_process();
    let folder = tempfile::tempdir().unwrap();
    let log = Arc::new(SqliteLog::open(&folder.path().join("log.db")).unwrap());
    // A Nova without microversions makes keys itself.
    let unversioned = FaultRule {
        path: Some("^/compute/(v2.1/?)?$".to_owned()),
        fault: Fault::Status { code: 404, retry_after: None },
        ..FaultRule::default()
    };
    let limits = EngineLimits { fetch_allow: loopback(), ..EngineLimits::default() };
    let setup = SetUp { limits, faults: vec![unversioned], ..SetUp::default() };
    let app = App::set_up(log.clone(), setup).await;
    let (credential, credential_secret) = stored_credential(&app).await;
    let plain = json!({ "heat_template_version": "2021-04-16" });
    // Clients send the environments that they have read among the files.
    let environment = json!({
        "parameters": { "password": HIDDEN }, "parameter_defaults": { "shared": DEFAULTED } });
    let body = json!({
        "stack_name": "web", "template": template(&credential),
        "parameters": { "password": HIDDEN },
        "environment": {
            "parameter_defaults": { "shared": DEFAULTED },
            "resource_registry": { "My::Server": "OS::Nova::Server" },
        },
        "files": { "inner.yaml": inner().to_string(), "beside.yaml": inner().to_string(),
                   "plain.yaml": plain.to_string(),
                   "env.yaml": environment.to_string(),
                   "open.yaml": r#"{"parameters": {"open": "x"}}"# },
    });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let id = created.json()["stack"]["id"].as_str().unwrap().to_owned();
    let path = format!("/stacks/web/{id}");

    until(&app, &path, "handle", "CREATE_COMPLETE").await;
    let signal = json!({ "status": "SUCCESS", "id": "1", "reason": "well", "data": SIGNALED });
    let signaled = app.ask("POST", &format!("{path}/resources/handle/signal"), Some(signal)).await;
    assert_eq!(signaled.status, 200, "{}", signaled.text);
    let is_made = |shown: &Answered| {
        shown.json()["resource"]["physical_resource_id"].as_str().is_some_and(|id| !id.is_empty())
    };
    let shown = app.shows(&format!("{path}/resources/deployment"), is_made).await.json();
    let deployment = shown["resource"].clone();
    let done = json!({ "deploy_status_code": 0, "result": OUTPUT, "deploy_stdout": OUTPUT });
    let signaled =
        app.ask("POST", &format!("{path}/resources/deployment/signal"), Some(done)).await;
    assert_eq!(signaled.status, 200, "{} {deployment}", signaled.text);
    let settled = app.settled("web").await;
    let reason = &settled["stack_status_reason"];
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{reason}");

    let shown = outputs(&app, &path).await;
    assert_eq!(shown["derived"]["upper"], HIDDEN.to_uppercase());
    assert_eq!(shown["provider"], format!("{}+{DEFAULTED}+{WRITTEN}", HIDDEN.to_lowercase()));
    assert_eq!(shown["plain"], json!({ "sealed": "a value of the user's own" }));
    assert!(shown["waited"].as_str().unwrap().contains(SIGNALED), "{shown}");
    let body = json!({
        "stack_name": "maps", "template": cfn(),
        "environment": { "resource_registry": { "AWS::EC2::Instance": "instance.template" } },
        "files": { "instance.template": instance().to_string() },
    });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let mapped = app.settled("maps").await;
    assert_eq!(mapped["stack_status"], "CREATE_COMPLETE", "{}", mapped["stack_status_reason"]);
    let maps = format!("/stacks/maps/{}", mapped["id"].as_str().unwrap());
    let mapped = outputs(&app, &maps).await;
    assert_eq!(mapped, json!({ "password": MAPPED, "image": "cirros" }));
    assert!(app.get(&format!("{maps}/template")).await.text.contains(MAPPED));
    let markers = Markers::of(&shown, &credential_secret);
    assert!(markers.0.len() > 40, "{:?}", markers.0);

    let taken = app.ask("POST", &format!("{path}/snapshots"), Some(json!({ "name": "s" }))).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    assert_eq!(app.settled("web").await["stack_status"], "SNAPSHOT_COMPLETE");
    let checked = app.ask("POST", &format!("{path}/actions"), Some(json!({ "check": null }))).await;
    assert_eq!(checked.status, 200, "{}", checked.text);
    app.settled("web").await;
    let again = json!({ "existing": true, "parameters": {} });
    let updated = app.ask("PATCH", &path, Some(again)).await;
    assert_eq!(updated.status, 202, "{}", updated.text);
    let settled = app.settled("web").await;
    assert_eq!(settled["stack_status"], "UPDATE_COMPLETE", "{}", settled["stack_status_reason"]);
    assert_eq!(outputs(&app, &path).await["derived"], shown["derived"]);

    let webhook = json!({ "url": format!("https://hooks.example/{HOOKED}") });
    assert_eq!(app.ask("POST", "/webhooks", Some(webhook)).await.status, 200);

    let mut search = Search::default();
    let snapshot = taken.json()["id"].as_str().unwrap().to_owned();
    let mut paths = readable(&app, &path).await;
    paths.push(format!("{path}/snapshots/{snapshot}"));
    paths.push("/stacks".to_owned());
    paths.push("/webhooks".to_owned());
    let nested = app.get("/stacks?show_nested=True").await.json();
    for stack in nested["stacks"].as_array().unwrap() {
        let (name, id) = (stack["stack_name"].as_str().unwrap(), stack["id"].as_str().unwrap());
        if name != "web" {
            let child = format!("/stacks/{name}/{id}");
            paths.extend(readable(&app, &child).await);
            // Of a stack that stands by itself the template is the user's own, who sees it as he
            // wrote it, and so are the files; of others they were made or found for it.
            if name.starts_with("web-beside-") {
                let written = app.get(&format!("{child}/template")).await.json();
                assert_eq!(written["parameters"]["own"]["default"], WRITTEN);
            }
            if !stack["parent"].is_null() {
                paths.push(format!("{child}/template"));
                paths.push(format!("{child}/files"));
            }
        }
    }
    assert!(paths.len() > 60, "{paths:#?}");
    for path in paths {
        let answer = app.get(&path).await;
        assert!(answer.status == 200 || path.ends_with("/export"), "{path} {}", answer.text);
        search.look(&path, &markers, &without_attributes(&answer.text));
    }
    let told = feed(&app).await;
    assert!(told.contains("TraversalSettled"));
    search.look("feed", &markers, &told);

    // The owner sees his template as he wrote it.
    let written = app.get(&format!("{path}/template")).await.json();
    assert_eq!(written["parameters"]["written"]["default"], WRITTEN);
    assert_eq!(written["resources"]["server"]["properties"]["admin_pass"], LITERAL);

    let files = app.get(&format!("{path}/files")).await.json();
    assert_eq!(files["env.yaml"], "******");
    assert_eq!(files["open.yaml"], r#"{"parameters": {"open": "x"}}"#);
    assert!(files["inner.yaml"].as_str().unwrap().contains(WRITTEN));

    let bundled = app.get(&format!("{path}/history/bundle")).await.text;
    assert!(bundled.lines().count() > 500, "the stacks within it are there, too");

    let events = log.read_all(Position(0), &Filter::default(), 100_000).await.unwrap();
    for event in &events {
        search.look(&format!("{} {}", event.stream, event.event_type), &markers, &event.body);
    }
    assert!(events.iter().any(|event| event.revision == StreamRevision(0)));
    let views = Views::open(&folder.path().join("views.db"), log.clone()).await.unwrap();
    views.after(log.durable_position()).await.unwrap();
    views.close().await;
    app.stop().await;
    let text = printed.text();
    assert!(text.contains("stack"), "nothing was printed");
    search.look("the printed log", &markers, &text);
    drop((views, log));
    for file in std::fs::read_dir(folder.path()).unwrap() {
        let file = file.unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        let place = file.file_name().to_string_lossy().into_owned();
        search.look(&place, &markers, &String::from_utf8_lossy(&bytes));
    }
    for arguments in [["history", &id], ["replay", &id]] {
        search.look(arguments[0], &markers, &hearth(folder.path(), &arguments));
        let arguments = [arguments[0], arguments[1], "--json"];
        search.look(arguments[0], &markers, &hearth(folder.path(), &arguments));
    }
    for stack in ["web", "maps"] {
        let bundle = folder.path().join(format!("{stack}.jsonl"));
        let out = bundle.to_str().unwrap();
        hearth(folder.path(), &["export", stack, "--history", "--out", out]);
        let text = std::fs::read_to_string(&bundle).unwrap();
        assert!(text.contains("TraversalSettled") && text.ends_with('\n'));
        search.look("export --history", &markers, &text);
        for more in [&["--step"][..], &["--diff", "r1", "r1", "--json"], &["--json"]] {
            let arguments = [&["replay", "--file", out], more].concat();
            search.look("replay --file", &markers, &hearth_alone(&arguments));
        }
    }
    search.look("history/bundle", &markers, &bundled);
    for name in ["key", "server", "deployment", "handle", "swift"] {
        let arguments = ["replay", &id, "--resource", name, "--calls", "--json"];
        search.look("replay --calls", &markers, &hearth(folder.path(), &arguments));
    }
    assert!(search.0.is_empty(), "{} places:\n{}", search.0.len(), search.0.join("\n"));
}
