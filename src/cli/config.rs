//! `hearth config`: the settings that hold, and where each comes from.

use std::process::ExitCode;

use super::data::with_causes;
use super::print;
use super::serve::ServeArgs;
use crate::config::{Effective, effective};

/// How wide names with their values are set, where they fit.
const COLUMN_MAX: usize = 52;

/// The settings that a server has
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print every setting with where it comes from: given the flags of `hearth serve`, what it
    /// would run with
    Show(ServeArgs),
}

/// Prints them.
pub(super) fn run(arguments: Arguments) -> ExitCode {
    let What::Show(flags) = arguments.what;
    match effective(&flags.flags(), std::env::vars()) {
        Ok(settings) => {
            print(&table(&settings));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hearth config: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

/// A group after the other, and at the end what has no effect.
fn table(settings: &[Effective]) -> String {
    let mut text = String::new();
    let mut group = None;
    for Effective { group: of, name, value, source } in settings {
        let Some(value) = value else { continue };
        if group != Some(of) {
            let space = if group.is_some() { "\n" } else { "" };
            text.push_str(&format!("{space}[{of}]\n"));
            group = Some(of);
        }
        let line = format!("{name} = {value}");
        text.push_str(&format!("{line:<COLUMN_MAX$}  {source}\n"));
    }
    let idle: Vec<&Effective> = settings.iter().filter(|option| option.value.is_none()).collect();
    if !idle.is_empty() {
        text.push_str("\nGiven, and without effect:\n");
    }
    for Effective { group, name, source, .. } in idle {
        let option = format!("[{group}] {name}");
        text.push_str(&format!("{option:<COLUMN_MAX$}  {source}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    #[test]
    fn settings_are_shown_group_by_group_and_those_without_effect_last() {
        let one = |group: &str, name: &str, value: Option<&str>| Effective {
            group: group.to_owned(),
            name: name.to_owned(),
            value: value.map(str::to_owned),
            source: Source::Default,
        };
        let settings = [
            one("DEFAULT", "host", Some("localhost")),
            one("yaql", "memory_quota", Some("10000")),
            one("DEFAULT", "num_engine_workers", None),
        ];
        let line = |text: &str| format!("{text:<52}  default\n");
        assert_eq!(
            table(&settings),
            format!(
                "[DEFAULT]\n{}\n[yaql]\n{}\nGiven, and without effect:\n{}",
                line("host = localhost"),
                line("memory_quota = 10000"),
                line("[DEFAULT] num_engine_workers"),
            )
        );
    }
}
