//! `hearth resolve`: what a template comes to without a cloud, as JSON; one template, or one JSON
//! object per line of input with `--batch`.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Deserialize;
use serde_json::{Value, json};

use super::template_files::{Inputs, TemplateArguments};
use crate::api::status_of;
use crate::model::{JsonMap, Refusal};
use crate::resource_types::Registry;
use crate::template::{
    EnvironmentSent, PseudoParameters, StackDefinition, StackSource, TypeLookup,
};

/// Print what a template comes to, functions resolved, without a cloud
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The template
    #[arg(required_unless_present = "batch", conflicts_with = "batch")]
    template: Option<PathBuf>,
    #[command(flatten)]
    inputs: TemplateArguments,
    /// Read one JSON object per line ({id, template, environments, parameters, files}) and answer
    /// with one per line
    #[arg(long)]
    batch: bool,
    /// Take every resource type for known, and check no properties
    #[arg(long)]
    any_type: bool,
}

/// One request of a batch.
#[derive(Debug, Deserialize)]
struct Case {
    #[serde(default)]
    id: Value,
    template: Value,
    #[serde(default)]
    environments: Vec<String>,
    #[serde(default)]
    parameters: JsonMap,
    #[serde(default)]
    files: std::collections::BTreeMap<String, String>,
}

/// Resolves and prints.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let registry = match Registry::built_in() {
        Ok(registry) => registry,
        Err(error) => return failed(&error),
    };
    let resolver = Resolver { registry, any_type: arguments.any_type };
    match &arguments.template {
        None => match resolver.batch() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&error),
        },
        Some(path) => match Inputs::read(path, &arguments.inputs) {
            Err(error) => {
                eprintln!("hearth resolve: {error}");
                ExitCode::from(2)
            }
            Ok(inputs) => {
                let answer = resolver.answer(&Case {
                    id: Value::Null,
                    template: inputs.template.into(),
                    environments: inputs.environments.into_iter().map(|(_, text)| text).collect(),
                    parameters: inputs.parameters,
                    files: inputs.files,
                });
                println!("{}", answer.json);
                if answer.ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
            }
        },
    }
}

fn failed(error: &dyn std::error::Error) -> ExitCode {
    eprintln!("hearth resolve: {error}");
    ExitCode::FAILURE
}

struct Resolver {
    registry: Registry,
    any_type: bool,
}

/// What is printed for a template.
struct Answer {
    ok: bool,
    json: String,
}

impl Answer {
    fn refused(refusal: &Refusal) -> Self {
        let body = json!({
            "ok": false,
            "type": refusal.class,
            "error": refusal.message,
            "code": status_of(&refusal.class),
        });
        Self { ok: false, json: body.to_string() }
    }
}

/// Every type is there.
struct AnyType;

impl TypeLookup for AnyType {
    fn exists(&self, type_name: &str) -> bool {
        !type_name.is_empty()
    }

    fn takes_anything(&self, type_name: &str) -> bool {
        type_name == "OS::Heat::None"
    }
}

impl Resolver {
    fn batch(&self) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        for line in std::io::stdin().lock().lines() {
            let line = line?;
            if line.trim().is_empty() {
                continue;
            }
            let (id, answer) = match serde_json::from_str::<Case>(&line) {
                Ok(case) => (case.id.clone(), self.answer(&case)),
                Err(error) => {
                    let refusal = Refusal::new("HTTPBadRequest", error.to_string());
                    (Value::Null, Answer::refused(&refusal))
                }
            };
            writeln!(out, "{{\"id\": {id}, \"result\": {}}}", answer.json)?;
            out.flush()?;
        }
        Ok(())
    }

    fn answer(&self, case: &Case) -> Answer {
        match self.resolve(case) {
            Ok(definition) => Answer { ok: true, json: definition.describe() },
            Err(refusal) => Answer::refused(&refusal),
        }
    }

    fn resolve(&self, case: &Case) -> Result<StackDefinition, Refusal> {
        let mut files = case.files.clone();
        let mut names = Vec::new();
        for (number, text) in case.environments.iter().enumerate() {
            let name = format!("env-{number}.yaml");
            files.insert(name.clone(), text.clone());
            names.push(name);
        }
        let merged = EnvironmentSent {
            template: &case.template,
            environment: &Value::Null,
            environment_files: &names,
            files: &files,
            parameters: &case.parameters,
        }
        .merge()?;
        let source = StackSource {
            template: case.template.clone(),
            environment: merged.environment,
            files,
            parameters: merged.parameters,
        };
        let pseudo = PseudoParameters {
            stack_name: "exam".to_owned(),
            stack_id: uuid::Uuid::nil().to_string(),
            project_id: "exam-project".to_owned(),
            facade: None,
        };
        let types: &dyn TypeLookup = if self.any_type { &AnyType } else { &self.registry };
        let definition = StackDefinition::load_unbounded(&source, &pseudo, types)?;
        match self.any_type {
            true => definition.check(types)?,
            false => self.registry.validate(&definition)?,
        }
        Ok(definition)
    }
}
