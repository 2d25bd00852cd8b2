//! Users whom an identity provider vouches for: their stacks, the trusts that these work by, and what
//! is said where Keystone lets no trust be made.

use std::io::{Read, Write};
use std::net::TcpStream;

use hearth::openstack::{Request, Service};
use serde_json::{Value, json};

use crate::inventory::{assert_unchanged, inventory};
use crate::real_cloud::{RealCloud, alone};
use crate::served::{ApiClient, Served, path};

/// Minutes for which a membership of a group holds after a login.
const HOUR: u64 = 60;

/// An identity provider whose users come as members of one group, and that group with a role in the
/// project `demo`.
struct Federation<'a> {
    real: &'a RealCloud,
    http: reqwest::Client,
    url: String,
    project: String,
    group: String,
    id: String,
}

/// A user who has logged in.
struct Guest {
    id: String,
    token: String,
}

impl<'a> Federation<'a> {
    async fn set_up(real: &'a RealCloud, id: &str, minutes: Option<u64>) -> Self {
        let mut made = Self {
            real,
            http: reqwest::Client::new(),
            url: real.settings().auth_url.trim_end_matches('/').to_owned(),
            project: real.demo().project_id().await.unwrap().to_string(),
            group: String::new(),
            id: id.to_owned(),
        };
        made.take_down().await;
        made.keystone_forgets();
        let group = json!({ "group": { "name": id, "domain_id": "default" } });
        let group = made.admin(Request::post(Service::Identity, "/v3/groups").json(group)).await;
        made.group = group["group"]["id"].as_str().unwrap().to_owned();
        let roles = made.admin(Request::get(Service::Identity, "/v3/roles?name=member")).await;
        let role = roles["roles"][0]["id"].as_str().unwrap();
        made.put(
            format!("projects/{}/groups/{}/roles/{role}", made.project, made.group),
            json!({}),
        )
        .await;
        let minutes = json!({ "identity_provider": {
            "enabled": true, "authorization_ttl": minutes } });
        made.put(made.path(""), minutes).await;
        let local = [json!({ "user": { "name": "{0}" }, "group": { "id": made.group } })];
        let remote = [json!({ "type": "HTTP_X_FED_USER" })];
        let rules = [json!({ "local": local, "remote": remote })];
        made.put(format!("OS-FEDERATION/mappings/{id}"), json!({ "mapping": { "rules": rules } }))
            .await;
        made.put(made.path("/protocols/mapped"), json!({ "protocol": { "mapping_id": id } })).await;
        made
    }

    fn path(&self, rest: &str) -> String {
        format!("OS-FEDERATION/identity_providers/{}{rest}", self.id)
    }

    /// What the cloud's administrator gets.
    async fn admin(&self, request: Request) -> Value {
        let admin = self.real.cloud.session(self.real.credentials("testcloud-admin"));
        let answer = admin.send(request).await.unwrap();
        answer.json().unwrap_or_default()
    }

    async fn put(&self, path: String, body: Value) {
        self.admin(Request::put(Service::Identity, format!("/v3/{path}")).json(body)).await;
    }

    /// How long memberships hold from now on, those that there are with them. Keystone forgets what
    /// it has noted of anybody's roles, which it otherwise keeps for ten minutes.
    async fn memberships_hold(&self, minutes: u64) {
        let body = json!({ "identity_provider": { "authorization_ttl": minutes } });
        let path = format!("/v3/{}", self.path(""));
        self.admin(Request::patch(Service::Identity, path).json(body)).await;
        self.keystone_forgets();
    }

    fn keystone_forgets(&self) {
        let mut cache = TcpStream::connect("127.0.0.1:11212").unwrap();
        cache.write_all(b"flush_all\r\n").unwrap();
        let mut answer = [0; 4];
        cache.read_exact(&mut answer).unwrap();
        assert_eq!(&answer, b"OK\r\n");
    }

    /// Logs a user in: what the identity provider says of him gives a token for nothing, and that
    /// one for the project.
    async fn log_in(&self, name: &str) -> Guest {
        let url = format!("{}/{}", self.url, self.path("/protocols/mapped/auth"));
        let unscoped = self.http.get(url).header("x-fed-user", name).send().await.unwrap();
        assert_eq!(unscoped.status(), 201);
        let unscoped = unscoped.headers()["x-subject-token"].to_str().unwrap();
        let body = json!({ "auth": {
            "identity": { "methods": ["token"], "token": { "id": unscoped } },
            "scope": { "project": { "id": self.project } } } });
        self.token(body).await
    }

    async fn token(&self, body: Value) -> Guest {
        let url = format!("{}/auth/tokens", self.url);
        let given = self.http.post(url).json(&body).send().await.unwrap();
        assert_eq!(given.status(), 201);
        let token = given.headers()["x-subject-token"].to_str().unwrap().to_owned();
        let body: Value = given.json().await.unwrap();
        Guest { id: body["token"]["user"]["id"].as_str().unwrap().to_owned(), token }
    }

