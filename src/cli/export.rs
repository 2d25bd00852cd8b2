//! `hearth export`: a stack out of the log as a document that can be adopted, secrets left out.

use std::process::ExitCode;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::Value;

use super::data::DataArguments;
use super::stack_log::StackLog;
use crate::actors::export::{Exported, document, resource};
use crate::actors::resource::Resource;
use crate::actors::shell::Aggregate;
use crate::actors::stack::Stack;
use crate::events::log::EventLog;
use crate::model::JsonMap;

/// Print a stack as a document from which it can be adopted; secrets are left out
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The stack's name or id; deleted stacks are found, too
    stack: String,
    #[command(flatten)]
    data: DataArguments,
}

/// Reads the log and prints.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let exported = async {
        let log = arguments.data.open_log()?;
        exported(&log, arguments.stack.clone()).await
    };
    match exported.await {
        Ok(document) => {
            super::print(&format!("{document:#}\n"));
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("hearth export: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn exported(log: &dyn EventLog, name_or_id: String) -> BoxFuture<'_, Result<Value, String>> {
    async move {
        let found = StackLog::read(log, &name_or_id).await?;
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
                && let Value::Object(nested) = exported(log, child.to_string()).await?
            {
                view.extend(nested);
            }
            resources.insert(name.to_string(), view);
        }
        let sourced = stack.sourced(revision.revision);
        let blob = match sourced.as_ref().and_then(|it| it.revision.source.as_ref()) {
            Some(id) => log.blob(id).await.map_err(|error| error.to_string())?,
            None => None,
        };
        Ok(document(Exported {
            id: stack.id,
            name: &stack.name,
            project_id: &stack.project_id,
            action: stack.action,
            status: stack.status,
            revision,
            sourced: sourced.as_ref(),
            blob: blob.as_deref(),
            resources,
        }))
    }
    .boxed()
}
