//! `GET …/feed`: the log, from any position on, without gap or repeat, as Server-Sent Events or as
//! lines of JSON.
//!
//! Each open feed has a task that reads the log and a bounded queue to its connection. What is past
//! is read where the landmarks say that there is something to find; what is to come is followed. A
//! reader that leaves the queue full for too long is told where it was cut; it comes back with
//! `Last-Event-ID` and misses nothing.

mod frame;
mod queue;
mod validity;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use bytes::Bytes;
use futures::StreamExt;
use tokio::time::{Instant, MissedTickBehavior};

use self::frame::Format;
pub(super) use self::frame::Frames;
use self::queue::{Queue, TooSlow};
use self::validity::Validity;
use super::ApiState;
use super::context::Context;
use super::error::Fault;
use super::front;
use super::request::Params;
use super::selection;
use super::v1::{StackPath, State, any_stack};
use crate::events::log::{Filter, LogError};
use crate::events::{Position, RecordedEvent, When};
use crate::model::Selection;
use crate::projections::{StackRow, TOLD_KINDS, ViewError, event_shown};

/// How often a silent feed shows that it is alive.
const HEARTBEAT_SECS: Duration = Duration::from_secs(15);

/// How many events are read at a time of what is past.
const PAGE_EVENTS: usize = 256;

/// How much goes to a client together.
const TOGETHER_BYTES: usize = 32 * 1024;

/// `?after=latest`: only what is yet to come.
const LATEST: &str = "latest";

/// `?after=action`: from the beginning of what the stack is at, or did last.
const ACTION: &str = "action";

/// `?until=now`: what there is, and no more.
const NOW: &str = "now";

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
    let project = match &of_path {
        Some(stack) => Some(stack.project_id.clone()),
        None => (verbs.len() == 1).then(|| context.caller.project_id.clone()),
    };
    let selection = selection::read(&state, &params, project, of_path).await?;
    let after = starting_point(&state, &request, &params, &selection).await?;
    let until = end_point(&state, &params).await?;
    let counted = front::feed(&state, &request, &context.caller)?;
    let format = Format::of(&request);
    let (queue, reader) = queue::queue();
    let validity = Validity::of(context, verbs);
    let reached = Rc::new(Cell::new(after));
    actix_web::rt::spawn(pump(state, Feed { selection, until, format, reached }, queue, validity));
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
            When::Position(position) => Ok(position),
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

/// Reads the log until the client, the server or the log goes away.
async fn pump(state: State, mut feed: Feed, queue: Queue, validity: Validity) {
    let mut stopping = state.stopping.clone();
    let format = feed.format;
    let reached = Rc::clone(&feed.reached);
    let ended = tokio::select! {
        ended = feed.run(&state, &queue) => ended,
        _ = stopping.wait_for(|stopping| *stopping) => Err(Ended::Stopping),
        () = queue.closed() => return,
        why = validity.ends(&state) => Err(why),
    };
    if let Err(error) = ended {
        tracing::info!(%error, "a feed ended");
        queue.end(format.end(reached.get(), &error.to_string()));
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
    #[error("the server stops")]
    Stopping,
}

impl From<TooSlow> for Ended {
    fn from(_: TooSlow) -> Self {
        Ended::Slow
    }
}

/// A feed that is open.
struct Feed {
    selection: Selection,
    until: Option<Position>,
    format: Format,
    /// The client has been given everything up to here.
    reached: Rc<Cell<Position>>,
}

impl Feed {
    async fn run(&mut self, state: &ApiState, queue: &Queue) -> Result<(), Ended> {
        queue.put(self.format.greeting()).await?;
        self.past(state, queue).await?;
        match self.until {
            Some(until) => self.pages(state, queue, until).await,
            None => self.live(state, queue).await,
        }
    }

    /// What the landmarks know of, block by block.
    async fn past(&mut self, state: &ApiState, queue: &Queue) -> Result<(), Ended> {
        let search = self.selection.search();
        if search.is_empty() {
            return Ok(());
        }
        if let Some(until) = self.until {
            state.views.after(until).await?;
        }
        let end = self.until.unwrap_or_else(|| state.views.position());
        loop {
            let blocks = state.views.blocks(&search, self.reached.get()).await?;
            let Some(last) = blocks.last().map(|block| *block.end()) else { break };
            for block in blocks {
                let before = Position(block.start().saturating_sub(1));
                self.reached.set(self.reached.get().max(before.min(end)));
                self.pages(state, queue, Position(*block.end()).min(end)).await?;
            }
            if last >= end.0 {
                break;
            }
        }
        self.reached.set(self.reached.get().max(end));
        Ok(())
    }

    /// Everything that is there up to a position.
    async fn pages(&mut self, state: &ApiState, queue: &Queue, to: Position) -> Result<(), Ended> {
        let filter = Filter { kinds: TOLD_KINDS.to_vec() };
        while self.reached.get() < to {
            let page = state.log.read_all(self.reached.get(), &filter, PAGE_EVENTS).await?;
            let wanted = page.partition_point(|event| event.position <= to);
            self.give(state, queue, &page[..wanted], event_shown).await?;
            if wanted < page.len() || page.last().is_none_or(|event| event.position >= to) {
                self.reached.set(to);
            }
        }
        Ok(())
    }

    /// Everything from here on, as it happens.
    async fn live(&mut self, state: &ApiState, queue: &Queue) -> Result<(), Ended> {
        let filter = Filter { kinds: TOLD_KINDS.to_vec() };
        let events = state.log.subscribe(self.reached.get(), filter);
        let mut events = events.ready_chunks(PAGE_EVENTS);
        let first = Instant::now() + HEARTBEAT_SECS;
        let mut heartbeat = tokio::time::interval_at(first, HEARTBEAT_SECS);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                events = events.next() => {
                    let Some(events) = events else { return Ok(()) };
                    let events: Vec<_> = events.into_iter().collect::<Result<_, _>>()?;
                    self.give(state, queue, &events, |event| state.frames.data(event)).await?;
                }
                _ = heartbeat.tick() => queue.put(self.format.heartbeat()).await?,
            }
        }
    }

    /// Gives to the client those of some events that it asked for, together: what comes at once
    /// goes out at once.
    async fn give(
        &mut self,
        state: &ApiState,
        queue: &Queue,
        events: &[Arc<RecordedEvent>],
        data: impl Fn(&RecordedEvent) -> Bytes,
    ) -> Result<(), Ended> {
        let mut frames = Vec::new();
        for event in events {
            if self.selection.takes(&state.views, event).await? {
                self.format.write_event(event, &data(event), &mut frames);
            }
            if frames.len() >= TOGETHER_BYTES {
                queue.put(std::mem::take(&mut frames).into()).await?;
                self.reached.set(event.position);
            }
        }
        if !frames.is_empty() {
            queue.put(frames.into()).await?;
        }
        if let Some(last) = events.last() {
            self.reached.set(last.position);
        }
        Ok(())
    }
}
