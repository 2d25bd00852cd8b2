//! `hearth apply`: a plan that was kept is carried out, just as it is or not at all.

use std::path::PathBuf;
use std::process::ExitCode;

use serde_json::json;

use super::client::ClientError;
use super::confirm::agreed;
use super::data::with_causes;
use super::live::{self, Live};
use super::place::{self, Errand, Place, PlaceArguments};
use super::plan::{Change, Kept, PlanError, text};
use super::up::{farewell, watched};

/// Carry out a plan that `hearth plan --out` has kept; refused where anything has changed since
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The file with the plan
    file: PathBuf,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Succeeds when the stack has come to what was planned.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    applied(&arguments).await.unwrap_or_else(|error| {
        eprintln!("hearth apply: {}", with_causes(&error));
        ExitCode::FAILURE
    })
}

async fn applied(arguments: &Arguments) -> Result<ExitCode, PlanError> {
    let kept = Kept::read(&arguments.file)?;
    super::print(&text(&kept.plan, live::columns(), live::is_colored()));
    let question = format!("{} {} by this plan?", kept.change.title(), kept.name());
    if !agreed(&question, arguments.yes) {
        eprintln!("Nothing is changed.");
        return Ok(ExitCode::FAILURE);
    }
    let errand = if kept.change == Change::Create { Errand::Make } else { Errand::Work };
    let place = Place::open(&arguments.place, errand).await?;
    let done = apply(&kept, &place).await;
    place.close().await;
    Ok(done?)
}

async fn apply(kept: &Kept, place: &Place) -> Result<ExitCode, ClientError> {
    let client = place.client.by_plan(kept.plan["id"].as_str().unwrap_or_default());
    let path = kept.path.clone().unwrap_or_default();
    let actions = format!("{path}/actions");
    let action = json!({ kept.change.word(): kept.request });
    let farewell = farewell(place, kept.name());
    let live = match kept.change {
        Change::Create => {
            let made = client.post("/stacks", &kept.request).await?;
            let id = made["stack"]["id"].as_str().unwrap_or_default();
            Live::of_stack(place, &format!("/stacks/{}/{id}", kept.name())).await?
        }
        Change::Update | Change::Rollback | Change::Suspend | Change::Resume => {
            match kept.change {
                Change::Update => client.put(&path, &kept.request).await?,
                _ => client.post(&actions, &action).await?,
            };
            Live::of_stack(place, &path).await?
        }
        Change::Delete => {
            let live = Live::before_action(place, &path).await?;
            client.delete(&path).await?;
            live
        }
    };
    watched(live, farewell).await
}

impl Change {
    fn title(self) -> String {
        let mut word = self.word().to_owned();
        word[..1].make_ascii_uppercase();
        word
    }
}
