//! CloudFormation's API and its addresses under keys that the real Keystone makes and checks: a
//! user's own, and those of the users that stacks have.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use hearth::clock::{Clock, SystemClock};
use hearth::openstack::{Request, Service, Session};
use serde_json::{Value, json};

use crate::inventory::{assert_unchanged, inventory};
use crate::real_cloud::{RealCloud, alone};
use crate::served::{Served, path};
use crate::signer::{Key, Pairs, query};

/// How long it may take until what a test waits for has come.
const WAIT_MAX: Duration = Duration::from_secs(60);

const SAID: &str = r#"{
    "AWSTemplateFormatVersion": "2010-09-09",
    "Resources": { "Said": { "Type": "OS::Neutron::Net" } }
}"#;

/// A stack of nothing, by whose creation Hearth is trusted.
const NOTHING: &str = "{ heat_template_version: 2021-04-16 }";

/// What waits for signals of agents, by each way that has a key.
const SIGNALED: &str = "
heat_template_version: 2021-04-16
resources:
  handle:
    type: AWS::CloudFormation::WaitConditionHandle
  wait:
    type: AWS::CloudFormation::WaitCondition
    properties: { Handle: { get_resource: handle }, Timeout: 120 }
  guest:
    type: OS::Heat::DeployedServer
    properties: { software_config_transport: POLL_SERVER_CFN }
  config:
    type: OS::Heat::SoftwareConfig
    properties: { group: script, config: echo hello }
  deployment:
    type: OS::Heat::SoftwareDeployment
    properties:
      config: { get_resource: config }
      server: { get_resource: guest }
      signal_transport: CFN_SIGNAL
outputs:
  address: { value: { get_resource: handle } }
  heard: { value: { get_attr: [wait, Data] } }
  said: { value: { get_attr: [deployment, deploy_stdout] } }
";

/// CloudFormation's API of a server, and a key.
struct Desk {
    http: reqwest::Client,
    host: String,
    key: Key,
}

/// A free address for CloudFormation's API, and the settings that put it there.
fn listener() -> (String, String) {
    let host = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let settings = format!(
        "cfn_listen = {host}\n[DEFAULT]\n\
         heat_waitcondition_server_url = http://{host}/v1/waitcondition\n\
         heat_metadata_server_url = http://{host}/v1/\n\
         stack_user_domain_name = heat\nstack_domain_admin = heat_domain_admin\n\
         stack_domain_admin_password = secret\n"
    );
    (host, settings)
}

fn now() -> DateTime<Utc> {
    SystemClock.now()
}

fn named(action: &str, params: &[(&str, &str)]) -> Pairs {
    let all = [("Action", action)].into_iter().chain(params.iter().copied());
    all.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// What stands in an element.
fn within<'a>(text: &'a str, element: &str) -> &'a str {
    let (_, rest) = text.split_once(&format!("<{element}>")).unwrap_or_else(|| panic!("{text}"));
    rest.split_once(&format!("</{element}>")).unwrap().0
}

impl Desk {
    /// By version 2 in the query.
    async fn get(&self, action: &str, params: &[(&str, &str)]) -> (u16, String) {
        self.get_at(action, params, Some(now())).await
    }

    async fn get_at(
        &self,
        action: &str,
        params: &[(&str, &str)],
        at: Option<DateTime<Utc>>,
    ) -> (u16, String) {
        let params = self.key.version_2("GET", &self.host, "/v1/", &named(action, params), at);
        let url = format!("http://{}/v1/?{}", self.host, query(&params));
        answered(self.http.get(url)).await
    }

    /// By version 4 in the query.
    async fn look(&self, action: &str, params: &[(&str, &str)]) -> (u16, String) {
        let params = self.key.version_4_in_query(&self.host, &named(action, params), now());
        answered(self.http.get(format!("http://{}/v1/?{}", self.host, query(&params)))).await
    }

    /// By version 4 in the header.
    async fn post(&self, action: &str, params: &[(&str, &str)]) -> (u16, String) {
        let body = query(&named(action, params));
        let mut request = self.http.post(format!("http://{}/v1/", self.host));
        for (name, value) in self.key.version_4(&self.host, &body, now()) {
            request = request.header(name, value);
        }
        answered(request.header("content-type", "application/x-www-form-urlencoded").body(body))
            .await
    }

