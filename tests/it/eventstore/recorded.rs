//! Every call that was recorded on a real server, played to the stand-in, must be answered as it was
//! there: positions and all. Only ids and times that a server makes are left out.

#![expect(clippy::result_large_err, reason = "a status of gRPC is as large as it is")]

use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataValue;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status, Streaming};

use crate::support::eventstore::StandIn;
use crate::support::eventstore::store::Store;
use crate::support::eventstore::wire::Json;

const RECORDED: &str = include_str!("../../data/eventstore/recorded.jsonl");
/// Where the log of the three recorded nodes stood.
const THREE_NODES_FROM: u64 = 7_826_168;
/// The port of the first of the three.
const FIRST_PORT: u64 = 2111;
/// How long a call must stay open to count as open.
const OPEN: Duration = Duration::from_millis(30);

#[tokio::test]
async fn the_stand_in_answers_every_recorded_call_as_it_was_answered() {
    let one = StandIn::start(1);
    let three = StandIn::over(Store::new(Some(THREE_NODES_FROM)), 3);
    let mut played = 0;
    for line in RECORDED.lines() {
        let mut call: Value = serde_json::from_str(line).unwrap();
        widen(&mut call);
        let server = if call["set"] == "one node" { &one } else { &three };
        match call["rpc"].as_str() {
            Some(_) => play(server, &call).await,
            None => sum_up(server, &call).await,
        }
        played += 1;
    }
    assert_eq!(played, 135);
}

/// Writes out what the recordings shorten.
fn widen(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Some(length) =
                text.split_once("… ").and_then(|(_, it)| it.strip_suffix(" bytes"))
            {
                *text = "a".repeat(length.parse().unwrap());
            }
        }
        Value::Array(values) => {
            let all = values.last().and_then(Value::as_str).and_then(|text| {
                text.strip_prefix("… ")?.strip_suffix(" in all")?.parse::<usize>().ok()
            });
            if let Some(all) = all {
                values.pop();
                let first = &values[1]["proposed_message"];
                let id = first["id"]["string"].as_str().unwrap();
                let number: usize = id[24..].parse().unwrap();
                let shown = values.len() - 1;
                for more in number + shown..number + all - 1 {
                    values.push(proposed(more as u64));
                }
            }
            values.iter_mut().for_each(widen);
        }
        Value::Object(fields) => fields.values_mut().for_each(widen),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn proposed(number: u64) -> Value {
    json!({ "proposed_message": {
        "id": { "string": format!("00000000-0000-4000-8000-{number:012}") },
        "metadata": { "type": "T", "content-type": "application/json" },
        "data": "{}",
    }})
}

/// Takes out what each server makes for itself.
fn plain(mut value: Value) -> Value {
    fn clean(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                for made in ["ms", "instance_id", "time_stamp", "http_end_point", "created"] {
                    fields.remove(made);
                }
                if let Some(id) = fields.get_mut("subscription_id") {
                    *id = Value::Null;
                }
                let theirs = fields.get("string").and_then(Value::as_str);
                if theirs.is_some_and(|id| !id.starts_with("00000000-0000-4000-8000-")) {
                    fields.clear();
                }
                fields.values_mut().for_each(clean);
            }
            Value::Array(values) => values.iter_mut().for_each(clean),
            _ => {}
        }
    }
    clean(&mut value);
    value
}

async fn connect(server: &StandIn, node: usize) -> Channel {
    let uri = format!("http://{}", server.address(node));
    Endpoint::from_shared(uri).unwrap().connect().await.unwrap()
}

