//! The project's actor.

use std::sync::Arc;

use actix::prelude::*;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::project::{Project, ProjectCommand, ProjectEffect};
use super::services::Services;
use super::shell::{Inhabit, Shell, Woken};
use crate::events::log::LogError;
use crate::events::{Position, RecordedEvent};
use crate::model::{StackId, StackName};

impl Inhabit for Project {
    const KIND: &'static str = "project";

    type Links = ();
    type Services = Services;

    fn knowledge(_services: &Arc<Services>) {}

    fn load(
        _services: Arc<Services>,
        _events: Vec<Arc<RecordedEvent>>,
        machine: Self,
    ) -> BoxFuture<'static, Result<Woken<Self>, LogError>> {
        futures::future::ready(Ok(Woken { machine, working: (), link: Box::new(|()| ()) })).boxed()
    }

    fn broken(shell: &mut Shell<Self>, _error: &LogError, ctx: &mut Context<Shell<Self>>) {
        shell.services.directory.forget_project(&ctx.address());
        ctx.stop();
    }

    fn perform(
        shell: &mut Shell<Self>,
        effect: ProjectEffect,
        at: Position,
        ctx: &mut Context<Shell<Self>>,
    ) {
        let ProjectEffect::ReturnTrust { user_id, trust_id } = effect;
        let (services, stream) = (shell.services.clone(), shell.stream().clone());
        let sealed = trust_id.clone();
        let give_back = async move {
            // Nothing leaves before it is on record, and the last events go out with the trust.
            if services.log.durable(at).await.is_err() {
                return false;
            }
            services.everybody_told(at).await;
            services.credentials.give_back(&services, &stream, &sealed).await
        };
        ctx.spawn(give_back.into_actor(shell).map(move |gone, shell, ctx| {
            if gone {
                let command = ProjectCommand::TrustGone { user_id, trust_id };
                ctx.address().do_send(shell.services.measures.ask(command, shell.meta().clone()));
            }
        }));
    }
}

/// Asks a project which stack holds a name.
#[derive(Message)]
#[rtype(result = "Option<StackId>")]
pub(super) struct HolderOf(pub(super) StackName);

impl Handler<HolderOf> for Shell<Project> {
    type Result = Option<StackId>;

    fn handle(&mut self, ask: HolderOf, _ctx: &mut Context<Self>) -> Option<StackId> {
        self.machine.holder(&ask.0)
    }
}

/// Asks a project for all of its names, and which stacks hold them.
#[derive(Message)]
#[rtype(result = "Vec<(StackName, StackId)>")]
pub(super) struct Names;

impl Handler<Names> for Shell<Project> {
    type Result = MessageResult<Names>;

    fn handle(&mut self, _ask: Names, _ctx: &mut Context<Self>) -> Self::Result {
        MessageResult(self.machine.holders().map(|(name, stack)| (name.clone(), stack)).collect())
    }
}
