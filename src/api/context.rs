//! Who asks, in which project: what the token says, checked against the URL.

use std::sync::Arc;

use actix_web::{HttpMessage, HttpRequest};

use super::error::Fault;
use super::{ApiState, conditions};
use crate::actors::{Conditions, Login};
use crate::model::{Caller, ProjectId, RequestId, Secret};
use crate::openstack::FetchBudget;
use crate::policy::Policy;

/// What the token check found, kept with the request.
#[derive(Clone)]
pub(super) struct Authenticated {
    pub(super) caller: Arc<Caller>,
    pub(super) token: Secret<String>,
    /// What the request has beside it.
    pub(super) login: Option<Login>,
}

/// A request whose token is good for the project in its URL.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) caller: Arc<Caller>,
    pub(super) token: Secret<String>,
    pub(super) login: Option<Login>,
    pub(super) request_id: RequestId,
    /// What must hold for a change.
    pub(super) conditions: Conditions,
    /// By which the request is known when it comes again.
    pub(super) key: Option<String>,
    policy: Arc<Policy>,
    /// What the request may still fetch.
    pub(super) fetches: FetchBudget,
    /// Whether it has a JSON object where none is taken.
    has_surplus: bool,
}

/// What takes a body with any verb: a redirect, where the client sends it again.
const LOOKUP: &str = "stacks:lookup";

impl Context {
    /// A request whose caller is known, in his own project.
    pub(super) fn of_caller(
        state: &ApiState,
        Authenticated { caller, token, login }: Authenticated,
        request_id: RequestId,
    ) -> Result<Self, Fault> {
        if caller.project_id.as_str().is_empty() {
            return Err(Fault::other_project());
        }
        let (policy, fetches) = (Arc::clone(&state.policy), FetchBudget::default());
        let (conditions, key) = (Conditions::default(), None);
        let has_surplus = false;
        Ok(Self { caller, token, login, request_id, conditions, key, policy, fetches, has_surplus })
    }

    /// Refuses what the policy does not allow the caller, and then a body that is not taken: before
    /// anybody looks for what the path names, as in Heat.
    pub(super) async fn require(&self, verb: &str) -> Result<(), Fault> {
        match self.policy.may(&self.caller, verb).await {
            true if self.has_surplus && verb != LOOKUP => Err(Fault::malformed()),
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

    /// The same request, which has a JSON object where none is taken, or not.
    pub(super) fn with_surplus(self, has_surplus: bool) -> Self {
        Self { has_surplus, ..self }
    }

    /// The project whose stacks the caller sees; an administrator sees all.
    pub(super) fn visible_project(&self) -> Option<ProjectId> {
        (!self.caller.is_admin()).then(|| self.caller.project_id.clone())
    }
}

/// Whose a request is that names a project, after the token check.
pub(super) fn of(request: &HttpRequest, state: &ApiState) -> Result<Context, Fault> {
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
    let (conditions, key) = (conditions::read(request)?, conditions::key(request)?);
    let context = Context::of_caller(state, found.clone(), request_id.clone())?;
    Ok(Context { conditions, key, ..context })
}