async fn play(server: &StandIn, call: &Value) {
    let case = call["case"].as_str().unwrap();
    let port = call["host"].as_str().and_then(|host| host.rsplit(':').next());
    let node = port.map_or(0, |port| port.parse::<u64>().unwrap() - FIRST_PORT);
    let channel = connect(server, usize::try_from(node).unwrap()).await;
    let rpc = call["rpc"].as_str().unwrap();
    let request = &call["request"];
    match rpc {
        "GetSupportedMethods" => {
            let path = "server_features.ServerFeatures/GetSupportedMethods";
            unary(server, channel, path, ["Empty", "SupportedMethods"], call).await;
        }
        "Read" if request.get("options").is_none() => {
            unary(server, channel, "gossip.Gossip/Read", ["Empty", "ClusterInfo"], call).await;
        }
        "Delete" | "Tombstone" => {
            let path = format!("streams.Streams/{rpc}");
            unary(server, channel, &path, ["DeleteReq", "DeleteResp"], call).await;
        }
        "Append" => {
            let mut grpc = ready(channel).await;
            let said = stream::iter(request.as_array().unwrap().clone());
            let (path, codec) = named("streams.Streams/Append", ["AppendReq", "AppendResp"]);
            let answer = grpc.client_streaming(with_headers(said, call), path, codec).await;
            compare(server, call, answer.map(tonic::Response::into_inner));
        }
        "BatchAppend" => batch(server, channel, call, case).await,
        "Read" => read(server, channel, call, case).await,
        other => panic!("{case}: {other}"),
    }
}

async fn ready(channel: Channel) -> Grpc<Channel> {
    let mut grpc = Grpc::new(channel);
    grpc.ready().await.unwrap();
    grpc
}

