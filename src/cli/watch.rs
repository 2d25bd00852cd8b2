//! `hearth watch`: all stacks, or one until it is no longer at work.

use std::process::ExitCode;

use super::client::ClientError;
use super::data::with_causes;
use super::live::Live;
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::stack_path::StackPath;
use super::up::{farewell, watched};

/// Watch all stacks, or one until it is no longer at work
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The stack's name or id [default: all stacks]
    stack: Option<String>,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Why there is nothing to be seen.
#[derive(Debug, thiserror::Error)]
enum WatchError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Succeeds when the stack is complete, or everything was watched until somebody left.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    watch(&arguments).await.unwrap_or_else(|error| {
        eprintln!("hearth watch: {}", with_causes(&error));
        ExitCode::FAILURE
    })
}

async fn watch(arguments: &Arguments) -> Result<ExitCode, WatchError> {
    let place = Place::open(&arguments.place, Errand::Work).await?;
    let watched = match &arguments.stack {
        Some(stack) => one(&place, stack).await,
        None => all(&place).await,
    };
    place.close().await;
    watched
}

async fn all(place: &Place) -> Result<ExitCode, WatchError> {
    Live::of_all(place).await?.watch().await?;
    Ok(ExitCode::SUCCESS)
}

async fn one(place: &Place, stack: &str) -> Result<ExitCode, WatchError> {
    let stack = StackPath::find(&place.client, stack).await?;
    let live = Live::of_stack(place, &stack.path()).await?;
    // Whoever only looks on is not held up, unless the work would rest.
    let farewell = if place.is_here() { farewell(place, &stack.name) } else { Vec::new() };
    Ok(watched(live, farewell).await?)
}
