//! `hearth replay STACK --resource NAME --calls`, on a log that a server wrote.

use std::process::Command;

use hearth::events::log::{EventLog, SqliteLog};
use serde_json::Value;

const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
resources:
  net: { type: OS::Neutron::Net }
  subnet:
    type: OS::Neutron::Subnet
    properties: { network: { get_resource: net }, cidr: 10.9.0.0/24 }
  server:
    type: OS::Nova::Server
    depends_on: subnet
    properties:
      image: cirros
      flavor: m1.tiny
      admin_pass: only-for-the-two-of-us
      networks: [{ network: { get_resource: net } }]
";

#[test]
fn a_types_program_comes_to_the_same_by_the_answers_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("web.yaml"), TEMPLATE).unwrap();
    let said = |words: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
        command.args(words.split(' ')).current_dir(folder.path());
        for name in ["OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"] {
            command.env_remove(name);
        }
        let output = command.output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "hearth {words}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    said("up web.yaml --data d");
    let text = said("replay web --data d --resource server --calls");
    assert!(text.contains("POST compute:/servers"), "{text}");
    assert!(!text.contains("only-for-the-two-of-us"), "{text}");
    let json = said("replay web --data d --resource server --calls --json");
    let beats: Vec<Value> = serde_json::from_str(&json).unwrap();
    assert_eq!(beats.last().unwrap()["outcome"], "done", "{json}");
    let created = beats.iter().find(|beat| beat["stage"] == "create").unwrap();
    let sent = created["asks"].as_array().unwrap().iter().filter(|ask| !ask["sent"].is_null());
    let bodies: Vec<&Value> = sent.map(|ask| &ask["sent"][0]["server"]["adminPass"]).collect();
    assert_eq!(bodies, ["******"], "{created:#}");
    for name in ["net", "server"] {
        let words = format!("replay web --data d --resource {name} --calls --json");
        let beats: Vec<Value> = serde_json::from_str(&said(&words)).unwrap();
        assert!(!beats.is_empty());
        for beat in beats {
            assert_eq!(beat["same"], true, "{beat:#}");
        }
    }
    let none = said("replay web --data d --resource net");
    assert!(none.contains("net  OS::Neutron::Net  CREATE_COMPLETE"), "{none}");
    assert!(!none.contains("server  "), "{none}");
    said("export web --history --out web.jsonl --data d");
    let exported = said("replay --file web.jsonl --resource net --calls");
    assert!(exported.contains("what was exported has no answers"), "{exported}");
    said("down web --yes --data d");
    let shown: Value = serde_json::from_str(&said("replay web --data d --json")).unwrap();
    // The server does this a while after.
    let log = SqliteLog::open(&folder.path().join("d/log.db")).unwrap();
    let scope = format!("stack-{}", shown["stack"]["id"].as_str().unwrap());
    let destroyed = log.destroy_key(&scope);
    tokio::runtime::Runtime::new().unwrap().block_on(destroyed).unwrap();
    drop(log);
    let gone = said("replay web --data d --resource net --calls");
    assert!(gone.contains("the keys of a deleted stack are destroyed"), "{gone}");
}
