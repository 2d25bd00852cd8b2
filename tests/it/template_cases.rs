//! The template language by cases: a template (and its environment) beside what it comes to, or
//! why it is refused. `UPDATE_GOLDEN=1` rewrites what is expected; review the difference.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use hearth::model::{JsonMap, Refusal};
use hearth::resource_types::Registry;
use hearth::template::{EnvironmentSent, PseudoParameters, StackDefinition, StackSource};
use serde::Deserialize;
use serde_json::{Value, json};

#[test]
fn templates_come_to_what_is_written_beside_them() {
    let registry = Registry::built_in().unwrap();
    let mut wrong = Vec::new();
    for path in templates("resolve") {
        let template = std::fs::read_to_string(&path).unwrap();
        let environment = std::fs::read_to_string(path.with_extension("env.yaml")).ok();
        let answer = match resolve(&registry, template.into(), environment) {
            Ok(definition) => serde_json::from_str(&definition.describe()).unwrap(),
            Err(refusal) => json!({ "type": refusal.class, "error": refusal.message }),
        };
        let text = serde_json::to_string_pretty(&answer).unwrap() + "\n";
        compare(&path.with_extension("json"), &text, &mut wrong);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A template beside what the real Heat makes of it.
#[derive(Debug, Deserialize)]
struct Case {
    id: String,
    template: Value,
    result: Value,
}

/// What Heat's API says whatever went wrong inside.
const STOCK_TEXT: &str = "The server could not comply with the request";

#[test]
fn templates_come_to_what_heat_makes_of_them() {
    let registry = Registry::built_in().unwrap();
    let mut wrong = Vec::new();
    for path in files("cases", |name| name.ends_with(".jsonl")) {
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let case: Case = serde_json::from_str(line).unwrap();
            // Heat fell over a mistake of its own; any clear refusal is as good.
            let is_told = case.result["ok"] == true
                || case.result["error"].as_str().is_some_and(|text| !text.starts_with(STOCK_TEXT));
            let found = match resolve(&registry, case.template, None) {
                Ok(definition) => serde_json::from_str(&definition.describe()).unwrap(),
                Err(refusal) if is_told => {
                    json!({ "ok": false, "type": refusal.class, "error": refusal.message })
                }
                Err(refusal) if !refusal.message.is_empty() => case.result.clone(),
                Err(_) => Value::Null,
            };
            if found != case.result {
                wrong.push(format!("{}:\n  want {}\n  got  {found}", case.id, case.result));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_wrong_is_found_where_it_stands() {
    let mut wrong = Vec::new();
    for path in templates("diagnose") {
        for (format, extension) in [("text", "txt"), ("json", "json"), ("github", "github")] {
            let expected = path.with_extension(extension);
            if format == "text" || expected.exists() {
                compare(&expected, &validated(&path, format), &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What `hearth validate` prints of a template with the environments and parameters beside it.
fn validated(template: &Path, format: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
    command.arg("validate").arg(template.file_name().unwrap()).args(["--format", format]);
    command.current_dir(template.parent().unwrap()).env_remove("NO_COLOR");
    for extension in ["env.yaml", "env2.yaml"] {
        let environment = template.with_extension(extension);
        if environment.exists() {
            command.arg("-e").arg(environment.file_name().unwrap());
        }
    }
    let given = std::fs::read_to_string(template.with_extension("given")).unwrap_or_default();
    command.args(given.lines().flat_map(|line| ["-P", line]));
    let output = command.output().unwrap();
    let is_valid = !String::from_utf8_lossy(&output.stdout).contains("error");
    let code = if is_valid { 0 } else { 1 };
    assert_eq!(output.status.code(), Some(code), "{}: {output:?}", template.display());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_template_of_a_thousand_resources_is_taken_and_one_more_is_not() {
    let registry = Registry::built_in().unwrap();
    let load = |count: usize| {
        let mut text = "heat_template_version: 2018-08-31\nresources:\n".to_owned();
        for number in 0..count {
            let before = number.saturating_sub(1);
            let value = if number == 0 {
                "x".to_owned()
            } else {
                format!("{{get_attr: [r{before}, value]}}")
            };
            text += &format!(
                "  r{number}:\n    type: OS::Heat::Value\n    properties: {{value: {value}}}\n"
            );
        }
        let source = StackSource { template: text.into(), ..StackSource::default() };
        StackDefinition::load(&source, &pseudo(), &registry)
    };
    assert_eq!(load(1_000).unwrap().resources().len(), 1_000);
    let refusal = load(1_001).unwrap_err();
    assert_eq!(refusal.class, "RequestLimitExceeded");
    assert_eq!(refusal.message, "Request limit exceeded: Maximum resources per stack exceeded.");
}

fn pseudo() -> PseudoParameters {
    PseudoParameters {
        stack_name: "exam".into(),
        stack_id: uuid::Uuid::nil().to_string(),
        project_id: "exam-project".into(),
        facade: None,
    }
}

fn resolve(
    registry: &Registry,
    template: Value,
    environment: Option<String>,
) -> Result<StackDefinition, Refusal> {
    let names: Vec<String> = environment.iter().map(|_| "env-0.yaml".to_owned()).collect();
    let files: BTreeMap<String, String> = names.iter().cloned().zip(environment).collect();
    let sent = EnvironmentSent {
        template: &template,
        environment: &Value::Null,
        environment_files: &names,
        files: &files,
        parameters: &JsonMap::new(),
    };
    let merged = sent.merge()?;
    let source = StackSource {
        template,
        environment: merged.environment,
        files,
        parameters: merged.parameters,
        ..StackSource::default()
    };
    let definition = StackDefinition::load_unbounded(&source, &pseudo(), registry)?;
    registry.validate(&definition)?;
    Ok(definition)
}

/// The templates of a folder; environments and what is expected stand beside them.
fn templates(folder: &str) -> Vec<PathBuf> {
    files(folder, |name| name.ends_with(".yaml") && !name.contains(".env"))
}

fn files(folder: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/template").join(folder);
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| is_wanted(&path.to_string_lossy()))
        .collect();
    paths.sort();
    paths
}

#[expect(clippy::disallowed_methods, reason = "the one switch of golden tests")]
fn compare(path: &Path, found: &str, wrong: &mut Vec<String>) {
    if std::env::var("UPDATE_GOLDEN").is_ok() {
        std::fs::write(path, found).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected != found {
        wrong.push(format!("{}:\n--- expected\n{expected}\n--- found\n{found}", path.display()));
    }
}
