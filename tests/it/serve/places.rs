//! `hearth up` and its kin, wherever stacks are: in a data directory, at a server, in a real cloud.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};

use super::desk::Desk;
use super::process::Served;

/// A resource that takes its time, and one that uses it.
const STEPS: &str = "\
heat_template_version: 2021-04-16
parameters:
  secs: { type: number, default: 0 }
  fails: { type: boolean, default: false }
resources:
  last:
    type: OS::Heat::TestResource
    depends_on: first
    properties: { fail: { get_param: fails } }
  first:
    type: OS::Heat::TestResource
    properties: { value: said, wait_secs: { get_param: secs } }
outputs:
  word: { value: { get_attr: [first, output] } }
";

fn desk() -> Desk {
    Desk::with(&[("steps.yaml", STEPS)])
}

/// The last line about the stack, which comes before outputs and all else.
fn last_change(said: &str) -> &str {
    said.split("\n\n").next().unwrap().lines().last().unwrap()
}

fn interrupt(child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
}

#[test]
fn a_stack_lives_in_a_data_directory_from_up_to_down() {
    let desk = desk();
    let nowhere = desk.run("list");
    assert_eq!(nowhere.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("there is no log at"));
    assert!(!desk.path().join("hearth-data").exists(), "reading makes nothing");

    let said = desk.said("up steps.yaml");
    assert!(last_change(&said).contains("steps                    CREATE_COMPLETE"), "{said}");
    assert!(said.contains("outputs\n  word  said\n"), "{said}");
    let said = desk.said("up steps.yaml -P secs=0.1");
    assert!(last_change(&said).contains("UPDATE_COMPLETE"), "{said}");
    assert!(desk.said("list").starts_with("steps  UPDATE_COMPLETE  "));
    let shown = desk.said("show steps");
    assert!(shown.contains("✓ first  OS::Heat::TestResource  UPDATE_COMPLETE"), "{shown}");
    assert!(shown.contains("outputs\n  word  said\n"), "{shown}");
    let events = desk.said("events steps");
    assert!(events.lines().next().unwrap().contains("steps  CREATE_IN_PROGRESS"), "{events}");
    assert!(events.lines().last().unwrap().contains("steps  UPDATE_COMPLETE"), "{events}");
    let rolled = desk.said("rollback steps --to 1");
    let (plan, carried_out) = rolled.split_once("\n\nsteps: ").unwrap();
    assert!(plan.contains("first  OS::Heat::TestResource  wait_secs changes"), "{rolled}");
    assert!(last_change(carried_out).contains("UPDATE_COMPLETE"), "{rolled}");
    let history = desk.said("history steps");
    let because = history.lines().find(|line| line.contains("demo  req-")).unwrap();
    assert!(because.contains("  command "), "{history}");
    let compared = desk.said("drift steps --repair --yes");
    assert!(compared.contains("same  first"), "{compared}");
    let told = desk.said("events steps --json");
    assert!(told.lines().count() > 10, "{told}");
    for line in told.lines() {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(event["correlation"].is_string() && event["request_id"].is_string(), "{line}");
    }

    assert!(last_change(&desk.said("down steps")).contains("DELETE_COMPLETE"));
    assert_eq!(desk.said("list"), "no stacks\n");
    let missing = desk.run("show steps");
    assert_eq!(missing.stderr, b"hearth show: The Stack (steps) could not be found.\n");
}

#[test]
fn the_state_of_a_stack_is_the_last_line_and_the_exit_code() {
    let desk = desk();
    let output = desk.run("up steps.yaml -P fails=true");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(last_change(&said).contains("steps                    CREATE_FAILED"), "{said}");
    assert!(last_change(&said).contains("Test Resource failed"), "{said}");
    let watched = desk.run("watch steps");
    assert_eq!(watched.status.code(), Some(1));
}

#[test]
fn all_that_is_wrong_with_a_template_is_said_at_once() {
    let desk = desk();
    let broken = "heat_template_version: 2021-04-16\nresources:\n  a: { type: OS::No::Such }\n  \
                  b: { type: OS::Heat::TestResource, properties: { valeu: 1 } }\n";
    std::fs::write(desk.path().join("broken.yaml"), broken).unwrap();
    let output = desk.run("up broken.yaml");
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.contains("OS::No::Such") && shown.contains("Unknown Property valeu"), "{shown}");
    assert_eq!(shown, String::from_utf8(desk.run("validate broken.yaml").stdout).unwrap());
}

