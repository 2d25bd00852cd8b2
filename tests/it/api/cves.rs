//! What was once found in Heat, tried here: each test is called by the number under which it was
//! published and says what its finder did. Where Hearth has no such feature, the nearest one that
//! it has is tried.

use std::time::{Duration, Instant};

use hearth::actors::EngineLimits;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::app::{Answered, App};

fn empty() -> Value {
    json!({ "heat_template_version": "2021-04-16" })
}

/// The token and the project of a user that a stack has made for a handle, and the stack's id.
async fn stack_user(app: &App) -> (String, String, String) {
    let template = json!({ "heat_template_version": "2021-04-16",
        "resources": { "handle": { "type": "OS::Heat::WaitConditionHandle" } } });
    let stack = app.create("web", template).await;
    let id = stack["id"].as_str().unwrap();
    let shown = app.get(&format!("/stacks/web/{id}/resources/handle")).await.json();
    let token = shown["resource"]["attributes"]["token"].as_str().unwrap().to_owned();
    (token, stack["stack_user_project_id"].as_str().unwrap().to_owned(), id.to_owned())
}

/// An instance's own credentials made and changed stacks, through the API of CloudFormation, which
/// asked no policy. Here they have the native API alone.
#[actix::test]
async fn cve_2013_6426_a_stacks_user_makes_and_changes_stacks() {
    let app = App::start().await;
    let (token, users, id) = stack_user(&app).await;
    let before = app.log.durable_position();
    let body = json!({ "stack_name": "more", "template": empty() }).to_string();
    for (verb, rest) in [
        ("POST", "stacks".to_owned()),
        ("POST", "stacks/preview".to_owned()),
        ("PUT", format!("stacks/web/{id}")),
        ("PATCH", format!("stacks/web/{id}")),
        ("DELETE", format!("stacks/web/{id}")),
        ("POST", format!("stacks/web/{id}/actions")),
        ("POST", format!("stacks/web/{id}/snapshots")),
    ] {
        for project in [&users, &app.project] {
            let path = format!("/v1/{project}/{rest}");
            let token = [("x-auth-token", token.as_str())];
            let body = match rest.ends_with("actions") {
                true => json!({ "suspend": null }).to_string(),
                false => body.clone(),
            };
            let answered = app.send(verb, &path, &token, Some(body)).await;
            assert_eq!(answered.status, 403, "{verb} {path}: {}", answered.text);
        }
    }
    assert_eq!(app.log.durable_position(), before);
    app.stop().await;
}

/// The project in the URL was taken for the caller's.
#[actix::test]
async fn cve_2013_6428_another_tenants_project_is_put_into_the_url() {
    let app = App::start().await;
    let stack = app.create("web", empty()).await;
    let id = stack["id"].as_str().unwrap();
    let (token, project) = app.login("alt_demo", "alt_demo").await;
    let token = [("x-auth-token", token.as_str())];
    for rest in ["stacks".to_owned(), "stacks/web".to_owned(), format!("stacks/web/{id}")] {
        for verb in ["GET", "DELETE"] {
            let theirs = app.send(verb, &format!("/v1/{}/{rest}", app.project), &token, None).await;
            assert!(matches!(theirs.status, 403 | 405), "{verb} {rest}: {}", theirs.text);
        }
    }
    for rest in ["stacks/web".to_owned(), format!("stacks/web/{id}")] {
        let own = app.send("GET", &format!("/v1/{project}/{rest}"), &token, None).await;
        assert_eq!(own.status, 404, "{rest}: {}", own.text);
    }
    assert_eq!(app.get(&format!("/stacks/web/{id}")).await.status, 200);
    app.stop().await;
}

