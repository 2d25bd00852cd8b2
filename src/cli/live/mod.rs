//! Stacks at work, shown until they have settled: a picture on a terminal, and elsewhere a line for
//! each change.

mod draw;
mod feed;
mod screen;
mod silence;
mod state;
mod status;
#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::MissedTickBehavior;

use super::client::{Client, ClientError};
use super::columns::cut;
use super::data::with_causes;
use super::place::Place;
use crate::clock::{Clock, SystemClock};
use crate::model::StackId;

pub(super) use self::draw::{Focus, View, picture};
pub(super) use self::feed::Feed;
use self::feed::{News, UNANSWERED};
use self::screen::{Key, Screen};
pub(super) use self::screen::{Keys, columns, is_colored, size};
use self::silence::{SILENCE_MAX_MINUTES, Silence};
use self::state::Change;
pub(super) use self::state::State;
pub(super) use self::status::{LiveStatus, Progress};

/// The most often that the picture is drawn.
pub(super) const DRAW_EVERY: Duration = Duration::from_millis(100);
/// How often it is drawn where only times change.
const TIMES_EVERY: Duration = Duration::from_secs(1);
/// How often a server without a feed is asked.
const ASK_EVERY: Duration = Duration::from_secs(1);

/// How many levels of nested stacks are shown.
const NESTED_DEPTH: u32 = 20;

/// How it ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum End {
    /// The stack is no longer at work.
    Settled(LiveStatus),
    /// Somebody left before that.
    Left,
}

/// A stack, or all of them, and how they are followed.
pub(super) struct Live<'p> {
    place: &'p Place,
    focus: Focus,
    /// `/stacks/{name}/{id}`, where it is one.
    path: String,
    state: State,
    feed: Feed,
    /// The server has no feed: it is asked again and again.
    asks: bool,
    /// What is said where somebody wants to leave; nobody is held up where it is empty.
    farewell: Vec<String>,
    silence: Silence,
    is_leaving: bool,
    /// The end of an action, which is told last: others may still come to theirs.
    end: Option<Change>,
    /// Another action has begun after that end.
    is_overtaken: bool,
}

impl<'p> Live<'p> {
    /// Follows one stack from the beginning of what it is at.
    pub(super) async fn of_stack(place: &'p Place, path: &str) -> Result<Live<'p>, ClientError> {
        let mut state = State::default();
        let stack = take_stack(&place.client, path, &mut state).await?;
        let feed = Feed::follow(&place.client, &filter(stack), "action");
        Ok(Live::with(place, Focus::One(stack), path, state, feed))
    }

    /// Follows one stack from now on: it is about to be deleted, and may be gone before anybody
    /// looks.
    pub(super) async fn before_action(
        place: &'p Place,
        path: &str,
    ) -> Result<Live<'p>, ClientError> {
        let mut state = State::default();
        let stack = take_stack(&place.client, path, &mut state).await?;
        let mut feed = Feed::follow(&place.client, &filter(stack), "latest");
        let asks = feed.opened().await.is_err();
        Ok(Live { asks, ..Live::with(place, Focus::One(stack), path, state, feed) })
    }

