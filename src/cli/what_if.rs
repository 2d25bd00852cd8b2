//! `hearth what-if`: what an update would have done to a stack at a moment that is past.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::{Value, json};
use url::form_urlencoded::Serializer;

use super::client::{Client, ClientError};
use super::data::with_causes;
use super::live;
use super::place::{self, Errand, Place, PlaceArguments};
use super::plan;
use super::stack_path::StackPath;
use super::template_files::{Inputs, TemplateArguments};
use super::up::source::update_body;

/// The present, as one moment among others.
const NOW: &str = "now";

/// Say what a template would have made of a stack as it stood at a moment, by the log alone: exit
/// code 2 where there was something to be done
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The stack's name or id; with --at, one that had the name then
    stack: String,
    /// What it is to become
    #[arg(long, value_name = "FILE")]
    template: PathBuf,
    /// The moment, as 57, 2026-11-21T02:10:00Z or r2 [default: the end]
    #[arg(long, value_name = "POSITION|TIME|REVISION")]
    at: Option<String>,
    #[command(flatten)]
    inputs: TemplateArguments,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Succeeds where nothing would have changed.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    match planned(&arguments).await {
        Ok(found) => {
            match arguments.json {
                true => println!("{found:#}"),
                false => super::print(&plan::text(&found, live::columns(), live::is_colored())),
            }
            plan::exit_code(&found)
        }
        Err(reason) => super::ended("what-if", Err(reason)),
    }
}

async fn planned(arguments: &Arguments) -> Result<Value, String> {
    let inputs = Inputs::read(&arguments.template, &arguments.inputs)?;
    let place = Place::open(&arguments.place, Errand::Look).await;
    let place = place.map_err(|error| with_causes(&error))?;
    let found = plan_of(arguments, &place.client, &inputs).await;
    place.close().await;
    found.map_err(|error| with_causes(&error))
}

async fn plan_of(
    arguments: &Arguments,
    client: &Client,
    inputs: &Inputs,
) -> Result<Value, ClientError> {
    let at = arguments.at.clone().unwrap_or_else(|| NOW.to_owned());
    let at = Serializer::new(String::new()).append_pair("at", &at).finish();
    let stack = StackPath::find(client, &format!("{}?{at}", arguments.stack)).await?;
    let body = json!({ "update": update_body(inputs) });
    let mut answered = client.post(&format!("{}/plan?{at}", stack.path()), &body).await?;
    Ok(answered["plan"].take())
}
