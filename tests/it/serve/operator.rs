//! What an operator is told: settings, the state of everything, and a log as he wants it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use super::process::{Served, refused};

fn hearth(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hearth")).args(arguments).output().unwrap()
}

/// What the doctor says of a data directory, and whether all is well.
fn doctor(data: &Path, arguments: &[&str]) -> (bool, String) {
    let data = data.to_str().unwrap();
    let listen = ["--listen", "--sandbox-listen"].iter().filter(|flag| !arguments.contains(flag));
    let listen: Vec<&str> = listen.flat_map(|flag| [flag, "127.0.0.1:0"]).collect();
    let output = hearth(&[&["doctor", "--data", data], listen.as_slice(), arguments].concat());
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[track_caller]
fn assert_line(report: &str, verdict: &str, what: &str, says: &str) {
    let found = report.lines().any(|line| {
        line.starts_with(verdict) && line[9..].starts_with(what) && line.contains(says)
    });
    assert!(found, "no {verdict} of {what} with {says:?}:\n{report}");
}

#[test]
fn a_doctor_finds_all_well_before_the_first_start_beside_a_server_and_after_it() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    let (well, before) = doctor(&data, &[]);
    assert!(well, "{before}");
    assert_line(&before, "note", "data directory", "is not there yet");
    assert!(!data.exists());

    let served = Served::start(&data, &[], &[]);
    let (well, beside) = doctor(&data, &[]);
    assert!(well, "{beside}");
    for (what, says) in [
        ("server", "runs as process"),
        ("data directory", "can be written"),
        ("permissions", "nobody but the owner"),
        ("master key", ""),
        ("signing key", ""),
        ("log", "ends at position"),
        ("views", "have all"),
        ("keystone", "answers"),
        ("service user", "hearth in service: "),
        ("trust role", "all roles"),
        ("stack user role", "heat_stack_user"),
        ("user domain", ""),
        ("identity", "/v3"),
        ("clock", " s from Keystone"),
        ("compute", "2.1 to 2."),
        ("network", ""),
        ("volumev3", "3.0 to 3."),
        ("image", ""),
        ("orchestration", "/v1/"),
    ] {
        assert_line(&beside, "ok", what, says);
    }
    let log = served.stop();
    assert!(!log.contains("an order could not be heard"), "{log}");

    let (well, after) = doctor(&data, &[]);
    assert!(well, "{after}");
    assert_line(&after, "note", "server", "does not run");
    assert_line(&after, "ok", "log", "ends at position");
}

#[test]
fn a_doctor_names_what_is_wrong_says_what_to_do_and_fails() {
    let home = tempfile::tempdir().unwrap();
    let data = home.path().join("data");
    Served::start(&data, &[], &[]).stop();

    let (key, away) = (data.join("master.key"), home.path().join("master.key"));
    fs::rename(&key, &away).unwrap();
    fs::set_permissions(data.join("log.db"), Permissions::from_mode(0o644)).unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().to_string();
    let arguments = ["--sandbox", "http://127.0.0.1:1/v3"];
    let (well, report) = doctor(&data, &arguments);
    assert!(!well, "{report}");
    assert_line(&report, "WRONG", "permissions", "log.db (0644)");
    assert_line(&report, "WRONG", "keystone", "Unable to establish connection");
    assert!(report.contains("→ see that it runs"), "{report}");
    // The sandbox's stack has sealed nothing yet, so that a new key would do.
    assert_line(&report, "note", "master key", "the next start makes it");

    fs::write(&key, fs::read(&away).unwrap()).unwrap();
    fs::set_permissions(&key, Permissions::from_mode(0o644)).unwrap();
    let (_, report) = doctor(&data, &arguments);
    assert_line(&report, "WRONG", "master key", "may be read by others");
    assert_line(&report, "WRONG", "master key", "then `hearth key rotate` replaces it");

    let output = hearth(&["doctor", "--data", data.to_str().unwrap(), "--listen", &taken]);
    let report = String::from_utf8(output.stdout).unwrap();
    assert!(!output.status.success());
    assert_line(&report, "WRONG", "address", "cannot be listened on");
    assert!(report.contains("choose another --listen"), "{report}");
    for flag in ["--listen", "--cfn-listen", "--cloudwatch-listen", "--sandbox-listen"] {
        let said = refused(&data, &[flag, &taken], &[]);
        assert!(said.contains(&format!("cannot listen on {taken} ({flag} says where)")), "{said}");
        let (_, report) = doctor(&data, &[flag, &taken]);
        assert!(report.contains(&format!("choose another {flag}\n")), "{report}");
    }
    drop(listener);

    let text = hearth(&["checkpoint", "print", "--data", data.to_str().unwrap()]).stdout;
    let text = String::from_utf8(text).unwrap();
    let further: String = text
        .lines()
        .filter(|line| !line.starts_with("key:") && !line.starts_with("signature:"))
        .map(|line| match line.starts_with("position:") {
            true => "position: 999999\n".to_owned(),
            false => format!("{line}\n"),
        })
        .collect();
    fs::write(data.join("checkpoint"), further).unwrap();
    fs::set_permissions(data.join("checkpoint"), Permissions::from_mode(0o600)).unwrap();
    let (_, report) = doctor(&data, &[]);
    assert_line(&report, "WRONG", "log", "its end is missing");

    let file = home.path().join("heat.conf");
    fs::write(&file, "[DEFAULT]\nmax_template_size = big\n").unwrap();
    let (well, report) = doctor(&data, &["--config-file", file.to_str().unwrap()]);
    assert!(!well);
    assert_line(&report, "WRONG", "settings", "must be a whole number");

    let rules = home.path().join("policy.yaml");
    fs::write(&rules, "\"stacks:crete\": \"!\"\n").unwrap();
    let config = format!("[oslo_policy]\npolicy_file = {}\n", rules.display());
    fs::write(&file, config).unwrap();
    let (_, report) = doctor(&data, &["--config-file", file.to_str().unwrap()]);
    assert_line(&report, "warning", "policy", "nothing asks for stacks:crete");
}

