//! `hearth manage`: what heat-manage and heat-keystone-setup-domain do.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::process::Served;

use crate::support::wait::{WAIT_MAX, polled_here};

/// A stack within a stack, that waits for longer than anybody does.
const OUTER: &str = "\
heat_template_version: 2021-04-16
resources:
  inner:
    type: inner.yaml
";
const INNER: &str = "\
heat_template_version: 2021-04-16
resources:
  net: { type: OS::Neutron::Net }
  stuck:
    type: OS::Heat::TestResource
    depends_on: net
    properties: { wait_secs: 100000 }
";

struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("outer.yaml"), OUTER).unwrap();
        std::fs::write(folder.path().join("inner.yaml"), INNER).unwrap();
        Self(folder)
    }

    fn data(&self) -> PathBuf {
        self.0.path().join("d")
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
        command.args(words.split(' ')).current_dir(self.0.path()).stdin(Stdio::null());
        for name in ["OS_CLOUD", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"] {
            command.env_remove(name);
        }
        command
    }

    #[track_caller]
    fn said(&self, words: &str) -> String {
        let output = self.command(words).output().unwrap();
        assert!(output.status.success(), "hearth {words}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[track_caller]
    fn refused(&self, words: &str) -> String {
        let output = self.command(words).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "hearth {words}: {output:?}");
        String::from_utf8(output.stderr).unwrap()
    }

    fn replayed(&self, stack: &str) -> Value {
        serde_json::from_str(&self.said(&format!("replay {stack} --data d --json"))).unwrap()
    }
}

#[test]
fn a_log_has_a_format_instead_of_a_revision_of_tables() {
    let desk = Desk::new();
    assert!(desk.refused("manage db_version --data d").contains("there is no log"));
    let refused = desk.refused("manage resource_data_list 1 --data d");
    assert!(refused.contains("there is no log"), "{refused}");
    assert_eq!(desk.said("manage db_sync --data d"), "the log has format 3\n");
    assert_eq!(desk.said("manage --data d db_version"), "3\n");
    assert_eq!(desk.said("manage db_sync head --data d"), "the log has format 3\n");
    assert!(desk.refused("manage db_sync 2 --data d").contains("the newest format alone"));
    assert!(desk.said("manage purge_deleted 0 -g seconds -b 5 --data d").contains("0 stacks"));
    assert!(desk.refused("manage purge_deleted --data d -- -1").contains("an age is"));
    assert!(desk.refused("manage purge_deleted --data d soon").contains("an age is"));
    assert!(desk.said("manage update_params encrypt").contains("always sealed"));
    assert!(desk.refused("manage update_params encrypt old").contains("hearth key rotate"));
    assert!(desk.refused("manage update_params decrypt").contains("hearth backup"));
    desk.said("manage migrate_properties_data");
    desk.said("manage service clean");
    assert_eq!(desk.said("manage service list --data d").lines().count(), 1);

    let served = Served::start(&desk.data(), &[], &[]);
    assert_eq!(desk.said("manage db_sync --data d"), "the log has format 3\n");
    let listed = desk.said("manage service list --data d");
    let row = listed.lines().nth(1).unwrap();
    assert!(row.contains("heat-engine") && row.contains(" up "), "{listed}");
    served.stop();
}

