//! Who asks, in which project: what the token says, checked against the URL.

use std::future::{Ready, ready};
use std::sync::Arc;

use actix_web::{FromRequest, HttpMessage, HttpRequest, dev};

use super::ApiState;
use super::error::Fault;
use super::request::state;
use crate::model::{Caller, ProjectId, RequestId, Secret};
use crate::openstack::FetchBudget;
use crate::policy::Policy;

/// What the token check found, kept with the request.
#[derive(Clone)]
pub(super) struct Authenticated {
    pub(super) caller: Arc<Caller>,
    pub(super) token: Secret<String>,
}

/// A request whose token is good for the project in its URL.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) caller: Arc<Caller>,
    pub(super) token: Secret<String>,
    pub(super) request_id: RequestId,
    policy: Arc<Policy>,
    /// What the request may still fetch.
    pub(super) fetches: FetchBudget,
}

impl Context {
    /// A request whose caller is known, in his own project.
    pub(super) fn of_caller(
        state: &ApiState,
        Authenticated { caller, token }: Authenticated,
        request_id: RequestId,
    ) -> Result<Self, Fault> {
        if caller.project_id.as_str().is_empty() {
            return Err(Fault::other_project());
        }
        let (policy, fetches) = (Arc::clone(&state.policy), FetchBudget::default());
        Ok(Self { caller, token, request_id, policy, fetches })
    }

    /// Refuses what the policy does not allow the caller.
    pub(super) async fn require(&self, verb: &str) -> Result<(), Fault> {
        match self.policy.may(&self.caller, verb).await {
            true => Ok(()),
            false => Err(Fault::forbidden(verb)),
        }
    }

    /// Takes what Keystone says of the caller now.
    pub(super) async fn renew(&mut self, mut caller: Arc<Caller>) {
        if self.policy.is_admin(&caller).await {
            Arc::make_mut(&mut caller).admin = true;
        }
        self.caller = caller;
    }

    /// The project whose stacks the caller sees; an administrator sees all.
    pub(super) fn visible_project(&self) -> Option<ProjectId> {
        (!self.caller.is_admin()).then(|| self.caller.project_id.clone())
    }
}

impl FromRequest for Context {
    type Error = Fault;
    type Future = Ready<Result<Self, Fault>>;

    fn from_request(request: &HttpRequest, _: &mut dev::Payload) -> Self::Future {
        ready(of(request))
    }
}

fn of(request: &HttpRequest) -> Result<Context, Fault> {
    let extensions = request.extensions();
    let (Some(found), Some(request_id)) =
        (extensions.get::<Authenticated>(), extensions.get::<RequestId>())
    else {
        return Err(Fault::new("Error", "An internal error occurred."));
    };
    let project = request.match_info().get("project").unwrap_or_default();
    // Heat redirects to the project of a stack's owner, so an administrator may come with another
    // project in the URL than the token's; the token's counts.
    if project != found.caller.project_id.as_str() && !found.caller.is_admin() {
        return Err(Fault::other_project());
    }
    Context::of_caller(state(request)?, found.clone(), request_id.clone())
}
