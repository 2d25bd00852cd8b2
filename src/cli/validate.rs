//! `hearth validate`: what is wrong with a template, each thing shown under its line. No cloud is
//! asked.

use std::path::PathBuf;
use std::process::ExitCode;

use super::template_files::{Inputs, TemplateArguments};
use crate::graph::build;
use crate::graph::steps::{Declared, RejectCycles};
use crate::model::Refusal;
use crate::resource_types::Registry;
use crate::template::{Documents, Finding, PseudoParameters, StackDefinition, diagnose};

/// Look a template over: say what is wrong with it, where, and what may have been meant
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The template
    template: PathBuf,
    #[command(flatten)]
    inputs: TemplateArguments,
}

/// Looks and prints: 0 where nothing is wrong, 1 where something is, 2 where files cannot be read.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let (inputs, registry) =
        match (Inputs::read(&arguments.template, &arguments.inputs), Registry::built_in()) {
            (Ok(inputs), Ok(registry)) => (inputs, registry),
            (Err(problem), _) => return unusable(&problem),
            (_, Err(error)) => return unusable(&error.to_string()),
        };
    let documents = Documents {
        template: (arguments.template.display().to_string(), inputs.template),
        environments: inputs.environments,
        parameters: inputs.parameters,
        files: inputs.files,
    };
    let pseudo = PseudoParameters { stack_name: "validate".to_owned(), ..Default::default() };
    let diagnosis =
        diagnose(&documents, &pseudo, &registry, &|definition| check(&registry, definition));
    for finding in &diagnosis.findings {
        print!("{}", shown(finding, &documents));
    }
    let name = &documents.template.0;
    match &diagnosis.definition {
        Some(definition) => {
            let resources = counted(definition.resources().len(), "resource");
            let outputs = counted(definition.outputs().len(), "output");
            println!("{name}: valid, {resources}, {outputs}");
            ExitCode::SUCCESS
        }
        None => {
            println!("{name}: {}", counted(diagnosis.findings.len(), "error"));
            ExitCode::FAILURE
        }
    }
}

/// What needs all resources at once, and their schemas.
pub(super) fn check(registry: &Registry, definition: &StackDefinition) -> Result<(), Refusal> {
    build(definition.resources().keys().cloned(), &[&Declared(definition), &RejectCycles])?;
    registry.validate(definition)
}

fn unusable(problem: &str) -> ExitCode {
    eprintln!("hearth validate: {problem}");
    ExitCode::from(2)
}

fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A finding with its line and a pointer under it.
fn shown(finding: &Finding, documents: &Documents) -> String {
    let mut out = finding.document.clone();
    if let Some((line, column)) = finding.place {
        out.push_str(&format!(":{line}:{column}"));
    }
    out.push_str(&format!(": error: {}\n", finding.message));
    let text = std::iter::once(&documents.template)
        .chain(&documents.environments)
        .find(|(name, _)| *name == finding.document)
        .map_or("", |(_, text)| text.as_str());
    if let Some((line, column)) = finding.place
        && let Some(source) = text.lines().nth(line as usize - 1)
    {
        let number = line.to_string();
        let margin = " ".repeat(number.len());
        let before: String = source
            .chars()
            .take(column as usize - 1)
            .map(|c| if c == '\t' { '\t' } else { ' ' })
            .collect();
        let length = source
            .chars()
            .skip(column as usize - 1)
            .take_while(|c| !c.is_whitespace() && !matches!(c, ',' | ']' | '}'))
            .count();
        let tail = "~".repeat(length.saturating_sub(1));
        out.push_str(&format!(" {number} | {source}\n {margin} | {before}^{tail}\n"));
    }
    if let Some(suggestion) = &finding.suggestion {
        out.push_str(&format!("   did you mean \"{suggestion}\"?\n"));
    }
    out
}
