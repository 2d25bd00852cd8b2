//! `hearth up`: a stack from a template, start to end, in this process.

mod screen;
mod source;
mod tree;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use futures::StreamExt;
use serde_json::Value;
use uuid::Uuid;

use self::screen::Screen;
use self::source::{create_body, stack_name, update_body};
use self::tree::{Settled, Tree};
use super::client::{Client, ClientError, Login};
use super::data::with_causes;
use super::logging;
use super::node::{Node, StartError, sandbox_password};
use super::template_files::{Inputs, TemplateArguments};
use crate::clock::{Clock, SystemClock};
use crate::config::{ConfigError, Flags, Settings};
use crate::events::Position;
use crate::events::log::{EventLog, Filter, LogError};
use crate::model::{StackId, Status};
use crate::projections::ViewError;

/// How often times on the screen are renewed.
const REDRAW_EVERY: Duration = Duration::from_millis(100);

/// Bring up a stack from a template on the sandbox cloud, and show its resources meanwhile
#[derive(Debug, Args)]
pub(super) struct UpArgs {
    /// The template
    #[arg(value_name = "TEMPLATE")]
    template: PathBuf,
    /// The stack's name [default: the template's file name]; one that exists is updated
    #[arg(long)]
    name: Option<String>,
    #[command(flatten)]
    inputs: TemplateArguments,
    /// Where the log and all else is kept [default: ./hearth-data]
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

/// Why the stack could not even be asked for, or was lost sight of.
#[derive(Debug, thiserror::Error)]
enum UpError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("{0}")]
    Inputs(String),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("the log could not be followed")]
    Log(#[from] LogError),
    #[error("the views do not follow the log")]
    Views(#[from] ViewError),
    #[error("the log ended before the stack settled")]
    LogEnded,
    #[error("the API gave no id for the stack")]
    NoId,
}

/// Succeeds when the stack is complete.
pub(super) async fn run(args: UpArgs) -> ExitCode {
    match up(args).await {
        Ok(Status::Complete) => ExitCode::SUCCESS,
        Ok(Status::Failed | Status::InProgress) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hearth: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

async fn up(args: UpArgs) -> Result<Status, UpError> {
    let inputs = Inputs::read(&args.template, &args.inputs).map_err(UpError::Inputs)?;
    let name = args.name.unwrap_or_else(|| stack_name(&args.template));
    let anywhere = Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0));
    let flags = Flags {
        data: args.data,
        listen: anywhere,
        sandbox_listen: anywhere,
        cloud: Some("sandbox".to_owned()),
        ..Flags::default()
    };
    let settings = Settings::load(&flags, std::env::vars())?;
    // Log lines would tear the picture; what goes wrong is in the tree.
    logging::start(settings.log_filter.as_deref().unwrap_or("error"));
    let node = Node::start(&settings).await?;
    let outcome = bring_up(&node, &settings, &name, &inputs).await;
    node.stop().await;
    let status = outcome?;
    tell_how_to_go_on(&name, &settings);
    Ok(status)
}

async fn bring_up(
    node: &Node,
    settings: &Settings,
    name: &str,
    inputs: &Inputs,
) -> Result<Status, UpError> {
    let password = sandbox_password(settings);
    let login = Login {
        auth_url: &node.auth_url,
        user: "demo",
        project: "demo",
        password: password.reveal(),
        domains: ("Default", "Default"),
    };
    let client = Client::sign_in(&login).await?;
    let before = node.log.durable_position();
    let path = ask_for(&client, name, inputs).await?;
    let id = path.rsplit('/').next().and_then(|id| Uuid::parse_str(id).ok());
    let stack = StackId(id.ok_or(UpError::NoId)?);
    let (settled, at) = watch(node, name, stack, before).await?;
    if settled.status == Status::Failed {
        println!("\n{}", settled.reason);
    }
    // The log is ahead of the views that the API reads.
    node.seen(at).await?;
    let shown = client.get(&path).await?;
    print_outputs(&shown["stack"]["outputs"]);
    Ok(settled.status)
}

/// Creates the stack, or updates the one of that name; gives its path.
async fn ask_for(client: &Client, name: &str, inputs: &Inputs) -> Result<String, UpError> {
    let created = client.post("/stacks", &create_body(name, inputs)).await;
    match created {
        Ok(reply) => {
            let id = reply["stack"]["id"].as_str().ok_or(UpError::NoId)?;
            Ok(format!("/stacks/{name}/{id}"))
        }
        Err(ClientError::Refused { status: 409, .. }) => {
            let listed = client.get(&format!("/stacks?name={name}")).await?;
            let id = listed["stacks"][0]["id"].as_str().ok_or(UpError::NoId)?;
            let path = format!("/stacks/{name}/{id}");
            client.put(&path, &update_body(inputs)).await?;
            Ok(path)
        }
        Err(error) => Err(error.into()),
    }
}

/// Shows the tree until the stack has settled; where in the log that is.
async fn watch(
    node: &Node,
    name: &str,
    stack: StackId,
    after: Position,
) -> Result<(Settled, Position), UpError> {
    let mut screen = Screen::of_stack(name.to_owned());
    let mut tree = Tree::of(stack);
    let mut events = node.log.subscribe(after, Filter { kinds: vec!["stack", "resource"] });
    let mut at = after;
    let mut redraw = tokio::time::interval(REDRAW_EVERY);
    loop {
        tokio::select! {
            event = events.next() => {
                let event = event.ok_or(UpError::LogEnded)??;
                at = event.position;
                if let Some(line) = tree.apply(&event) {
                    screen.tell(&tree, &line, SystemClock.now());
                }
            }
            _ = redraw.tick() => screen.draw(&tree, SystemClock.now()),
        }
        if let Some(settled) = tree.settled.clone() {
            screen.draw(&tree, SystemClock.now());
            return Ok((settled, at));
        }
    }
}

fn print_outputs(outputs: &Value) {
    let Some(outputs) = outputs.as_array().filter(|outputs| !outputs.is_empty()) else { return };
    println!("\noutputs");
    for output in outputs {
        let key = output["output_key"].as_str().unwrap_or_default();
        let value = match &output["output_value"] {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        println!("  {key:<24} {value}");
    }
}

fn tell_how_to_go_on(name: &str, settings: &Settings) {
    let data = settings.data.display();
    println!("\nThe stack is kept in {data}. Look further:");
    println!("  hearth history {name} --data {data}");
    println!("  hearth replay {name} --data {data}");
    println!("  hearth serve --data {data}, and then");
    println!("  OS_CLIENT_CONFIG_FILE={data}/clouds.yaml openstack --os-cloud hearth stack list");
}
