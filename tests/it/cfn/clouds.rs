//! Several clouds whose users sign requests: whose key it is decides in which cloud the work is done.

use std::sync::{Arc, Mutex};

use hearth::sandbox::{RunningSandbox, Sandbox, SandboxConfig};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::desk::{Desk, key_at, now, within};
use super::signer::Key;
use crate::api::app::{SetUp, login};
use crate::support::wait::{WAIT_MAX, polled, until};

const WAITING: &str = r#"{
    "heat_template_version": "2018-08-31",
    "resources": {
        "net": { "type": "OS::Neutron::Net" },
        "handle": { "type": "AWS::CloudFormation::WaitConditionHandle", "depends_on": "net" },
        "wait": { "type": "AWS::CloudFormation::WaitCondition", "properties": {
            "Handle": { "get_resource": "handle" }, "Timeout": 60 } }
    },
    "outputs": { "address": { "value": { "get_resource": "handle" } } }
}"#;

/// A cloud beside Hearth's own.
struct Other {
    sandbox: RunningSandbox,
    http: reqwest::Client,
}

impl Other {
    fn start() -> Self {
        Self::without(&[])
    }

    /// One that lacks services.
    fn without(types: &[&str]) -> Self {
        let without = types.iter().map(|it| (*it).to_owned()).collect();
        let config = SandboxConfig { cfn_url: None, without, ..SandboxConfig::instant() };
        let sandbox = Sandbox::start(config).unwrap();
        Self { sandbox, http: reqwest::Client::new() }
    }

    /// A key of a user's.
    async fn key(&self, user: &str) -> Key {
        let keystone = &self.sandbox.auth_url;
        let (token, project) = login(&self.http, keystone, user, user).await;
        key_at(&self.http, keystone, &token, &project).await
    }

    /// What an administrator finds.
    async fn list(&self, service: &str, path: &str, kind: &str) -> Vec<Value> {
        list(&self.http, &self.sandbox.auth_url, service, path, kind).await
    }
}

async fn list(
    http: &reqwest::Client,
    keystone: &str,
    service: &str,
    path: &str,
    kind: &str,
) -> Vec<Value> {
    let (token, _) = login(http, keystone, "admin", "admin").await;
    let url = format!("{}/auth/tokens", keystone.trim_end_matches('/'));
    let known = http.get(url).header("x-auth-token", &token).header("x-subject-token", &token);
    let known: Value = known.send().await.unwrap().json().await.unwrap();
    let services = known["token"]["catalog"].as_array().unwrap();
    let found = services.iter().find(|it| it["type"] == service).unwrap();
    let url = format!("{}{path}", found["endpoints"][0]["url"].as_str().unwrap());
    let listed = http.get(url).header("x-auth-token", &token).send().await.unwrap();
    let listed: Value = listed.json().await.unwrap();
    listed[kind].as_array().unwrap_or_else(|| panic!("{listed}")).clone()
}

impl Desk {
    /// Waits until a stack shows something.
    async fn shown(&self, stack: &str, wanted: &str) -> String {
        until(&[&self.app], wanted, async || {
            let shown = self.get("DescribeStacks", &[("StackName", stack)]).await.text;
            assert!(!shown.contains("FAILED"), "{shown}");
            if shown.contains(wanted) { Ok(shown) } else { Err(shown) }
        })
        .await
    }
}