    /// The token of an application credential that a user makes with all that he has.
    async fn credential_of(&self, guest: &Guest) -> Guest {
        let url = format!("{}/users/{}/application_credentials", self.url, guest.id);
        let asked = json!({ "application_credential": { "name": "live", "unrestricted": true } });
        let made = self.http.post(url).header("x-auth-token", &guest.token).json(&asked);
        let made: Value = made.send().await.unwrap().json().await.unwrap();
        let made = &made["application_credential"];
        let identity = json!({ "methods": ["application_credential"], "application_credential": {
            "id": made["id"], "secret": made["secret"] } });
        self.token(json!({ "auth": { "identity": identity } })).await
    }

    async fn revoke(&self, guest: &Guest) {
        let revoke = self.http.delete(format!("{}/auth/tokens", self.url));
        let revoke = revoke.header("x-auth-token", &guest.token);
        let revoked = revoke.header("x-subject-token", &guest.token).send().await.unwrap();
        assert_eq!(revoked.status(), 204);
    }

    /// How many trusts the user has given.
    async fn trusts_of(&self, guest: &Guest) -> usize {
        let path = format!("/v3/OS-TRUST/trusts?trustor_user_id={}", guest.id);
        let listed = self.admin(Request::get(Service::Identity, path)).await;
        listed["trusts"].as_array().unwrap().len()
    }

    /// Removes what may be there.
    async fn take_down(&self) {
        let admin = self.real.cloud.session(self.real.credentials("testcloud-admin"));
        let found = format!("/v3/groups?name={}", self.id);
        let groups = self.admin(Request::get(Service::Identity, found)).await;
        let groups = groups["groups"].as_array().unwrap().iter();
        let mut paths: Vec<String> =
            groups.map(|group| format!("groups/{}", group["id"].as_str().unwrap())).collect();
        paths.extend([self.path(""), format!("OS-FEDERATION/mappings/{}", self.id)]);
        for path in paths {
            let gone = admin.send(Request::delete(Service::Identity, format!("/v3/{path}"))).await;
            assert!(gone.is_ok() || gone.unwrap_err().is_not_found());
        }
    }
}

fn network() -> Value {
    json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "mtu": { "type": "number", "default": 1400 } },
        "resources": {
            "net": { "type": "OS::Neutron::Net",
                     "properties": { "value_specs": { "mtu": { "get_param": "mtu" } } } },
            "subnet": { "type": "OS::Neutron::Subnet",
                        "properties": { "network": { "get_resource": "net" },
                                        "cidr": "10.83.0.0/24" } },
            "config": { "type": "OS::Heat::SoftwareConfig" },
        },
    })
}

/// A server that takes the cloud some time to build.
fn slow(seconds: u64) -> Value {
    json!({
        "heat_template_version": "2021-04-16",
        "resources": {
            "net": { "type": "OS::Neutron::Net" },
            "subnet": { "type": "OS::Neutron::Subnet",
                        "properties": { "network": { "get_resource": "net" },
                                        "cidr": "10.84.0.0/24" } },
            "server": { "type": "OS::Nova::Server", "depends_on": "subnet",
                        "properties": { "image": "cirros", "flavor": "m1.nano",
                                        "metadata": { "testcloud:delay": seconds.to_string() },
                                        "networks": [{ "network": { "get_resource": "net" } }] } },
        },
    })
}

async fn ask_to_create(api: &ApiClient, name: &str, template: Value) -> (u16, Value) {
    let body = json!({ "stack_name": name, "template": template });
    api.call("POST", "/stacks", body).await
}

/// That Keystone lets the caller lend no roles, in Heat's words.
fn assert_missing(answer: (u16, Value)) {
    let (status, body) = answer;
    let message = body["error"]["message"].as_str().unwrap_or_default();
    eprintln!("refused: {status} {message}");
    assert_eq!((status, &body["error"]["type"]), (400, &json!("MissingCredentialError")), "{body}");
    let starts = "Missing required credential: roles member, reader. The token has roles that";
    assert!(message.starts_with(starts), "{body}");
}