#[test]
fn settings_are_shown_with_where_each_comes_from() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("heat.conf");
    fs::write(&file, "[DEFAULT]\n\nhost = here\n[sandbox]\npassword = chosen\n").unwrap();
    let shown = file.to_str().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(["config", "show", "--config-file", shown, "--listen", "localhost:18004"])
        .env("HEARTH_DEFAULT__MAX_STACKS_PER_TENANT", "7")
        .output()
        .unwrap();
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<String> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in [
        format!("host = here {shown}:3"),
        format!("password = *** {shown}:5"),
        "max_stacks_per_tenant = 7 environment".to_owned(),
        "listen = 127.0.0.1:18004 flag".to_owned(),
        "max_template_size = 524288 default".to_owned(),
    ] {
        assert!(lines.contains(&line), "{line}:\n{text}");
    }
    assert!(!text.contains("chosen"));
}

#[actix::test]
async fn a_log_is_written_as_heats_options_say() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("heat.conf");
    let options = "[DEFAULT]\ndebug = true\nuse_json = true\nlog_dir = LOGS\nlog_file = own.log\n\
                   default_log_levels = heat.cli=ERROR\nnum_engine_workers = 4\n";
    fs::write(&file, options.replace("LOGS", home.path().to_str().unwrap())).unwrap();
    let arguments = ["--config-file", file.to_str().unwrap()];
    let served = Served::start_logging(&home.path().join("data"), &arguments);
    reqwest::get(served.told("orchestration API")).await.unwrap();
    assert_eq!(served.stop(), "", "something went to standard error");
    let log = fs::read_to_string(home.path().join("own.log")).unwrap();
    let lines: Vec<serde_json::Value> =
        log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let answered = lines.iter().find(|line| line["message"] == "answered").unwrap();
    assert_eq!(answered["levelname"], "DEBUG");
    assert_eq!(answered["name"], "hearth::api::trace");
    assert!(answered["extra"]["status"].is_u64(), "{answered}");
    assert_eq!(answered["extra"]["method"], "GET", "{answered}");
    assert!(answered["context"]["request_id"].as_str().unwrap().starts_with("req-"), "{answered}");
    assert!(!log.contains("hearth::cli"), "{log}");

    let options = "[DEFAULT]\nlog_date_format = at %Y\nnum_engine_workers = 4\nplugin_dirs = \
                   /no-such\n[hearth]\nmetrics_lisen = 127.0.0.1:0\n";
    fs::write(&file, options).unwrap();
    let served = Served::start_logging(&home.path().join("data"), &arguments);
    reqwest::get(served.told("orchestration API")).await.unwrap();
    let said = served.stop();
    assert!(said.starts_with("at 20") && said.contains("num_engine_workers"), "{said}");
    assert!(!said.contains("answered"), "{said}");
    assert!(said.contains("there is no such directory of plugin_dirs"), "{said}");
    assert!(said.contains("metrics_lisen (did you mean metrics_listen?)"), "{said}");

    let said = refused(&home.path().join("data"), &[], &[("HEARTH_LOG_FILTER", "===")]);
    assert!(said.contains("of [hearth] log_filter is no filter"), "{said}");
}

#[test]
fn a_log_that_cannot_be_written_keeps_a_server_from_starting() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("heat.conf");
    fs::write(&file, "[DEFAULT]\nlog_file = /nowhere/own.log\n").unwrap();
    let arguments = ["--config-file", file.to_str().unwrap()];
    let said = super::process::refused(&home.path().join("data"), &arguments, &[]);
    assert!(said.contains("the log file /nowhere/own.log cannot be written: "), "{said}");
}

#[test]
fn a_server_says_at_its_start_that_the_cloud_does_not_answer() {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["--sandbox", "http://127.0.0.1:1/v3"];
    let served = Served::start(&home.path().join("data"), &arguments, &[]);
    let said = served.told("sandbox elsewhere").to_owned();
    assert!(said.contains("(it cannot be used yet: Unable to establish connection"), "{said}");
    let log = served.stop();
    assert!(log.contains("the cloud cannot be used yet"), "{log}");
}

#[test]
fn a_server_listens_on_a_name_of_this_machine() {
    let home = tempfile::tempdir().unwrap();
    let arguments = ["--listen", "localhost:0"];
    let served = Served::start(&home.path().join("data"), &arguments, &[]);
    assert!(served.told("orchestration API").starts_with("http://127.0.0.1:"));
    served.stop();
}
