//! `hearth validate`: what is wrong with a template, each thing shown under its line. No cloud is
//! asked.

mod github;
mod json;
mod text;

use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

use super::template_files::{Inputs, TemplateArguments};
use crate::config::colors_refused;
use crate::graph::build;
use crate::graph::steps::{Declared, RejectCycles};
use crate::model::{Refusal, ResourceName};
use crate::resource_types::Registry;
use crate::template::{
    Diagnosis, Documents, Finding, PseudoParameters, Severity, StackDefinition, diagnose,
};

/// Look a template over: say what is wrong with it, where, and what may have been meant
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The template
    template: PathBuf,
    #[command(flatten)]
    inputs: TemplateArguments,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// How findings are printed.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// For people, with the lines in question
    Text,
    /// One JSON document
    Json,
    /// Workflow commands of GitHub Actions
    Github,
}

/// Looks and prints: 0 where nothing is wrong (warnings may be there), 1 where something is, 2
/// where files cannot be read.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let (inputs, registry) =
        match (Inputs::read(&arguments.template, &arguments.inputs), Registry::built_in()) {
            (Ok(inputs), Ok(registry)) => (inputs, registry),
            (Err(problem), _) => return unusable(&problem),
            (_, Err(error)) => return unusable(&error.to_string()),
        };
    let documents = documents(inputs);
    let diagnosis = look(&documents, &registry);
    let is_colored = std::io::stdout().is_terminal() && !colors_refused();
    let report = match arguments.format {
        Format::Text => text::report(&documents, &diagnosis, &text::Style { is_colored }),
        Format::Json => json::report(&documents, &diagnosis),
        Format::Github => github::report(&diagnosis),
    };
    super::print(&report);
    match diagnosis.definition {
        Some(_) => ExitCode::SUCCESS,
        None => ExitCode::FAILURE,
    }
}

/// All that is wrong with a template, for people, on standard error; `None` where nothing is.
pub(super) fn errors(inputs: &Inputs) -> Option<String> {
    let documents = documents(inputs.clone());
    let diagnosis = look(&documents, &Registry::built_in().ok()?);
    if diagnosis.definition.is_some() {
        return None;
    }
    let is_colored = std::io::stderr().is_terminal() && !colors_refused();
    Some(text::report(&documents, &diagnosis, &text::Style { is_colored }))
}

fn documents(inputs: Inputs) -> Documents {
    Documents {
        template: inputs.template,
        environments: inputs.environments,
        parameters: inputs.parameters,
        files: inputs.files,
        file_names: inputs.file_names,
    }
}

/// What there is to say of a template, without a cloud.
fn look(documents: &Documents, registry: &Registry) -> Diagnosis {
    let pseudo = PseudoParameters { stack_name: "validate".to_owned(), ..Default::default() };
    diagnose(documents, &pseudo, registry, &|definition| findings(registry, definition))
}

/// What needs all resources at once, and their schemas: everything that is wrong.
fn findings(registry: &Registry, definition: &StackDefinition) -> Vec<Refusal> {
    let names = definition.resources().keys().cloned();
    let shown = |name: &ResourceName| registry.shown(definition, name);
    let circle = build(names, &[&Declared(definition), &RejectCycles(&shown)]).err();
    circle.into_iter().chain(registry.findings(definition)).collect()
}

fn unusable(problem: &str) -> ExitCode {
    eprintln!("hearth validate: {problem}");
    ExitCode::from(2)
}

/// How many findings are of a severity.
fn count(diagnosis: &Diagnosis, severity: Severity) -> usize {
    diagnosis.findings.iter().filter(|finding| finding.severity == severity).count()
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// The sentence that goes with a name that may have been meant.
fn help(finding: &Finding) -> Option<String> {
    finding.suggestion.as_ref().map(|name| format!("did you mean `{name}`?"))
}