#[actix::test]
async fn a_federated_users_stack_goes_on_by_his_trust_when_his_token_is_gone() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let before = inventory(&real.demo()).await;
    let federation = Federation::set_up(&real, "hearth-live", Some(HOUR)).await;
    let mut served = Served::start(&real, &real.demo()).await;
    let ada = federation.log_in("ada@example.org").await;
    let api = served.with_token(&ada.token);
    let (status, made) = ask_to_create(&api, "live-federated", slow(15)).await;
    assert_eq!(status, 201, "{made}");
    federation.revoke(&ada).await;
    served.kill_and_restart().await;
    let stack = served.settled("live-federated").await;
    assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{}", served.reasons(&stack).await);
    assert_eq!(stack["stack_owner"], "ada@example.org");
    let ada = federation.log_in("ada@example.org").await;
    let api = served.with_token(&ada.token);
    let network = api.create("live-federated-more", &network().to_string(), json!({})).await;
    assert_eq!(network["stack_status"], "CREATE_COMPLETE", "{}", api.reasons(&network).await);
    let network = api.update(&network, json!({ "mtu": 1300 })).await;
    assert_eq!(network["stack_status"], "UPDATE_COMPLETE", "{}", api.reasons(&network).await);
    assert_eq!(federation.trusts_of(&ada).await, 1);

    // What a program does with his application credential goes on by the same trust.
    let program = served.with_token(&federation.credential_of(&ada).await.token);
    let network = program.update(&network, json!({ "mtu": 1350 })).await;
    assert_eq!(network["stack_status"], "UPDATE_COMPLETE", "{}", api.reasons(&network).await);
    program.delete(&network).await;
    served.kill_and_restart().await;
    api.delete(&stack).await;
    assert_eq!(federation.trusts_of(&ada).await, 0);
    federation.take_down().await;
    assert_unchanged(&real.demo(), &before).await;
}

#[actix::test]
async fn a_federated_user_whose_roles_cannot_be_lent_is_told_so_and_nothing_is_begun() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let before = inventory(&real.demo()).await;
    let federation = Federation::set_up(&real, "hearth-live-bare", None).await;
    let served = Served::start(&real, &real.demo()).await;
    let ada = federation.log_in("ada@example.org").await;
    let api = served.with_token(&ada.token);
    assert_missing(ask_to_create(&api, "live-bare", network()).await);
    let (status, listed) = api.call("GET", "/stacks", Value::Null).await;
    assert_eq!((status, &listed["stacks"]), (200, &json!([])));
    // Another's stack is as it was, though he may ask for what he likes.
    let others = served.create("live-bare", &network().to_string(), json!({})).await;
    assert_missing(api.call("DELETE", &path(&others), Value::Null).await);
    let suspend = json!({ "suspend": null });
    assert_missing(api.call("POST", &format!("{}/actions", path(&others)), suspend).await);
    assert_eq!(served.settled("live-bare").await["stack_status"], "CREATE_COMPLETE");
    served.delete(&others).await;
    assert_eq!(federation.trusts_of(&ada).await, 0);
    federation.take_down().await;
    assert_unchanged(&real.demo(), &before).await;
}

#[actix::test]
async fn what_is_at_work_when_a_membership_ends_fails_in_time_and_is_taken_up_after_a_login() {
    let Some(real) = RealCloud::find() else { return };
    let _alone = alone().await;
    let before = inventory(&real.demo()).await;
    let federation = Federation::set_up(&real, "hearth-live-ends", Some(HOUR)).await;
    let served = Served::start(&real, &real.demo()).await;
    let ada = federation.log_in("ada@example.org").await;
    let api = served.with_token(&ada.token);
    let settled = api.create("live-ends", &network().to_string(), json!({})).await;
    assert_eq!(settled["stack_status"], "CREATE_COMPLETE", "{}", api.reasons(&settled).await);
    let (status, made) = ask_to_create(&api, "live-ends-slow", slow(20)).await;
    assert_eq!(status, 201, "{made}");
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;

    // His token is good for hours yet, his membership is over.
    federation.memberships_hold(0).await;
    let stack = served.settled("live-ends-slow").await;
    eprintln!("{}", served.reasons(&stack).await);
    assert_eq!(stack["stack_status"], "CREATE_FAILED");
    assert_missing(ask_to_create(&api, "live-ends-more", network()).await);
    let suspend = json!({ "suspend": null });
    assert_missing(api.call("POST", &format!("{}/actions", path(&settled)), suspend).await);
    assert_eq!(served.settled("live-ends").await["stack_status"], "CREATE_COMPLETE");
    // To delete is tried, with what the stack has.
    let (status, _) = api.call("DELETE", &path(&settled), Value::Null).await;
    assert_eq!(status, 204);
    let settled = served.settled("live-ends").await;
    assert_eq!(settled["stack_status"], "DELETE_FAILED", "{}", served.reasons(&settled).await);

    federation.memberships_hold(HOUR).await;
    let ada = federation.log_in("ada@example.org").await;
    let api = served.with_token(&ada.token);
    for stack in [stack, settled] {
        api.delete(&stack).await;
    }
    assert_eq!(federation.trusts_of(&ada).await, 0);
    federation.take_down().await;
    assert_unchanged(&real.demo(), &before).await;
}
