//! Telling others of an alarm: a signal to a resource of its stack, or to one that an ARN names in
//! its project.

use std::sync::Arc;

use serde_json::json;

use super::alarm::MISSING;
use super::kept::Owed;
use crate::actors::asks::StackSummary;
use crate::actors::look::{AskSummary, ResourceNamed, ResourceReferred};
use crate::actors::resource::{ResourceCommand, Signal};
use crate::actors::services::{SENDS_MAX, Services};
use crate::events::alarm::{AlarmSignal, SignalTold};
use crate::events::{Cause, Meta};
use crate::model::{Action, Arn, ProjectId, ResourceName, StackId, Status, decoded};

/// Why a signal was not taken.
enum Unsent {
    /// It may be sent again.
    Unheard,
    Refused(String),
}

/// Sends the signals; one that was sent before is known by its id and taken once. What nobody has
/// heard yet is not among those that come back.
pub(super) async fn tell(services: &Services, project: &ProjectId, owed: &Owed) -> Vec<SignalTold> {
    let mut told = Vec::with_capacity(owed.signals.len());
    for signal in &owed.signals {
        let refused = match send(services, project, owed, signal).await {
            Ok(()) => None,
            Err(Unsent::Unheard) => continue,
            Err(Unsent::Refused(reason)) => {
                tracing::info!(alarm.id = %owed.alarm, reason, "an alarm's action was not taken");
                Some(reason)
            }
        };
        told.push(SignalTold { id: signal.id, refused });
    }
    told
}

async fn send(
    services: &Services,
    project: &ProjectId,
    owed: &Owed,
    signal: &AlarmSignal,
) -> Result<(), Unsent> {
    let named = resource_of(&signal.to);
    let no_stack = || Unsent::Refused(MISSING.to_owned());
    let stack = named.as_ref().map(|(stack, _)| *stack).or(owed.stack).ok_or_else(no_stack)?;
    let summary = services.ask_of(stack, || AskSummary).await.ok_or(Unsent::Unheard)?;
    let is_here = |it: &StackSummary| it.project_id == *project && !it.deleted;
    let summary = summary.filter(is_here).ok_or_else(no_stack)?;
    // As in Heat.
    if summary.action == Action::Delete || summary.status != Status::Complete {
        let text = format!("The stack {} is {}_{}", summary.name, summary.action, summary.status);
        return Err(Unsent::Refused(text));
    }
    let details = json!({ "alarm": owed.name, "state": owed.state.word() });
    let cause = Some(Cause::Event(owed.since));
    let meta = Arc::new(Meta { cause, ..Meta::of_command(signal.id) });
    for _ in 0..SENDS_MAX {
        let resource = match &named {
            Some((_, name)) => services.ask_of(stack, || ResourceNamed(name.clone())).await,
            None => services.ask_of(stack, || ResourceReferred(signal.to.clone())).await,
        };
        let resource = resource.ok_or(Unsent::Unheard)?.ok_or_else(no_stack)?;
        let details = details.clone();
        let command = ResourceCommand::Signal(Signal { id: signal.id, details, is_checked: false });
        let ask = services.measures.ask(command, Arc::clone(&meta));
        if let Ok(answer) = resource.send(ask).await {
            return answer.map(drop).map_err(|refusal| match refusal.is_unavailable() {
                true => Unsent::Unheard,
                false => Unsent::Refused(refusal.message),
            });
        }
    }
    Err(Unsent::Unheard)
}

/// The resource that an ARN names, of whichever stack.
fn resource_of(text: &str) -> Option<(StackId, ResourceName)> {
    let arn = Arn::read(text)?;
    let name = arn.within.strip_prefix("resources/")?;
    Some((decoded(arn.id).parse().ok()?, ResourceName(decoded(name))))
}
