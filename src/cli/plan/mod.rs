//! `hearth plan`: what a change of a stack would do, to be read, kept and applied.

mod shown;

use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub(super) use self::shown::text;
use super::client::{Client, ClientError};
use super::data::with_causes;
use super::live;
use super::place::{self, Errand, Place, PlaceArguments, PlaceError};
use super::revision;
use super::stack_path::StackPath;
use super::template_files::{Inputs, TemplateArguments};
use super::up::source::{create_body, stack_name, update_body};
use crate::private_files::{self, PrivateFileError};

/// The exit code that says that something would change.
const CHANGES: u8 = 2;

/// The version of the files that are kept.
const FORMAT: u32 = 1;

/// Say what a change of a stack would do, and change nothing: exit code 2 where there is something
/// to be done
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP)]
pub(super) struct Arguments {
    /// The template; the stack is created, or updated where there is one of that name
    #[arg(value_name = "TEMPLATE", required_unless_present_any = ["to", "at", "delete", "suspend", "resume"])]
    template: Option<PathBuf>,
    /// The stack's name or id [default: the template's file name]
    #[arg(long, required_unless_present = "template")]
    name: Option<String>,
    #[command(flatten)]
    inputs: TemplateArguments,
    #[command(flatten)]
    other: Other,
    /// Print it as JSON
    #[arg(long)]
    json: bool,
    /// Keep it in a file, for `hearth apply`; the file has the parameters, and only you may read it
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArguments,
}

/// What may be planned instead of a new definition.
#[derive(Debug, clap::Args)]
#[group(multiple = false, conflicts_with = "template")]
struct Other {
    /// Go back to an earlier revision
    #[arg(long, value_name = "REVISION", value_parser = revision::read)]
    to: Option<u32>,
    /// Go back to what it was at a position of the log or a time
    #[arg(long, value_name = "POSITION|TIME")]
    at: Option<String>,
    /// Delete the stack
    #[arg(long)]
    delete: bool,
    /// Suspend it
    #[arg(long)]
    suspend: bool,
    /// Resume it
    #[arg(long)]
    resume: bool,
}

/// What is planned of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Change {
    Create,
    Update,
    Rollback,
    Delete,
    Suspend,
    Resume,
}

/// A plan as it is kept, with all that is needed to have it done.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    format: u32,
    pub(super) change: Change,
    /// `/stacks/{name}/{id}`; of a create, nothing.
    pub(super) path: Option<String>,
    /// What is asked for, as the API takes it.
    pub(super) request: Value,
    /// As the API answers it.
    pub(super) plan: Value,
}

/// Why there is no plan.
#[derive(Debug, thiserror::Error)]
pub(super) enum PlanError {
    #[error("{0}")]
    Inputs(String),
    #[error(transparent)]
    Place(#[from] PlaceError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("{path} is no plan that `hearth plan --out` has kept", path = .0.display())]
    NoPlan(PathBuf),
}

/// Succeeds where nothing would change.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    planned(&arguments).await.unwrap_or_else(|error| {
        eprintln!("hearth plan: {}", with_causes(&error));
        ExitCode::FAILURE
    })
}

async fn planned(arguments: &Arguments) -> Result<ExitCode, PlanError> {
    let inputs = arguments.template.as_ref();
    let inputs = inputs.map(|path| Inputs::read(path, &arguments.inputs));
    let inputs = inputs.transpose().map_err(PlanError::Inputs)?;
    let place = Place::open(&arguments.place, Errand::Look).await?;
    let kept = kept(arguments, &place.client, inputs.as_ref()).await;
    place.close().await;
    let kept = kept?;
    match arguments.json {
        true => println!("{:#}", kept.plan),
        false => super::print(&text(&kept.plan, live::columns(), live::is_colored())),
    }
    if let Some(path) = &arguments.out {
        let text = serde_json::to_string_pretty(&kept).unwrap_or_default();
        private_files::write(path, &text)?;
    }
    Ok(exit_code(&kept.plan))
}

/// Says whether a plan would change something.
pub(super) fn exit_code(plan: &Value) -> ExitCode {
    if plan["changes"] == true { ExitCode::from(CHANGES) } else { ExitCode::SUCCESS }
}

async fn kept(
    arguments: &Arguments,
    client: &Client,
    inputs: Option<&Inputs>,
) -> Result<Kept, PlanError> {
    let template = arguments.template.as_deref();
    let named = arguments.name.clone().or_else(|| template.map(stack_name)).unwrap_or_default();
    let found = match StackPath::find(client, &named).await {
        Err(ClientError::Refused { status: 404, .. }) if inputs.is_some() => None,
        found => Some(found?.path()),
    };
    let (change, request) = match (&arguments.other, inputs) {
        (_, Some(inputs)) if found.is_none() => (Change::Create, create_body(&named, inputs)),
        (_, Some(inputs)) => (Change::Update, update_body(inputs)),
        (Other { to: Some(to), .. }, None) => (Change::Rollback, json!({ "to": to })),
        (Other { at: Some(at), .. }, None) => (Change::Rollback, json!({ "at": at })),
        (Other { suspend: true, .. }, None) => (Change::Suspend, Value::Null),
        (Other { resume: true, .. }, None) => (Change::Resume, Value::Null),
        (Other { .. }, None) => (Change::Delete, Value::Null),
    };
    let answered = match &found {
        None => client.post("/stacks/plan", &request).await?,
        Some(path) => {
            let body = json!({ change.word(): request });
            client.post(&format!("{path}/plan"), &body).await?
        }
    };
    Ok(Kept { format: FORMAT, change, path: found, request, plan: answered["plan"].clone() })
}

impl Change {
    /// As the API calls it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Change::Create => "create",
            Change::Update => "update",
            Change::Rollback => "rollback",
            Change::Delete => "delete",
            Change::Suspend => "suspend",
            Change::Resume => "resume",
        }
    }
}

impl Kept {
    /// Reads what was kept.
    pub(super) fn read(path: &std::path::Path) -> Result<Self, PlanError> {
        let no_plan = || PlanError::NoPlan(path.to_owned());
        let unreadable = |source| PrivateFileError::File { path: path.to_owned(), source };
        let text = std::fs::read(path).map_err(unreadable)?;
        let kept: Self = serde_json::from_slice(&text).map_err(|_| no_plan())?;
        // What is no plan has nothing to hide.
        private_files::read(path)?;
        if kept.format == FORMAT { Ok(kept) } else { Err(no_plan()) }
    }

    /// The stack's name.
    pub(super) fn name(&self) -> &str {
        self.plan["stack_name"].as_str().unwrap_or_default()
    }
}
