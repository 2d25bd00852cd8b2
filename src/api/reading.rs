//! A server that only reads: what would change something is refused, and whose it is, is said.

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::middleware::Next;
use actix_web::{Error, ResponseError, web};

use super::ApiState;
use super::error::Fault;
use crate::events::server::writer;

/// Lets a request pass that changes nothing, or for which the log can be written.
pub(super) async fn refuse_commands<B: MessageBody>(
    state: web::Data<ApiState>,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    if !state.log.is_read_only() || changes_nothing(request.method(), request.path()) {
        return Ok(next.call(request).await?.map_into_left_body());
    }
    let found = writer(state.log.as_ref()).await;
    let found = found.inspect_err(|error| tracing::warn!(%error, "the writer is not known"));
    let elsewhere = match found.ok().flatten() {
        Some(server) => format!("send this to {}", server.api),
        None => "send this to the server that writes its log".to_owned(),
    };
    let text = format!("This server only reads: {elsewhere}.");
    let refused = Fault::new("HTTPServiceUnavailable", text).error_response();
    Ok(request.into_response(refused).map_into_right_body())
}

/// Whether it is asked for by its verb, or is one of the looks that are sent like a command.
fn changes_nothing(method: &Method, path: &str) -> bool {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    method.is_safe()
        || matches!(
            parts[..],
            [_, _, "validate"]
                | [_, _, "stacks", "preview" | "plan"]
                | [_, _, "stacks", _, _, "preview" | "plan"]
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_known_by_their_verb_but_for_those_that_only_look() {
        let stack = "/v1/p/stacks/name/id";
        for path in ["", "/actions", "/resources/validate/signal", "/resources/preview"] {
            assert!(!changes_nothing(&Method::POST, &format!("{stack}{path}")), "{path}");
        }
        assert!(!changes_nothing(&Method::DELETE, stack));
        assert!(changes_nothing(&Method::GET, stack) && changes_nothing(&Method::HEAD, stack));
        for path in ["/v1/p/validate", "/v1/p/stacks/preview", "/v1/p/stacks/plan"] {
            assert!(changes_nothing(&Method::POST, path), "{path}");
        }
        assert!(changes_nothing(&Method::PATCH, &format!("{stack}/preview/")));
    }
}
