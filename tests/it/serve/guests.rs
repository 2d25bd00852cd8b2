//! Servers of the sandbox that run what they are told: by every way to be told and every way to
//! answer, over the real interfaces.

use std::time::Duration;

use serde_json::{Value, json};

use super::process::{Served, refused};
use crate::support::chance::{self, Chance};
use crate::support::wait::polled;

/// How long a stack may take.
const WITHIN: Duration = Duration::from_secs(60);

/// The user `demo` at a server's API.
struct Demo {
    client: reqwest::Client,
    token: String,
    /// The API with the project.
    url: String,
}

impl Demo {
    async fn at(served: &Served) -> Self {
        let client = reqwest::Client::new();
        let domain = json!({ "name": "Default" });
        let user = json!({ "name": "demo", "domain": domain, "password": "secret" });
        let body = json!({ "auth": {
            "identity": { "methods": ["password"], "password": { "user": user } },
            "scope": { "project": { "name": "demo", "domain": domain } } } });
        let keystone = served.told("sandbox cloud").split(' ').next().unwrap().to_owned();
        let url = format!("{keystone}/auth/tokens");
        let answer = client.post(url).json(&body).send().await.unwrap();
        let token = answer.headers()["x-subject-token"].to_str().unwrap().to_owned();
        let body: Value = answer.json().await.unwrap();
        let project = body["token"]["project"]["id"].as_str().unwrap();
        let url = format!("{}/{project}", served.told("orchestration API"));
        Self { client, token, url }
    }

    async fn create(&self, name: &str, template: Value) {
        let body = json!({ "stack_name": name, "template": template });
        let asked = self.client.post(format!("{}/stacks", self.url)).json(&body);
        let answer = asked.header("x-auth-token", &self.token).send().await.unwrap();
        let status = answer.status().as_u16();
        assert_eq!(status, 201, "{}", answer.text().await.unwrap());
    }

    /// The stack, once it is settled.
    async fn settled(&self, name: &str) -> Value {
        polled(WITHIN, format!("{name} is settled"), async || {
            let asked = self.client.get(format!("{}/stacks/{name}", self.url));
            let asked = asked.header("x-auth-token", &self.token);
            let mut shown: Value = asked.send().await.unwrap().json().await.unwrap();
            let stack = shown["stack"].take();
            match stack["stack_status"].as_str().unwrap() {
                status if status.ends_with("_IN_PROGRESS") => Err(format!("{stack:#}")),
                _ => Ok(stack),
            }
        })
        .await
    }
}

/// A server whose user data meet a condition, and a script that is deployed to it.
fn template(transport: &str, signal: &str, script: &str) -> Value {
    json!({
        "heat_template_version": "2021-04-16",
        "resources": {
            "handle": { "type": "OS::Heat::WaitConditionHandle" },
            "wait": { "type": "OS::Heat::WaitCondition", "properties": {
                "handle": { "get_resource": "handle" }, "timeout": 60 } },
            "server": { "type": "OS::Nova::Server", "properties": {
                "image": "cirros", "flavor": "m1.tiny", "networks": [{ "network": "private" }],
                "user_data_format": "SOFTWARE_CONFIG", "software_config_transport": transport,
                "user_data": { "str_replace": {
                    "template": "#!/bin/sh\ntell --data-binary '{\"status\": \"SUCCESS\", \
                                 \"data\": \"up\"}'\n",
                    "params": { "tell": { "get_attr": ["handle", "curl_cli"] } } } } } },
            "config": { "type": "OS::Heat::SoftwareConfig", "properties": {
                "group": "script", "inputs": [{ "name": "who", "default": "nobody" },
                                              { "name": "count", "type": "Number" }],
                "outputs": [{ "name": "greeting" }], "config": script } },
            "deployment": { "type": "OS::Heat::SoftwareDeployment", "properties": {
                "config": { "get_resource": "config" }, "server": { "get_resource": "server" },
                "signal_transport": signal,
                "input_values": { "who": "world", "count": 3 } } },
        },
        "outputs": {
            "greeting": { "value": { "get_attr": ["deployment", "greeting"] } },
            "stdout": { "value": { "get_attr": ["deployment", "deploy_stdout"] } },
            "status": { "value": { "get_attr": ["deployment", "deploy_status_code"] } },
            "heard": { "value": { "get_attr": ["wait", "data"] } },
        },
    })
}

const WAYS: [(&str, &str); 4] = [
    ("POLL_SERVER_CFN", "CFN_SIGNAL"),
    ("POLL_TEMP_URL", "TEMP_URL_SIGNAL"),
    ("POLL_SERVER_HEAT", "HEAT_SIGNAL"),
    ("ZAQAR_MESSAGE", "ZAQAR_SIGNAL"),
];

