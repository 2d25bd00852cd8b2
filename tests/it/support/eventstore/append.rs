//! Appends of both kinds and deletions, and how the stand-in answers each outcome.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tonic::{Code, Status, Streaming};

use super::Cluster;
use super::server::{buried, with_trailers};
use super::store::{Expected, No, Store, Written, halves, id_text};
use super::wire::wide;

/// How long a server waits for the rest of an append.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it takes until one that cannot be committed is answered.
const UNANSWERED: Duration = Duration::from_millis(20);

/// Appends whose last piece has not come.
type Open = Arc<Mutex<HashMap<String, Value>>>;

enum Outcome {
    Written(Written),
    No(No),
    /// Not answered in time; it may be committed still.
    Timeout,
}

impl Cluster {
    async fn append(
        self: &Arc<Self>,
        stream: &str,
        expected: Expected,
        events: &[Value],
    ) -> Outcome {
        let late = {
            let mut state = self.lock();
            let late = state.faults.late.0 > 0;
            state.faults.late.0 -= usize::from(late);
            late.then_some(state.faults.late.1)
        };
        let lost = self.lock().faults.no_quorum;
        if late.is_none() && !lost {
            return self.commit(stream, expected, events);
        }
        self.change(|state| {
            state.pending.insert(stream.to_owned(), state.leader);
        });
        let (cluster, stream, events) = (self.clone(), stream.to_owned(), events.to_vec());
        tokio::spawn(async move {
            match late {
                Some(later) => tokio::time::sleep(later).await,
                None => cluster.until(|state| !state.faults.no_quorum).await,
            }
            cluster.commit(&stream, expected, &events);
            cluster.change(|state| {
                state.pending.remove(&stream);
            });
        });
        tokio::time::sleep(UNANSWERED).await;
        Outcome::Timeout
    }

    /// Whether one for the stream waits at the node that leads.
    fn is_pending(&self, stream: &str) -> bool {
        let state = self.lock();
        state.pending.get(stream).is_some_and(|node| *node == state.leader)
    }

