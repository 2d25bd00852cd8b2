//! By what a request shows whose it is, where that is not by a token: the flavors `standalone`,
//! `custombackend` and `noauth`; and what it brings beside a token for work that goes on without it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hearth::actors::EngineLimits;
use hearth::api::{Auth, FrontSettings};
use hearth::clock::SystemClock;
use hearth::events::log::MemoryLog;
use hearth::model::{DeferredAuth, Secret};
use hearth::openstack::{
    AuthBackend, Cloud, CloudError, CloudSettings, NameAndPassword, ProjectNamed,
};
use hearth::sandbox::{Sandbox, SandboxConfig};
use reqwest::header::HeaderValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::app::{App, SetUp, login, login_with};
use crate::support::wait;

async fn behind(auth: Auth) -> App {
    App::behind(FrontSettings { auth, ..FrontSettings::default() }).await
}

/// The status of a list of stacks in a project, and the body.
async fn list(app: &App, project: &str, headers: &[(&str, &str)]) -> (u16, Value) {
    let mut request = app.client.get(format!("{}/v1/{project}/stacks", app.url));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.json().await.unwrap_or_default())
}

#[actix::test]
async fn a_name_and_a_password_do_where_the_server_stands_alone() {
    let app = behind(Auth::Password).await;
    let project = app.project.clone();
    let user = ("x-auth-user", "demo");
    let right = [user, ("x-auth-key", "secret")];
    for _ in 0..2 {
        let (status, body) = list(&app, &project, &right).await;
        assert_eq!((status, &body["stacks"]), (200, &Value::Array(Vec::new())));
    }
    let (status, _) = list(&app, &project, &[("x-auth-token", &app.token)]).await;
    assert_eq!(status, 200);
    let domain = ("x-user-domain-id", "no-such-domain");
    for wrong in [
        &[user, ("x-auth-key", "wrong")][..],
        &[user, ("x-auth-key", "")],
        &[("x-auth-key", "secret")],
        &[("x-auth-user", "admin"), ("x-auth-key", "wrong")],
        &[user, ("x-auth-key", "secret"), domain],
        &[user],
    ] {
        assert_eq!(list(&app, &project, wrong).await.0, 401, "{wrong:?}");
    }
    // It is for the project of the URL, and that has to be one of his.
    let (_, other) = app.login("admin", "admin").await;
    for project in [other.as_str(), "no-such-project", "%20"] {
        assert_eq!(list(&app, project, &right).await.0, 401, "{project}");
    }
}

#[actix::test]
async fn a_name_and_a_password_may_be_of_any_letters_in_utf_8_and_latin_1() {
    let app = behind(Auth::Password).await;
    let (admin, _) = app.login("admin", "admin").await;
    let keystone = app.keystone.trim_end_matches('/');
    let ask = async |method: &str, path: &str, body: Value| -> Value {
        let method = method.parse::<reqwest::Method>().unwrap();
        let asked = app.client.request(method, format!("{keystone}{path}"));
        let answer = asked.header("x-auth-token", &admin).json(&body).send().await.unwrap();
        assert!(answer.status().is_success(), "{path}: {answer:?}");
        answer.json().await.unwrap_or_default()
    };
    let (name, password) = ("jörg", "pässwörd");
    let user = json!({ "user": { "name": name, "domain_id": "default", "password": password } });
    let made = ask("POST", "/users", user).await;
    let user = made["user"]["id"].as_str().unwrap();
    let roles = ask("GET", "/roles", Value::Null).await;
    let role = roles["roles"].as_array().unwrap().iter().find(|it| it["name"] == "member");
    let role = role.unwrap()["id"].as_str().unwrap();
    let grant = format!("/projects/{}/users/{user}/roles/{role}", app.project);
    ask("PUT", &grant, Value::Null).await;
    let utf_8 = |text: &str| HeaderValue::from_bytes(text.as_bytes()).unwrap();
    let latin_1 = |text: &str| {
        let bytes: Vec<u8> = text.chars().map(|letter| u8::try_from(letter).unwrap()).collect();
        HeaderValue::from_bytes(&bytes).unwrap()
    };
    let status = async |user: HeaderValue, key: HeaderValue| {
        let list = app.client.get(format!("{}/v1/{}/stacks", app.url, app.project));
        let list = list.header("x-auth-user", user).header("x-auth-key", key);
        list.send().await.unwrap().status().as_u16()
    };
    assert_eq!(status(utf_8(name), utf_8(password)).await, 200);
    assert_eq!(status(latin_1(name), latin_1(password)).await, 200);
    assert_eq!(status(utf_8(name), utf_8("passwörd")).await, 401);
}

