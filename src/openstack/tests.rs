//! Sessions against a service that answers what each test tells it to: what is repeated, what is
//! not, and what an answer that never comes is called.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::*;
use crate::clock::{Clock, SimulatedClock, SystemClock};
use crate::model::Secret;

/// What the service does with one call.
#[derive(Clone, Debug)]
enum Reply {
    Answer(u16, &'static str, String),
    /// Takes the call and closes the connection.
    Drop,
}

fn status(status: u16) -> Reply {
    Reply::Answer(status, "", "{}".to_owned())
}

/// Keystone at `/v3`, and a network service that follows its script (then answers 200).
struct FakeCloud {
    address: String,
    script: Mutex<Vec<Reply>>,
    calls: Mutex<Vec<String>>,
    tokens: AtomicUsize,
    /// How many tokens Keystone gives before it forbids them.
    tokens_max: AtomicUsize,
}

impl FakeCloud {
    async fn start(script: &[Reply]) -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Arc::new(Self {
            address: listener.local_addr().unwrap().to_string(),
            script: Mutex::new(script.iter().rev().cloned().collect()),
            calls: Mutex::default(),
            tokens: AtomicUsize::new(0),
            tokens_max: AtomicUsize::new(usize::MAX),
        });
        let served = Arc::clone(&fake);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&served).serve(stream));
            }
        });
        fake
    }

    async fn serve(self: Arc<Self>, mut stream: TcpStream) {
        let mut seen = Vec::new();
        let mut chunk = [0; 4096];
        loop {
            let Ok(count) = stream.read(&mut chunk).await else { return };
            if count == 0 {
                return;
            }
            seen.extend_from_slice(&chunk[..count]);
            let text = String::from_utf8_lossy(&seen).to_lowercase();
            let Some(end) = text.find("\r\n\r\n") else { continue };
            let length = text.split("content-length: ").nth(1);
            let length = length.and_then(|it| it.split('\r').next()?.parse().ok()).unwrap_or(0);
            if seen.len() < end + 4 + length {
                continue;
            }
            let line = String::from_utf8_lossy(&seen).lines().next().unwrap().to_owned();
            seen.clear();
            let Reply::Answer(status, header, body) = self.reply(&line) else { return };
            let header = if header.is_empty() { String::new() } else { format!("{header}\r\n") };
            let length = body.len();
            let answer =
                format!("HTTP/1.1 {status} X\r\n{header}content-length: {length}\r\n\r\n{body}");
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    }

    fn reply(&self, line: &str) -> Reply {
        let call = line.trim_end_matches(" HTTP/1.1").to_owned();
        self.calls.lock().unwrap().push(call.clone());
        if !call.contains("/v3/auth/tokens") {
            return self.script.lock().unwrap().pop().unwrap_or_else(|| status(200));
        }
        if self.tokens.load(Ordering::SeqCst) >= self.tokens_max.load(Ordering::SeqCst) {
            let words = "You are not authorized to perform the requested action.";
            return Reply::Answer(403, "", json!({"error": {"message": words}}).to_string());
        }
        let body = json!({"token": {
            "expires_at": "2999-01-01T01:00:00.000000Z",
            "user": {"id": "u", "name": "demo", "domain": {"id": "default"}},
            "project": {"id": "p", "name": "demo"},
            "roles": [{"name": "member"}],
            "catalog": [{"type": "network", "endpoints": [
                {"interface": "public", "region_id": "R", "url": format!("http://{}", self.address)},
            ]}],
        }});
        self.tokens.fetch_add(1, Ordering::SeqCst);
        Reply::Answer(201, "x-subject-token: secret-token", body.to_string())
    }

    fn cloud(&self) -> Cloud {
        self.cloud_at(Arc::new(SystemClock))
    }

    fn cloud_at(&self, clock: Arc<dyn Clock>) -> Cloud {
        let password = Secret::new("secret".to_owned());
        let mut settings =
            CloudSettings::new(&format!("http://{}", self.address), "heat", password, "service");
        settings.limits.call_time = Duration::from_secs(5);
        settings.limits.call_attempts = 3;
        Cloud::new(settings, clock).unwrap()
    }

    /// Calls to the network service.
    fn network_calls(&self) -> usize {
        self.calls.lock().unwrap().iter().filter(|call| !call.contains("/v3/auth")).count()
    }
}

