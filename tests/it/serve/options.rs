//! An option that hardens is in force, or the server does not start.

use serde_json::{Value, json};

use super::process::{Served, refused};

use crate::support::wait::{WAIT_MAX, polled};

#[test]
fn nobody_believes_to_be_protected_by_an_option_that_does_nothing() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("heat.conf");
    for (option, named) in [
        ("[ssl]\nciphers = HIGH", "[ssl] ciphers"),
        ("[clients_nova]\ncert_file = /x", "[clients_nova] cert_file"),
        ("[heat_api_cfn]\ncert_file = /x", "[heat_api_cfn] cert_file"),
        ("[ec2authtoken.east]\nkeyfile = /x", "[ec2authtoken.east] keyfile"),
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

/// Somebody of the sandbox's, and where the project's stacks are.
struct User {
    http: reqwest::Client,
    token: String,
    stacks: String,
}

impl User {
    async fn of(served: &Served) -> Self {
        let http = reqwest::Client::new();
        let user = json!({ "name": "demo", "domain": { "name": "Default" }, "password": "secret" });
        let scope = json!({ "project": { "name": "demo", "domain": { "name": "Default" } } });
        let identity = json!({ "methods": ["password"], "password": { "user": user } });
        let login = json!({ "auth": { "identity": identity, "scope": scope } });
        let url = format!("{}/auth/tokens", served.told("sandbox cloud"));
        let answer = http.post(url).json(&login).send().await.unwrap();
        let token = answer.headers()["x-subject-token"].to_str().unwrap().to_owned();
        let project: Value = answer.json().await.unwrap();
        let project = project["token"]["project"]["id"].as_str().unwrap();
        let stacks = format!("{}/{project}/stacks", served.told("orchestration API"));
        Self { http, token, stacks }
    }

    async fn post(&self, path: &str, body: &Value) -> (u16, String) {
        let call = self.http.post(format!("{}{path}", self.stacks)).json(body);
        let answer = call.header("x-auth-token", &self.token).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }

    async fn get(&self, path: &str) -> Value {
        let call = self.http.get(format!("{}{path}", self.stacks));
        call.header("x-auth-token", &self.token).send().await.unwrap().json().await.unwrap()
    }
}

/// Whether a stack could be made, and what was said.
async fn preview(served: &Served, body: Value) -> (u16, String) {
    User::of(served).await.post("/preview", &body).await
}

#[actix::test]
async fn agents_are_told_and_answer_as_the_operator_says_and_of_the_keystone_that_they_reach() {
    let body = json!({ "stack_name": "s", "template": {
        "heat_template_version": "2021-04-16",
        "resources": {
            "server": { "type": "OS::Heat::DeployedServer" },
            "config": { "type": "OS::Heat::SoftwareConfig" },
            "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                "config": { "get_resource": "config" },
                "server": { "get_resource": "server" },
                "actions": [],
            } },
            "handle": { "type": "OS::Heat::WaitConditionHandle" },
        },
    } });
    let set = [
        ("HEARTH_DEFAULT__DEFAULT_SOFTWARE_CONFIG_TRANSPORT", "POLL_SERVER_HEAT"),
        ("HEARTH_DEFAULT__DEFAULT_DEPLOYMENT_SIGNAL_TRANSPORT", "ZAQAR_SIGNAL"),
        ("HEARTH_KEYSTONE_AUTHTOKEN__WWW_AUTHENTICATE_URI", "http://keystone.example:5000"),
        ("HEARTH_DEFAULT__SERVER_KEYSTONE_ENDPOINT_TYPE", "internal"),
    ];
    // Without the last one, and with it: then the catalog says where Keystone is.
    for (set, in_catalog) in [(&set[..3], false), (&set[..], true)] {
        let home = tempfile::tempdir().unwrap();
        let served = Served::start(home.path(), &[], set);
        let keystone = match in_catalog {
            true => served.told("sandbox cloud").to_owned(),
            false => "http://keystone.example:5000/v3".to_owned(),
        };
        let user = User::of(&served).await;
        let (status, said) = user.post("/preview", &body).await;
        assert_eq!(status, 200, "{said}");
        let said: Value = serde_json::from_str(&said).unwrap();
        let shown = said["stack"]["resources"].as_array().unwrap();
        let property = |resource: &str, property: &str| {
            let shown = shown.iter().find(|it| it["resource_name"] == resource).unwrap();
            shown["properties"][property].clone()
        };
        assert_eq!(property("server", "software_config_transport"), "POLL_SERVER_HEAT");
        assert_eq!(property("deployment", "signal_transport"), "ZAQAR_SIGNAL");
        assert_eq!(property("handle", "signal_transport"), "TOKEN_SIGNAL");

        let (status, said) = user.post("", &body).await;
        assert_eq!(status, 201, "{said}");
        let made: Value = serde_json::from_str(&said).unwrap();
        let path =
            format!("/s/{}/resources/server/metadata", made["stack"]["id"].as_str().unwrap());
        let told = async || {
            let metadata = user.get(&path).await;
            let told = &metadata["metadata"]["os-collect-config"]["heat"]["auth_url"];
            (!told.is_null()).then(|| told.clone())
        };
        let told = polled(WAIT_MAX, "the agent is told", told).await;
        assert_eq!(told, keystone);
        served.stop();
    }
}

