//! `hearth drift`: how a stack's resources differ in the cloud from what is on record, and what is
//! done about it.

use std::process::ExitCode;

use serde_json::Value;

use super::client::ClientError;
use super::columns::{cut, table};
use super::confirm::agreed;
use super::data::with_causes;
use super::live::{self, Live};
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::stack_path::StackPath;
use super::up::{farewell, watched};

/// The exit code that says that something differs.
const DRIFTS: u8 = 2;

/// Compare a stack's resources with what there is in the cloud: exit code 2 where something differs
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The stack's name or id
    stack: String,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// Bring what differs back to what is on record, by an update
    #[arg(long, conflicts_with_all = ["accept", "json"])]
    repair: bool,
    /// Make what there is the definition, by an update: values of the template and of its parameters
    #[arg(long, conflicts_with = "json")]
    accept: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Why nothing could be compared.
#[derive(Debug, thiserror::Error)]
enum DriftError {
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
}

/// Succeeds where nothing differs.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    drift(&arguments).await.unwrap_or_else(|error| {
        eprintln!("hearth drift: {}", with_causes(&error));
        ExitCode::FAILURE
    })
}

async fn drift(arguments: &Arguments) -> Result<ExitCode, DriftError> {
    let errand = if arguments.repair || arguments.accept { Errand::Work } else { Errand::Look };
    let place = Place::open(&arguments.place, errand).await?;
    let done = compare(arguments, &place).await;
    place.close().await;
    done
}

async fn compare(arguments: &Arguments, place: &Place) -> Result<ExitCode, DriftError> {
    let client = &place.client;
    let stack = StackPath::find(client, &arguments.stack).await?;
    let found = client.get(&format!("{}/drift", stack.path())).await?["drift"].take();
    match arguments.json {
        true => println!("{found:#}"),
        false => super::print(&text(&found, live::columns())),
    }
    let name = &stack.name;
    let (action, question) = match (arguments.repair, arguments.accept) {
        (true, _) => ("repair", format!("Bring {name} back to what is on record?")),
        (_, true) => ("accept", format!("Make what there is the definition of {name}?")),
        _ if found["drifts"] == true => return Ok(ExitCode::from(DRIFTS)),
        _ => return Ok(ExitCode::SUCCESS),
    };
    if found["drifts"] != true {
        return Ok(ExitCode::SUCCESS);
    }
    if !agreed(&question, arguments.yes) {
        eprintln!("Nothing is changed.");
        return Ok(ExitCode::FAILURE);
    }
    let asked = serde_json::json!({ action: null });
    client.post(&format!("{}/actions", stack.path()), &asked).await?;
    let live = Live::of_stack(place, &stack.path()).await?;
    Ok(watched(live, farewell(place, name)).await?)
}

/// One line for each resource that was compared, and one for each property that differs.
fn text(found: &Value, columns: Option<usize>) -> String {
    let compared = || {
        let all = found["resources"].as_array().into_iter().flatten();
        all.filter(|resource| resource["drift"] != "not compared")
    };
    let row = |resource: &Value| {
        let text = |key: &str| resource[key].as_str().unwrap_or_default().to_owned();
        vec![text("drift"), text("resource_name"), text("resource_type"), text("problem")]
    };
    let rows: Vec<Vec<String>> = compared().map(row).collect();
    let heads = table(&rows, columns);
    let mut shown = String::new();
    for (head, resource) in heads.lines().zip(compared()) {
        shown.push_str(&format!("{head}\n"));
        for property in resource["properties"].as_array().into_iter().flatten() {
            let name = property["name"].as_str().unwrap_or_default();
            let line = format!("     {name}: {} -> {}", property["recorded"], property["live"]);
            let line = columns.map_or(line.clone(), |fits| cut(&line, fits));
            shown.push_str(&format!("{line}\n"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_differs_is_told_property_by_property() {
        let found = json!({ "resources": [
            { "resource_name": "net", "resource_type": "N", "drift": "differs", "problem": null,
              "properties": [{ "name": "name", "recorded": "a", "live": "b" }] },
            { "resource_name": "group", "resource_type": "G", "drift": "not compared",
              "problem": null, "properties": [] },
            { "resource_name": "group/0", "resource_type": "N", "drift": "gone",
              "problem": null, "properties": [] },
            { "resource_name": "x", "resource_type": "N", "drift": "unknown",
              "problem": "it was not answered in time", "properties": [] },
        ] });
        let expected = "differs  net      N\n     name: \"a\" -> \"b\"\n\
                        gone     group/0  N\n\
                        unknown  x        N  it was not answered in time\n";
        assert_eq!(text(&found, None), expected);
    }
}