#[test]
fn what_a_killed_command_had_begun_goes_on_and_keeps_its_time() {
    let desk = desk();
    let (mut child, _out) = desk.started("up steps.yaml -P secs=3", "first ");
    child.kill().unwrap();
    child.wait().unwrap();
    // Looking on leaves the work where it is, also where its actor is asked.
    let before = desk.said("history steps");
    assert!(desk.said("list").contains("CREATE_IN_PROGRESS"));
    assert!(desk.said("show steps").contains("CREATE_IN_PROGRESS"));
    for look in ["events steps", "drift steps", "plan --name steps --delete"] {
        desk.run(look);
    }
    assert_eq!(desk.said("history steps"), before);
    let said = desk.said("watch steps");
    let took = last_change(&said).rsplit_once("(").unwrap().1.trim_end_matches("s)");
    assert!(took.parse::<f64>().unwrap() >= 3.0, "{said}");
    assert!(last_change(&said).contains("CREATE_COMPLETE"), "{said}");
}

#[test]
fn a_server_that_works_on_the_directory_is_used() {
    let desk = desk();
    let served = Served::start(&desk.path().join("hearth-data"), &[], &[]);
    let api = served.told("orchestration API").trim_end_matches("/v1").to_owned();
    desk.said("up steps.yaml");
    assert!(desk.said(&format!("list --server {api}")).starts_with("steps  CREATE_COMPLETE"));
    let mut by_cloud = desk.command("show steps --os-cloud hearth");
    by_cloud.env("OS_CLIENT_CONFIG_FILE", "hearth-data/clouds.yaml");
    assert!(by_cloud.output().unwrap().status.success());
    let mut by_variables = desk.command("list");
    by_variables.env("OS_AUTH_URL", served.told("sandbox cloud"));
    let listed = by_variables.output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).starts_with("steps  CREATE_COMPLETE"));
    desk.said(&format!("down steps --yes --server {api}"));
    assert_eq!(desk.said("list"), "no stacks\n");
}

#[test]
fn whoever_leaves_is_told_how_to_come_back() {
    let desk = desk();
    let _served = Served::start(&desk.path().join("hearth-data"), &[], &[]);
    let (mut child, _out) = desk.started("up steps.yaml -P secs=4", "first ");
    interrupt(&child);
    let mut errors = BufReader::new(child.stderr.take().unwrap());
    let mut said = String::new();
    while !said.contains("Ctrl-C again leaves") {
        assert_ne!(errors.read_line(&mut said).unwrap(), 0, "{said}");
    }
    assert!(said.contains("goes on without you at hearth-data"), "{said}");
    assert!(said.contains("`hearth watch steps`") && said.contains("`hearth down steps`"));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let watched = desk.said("watch steps");
    assert!(last_change(&watched).contains("CREATE_COMPLETE"), "{watched}");
}

/// What a terminal of 40 columns and 10 lines is sent.
fn on_a_terminal(desk: &Desk, words: &str) -> String {
    let hearth = env!("CARGO_BIN_EXE_hearth");
    let inside = format!("stty cols 40 rows 10; {hearth} {words}");
    let mut terminal = Command::new("script");
    terminal.args(["-q", "-e", "-c", &inside, "/dev/null"]).current_dir(desk.path());
    terminal.env("TERM", "xterm").env("NO_COLOR", "1").stdin(Stdio::null());
    let output = terminal.output().unwrap();
    let sent = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{sent}");
    sent
}

#[test]
fn a_terminal_keeps_no_frame_and_no_line_is_too_wide_for_it() {
    let desk = desk();
    let many: String = (0..30)
        .map(|n| format!("  a_resource_with_a_long_name_{n}: {{ type: OS::Heat::TestResource }}\n"))
        .collect();
    let template = format!("heat_template_version: 2021-04-16\nresources:\n{many}");
    std::fs::write(desk.path().join("many.yaml"), template).unwrap();
    let sent = on_a_terminal(&desk, "up many.yaml");
    let (before, rest) = sent.split_once("\u{1b}[?1049h").unwrap();
    let (frames, after) = rest.split_once("\u{1b}[?1049l").unwrap();
    assert_eq!(before, "");
    // On the page of its own each line has its place, and nothing scrolls.
    assert!(!frames.contains('\n'), "{frames:?}");
    for part in frames.split("\u{1b}[").filter(|part| part.contains(";1H")) {
        let (place, text) = part.split_once(";1H").unwrap();
        assert!(place.parse::<usize>().unwrap() <= 10, "{part:?}");
        assert!(text.chars().count() <= 40, "{part:?}");
    }
    let shown: Vec<&str> = after.lines().take_while(|line| !line.is_empty()).collect();
    assert!(shown[0].starts_with("many  CREATE_COMPLETE"), "{after:?}");
    assert!(shown.len() <= 10 && shown.iter().all(|line| line.chars().count() <= 40), "{shown:?}");
    assert!(after.contains("hearth down many"), "{after:?}");
}