#[test]
fn the_options_of_every_command_are_taken_before_and_behind_it() {
    let desk = Desk::new();
    let place = |name: &str| desk.0.path().join(name);
    std::fs::create_dir(place("conf.d")).unwrap();
    std::fs::write(place("conf.d/1.conf"), "[hearth]\ndata = other\n").unwrap();
    std::fs::write(place("conf.d/2.conf"), "[hearth]\ndata = d\n").unwrap();
    std::fs::write(place("conf.d/3.text"), "no settings").unwrap();
    std::fs::write(place("heat.conf"), "[hearth]\ndata = none\n").unwrap();
    let told = "the log has format 3\n";
    let both = "--config-file heat.conf --config-dir conf.d";
    assert_eq!(desk.said(&format!("manage {both} -v --verbose db_sync")), told);
    assert!(place("d").is_dir() && !place("other").exists() && !place("none").exists());
    assert_eq!(desk.said("manage db_version --config-dir conf.d --debug --log-file log"), "3\n");
    assert!(place("log").is_file());
    assert_eq!(desk.said("manage -d db_version --config-dir conf.d --log-dir ."), "3\n");
    assert!(place("hearth.log").is_file());
    assert!(desk.refused("manage db_version --config-dir none").contains("none"));
    let version = desk.said("manage --version");
    assert!(version.contains(env!("CARGO_PKG_VERSION")), "{version}");
}

#[test]
fn what_a_stack_is_at_is_given_up_with_all_within_it_once_somebody_agrees() {
    let desk = Desk::new();
    let served = Served::start(&desk.data(), &[], &[]);
    let mut up = desk.command("up outer.yaml --data d");
    let mut up = up.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let inner = polled_here(WAIT_MAX, "the inner stack is at work", || {
        let output = desk.command("replay outer --data d --json").output().unwrap();
        let outer: Value = serde_json::from_slice(&output.stdout).ok()?;
        let inner = outer["resources"][0]["physical_resource_id"].as_str()?.to_owned();
        let output = desk.command(&format!("replay {inner} --data d --json")).output().unwrap();
        let shown: Value = serde_json::from_slice(&output.stdout).ok()?;
        let states = shown["resources"].as_array()?;
        let is_stuck = |it: &Value| {
            it["resource_name"] == "stuck" && it["resource_status"] == "CREATE_IN_PROGRESS"
        };
        states.iter().any(is_stuck).then_some(inner)
    });
    let outer = desk.replayed("outer")["stack"]["id"].as_str().unwrap().to_owned();

    let words = format!("manage reset_stack_status {outer} --data d");
    desk.said(&words);
    assert_eq!(desk.replayed("outer")["stack"]["stack_status"], "CREATE_IN_PROGRESS");
    let output = answered(&mut desk.command(&words), "y\n");
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8(output.stdout).unwrap().contains("in 2 stacks"));
    let shown = desk.replayed(&outer);
    assert_eq!(shown["stack"]["stack_status"], "CREATE_FAILED", "{shown:#}");
    assert_eq!(shown["stack"]["stack_status_reason"], "Stack status manually reset");
    assert_eq!(desk.replayed(&inner)["stack"]["stack_status"], "CREATE_FAILED");
    up.wait().unwrap();
    let again = desk.said(&format!("manage reset_stack_status --yes {outer} --data d"));
    assert_eq!(again, "no stack was at work\n");

    assert!(
        desk.said(&format!("manage migrate_convergence_1 {outer} --data d")).contains("nothing")
    );
    let nested = desk.refused(&format!("manage migrate_convergence_1 {inner} --data d"));
    assert!(nested.contains("Migration of nested stack"), "{nested}");
    let unknown = "00000000-0000-4000-8000-000000000000";
    for (command, says) in [
        ("migrate_convergence_1", "can not be found."),
        ("resource_data_list", "no resource data found"),
        ("reset_stack_status --yes", "not found"),
    ] {
        let refused = desk.refused(&format!("manage {command} {unknown} --data d"));
        assert!(refused.contains(says), "{command}: {refused}");
    }
    served.stop();
    let refused = desk.refused(&format!("manage reset_stack_status --yes {outer} --data d"));
    assert!(refused.contains("no server works"), "{refused}");
}

