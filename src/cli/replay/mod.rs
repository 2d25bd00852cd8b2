//! `hearth replay`: folds the log alone, up to a position or a moment, and prints how a stack
//! stood then. The fold is the machines' own, so what it shows is what they decided on.

mod calls;
mod children;
mod diff;
mod state;
mod step;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use serde_json::Value;

use self::diff::Diff;
use self::state::{Replayed, time};
use super::columns::clean;
use super::data::{FileArguments, with_causes};
use super::live;
use super::node::registry;
use super::place::{self, PlaceArguments};
use super::stack_log::{Histories, StackLog};
use crate::actors::resource::Knowledge;
use crate::clock::SystemClock;
use crate::config::Settings;
use crate::events::master_key::KeyRing;
use crate::events::vault::Vault;
use crate::events::{RecordedEvent, Then, When};

/// Show how a stack stood at a position of the log, at a time or at the end of a revision, and how
/// it came to that
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP_OF_LOG)]
pub(super) struct Arguments {
    /// The stack's name or id; deleted stacks are found, too
    #[arg(required_unless_present_any = ["file", "verify"])]
    stack: Option<String>,
    /// The last moment taken in, as 57, 2026-11-21T02:10:00Z or r2 [default: the end]
    #[arg(long, value_name = "POSITION|TIME|REVISION", value_parser = then)]
    until: Option<Then>,
    /// Show what differs between two moments: template, parameters, resources, outputs
    #[arg(
        long,
        value_names = ["A", "B"],
        num_args = 2,
        value_parser = then,
        conflicts_with_all = ["until", "step", "calls"],
    )]
    diff: Vec<Then>,
    /// Show each event and what it changed; in a terminal one by one: a key goes on, q ends
    #[arg(long, conflicts_with = "calls")]
    step: bool,
    /// Print JSON, with properties and attributes; secrets masked
    #[arg(long)]
    json: bool,
    /// Show this resource alone
    #[arg(long, value_name = "NAME")]
    resource: Option<String>,
    /// Show what the resource's type asked of the cloud and was answered, and run its program again
    /// by these answers; secrets masked
    #[arg(long, requires = "resource")]
    calls: bool,
    /// Fold the whole log anew and compare the views with what comes of it
    #[arg(long, conflicts_with_all = ["stack", "file", "until", "diff", "step", "resource", "json"])]
    verify: bool,
    /// Read what `hearth export --history` has written, instead of a log
    #[arg(long, value_name = "FILE", conflicts_with_all = ["data", "server", "os_cloud"])]
    file: Option<PathBuf>,
    /// The file with the master key [default: master.key in the data directory]
    #[arg(long, value_name = "FILE")]
    master_key: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Reads the log and prints.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    super::ended("replay", replayed(&arguments).await)
}

async fn replayed(arguments: &Arguments) -> Result<(), String> {
    if arguments.verify {
        return verify::run(&arguments.place).await;
    }
    let (file, name) = (arguments.file.as_deref(), arguments.stack.as_deref());
    let histories = Histories::open(&arguments.place, file, name).await?;
    let stack = StackLog::read(&histories, name).await?;
    let until = arguments.until.map(|until| stack.when(until)).transpose()?;
    if arguments.step {
        return step::run(&stack, until, arguments.resource.as_deref(), arguments.json);
    }
    let columns = live::columns();
    let text = match (&arguments.resource, &arguments.diff[..]) {
        (Some(resource), _) if arguments.calls => {
            calls_of(arguments, &stack, resource, until, &histories).await?
        }
        (_, [from, to]) => {
            let mut diff = Diff::between(&histories, &stack, (*from, *to)).await?;
            diff.keep(arguments.resource.as_deref());
            match arguments.json {
                true => format!("{:#}", diff.as_json()),
                false => diff.as_text(columns),
            }
        }
        (resource, _) => then_text(&stack, until, resource.as_deref(), arguments.json, columns)?,
    };
    super::print(&format!("{}\n", clean(&text)));
    Ok(())
}

fn then_text(
    stack: &StackLog,
    until: Option<When>,
    resource: Option<&str>,
    json: bool,
    columns: Option<usize>,
) -> Result<String, String> {
    let mut replayed = Replayed::of(stack, until)?;
    if let Some(name) = resource {
        replayed.resources.retain(|(resource, _)| resource.name.as_str() == name);
        if replayed.resources.is_empty() {
            return Err(format!("the stack had no resource {name}"));
        }
    }
    Ok(match json {
        true => format!("{:#}", replayed.as_json()),
        false => replayed.as_text(columns),
    })
}

/// The calls of a resource, and its turns with the stacks that it stands for; what is sealed is opened
/// by the keys beside the log.
async fn calls_of(
    arguments: &Arguments,
    stack: &StackLog,
    resource: &str,
    until: Option<When>,
    histories: &Histories,
) -> Result<String, String> {
    let data = arguments.place.data().unwrap_or_default();
    let files = FileArguments::of(data, arguments.master_key.clone());
    let settings = Settings::load(&files.flags(), std::env::vars());
    let settings = settings.map_err(|error| with_causes(&error))?;
    let knowledge = Knowledge {
        registry: Arc::new(
            registry(&settings, Arc::new(SystemClock)).map_err(|error| with_causes(&error))?,
        ),
        action_retry_limit: settings.limits.action_retries,
        lost_call_rest: settings.limits.lost_call_rest,
        observe_on_update: settings.limits.observe_on_update,
    };
    let vault = match histories.log() {
        // What was exported has nothing that could be opened.
        None => None,
        Some(log) => {
            let ring = KeyRing::load(&files.files()?.master_key);
            let ring = ring.map_err(|error| with_causes(&error))?;
            ring.map(|ring| Arc::new(Vault::new(Arc::clone(log), ring, Arc::new(SystemClock))))
        }
    };
    let takes = |event: &RecordedEvent| until.is_none_or(|until| until.takes(event));
    let why = no_answers(arguments, stack, histories, vault.is_some());
    let mut beats = calls::replayed(stack, resource, takes, vault, &knowledge)?;
    if let Some(why) = why {
        calls::explain(&mut beats, why);
    }
    beats.extend(children::told(histories, stack, resource, takes).await?);
    beats.sort_by_key(|beat| beat["position"].as_u64());
    Ok(match arguments.json {
        true => format!("{:#}", Value::Array(beats)),
        false => calls::as_text(&beats).trim_end().to_owned(),
    })
}

/// Why what was answered cannot be read, where that is not of each answer by itself.
fn no_answers(
    arguments: &Arguments,
    stack: &StackLog,
    histories: &Histories,
    has_keys: bool,
) -> Option<&'static str> {
    if arguments.file.is_some() {
        return Some("what was exported has no answers");
    }
    if histories.log().is_none() {
        return Some("a server tells no answers: they are read in its data directory, with --data");
    }
    if !has_keys {
        return Some("there is no master key beside the log");
    }
    stack.is_deleted().then_some("the keys of a deleted stack are destroyed")
}

fn then(text: &str) -> Result<Then, String> {
    let neither =
        || "neither a position, nor a time such as 2026-11-21T02:10:00Z, nor a revision as r2";
    Then::read(text).ok_or_else(|| neither().to_owned())
}