    fn commit(self: &Arc<Self>, stream: &str, expected: Expected, events: &[Value]) -> Outcome {
        let mut outcome = Outcome::Timeout;
        self.change(|state| {
            let first = state.store.records.len();
            outcome = match state.store.append(stream, expected, events) {
                Ok(written) => Outcome::Written(written),
                Err(no) => Outcome::No(no),
            };
            let half = state.faults.half_groups;
            if !half.is_zero() && state.store.records.len() > first + 1 {
                state.faults.hidden_from.get_or_insert(first + 1);
                let cluster = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(half).await;
                    cluster.change(|state| state.faults.hidden_from = None);
                });
            }
        });
        outcome
    }

    /// The unary call.
    pub(super) async fn append_call(
        self: &Arc<Self>,
        mut messages: Streaming<Value>,
    ) -> Result<Value, Status> {
        let mut options = Value::Null;
        let mut events = Vec::new();
        while let Some(message) = messages.next().await {
            let mut message = message?;
            match message.get_mut("proposed_message") {
                Some(event) => events.push(event.take()),
                None => options = message["options"].take(),
            }
        }
        let stream = stream_name(&options);
        if stream.is_empty() || events.iter().any(|event| event.get("id").is_none()) {
            return Err(Status::unknown("Exception was thrown by handler."));
        }
        if events.iter().any(|event| event["metadata"].get("type").is_none()) {
            let trailers = [
                ("exception", "missing-required-metadata-property".to_owned()),
                ("required-metadata-properties", "type,content-type".to_owned()),
            ];
            let text = "Required Metadata Property 'type' is missing";
            return Err(with_trailers(Status::invalid_argument(text), trailers));
        }
        let expected = Expected::of(&options);
        match self.append(&stream, expected, &events).await {
            Outcome::Written(written) => Ok(json!({ "success": success(written) })),
            Outcome::No(No::Wrong(current)) => Ok(wrong(expected, current)),
            Outcome::No(No::Buried) => Err(buried(&stream)),
            Outcome::No(No::TooBig) => {
                let trailers = [
                    ("exception", "maximum-append-size-exceeded".to_owned()),
                    ("maximum-append-size", "1048576".to_owned()),
                ];
                let text = "Maximum Append Size of 1048576 Exceeded.";
                Err(with_trailers(Status::invalid_argument(text), trailers))
            }
            Outcome::Timeout => Err(Status::aborted("Operation timed out: Commit phase timeout.")),
        }
    }

    /// A session of appends. The call stays open when the client has said all.
    pub(super) async fn batch(
        self: Arc<Self>,
        node: usize,
        mut requests: Streaming<Value>,
        answers: mpsc::Sender<Result<Value, Status>>,
    ) {
        let open = Open::default();
        while let Some(Ok(mut request)) = requests.next().await {
            self.awake(node).await;
            if self.lock().leader.is_none() {
                let text = "Server Is Not Ready";
                let answer = json!({
                    "correlation_id": request["correlation_id"],
                    "error": { "code": "OK", "message": text, "details": detail("Unknown", None) },
                });
                let _ = answers.send(Ok(answer)).await;
                continue;
            }
            let Some(correlation) = request.get("correlation_id").cloned() else {
                let message = "Value cannot be null. (Parameter 'dto')";
                let details = detail("BadRequest", Some(json!({ "message": message })));
                let error = error("INVALID_ARGUMENT", "BadRequest", details);
                let stream = &request["options"]["stream_identifier"];
                let answer = json!({ "error": error, "stream_identifier": stream });
                let _ = answers.send(Ok(answer)).await;
                continue;
            };
            let key = id_text(&correlation);
            let is_final = request.get("is_final").is_some();
            let pieces = request["proposed_messages"].take();
            if request.get("options").is_some() {
                request["proposed_messages"] = json!([]);
                open.lock().unwrap().insert(key.clone(), request);
                if !is_final {
                    tokio::spawn(never_final(open.clone(), key.clone(), answers.clone()));
                }
            }
            let whole = {
                let mut open = open.lock().unwrap();
                let Some(whole) = open.get_mut(&key) else { continue };
                let all = whole["proposed_messages"].as_array_mut();
                if let (Some(all), Value::Array(pieces)) = (all, pieces) {
                    all.extend(pieces);
                }
                if is_final { open.remove(&key) } else { None }
            };
            if let Some(whole) = whole {
                let (cluster, answers) = (self.clone(), answers.clone());
                self.change(|state| state.appends += 1);
                if self.is_pending(&stream_name(&whole["options"])) {
                    tokio::spawn(dropped(correlation, answers));
                    continue;
                }
                // Refusals are known at once; what is written takes its time.
                let answer = cluster.batch_answer(&correlation, &whole).await;
                let written = answer.get("success").is_some();
                if written {
                    tokio::spawn(async move { answers.send(Ok(answer)).await });
                } else {
                    let _ = answers.send(Ok(answer)).await;
                }
            }
        }
        answers.closed().await;
    }

    async fn batch_answer(self: &Arc<Self>, correlation: &Value, request: &Value) -> Value {
        let options = &request["options"];
        let stream = stream_name(options);
        let expected = Expected::of(options);
        let nothing = Vec::new();
        let events = request["proposed_messages"].as_array().unwrap_or(&nothing);
        let bad = |message: &str| {
            let details = detail("BadRequest", Some(json!({ "message": message })));
            error("INVALID_ARGUMENT", "BadRequest", details)
        };
        let mut answer = json!({
            "correlation_id": correlation,
            "stream_identifier": { "stream_name": stream },
        });
        let timeout = || error("DEADLINE_EXCEEDED", "Timeout", detail("Timeout", None));
        let no_time =
            options.get("deadline").is_some_and(|deadline| deadline.get("seconds").is_none());
        let lacks =
            |event: &Value| event.get("id").is_none() || event["metadata"].get("type").is_none();
        let failed = if stream.is_empty() || events.iter().any(lacks) {
            bad("The given key was not present in the dictionary.")
        } else if no_time {
            timeout()
        } else if !self.may_write() {
            error("PERMISSION_DENIED", "Access Denied", detail("AccessDenied", None))
        } else {
            match self.append(&stream, expected, events).await {
                Outcome::Written(written) => {
                    answer["success"] = success(written);
                    return answer;
                }
                Outcome::No(No::Wrong(current)) => {
                    let decoded = wrong_in_batch(expected, current);
                    let details = detail("WrongExpectedVersion", Some(decoded));
                    error("ALREADY_EXISTS", "WrongExpectedVersion", details)
                }
                Outcome::No(No::Buried) => {
                    let decoded = json!({ "stream_identifier": { "stream_name": stream } });
                    let details = detail("StreamDeleted", Some(decoded));
                    error("NOT_FOUND", "StreamDeleted", details)
                }
                Outcome::No(No::TooBig) => {
                    let decoded = json!({ "maxAppendSize": 1_048_576 });
                    let details = detail("MaximumAppendSizeExceeded", Some(decoded));
                    error("INVALID_ARGUMENT", "MaximumAppendSizeExceeded", details)
                }
                Outcome::Timeout => {
                    answer["correlation_id"] = halves(&id_text(correlation));
                    timeout()
                }
            }
        };
        answer["error"] = failed;
        answer
    }

    /// A deletion of either kind.
    pub(super) async fn delete_call(
        self: &Arc<Self>,
        options: &Value,
        for_ever: bool,
    ) -> Result<Value, Status> {
        let stream = stream_name(options);
        let expected = Expected::of(options);
        if !self.may_write() {
            return Err(Status::permission_denied("Access Denied."));
        }
        let lost = self.lock().faults.lost_deletion.take();
        let Some((done, failed)) = lost else { return self.delete(&stream, expected, for_ever) };
        let cluster = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(done).await;
            cluster.delete(&stream, expected, for_ever)
        });
        tokio::time::sleep(failed).await;
        Err(Status::unavailable("Server Is Not Ready"))
    }

    fn delete(&self, stream: &str, expected: Expected, for_ever: bool) -> Result<Value, Status> {
        let mut done = Err(No::Buried);
        self.change(|state| {
            done = match for_ever {
                true => state.store.bury(stream, expected),
                false => state.store.delete(stream, expected),
            };
        });
        match done {
            Ok(position) => Ok(json!({ "position": place(position) })),
            Err(No::Wrong(actual)) => Err(with_trailers(
                Status::new(Code::FailedPrecondition, Store::refusal(stream, expected, actual)),
                Store::refusal_trailers(stream, expected, actual),
            )),
            Err(No::Buried | No::TooBig) => Err(buried(stream)),
        }
    }
}