/// A server whose callers with passwords may name another Keystone.
fn naming(keystone: &str, deferred_auth: DeferredAuth) -> SetUp {
    SetUp {
        front: FrontSettings { auth: Auth::Password, ..FrontSettings::default() },
        limits: EngineLimits { deferred_auth, ..EngineLimits::default() },
        entrances: vec![keystone.to_owned()],
        ..SetUp::default()
    }
}

#[actix::test]
async fn a_caller_with_a_password_names_his_cloud_and_works_in_it() {
    let other = Sandbox::start(SandboxConfig::instant()).unwrap();
    let networks = || other.state()["networks"]["count"].as_u64().unwrap();
    let before = networks();
    for deferred_auth in [DeferredAuth::Password, DeferredAuth::Trusts] {
        // To be given trusts Hearth has to be somebody there.
        let signers = match deferred_auth {
            DeferredAuth::Password => Vec::new(),
            DeferredAuth::Trusts => vec![("west", other.auth_url.clone())],
        };
        let setup = SetUp { signers, ..naming(&other.auth_url, deferred_auth) };
        let app = App::set_up(Arc::new(MemoryLog::new()), setup).await;
        let (_, project) = login(&app.client, &other.auth_url, "demo", "demo").await;
        let right = [("x-auth-user", "demo"), ("x-auth-key", "secret")];
        let at = |url| [&right[..], &[("x-auth-url", url)]].concat();
        assert_eq!(list(&app, &app.project, &at(&app.keystone)).await.0, 200);
        assert_eq!(list(&app, &project, &at(&app.keystone)).await.0, 401);
        let (status, body) = list(&app, &project, &right).await;
        assert_eq!((status, &body["error"]["message"]), (400, &json!(UNNAMED)));
        let (status, body) = list(&app, &project, &at("http://evil.example")).await;
        assert_eq!((status, &body["error"]["message"]), (401, &json!(NOT_ALLOWED)));

        let there = at(&other.auth_url);
        let template = json!({ "heat_template_version": "2021-04-16", "resources": {
            "net": { "type": "OS::Neutron::Net" } } });
        let body = json!({ "stack_name": "web", "template": template }).to_string();
        let stacks = format!("/v1/{project}/stacks");
        let created = app.send("POST", &stacks, &there, Some(body)).await;
        assert_eq!(created.status, 201, "{}", created.text);
        let stack = format!("{stacks}/web/{}", created.json()["stack"]["id"].as_str().unwrap());
        until(&app, &stack, &there, "CREATE_COMPLETE").await;
        assert_eq!(networks(), before + 1);
        assert_eq!(app.send("DELETE", &stack, &there, None).await.status, 204);
        until(&app, &stack, &there, "DELETE_COMPLETE").await;
        assert_eq!(networks(), before);
        app.stop().await;
    }
}

#[actix::test]
async fn a_cloud_that_callers_name_is_shown_nothing_but_what_they_bring() {
    // Nobody there has the password of a user of Hearth's.
    let password = Secret::new("theirs".to_owned());
    let config = SandboxConfig { password, ..SandboxConfig::instant() };
    let other = Sandbox::start(config).unwrap();
    for deferred_auth in [DeferredAuth::Password, DeferredAuth::Trusts] {
        let setup = naming(&other.auth_url, deferred_auth);
        let app = App::set_up(Arc::new(MemoryLog::new()), setup).await;
        let demo = ("demo", "theirs");
        let (_, project) = login_with(&app.client, &other.auth_url, demo, "demo").await;
        let url = other.auth_url.as_str();
        let there = [("x-auth-user", "demo"), ("x-auth-key", "theirs"), ("x-auth-url", url)];
        assert_eq!(list(&app, &project, &there).await.0, 200);
        let template = json!({ "heat_template_version": "2021-04-16", "resources": {
            "net": { "type": "OS::Neutron::Net" } } });
        let body = json!({ "stack_name": "web", "template": template }).to_string();
        let stacks = format!("/v1/{project}/stacks");
        let created = app.send("POST", &stacks, &there, Some(body)).await;
        if deferred_auth == DeferredAuth::Password {
            assert_eq!(created.status, 201, "{}", created.text);
            let id = created.json()["stack"]["id"].as_str().unwrap().to_owned();
            until(&app, &format!("{stacks}/web/{id}"), &there, "CREATE_COMPLETE").await;
        } else {
            let said = &created.json()["error"];
            assert_eq!((created.status, &said["type"]), (400, &json!("MissingCredentialError")));
            let why = said["message"].as_str().unwrap();
            assert!(why.starts_with("Hearth has no user at http://"), "{why}");
        }
        let refused: Vec<_> = other.requests().into_iter().filter(|it| it.status == 401).collect();
        assert!(refused.is_empty(), "{refused:?}");
        app.stop().await;
    }
}

