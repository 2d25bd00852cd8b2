//! `hearth doctor`: whether all is well with what a server stands on, and what to do where it is
//! not. It works beside a running server and without one, and leaves everything as it is.

mod cloud;
mod data;
mod report;
mod server;

use std::process::ExitCode;

use self::report::{Report, Verdict};
use self::server::Running;
use super::data::{Files, with_causes};
use super::print;
use super::serve::ServeArgs;
use crate::config::Settings;

/// Look whether all is well: the data directory, the keys, the log, the cloud, the machine
#[derive(Debug, clap::Args)]
#[command(after_help = "Takes the flags of `hearth serve`, and looks at what a server with them \
                        works with. Exits with 1 where something is wrong.")]
pub(super) struct Arguments {
    #[command(flatten)]
    flags: ServeArgs,
}

/// Looks at everything, prints what it finds, and fails where something is wrong.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let mut report = Report::default();
    match Settings::load(&arguments.flags.flags(), std::env::vars()) {
        Ok(settings) => look(&settings, &mut report).await,
        Err(error) => {
            report.wrong(
                "settings",
                with_causes(&error),
                "correct them; no server starts with them",
            );
        }
    }
    print(&report.text());
    if report.worst() == Verdict::Wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

async fn look(settings: &Settings, report: &mut Report) {
    let idle = settings.unused.known_to_heat.len() + settings.unused.unknown.len();
    match idle {
        0 => report.fine("settings", "they can be read, and all that is given has an effect"),
        _ => report.note(
            "settings",
            format!("{idle} that are given have no effect; `hearth config show` names them"),
        ),
    }
    let files = match Files::of(settings) {
        Ok(files) => files,
        Err(reason) => return report.wrong("log", reason, "say in [hearth] log where it is kept"),
    };
    let running = Running::find(&files).await;
    server::look(settings, running.as_ref(), report);
    data::look(&files, running.is_some(), report).await;
    cloud::look(settings, &files, running.is_some(), report).await;
}
