//! `hearth down`: a stack is deleted, and shown meanwhile.

use std::process::ExitCode;

use super::confirm::agreed;
use super::data::with_causes;
use super::live::Live;
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::up::watched;
use super::{client::ClientError, stack_path::StackPath};

/// Take a stack down, and show its resources meanwhile
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The stack's name or id
    stack: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Why the stack could not be deleted, or was lost sight of.
#[derive(Debug, thiserror::Error)]
enum DownError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Succeeds when the stack is gone.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    down(&arguments).await.unwrap_or_else(|error| {
        eprintln!("hearth down: {}", with_causes(&error));
        ExitCode::FAILURE
    })
}

async fn down(arguments: &Arguments) -> Result<ExitCode, DownError> {
    let place = Place::open(&arguments.place, Errand::Work).await?;
    let taken = take_down(arguments, &place).await;
    place.close().await;
    taken
}

async fn take_down(arguments: &Arguments, place: &Place) -> Result<ExitCode, DownError> {
    let stack = StackPath::find(&place.client, &arguments.stack).await?;
    let question = format!("Delete the stack {} ({}) at {}?", stack.name, stack.id, place.name);
    if !agreed(&question, arguments.yes) {
        eprintln!("Nothing is changed.");
        return Ok(ExitCode::FAILURE);
    }
    let words = &place.words;
    let (name, id) = (&stack.name, &stack.id);
    let farewell = match place.is_here() {
        true => vec![
            format!("{name} is not gone yet: its deletion rests when you leave, and goes on with"),
            format!("`hearth watch {id}{words}`. Ctrl-C again leaves."),
        ],
        false => vec![format!(
            "The deletion of {name} goes on without you at {}. Come back with `hearth watch \
             {id}{words}`. Ctrl-C again leaves.",
            place.name
        )],
    };
    let live = Live::before_action(place, &stack.path()).await?;
    place.client.delete(&stack.path()).await?;
    Ok(watched(live, farewell).await?)
}
