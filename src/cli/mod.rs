//! The command line: one file per subcommand, each of which reads its arguments, calls a room and
//! prints.

mod admin;
mod bench;
mod checkpoint;
mod client;
mod convert;
pub mod data;
mod export;
mod history;
mod in_order;
mod key;
mod logging;
mod login;
mod node;
mod policy;
mod purge;
mod rebuild;
mod replay;
mod resolve;
mod rollback;
mod sandbox;
mod serve;
mod signal;
mod stack_log;
mod template_files;
mod up;
mod validate;
mod verify;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

/// An orchestration service that speaks OpenStack Heat's APIs and keeps every fact in a log.
#[derive(Debug, Parser)]
#[command(name = "hearth", version, disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

/// One variant per subcommand: its arguments are declared and run in the file of its name.
#[derive(Debug, Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
    Up(up::UpArgs),
    Sandbox(sandbox::Args),
    Validate(validate::Arguments),
    Resolve(resolve::Arguments),
    Convert(convert::Arguments),
    History(history::Arguments),
    Rollback(rollback::Arguments),
    Export(export::Arguments),
    Replay(replay::Arguments),
    Verify(verify::Arguments),
    Policy(policy::Arguments),
    Checkpoint(checkpoint::Arguments),
    Key(key::Arguments),
    Purge(purge::Arguments),
    Rebuild(rebuild::RebuildArgs),
    Bench(bench::BenchArgs),
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    // An actix system is a runtime of this thread; actors bring threads of their own.
    actix::System::new().block_on(async {
        match cli.command {
            Command::Serve(args) => serve::run(args).await,
            Command::Up(args) => up::run(args).await,
            Command::Sandbox(args) => sandbox::run(args).await,
            Command::Validate(arguments) => validate::run(&arguments),
            Command::Resolve(arguments) => resolve::run(&arguments),
            Command::Convert(arguments) => convert::run(&arguments),
            Command::History(arguments) => history::run(arguments).await,
            Command::Rollback(arguments) => rollback::run(arguments).await,
            Command::Export(arguments) => export::run(arguments).await,
            Command::Replay(arguments) => replay::run(arguments).await,
            Command::Policy(arguments) => policy::run(arguments).await,
            Command::Verify(arguments) => verify::run(&arguments),
            Command::Checkpoint(arguments) => checkpoint::run(&arguments),
            Command::Key(arguments) => key::run(&arguments).await,
            Command::Purge(arguments) => purge::run(&arguments).await,
            Command::Rebuild(args) => rebuild::run(args).await,
            Command::Bench(args) => bench::run(args).await,
        }
    })
}

/// The command line's own description, by which the documentation is checked.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Prints; a reader that goes away early, as `head` does, is no error.
fn print(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}
