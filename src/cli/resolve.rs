//! `hearth resolve`: what a template comes to without a cloud, for people; or one JSON object per
//! line of input with `--batch`.

use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::in_order::answer_lines;
use super::output::{self, Output};
use super::print;
use super::template_files::{Inputs, TemplateArguments};
use crate::api::status_of;
use crate::model::Refusal;
use crate::resource_types::{PluginChecks, Registry};
use crate::template::{
    PseudoParameters, Request, StackDefinition, TextForm, TypeLookup, yaml_text,
};

/// Print what a template comes to, functions resolved, without a cloud
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The template
    #[arg(required_unless_present = "batch", conflicts_with = "batch")]
    template: Option<PathBuf>,
    #[command(flatten)]
    inputs: TemplateArguments,
    /// The stack's name, as OS::stack_name gives it
    #[arg(long, value_name = "NAME", default_value = "stack", conflicts_with = "batch")]
    stack_name: String,
    /// How it is printed
    #[arg(long, value_enum, default_value_t = Format::Yaml, conflicts_with = "batch")]
    format: Format,
    /// Read one JSON object per line ({id, template, environments, parameters, files}) and answer
    /// with one per line
    #[arg(long)]
    batch: bool,
    /// Take every resource type for known, and check no properties
    #[arg(long)]
    any_type: bool,
}

/// How one template is printed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    Yaml,
    Json,
}

/// The name of the stack of each line of a batch.
const BATCH_STACK: &str = "exam";

/// Resolves and prints.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let registry = match Registry::built_in() {
        // What a type demands of a cloud's objects is not the template's.
        Ok(registry) => registry.with_plugin_checks(PluginChecks::Heat),
        Err(error) => return failed(&error),
    };
    let resolver = |stack_name: &str| Resolver {
        registry,
        any_type: arguments.any_type,
        stack_name: stack_name.to_owned(),
    };
    match &arguments.template {
        None => match resolver(BATCH_STACK).batch() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) if output::is_lost() => ExitCode::FAILURE,
            Err(error) => failed(&error),
        },
        Some(path) => match Inputs::read(path, &arguments.inputs) {
            Err(error) => {
                eprintln!("hearth resolve: {error}");
                ExitCode::from(2)
            }
            Ok(inputs) => resolver(&arguments.stack_name).print(inputs, arguments.format),
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
    stack_name: String,
}

/// Why there is nothing to show of a template.
fn refusal_body(refusal: &Refusal) -> Value {
    json!({
        "ok": false,
        "type": refusal.class,
        "error": refusal.message,
        "code": status_of(&refusal.class),
    })
}

/// Every type is there, and the known ones take what they take.
struct AnyType<'a>(&'a Registry);

impl TypeLookup for AnyType<'_> {
    fn exists(&self, type_name: &str) -> bool {
        !type_name.is_empty()
    }

    fn takes_anything(&self, type_name: &str) -> bool {
        self.0.takes_anything(type_name)
    }
}

impl Resolver {
    fn print(&self, inputs: Inputs, format: Format) -> ExitCode {
        let environments = inputs.environments_to_send().into_iter().map(|(_, text)| text);
        let (template, environments) = (inputs.template_to_send(), environments.collect());
        let request = Request::new(template, environments, &inputs.parameters, inputs.files);
        match (self.resolve(&request), format) {
            (Ok(definition), Format::Yaml) => print(&definition.describe_in(TextForm::Yaml)),
            (Ok(definition), Format::Json) => print(&definition.describe_in(TextForm::Json)),
            (Err(refusal), format) => {
                let body = refusal_body(&refusal);
                match format {
                    Format::Yaml => print(&yaml_text(&body)),
                    Format::Json => print(&format!("{body:#}\n")),
                }
                return ExitCode::FAILURE;
            }
        }
        ExitCode::SUCCESS
    }

    fn batch(&self) -> std::io::Result<()> {
        answer_lines(BufReader::new(std::io::stdin()), Output, |line| {
            let (id, answer) = match Request::read(line) {
                Ok(request) => (request.id.clone(), self.answer(&request)),
                Err(refusal) => (Value::Null, refusal_body(&refusal).to_string()),
            };
            format!("{{\"id\": {id}, \"result\": {answer}}}")
        })
    }

    fn answer(&self, request: &Request) -> String {
        match self.resolve(request) {
            Ok(definition) => definition.describe(),
            Err(refusal) => refusal_body(&refusal).to_string(),
        }
    }

    fn resolve(&self, request: &Request) -> Result<StackDefinition, Refusal> {
        let pseudo = PseudoParameters {
            stack_name: self.stack_name.clone(),
            stack_id: uuid::Uuid::nil().to_string(),
            project_id: "exam-project".to_owned(),
            facade: None,
        };
        let any = AnyType(&self.registry);
        let types: &dyn TypeLookup = if self.any_type { &any } else { &self.registry };
        let definition = request.load(&pseudo, types)?;
        match self.any_type {
            true => definition.check(types)?,
            false => self.registry.validate(&definition)?,
        }
        Ok(definition)
    }
}