/// The templates that one tenant's environment put behind types were in every tenant's list.
#[actix::test]
async fn cve_2014_3801_another_tenants_template_urls_are_listed_as_types() {
    let app = App::start().await;
    let body = json!({ "stack_name": "web",
        "template": { "heat_template_version": "2021-04-16",
                      "resources": { "a": { "type": "My::Hidden" } } },
        "environment": { "resource_registry": { "My::Hidden": "https://h/hunter2.yaml" } },
        "files": { "https://h/hunter2.yaml": empty().to_string() } });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    let (token, project) = app.login("alt_demo", "alt_demo").await;
    let token = [("x-auth-token", token.as_str())];
    for rest in ["resource_types", "resource_types?with_description=true"] {
        let listed = app.send("GET", &format!("/v1/{project}/{rest}"), &token, None).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        assert!(listed.text.contains("OS::Nova::Server"), "{}", listed.text);
        assert!(!listed.text.contains("hunter2") && !listed.text.contains("My::Hidden"));
    }
    let path = format!("/v1/{project}/resource_types/My::Hidden");
    assert_eq!(app.send("GET", &path, &token, None).await.status, 404);
    app.stop().await;
}

/// A type that named a file of the server's was opened: whether there is one could be told, and an
/// endless one filled the memory.
#[actix::test]
async fn cve_2015_5295_a_type_names_a_file_of_the_servers() {
    let app = App::start().await;
    let directory = tempfile::tempdir().unwrap();
    let there = directory.path().join("there.yaml");
    std::fs::write(&there, empty().to_string()).unwrap();
    let started = Instant::now();
    let ask = async |url: String| -> (u16, String) {
        let template = json!({ "heat_template_version": "2021-04-16",
            "resources": { "a": { "type": "My::Own" } } });
        let body = json!({ "template": template, "stack_name": "web",
            "environment": { "resource_registry": { "My::Own": url } } });
        let plain = json!({ "stack_name": "web", "template": {
            "heat_template_version": "2021-04-16", "resources": { "a": { "type": url } } } });
        let mut said = String::new();
        let mut status = 200;
        for (path, body) in [("/validate", &body), ("/validate", &plain), ("/stacks", &body)] {
            let Answered { status: code, text, .. } =
                app.ask("POST", path, Some(body.clone())).await;
            said += &text.replace(&url, "URL");
            status = status.max(code);
        }
        (status, said)
    };
    let at = |name: &str| format!("file://{}/{name}", directory.path().display());
    let absent = ask(at("absent.yaml")).await;
    assert_eq!(absent.0, 400, "{}", absent.1);
    assert_eq!(ask(at("there.yaml")).await, absent);
    let unnamed = ask("file:///nowhere/at/all".to_owned()).await;
    for endless in ["file:///dev/zero", "file:///etc/passwd", "file:///proc/self/environ"] {
        assert_eq!(ask(endless.to_owned()).await, unnamed, "{endless}");
    }
    assert!(started.elapsed() < Duration::from_secs(60));
    app.stop().await;
}

/// What an address in the server's own network answered could be told from the error: an open port
/// from a closed one, and one service from another.
#[actix::test]
async fn cve_2016_9185_a_template_url_looks_around_in_the_servers_network() {
    let app = App::start().await;
    let open = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let closed = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let (open_at, closed_at) = (open.local_addr().unwrap(), closed.local_addr().unwrap());
    drop(closed);
    let answering = actix::spawn(async move {
        while let Ok((mut from, _)) = open.accept().await {
            let _ = from.read(&mut [0; 4096]).await;
            let answer =
                "HTTP/1.1 403 hunter2\r\nServer: hunter2\r\nContent-Length: 7\r\n\r\nhunter2";
            let _ = from.write_all(answer.as_bytes()).await;
        }
    });
    let ask = async |at: std::net::SocketAddr| {
        let url = format!("http://{at}/x.yaml");
        let body = json!({ "stack_name": "web", "template_url": url });
        let answered = app.ask("POST", "/stacks", Some(body)).await;
        assert_eq!(answered.status, 400, "{}", answered.text);
        answered.text.replace(&url, "URL")
    };
    let seen = ask(open_at).await;
    assert_eq!(seen, ask(closed_at).await);
    assert!(!seen.contains("hunter2"), "{seen}");
    answering.abort();
    app.stop().await;
}