#[actix::test]
async fn whom_another_cloud_let_in_that_cloud_is_asked_about_anew() {
    let [own, other] = [(); 2].map(|()| Sandbox::start(SandboxConfig::instant()).unwrap());
    let password = Secret::new("secret".to_owned());
    let settings = CloudSettings {
        entrances: Some(vec![other.auth_url.clone()]),
        ..CloudSettings::new(&own.auth_url, "hearth", password.clone(), "service")
    };
    let cloud = Cloud::new(settings, Arc::new(SystemClock)).unwrap();
    let given = NameAndPassword {
        name: "demo",
        password: &password,
        user_domain_id: "default",
        project: ProjectNamed::Name("demo"),
    };
    let (identity, token) = cloud.entered(Some(&other.auth_url), &given).await.unwrap();
    let anew = cloud.validate_token_anew(&token, Duration::ZERO).await.unwrap();
    assert_eq!(anew.caller, identity.caller);
    assert!(own.requests().is_empty());
    // No client gets there by writing its name into a header.
    assert_eq!(cloud.validate_token(&token).await, Err(CloudError::InvalidToken));
}

const UNNAMED: &str = "Request missing required header X-Auth-Url";
const NOT_ALLOWED: &str = "Header X-Auth-Url \"http://evil.example\" not an allowed endpoint";

async fn until(app: &App, stack: &str, headers: &[(&str, &str)], wanted: &str) {
    wait::until(&[app], wanted, async || {
        let shown = app.send("GET", stack, headers, None).await.json();
        let status = shown["stack"]["stack_status"].as_str().unwrap();
        assert!(status == wanted || status.ends_with("IN_PROGRESS"), "{shown}");
        status == wanted
    })
    .await;
}

#[actix::test]
async fn a_name_and_a_password_do_nothing_elsewhere() {
    let app = behind(Auth::Token).await;
    let headers = [("x-auth-user", "demo"), ("x-auth-key", "secret")];
    assert_eq!(list(&app, &app.project, &headers).await.0, 401);
}

#[actix::test]
async fn nothing_is_asked_where_nothing_is_to_be_shown() {
    let password = Secret::new("secret".to_owned());
    let app = behind(Auth::Nothing { password }).await;
    assert_eq!(list(&app, "anything", &[]).await.0, 200);
    let demo = [("x-auth-user", "demo"), ("x-auth-project", "demo")];
    assert_eq!(list(&app, &app.project, &demo).await.0, 200);
    // What he says has to be possible, and a token still has to be a good one.
    assert_eq!(list(&app, "admin", &[("x-auth-user", "nobody")]).await.0, 401);
    assert_eq!(list(&app, "admin", &[("x-auth-token", "bad")]).await.0, 401);
    // No page of another site may ask through a browser on this machine.
    for header in [("origin", "http://evil.example"), ("host", "evil.example:8004")] {
        assert_eq!(list(&app, "admin", &[header]).await.0, 401, "{header:?}");
    }
    assert_eq!(list(&app, "admin", &[("host", "[::1]:8004")]).await.0, 200);
}

#[actix::test]
async fn a_name_and_a_password_beside_a_token_are_for_what_goes_on_without_it() {
    let deferred_auth = DeferredAuth::Password;
    let app = App::within(EngineLimits { deferred_auth, ..EngineLimits::default() }).await;
    let post = async |name: &str, headers: &[(&str, &str)]| {
        let headers: Vec<_> = [&[("x-auth-token", app.token.as_str())], headers].concat();
        let template = json!({ "heat_template_version": "2021-04-16", "resources": {} });
        let body = json!({ "stack_name": name, "template": template }).to_string();
        app.send("POST", &format!("/v1/{}/stacks", app.project), &headers, Some(body)).await
    };
    let (user, key) = (("x-auth-user", "demo"), ("x-auth-key", "secret"));
    for (name, headers) in [("a", &[][..]), ("b", &[user]), ("c", &[key])] {
        let refused = post(name, headers).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        let said = &refused.json()["error"];
        assert_eq!(said["message"], "Missing required credential: X-Auth-Key");
        assert_eq!(said["type"], "MissingCredentialError");
    }
    let refused = post("d", &[user, ("x-auth-key", "wrong")]).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert_eq!(post("e", &[user, key]).await.status, 201);
    app.settled("e").await;
    assert_eq!(post("f", &[]).await.status, 201);
}

