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
use crate::model::{CommandId, Refusal};
use crate::resource_types::{Failure, Said, SignalOutcome, Subject};

/// Asks a stack whether a signal has led to a restart before; a refusal is why it cannot lead to one
/// now.
#[derive(Message)]
#[rtype(result = "Result<bool, Refusal>")]
struct HasRestarted(CommandId);

impl Handler<HasRestarted> for Shell<Stack> {
    type Result = Result<bool, Refusal>;

    fn handle(&mut self, asked: HasRestarted, _ctx: &mut Context<Self>) -> Self::Result {
        self.machine.restarted(asked.0)
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
        let meta = meta(asked, restart_of(signal));
        mark(services, restarter, reference, &meta).await?;
        let told = tell(services, stack, &meta, &StackCommand::Restart { signal }).await;
        told.ok_or_else(silent)??;
    }
    Ok(SignalOutcome { said: Said::Details, ..SignalOutcome::default() })
}

/// The id of all that a signal has told for a restart: the same however often it is carried out.
fn restart_of(signal: CommandId) -> CommandId {
    CommandId(derived(&[signal.0.as_bytes(), b"restart"]))
}

/// What the resource is told whose restarter was signaled.
fn marking(restarter: &Subject) -> ResourceCommand {
    let name = restarter.name.clone().unwrap_or_default();
    ResourceCommand::Mark { healthy: false, reason: format!("{name} was signaled") }
}

/// Notes that the resource of a reference is not healthy.
async fn mark(
    services: &Services,
    restarter: &Subject,
    reference: &str,
    meta: &Arc<Meta>,
) -> Result<(), Failure> {
    let stack = restarter.stack_id.unwrap_or_default();
    for _ in 0..SENDS_MAX {
        let found = services.ask_of(stack, || ResourceReferred(reference.to_owned())).await;
        let missing = || Failure::NotFound("There is no such resource to restart".to_owned());
        let resource = found.ok_or_else(silent)?.ok_or_else(missing)?;
        let marking = services.measures.ask(marking(restarter), meta.clone());
        if let Ok(answer) = resource.send(marking).await {
            return Ok(answer.map(drop)?);
        }
    }
    Err(silent())
}

fn silent() -> Failure {
    Failure::Silent("The stack does not answer at present.".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::actors::resource::Outcome;
    use crate::actors::resource::story::{converge, given_nothing, traversal};

    fn signal(number: u128) -> CommandId {
        CommandId(uuid::Uuid::from_u128(number))
    }

    #[test]
    fn a_signal_tells_the_same_however_often_it_is_carried_out_and_nothing_under_its_own_id() {
        assert_eq!(restart_of(signal(1)), restart_of(signal(1)));
        assert_ne!(restart_of(signal(1)), restart_of(signal(2)));
        assert_ne!(restart_of(signal(1)), signal(1));
    }

    #[test]
    fn what_a_restarter_means_is_unhealthy_from_then_on_and_says_who_was_signaled() {
        let restarter = Subject { name: Some("medic".into()), ..Subject::default() };
        let given = |number| converge(number, "OS::Heat::TestResource", serde_json::json!({}));
        let story = given_nothing().when(given(1)).when(marking(&restarter));
        assert_eq!(story.told(), ["HealthMarked"]);
        assert_eq!(story.resource.reason, "medic was signaled");
        assert_eq!(story.when(given(2)).outcome(), Some((traversal(2), Outcome::Replace)));
    }
}
