//! Who asks, in which project: what the token says, checked against the URL.

use std::sync::Arc;

use actix_web::http::Method;
use actix_web::http::header::CONTENT_LENGTH;
use actix_web::{FromRequest, HttpMessage, HttpRequest, dev};
use futures::future::{Either, LocalBoxFuture, Ready, ready};

use super::error::Fault;
use super::request::{Body, state};
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

    /// The project whose stacks the caller sees; an administrator sees all.
    pub(super) fn visible_project(&self) -> Option<ProjectId> {
        (!self.caller.is_admin()).then(|| self.caller.project_id.clone())
    }
}

impl FromRequest for Context {
    type Error = Fault;
    type Future = Either<Ready<Result<Self, Fault>>, LocalBoxFuture<'static, Result<Self, Fault>>>;

    fn from_request(request: &HttpRequest, payload: &mut dev::Payload) -> Self::Future {
        let context = of(request);
        let takes_none = matches!(*request.method(), Method::GET | Method::DELETE);
        if context.is_err() || !takes_none || !announces_body(request) {
            return Either::Left(ready(context));
        }
        let body = Body::from_request(request, payload);
        Either::Right(Box::pin(async move {
            Ok(Context { has_surplus: body.await?.0.is_some(), ..context? })
        }))
    }
}

/// Whether a body comes whose length is told; Heat sees no other with GET or DELETE.
fn announces_body(request: &HttpRequest) -> bool {
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.trim().parse().ok()).is_some_and(|length: u64| length > 0)
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
    let (conditions, key) = (conditions::read(request)?, conditions::key(request)?);
    let context = Context::of_caller(state(request)?, found.clone(), request_id.clone())?;
    Ok(Context { conditions, key, ..context })
}