/// A stack with a hidden parameter, given beside the environment and in it.
async fn hiding(app: &App) -> String {
    let template = json!({ "heat_template_version": "2021-04-16",
        "parameters": { "one": { "type": "string", "hidden": true },
                        "two": { "type": "string", "hidden": true } },
        "resources": { "a": { "type": "OS::Heat::TestResource",
                              "properties": { "value": { "get_param": "one" } } } } });
    let body = json!({ "stack_name": "web", "template": template,
        "parameters": { "one": "hunter2" },
        "environment": { "parameters": { "two": "hunter2" } } });
    let created = app.ask("POST", "/stacks", Some(body)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    app.settled("web").await["id"].as_str().unwrap().to_owned()
}

/// Hidden parameters were open where the environment is shown.
#[actix::test]
async fn cve_2023_1625_a_reader_looks_for_hidden_parameters() {
    let app = App::start().await;
    let id = hiding(&app).await;
    for rest in ["", "/environment", "/template", "/files", "/events", "/resources", "/outputs"] {
        let shown = app.get(&format!("/stacks/web/{id}{rest}")).await;
        assert_eq!(shown.status, 200, "{rest}: {}", shown.text);
        assert!(!shown.text.contains("hunter2"), "{rest}: {}", shown.text);
    }
    let environment = app.get(&format!("/stacks/web/{id}/environment")).await.json();
    assert_eq!(environment["parameters"], json!({ "one": "******", "two": "******" }));
    app.stop().await;
}

/// They were so again in what is handed out when a stack is abandoned.
#[actix::test]
async fn cve_2024_7319_hidden_parameters_are_taken_from_an_abandoned_stack() {
    let limits = EngineLimits { enable_stack_abandon: true, ..EngineLimits::default() };
    let app = App::within(limits).await;
    let id = hiding(&app).await;
    for (verb, rest) in [("GET", "export"), ("DELETE", "abandon")] {
        let given = app.ask(verb, &format!("/stacks/web/{id}/{rest}"), None).await;
        assert_eq!(given.status, 200, "{rest}: {}", given.text);
        assert!(given.text.contains("\"environment\""), "{}", given.text);
        assert!(!given.text.contains("hunter2"), "{rest}: {}", given.text);
    }
    app.stop().await;
}

/// Keystone gave a token for a signed request of AWS's that somebody had come by, to anybody who
/// asked. Hearth takes no signature for a token, and asks for none.
#[actix::test]
async fn cve_2025_65073_a_presigned_request_is_put_in_the_place_of_a_token() {
    let app = App::start().await;
    let signed = "AWSAccessKeyId=k&Signature=s&SignatureMethod=HmacSHA256&SignatureVersion=2";
    let authorization = "AWS4-HMAC-SHA256 Credential=k/20260101/r/s3/aws4_request, \
                         SignedHeaders=host, Signature=s";
    let path = format!("/v1/{}/stacks?{signed}", app.project);
    for headers in [
        vec![],
        vec![("authorization", authorization)],
        vec![("x-auth-ec2-creds", r#"{"ec2Credentials": {"access": "k", "signature": "s"}}"#)],
        vec![("x-auth-user", "demo"), ("x-auth-key", "secret")],
    ] {
        let refused = app.send("GET", &path, &headers, None).await;
        assert_eq!(refused.status, 401, "{headers:?}: {}", refused.text);
    }
    // What waits at a handle of AWS's has an address, which opens nothing.
    let template = json!({ "heat_template_version": "2021-04-16",
        "resources": { "handle": { "type": "AWS::CloudFormation::WaitConditionHandle" } } });
    let id = app.create("web", template).await["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/{}/stacks/web/{id}/resources/handle/signal?{signed}", app.project);
    assert_eq!(app.send("POST", &path, &[], None).await.status, 401);
    app.stop().await;
}