fn named(path: &str, [said, heard]: [&'static str; 2]) -> (PathAndQuery, Json) {
    let path = format!("/event_store.client.{path}").parse().unwrap();
    (path, Json { heard, said })
}

fn with_headers<T>(message: T, call: &Value) -> Request<T> {
    let mut request = Request::new(message);
    if call.get("headers").is_some() {
        request.metadata_mut().insert("requires-leader", MetadataValue::from_static("true"));
    }
    request
}

async fn unary(
    server: &StandIn,
    channel: Channel,
    path: &str,
    names: [&'static str; 2],
    call: &Value,
) {
    let (path, codec) = named(path, names);
    let request = with_headers(call["request"].clone(), call);
    let answer = ready(channel).await.unary(request, path, codec).await;
    compare(server, call, answer.map(tonic::Response::into_inner));
}

fn compare(server: &StandIn, call: &Value, answer: Result<Value, Status>) {
    match answer {
        Ok(answer) => {
            assert_eq!(plain(answer), plain(call["response"].clone()), "{}", call["case"])
        }
        Err(status) => same_status(server, call, &status),
    }
}

fn same_status(server: &StandIn, call: &Value, status: &Status) {
    let recorded = &call["status"];
    let code: String = format!("{:?}", status.code());
    let wanted = recorded["code"].as_str().unwrap().replace('_', "");
    assert_eq!(code.to_uppercase(), wanted, "{}: {status:?}", call["case"]);
    assert_eq!(status.message(), recorded["details"], "{}", call["case"]);
    for (name, value) in recorded["trailers"].as_object().unwrap() {
        let port = server.address(server.leader().unwrap()).port().to_string();
        let value = if name == "leader-endpoint-port" { &port } else { value.as_str().unwrap() };
        assert_eq!(status.metadata().get(name).unwrap(), value, "{}", call["case"]);
    }
}

async fn batch(server: &StandIn, channel: Channel, call: &Value, case: &str) {
    let (path, codec) = named("streams.Streams/BatchAppend", ["BatchAppendReq", "BatchAppendResp"]);
    let said = stream::iter(call["requests"].as_array().unwrap().clone());
    let mut grpc = ready(channel).await;
    let answers = match grpc.streaming(with_headers(said, call), path, codec).await {
        Ok(answers) => answers,
        Err(status) => return same_status(server, call, &status),
    };
    let mut answers: Streaming<Value> = answers.into_inner();
    let wanted = call["responses"].as_array().unwrap();
    let mut heard = Vec::new();
    for _ in wanted {
        heard.push(plain(answers.next().await.unwrap().unwrap()));
    }
    // Answers come in any order.
    let sorted = |mut answers: Vec<Value>| {
        answers.sort_by_key(|answer| answer["correlation_id"].to_string());
        answers
    };
    let wanted = wanted.iter().cloned().map(plain).collect();
    assert_eq!(sorted(heard), sorted(wanted), "{case}");
    let open = tokio::time::timeout(OPEN, answers.next()).await;
    assert!(open.is_err(), "{case}: {open:?}");
}

async fn read(server: &StandIn, channel: Channel, call: &Value, case: &str) {
    let (path, codec) = named("streams.Streams/Read", ["ReadReq", "ReadResp"]);
    let request = with_headers(call["request"].clone(), call);
    let mut grpc = ready(channel).await;
    let messages = match grpc.server_streaming(request, path, codec).await {
        Ok(messages) => messages,
        Err(status) => return same_status(server, call, &status),
    };
    let mut messages: Streaming<Value> = messages.into_inner();
    let wanted = call["responses"].as_array().unwrap();
    for (at, wanted) in wanted.iter().enumerate() {
        if at == 2 {
            beside(server, case).await;
        }
        let heard = match messages.next().await.unwrap_or_else(|| panic!("{case}: ended at {at}")) {
            Ok(heard) => plain(heard),
            Err(status) => panic!("{case}: {status:?} at {at}"),
        };
        assert_eq!(heard, plain(wanted.clone()), "{case}, message {at}");
        if case == "subscribe: deleted while subscribed" && heard.get("caught_up").is_some() {
            bury(server, "later").await;
        }
    }
    if let Some(count) = call["messages"].as_u64() {
        let mut heard = wanted.len() as u64;
        while let Some(message) = messages.next().await {
            heard += 1;
            if message.unwrap().get("caught_up").is_some() {
                break;
            }
        }
        assert_eq!(heard, count, "{case}");
        return;
    }
    match call["status"]["code"].as_str().unwrap() {
        "OK" => assert!(messages.next().await.is_none(), "{case}"),
        "cut by the client" => {}
        _ => same_status(server, call, &messages.next().await.unwrap().unwrap_err()),
    }
}

/// What others wrote while a subscription was open.
async fn beside(server: &StandIn, case: &str) {
    let (name, numbers) = match case {
        "subscribe: checkpoints while others write 300 events" => ("noise", 920_038..920_338),
        "subscribe: live" => ("live-1", 920_338..920_341),
        "subscribe: to a stream that comes later" => ("later", 920_341..920_343),
        "subscribe at a follower" => ("f", 900_005..900_006),
        _ => return,
    };
    let channel = connect(server, 0).await;
    for number in numbers {
        let options = json!({ "stream_identifier": { "stream_name": name }, "any": {} });
        let said = stream::iter([json!({ "options": options }), proposed(number)]);
        let (path, codec) = named("streams.Streams/Append", ["AppendReq", "AppendResp"]);
        ready(channel.clone())
            .await
            .client_streaming(Request::new(said), path, codec)
            .await
            .unwrap();
    }
}

async fn bury(server: &StandIn, name: &str) {
    let options = json!({ "stream_identifier": { "stream_name": name }, "any": {} });
    let (path, codec) = named("streams.Streams/Tombstone", ["DeleteReq", "DeleteResp"]);
    let request = Request::new(json!({ "options": options }));
    ready(connect(server, 0).await).await.unary(request, path, codec).await.unwrap();
}

/// The line that has no call: how the checkpoints of a catch-up lie.
async fn sum_up(server: &StandIn, summary: &Value) {
    let filter = json!({
        "stream_identifier": { "prefix": ["zz"] },
        "max": 32,
        "checkpointIntervalMultiplier": 1,
    });
    let options = json!({
        "uuid_option": { "string": {} },
        "all": { "start": {} },
        "subscription": {},
        "filter": filter,
    });
    let (path, codec) = named("streams.Streams/Read", ["ReadReq", "ReadResp"]);
    let mut grpc = ready(connect(server, 0).await).await;
    let request = Request::new(json!({ "options": options }));
    let mut messages: Streaming<Value> =
        grpc.server_streaming(request, path, codec).await.unwrap().into_inner();
    let mut checkpoints = Vec::new();
    let mut count = 0_u64;
    let caught_up = loop {
        let message = messages.next().await.unwrap().unwrap();
        if message.get("caught_up").is_some() {
            break count;
        }
        count += 1;
        if let Some(checkpoint) = message.get("checkpoint") {
            let at = |name: &str| checkpoint[name].as_u64().unwrap_or(0);
            checkpoints.push(json!([at("commit_position"), at("prepare_position")]));
        }
    };
    assert_eq!(checkpoints.len(), summary["checkpoints"]);
    assert_eq!(Value::from(&checkpoints[..3]), summary["first"]);
    assert_eq!(Value::from(&checkpoints[checkpoints.len() - 2..]), summary["last"]);
    assert_eq!(caught_up, summary["caught_up"]);
}
