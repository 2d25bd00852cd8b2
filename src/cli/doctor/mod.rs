//! `hearth doctor`: whether all is well with what a server stands on, and what to do where it is
//! not. It works beside a running server and without one, and leaves everything as it is.

mod cloud;
mod data;
mod report;
mod server;

use std::process::ExitCode;
use std::sync::Arc;

use self::report::{Report, Verdict};
use self::server::Running;
use super::data::{Files, with_causes};
use super::policy::settings_of;
use super::print;
use super::serve::ServeArgs;
use crate::clock::SystemClock;
use crate::config::Settings;
use crate::policy::Policy;

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
    policy(settings, report);
    let files = match Files::of(settings) {
        Ok(files) => files,
        Err(reason) => return report.wrong("log", reason, "say in [hearth] log where it is kept"),
    };
    let running = Running::find(&files, settings).await;
    server::look(settings, running.as_ref(), report);
    data::look(settings, &files, running.is_some(), report).await;
    cloud::look(settings, &files, running.is_some(), report).await;
}

fn policy(settings: &Settings, report: &mut Report) {
    const WHAT: &str = "policy";
    let policy = Policy::load(settings_of(&settings.policy), Arc::new(SystemClock));
    match policy.map(|policy| policy.idle()) {
        Ok(idle) if idle.is_empty() => report.fine(WHAT, "all rules are asked for"),
        Ok(idle) => report.warning(
            WHAT,
            format!("nothing asks for {}", idle.join(", ")),
            "correct the names: `hearth policy show` has those that are asked for",
        ),
        Err(error) => {
            report.wrong(WHAT, with_causes(&error), "correct it; no server starts with it");
        }
    }
}
