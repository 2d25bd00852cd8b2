//! Looks at resources through their stack, on its thread: one that rests goes on resting.

use std::future::ready;

use actix::prelude::*;

use super::look::{Look, LookOnce};
use super::resource::Resource;
use super::shell::{Inhabit, Shell};
use super::stack::Stack;
use super::stack_actor::child_of_others;
use crate::model::{JsonMap, ResourceName};

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

/// Asks for a resource's metadata as they are now: what the template makes of them, where that is
/// known, with what signals have added.
pub(super) struct MetadataNow(pub(super) ResourceName);

impl Message for MetadataNow {
    type Result = Seen<JsonMap>;
}

impl Handler<MetadataNow> for Shell<Stack> {
    type Result = ResponseFuture<Seen<JsonMap>>;

    fn handle(&mut self, of: MetadataNow, ctx: &mut Context<Self>) -> Self::Result {
        self.links.is_polled = true;
        let now = self.view().metadata_now(&of.0, &Stack::knowledge(&self.services));
        let metadata = |resource: &Resource| match now {
            Some(metadata) => resource.metadata_upon(metadata),
            None => resource.metadata(),
        };
        look(self, &of.0, Box::new(metadata), ctx)
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