#[test]
fn history_and_replay_fit_the_terminal() {
    let desk = desk();
    desk.said("up steps.yaml");
    for words in ["history steps", "replay steps", "list", "show steps", "events steps"] {
        let sent = on_a_terminal(&desk, words);
        // What somebody gave or made is never cut.
        let lines = sent.lines().filter(|line| !line.contains(" = "));
        let widest = lines.map(|line| line.trim_end().chars().count()).max().unwrap();
        assert!(widest <= 40, "hearth {words}: {sent}");
    }
    let sent = on_a_terminal(&desk, "history steps");
    assert!(sent.contains("demo  req-"), "{sent}");
}

#[test]
fn a_key_leads_to_the_next_event_and_another_ends_it() {
    let desk = desk();
    desk.said("up steps.yaml");
    let inside = format!("{} replay steps --step", env!("CARGO_BIN_EXE_hearth"));
    let mut terminal = Command::new("script");
    terminal.args(["-q", "-e", "-c", &inside, "/dev/null"]).current_dir(desk.path());
    terminal.env("TERM", "xterm").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = terminal.spawn().unwrap();
    // It stays open, so that nothing ends but by the key.
    let mut keys = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let mut until = |words: &str| {
        line.clear();
        while !line.contains(words) {
            assert_ne!(out.read_line(&mut line).unwrap(), 0, "{line}");
        }
    };
    until("StackCreated");
    keys.write_all(b" ").unwrap();
    until("RevisionAccepted");
    keys.write_all(b"q").unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(child.wait().unwrap().success(), "{rest}");
    assert!(!rest.contains("TraversalStarted"), "{rest}");
}

#[test]
fn events_are_followed_until_the_stack_is_gone() {
    let desk = desk();
    let _served = Served::start(&desk.path().join("hearth-data"), &[], &[]);
    desk.said("up steps.yaml");
    let (mut follower, mut out) = desk.started("events steps --follow", "CREATE_COMPLETE");
    let (mut watcher, mut seen) = {
        let mut command = desk.command("watch");
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        (child, out)
    };
    desk.said("up steps.yaml --name other");
    desk.said("down steps");
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    assert!(follower.wait().unwrap().success());
    assert!(rest.lines().last().unwrap().contains("DELETE_COMPLETE"), "{rest}");
    // All stacks are watched at once, until somebody leaves.
    let mut said = String::new();
    while !said.contains("steps                    DELETE_COMPLETE") {
        assert_ne!(seen.read_line(&mut said).unwrap(), 0, "{said}");
    }
    interrupt(&watcher);
    assert!(watcher.wait().unwrap().success());
}

#[test]
fn a_real_cloud_is_used_with_the_users_own_login() {
    let desk = desk();
    let mut cloud = desk.command("sandbox --listen 127.0.0.1:0");
    let mut cloud = cloud.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(cloud.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let keystone = line.split(' ').find(|word| word.starts_with("http")).unwrap().to_owned();
    let conf = format!(
        "[keystone_authtoken]\nauth_url = {keystone}\nusername = hearth\npassword = secret\n\
         project_name = service\nuser_domain_name = Default\nproject_domain_name = Default\n"
    );
    std::fs::write(desk.path().join("heat.conf"), conf).unwrap();
    let network =
        "heat_template_version: 2021-04-16\nresources:\n  net: { type: OS::Neutron::Net }\n";
    std::fs::write(desk.path().join("net.yaml"), network).unwrap();
    let run = |words: &str| {
        let login = [
            ("OS_AUTH_URL", keystone.as_str()),
            ("OS_USERNAME", "demo"),
            ("OS_PROJECT_NAME", "demo"),
            ("OS_PASSWORD", "secret"),
        ];
        let place = "--cloud openstack --config-file heat.conf";
        let output = desk.command(&format!("{words} {place}")).envs(login).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "hearth {words}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    };
    let said = run("up net.yaml");
    assert!(last_change(&said).contains("CREATE_COMPLETE"), "{said}");
    assert!(said.contains("hearth down net --cloud openstack --config-file heat.conf"), "{said}");
    assert!(run("show net").contains("✓ net  OS::Neutron::Net  CREATE_COMPLETE"));
    // On a sandbox its resources would be taken for gone.
    let mixed_up = desk.run("down net");
    assert_eq!(mixed_up.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&mixed_up.stderr).contains("--cloud openstack"));
    run("down net");
    cloud.kill().unwrap();
    cloud.wait().unwrap();
}
