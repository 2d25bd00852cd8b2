//! The token check in front of every versioned URL, with the answers of `keystonemiddleware`.

use std::net::IpAddr;
use std::sync::Arc;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HOST, HeaderMap, ORIGIN, WWW_AUTHENTICATE};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse, HttpResponseBuilder, ResponseError, web};
use serde_json::json;

use super::ApiState;
use super::context::Authenticated;
use super::error::Fault;
use super::front::{self, Auth};
use crate::actors::Login;
use crate::model::{Caller, ProjectId, Refusal, Secret, header_text};
use crate::openstack::{
    AuthBackend, CloudError, EntranceError, Identity, NameAndPassword, ProjectNamed,
    SENT_TO_BACKEND,
};

/// The domain of a user who names none.
const DEFAULT_DOMAIN: &str = "default";
/// Whose a request is, and in which project, that says nothing and need not.
const ADMIN: &str = "admin";

/// Lets a request pass that Keystone knows the user of.
pub(super) async fn authenticate<B: MessageBody>(
    state: web::Data<ApiState>,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    match caller_of(&state, &request).await {
        Ok(authenticated) => {
            let _admitted = match front::admit(&state, request.request(), &authenticated.caller) {
                Ok(admitted) => admitted,
                Err(fault) => {
                    let refused = fault.error_response();
                    return Ok(request.into_response(refused).map_into_right_body());
                }
            };
            request.extensions_mut().insert(authenticated);
            Ok(next.call(request).await?.map_into_left_body())
        }
        Err(refused) => Ok(request.into_response(refused).map_into_right_body()),
    }
}

/// Whose a request is.
async fn caller_of(
    state: &ApiState,
    request: &ServiceRequest,
) -> Result<Authenticated, HttpResponse> {
    let headers = request.headers();
    let header = |name: &str| headers.get(name).map(|value| header_text(value.as_bytes()));
    match &state.settings.front.auth {
        Auth::Password if header("x-auth-key").is_some() => {
            // As in Heat, it is for the project of the URL.
            let project = ProjectId(request.path().split('/').nth(2).unwrap_or_default().into());
            let password = Secret::new(header("x-auth-key").unwrap_or_default().into_owned());
            let given = NameAndPassword {
                name: &header("x-auth-user").unwrap_or_default(),
                password: &password,
                user_domain_id: &header("x-user-domain-id").unwrap_or(DEFAULT_DOMAIN.into()),
                project: ProjectNamed::Id(&project),
            };
            let Some(cloud) = &state.cloud else { return Err(unauthorized(state)) };
            let found = cloud.entered(header("x-auth-url").as_deref(), &given).await;
            let found = found.map_err(|error| turned_away(state, error))?;
            Ok(with_login(state, headers, found).await)
        }
        Auth::Nothing { password } if header("x-auth-token").is_none() => {
            if is_of_a_page(headers) {
                return Err(unauthorized(state));
            }
            let given = NameAndPassword {
                name: &header("x-auth-user").unwrap_or(ADMIN.into()),
                password,
                user_domain_id: DEFAULT_DOMAIN,
                project: ProjectNamed::Name(&header("x-auth-project").unwrap_or(ADMIN.into())),
            };
            logged_in(state, headers, &given).await
        }
        Auth::Backend(backend) => let_in(state, backend, request).await,
        Auth::Token | Auth::Password | Auth::Nothing { .. } => identify(state, headers).await,
    }
}

/// Whether a browser may have been made to send it by a page of somebody else's: by a name that
/// leads to this machine, or with that page's origin.
fn is_of_a_page(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name).trim_matches(['[', ']']);
    let is_here = name == "localhost" || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
    !is_here || headers.contains_key(ORIGIN)
}

/// The name and the password that a request has, which may stand beside a token: clients send them
/// for work that goes on when that is gone.
fn login(headers: &HeaderMap) -> Option<Login> {
    let text = |name| Some(header_text(headers.get(name)?.as_bytes()).into_owned());
    Some(Login { name: text("x-auth-user")?, password: Secret::new(text("x-auth-key")?) })
}

async fn logged_in(
    state: &ApiState,
    headers: &HeaderMap,
    given: &NameAndPassword<'_>,
) -> Result<Authenticated, HttpResponse> {
    let Some(cloud) = &state.cloud else { return Err(unauthorized(state)) };
    let found = cloud.logged_in(given).await.map_err(|error| refused(state, error))?;
    Ok(with_login(state, headers, found).await)
}