    /// Waits until a stack has come to its end; its status.
    async fn settled(&self, stack: &str) -> String {
        let began = Instant::now();
        loop {
            let (status, text) = self.get("DescribeStacks", &[("StackName", stack)]).await;
            assert_eq!(status, 200, "{text}");
            let shown = within(&text, "StackStatus").to_owned();
            if !shown.ends_with("IN_PROGRESS") {
                return shown;
            }
            assert!(began.elapsed() < WAIT_MAX, "{text}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

async fn answered(request: reqwest::RequestBuilder) -> (u16, String) {
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// A key of the session's user, and its path at Keystone: what `openstack ec2 credentials create`
/// asks for.
async fn key(session: &Session) -> (Key, String) {
    let caller = session.caller().await.unwrap();
    let keys = format!("/v3/users/{}/credentials/OS-EC2", caller.user_id);
    let ask = Request::post(Service::Identity, keys.clone());
    let ask = ask.json(json!({ "tenant_id": caller.project_id }));
    let made = session.send(ask).await.unwrap().json().unwrap();
    let text = |name: &str| made["credential"][name].as_str().unwrap().to_owned();
    let path = format!("{keys}/{}", text("access"));
    (Key { access: text("access"), secret: text("secret") }, path)
}

#[tokio::test]
async fn a_key_of_keystones_opens_cloudformations_api_and_a_wrong_secret_does_not() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let demo = real.demo();
    let before = inventory(&demo).await;
    let (host, settings) = listener();
    let served = Served::start_with(&real, &demo, &settings).await;
    let (key, kept) = key(&demo).await;
    let desk = Desk { http: reqwest::Client::new(), host, key };

    let web = [("StackName", "hearth-live-cfn"), ("TemplateBody", SAID)];
    // This Keystone lets no token make a trust that came of a signature; one that is there serves.
    let (status, refused) = desk.post("CreateStack", &web).await;
    assert_eq!((status, within(&refused, "Code")), (403, "AccessDenied"), "{refused}");
    assert!(refused.contains("may not lend its roles"), "{refused}");
    let first = served.create("hearth-live-first", NOTHING, json!({})).await;
    assert_eq!(first["stack_status"], "CREATE_COMPLETE", "{}", served.reasons(&first).await);
    let (status, created) = desk.post("CreateStack", &web).await;
    assert_eq!(status, 200, "{created}");
    let arn = within(&created, "StackId").to_owned();
    assert_eq!(desk.settled("hearth-live-cfn").await, "CREATE_COMPLETE");
    let said = [("StackName", "hearth-live-cfn"), ("LogicalResourceId", "Said")];
    for (status, shown) in [
        desk.get("DescribeStackResource", &said).await,
        desk.get_at("DescribeStackResource", &said, None).await,
        desk.look("DescribeStackResource", &said).await,
        desk.post("DescribeStackResource", &said).await,
    ] {
        assert_eq!(status, 200, "{shown}");
        assert_eq!(within(&shown, "ResourceStatus"), "CREATE_COMPLETE");
    }

    let secret = desk.key.secret.chars().rev().collect();
    let wrong = Key { access: desk.key.access.clone(), secret };
    let unknown = Key { access: "0".repeat(32), secret: desk.key.secret.clone() };
    for (key, code) in [(wrong, "AccessDenied"), (unknown, "InvalidClientTokenId")] {
        let other = Desk { http: desk.http.clone(), host: desk.host.clone(), key };
        for (status, refused) in [
            other.get("ListStacks", &[]).await,
            other.look("ListStacks", &[]).await,
            other.post("ListStacks", &[]).await,
            other.post("DeleteStack", &[("StackName", "hearth-live-cfn")]).await,
        ] {
            assert_eq!((status, within(&refused, "Code")), (403, code), "{refused}");
        }
    }

    let (status, deleting) = desk.get("DeleteStack", &[("StackName", "hearth-live-cfn")]).await;
    assert_eq!(status, 200, "{deleting}");
    assert_eq!(desk.settled(&arn).await, "DELETE_COMPLETE");
    served.delete(&first).await;
    demo.send(Request::delete(Service::Identity, kept)).await.unwrap();
    assert_unchanged(&demo, &before).await;
}

/// The users and projects of the domain of stacks' users, and all keys, at Keystone.
async fn of_stacks(admin: &Session) -> [BTreeSet<String>; 3] {
    let ids = async |path: String, kind: &str| {
        let listed = admin.send(Request::get(Service::Identity, path)).await.unwrap();
        let listed = listed.json().unwrap();
        let each = listed[kind].as_array().unwrap().iter();
        each.map(|it| it["id"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    let domain = ids("/v3/domains?name=heat".to_owned(), "domains").await;
    let domain = domain.first().unwrap();
    [
        ids(format!("/v3/users?domain_id={domain}"), "users").await,
        ids(format!("/v3/projects?domain_id={domain}"), "projects").await,
        ids("/v3/credentials?type=ec2".to_owned(), "credentials").await,
    ]
}

/// The address at which a deployment is answered.
fn answer_address(metadata: &Value) -> Option<String> {
    let inputs = metadata["deployments"][0]["inputs"].as_array()?;
    let found = inputs.iter().find(|input| input["name"] == "deploy_signal_id")?;
    Some(found["value"].as_str()?.to_owned())
}

#[tokio::test]
async fn the_users_of_a_stack_sign_by_keys_of_keystones_and_go_with_it() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let demo = real.demo();
    let admin = real.cloud.session(real.credentials("testcloud-admin"));
    let (before, keystone) = (inventory(&demo).await, of_stacks(&admin).await);
    let (host, settings) = listener();
    let served = Served::start_with(&real, &demo, &settings).await;
    let http = reqwest::Client::new();

    let body = json!({ "stack_name": "hearth-live-signaled", "template": SIGNALED });
    let (status, created) = served.call("POST", "/stacks", body).await;
    assert_eq!(status, 201, "{created}");
    let id = created["stack"]["id"].as_str().unwrap();
    let stack = json!({ "stack_name": "hearth-live-signaled", "id": id });
    let began = Instant::now();
    let (address, metadata, answer) = loop {
        let guest = format!("{}/resources/guest/metadata", path(&stack));
        let (_, shown) = served.call("GET", &path(&stack), Value::Null).await;
        let (_, known) = served.call("GET", &guest, Value::Null).await;
        let outputs = shown["stack"]["outputs"].as_array().cloned().unwrap_or_default();
        let address = outputs.iter().find(|it| it["output_key"] == "address").cloned();
        let address = address.and_then(|it| Some(it["output_value"].as_str()?.to_owned()));
        let metadata = known["metadata"].clone();
        if let (Some(address), Some(answer)) = (address, answer_address(&metadata)) {
            break (address, metadata, answer);
        }
        assert!(began.elapsed() < WAIT_MAX, "{}", served.reasons(&shown["stack"]).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    for place in [&address, &answer] {
        assert!(place.starts_with(&format!("http://{host}/v1/")), "{place}");
    }
    for (kind, (here, there)) in
        ["users", "projects", "keys"].iter().zip(keystone.iter().zip(of_stacks(&admin).await))
    {
        // The handle, the server and the deployment have a user and a key each.
        let least = if *kind == "projects" { 1 } else { 3 };
        let made = there.difference(here).count();
        assert!(made >= least, "{made} {kind}");
    }

    // An agent of the server reads what there is by the key of the server's user alone.
    let told = &metadata["os-collect-config"]["cfn"];
    let text = |name: &str| told[name].as_str().unwrap().to_owned();
    let key = Key { access: text("access_key_id"), secret: text("secret_access_key") };
    let agent = Desk { http: http.clone(), host: host.clone(), key };
    let (stack_name, resource) = (text("stack_name"), text("path"));
    let resource = resource.split('.').next().unwrap();
    let own = [("StackName", stack_name.as_str()), ("LogicalResourceId", resource)];
    let (status, known) = agent.get_at("DescribeStackResource", &own, None).await;
    assert!(status == 200 && known.contains("echo hello"), "{status} {known}");
    let (status, refused) = agent.get("DeleteStack", &[("StackName", &stack_name)]).await;
    assert_eq!((status, within(&refused, "Code")), (403, "AccessDenied"), "{refused}");

    let heard = json!({ "Status": "SUCCESS", "UniqueId": "a", "Reason": "r", "Data": "done" });
    let other = address.replace("Signature=", "Signature=A");
    assert_ne!(other, address);
    let (status, refused) = answered(http.put(other).json(&heard)).await;
    assert_eq!((status, within(&refused, "Code")), (403, "AccessDenied"), "{refused}");
    let (status, text) = answered(http.put(&address).json(&heard)).await;
    assert_eq!(status, 200, "{text}");
    let ran = json!({ "deploy_stdout": "hello", "deploy_status_code": 0 });
    let (status, text) = answered(http.post(&answer).json(&ran)).await;
    assert_eq!(status, 200, "{text}");
    let shown = served.settled(id).await;
    assert_eq!(shown["stack_status"], "CREATE_COMPLETE", "{}", served.reasons(&shown).await);
    let outputs = shown["outputs"].as_array().unwrap();
    let output = |key: &str| {
        let found = outputs.iter().find(|output| output["output_key"] == key).unwrap();
        found["output_value"].clone()
    };
    assert_eq!((output("heard"), output("said")), (json!(r#"{"a": "done"}"#), json!("hello")));

    served.delete(&shown).await;
    assert_eq!(of_stacks(&admin).await, keystone);
    // What the signature was for is gone, and so is its key.
    let (status, refused) = answered(http.put(&address).json(&heard)).await;
    assert_eq!(status, 403, "{refused}");
    assert_unchanged(&demo, &before).await;
}
