//! `hearth list`: the stacks, each with how it is.

use std::process::ExitCode;

use serde_json::Value;

use super::client::ClientError;
use super::columns::table;
use super::data::with_causes;
use super::live;
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};

/// List the stacks
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    #[command(flatten)]
    place: PlaceArguments,
}

/// Why they cannot be listed.
#[derive(Debug, thiserror::Error)]
enum ListError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Prints them.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match listed(&arguments).await {
        Ok(text) => {
            super::print(&text);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hearth list: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

async fn listed(arguments: &Arguments) -> Result<String, ListError> {
    let place = Place::open(&arguments.place, Errand::Look).await?;
    let listed = place.client.get("/stacks").await;
    place.close().await;
    let stacks = listed?["stacks"].take();
    let rows: Vec<Vec<String>> = stacks.as_array().into_iter().flatten().map(row).collect();
    match rows.is_empty() {
        true => Ok("no stacks\n".to_owned()),
        false => Ok(table(&rows, live::columns())),
    }
}

fn row(stack: &Value) -> Vec<String> {
    let text = |key: &str| stack[key].as_str().unwrap_or_default().to_owned();
    let time = stack["updated_time"].as_str().or_else(|| stack["creation_time"].as_str());
    vec![text("stack_name"), text("stack_status"), time.unwrap_or_default().to_owned(), text("id")]
}