/// A server that says whose requests are. It keeps what it was sent.
struct Doorkeeper {
    url: String,
    heads: Arc<Mutex<Vec<String>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl Doorkeeper {
    async fn new(answer: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/who", listener.local_addr().unwrap());
        let heads: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = heads.clone();
        let serving = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = String::new();
                let mut bytes = [0; 4096];
                while !head.ends_with("\r\n\r\n") {
                    match stream.read(&mut bytes).await {
                        Ok(read) if read > 0 => head += &String::from_utf8_lossy(&bytes[..read]),
                        _ => break,
                    }
                }
                kept.lock().unwrap().push(head);
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, heads, serving }
    }

    fn auth(&self) -> Auth {
        Auth::Backend(AuthBackend::new(self.url.parse().unwrap()).unwrap())
    }

    fn asked(&self) -> usize {
        self.heads.lock().unwrap().len()
    }
}

impl Drop for Doorkeeper {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// An answer with these headers.
fn answer(status: &str, headers: &[(&str, &str)]) -> String {
    let lines: String =
        headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: 0\r\n{lines}\r\n")
}

const CONFIRMED: [(&str, &str); 5] = [
    ("X-Identity-Status", "Confirmed"),
    ("X-User-Id", "u-1"),
    ("X-User-Name", "una"),
    ("X-Project-Id", "p-1"),
    ("X-Roles", "member, reader"),
];

#[actix::test]
async fn a_server_of_the_operators_says_whose_a_request_is() {
    let keeper = Doorkeeper::new(answer("200 OK", &CONFIRMED)).await;
    let app = behind(keeper.auth()).await;
    let shown = [("x-auth-token", "a-word"), ("x-auth-user", "una"), ("cookie", "of-others")];
    let (status, body) = list(&app, "p-1", &shown).await;
    assert_eq!((status, &body["stacks"]), (200, &Value::Array(Vec::new())));
    let head = keeper.heads.lock().unwrap()[0].to_ascii_lowercase();
    assert!(head.starts_with("get /who http/1.1"), "{head}");
    for line in ["x-auth-token: a-word", "x-auth-user: una", "x-project-id: p-1"] {
        assert!(head.contains(line), "{head}");
    }
    assert!(!head.contains("of-others"), "{head}");
    // Its word is kept, for just these headers; the project is held to as with any token.
    assert_eq!(list(&app, "p-1", &shown).await.0, 200);
    assert_eq!(keeper.asked(), 1);
    assert_eq!(list(&app, "p-1", &shown[..1]).await.0, 200);
    assert_eq!(keeper.asked(), 2);
    assert_eq!(list(&app, &app.project, &shown).await.0, 403);
    // Who shows nothing is not asked about.
    let asked = keeper.asked();
    assert_eq!(list(&app, "p-1", &[]).await.0, 401);
    assert_eq!(keeper.asked(), asked);
}

#[actix::test]
async fn whoever_such_a_server_does_not_let_in_stays_outside() {
    let long = "x".repeat(256);
    let cases: [(u16, String); 9] = [
        (401, answer("401 Unauthorized", &CONFIRMED)),
        (401, answer("403 Forbidden", &CONFIRMED)),
        (401, answer("200 OK", &CONFIRMED[1..])),
        (401, answer("200 OK", &[("X-Identity-Status", "Invalid")])),
        (503, answer("302 Found", &[("Location", "/elsewhere")])),
        (503, answer("500 Oh", &CONFIRMED)),
        (503, answer("200 OK", &[CONFIRMED[0], CONFIRMED[1]])),
        (503, answer("200 OK", &[CONFIRMED[0], ("X-User-Id", &long), CONFIRMED[3]])),
        (503, "no HTTP at all".to_owned()),
    ];
    for (wanted, said) in cases {
        let keeper = Doorkeeper::new(said.clone()).await;
        let app = behind(keeper.auth()).await;
        let (status, body) = list(&app, "p-1", &[("x-auth-token", "a-word")]).await;
        assert_eq!(status, wanted, "{said}");
        let message = body["error"]["message"].as_str().unwrap_or_default();
        if wanted == 401 {
            assert_eq!(message, "Backend authentication failed");
        } else if !said.starts_with("no") {
            let start = "The authentication backend gives no usable answer: it";
            assert!(message.starts_with(start), "{message}");
        }
        assert_eq!(keeper.asked(), 1, "{said}");
        app.stop().await;
    }
    // A token is needed, of the server's or of the request's.
    let keeper = Doorkeeper::new(answer("200 OK", &CONFIRMED)).await;
    let app = behind(keeper.auth()).await;
    let (status, body) = list(&app, "p-1", &[("x-auth-user", "una")]).await;
    let expected = "The authentication backend gives no usable answer: it tells no x-auth-token, \
                    and the request has none.";
    assert_eq!((status, body["error"]["message"].as_str()), (503, Some(expected)));
}