fn read() -> Request {
    Request::get(Service::Network, "/v2.0/networks").query("name", "a b")
}

fn change() -> Request {
    Request::post(Service::Network, "/v2.0/networks").json(json!({"network": {}}))
}

#[tokio::test]
async fn a_read_is_repeated_until_it_succeeds() {
    let fake = FakeCloud::start(&[status(503), Reply::Drop]).await;
    fake.cloud().service_session().send(read()).await.unwrap();
    assert_eq!(fake.network_calls(), 3);
    assert_eq!(fake.calls.lock().unwrap()[1], "GET /v2.0/networks?name=a+b");
}

#[tokio::test]
async fn a_read_is_given_up_after_so_many_attempts() {
    let fake = FakeCloud::start(&[status(502), status(502), status(502)]).await;
    let error = fake.cloud().service_session().send(read()).await.unwrap_err();
    assert_eq!((fake.network_calls(), error.status()), (3, Some(502)));
}

#[tokio::test]
async fn the_service_says_when_to_come_back() {
    let fake = FakeCloud::start(&[Reply::Answer(429, "retry-after: 1", String::new())]).await;
    let began = Instant::now();
    fake.cloud().service_session().send(read()).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1));
    let long = Reply::Answer(503, "retry-after: 600", String::new());
    let fake = FakeCloud::start(&[long]).await;
    let error = fake.cloud().service_session().send(read()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(600)));
}

#[tokio::test]
async fn a_change_is_never_made_twice() {
    for (reply, unanswered) in [(Reply::Drop, true), (status(503), true), (status(429), false)] {
        let fake = FakeCloud::start(std::slice::from_ref(&reply)).await;
        let error = fake.cloud().service_session().send(change()).await.unwrap_err();
        assert_eq!(fake.network_calls(), 1, "{reply:?}");
        assert_eq!((error.is_transient(), error.is_unanswered()), (true, unanswered), "{error}");
    }
}

#[tokio::test]
async fn a_final_error_is_not_repeated() {
    let fake = FakeCloud::start(&[status(404)]).await;
    let error = fake.cloud().service_session().send(read()).await.unwrap_err();
    assert!(error.is_not_found() && !error.is_transient() && !error.is_unanswered());
    assert_eq!(fake.network_calls(), 1);
}

#[tokio::test]
async fn keystone_is_not_asked_again_about_a_signature_over_which_it_breaks() {
    for (reply, calls) in [(500, 1), (503, 2)] {
        let fake = FakeCloud::start(&[status(reply)]).await;
        assert!(fake.cloud().signer_of(&SignedRequest::default()).await.is_err());
        assert_eq!(fake.network_calls(), calls, "{reply}");
    }
}

#[tokio::test]
async fn a_refused_connection_leaves_nothing_sent() {
    let fake = FakeCloud::start(&[]).await;
    let mut settings = CloudSettings::new(
        &format!("http://{}", fake.address),
        "heat",
        Secret::new("secret".to_owned()),
        "service",
    );
    settings.endpoint_overrides.insert(Service::Network, "http://127.0.0.1:1".to_owned());
    settings.limits.call_attempts = 2;
    let cloud = Cloud::new(settings, Arc::new(SystemClock)).unwrap();
    let error = cloud.service_session().send(change()).await.unwrap_err();
    assert_eq!(error.class(), "ConnectFailure");
    assert!(error.is_transient() && !error.is_unanswered(), "{error}");
}

#[tokio::test]
async fn a_refused_token_is_replaced_once() {
    let fake = FakeCloud::start(&[status(401)]).await;
    fake.cloud().service_session().send(change()).await.unwrap();
    assert_eq!((fake.tokens.load(Ordering::SeqCst), fake.network_calls()), (2, 2));
    let fake = FakeCloud::start(&[status(401), status(401)]).await;
    let error = fake.cloud().service_session().send(change()).await.unwrap_err();
    assert!(error.is_unauthorized());
    assert_eq!(fake.network_calls(), 2);
}

