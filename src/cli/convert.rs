//! `hearth convert`: a CloudFormation template as YAML, or in HOT.

use std::path::PathBuf;
use std::process::ExitCode;

use crate::template::{Obstacle, cfn_to_hot, json_to_yaml};

/// Write a CloudFormation template in JSON as YAML, or with --to hot as one of HOT
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The template
    template: PathBuf,
    /// What comes out
    #[arg(long, value_enum, default_value_t = Language::Cfn)]
    to: Language,
}

/// The language of what comes out.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Language {
    /// The same language, in YAML
    Cfn,
    /// HOT, in YAML
    Hot,
}

/// Converts and prints: 1 where something has no form in the language, each thing on a line of its
/// own; 2 where the file cannot be read.
pub(super) fn run(arguments: &Arguments) -> ExitCode {
    let path = arguments.template.display();
    let text = match std::fs::read_to_string(&arguments.template) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("hearth convert: {path}: {error}");
            return ExitCode::from(2);
        }
    };
    let converted: Result<String, Vec<Obstacle>> = match arguments.to {
        Language::Cfn => json_to_yaml(&text).map_err(|obstacle| vec![obstacle]),
        Language::Hot => cfn_to_hot(&text),
    };
    match converted {
        Ok(text) => {
            super::print(&text);
            ExitCode::SUCCESS
        }
        Err(obstacles) => {
            for obstacle in obstacles {
                let space = if obstacle.line > 0 { "" } else { " " };
                eprintln!("{path}:{space}{obstacle}");
            }
            ExitCode::FAILURE
        }
    }
}