    /// Follows all stacks.
    pub(super) async fn of_all(place: &'p Place) -> Result<Live<'p>, ClientError> {
        let mut feed = Feed::follow(&place.client, "", "latest");
        let asks = feed.opened().await.is_err();
        let mut state = State::default();
        take_stacks(&place.client, &mut state).await?;
        Ok(Live { asks, ..Live::with(place, Focus::All, "", state, feed) })
    }

    fn with(place: &'p Place, focus: Focus, path: &str, state: State, feed: Feed) -> Live<'p> {
        Live {
            place,
            focus,
            path: path.to_owned(),
            state,
            feed,
            asks: false,
            farewell: Vec::new(),
            silence: Silence::default(),
            is_leaving: false,
            end: None,
            is_overtaken: false,
        }
    }

    /// Says so where somebody presses Ctrl-C, who leaves by pressing it again.
    pub(super) fn farewell(mut self, words: Vec<String>) -> Live<'p> {
        self.farewell = words;
        self
    }

    /// Shows it until the stack has settled or somebody leaves.
    pub(super) async fn watch(mut self) -> Result<End, ClientError> {
        let mut screen = Screen::take();
        let mut keys = screen.as_ref().and_then(Screen::keys);
        let shown = self.follow(&mut screen, &mut keys).await;
        let size = screen.as_mut().map(Screen::size);
        drop(screen);
        match (size, &shown) {
            (Some((columns, lines)), Ok(_)) => self.leave_picture(columns, lines),
            (None, Ok(End::Settled(status))) => self.tell_end(status),
            _ => {}
        }
        shown
    }

    async fn follow(
        &mut self,
        screen: &mut Option<Screen>,
        keys: &mut Option<UnboundedReceiver<Key>>,
    ) -> Result<End, ClientError> {
        let mut interrupt = hear(SignalKind::interrupt());
        let mut terminate = hear(SignalKind::terminate());
        let mut tick = tokio::time::interval(DRAW_EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let (mut drawn_at, mut asked_at) = (None::<Instant>, Instant::now());
        let mut top = None;
        // Where the picture stood in the whole when it was drawn last.
        let mut seen = draw::Picture::default();
        let (mut has_changed, mut has_settled) = (true, false);
        loop {
            tokio::select! {
                news = self.feed.next(), if !self.asks => {
                    has_settled |= self.take(news, screen.is_none()).await;
                    has_changed = true;
                }
                () = heard(&mut interrupt) => {
                    if self.wants_to_leave(screen.is_none()) {
                        return Ok(End::Left);
                    }
                    has_changed = true;
                }
                () = heard(&mut terminate) => return Ok(End::Left),
                Some(key) = pressed(keys) => {
                    if key == Key::Leave && self.wants_to_leave(screen.is_none()) {
                        return Ok(End::Left);
                    }
                    top = scrolled(key, &seen, top);
                    has_changed = true;
                }
                _ = tick.tick() => {
                    let now = SystemClock.now();
                    if self.asks && asked_at.elapsed() >= ASK_EVERY {
                        asked_at = Instant::now();
                        has_settled = self.ask(screen.is_none()).await;
                        has_changed = true;
                    }
                    let times = drawn_at.is_none_or(|at| at.elapsed() >= TIMES_EVERY);
                    if let Some(screen) = screen && (has_changed || times) {
                        let (columns, lines) = screen.size();
                        self.state.notice = self.notices();
                        let view = View { columns, lines: Some(lines), top };
                        seen = picture(&self.state, self.focus, view, now);
                        screen.show(&seen.lines);
                        drawn_at = Some(Instant::now());
                        has_changed = false;
                    }
                    if self.focus == Focus::All {
                        self.state.forget(now);
                    }
                    if let Some(why) = self.silence.is_too_long() {
                        let (place, minutes) = (self.place.name.clone(), SILENCE_MAX_MINUTES);
                        return Err(ClientError::Silent { place, minutes, why });
                    }
                    if self.is_overtaken && let Some(end) = &self.end {
                        return Ok(End::Settled(end.status.clone()));
                    }
                    has_settled &= !self.is_at_work();
                    if has_settled && let Some(status) = self.confirmed().await? {
                        return Ok(End::Settled(status));
                    }
                }
            }
        }
    }

    /// Takes in what the feed brought; whether the stack has settled by it.
    async fn take(&mut self, news: Option<News>, tells: bool) -> bool {
        match news {
            Some(News::Told(told)) => {
                let Some(change) = self.state.apply(&told) else { return false };
                let is_whole = change.path.is_empty() && self.focus == Focus::One(change.stack);
                // The resource that a nested stack stands for tells of it.
                let is_nested = change.path.is_empty() && !is_whole && self.focus != Focus::All;
                if is_nested {
                    return false;
                }
                let is_over = matches!(change.status.progress, Progress::Done | Progress::Failed);
                if self.is_overtaken {
                    return false;
                }
                if is_whole && let Some(end) = self.end.take() {
                    if end.status.is_overtaken_by(&change.status) {
                        self.is_overtaken = true;
                        self.end = Some(end);
                        return false;
                    }
                    if tells {
                        self.tell(&end);
                    }
                }
                if is_whole && is_over {
                    self.end = Some(change);
                    return true;
                }
                if tells {
                    self.tell(&change);
                }
            }
            Some(News::Lost(why)) => {
                self.is_silent(&why, tells);
            }
            Some(News::Open) => {
                if self.silence.ends() {
                    // What happened meanwhile may be before where the feed goes on.
                    return self.ask(tells).await;
                }
            }
            Some(News::Refused(_)) | None => self.asks = true,
        }
        false
    }

    /// Asks how everything is; whether the stack is no longer at work.
    async fn ask(&mut self, tells: bool) -> bool {
        let client = &self.place.client;
        let asked = match self.focus {
            Focus::One(_) => take_stack(client, &self.path, &mut self.state).await.map(|_| ()),
            Focus::All => take_stacks(client, &mut self.state).await,
        };
        match asked {
            Ok(()) => {
                self.silence.ends();
                !self.is_at_work()
            }
            Err(ClientError::Refused { status: 404, .. }) => self.focus != Focus::All,
            Err(error) => {
                let why = match &error {
                    ClientError::Transport { .. } => UNANSWERED.to_owned(),
                    error => with_causes(error),
                };
                self.is_silent(&why, tells);
                false
            }
        }
    }

    /// There is no news of the place; said once for each reason.
    fn is_silent(&mut self, why: &str, tells: bool) {
        if self.silence.goes_on(why) && tells {
            self.notice_of_silence().iter().for_each(|line| eprintln!("{line}"));
        }
    }

    fn notice_of_silence(&self) -> Option<String> {
        let (why, place) = (self.silence.why()?, &self.place.name);
        let minutes = SILENCE_MAX_MINUTES;
        Some(format!("No news from {place}: {why}. Asking again, for {minutes} minutes at most."))
    }

    fn is_at_work(&self) -> bool {
        let Focus::One(id) = self.focus else { return true };
        let stack = self.state.stacks.get(&id);
        stack.is_some_and(|stack| stack.status.progress == Progress::Working)
    }

    /// What the stack has come to, if it stays so: a failed action may be rolled back, and the API
    /// may be a little behind the feed.
    async fn confirmed(&mut self) -> Result<Option<LiveStatus>, ClientError> {
        let Focus::One(id) = self.focus else { return Ok(None) };
        let status = self.state.stacks.get(&id).map(|stack| stack.status.clone());
        match self.place.client.get(&self.path).await {
            Ok(shown) => {
                let text = |key: &str| shown["stack"][key].as_str().unwrap_or_default();
                let found = LiveStatus::of(text("stack_status"), text("stack_status_reason"));
                let is_same = status.as_ref().is_some_and(|it| it.status() == found.status());
                Ok(status.filter(|_| is_same))
            }
            Err(ClientError::Refused { status: 404, .. }) => {
                Ok(Some(LiveStatus::of("DELETE_COMPLETE", "")).map(|gone| LiveStatus {
                    since: status.as_ref().and_then(|it| it.since),
                    until: status.as_ref().and_then(|it| it.until),
                    ..gone
                }))
            }
            Err(ClientError::Transport { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The first time it is said what goes on; whether it was the second.
    fn wants_to_leave(&mut self, tells: bool) -> bool {
        if self.is_leaving || self.farewell.is_empty() {
            return true;
        }
        self.is_leaving = true;
        if tells {
            self.farewell.iter().for_each(|line| eprintln!("{line}"));
        }
        false
    }

    fn notices(&self) -> Vec<String> {
        let farewell = if self.is_leaving { self.farewell.clone() } else { Vec::new() };
        self.notice_of_silence().into_iter().chain(farewell).collect()
    }

    /// Where no picture is drawn.
    fn tell(&self, change: &Change) {
        let Some(stack) = self.state.stacks.get(&change.stack) else { return };
        let (when, path) = match self.focus {
            Focus::One(_) => {
                let since = stack.status.since.unwrap_or(change.at);
                let secs = (change.at - since).num_milliseconds().max(0) as f64 / 1_000.0;
                let own = if change.path.is_empty() { &stack.name } else { &change.path };
                (format!("{secs:7.1} s"), own.clone())
            }
            Focus::All => {
                let slash = if change.path.is_empty() { "" } else { "/" };
                let path = format!("{}{slash}{}", stack.name, change.path);
                (change.at.format("%H:%M:%S").to_string(), path)
            }
        };
        screen::say(&format!("{when}  {}\n", told_line(&path, &change.status, change.at)));
    }

    /// The last line is the stack's own, be it that the feed told of its end or that it was asked.
    fn tell_end(&mut self, status: &LiveStatus) {
        let Focus::One(stack) = self.focus else { return };
        let asked =
            || Change { stack, path: String::new(), status: status.clone(), at: SystemClock.now() };
        let end = self.end.take().unwrap_or_else(asked);
        self.tell(&end);
    }

    /// The last picture stays in sight.
    fn leave_picture(&mut self, columns: usize, lines: usize) {
        self.state.notice.clear();
        let view = View { columns, lines: Some(lines.saturating_sub(2)), top: None };
        for line in picture(&self.state, self.focus, view, SystemClock.now()).lines {
            let text = if is_colored() { line.painted() } else { line.plain() };
            screen::say(&format!("{text}\n"));
        }
    }
}

/// Says in full why a stack has failed, of which a picture has room for a part.
pub(super) fn tell_reason(status: &LiveStatus) {
    if size().is_some() {
        let lines = status.reason.lines().map(|line| format!("{}\n", cut(line, usize::MAX)));
        screen::say(&format!("\n{}", lines.collect::<String>()));
    }
}

/// `network                  CREATE_COMPLETE  (0.3s)`, and what went wrong.
fn told_line(path: &str, status: &LiveStatus, at: DateTime<Utc>) -> String {
    let mut line = format!("{path:<24} {}", status.status());
    if status.progress != Progress::Working
        && let Some(took) = draw::time_of(status, at)
    {
        line.push_str(&format!("  ({took})"));
    }
    let tells_why = status.progress != Progress::Done && !status.reason.is_empty();
    if tells_why {
        line.push_str(&format!("  {}", cut(&status.reason, usize::MAX)));
    }
    line
}

/// What the feed is narrowed to.
fn filter(stack: StackId) -> String {
    format!("stack={stack}&nested=true&")
}

pub(super) async fn take_stack(
    client: &Client,
    path: &str,
    state: &mut State,
) -> Result<StackId, ClientError> {
    let shown = client.get(path).await?;
    let id = state.take_stack(&shown["stack"]);
    let id = id.ok_or_else(|| ClientError::Shape { url: path.to_owned() })?;
    // A stack that has been deleted lists none.
    if let Ok(listed) = client.get(&format!("{path}/resources?nested_depth={NESTED_DEPTH}")).await {
        state.take_resources(&listed["resources"]);
    }
    Ok(id)
}

async fn take_stacks(client: &Client, state: &mut State) -> Result<(), ClientError> {
    let listed = client.get("/stacks").await?;
    for shown in listed["stacks"].as_array().into_iter().flatten() {
        let Some(id) = state.take_stack(shown) else { continue };
        let status = state.stacks.get(&id).map(|stack| stack.status.progress);
        if status == Some(Progress::Working) {
            let name = shown["stack_name"].as_str().unwrap_or_default();
            let path = format!("/stacks/{name}/{id}/resources?nested_depth={NESTED_DEPTH}");
            if let Ok(listed) = client.get(&path).await {
                state.take_resources(&listed["resources"]);
            }
        }
    }
    Ok(())
}

/// The first row in sight after a key.
fn scrolled(key: Key, seen: &draw::Picture, top: Option<usize>) -> Option<usize> {
    let last = seen.rows.saturating_sub(seen.room);
    let at = seen.top;
    match key {
        Key::Up => Some(at.saturating_sub(1)),
        Key::Down => Some((at + 1).min(last)),
        Key::PageUp => Some(at.saturating_sub(seen.room)),
        Key::PageDown => Some((at + seen.room).min(last)),
        Key::First => Some(0),
        Key::Last => Some(last),
        Key::Follow => None,
        Key::Leave => top,
    }
}

fn hear(kind: SignalKind) -> Option<Signal> {
    signal(kind).inspect_err(|error| eprintln!("hearth: {}", with_causes(error))).ok()
}

async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}

async fn pressed(keys: &mut Option<UnboundedReceiver<Key>>) -> Option<Key> {
    match keys {
        Some(keys) => keys.recv().await,
        None => std::future::pending().await,
    }
}
