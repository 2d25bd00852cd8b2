//! `hearth up`: a stack from a template, start to end, wherever stacks are.

pub(super) mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use self::source::{create_body, stack_name, update_body};
use super::client::{Client, ClientError};
use super::data::with_causes;
use super::live::{self, End, Live, Progress};
use super::outputs;
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::template_files::{Inputs, TemplateArguments};
use super::validate;

/// The exit code of a program that Ctrl-C ended.
const LEFT: u8 = 130;

/// Bring up a stack from a template, and show its resources meanwhile
#[derive(Debug, Args)]
#[command(after_help = place::HELP)]
pub(super) struct UpArgs {
    /// The template
    #[arg(value_name = "TEMPLATE")]
    template: PathBuf,
    /// The stack's name [default: the template's file name]; one that exists is updated
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    inputs: TemplateArguments,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Why the stack could not even be asked for, or was lost sight of.
#[derive(Debug, thiserror::Error)]
enum UpError {
    #[error("{0}")]
    Inputs(String),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the API gave no id for the stack")]
    NoId,
}

/// Succeeds when the stack is complete.
pub(super) async fn run(args: UpArgs) -> ExitCode {
    up(&args).await.unwrap_or_else(|error| {
        eprintln!("hearth up: {}", with_causes(&error));
        ExitCode::FAILURE
    })
}

async fn up(args: &UpArgs) -> Result<ExitCode, UpError> {
    let inputs = Inputs::read(&args.template, &args.inputs).map_err(UpError::Inputs)?;
    let name = args.name.clone().unwrap_or_else(|| stack_name(&args.template));
    let place = Place::open(&args.place, Errand::Make).await?;
    let brought = bring_up(&place, &name, &inputs).await;
    place.close().await;
    brought
}

async fn bring_up(place: &Place, name: &str, inputs: &Inputs) -> Result<ExitCode, UpError> {
    let path = match ask_for(&place.client, name, inputs).await {
        Err(UpError::Client(ClientError::Refused { status: 400, message })) => {
            // The server names what it met first; what else is wrong is seen from here.
            match validate::errors(inputs) {
                Some(report) => eprint!("{report}"),
                None => eprintln!("hearth up: {message}"),
            }
            return Ok(ExitCode::FAILURE);
        }
        asked => asked?,
    };
    let farewell = farewell(place, name);
    let live = Live::of_stack(place, &path).await?.farewell(farewell.clone());
    let status = match live.watch().await? {
        End::Settled(status) => status,
        End::Left => return Ok(left(&farewell)),
    };
    let has_failed = status.progress == Progress::Failed;
    if has_failed {
        live::tell_reason(&status);
    }
    let shown = place.client.get(&path).await?;
    super::print(&outputs::text(&shown["stack"]["outputs"]));
    super::print(&go_on(name, &place.words));
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What can be done next.
fn go_on(name: &str, words: &str) -> String {
    let lines = [("look at it", "show"), ("what happened", "events"), ("take it down", "down")];
    let line = |(what, verb)| format!("  {what:<13}  hearth {verb} {name}{words}\n");
    format!("\nnext\n{}", lines.map(line).concat())
}

/// What is said to somebody who wants to leave before the stack has settled.
pub(super) fn farewell(place: &Place, name: &str) -> Vec<String> {
    let words = &place.words;
    let what = match place.is_here() {
        true => format!("{name} is not finished: its work rests when you leave, and goes on with"),
        false => format!("{name} goes on without you at {}. Come back with", place.name),
    };
    vec![
        format!("{what} `hearth watch {name}{words}`."),
        format!("Take it down with `hearth down {name}{words}`. Ctrl-C again leaves."),
    ]
}

/// Shows a stack until it has settled, or somebody leaves, with the last words for him; how that
/// ends the command.
pub(super) async fn watched(
    live: Live<'_>,
    farewell: Vec<String>,
) -> Result<ExitCode, ClientError> {
    match live.farewell(farewell.clone()).watch().await? {
        End::Left => Ok(left(&farewell)),
        End::Settled(status) if status.progress == Progress::Failed => {
            live::tell_reason(&status);
            Ok(ExitCode::FAILURE)
        }
        End::Settled(_) => Ok(ExitCode::SUCCESS),
    }
}

/// The last words stay in sight after the picture.
fn left(farewell: &[String]) -> ExitCode {
    if live::size().is_some() {
        for line in farewell {
            eprintln!("{}", line.trim_end_matches(" Ctrl-C again leaves."));
        }
    }
    ExitCode::from(LEFT)
}

/// Creates the stack, or updates the one of that name; gives its path.
async fn ask_for(client: &Client, name: &str, inputs: &Inputs) -> Result<String, UpError> {
    let path = |id: &Value| match id.as_str() {
        Some(id) => Ok(format!("/stacks/{name}/{id}")),
        None => Err(UpError::NoId),
    };
    match client.post("/stacks", &create_body(name, inputs)).await {
        Ok(reply) => path(&reply["stack"]["id"]),
        Err(ClientError::Refused { status: 409, .. }) => {
            let listed = client.get(&format!("/stacks?name={name}")).await?;
            let path = path(&listed["stacks"][0]["id"])?;
            client.put(&path, &update_body(inputs)).await?;
            Ok(path)
        }
        Err(error) => Err(error.into()),
    }
}
