//! The command line: one file per subcommand, each of which reads its arguments, calls a room and
//! prints.

/// Instead of the standard library's, which panics where the output cannot be written: every
/// module below prints with this one.
macro_rules! println {
    () => { $crate::cli::output::print("\n") };
    ($($text:tt)*) => { $crate::cli::output::print(&format!("{}\n", format_args!($($text)*))) };
}

mod admin;
mod apply;
mod at;
mod backup;
mod bench;
mod checkpoint;
mod client;
mod columns;
mod config;
mod confirm;
mod convert;
pub mod data;
mod describe;
mod doctor;
mod down;
mod drift;
mod events;
mod export;
mod history;
mod in_order;
mod key;
mod list;
mod live;
mod log;
mod log_place;
mod logging;
mod login;
mod manage;
mod manager;
mod node;
mod output;
mod outputs;
mod place;
mod plan;
mod policy;
mod purge;
mod reach;
mod rebuild;
mod replay;
mod resolve;
mod revision;
mod rollback;
mod sandbox;
mod serve;
mod show;
mod signal;
mod stack_log;
mod stack_path;
mod states;
mod template_files;
mod types;
mod up;
mod validate;
mod verify;
mod watch;
mod waterfall;
mod what_if;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use self::output::print;
use crate::config::colors_refused;

/// The version, with the commit where that is known; see `build.rs`.
const VERSION: &str = env!("BUILD_VERSION");

/// An orchestration service that speaks OpenStack Heat's APIs and keeps every fact in a log.
#[derive(Debug, Parser)]
#[command(name = "hearth", version = VERSION, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One variant per subcommand: its arguments are declared and run in the file of its name.
#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
    Up(up::UpArgs),
    Watch(watch::Arguments),
    Down(down::Arguments),
    List(list::Arguments),
    Show(show::Arguments),
    Events(events::Arguments),
    Sandbox(sandbox::Args),
    Validate(validate::Arguments),
    Resolve(resolve::Arguments),
    Convert(convert::Arguments),
    Plan(plan::Arguments),
    WhatIf(what_if::Arguments),
    Apply(apply::Arguments),
    Drift(drift::Arguments),
    At(at::Arguments),
    History(history::Arguments),
    Rollback(rollback::Arguments),
    Export(export::Arguments),
    Replay(replay::Arguments),
    Verify(verify::Arguments),
    Types(types::Arguments),
    Policy(policy::Arguments),
    Config(config::Arguments),
    Doctor(doctor::Arguments),
    Checkpoint(checkpoint::Arguments),
    Log(log::Arguments),
    Key(key::Arguments),
    Purge(purge::Arguments),
    Manage(manage::Arguments),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Rebuild(rebuild::RebuildArgs),
    Bench(bench::BenchArgs),
    Completions(describe::CompletionsArguments),
    Man(describe::ManArguments),
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(shown) => return tell(&shown),
    };
    // An actix system is a runtime of this thread; actors bring threads of their own.
    let code = actix::System::new().block_on(async {
        match cli.command {
            Command::Serve(args) => serve::run(args).await,
            Command::Up(args) => up::run(args).await,
            Command::Watch(arguments) => watch::run(arguments).await,
            Command::Down(arguments) => down::run(arguments).await,
            Command::List(arguments) => list::run(arguments).await,
            Command::Show(arguments) => show::run(arguments).await,
            Command::Events(arguments) => events::run(arguments).await,
            Command::Sandbox(args) => sandbox::run(args).await,
            Command::Validate(arguments) => validate::run(&arguments),
            Command::Resolve(arguments) => resolve::run(&arguments),
            Command::Convert(arguments) => convert::run(&arguments),
            Command::Plan(arguments) => plan::run(arguments).await,
            Command::WhatIf(arguments) => what_if::run(arguments).await,
            Command::Apply(arguments) => apply::run(arguments).await,
            Command::Drift(arguments) => drift::run(arguments).await,
            Command::At(arguments) => at::run(arguments).await,
            Command::History(arguments) => history::run(arguments).await,
            Command::Rollback(arguments) => rollback::run(arguments).await,
            Command::Export(arguments) => export::run(arguments).await,
            Command::Replay(arguments) => replay::run(arguments).await,
            Command::Types(arguments) => types::run(&arguments),
            Command::Policy(arguments) => policy::run(arguments).await,
            Command::Config(arguments) => config::run(arguments),
            Command::Doctor(arguments) => doctor::run(arguments).await,
            Command::Verify(arguments) => verify::run(&arguments),
            Command::Checkpoint(arguments) => checkpoint::run(&arguments),
            Command::Log(arguments) => log::run(&arguments),
            Command::Key(arguments) => key::run(&arguments).await,
            Command::Purge(arguments) => purge::run(&arguments).await,
            Command::Manage(arguments) => manage::run(&arguments).await,
            Command::Backup(arguments) => backup::run(&arguments).await,
            Command::Restore(arguments) => backup::restore(&arguments),
            Command::Rebuild(args) => rebuild::run(args).await,
            Command::Bench(args) => bench::run(args).await,
            Command::Completions(arguments) => describe::completions(&arguments),
            Command::Man(arguments) => describe::man(&arguments),
        }
    });
    output::finish(code)
}

/// Of these, exit code 2 says that something would change.
const CHANGES_END_WITH_2: [&str; 4] = ["plan", "what-if", "drift", "rollback"];

/// Shows help, the version, or what is wrong with the command line.
fn tell(shown: &clap::Error) -> ExitCode {
    match shown.use_stderr() {
        true => {
            // Whoever does not read the error sees the exit code.
            let _ = shown.print();
            let command = std::env::args().nth(1).unwrap_or_default();
            ExitCode::from(if CHANGES_END_WITH_2.contains(&command.as_str()) { 1 } else { 2 })
        }
        false => {
            let text = shown.render();
            let is_colored = std::io::stdout().is_terminal() && !colors_refused();
            print(&if is_colored { text.ansi().to_string() } else { text.to_string() });
            output::finish(ExitCode::SUCCESS)
        }
    }
}

/// The command line's own description, by which the documentation is checked.
pub fn command() -> clap::Command {
    Cli::command()
}

/// How a command ends; what went wrong is a whole sentence.
fn ended(command: &str, done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("hearth {command}: {reason}");
            ExitCode::FAILURE
        }
    }
}