async fn with_login(
    state: &ApiState,
    headers: &HeaderMap,
    (identity, token): (Identity, Secret<String>),
) -> Authenticated {
    let login = login(headers);
    Authenticated { caller: known(state, identity.caller).await, token, login }
}

/// In Heat's words, whoever names no Keystone that he may name.
fn turned_away(state: &ApiState, error: EntranceError) -> HttpResponse {
    let message = error.to_string();
    let error = match error {
        EntranceError::Cloud(error) => return refused(state, error),
        EntranceError::NotAllowed(_) => return unauthorized_for(challenge(state), &message),
        EntranceError::Unnamed => {
            json!({ "code": 400, "title": "Bad Request", "message": message })
        }
    };
    HttpResponse::BadRequest().json(json!({ "error": error }))
}

/// Whose a request is by the word of the operator's own server.
async fn let_in(
    state: &ApiState,
    backend: &AuthBackend,
    request: &ServiceRequest,
) -> Result<Authenticated, HttpResponse> {
    let headers = request.headers();
    let shown = SENT_TO_BACKEND.iter().filter_map(|name| {
        let value = header_text(headers.get(*name)?.as_bytes());
        Some((*name, Secret::new(value.into_owned())))
    });
    let mut sent: Vec<_> = shown.collect();
    let failed = || unauthorized_for(HttpResponse::Unauthorized(), "Backend authentication failed");
    let (false, Some(cloud)) = (sent.is_empty(), &state.cloud) else { return Err(failed()) };
    let project = request.path().split('/').nth(2).unwrap_or_default();
    sent.push(("x-project-id", Secret::new(project.to_owned())));
    let (identity, token) = cloud.let_in(backend, &sent).await.map_err(|error| match error {
        CloudError::InvalidToken => failed(),
        CloudError::Unreadable { reason, .. } => {
            tracing::error!(reason, "what auth_backend_url answers cannot be used");
            let text = format!("The authentication backend gives no usable answer: {reason}.");
            Fault::from(Refusal::unavailable(text)).error_response()
        }
        error => refused(state, error),
    })?;
    let login = login(headers);
    Ok(Authenticated { caller: known(state, identity.caller).await, token, login })
}

/// Whose the token is that a request has.
pub(super) async fn identify(
    state: &ApiState,
    headers: &HeaderMap,
) -> Result<Authenticated, HttpResponse> {
    let given = headers.get("x-auth-token").and_then(|token| token.to_str().ok());
    let (Some(token), Some(cloud)) = (given.filter(|token| !token.is_empty()), &state.cloud) else {
        return Err(unauthorized(state));
    };
    let token = Secret::new(token.to_owned());
    let identity = cloud.validate_token(&token).await.map_err(|error| refused(state, error))?;
    let login = login(headers);
    Ok(Authenticated { caller: known(state, identity.caller).await, token, login })
}

fn refused(state: &ApiState, error: CloudError) -> HttpResponse {
    match error {
        CloudError::InvalidToken => unauthorized(state),
        error => {
            tracing::error!(%error, "it cannot be seen whose a request is");
            let refusal =
                Refusal::unavailable("The identity service cannot be reached at present.");
            Fault::from(refusal).error_response()
        }
    }
}

/// The caller as the operator's rules know him.
pub(super) async fn known(state: &ApiState, mut caller: Arc<Caller>) -> Arc<Caller> {
    if state.policy.is_admin(&caller).await {
        Arc::make_mut(&mut caller).admin = true;
    }
    let span = tracing::Span::current();
    span.record("user", &*caller.user_id).record("project", caller.project_id.as_str());
    caller
}

fn unauthorized(state: &ApiState) -> HttpResponse {
    unauthorized_for(challenge(state), "The request you have made requires authentication.")
}

fn challenge(state: &ApiState) -> HttpResponseBuilder {
    let place = format!("Keystone uri=\"{}\"", state.settings.auth_url);
    let mut answer = HttpResponse::Unauthorized();
    answer.insert_header((WWW_AUTHENTICATE, place));
    answer
}

fn unauthorized_for(mut answer: HttpResponseBuilder, message: &str) -> HttpResponse {
    answer.json(json!({ "error": { "code": 401, "title": "Unauthorized", "message": message } }))
}