#[actix::test]
async fn resources_are_signaled_at_the_address_that_the_operator_says() {
    let handle = |transport: &str| {
        json!({ "type": "OS::Heat::WaitConditionHandle",
                "properties": { "signal_transport": transport } })
    };
    let body = json!({ "stack_name": "s", "template": {
        "heat_template_version": "2021-04-16",
        "resources": {
            "password": handle("HEAT_SIGNAL"),
            "token": handle("TOKEN_SIGNAL"),
            "policy": { "type": "OS::Heat::ScalingPolicy", "properties": {
                "auto_scaling_group_id": "none", "adjustment_type": "change_in_capacity",
                "scaling_adjustment": 1,
            } },
        },
        "outputs": {
            "password": { "value": { "get_attr": ["password", "signal"] } },
            "token": { "value": { "get_attr": ["token", "endpoint"] } },
            "policy": { "value": { "get_attr": ["policy", "signal_url"] } },
        },
    } });
    let named = "https://heat.example:13004/v1/%(tenant_id)s";
    for said in [named, "https://heat.example:13004/v1"] {
        let home = tempfile::tempdir().unwrap();
        let served = Served::start(home.path(), &[], &[("HEARTH_CLIENTS_HEAT__URL", said)]);
        let user = User::of(&served).await;
        let (status, made) = user.post("", &body).await;
        assert_eq!(status, 201, "{made}");
        let made: Value = serde_json::from_str(&made).unwrap();
        let id = made["stack"]["id"].as_str().unwrap();
        let settled = async || {
            let shown = user.get(&format!("/s/{id}")).await["stack"].clone();
            (shown["stack_status"] != "CREATE_IN_PROGRESS").then_some(shown)
        };
        let shown = polled(WAIT_MAX, "it is settled", settled).await;
        assert_eq!(shown["stack_status"], "CREATE_COMPLETE", "{shown}");
        let told = |name: &str| {
            let outputs = shown["outputs"].as_array().unwrap();
            let output = outputs.iter().find(|output| output["output_key"] == name).unwrap();
            output["output_value"].as_str().unwrap_or_else(|| panic!("{output}")).to_owned()
        };
        let at = |project: &str, resource: &str| {
            let stack = format!("https://heat.example:13004/v1/{project}/stacks/s/{id}");
            format!("{stack}/resources/{resource}/signal")
        };
        let known: Value = serde_json::from_str(&told("password")).unwrap();
        let users = known["project_id"].as_str().unwrap();
        assert_eq!(known["alarm_url"], at(users, "password"), "{said}");
        assert_eq!(told("token"), at(users, "token"), "{said}");
        let (_, project) = user.stacks.strip_suffix("/stacks").unwrap().rsplit_once('/').unwrap();
        assert_eq!(told("policy"), at(project, "policy"), "{said}");
        served.stop();
    }
    let home = tempfile::tempdir().unwrap();
    let said = refused(home.path(), &[], &[("HEARTH_CLIENTS_HEAT__URL", "heat.example")]);
    assert!(said.contains("[clients_heat] url"), "{said}");
}

#[actix::test]
async fn bounds_on_templates_are_those_that_the_operator_set() {
    let many = json!({ "expression": "$.data.select($ + 1)", "data": [1, 2, 3] });
    let template = |resource: Value| json!({ "heat_template_version": "2021-04-16", "resources": { "r": resource } });
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
