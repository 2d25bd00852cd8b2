//! `hearth rollback`: an earlier revision of a stack becomes its newest, over the API.

use std::process::ExitCode;

use serde_json::json;

use super::client::ClientError;
use super::confirm::agreed;
use super::data::with_causes;
use super::live::{self, Live};
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::plan::text;
use super::revision;
use super::stack_path::StackPath;
use super::up::{farewell, watched};

/// Take a stack back to an earlier revision, as `hearth history` numbers them
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The stack's name or id
    stack: String,
    /// The revision to go back to
    #[arg(long, value_name = "REVISION", value_parser = revision::read, required_unless_present = "at")]
    to: Option<u32>,
    /// Or when it was the newest: a position of the log or a time
    #[arg(long, value_name = "POSITION|TIME", conflicts_with = "to")]
    at: Option<String>,
    /// Only say what would be created, updated, replaced and deleted, and why
    #[arg(long)]
    plan: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Why the stack could not be taken back, or was lost sight of.
#[derive(Debug, thiserror::Error)]
enum RollbackError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Succeeds when the stack is complete.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match rolled_back(&arguments).await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("hearth rollback: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

async fn rolled_back(arguments: &Arguments) -> Result<ExitCode, RollbackError> {
    let errand = if arguments.plan { Errand::Look } else { Errand::Work };
    let place = Place::open(&arguments.place, errand).await?;
    let done = roll_back(arguments, &place).await;
    place.close().await;
    done
}

async fn roll_back(arguments: &Arguments, place: &Place) -> Result<ExitCode, RollbackError> {
    let client = &place.client;
    let stack = StackPath::find(client, &arguments.stack).await?;
    let actions = format!("{}/actions", stack.path());
    let asked = match &arguments.at {
        Some(at) => json!({ "at": at }),
        None => json!({ "to": arguments.to }),
    };
    let planning = format!("{}/plan", stack.path());
    let plan = client.post(&planning, &json!({ "rollback": asked })).await?["plan"].take();
    super::print(&text(&plan, live::columns(), live::is_colored()));
    if arguments.plan {
        return Ok(ExitCode::SUCCESS);
    }
    let name = &stack.name;
    let to = &plan["back_to"];
    if !agreed(&format!("Take {name} back to revision {to}?"), arguments.yes) {
        eprintln!("Nothing is changed.");
        return Ok(ExitCode::FAILURE);
    }
    // What was shown is done, or nothing.
    let client = client.by_plan(plan["id"].as_str().unwrap_or_default());
    client.post(&actions, &json!({ "rollback": asked })).await?;
    let live = Live::of_stack(place, &stack.path()).await?;
    Ok(watched(live, farewell(place, name)).await?)
}