/// An append that was sent again while the first one waits.
async fn dropped(correlation: Value, answers: mpsc::Sender<Result<Value, Status>>) {
    tokio::select! {
        () = tokio::time::sleep(COMMIT_TIMEOUT) => {}
        () = answers.closed() => return,
    }
    let _ = answers.send(Ok(timed_out(&id_text(&correlation)))).await;
}

/// An append whose last piece does not come.
async fn never_final(
    open: Open,
    correlation: String,
    answers: mpsc::Sender<Result<Value, Status>>,
) {
    tokio::select! {
        () = tokio::time::sleep(COMMIT_TIMEOUT) => {}
        () = answers.closed() => return,
    }
    if open.lock().unwrap().remove(&correlation).is_none() {
        return;
    }
    let _ = answers.send(Ok(timed_out(&correlation))).await;
}

fn timed_out(correlation: &str) -> Value {
    let error = error("DEADLINE_EXCEEDED", "Timeout", detail("Timeout", None));
    json!({ "correlation_id": halves(correlation), "error": error })
}

pub(super) fn stream_name(options: &Value) -> String {
    options["stream_identifier"]["stream_name"].as_str().unwrap_or_default().to_owned()
}

pub(super) fn place(position: u64) -> Value {
    let position = wide(position.into());
    json!({ "commit_position": position, "prepare_position": position })
}

fn success((revision, position): Written) -> Value {
    let mut success = json!({ "position": place(position) });
    match revision {
        Some(revision) => success["current_revision"] = wide(revision),
        None => success["no_stream"] = json!({}),
    }
    success
}

fn wrong(expected: Expected, current: i128) -> Value {
    let mut wrong = json!({});
    if current < 0 {
        wrong["no_stream_20_6_0"] = json!({});
        wrong["current_no_stream"] = json!({});
    } else {
        wrong["current_revision_20_6_0"] = wide(current);
        wrong["current_revision"] = wide(current);
    }
    match expected {
        Expected::Any | Expected::Exists => {
            wrong["stream_exists_20_6_0"] = json!({});
            wrong["expected_stream_exists"] = json!({});
        }
        Expected::At(-1) => {
            wrong["expected_revision_20_6_0"] = wide(u64::MAX.into());
            wrong["expected_no_stream"] = json!({});
        }
        Expected::At(revision) => {
            wrong["expected_revision_20_6_0"] = wide(revision);
            wrong["expected_revision"] = wide(revision);
        }
    }
    json!({ "wrong_expected_version": wrong })
}

fn wrong_in_batch(expected: Expected, current: i128) -> Value {
    let mut wrong = json!({});
    match current {
        -1 => wrong["current_no_stream"] = json!({}),
        current => wrong["current_stream_revision"] = wide(current),
    }
    match expected {
        Expected::Any | Expected::Exists => wrong["expected_stream_exists"] = json!({}),
        Expected::At(-1) => wrong["expected_no_stream"] = json!({}),
        Expected::At(revision) => wrong["expected_stream_position"] = wide(revision),
    }
    wrong
}

fn error(code: &str, message: &str, details: Value) -> Value {
    json!({ "code": code, "message": message, "details": details })
}

fn detail(name: &str, decoded: Option<Value>) -> Value {
    let mut any = json!({ "type_url": format!("type.googleapis.com/event_store.client.{name}") });
    if let Some(decoded) = decoded {
        any["decoded"] = decoded;
    }
    any
}
