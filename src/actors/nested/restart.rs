//! A resource that is made anew because another was signaled: it counts as unhealthy from then on,
//! and its stack is brought to the definition that it has.

use std::sync::Arc;

use actix::prelude::*;

use super::asks::{meta, tell};
use super::derived;
use crate::actors::look::ResourceReferred;
use crate::actors::resource::ResourceCommand;
use crate::actors::services::{SENDS_MAX, Services};
use crate::actors::shell::Shell;
use crate::actors::stack::{Stack, StackCommand};
use crate::events::Meta;
use crate::model::{CommandId, Refusal, StackId};
use crate::resource_types::{Failure, Said, SignalOutcome, Subject};

/// Asks a stack whether a signal has led to a restart before; a refusal is why it cannot lead to one
/// now.
#[derive(Message)]
#[rtype(result = "Result<bool, Refusal>")]
struct HasRestarted(CommandId);

impl Handler<HasRestarted> for Shell<Stack> {
    type Result = Result<bool, Refusal>;

    fn handle(&mut self, asked: HasRestarted, _ctx: &mut Context<Self>) -> Self::Result {
        match self.machine.has_restarted(asked.0) {
            true => Ok(true),
            false => self.machine.may_restart().map(|()| false),
        }
    }
}

/// Has the resource of a reference made anew, once for a signal.
pub(in crate::actors) async fn restart(
    services: &Services,
    restarter: &Subject,
    reference: &str,
    signal: CommandId,
    asked: &Meta,
) -> Result<SignalOutcome, Failure> {
    let stack = restarter.stack_id.unwrap_or_default();
    // After a restart the reference may be that of what was made.
    let restarted = services.ask_of(stack, || HasRestarted(signal)).await.ok_or_else(silent)?;
    if !restarted? {
        let name = restarter.name.clone().unwrap_or_default();
        let reason = format!("{name} was signaled");
        let id = CommandId(derived(&[signal.0.as_bytes(), b"restart"]));
        let meta = meta(asked, id);
        mark(services, stack, reference, &reason, &meta).await?;
        let told = tell(services, stack, &meta, &StackCommand::Restart { signal }).await;
        told.ok_or_else(silent)??;
    }
    Ok(SignalOutcome { said: Said::Details, ..SignalOutcome::default() })
}

/// Notes that a resource is not healthy.
async fn mark(
    services: &Services,
    stack: StackId,
    reference: &str,
    reason: &str,
    meta: &Arc<Meta>,
) -> Result<(), Failure> {
    for _ in 0..SENDS_MAX {
        let found = services.ask_of(stack, || ResourceReferred(reference.to_owned())).await;
        let missing = || Failure::NotFound("There is no such resource to restart".to_owned());
        let resource = found.ok_or_else(silent)?.ok_or_else(missing)?;
        let mark = ResourceCommand::Mark { healthy: false, reason: reason.to_owned() };
        if let Ok(answer) = resource.send(services.measures.ask(mark, meta.clone())).await {
            return Ok(answer.map(drop)?);
        }
    }
    Err(silent())
}

fn silent() -> Failure {
    Failure::Silent("The stack does not answer at present.".to_owned())
}
