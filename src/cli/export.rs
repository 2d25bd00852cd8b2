//! `hearth export`: a stack out of the log as a document that can be adopted, secrets left out.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use serde_json::Value;

use super::data::with_causes;
use super::place::{self, Errand, Place, PlaceArguments};
use super::stack_log::{self, Histories, StackLog};
use super::stack_path::StackPath;
use crate::actors::bundle;
use crate::actors::export::{Exported, document, resource};
use crate::actors::resource::Resource;
use crate::actors::shell::Aggregate;
use crate::actors::stack::Stack;
use crate::events::log::EventLog;
use crate::model::JsonMap;
use crate::private_files;

/// Print a stack as a document from which it can be adopted, or its history; secrets are left out
#[derive(Debug, clap::Args)]
#[command(after_help = place::HELP_OF_LOG)]
pub(super) struct Arguments {
    /// The stack's name or id; deleted stacks are found, too
    stack: String,
    /// Every event of it and of the stacks within it instead, for `hearth replay --file`
    #[arg(long)]
    history: bool,
    /// Write it into a file that only you may read
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    place: PlaceArguments,
}

/// Reads the log and prints.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    super::ended("export", written(&arguments).await)
}

async fn written(arguments: &Arguments) -> Result<(), String> {
    let text = match arguments.history {
        true => history(arguments).await?,
        false => format!("{:#}\n", adoptable(arguments).await?),
    };
    match &arguments.out {
        Some(path) => private_files::write(path, &text).map_err(|error| with_causes(&error))?,
        None => super::print(&text),
    }
    Ok(())
}

async fn history(arguments: &Arguments) -> Result<String, String> {
    let Some(data) = arguments.place.data() else {
        let text = stack_log::exported(&arguments.place, &arguments.stack).await?;
        return String::from_utf8(text).map_err(|error| with_causes(&error));
    };
    let log: Arc<dyn EventLog> = data.open_log()?;
    let histories = Histories::Log(Arc::clone(&log));
    let stack = StackLog::read(&histories, Some(&arguments.stack)).await?.id;
    let lines: Vec<String> =
        bundle(log, stack).try_collect().await.map_err(|error| with_causes(&error))?;
    Ok(lines.concat())
}

async fn adoptable(arguments: &Arguments) -> Result<Value, String> {
    if let Some(data) = arguments.place.data() {
        let histories = Histories::Log(data.open_log()?);
        return exported(&histories, arguments.stack.clone()).await;
    }
    let place = Place::open(&arguments.place, Errand::Look).await;
    let place = place.map_err(|error| with_causes(&error))?;
    let document = async {
        let stack = StackPath::find(&place.client, &arguments.stack).await?;
        place.client.get(&format!("{}/export", stack.path())).await
    };
    let document = document.await;
    place.close().await;
    document.map_err(|error| with_causes(&error))
}

fn exported(from: &Histories, name_or_id: String) -> BoxFuture<'_, Result<Value, String>> {
    async move {
        let found = StackLog::read(from, Some(&name_or_id)).await?;
        let mut stack = Stack::default();
        for (event, body) in &found.stack {
            stack.apply(body, event.at);
        }
        let revision = stack.revision().ok_or("the stack was never accepted")?;
        let mut resources = JsonMap::new();
        for (name, id) in stack.incarnations() {
            let mut machine = Resource::new(id);
            machine.name = name.clone();
            machine.type_name =
                stack.rows.get(&id).map(|row| row.type_name.clone()).unwrap_or_default();
            for event in found.resources.get(&id).into_iter().flatten() {
                let body = event.decode().map_err(|error| error.to_string())?;
                machine.apply(&body, event.at);
            }
            let mut view = resource(&machine.kept());
            if let Some(child) = machine.child_stack()
                && let Value::Object(view) = &mut view
                && let Value::Object(nested) = exported(from, child.to_string()).await?
            {
                view.extend(nested);
            }
            resources.insert(name.to_string(), view);
        }
        let sourced = stack.sourced(revision.revision);
        let blob = match sourced.as_ref().and_then(|it| it.revision.source.as_ref()) {
            Some(id) => from.source(id).await?.unwrap_or_default().to_string(),
            None => String::new(),
        };
        Ok(document(Exported {
            id: stack.id,
            name: &stack.name,
            project_id: &stack.project_id,
            action: stack.action,
            status: stack.status,
            revision,
            sourced: sourced.as_ref(),
            blob: Some(blob.as_bytes()),
            resources,
        }))
    }
    .boxed()
}
