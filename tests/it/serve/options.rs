//! An option that hardens is in force, or the server does not start.

use serde_json::json;

use super::process::{Served, refused};

#[test]
fn nobody_believes_to_be_protected_by_an_option_that_does_nothing() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("heat.conf");
    for (option, named) in [
        ("[ssl]\nciphers = HIGH", "[ssl] ciphers"),
        ("[clients_nova]\ncert_file = /x", "[clients_nova] cert_file"),
        (
            "[DEFAULT]\nencrypt_parameters_and_properties = true",
            "[DEFAULT] encrypt_parameters_and_properties",
        ),
        ("[healthcheck]\nallowed_source_ranges = 10.0.0.0/8", "allowed_source_ranges"),
        ("[ssl]\ncert_file = /x", "[ssl] key_file must be set"),
        ("[oslo_middleware]\nsecure_proxy_ssl_header = X Y", "secure_proxy_ssl_header"),
    ] {
        std::fs::write(&file, option).unwrap();
        let arguments = ["--config-file", file.to_str().unwrap()];
        let said = refused(&home.path().join("data"), &arguments, &[]);
        assert!(said.contains(named), "{option}: {said}");
    }
}

#[test]
fn an_option_that_asks_for_nothing_does_not_keep_a_server_from_starting() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("heat.conf");
    let options = "[DEFAULT]\nencrypt_parameters_and_properties = False\nnum_engine_workers = 4\n\
                   auth_encryption_key = 0123456789abcdef0123456789abcdef\n\
                   [keystone_authtoken]\ntoken_cache_time = -1\n";
    std::fs::write(&file, options).unwrap();
    let arguments = ["--config-file", file.to_str().unwrap()];
    let log = Served::start(&home.path().join("data"), &arguments, &[]).stop();
    assert!(log.contains("[DEFAULT] num_engine_workers"), "{log}");
}

/// Whether a stack could be made, and what was said.
async fn preview(served: &Served, body: serde_json::Value) -> (u16, String) {
    let http = reqwest::Client::new();
    let user = json!({ "name": "demo", "domain": { "name": "Default" }, "password": "secret" });
    let scope = json!({ "project": { "name": "demo", "domain": { "name": "Default" } } });
    let identity = json!({ "methods": ["password"], "password": { "user": user } });
    let login = json!({ "auth": { "identity": identity, "scope": scope } });
    let url = format!("{}/auth/tokens", served.told("sandbox cloud"));
    let answer = http.post(url).json(&login).send().await.unwrap();
    let token = answer.headers()["x-subject-token"].to_str().unwrap().to_owned();
    let project: serde_json::Value = answer.json().await.unwrap();
    let project = project["token"]["project"]["id"].as_str().unwrap().to_owned();
    let url = format!("{}/{project}/stacks/preview", served.told("orchestration API"));
    let answer = http.post(url).header("x-auth-token", token).json(&body).send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[actix::test]
async fn bounds_on_templates_are_those_that_the_operator_set() {
    let many = json!({ "expression": "$.data.select($ + 1)", "data": [1, 2, 3] });
    let template = |resource: serde_json::Value| json!({ "heat_template_version": "2021-04-16", "resources": { "r": resource } });
    let expression = template(json!({
        "type": "OS::Heat::Value", "properties": { "value": { "yaql": many } },
    }));
    let deep = template(json!({ "type": "a.yaml" }));
    let files = json!({
        "a.yaml": template(json!({ "type": "b.yaml" })).to_string(),
        "b.yaml": template(json!({ "type": "OS::Heat::None" })).to_string(),
    });
    let expression = json!({ "stack_name": "s", "template": expression });
    let deep = json!({ "stack_name": "s", "template": deep, "files": files });
    let home = tempfile::tempdir().unwrap();

    let usual = Served::start(&home.path().join("usual"), &[], &[]);
    assert_eq!(preview(&usual, expression.clone()).await.0, 200);
    assert_eq!(preview(&usual, deep.clone()).await.0, 200);
    usual.stop();

    let set =
        [("HEARTH_YAQL__LIMIT_ITERATORS", "2"), ("HEARTH_DEFAULT__MAX_NESTED_STACK_DEPTH", "1")];
    let bounded = Served::start(&home.path().join("bounded"), &[], &set);
    let (status, said) = preview(&bounded, expression).await;
    assert!(status == 400 && said.contains('2'), "{status} {said}");
    let (status, said) = preview(&bounded, deep).await;
    assert!(status == 400 && said.contains("Recursion depth exceeds 1"), "{status} {said}");
    bounded.stop();
}
