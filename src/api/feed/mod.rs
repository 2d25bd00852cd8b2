//! `GET …/feed`: the log, from any position on, without gap or repeat, as Server-Sent Events or as
//! lines of JSON.
//!
//! Each open feed has a task that reads the log (`pump.rs`) and a bounded queue to its connection.

mod frame;
mod pump;
mod queue;
mod validity;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;

use self::frame::Format;
pub(super) use self::frame::Frames;
use self::pump::{Ended, Feed, Source, pump};
use self::validity::Validity;
use super::ApiState;
use super::context::Context;
use super::error::Fault;
use super::front;
use super::past::expect_past;
use super::query::{Param, boolean, text};
use super::request::Params;
use super::selection;
use super::v1::{StackPath, State, any_stack};
use crate::events::{Position, When};
use crate::model::Selection;
use crate::projections::StackRow;

/// `?after=latest`: only what is yet to come.
const LATEST: &str = "latest";

/// `?after=action`: from the beginning of what the stack is at, or did last.
const ACTION: &str = "action";

/// `?until=now`: what there is, and no more.
const NOW: &str = "now";

/// What every feed reads of its query beside the filters.
pub(super) const QUERY: &[Param] = &[text("after"), text("until")];

/// What the feed of a project reads beside that.
pub(super) const OF_PROJECT: &[Param] = &[boolean("all_projects"), selection::STACK];

/// The feed of a project, or for an administrator of all.
pub(super) async fn follow(
    state: State,
    context: Context,
    request: HttpRequest,
) -> Result<HttpResponse, Fault> {
    let everywhere = Params::of(&request).boolean("all_projects")?.unwrap_or(false);
    let verbs = match everywhere {
        true => vec!["feed:follow", "feed:all_projects"],
        false => vec!["feed:follow"],
    };
    opened(state, context, request, verbs, None).await
}

/// The feed of a stack and of all that stands within it.
pub(super) async fn follow_stack(
    state: State,
    context: Context,
    request: HttpRequest,
    path: web::Path<StackPath>,
) -> Result<HttpResponse, Fault> {
    context.require("feed:follow").await?;
    let stack = any_stack(&state, &context, &path).await?;
    opened(state, context, request, vec!["feed:follow"], Some(stack)).await
}

async fn opened(
    state: State,
    context: Context,
    request: HttpRequest,
    verbs: Vec<&'static str>,
    of_path: Option<StackRow>,
) -> Result<HttpResponse, Fault> {
    for verb in &verbs {
        context.require(verb).await?;
    }
    let params = Params::of(&request);
    if let Some(unknown) = params.unknown().next() {
        return Err(Fault::bad_request(format!("A feed has no \"{unknown}\".")));
    }
    let project = match &of_path {
        Some(stack) => Some(stack.project_id.clone()),
        None => (verbs.len() == 1).then(|| context.caller.project_id.clone()),
    };
    let selection = selection::read(&state, &context, &params, project, of_path).await?;
    let after = starting_point(&state, &request, &params, &selection).await?;
    let until = end_point(&state, &params).await?;
    let counted = front::feed(&state, &request, &context.caller)?;
    let format = Format::of(&request);
    let (queue, reader) = queue::queue();
    let validity = Validity::of(context, verbs);
    let feed = Feed::after(after, until, selection, format);
    actix_web::rt::spawn(async move {
        let source = Source { views: &state.views, log: state.log.as_ref(), frames: &state.frames };
        pump(source, feed, queue, ends(&state, validity)).await;
    });
    let body = futures::stream::unfold((reader, counted), |(mut reader, counted)| async {
        let frame = reader.next().await?;
        Some((Ok::<Bytes, Fault>(frame), (reader, counted)))
    });
    Ok(HttpResponse::Ok()
        .content_type(format.content_type())
        .insert_header(("cache-control", "no-store"))
        .insert_header(("x-accel-buffering", "no"))
        .streaming(body))
}

/// The position to go on from: what the client saw last, or what it asks for, or the beginning.
async fn starting_point(
    state: &ApiState,
    request: &HttpRequest,
    params: &Params,
    selection: &Selection,
) -> Result<Position, Fault> {
    let seen = request.headers().get("last-event-id").and_then(|value| value.to_str().ok());
    match seen.or_else(|| params.one("after")).map(str::trim) {
        None | Some("") => Ok(Position(0)),
        Some(LATEST) => Ok(state.log.durable_position()),
        Some(ACTION) => match selection.stacks[..] {
            [stack] => Ok(state.views.before_action(stack.id).await?),
            _ => Err(Fault::bad_request("after=action needs one stack.")),
        },
        Some(text) => match when(text)? {
            position @ When::Position(_) => {
                expect_past(state, position).await?;
                Ok(position.position(state.log.as_ref()).await?)
            }
            time @ When::Time(_) => Ok(time.position(state.log.as_ref()).await?),
        },
    }
}

/// The last position that is wanted, if there is one.
async fn end_point(state: &ApiState, params: &Params) -> Result<Option<Position>, Fault> {
    match params.one("until").map(str::trim) {
        None => Ok(None),
        Some(NOW) => Ok(Some(state.log.durable_position())),
        Some(text) => Ok(Some(when(text)?.position(state.log.as_ref()).await?)),
    }
}

fn when(text: &str) -> Result<When, Fault> {
    When::read(text).ok_or_else(|| {
        Fault::bad_request(format!("\"{text}\" is not a position in the event log, nor a time."))
    })
}

/// Returns when a feed has to end whatever there is to tell.
async fn ends(state: &ApiState, validity: Validity) -> Ended {
    let mut stopping = state.stopping.clone();
    tokio::select! {
        _ = stopping.wait_for(|stopping| *stopping) => Ended::Stopping,
        why = validity.ends(state) => why,
    }
}
