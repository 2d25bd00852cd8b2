//! A log on nodes that ask who it is: over TLS, by a password or by a certificate, and none that
//! another issuer has vouched for.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use hearth::events::log::{EventLog, EventstoreAddress, EventstoreLog, Filter, Head, LogError};
use hearth::events::{NewEvent, Position, StreamId, StreamRevision};

use crate::log_contract::backends::open;
use crate::support::eventstore::StandIn;
use crate::support::eventstore::guard::Guard;

/// `ann:p@ss:word`
const ANN: &str = "Basic YW5uOnBAc3M6d29yZA==";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls").join(name)
}

fn event(body: impl Into<String>) -> NewEvent {
    NewEvent {
        event_type: "StackCreated",
        version: 1,
        at: chrono::DateTime::from_timestamp_micros(1_790_000_000_123_456).unwrap(),
        meta: Arc::default(),
        body: body.into(),
    }
}

/// What a log asks by each of its ways: appends of every size, reads, subscriptions, bodies, keys.
async fn everything_works(log: &EventstoreLog, server: &StandIn) {
    let stream = StreamId("stack-1".into());
    let small = log.append(&stream, Head::default(), vec![event("0"), event("1")]).await.unwrap();
    let large = event("2".repeat(2 << 20));
    let mut written = log.append(&stream, small.head, vec![large]).await.unwrap();
    let mut events = log.subscribe(Position(0), Filter::default());
    for _ in 0..3 {
        events.next().await.unwrap().unwrap();
    }
    server.kill(server.leader().unwrap());
    written = log.append(&stream, written.head, vec![event("3")]).await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().body.as_ref(), "3");
    let slice = log.read(&stream, StreamRevision(0)).await.unwrap();
    assert_eq!(slice.events.len() as u64, written.head.next);
}

/// What each is told whom no node lets in, once it was waited for one that does.
fn refusals(urls: impl IntoIterator<Item = String>) -> Vec<String> {
    let open = |url: String| match EventstoreLog::open(EventstoreAddress::parse(&url).unwrap()) {
        Err(LogError::Unavailable(reason)) => reason,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("let in"),
    };
    let opened: Vec<_> =
        urls.into_iter().map(|url| std::thread::spawn(move || open(url))).collect();
    opened.into_iter().map(|opened| opened.join().unwrap()).collect()
}

#[actix::test]
async fn who_says_the_password_is_let_in_over_tls() {
    let server = StandIn::guarded(3, Guard::Password(ANN));
    let (hosts, issuer) = (server.hosts(), file("authority.pem"));
    let tls = format!("{hosts}?tls=true&tlsCaFile={}", issuer.display());
    everything_works(&open(&format!("esdb://ann:p%40ss:word@{tls}")), &server).await;

    let others = ["", "ann:guessed@", "bob:p%40ss:word@"];
    for reason in refusals(others.map(|user| format!("esdb://{user}{tls}"))) {
        assert!(reason.contains("refuses the user"), "{reason}");
        assert!(!reason.contains("guessed") && !reason.contains("ss:word"), "{reason}");
    }
}

#[actix::test]
async fn a_user_s_certificate_is_shown() {
    let server = StandIn::guarded(3, Guard::Certificate);
    let (hosts, issuer) = (server.hosts(), file("authority.pem"));
    let (certificate, key) = (file("user.pem"), file("user.key"));
    let tls = format!("esdb://{hosts}?tls=true&tlsCaFile={}", issuer.display());
    let user = format!("&userCertFile={}&userKeyFile={}", certificate.display(), key.display());
    everything_works(&open(&format!("{tls}{user}")), &server).await;
    let [reason] = &refusals([tls])[..] else { panic!() };
    assert!(reason.contains("refuses the user"), "{reason}");
}
