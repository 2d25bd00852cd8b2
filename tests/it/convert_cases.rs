//! `hearth convert` by cases: CloudFormation templates beside their YAML, and their HOT or what
//! has none. What is converted comes to the same as the original. `UPDATE_GOLDEN=1` rewrites what
//! is expected; review the difference.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn templates_are_written_as_yaml_in_their_order() {
    let mut wrong = Vec::new();
    for path in templates() {
        let output = hearth(&["convert"], &path);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        compare(&path.with_extension("yaml"), &output.stdout, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn templates_are_written_in_hot_and_come_to_the_same() {
    let mut wrong = Vec::new();
    for path in templates() {
        let output = hearth(&["convert", "--to", "hot"], &path);
        let (hot, formless) = (path.with_extension("hot.yaml"), path.with_extension("formless"));
        if path.file_stem().is_some_and(|stem| stem == "formless") {
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            assert!(output.stdout.is_empty(), "{output:?}");
            compare(&formless, &output.stderr, &mut wrong);
        } else {
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            compare(&hot, &output.stdout, &mut wrong);
            assert_eq!(resolved(&hot), resolved(&path), "{}", path.display());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_cannot_be_read_is_told_from_what_is_no_template() {
    let missing = hearth(&["convert"], Path::new("nowhere.json"));
    assert_eq!(missing.status.code(), Some(2), "{missing:?}");
    let path = folder().join("plain.hot.yaml");
    for (name, said) in [
        ("formless.formless", "formless.formless: Expecting value: line 1 column 1 (char 0)\n"),
        (
            "plain.hot.yaml",
            "plain.hot.yaml:1:1: The template is in HOT, and only those of CloudFormation are \
             converted\n",
        ),
        ("plain.yaml", "plain.yaml:1:1: The template is in YAML already\n"),
    ] {
        let output = hearth(&["convert"], &folder().join(name));
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert_eq!(String::from_utf8(output.stderr).unwrap(), said);
    }
    let in_hot = hearth(&["convert", "--to", "hot"], &path);
    assert_eq!(in_hot.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(in_hot.stderr).unwrap(),
        "plain.hot.yaml:1:1: The template is in HOT already\n"
    );
}

/// What `hearth resolve` prints of a template.
fn resolved(path: &Path) -> Value {
    let output = hearth(&["resolve", "--format", "json"], path);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn hearth(arguments: &[&str], template: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
    command.args(arguments).arg(template.file_name().unwrap()).current_dir(folder());
    command.output().unwrap()
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/template/convert")
}

fn templates() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

#[expect(clippy::disallowed_methods, reason = "the one switch of golden tests")]
fn compare(path: &Path, found: &[u8], wrong: &mut Vec<String>) {
    let found = String::from_utf8(found.to_vec()).unwrap();
    if std::env::var("UPDATE_GOLDEN").is_ok() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected != found {
        wrong.push(format!("{}:\n--- expected\n{expected}\n--- found\n{found}", path.display()));
    }
}