#[test]
fn what_a_resource_keeps_is_shown_without_its_secrets() {
    let desk = Desk::new();
    let template = "heat_template_version: 2021-04-16\nresources:\n  word: { type: \
                    OS::Heat::RandomString }\n";
    std::fs::write(desk.0.path().join("word.yaml"), template).unwrap();
    desk.said("up word.yaml --data d");
    let shown = desk.replayed("word");
    let resource = shown["resources"][0]["resource_id"].as_str().unwrap();
    let listed = desk.said(&format!("manage resource_data_list {resource} --data d"));
    assert!(listed.starts_with("value "), "{listed}");
    assert!(listed.contains("***"), "{listed}");
}

#[test]
fn what_one_project_deleted_is_purged_and_nothing_of_others() {
    let desk = Desk::new();
    let template = "heat_template_version: 2021-04-16\nresources:\n  word: { type: \
                    OS::Heat::RandomString }\n";
    std::fs::write(desk.0.path().join("word.yaml"), template).unwrap();
    desk.said("up word.yaml --data d");
    let shown = desk.replayed("word");
    let (id, project) = (&shown["stack"]["id"], shown["stack"]["project"].as_str().unwrap());
    let (id, purge) = (id.as_str().unwrap(), "manage purge_deleted 0 -g seconds --data d -p");
    assert!(desk.said(&format!("{purge} {project}")).contains("purged: 0 stacks"));
    desk.said("down word --yes --data d");
    assert!(desk.said(&format!("{purge} another")).contains("purged: 0 stacks"));
    assert_eq!(desk.replayed(id)["stack"]["stack_status"], "DELETE_COMPLETE");
    assert!(desk.said(&format!("{purge} {project}")).contains("purged: 1 stacks"));
    desk.refused(&format!("replay {id} --data d"));
}

#[test]
fn the_domain_of_stacks_users_is_made_once() {
    let desk = Desk::new();
    let served = Served::start(&desk.data(), &[], &[]);
    let clouds = desk.data().join("clouds.yaml");
    let set_up = |password: Option<&str>| {
        let words = "manage setup-domain --os-cloud hearth-admin --stack-user-domain-name users";
        let mut command = desk.command(words);
        command.env("OS_CLIENT_CONFIG_FILE", &clouds).env_remove("HEAT_DOMAIN_PASSWORD");
        if let Some(password) = password {
            command.env("HEAT_DOMAIN_PASSWORD", password);
        }
        command.output().unwrap()
    };
    let refused = set_up(None);
    assert_eq!(refused.status.code(), Some(1));
    // The environment comes first, as with Heat's program.
    let named = desk
        .command("manage setup-domain --os-cloud hearth-admin --insecure --stack-domain-admin a")
        .env("OS_CLIENT_CONFIG_FILE", &clouds)
        .env("HEAT_DOMAIN", "people")
        .env("HEAT_DOMAIN_ADMIN", "keeper")
        .env("HEAT_DOMAIN_PASSWORD", "another")
        .output()
        .unwrap();
    let said = String::from_utf8(named.stdout).unwrap();
    assert!(said.contains("stack_domain_admin = keeper"), "{said}");
    let words = "manage setup-domain --os-cloud hearth-admin --stack-user-domain-name people \
                 --stack-domain-admin keeper --stack-domain-admin-password another";
    let again = desk.command(words).env("OS_CLIENT_CONFIG_FILE", &clouds).output().unwrap();
    let again = String::from_utf8(again.stderr).unwrap();
    for there in ["domain people is there already", "user keeper is there already"] {
        assert!(again.contains(there), "{again}");
    }
    let first = set_up(Some("only-for-them"));
    assert!(first.status.success(), "{first:?}");
    let again = set_up(Some("only-for-them"));
    assert!(again.status.success(), "{again:?}");
    assert_eq!(first.stdout, again.stdout);
    let told = String::from_utf8(first.stdout).unwrap();
    assert!(told.contains("stack_user_domain_id = "), "{told}");
    assert!(!told.contains("only-for-them"), "{told}");
    assert!(String::from_utf8(again.stderr).unwrap().contains("is there already"));
    served.stop();
}

fn answered(command: &mut Command, text: &str) -> Output {
    use std::io::Write;
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}
