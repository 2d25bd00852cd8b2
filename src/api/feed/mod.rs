//! `GET …/feed`: the log as Server-Sent Events, from any position on, without gap or repeat.
//!
//! Each open feed has a task that follows the log and a bounded queue to its connection. A reader
//! that leaves the queue full for too long is disconnected; it comes back with `Last-Event-ID`
//! and misses nothing.

mod frame;
mod scope;
mod validity;

use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse};
use bytes::Bytes;
use futures::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use self::scope::{Scope, Selection};
use self::validity::Validity;
use super::ApiState;
use super::context::Context;
use super::error::Fault;
use super::front;
use super::request::Params;
use super::v1::State;
use crate::events::Position;
use crate::events::log::{Filter, LogError};
use crate::projections::ViewError;

/// Events that wait for a slow connection.
const QUEUE_MAX_EVENTS: usize = 256;

/// How long a reader may leave the queue full.
const SLOW_READER_SECS: Duration = Duration::from_secs(30);

/// How often a silent feed shows that it is alive.
const HEARTBEAT_SECS: Duration = Duration::from_secs(15);

/// A comment, which clients pass over.
const HEARTBEAT: &[u8] = b": still here\n\n";

/// Says to browsers how long to wait before they come back.
const GREETING: &[u8] = b"retry: 1000\n\n";

/// `?after=latest`: only what is yet to come.
const LATEST: &str = "latest";

/// `?after=action`: from the beginning of what the stack is at, or did last.
const ACTION: &str = "action";

pub(super) async fn follow(
    state: State,
    context: Context,
    request: HttpRequest,
) -> Result<HttpResponse, Fault> {
    let params = Params::of(&request);
    let everywhere = params.boolean("all_projects")?.unwrap_or(false);
    let verbs = match everywhere {
        true => vec!["feed:follow", "feed:all_projects"],
        false => vec!["feed:follow"],
    };
    for verb in &verbs {
        context.require(verb).await?;
    }
    let project = (!everywhere).then(|| context.caller.project_id.clone());
    let selection = Selection::of(&state, &params, project).await?;
    let after = starting_point(&state, &request, &params, &selection).await?;
    let counted = front::feed(&state, &request, &context.caller)?;
    let (sender, receiver) = mpsc::channel(QUEUE_MAX_EVENTS);
    let validity = Validity::of(context, verbs);
    actix_web::rt::spawn(pump(state, selection, after, sender, validity));
    let body = futures::stream::unfold((receiver, counted), |(mut receiver, counted)| async {
        let chunk = receiver.recv().await?;
        Some((Ok::<Bytes, Fault>(chunk), (receiver, counted)))
    });
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
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
        Some(ACTION) => match selection.only_stack() {
            Some(stack) => Ok(state.views.before_action(stack).await?),
            None => Err(Fault::bad_request("after=action needs one stack.")),
        },
        Some(text) => text.parse().map(Position).map_err(|_| {
            Fault::bad_request(format!("\"{text}\" is not a position in the event log."))
        }),
    }
}

/// Follows the log until the client, the server or the log goes away.
async fn pump(
    state: State,
    selection: Selection,
    after: Position,
    sender: mpsc::Sender<Bytes>,
    validity: Validity,
) {
    let mut stopping = state.stopping.clone();
    let ended = tokio::select! {
        ended = feed(&state, selection, after, &sender) => ended,
        _ = stopping.wait_for(|stopping| *stopping) => return,
        () = sender.closed() => return,
        why = validity.ends(&state) => Err(why),
    };
    if let Err(error) = ended {
        tracing::info!(%error, "a feed ended");
    }
}

/// Why a feed ended before its client did.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("the log could not be read")]
    Log(#[from] LogError),
    #[error("an event's owner could not be looked up")]
    Lookup(#[from] ViewError),
    #[error("the reader is too slow")]
    Slow,
    #[error("its token is no longer valid")]
    Token,
    #[error("the identity service has not confirmed its token for too long")]
    Unconfirmed,
    #[error("its caller may no longer follow it")]
    Forbidden,
}

async fn feed(
    state: &ApiState,
    selection: Selection,
    after: Position,
    sender: &mpsc::Sender<Bytes>,
) -> Result<(), Ended> {
    put(sender, Bytes::from_static(GREETING)).await?;
    let mut scope = Scope::new(selection);
    let mut events = state.log.subscribe(after, Filter::default());
    let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT_SECS, HEARTBEAT_SECS);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            event = events.next() => {
                let Some(event) = event.transpose()? else { return Ok(()) };
                if scope.takes(&state.views, &event).await? {
                    put(sender, frame::of(&event)).await?;
                }
            }
            _ = heartbeat.tick() => put(sender, Bytes::from_static(HEARTBEAT)).await?,
        }
    }
}

async fn put(sender: &mpsc::Sender<Bytes>, chunk: Bytes) -> Result<(), Ended> {
    sender.send_timeout(chunk, SLOW_READER_SECS).await.map_err(|_| Ended::Slow)
}