const GREETS: &str = "#!/bin/sh\necho \"$who $count\"\n\
                      printf 'hello %s' \"$who\" > \"$heat_outputs_path.greeting\"\n";

#[actix::test]
async fn guests_do_what_they_are_told_and_answer() {
    let home = tempfile::tempdir().unwrap();
    let guests = [("HEARTH_SANDBOX__GUESTS", "process")];
    let served = Served::start(&home.path().join("data"), &[], &guests);
    let demo = Demo::at(&served).await;
    for (transport, signal) in WAYS {
        demo.create(signal, template(transport, signal, GREETS)).await;
    }
    let wrong = [
        ("exits", "#!/bin/sh\nexit 3\n", "3"),
        ("floods", "while :; do echo 012345678901234567890123456789; done", "137"),
        ("forks", "while :; do sleep 600 & done", "137"),
        // A pipe that nobody writes into, and more than a signal may bring.
        (
            "odd",
            "mkfifo $heat_outputs_path.greeting\nhead -c 65536 /dev/zero\n\
             head -c 65536 /dev/zero >&2\nexit 4",
            "4",
        ),
    ];
    for (name, script, _) in wrong {
        demo.create(name, template("POLL_SERVER_CFN", "CFN_SIGNAL", script)).await;
    }
    for (transport, signal) in WAYS {
        let stack = demo.settled(signal).await;
        assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{transport}: {stack:#}");
        let outputs = stack["outputs"].as_array().unwrap();
        let output = |name: &str| {
            let found = outputs.iter().find(|output| output["output_key"] == name).unwrap();
            found["output_value"].clone()
        };
        assert_eq!(output("greeting"), "hello world", "{signal}");
        assert_eq!(
            (output("stdout"), output("status")),
            (json!("world 3\n"), json!(0)),
            "{signal}"
        );
        assert_eq!(output("heard"), json!("{\"1\": \"up\"}"), "{signal}");
    }
    for (name, _, status) in wrong {
        let stack = demo.settled(name).await;
        assert_eq!(stack["stack_status"], "CREATE_FAILED", "{name}");
        let reason = stack["stack_status_reason"].as_str().unwrap();
        let said = format!("Deployment exited with non-zero status code: {status}");
        assert!(reason.contains(&said), "{name}: {reason}");
    }
    served.stop();
}

/// A number of seconds that nothing else sleeps.
const NAP: &str = "86397.125";

/// Whether a process sleeps so long.
fn naps() -> bool {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).starts_with(&format!("sleep\0{NAP}\0")))
}

fn free() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[actix::test]
async fn a_killed_server_leaves_no_guest_behind_and_its_deployments_end_after_it() {
    let seed = chance::any_seed();
    println!("seed {seed}");
    let mut chance = Chance::new(seed);
    let home = tempfile::tempdir().unwrap();
    let guests = [("HEARTH_SANDBOX__GUESTS", "process")];
    // What guests are told of where to answer holds after a restart.
    let (api, cfn, cloud) = (free(), free(), free());
    let places = ["--listen", &api, "--cfn-listen", &cfn, "--sandbox-listen", &cloud];
    let start = || Served::start(&home.path().join("data"), &places, &guests);
    let mut served = start();
    let demo = Demo::at(&served).await;
    let script = format!("#!/bin/sh\nsetsid sleep {NAP} &\nsleep {NAP} &\nsleep 2\n");
    for (transport, signal) in WAYS {
        demo.create(signal, template(transport, signal, &script)).await;
    }
    polled(WITHIN, "a script is run", async || naps()).await;
    for _ in 0..5 {
        served.signal("KILL");
        drop(served);
        polled(WITHIN, "no guest is left behind", async || !naps()).await;
        served = start();
        tokio::time::sleep(chance.millis(0..2500)).await;
    }
    let demo = Demo::at(&served).await;
    for (transport, signal) in WAYS {
        let stack = demo.settled(signal).await;
        assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{transport}: {stack:#}");
    }
    served.stop();
    assert!(!naps(), "a guest is left behind");
}

#[test]
fn guests_are_for_a_sandbox_on_loopback_alone() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let open = ["--sandbox-listen", "0.0.0.0:0"];
    let variables =
        [("HEARTH_SANDBOX__GUESTS", "process"), ("HEARTH_SANDBOX__PASSWORD", "long-one")];
    let said = refused(&data, &open, &variables);
    assert!(said.contains("guests are for a loopback address alone"), "{said}");
    let said = refused(&data, &[], &[("HEARTH_SANDBOX__GUESTS", "machines")]);
    assert!(said.contains("none or process"), "{said}");
}
