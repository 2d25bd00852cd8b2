//! How a stack is asked for its summary, and how a resource of it is found, told something, and
//! looked at as it is.

use actix::prelude::*;

use super::asks::StackSummary;
use super::resource::{Resource, ResourceCommand};
use super::shell::{Ask, Expected, Receipt, Shell};
use crate::model::{Refusal, ResourceName};

/// Asks for the summary of a stack.
#[derive(Message)]
#[rtype(result = "Option<StackSummary>")]
pub struct AskSummary;

/// Asks for the actor of the incarnation that counts for a name.
#[derive(Message)]
#[rtype(result = "Option<Addr<Shell<Resource>>>")]
pub struct ResourceNamed(pub ResourceName);

/// Has the stack pass a command on to the incarnation that counts for a name, where it stands as
/// expected: what the stack itself tells the resource from then on comes later. `None` where the
/// resource went to rest meanwhile.
#[derive(Message)]
#[rtype(result = "Option<Result<Receipt, Refusal>>")]
pub struct PassOn {
    pub name: ResourceName,
    pub ask: Ask<ResourceCommand>,
    pub expected: Vec<Expected>,
}

/// Asks for the actor of the resource that a reference is of: what `get_resource` gives for it.
#[derive(Message)]
#[rtype(result = "Option<Addr<Shell<Resource>>>")]
pub struct ResourceReferred(pub String);

/// Asks for the name of the resource that is a user of this id.
#[derive(Message)]
#[rtype(result = "Option<ResourceName>")]
pub struct ResourceOfUser(pub String);

/// What is to be seen of a resource.
pub(super) type LookOnce<T> = Box<dyn FnOnce(&Resource) -> T + Send>;

/// Looks at a resource as it is now, and leaves it as it is.
pub(super) struct Look<T>(pub(super) LookOnce<T>);

impl<T: Send + 'static> Message for Look<T> {
    type Result = T;
}

impl<T: Send + 'static> Handler<Look<T>> for Shell<Resource> {
    type Result = MessageResult<Look<T>>;

    fn handle(&mut self, look: Look<T>, _ctx: &mut Context<Self>) -> Self::Result {
        MessageResult((look.0)(&self.machine))
    }
}
