//! `?at=`: what the API would have answered then, under today's policy.

use actix_web::HttpRequest;
use chrono::TimeDelta;

use super::ApiState;
use super::context::Context;
use super::error::Fault;
use super::query::AT;
use super::request::Params;
use super::v1::{StackPath, State, any_stack};
use crate::events::{Position, Then, When};
use crate::model::StackRevision;
use crate::projections::StackRow;

/// What a read of a stack is answered from: what there is, or with `?at=` what there was. The
/// caller must be one who may read the stack now.
pub(super) async fn state_at(
    state: &State,
    context: &Context,
    request: &HttpRequest,
    path: &StackPath,
) -> Result<State, Fault> {
    let params = Params::of(request);
    let Some(text) = params.one(AT.name) else { return Ok(state.clone()) };
    let stack = any_stack(state, context, path).await?;
    let at = of_stack(state, &stack, text).await?;
    let views = state.views.at(&stack, at).await?;
    Ok(State::new(ApiState { views, past: Some(at), shared: state.shared.clone() }))
}

/// A position, a time or a revision of a stack as a position.
pub(super) async fn of_stack(
    state: &ApiState,
    stack: &StackRow,
    text: &str,
) -> Result<Position, Fault> {
    match revision(text) {
        Some(revision) => last_of_revision(state, stack, revision).await,
        None => position(state, text).await,
    }
}

/// The position of `?at=`, where no stack is named whose revision it could be.
pub(super) async fn position_at(
    state: &ApiState,
    params: &Params,
) -> Result<Option<Position>, Fault> {
    match params.one(AT.name) {
        Some(text) => Ok(Some(position(state, text).await?)),
        None => Ok(None),
    }
}

/// How far another's clock may be ahead of this one.
const CLOCKS_APART_MAX: TimeDelta = TimeDelta::minutes(1);

/// Refuses a moment that is still to come.
pub(super) async fn expect_past(state: &ApiState, when: When) -> Result<(), Fault> {
    let end = state.log.durable_position();
    match when {
        // Somebody else writes, and may have told of what is not seen here yet.
        When::Position(position) if position > end && state.log.is_read_only() => {
            Ok(state.views.soon_after(position).await?)
        }
        When::Position(position) if position > end => Err(Fault::bad_request(format!(
            "The event log ends at {end}: there is no position {position} yet."
        ))),
        When::Time(time) if time > state.clock.now() + CLOCKS_APART_MAX => {
            Err(Fault::bad_request(format!("{time} is still to come.")))
        }
        When::Position(_) | When::Time(_) => Ok(()),
    }
}

/// The end of the log, as one moment among others.
const NOW: &str = "now";

async fn position(state: &ApiState, text: &str) -> Result<Position, Fault> {
    let when = match text {
        NOW => Some(When::Position(state.log.durable_position())),
        text => When::read(text),
    };
    match when {
        Some(when) => {
            expect_past(state, when).await?;
            let position = when.position(state.log.as_ref()).await?;
            state.views.soon_after(position).await?;
            Ok(position)
        }
        None if revision(text).is_some() => Err(Fault::bad_request(format!(
            "\"{text}\" is a revision of one stack: here it has to be a position in the event log \
             or a time."
        ))),
        None => Err(Fault::bad_request(format!(
            "\"{text}\" is not a position in the event log, a time, `now`, or a revision such as r2."
        ))),
    }
}

/// `r2`: a revision of the stack.
pub(super) fn revision(text: &str) -> Option<StackRevision> {
    match Then::read(text) {
        Some(Then::Revision(revision)) => Some(revision),
        Some(Then::When(_)) | None => None,
    }
}

/// Where the log stood when the stack had a revision last.
async fn last_of_revision(
    state: &ApiState,
    stack: &StackRow,
    wanted: StackRevision,
) -> Result<Position, Fault> {
    state.views.soon_after(state.log.durable_position()).await?;
    let revisions = state.views.revisions(stack.id).await?;
    let mut from = revisions.iter().skip_while(|revision| revision.revision != wanted);
    if from.next().is_none() {
        return Err(no_revision(wanted));
    }
    Ok(match from.next() {
        Some(next) => Position(next.position.0.saturating_sub(1)),
        None => state.views.position(),
    })
}

/// The revision that was the stack's newest at a position or a time.
pub(super) async fn revision_then(
    state: &ApiState,
    stack: &StackRow,
    at: &str,
) -> Result<StackRevision, Fault> {
    let position = position(state, at).await?;
    let revisions = state.views.revisions(stack.id).await?;
    let newest = revisions.iter().take_while(|revision| revision.position <= position).last();
    newest.map(|revision| revision.revision).ok_or_else(|| {
        Fault::new("NotFound", format!("The stack {} was not there yet at {at}.", stack.name))
    })
}

fn no_revision(wanted: impl std::fmt::Display) -> Fault {
    Fault::new("NotFound", format!("The Revision ({wanted}) could not be found."))
}
