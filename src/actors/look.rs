//! A look at a resource by who has its address.

use actix::prelude::*;

use super::resource::Resource;
use super::shell::Shell;

/// Looks at a resource as it is now, and leaves it as it is.
pub(super) struct Look<T>(pub(super) Box<dyn FnOnce(&Resource) -> T + Send>);

impl<T: Send + 'static> Message for Look<T> {
    type Result = T;
}

impl<T: Send + 'static> Handler<Look<T>> for Shell<Resource> {
    type Result = MessageResult<Look<T>>;

    fn handle(&mut self, look: Look<T>, _ctx: &mut Context<Self>) -> Self::Result {
        MessageResult((look.0)(&self.machine))
    }
}
