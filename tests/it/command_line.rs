//! What holds for every command: where its output goes, and what its exit code says.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::log_commands::a_log_with_one_stack;

/// Each prints something and succeeds; `DATA` is a data directory, `CFN` a template.
const COMMANDS: [&str; 18] = [
    "--help",
    "--version",
    "serve --help",
    "validate examples/web.yaml",
    "validate examples/web.yaml --format json",
    "resolve examples/web.yaml",
    "resolve --batch",
    "convert CFN",
    "policy show",
    "config show",
    "completions bash",
    "policy check --role member stacks:create",
    "history web --data DATA",
    "replay web --data DATA",
    "export web --data DATA",
    "verify --data DATA",
    "key show --data DATA",
    "rebuild --data DATA",
];

#[actix::test]
async fn a_command_whose_output_cannot_be_written_fails_and_says_so_once() {
    let home = tempfile::tempdir().unwrap();
    a_log_with_one_stack(home.path()).await;
    for line in COMMANDS {
        let works = run(line, home.path(), Stdio::piped());
        assert!(works.status.success() && !works.stdout.is_empty(), "{line}: {works:?}");

        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let full = run(line, home.path(), full.into());
        let said = String::from_utf8(full.stderr).unwrap();
        assert_eq!(full.status.code(), Some(1), "{line}: {said}");
        assert_eq!(said.matches("No space left on device").count(), 1, "{line}: {said}");

        let (reader, closed) = std::io::pipe().unwrap();
        drop(reader);
        let closed = run(line, home.path(), closed.into());
        assert_eq!(closed.status.code(), Some(1), "{line}");
        assert!(!String::from_utf8(closed.stderr).unwrap().contains("panicked"), "{line}");
    }
}

#[test]
fn one_error_is_printed_once() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("heat.conf");
    std::fs::write(&path, "[DEFAULT]\nnonsense\n").unwrap();
    let shown = path.display();
    let output = run(&format!("policy show --config-file {shown}"), home.path(), Stdio::piped());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        said,
        format!(
            "hearth policy: could not read the settings in {shown}: line 2: no = between an \
             option and its value\n"
        )
    );

    std::fs::write(home.path().join("log.db"), "nothing of the kind").unwrap();
    let output = run("history web --data DATA", home.path(), Stdio::piped());
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said.matches("file is not a database").count(), 1, "{said}");
}

#[test]
fn a_template_is_resolved_for_people_in_yaml_or_json_under_a_name() {
    let home = tempfile::tempdir().unwrap();
    let template = home.path().join("named.yaml");
    let text = "heat_template_version: 2021-04-16\noutputs:\n  name:\n    value: {get_param: \
                'OS::stack_name'}\n";
    std::fs::write(&template, text).unwrap();
    let resolved = |more: &str| {
        let line = format!("resolve {} {more}", template.display());
        let output = run(&line, home.path(), Stdio::piped());
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let in_yaml = "ok: true\nparameters: {}\nconditions: {}\nresources: {}\noutputs:\n  name:\n    \
                   value: web\n    description: No description given\n";
    assert_eq!(resolved("--stack-name web"), (Some(0), in_yaml.to_owned()));
    let in_json = resolved("--format json").1;
    assert!(in_json.starts_with("{\n  \"ok\": true,\n  \"parameters\": {},\n"), "{in_json}");
    assert!(in_json.contains("\n      \"value\": \"stack\",\n"), "{in_json}");
    assert!(in_json.ends_with("\n}\n"), "{in_json}");

    std::fs::write(&template, text.replace("2021-04-16", "1999-01-01")).unwrap();
    let (code, refused) = resolved("");
    assert_eq!(code, Some(1));
    assert!(refused.starts_with("ok: false\ntype: "), "{refused}");
}

#[test]
fn every_command_has_a_manual_page_and_every_shell_its_completions() {
    let home = tempfile::tempdir().unwrap();
    let pages = home.path().join("not/yet/there");
    let written = run(&format!("man {}", pages.display()), home.path(), Stdio::piped());
    assert!(written.status.success(), "{written:?}");
    for command in hearth::cli::command().get_subcommands() {
        let name = command.get_name();
        let page = std::fs::read_to_string(pages.join(format!("hearth-{name}.1"))).unwrap();
        let about = command.get_about().unwrap().to_string();
        let first = about.split([' ', '-', '\'']).next().unwrap();
        assert!(page.contains(".SH SYNOPSIS") && page.contains(first), "{name}: {page}");
    }
    assert!(pages.join("hearth.1").exists() && pages.join("hearth-key-rotate.1").exists());
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let output = run(&format!("completions {shell}"), home.path(), Stdio::piped());
        let script = String::from_utf8(output.stdout).unwrap();
        for word in ["rollback", "config-file", "key"] {
            assert!(script.contains(word), "{shell} has no {word}");
        }
    }
}

#[test]
fn the_version_names_the_commit_that_was_built() {
    let home = tempfile::tempdir().unwrap();
    let said = String::from_utf8(run("--version", home.path(), Stdio::piped()).stdout).unwrap();
    let version = said.trim().strip_prefix("hearth ").unwrap();
    let (package, commit) = version.split_once(' ').unwrap_or((version, ""));
    assert_eq!(package, env!("CARGO_PKG_VERSION"));
    let has_git = Path::new(env!("CARGO_MANIFEST_DIR")).join(".git").exists();
    // `(701aa4d57773 2026-11-22)`
    let is_commit = commit.len() == 25
        && commit[1..13].chars().all(|c| c.is_ascii_hexdigit())
        && commit.starts_with('(');
    assert!(is_commit || !has_git, "{said}");
}

/// Runs a command from the root of the repository.
fn run(line: &str, home: &Path, output: Stdio) -> Output {
    let cfn = "tests/data/template/convert/plain.json";
    let line = line.replace("DATA", home.to_str().unwrap()).replace("CFN", cfn);
    let mut input = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut input.1, b"{\"id\": 1, \"template\": \"a: b\"}\n").unwrap();
    drop(input.1);
    Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(line.split(' ').filter(|word| !word.is_empty()))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(input.0)
        .stdout(output)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
        .wait_with_output()
        .unwrap()
}
