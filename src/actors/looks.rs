//! Looks at resources through their stack, on its thread: one that rests goes on resting.

use std::future::ready;

use actix::prelude::*;
use serde_json::Value;

use super::asks::StackHead;
use super::look::{Look, LookOnce};
use super::resource::Resource;
use super::shell::{Inhabit, Shell};
use super::stack::Stack;
use super::stack_actor::child_of_others;
use crate::model::{JsonMap, ResourceName};
use crate::resource_types::stack_user;

/// Looks at the incarnation that counts for a name.
pub(super) struct LookAt<T> {
    pub(super) name: ResourceName,
    pub(super) look: LookOnce<T>,
}

/// What came of a look.
pub(super) enum Seen<T> {
    As(T),
    /// There is no resource of the name.
    Missing,
    /// It went to rest meanwhile.
    Gone,
}

impl<T: Send + 'static> Message for LookAt<T> {
    type Result = Seen<T>;
}

impl<T: Send + 'static> Handler<LookAt<T>> for Shell<Stack> {
    type Result = ResponseFuture<Seen<T>>;

    fn handle(&mut self, at: LookAt<T>, ctx: &mut Context<Self>) -> Self::Result {
        look(self, &at.name, at.look, ctx)
    }
}

/// Asks for all that a request for one resource needs, in one message.
pub(super) struct AskResource {
    pub(super) name: ResourceName,
    /// Its metadata are wanted, too.
    pub(super) with_metadata: bool,
}

/// What is seen of a resource.
pub(super) struct SeenResource {
    /// The user that it has.
    pub(super) user: Option<Value>,
    /// The metadata as they are now: what the template makes of them, where that is known, with what
    /// signals have added. Empty where they are not wanted.
    pub(super) metadata: JsonMap,
}

impl Message for AskResource {
    type Result = (Option<StackHead>, Seen<SeenResource>);
}

impl Handler<AskResource> for Shell<Stack> {
    type Result = ResponseFuture<(Option<StackHead>, Seen<SeenResource>)>;

    fn handle(&mut self, ask: AskResource, ctx: &mut Context<Self>) -> Self::Result {
        let AskResource { name, with_metadata } = ask;
        self.links.is_polled |= with_metadata;
        let head = StackHead::of(self.view());
        let now = with_metadata
            .then(|| self.view().metadata_now(&name, &Stack::knowledge(&self.services)));
        let seen = move |resource: &Resource| SeenResource {
            user: resource.data.get(stack_user::USER).cloned(),
            metadata: match now {
                None => JsonMap::new(),
                Some(Some(metadata)) => resource.metadata_upon(metadata),
                Some(None) => resource.metadata(),
            },
        };
        let seen = look(self, &name, Box::new(seen), ctx);
        Box::pin(async move { (head, seen.await) })
    }
}

fn look<T: Send + 'static>(
    shell: &Shell<Stack>,
    name: &ResourceName,
    look: LookOnce<T>,
    ctx: &Context<Shell<Stack>>,
) -> ResponseFuture<Seen<T>> {
    let Some(id) = shell.view().incarnation(name) else { return Box::pin(ready(Seen::Missing)) };
    match shell.links.nest.look_resting(id, look) {
        Ok(seen) => Box::pin(ready(Seen::As(seen))),
        Err(look) => {
            let looked = child_of_others(shell, id, name, ctx).send(Look(look));
            Box::pin(async move { looked.await.map_or(Seen::Gone, Seen::As) })
        }
    }
}
