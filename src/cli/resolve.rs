//! `hearth resolve`: what a template comes to without a cloud, as JSON; one template, or one JSON
//! object per line of input with `--batch`.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::in_order::answer_lines;
use super::template_files::{Inputs, TemplateArguments};
use crate::api::status_of;
use crate::model::Refusal;
use crate::resource_types::{PluginChecks, Registry};
use crate::template::{PseudoParameters, Request, StackDefinition, TypeLookup};

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

/// Resolves and prints.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let registry = match Registry::built_in() {
        // What a type demands of a cloud's objects is not the template's.
        Ok(registry) => registry.with_plugin_checks(PluginChecks::Heat),
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
                let environments = inputs.environments.into_iter().map(|(_, text)| text).collect();
                let request =
                    Request::new(inputs.template, environments, &inputs.parameters, inputs.files);
                let answer = resolver.answer(&request);
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
        answer_lines(BufReader::new(std::io::stdin()), std::io::stdout().lock(), |line| {
            let (id, answer) = match Request::read(line) {
                Ok(request) => (request.id.clone(), self.answer(&request)),
                Err(refusal) => (Value::Null, Answer::refused(&refusal)),
            };
            format!("{{\"id\": {id}, \"result\": {}}}", answer.json)
        })
    }

    fn answer(&self, request: &Request) -> Answer {
        match self.resolve(request) {
            Ok(definition) => Answer { ok: true, json: definition.describe() },
            Err(refusal) => Answer::refused(&refusal),
        }
    }

    fn resolve(&self, request: &Request) -> Result<StackDefinition, Refusal> {
        let pseudo = PseudoParameters {
            stack_name: "exam".to_owned(),
            stack_id: uuid::Uuid::nil().to_string(),
            project_id: "exam-project".to_owned(),
            facade: None,
        };
        let types: &dyn TypeLookup = if self.any_type { &AnyType } else { &self.registry };
        let definition = request.load(&pseudo, types)?;
        match self.any_type {
            true => definition.check(types)?,
            false => self.registry.validate(&definition)?,
        }
        Ok(definition)
    }
}
