//! `hearth rollback`: an earlier revision of a stack becomes its newest, over the API.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::client::ClientError;
use super::columns::table;
use super::confirm::agreed;
use super::data::with_causes;
use super::live::{self, End, Live, Progress};
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::stack_path::StackPath;
use super::up::{farewell, left};

/// Take a stack back to an earlier revision, as `hearth history` numbers them
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The stack's name or id
    stack: String,
    /// The revision to go back to
    #[arg(long, value_name = "REVISION")]
    to: u32,
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
    let to = arguments.to;
    let plan = client.post(&actions, &json!({ "rollback": { "to": to, "plan": true } })).await?;
    super::print(&planned(&plan["rollback"]["resources"], live::columns()));
    if arguments.plan {
        return Ok(ExitCode::SUCCESS);
    }
    let name = &stack.name;
    if !agreed(&format!("Take {name} back to revision {to}?"), arguments.yes) {
        eprintln!("Nothing is changed.");
        return Ok(ExitCode::FAILURE);
    }
    client.post(&actions, &json!({ "rollback": { "to": to } })).await?;
    let farewell = farewell(place, name);
    let live = Live::of_stack(place, &stack.path()).await?.farewell(farewell.clone());
    match live.watch().await? {
        End::Left => Ok(left(&farewell)),
        End::Settled(status) if status.progress == Progress::Failed => {
            live::tell_reason(&status);
            Ok(ExitCode::FAILURE)
        }
        End::Settled(_) => Ok(ExitCode::SUCCESS),
    }
}

/// One line for each resource: what becomes of it, with a question mark where less may, and why.
fn planned(resources: &Value, columns: Option<usize>) -> String {
    let row = |resource: &Value| {
        let text = |key: &str| resource[key].as_str().unwrap_or_default().to_owned();
        let is_sure = resource["at_least"].is_null() || resource["at_least"] == resource["change"];
        let change = format!("{}{}", text("change"), if is_sure { "" } else { "?" });
        vec![format!("{change:9}"), text("resource_name"), text("resource_type"), text("why")]
    };
    let rows: Vec<Vec<String>> = resources.as_array().into_iter().flatten().map(row).collect();
    table(&rows, columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_reads_as_a_table() {
        let plan = json!([
            { "resource_name": "a", "resource_type": "OS::Heat::Value", "change": "created",
              "at_least": "created", "why": "it is new" },
            { "resource_name": "b", "resource_type": "OS::Heat::Value", "change": "updated",
              "at_least": "unchanged", "why": "value may change" },
            { "resource_name": "server", "resource_type": "OS::Nova::Server",
              "change": "unchanged", "why": "" },
        ]);
        let expected = "created    a       OS::Heat::Value   it is new\n\
                        updated?   b       OS::Heat::Value   value may change\n\
                        unchanged  server  OS::Nova::Server\n";
        assert_eq!(planned(&plan, None), expected);
        let narrow = "created    a       OS::Heat:…  it is new\n\
                      updated?   b       OS::Heat:…  value ma…\n\
                      unchanged  server  OS::Nova:…\n";
        assert_eq!(planned(&plan, Some(40)), narrow);
    }
}
