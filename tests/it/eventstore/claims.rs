//! One process writes the log at a time.

use std::sync::Arc;

use hearth::events::log::{
    BlobId, EventLog, EventstoreAddress, EventstoreLog, Head, LogError, OpenError, OwnedLog, Reseal,
};

use crate::log_contract::cases::{append, number, stream};
use crate::support::eventstore::StandIn;
use crate::support::eventstore::place::Place;
use crate::support::wait::{WAIT_MAX, polled};

async fn open_as(url: &str, holder: &'static str) -> Result<Arc<EventstoreLog>, OpenError> {
    let address = EventstoreAddress::parse(url).unwrap();
    let open = move || EventstoreLog::open_as(address, holder).map(Arc::new);
    tokio::task::spawn_blocking(open).await.unwrap()
}

/// Ends it as a process ends that is told to.
async fn close(log: Arc<EventstoreLog>) {
    tokio::task::spawn_blocking(move || log.close()).await.unwrap();
}

/// Ends it as a process ends that is killed.
async fn kill(log: Arc<EventstoreLog>) {
    tokio::task::spawn_blocking(move || drop(log)).await.unwrap();
}

#[tokio::test]
async fn a_second_process_is_refused_while_the_first_is_heard() {
    let place = Place::fresh();
    let first = open_as(&place.url, "first").await.unwrap();
    let head = append(&*first, &stream("a"), Head::default(), number(0)).await.head;
    match open_as(&place.url, "second").await {
        Err(OpenError::Held { holder, .. }) => assert_eq!(holder, "first"),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("both hold it"),
    }
    append(&*first, &stream("a"), head, number(1)).await;

    kill(first).await;
    let again = open_as(&place.url, "first").await.unwrap();
    close(again).await;
    let second = open_as(&place.url, "second").await.unwrap();
    kill(second).await;
    // It has given nothing up, and says no more.
    let third = open_as(&place.url, "third").await.unwrap();
    append(&*third, &stream("b"), Head::default(), number(0)).await;
    close(third).await;
}

#[tokio::test]
async fn a_process_that_was_taken_over_writes_nothing_more() {
    let server = StandIn::start(1);
    let first = open_as(&server.url(), "first").await.unwrap();
    let mut head = append(&*first, &stream("a"), Head::default(), number(0)).await.head;
    first.key("stack-a", &|| vec![1]).unwrap();
    server.say("hearth.writer", "hearth-writer", "second");
    let refused = async || match first.append(&stream("a"), head, vec![number(1)]).await {
        Ok(appended) => {
            head = appended.head;
            None
        }
        Err(error) => Some(error),
    };
    let refused = polled(WAIT_MAX, "it writes no more", refused).await;
    assert!(matches!(&refused, LogError::Unavailable(why) if why.contains("taken the log over")));
    assert!(first.is_taken_over() && !first.is_writable());
    let reseal = Reseal { scope: "stack-a".to_owned(), from: vec![1], to: vec![2] };
    assert!(first.reseal_keys(vec![reseal]).await.is_err());
    assert!(first.destroy_key("stack-a").await.is_err());
    assert!(first.tombstone(&stream("a")).await.is_err());
    assert!(first.purge(vec![stream("a")]).await.is_err());
    assert!(first.drop_blobs(vec![BlobId("of another".to_owned())]).await.is_err());
    assert!(first.key("stack-b", &|| vec![1]).is_err());
    close(first).await;
    assert!(matches!(open_as(&server.url(), "second").await, Ok(log) if log.is_writable()));
}