#[actix::test]
async fn a_stack_of_another_clouds_user_is_made_waits_and_is_deleted_in_that_cloud() {
    let other = Other::start();
    let signers = vec![("east", other.sandbox.auth_url.clone())];
    let mut desk = Desk::set_up(SetUp { signers, ..SetUp::default() }).await;
    let own = std::mem::replace(&mut desk.key, other.key("demo").await);
    let (users, projects) = ("/users?domain_id=heat", "/projects?domain_id=heat");
    let count = async || {
        let networks = other.list("network", "/v2.0/networks", "networks").await.len();
        let users = other.list("identity", users, "users").await.len();
        let projects = other.list("identity", projects, "projects").await.len();
        let trusts = other.list("identity", "/OS-TRUST/trusts", "trusts").await.len();
        (networks, users, projects, trusts)
    };
    let before = count().await;
    let here = async || {
        let listed =
            list(&desk.app.client, &desk.app.keystone, "network", "/v2.0/networks", "networks");
        listed.await.len()
    };
    let here_before = here().await;

    let web = [("StackName", "web"), ("TemplateBody", WAITING)];
    let created = desk.post("CreateStack", &web).await;
    assert_eq!(created.status, 200, "{}", created.text);
    let arn = within(&created.text, "StackId").to_owned();
    let shown = desk.shown("web", "Signature=").await;
    let address = within(&shown, "OutputValue").replace("&amp;", "&");
    assert_eq!(count().await, (before.0 + 1, before.1 + 1, before.2 + 1, before.3 + 1));
    assert_eq!(here().await, here_before);
    // The key of its handle's user is the other cloud's, too.
    let heard = json!({ "Status": "SUCCESS", "UniqueId": "a", "Reason": "r", "Data": "d" });
    let heard = desk.app.client.put(address).json(&heard).send().await.unwrap();
    assert_eq!(heard.status(), 200);
    desk.shown("web", "CREATE_COMPLETE").await;

    // Whoever is of this cloud sees nothing of it.
    let theirs = std::mem::replace(&mut desk.key, own);
    assert_eq!(desk.get("DescribeStacks", &[("StackName", "web")]).await.status, 400);
    desk.key = theirs;
    assert_eq!(desk.get("DeleteStack", &[("StackName", "web")]).await.status, 200);
    desk.shown(&arn, "DELETE_COMPLETE").await;
    // The trust is given back when nobody waits for it.
    polled(WAIT_MAX, "its trust is given back", async || count().await == before).await;
    desk.app.stop().await;
}

#[actix::test]
async fn every_cloud_is_asked_and_the_one_that_knows_the_key_says_why_not() {
    let other = Other::start();
    let gone = format!("http://127.0.0.1:{}", free_port());
    let signers = vec![("east", other.sandbox.auth_url.clone())];
    let mut desk = Desk::set_up(SetUp { signers, ..SetUp::default() }).await;
    assert_eq!(desk.get("ListStacks", &[]).await.status, 200);
    let theirs = other.key("demo").await;
    let wrong = Key { secret: desk.key.secret.clone(), ..theirs.clone() };
    let own_wrong = Key { secret: theirs.secret.clone(), ..desk.key.clone() };
    let unknown = Key { access: "nobody".to_owned(), ..theirs.clone() };
    for (key, code) in
        [(wrong, "AccessDenied"), (own_wrong, "AccessDenied"), (unknown, "InvalidClientTokenId")]
    {
        desk.key = key;
        let refused = desk.get("ListStacks", &[]).await;
        assert_eq!((refused.status, within(&refused.text, "Code")), (403, code));
    }
    desk.app.stop().await;

    // One that does not answer keeps nobody from the others, and may be the one that knows.
    let signers = vec![("gone", gone), ("east", other.sandbox.auth_url.clone())];
    let mut desk = Desk::set_up(SetUp { signers, ..SetUp::default() }).await;
    desk.key = theirs.clone();
    assert_eq!(desk.get("ListStacks", &[]).await.status, 200);
    desk.key.access = "nobody".to_owned();
    assert_eq!(desk.get("ListStacks", &[]).await.status, 503);
    desk.app.stop().await;
}

#[actix::test]
async fn a_signature_that_one_cloud_has_taken_is_shown_to_no_other_again() {
    let (east, west) = (Other::start(), Other::start());
    let signers =
        vec![("east", east.sandbox.auth_url.clone()), ("west", west.sandbox.auth_url.clone())];
    let mut desk = Desk::set_up(SetUp { signers, ..SetUp::default() }).await;
    desk.key = west.key("demo").await;
    let signed = Some(now());
    for _ in 0..3 {
        assert_eq!(desk.get_at("ListStacks", &[], signed).await.status, 200);
    }
    for cloud in [&east, &west] {
        let asked = cloud.sandbox.requests();
        assert_eq!(asked.iter().filter(|it| it.path.ends_with("/ec2tokens")).count(), 1);
    }
    desk.app.stop().await;
}

