//! The commands of an operator beside the real cloud: `doctor`, `up`, `list`, `down`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::json;

use crate::real_cloud::{RealCloud, alone};

/// A command with the settings of a directory, for the user of its environment.
fn hearth(directory: &Path, user: &[(&str, String)], words: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(words)
        .args(["--cloud", "openstack", "--config-file"])
        .arg(directory.join("hearth.conf"))
        .arg("--data")
        .arg(directory.join("data"))
        .envs(user.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    let text = [output.stdout.as_slice(), &output.stderr].map(String::from_utf8_lossy).concat();
    eprintln!("hearth {}: {}\n{text}", words.join(" "), output.status);
    output
}

#[actix::test]
async fn a_stack_is_brought_up_and_taken_down_where_no_server_runs() {
    let Some(real) = RealCloud::find() else { return };
    // Its trust comes and goes.
    let _alone = alone().await;
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    std::fs::write(at.join("hearth.conf"), real.config()).unwrap();
    let template = at.join("network.json");
    let content = json!({
        "heat_template_version": "2021-04-16",
        "resources": { "net": { "type": "OS::Neutron::Net" } },
        "outputs": { "id": { "value": { "get_resource": "net" } } },
    });
    std::fs::write(&template, content.to_string()).unwrap();
    let demo = real.environment("testcloud-demo");

    let looked = hearth(at, &[], &["doctor"]);
    assert!(looked.status.success());
    let up = hearth(at, &demo, &["up", template.to_str().unwrap(), "--name", "live-commands"]);
    assert!(up.status.success());
    let listed = hearth(at, &demo, &["list"]);
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(listed.contains("live-commands") && listed.contains("CREATE_COMPLETE"), "{listed}");
    let down = hearth(at, &demo, &["down", "live-commands", "--yes"]);
    assert!(down.status.success());
    let rest = hearth(at, &demo, &["list"]);
    assert!(!String::from_utf8_lossy(&rest.stdout).contains("live-commands"));
}
