//! `hearth serve` with its log on EventStoreDB.

use std::process::{Command, Output};

use super::process::Served;
use crate::support::eventstore::place::Place;

const TEMPLATE: &str = "heat_template_version: 2021-04-16\nresources:\n  net: { type: \
                        OS::Neutron::Net }\n  word: { type: OS::Heat::RandomString }\n";

#[test]
fn a_server_that_was_killed_finds_its_stacks_on_a_server_of_events() {
    let (place, home) = (Place::fresh(), tempfile::tempdir().unwrap());
    let (data, url) = (home.path().join("d"), &place.url);
    std::fs::write(home.path().join("net.yaml"), TEMPLATE).unwrap();
    let run = |log: &str, words: &str| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
        command.args(words.split(' ')).current_dir(home.path()).env("HEARTH_LOG", log);
        for name in ["OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"] {
            command.env_remove(name);
        }
        command.output().unwrap()
    };
    let hearth = |words: &str| run(url, words);
    let said = |words: &str| {
        let output = hearth(words);
        assert!(output.status.success(), "hearth {words}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let refused = |words: &str| {
        let output = hearth(words);
        assert!(!output.status.success(), "hearth {words}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let variables = [("HEARTH_LOG", url.as_str())];
    drop(Served::start(&data, &[], &variables));
    let served = Served::start(&data, &[], &variables);
    said("up net.yaml --data d");
    drop(served);
    assert!(!data.join("log.db").exists());

    let served = Served::start(&data, &[], &variables);
    let shown = said("replay net --data d --json");
    assert!(shown.contains("CREATE_COMPLETE"), "{shown}");
    said("down net --yes --data d");
    let log = served.stop();
    assert!(!log.contains("ERROR"), "{log}");
    let proved = said("verify --data d");
    assert!(proved.contains("every chain holds"), "{proved}");
    assert!(refused("verify --data d --against c").contains("no checkpoints"));
    assert!(refused("backup b --data d").contains("on EventStoreDB"));
    assert!(refused("checkpoint print --data d").contains("signed nothing"));
    assert!(said(&format!("log copy {url} sqlite:m/log.db")).contains("the copy is the log"));
    let moved = run("sqlite:m/log.db", "verify --data m");
    assert!(String::from_utf8_lossy(&moved.stdout).contains("not signed: "), "{moved:?}");
    assert!(moved.status.success());
    assert!(said(&format!("log copy sqlite:m/log.db {url}")).contains("the copy is the log"));
}
