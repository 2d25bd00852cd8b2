//! What `docs/operating.md` has an operator do with the log: each command as it stands there, beside
//! a server that runs, and after it where the page says so.

use std::path::Path;
use std::process::Command;

use super::process::Served;

const PAGE: &str = include_str!("../../../docs/operating.md");

/// The commands that a section shows.
fn commands(section: &str) -> Vec<&'static str> {
    let mut lines = PAGE.lines().skip_while(|line| *line != section).skip(1);
    let of_section =
        lines.by_ref().take_while(|line| !line.starts_with("## ") && !line.starts_with("### "));
    let shown: Vec<_> = of_section.filter_map(|line| line.strip_prefix("$ hearth ")).collect();
    assert!(shown.len() > 1, "{section}: {shown:?}");
    shown
}

/// Runs one in a directory, with the places that it has there.
#[track_caller]
fn run(home: &Path, command: &str) -> String {
    let home_text = home.to_str().unwrap();
    let place = |word: &str| match word {
        word if word.starts_with("mysql:") => format!("sqlite:{home_text}/elsewhere.db"),
        word => word
            .replace("/var/lib/hearth/", &format!("{home_text}/hearth-data/"))
            .replace("/backups", &format!("{home_text}/backups"))
            .replace('…', ""),
    };
    let words: Vec<String> = command.split(' ').map(place).collect();
    let mut hearth = Command::new(env!("CARGO_BIN_EXE_hearth"));
    let output = hearth.args(&words).current_dir(home).output().unwrap();
    assert!(output.status.success(), "hearth {words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn what_the_page_has_an_operator_do_with_the_log_works_as_it_stands_there() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    std::fs::create_dir(home.join("backups")).unwrap();
    let server = Served::start(&home.join("hearth-data"), &[], &[]);
    for section in ["## Backups", "## Keys", "## Forgetting"] {
        for command in commands(section) {
            run(home, command);
        }
    }
    assert!(home.join("hearth-data-restored/log.db").is_file());
    server.stop();
    for command in commands("### Moving a log") {
        run(home, command);
    }
    // What came back is what was there.
    let log = |path: &str| std::fs::read(home.join(path)).unwrap().len();
    assert!(log("elsewhere.db") > 0 && log("backups/log.db") > 0);
    let restored = run(home, "verify --data hearth-data-restored");
    assert!(!restored.is_empty());
}