#[tokio::test]
async fn a_foreign_token_is_asked_about_once_however_many_use_it() {
    let fake = FakeCloud::start(&[]).await;
    let cloud = fake.cloud();
    let token = Secret::new("foreign".to_owned());
    let all = futures::future::join_all((0..50).map(|_| cloud.validate_token(&token))).await;
    assert!(all.iter().all(|it| it.as_ref().is_ok_and(|it| it.caller.user_name == "demo")));
    // One for Hearth's own, one for the foreign one.
    assert_eq!(fake.tokens.load(Ordering::SeqCst), 2);
}

/// An hour before the fake's tokens expire.
fn an_hour_left() -> Arc<SimulatedClock> {
    let clock = SimulatedClock::new(1);
    let start = "2999-01-01T00:00:00Z".parse::<DateTime<Utc>>().unwrap();
    clock.advance(start - clock.now());
    Arc::new(clock)
}

#[tokio::test]
async fn keystones_word_on_a_token_counts_for_five_minutes() {
    let fake = FakeCloud::start(&[]).await;
    let clock = an_hour_left();
    let cloud = fake.cloud_at(clock.clone());
    let token = Secret::new("foreign".to_owned());
    cloud.validate_token(&token).await.unwrap();
    clock.advance(TimeDelta::seconds(299));
    cloud.validate_token(&token).await.unwrap();
    assert_eq!(fake.tokens.load(Ordering::SeqCst), 2);
    clock.advance(TimeDelta::seconds(2));
    cloud.validate_token(&token).await.unwrap();
    assert_eq!(fake.tokens.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_token_is_renewed_shortly_before_it_expires() {
    let fake = FakeCloud::start(&[]).await;
    let clock = an_hour_left();
    let session = fake.cloud_at(clock.clone()).service_session();
    session.send(read()).await.unwrap();
    clock.advance(TimeDelta::minutes(57));
    session.send(read()).await.unwrap();
    assert_eq!(fake.tokens.load(Ordering::SeqCst), 1);
    clock.advance(TimeDelta::minutes(2));
    session.send(read()).await.unwrap();
    assert_eq!(fake.tokens.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_trust_that_keystone_no_longer_honors_is_not_taken_for_a_service_that_is_away() {
    let away = json!({"message": "The server is currently unavailable. Please try again at a later \
        time.<br /><br />\nThe Keystone service is temporarily unavailable.\n\n"});
    let away = Reply::Answer(503, "", away.to_string());
    let script = [away.clone(), away.clone(), away.clone(), away];
    let fake = FakeCloud::start(&script).await;
    let session = fake.cloud().session_for_trust(&Secret::new("t".to_owned()), &"p".into());
    let error = session.send(change()).await.unwrap_err();
    // Hearth's own token, the trust's, and another of it, which is not tried on a change.
    assert_eq!((error.status(), error.is_transient()), (Some(503), true));
    assert_eq!((fake.tokens.load(Ordering::SeqCst), fake.network_calls()), (3, 1));
    fake.tokens_max.store(3, Ordering::SeqCst);
    let error = session.send(read()).await.unwrap_err();
    assert_eq!((error.status(), error.is_transient()), (Some(403), false));
    assert!(error.to_string().contains("by the user's trust"), "{error}");
    // It is asked again by who comes next.
    fake.tokens_max.store(usize::MAX, Ordering::SeqCst);
    session.send(read()).await.unwrap();
}

#[tokio::test]
async fn what_is_secret_shows_nowhere() {
    let fake = FakeCloud::start(&[Reply::Drop]).await;
    let cloud = fake.cloud();
    let trust = Secret::new("secret-trust".to_owned());
    let session = cloud.session_for_trust(&trust, &"p".into());
    let error = session.send(change()).await.unwrap_err();
    let shown = format!("{cloud:?} {session:?} {error:?} {error} {:?}", change());
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn a_session_of_no_cloud_sends_nothing() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let error = Session::detached(&clock).send(read()).await.unwrap_err();
    assert_eq!((error.class(), error.is_transient()), ("ClientException", false));
}
