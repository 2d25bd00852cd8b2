//! `hearth show`: a stack with its resources and outputs.

use std::process::ExitCode;

use super::client::ClientError;
use super::columns::clean;
use super::data::with_causes;
use super::live::{self, Focus, State, View, picture};
use super::outputs;
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::stack_path::StackPath;
use crate::clock::{Clock, SystemClock};

/// Show a stack with its resources and outputs
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The stack's name or id
    stack: String,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Why it cannot be shown.
#[derive(Debug, thiserror::Error)]
enum ShowError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Prints it.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match shown(&arguments).await {
        Ok(text) => {
            super::print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hearth show: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

async fn shown(arguments: &Arguments) -> Result<String, ShowError> {
    let place = Place::open(&arguments.place, Errand::Look).await?;
    let shown = text(&place, &arguments.stack).await;
    place.close().await;
    Ok(shown?)
}

async fn text(place: &Place, stack: &str) -> Result<String, ClientError> {
    let stack = StackPath::find(&place.client, stack).await?;
    let mut state = State::default();
    let id = live::take_stack(&place.client, &stack.path(), &mut state).await?;
    let columns = live::columns().unwrap_or(usize::MAX);
    let view = View { columns, lines: None, top: None };
    let mut lines: Vec<String> = picture(&state, Focus::One(id), view, SystemClock.now())
        .lines
        .iter()
        .map(|line| if live::is_colored() { line.painted() } else { line.plain() })
        .collect();
    let reason = stack.shown["stack_status_reason"].as_str().unwrap_or_default();
    lines.insert(1, format!("{}\n{}", clean(reason), stack.id));
    Ok(format!("{}\n{}", lines.join("\n"), outputs::text(&stack.shown["outputs"])))
}
