//! Subscriptions: what there is, page by page, and then what comes.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tonic::Status;

use super::Cluster;
use super::append::{place, stream_name};
use super::reads::{Wanted, asked, structured};
use super::server::{buried, not_leader};
use super::store::Record;
use super::wire::{number, wide};

/// How many events go out at a time where there is no filter.
const PAGE: usize = 256;

type Messages = mpsc::Sender<Result<Value, Status>>;

/// Where a subscription to the whole log is.
struct Place {
    /// The next record to look at.
    next: usize,
    /// Nothing is sent up to here: it began beyond the end.
    beyond: u64,
    from_start: bool,
}

impl Cluster {
    /// Serves a subscription until its reader goes.
    pub(super) async fn subscription(
        self: Arc<Self>,
        node: usize,
        must_lead: bool,
        options: Value,
        messages: Messages,
    ) {
        let served = self.clone().serve(node, must_lead, &options, &messages);
        let ended = tokio::select! {
            ended = served => ended,
            () = messages.closed() => return,
        };
        if let Some(Err(status)) = ended {
            let _ = messages.send(Err(status)).await;
        }
    }

    /// `None` when the reader is gone.
    async fn serve(
        self: Arc<Self>,
        node: usize,
        must_lead: bool,
        options: &Value,
        messages: &Messages,
    ) -> Option<Result<(), Status>> {
        let confirmation = json!({ "subscription_id": "6b2f1c1e-0000-4000-8000-000000000000" });
        let confirmation = json!({ "confirmation": confirmation });
        let Some(all) = options.get("all") else {
            let name = stream_name(&options["stream"]);
            if self.lock().store.is_buried(&name) {
                return Some(Err(buried(&name)));
            }
            messages.send(Ok(confirmation)).await.ok()?;
            return self.follow_stream(node, &name, options, messages).await;
        };
        messages.send(Ok(confirmation)).await.ok()?;
        let Some(from) = self.place(all) else {
            return Some(Err(Status::invalid_argument("Trying to read from an invalid position.")));
        };
        if must_lead && self.lock().leader != Some(node) {
            if from.next < self.lock().store.records.len() {
                return Some(Err(not_leader(&self)));
            }
            messages.send(Ok(json!({ "caught_up": {} }))).await.ok()?;
            std::future::pending::<()>().await;
        }
        self.follow_all(node, from, options, messages).await
    }

    fn place(&self, all: &Value) -> Option<Place> {
        let state = self.lock();
        let end = state.store.records.len();
        let place = |next| Place { next, beyond: 0, from_start: false };
        if all.get("end").is_some() {
            return Some(place(end));
        }
        let Some((commit, prepare)) = all.get("position").map(asked) else {
            return Some(Place { from_start: true, ..place(0) });
        };
        if commit > state.store.end() {
            return Some(Place { beyond: commit, ..place(end) });
        }
        // A checkpoint of a catch-up stands before its event.
        Some(place(state.store.at(commit)? + usize::from(prepare != 0)))
    }

    async fn follow_all(
        &self,
        node: usize,
        from: Place,
        options: &Value,
        messages: &Messages,
    ) -> Option<Result<(), Status>> {
        let filter = Wanted::of(options);
        let structured = structured(options);
        let window = filter.as_ref().map_or(PAGE, |filter| filter.window);
        let multiplier = filter.as_ref().map_or(1, |filter| filter.multiplier);
        let takes = |record: &Record| match &filter {
            Some(filter) => filter.takes(record),
            None => record.is_event(),
        } && record.position > from.beyond;
        let mut next = from.next;
        let (mut pages, mut has_taken) = (0, false);
        loop {
            self.awake(node).await;
            let mut page = Vec::new();
            let full = {
                let state = self.lock();
                let end = state.visible().min(next + window);
                let looked = &state.store.records[next.min(end)..end];
                let mut checkpoint = match looked.first() {
                    Some(first) if next > 0 || !from.from_start => {
                        json!({ "commit_position": wide(first.position.into()) })
                    }
                    _ => json!({}),
                };
                for record in looked.iter().filter(|record| takes(record)) {
                    page.push(record.message(structured));
                    has_taken = true;
                    checkpoint = place(record.position);
                }
                let full = looked.len() == window;
                pages += usize::from(full);
                if full && filter.is_some() && pages % multiplier == 0 {
                    page.push(json!({ "checkpoint": checkpoint }));
                }
                next += looked.len();
                full
            };
            for message in page {
                messages.send(Ok(message)).await.ok()?;
            }
            if !full {
                break;
            }
        }
        if filter.is_some() && from.from_start && pages == 0 && !has_taken {
            messages.send(Ok(json!({ "checkpoint": place(u64::MAX) }))).await.ok()?;
        }
        messages.send(Ok(json!({ "caught_up": {} }))).await.ok()?;
        let mut looked = 0;
        loop {
            self.until(|state| state.visible() > next && !state.nodes[node].paused).await;
            let (message, position) = {
                let state = self.lock();
                let record = &state.store.records[next];
                (takes(record).then(|| record.message(structured)), record.position)
            };
            next += 1;
            looked += 1;
            if let Some(message) = message {
                messages.send(Ok(message)).await.ok()?;
            }
            if filter.is_some() && looked == window * multiplier {
                looked = 0;
                messages.send(Ok(json!({ "checkpoint": place(position) }))).await.ok()?;
            }
        }
    }

    async fn follow_stream(
        &self,
        node: usize,
        name: &str,
        options: &Value,
        messages: &Messages,
    ) -> Option<Result<(), Status>> {
        let structured = structured(options);
        let wanted = &options["stream"];
        let mut after = match wanted.get("revision").and_then(number) {
            Some(revision) => revision,
            None if wanted.get("end").is_some() => self.lock().store.current(name),
            None => -1,
        };
        let mut caught_up = false;
        loop {
            self.awake(node).await;
            let found: Vec<(i128, Value)> = {
                let state = self.lock();
                let there = state.store.readable(name).unwrap_or_default();
                let there = there.into_iter().filter(|(revision, _)| *revision > after);
                there.map(|(at, it)| (at, state.store.records[it].message(structured))).collect()
            };
            for (revision, message) in found {
                after = revision;
                messages.send(Ok(message)).await.ok()?;
            }
            if self.lock().store.is_buried(name) {
                return Some(Err(buried(name)));
            }
            if !caught_up {
                caught_up = true;
                messages.send(Ok(json!({ "caught_up": {} }))).await.ok()?;
            }
            self.until(|state| state.store.current(name) > after).await;
        }
    }
}