#[actix::test]
async fn types_are_those_of_the_cloud_that_a_stack_is_made_in() {
    let other = Other::without(&["network"]);
    let signers = vec![("east", other.sandbox.auth_url.clone())];
    let mut desk = Desk::set_up(SetUp { signers, ..SetUp::default() }).await;
    let web = [("StackName", "web"), ("TemplateBody", WAITING)];
    assert_eq!(desk.post("CreateStack", &web).await.status, 200);
    desk.key = other.key("demo").await;
    let refused = desk.post("CreateStack", &web).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert!(refused.text.contains("Service neutron is not available"), "{}", refused.text);
    desk.app.stop().await;
}

/// A Keystone that says what it is told to, whatever it is asked.
struct Liar {
    url: String,
    word: Arc<Mutex<String>>,
}

impl Liar {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v3", listener.local_addr().unwrap());
        let word: Arc<Mutex<String>> = Arc::default();
        let said = Arc::clone(&word);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let (mut text, mut bytes) = (String::new(), [0; 4096]);
                while !is_whole(&text) {
                    match stream.read(&mut bytes).await {
                        Ok(read) if read > 0 => text += &String::from_utf8_lossy(&bytes[..read]),
                        _ => break,
                    }
                }
                let body = said.lock().unwrap().clone();
                let head = "HTTP/1.1 200 OK\r\nX-Subject-Token: lie\r\nConnection: close\r\n";
                let answer = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, word }
    }

    fn says(&self, word: &Value) {
        *self.word.lock().unwrap() = word.to_string();
    }
}

/// Whether that is all of a request.
fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let mut lines = head.lines().map(str::to_ascii_lowercase);
    let length = lines.find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    body.len() >= length.unwrap_or(0)
}

#[actix::test]
async fn a_cloud_that_vouches_for_users_of_another_neither_works_as_them_nor_takes_their_stacks() {
    let liar = Liar::start().await;
    let signers = vec![("east", liar.url.clone())];
    let mut desk = Desk::set_up(SetUp { signers, ..SetUp::default() }).await;
    let template = json!({ "heat_template_version": "2018-08-31", "resources": {
        "a": { "type": "OS::Heat::Value", "properties": { "value": 1 } } } });
    desk.app.create("web", template.clone()).await;
    let url = format!("{}/auth/tokens", desk.app.keystone.trim_end_matches('/'));
    let known = desk.app.client.get(url).header("x-auth-token", &desk.app.token);
    let known = known.header("x-subject-token", &desk.app.token).send().await.unwrap();
    let mut word: Value = known.json().await.unwrap();
    word["token"]["catalog"] = json!([]);
    word["trust"] = json!({ "id": "t" });

    let template = template.to_string();
    let owner = word["token"]["user"]["id"].clone();
    let own = desk.key.clone();
    for user in [owner, "another-of-the-project".into()] {
        word["token"]["user"]["id"] = user.clone();
        liar.says(&word);
        desk.key = Key { access: format!("key of {user}"), secret: "any".to_owned() };
        let other = [("StackName", "other"), ("TemplateBody", &template)];
        let web = [("StackName", "web"), ("TemplateBody", &template)];
        for refused in [
            desk.post("CreateStack", &other).await,
            desk.post("UpdateStack", &web).await,
            desk.post("DeleteStack", &web[..1]).await,
        ] {
            assert_eq!(refused.status, 403, "{user}: {}", refused.text);
        }
    }
    desk.key = own;
    assert_eq!(desk.get("DescribeStacks", &[("StackName", "other")]).await.status, 400);
    assert_eq!(desk.settled("web").await, "CREATE_COMPLETE");
    assert_eq!(desk.get("DeleteStack", &[("StackName", "web")]).await.status, 200);
    desk.app.stop().await;
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
