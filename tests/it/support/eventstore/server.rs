//! A node of the stand-in: the calls by name, over real gRPC, on a thread of its own that dies with
//! all its connections.

use std::convert::Infallible;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::JoinHandle;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Context, Poll, Service, http};
use tonic::metadata::{MetadataKey, MetadataValue};
use tonic::server::{Grpc, NamedService};
use tonic::{Code, Request, Response, Status, Streaming};

use super::Cluster;
use super::store::halves;
use super::wire::Json;

/// How many calls one connection may have open.
const STREAMS_MAX: u32 = 100;
/// How many messages wait for a reader.
const MESSAGES_MAX: usize = 64;
/// What a client may say at once.
const MESSAGE_SIZE_MAX: usize = 17 << 20;

/// Runs a node until it is told to stop; all its connections go with it.
pub(super) fn run(
    cluster: Arc<Cluster>,
    node: usize,
    listener: TcpListener,
) -> (oneshot::Sender<()>, JoinHandle<()>) {
    let (stop, stopped) = oneshot::channel::<()>();
    let serve = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async move {
            listener.set_nonblocking(true).unwrap();
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let mut builder = tonic::transport::Server::builder();
            if let Some(guard) = &cluster.guard {
                builder = builder.tls_config(guard.tls()).unwrap();
            }
            let calls = Calls { cluster, node };
            let incoming = TcpListenerStream::new(listener).map(|stream| {
                let stream = stream?;
                stream.set_nodelay(true).map(|()| stream)
            });
            let server = builder
                .max_concurrent_streams(STREAMS_MAX)
                .add_service(Streams(calls.clone()))
                .add_service(Gossip(calls.clone()))
                .add_service(Features(calls))
                .serve_with_incoming(incoming);
            tokio::select! {
                served = server => served.unwrap(),
                _ = stopped => {}
            }
        });
    };
    (stop, std::thread::spawn(serve))
}

#[derive(Clone)]
struct Calls {
    cluster: Arc<Cluster>,
    node: usize,
}

macro_rules! service {
    ($name:ident, $path:literal) => {
        #[derive(Clone)]
        struct $name(Calls);

        impl NamedService for $name {
            const NAME: &'static str = $path;
        }

        impl Service<http::Request<Body>> for $name {
            type Response = http::Response<Body>;
            type Error = Infallible;
            type Future = BoxFuture<http::Response<Body>, Infallible>;

            fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
                Poll::Ready(Ok(()))
            }

            fn call(&mut self, request: http::Request<Body>) -> Self::Future {
                let calls = self.0.clone();
                Box::pin(async move { Ok(calls.answer(request).await) })
            }
        }
    };
}

service!(Streams, "event_store.client.streams.Streams");
service!(Gossip, "event_store.client.gossip.Gossip");
service!(Features, "event_store.client.server_features.ServerFeatures");

impl Calls {
    async fn answer(self, request: http::Request<Body>) -> http::Response<Body> {
        let path = request.uri().path().to_owned();
        let must_lead =
            request.headers().get("requires-leader").is_some_and(|value| value == "true");
        let grpc = |heard, said| {
            Grpc::new(Json { heard, said }).max_decoding_message_size(MESSAGE_SIZE_MAX)
        };
        let Self { cluster, node } = self;
        cluster.awake(node).await;
        let call = path.strip_prefix("/event_store.client.").unwrap_or_default().to_owned();
        let guard = cluster.guard.as_ref().filter(|_| call.starts_with("streams."));
        if guard.is_some_and(|guard| !guard.lets_in(&request)) {
            return Status::unauthenticated("Bad HTTP status code: 401").into_http();
        }
        let may = if must_lead && call != "streams.Streams/Read" {
            leads(&cluster, node)
        } else {
            Ok(())
        };
        match call.as_str() {
            "server_features.ServerFeatures/GetSupportedMethods" => {
                let offered = Call(|_: Request<Value>| async { Ok(Response::new(offered())) });
                grpc("Empty", "SupportedMethods").unary(offered, request).await
            }
            "gossip.Gossip/Read" => {
                let members = Call(move |_: Request<Value>| {
                    let members = members(&cluster);
                    async { Ok(Response::new(members)) }
                });
                grpc("Empty", "ClusterInfo").unary(members, request).await
            }
            "streams.Streams/Append" => {
                let append = Call(move |request: Request<Streaming<Value>>| async move {
                    may?;
                    cluster.append_call(request.into_inner()).await.map(Response::new)
                });
                grpc("AppendReq", "AppendResp").client_streaming(append, request).await
            }
            "streams.Streams/BatchAppend" => {
                let batch = Call(move |request: Request<Streaming<Value>>| async move {
                    may?;
                    let (answers, answered) = mpsc::channel(MESSAGES_MAX);
                    tokio::spawn(cluster.batch(node, request.into_inner(), answers));
                    Ok(Response::new(ReceiverStream::new(answered)))
                });
                grpc("BatchAppendReq", "BatchAppendResp").streaming(batch, request).await
            }
            "streams.Streams/Read" => {
                let read = Call(move |request: Request<Value>| async move {
                    let options = request.into_inner()["options"].take();
                    let (messages, sent) = mpsc::channel(MESSAGES_MAX);
                    if options.get("subscription").is_some() {
                        tokio::spawn(cluster.subscription(node, must_lead, options, messages));
                    } else {
                        if must_lead {
                            leads(&cluster, node)?;
                        }
                        let found = cluster.read(&options)?;
                        if options.get("filter").is_some() {
                            let silent = cluster.lock().faults.slow_walks;
                            tokio::time::sleep(silent).await;
                        }
                        tokio::spawn(async move {
                            for message in found {
                                if messages.send(Ok(message)).await.is_err() {
                                    break;
                                }
                            }
                        });
                    }
                    Ok(Response::new(ReceiverStream::new(sent)))
                });
                grpc("ReadReq", "ReadResp").server_streaming(read, request).await
            }
            "streams.Streams/Delete" | "streams.Streams/Tombstone" => {
                let for_ever = call.ends_with("Tombstone");
                let delete = Call(move |request: Request<Value>| async move {
                    may?;
                    let options = &request.into_inner()["options"];
                    cluster.delete_call(options, for_ever).await.map(Response::new)
                });
                grpc("DeleteReq", "DeleteResp").unary(delete, request).await
            }
            _ => Status::unimplemented(path).into_http(),
        }
    }
}

/// A function as a service, which is what tonic takes.
#[derive(Clone)]
struct Call<F>(F);

impl<F, R, O, Fut> Service<Request<R>> for Call<F>
where
    F: FnOnce(Request<R>) -> Fut + Clone,
    Fut: Future<Output = Result<Response<O>, Status>> + Send + 'static,
{
    type Response = Response<O>;
    type Error = Status;
    type Future = BoxFuture<Response<O>, Status>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Status>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        Box::pin(self.0.clone()(request))
    }
}

fn leads(cluster: &Cluster, node: usize) -> Result<(), Status> {
    let leader = cluster.lock().leader;
    match leader {
        Some(leader) if leader == node => Ok(()),
        Some(_) => Err(not_leader(cluster)),
        None => Err(Status::unavailable("Server Is Not Ready")),
    }
}

pub(super) fn not_leader(cluster: &Cluster) -> Status {
    let state = cluster.lock();
    let status = Status::not_found("Leader info available");
    let mut trailers = vec![("exception", "not-leader".to_owned())];
    if let Some(leader) = state.leader {
        let address = state.nodes[leader].address;
        trailers.push(("leader-endpoint-host", address.ip().to_string()));
        trailers.push(("leader-endpoint-port", address.port().to_string()));
    }
    with_trailers(status, trailers)
}

pub(super) fn buried(stream: &str) -> Status {
    let status =
        Status::new(Code::FailedPrecondition, format!("Event stream '{stream}' is deleted."));
    let trailers = [("exception", "stream-deleted".to_owned()), ("stream-name", stream.to_owned())];
    with_trailers(status, trailers)
}

pub(super) fn with_trailers(
    mut status: Status,
    trailers: impl IntoIterator<Item = (&'static str, String)>,
) -> Status {
    for (name, value) in trailers {
        let value = MetadataValue::try_from(value).unwrap();
        status.metadata_mut().insert(MetadataKey::from_static(name), value);
    }
    status
}

/// The nodes as gossip has them: the leader first.
fn members(cluster: &Cluster) -> Value {
    let state = cluster.lock();
    let member = |at: usize| {
        let node = &state.nodes[at];
        let id = uuid::Uuid::from_u128(at as u128 + 1).to_string();
        json!({
            "instance_id": halves(&id),
            "time_stamp": "17953635925059099",
            "state": if state.leader == Some(at) { "Leader" } else { "Follower" },
            "is_alive": node.running.is_some(),
            "http_end_point": {
                "address": node.address.ip().to_string(),
                "port": node.address.port(),
            },
        })
    };
    let members: Vec<_> = (0..state.nodes.len()).rev().map(member).collect();
    json!({ "members": members })
}

/// What the recorded server says that it can do.
fn offered() -> Value {
    let recorded = include_str!("../../../data/eventstore/recorded.jsonl");
    let first: Value = serde_json::from_str(recorded.lines().next().unwrap()).unwrap();
    first["response"].clone()
}
