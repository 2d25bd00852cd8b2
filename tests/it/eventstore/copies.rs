//! A log that moves to a server of events and back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::StreamExt;
use hearth::events::log::{
    BlobId, EventLog, EventstoreAddress, EventstoreLog, Filter, Head, OwnedLog, Reseal, Side,
    SqliteLog, audit, transfer,
};
use hearth::events::{Cause, Meta, NewEvent, Position, RecordedEvent, StreamRevision};
use hearth::model::StackId;
use hearth::projections::{Landmark, Search, Views};
use serde_json::{Value, json};

use crate::log_contract::backends::open;
use crate::log_contract::cases::{append, event, number, stream, within};
use crate::support::eventstore::place::Place;
use crate::support::world::{Ground, hot, test_resource};

/// More writes than a copy makes that is broken off.
const WRITES_MAX: usize = 200;
/// How many it makes at least.
const WRITES_MIN: usize = 8;

struct Places {
    folder: tempfile::TempDir,
    place: Place,
}

impl Places {
    fn new() -> Self {
        Self::at(Place::fresh())
    }

    fn at(place: Place) -> Self {
        Self { folder: tempfile::tempdir().unwrap(), place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn address(&self) -> EventstoreAddress {
        EventstoreAddress::parse(&self.place.url).unwrap()
    }

    fn there(&self) -> Side {
        Side::Events(Box::new(self.address()))
    }

    fn copied_there(&self, from: &str) -> Result<u64, String> {
        transfer(&Side::File(self.path(from)), &self.there())
    }

    fn copied_back(&self, to: &str) -> Result<u64, String> {
        transfer(&self.there(), &Side::File(self.path(to)))
    }

    fn open(&self) -> EventstoreLog {
        open(&self.place.url)
    }
}

/// An event that another one led to.
fn led_to(by: Position, body: String) -> NewEvent {
    let cause = Some(Cause::Event(by));
    NewEvent { meta: Arc::new(Meta { cause, ..Meta::default() }), ..event(body) }
}

/// A log with what there can be in one; where its first stream ends.
async fn written(path: &Path, events: u64) -> Head {
    let log = SqliteLog::open(path).unwrap();
    append(&log, &stream("gone"), Head::default(), number(0)).await;
    let mut last = append(&log, &stream("a"), Head::default(), number(0)).await;
    for count in 1..events {
        let due = led_to(last.position, count.to_string());
        last = append(&log, &stream("a"), last.head, due).await;
    }
    let large = append(&log, &stream("b"), Head::default(), event("7".repeat(700_000))).await;
    append(&log, &stream("b"), large.head, number(1)).await;
    append(&log, &stream("closed"), Head::default(), number(1)).await;
    log.put_blob(&vec![7; 1_200_000]).await.unwrap();
    log.put_blob(b"kept").await.unwrap();
    log.put_blob(b"").await.unwrap();
    log.key("stack-a", &|| vec![1, 2, 3]).unwrap();
    log.key("stack-b", &|| vec![4]).unwrap();
    log.key("stack-c", &|| vec![5]).unwrap();
    log.destroy_key("stack-b").await.unwrap();
    log.tombstone(&stream("closed")).await.unwrap();
    log.tombstone(&stream("never")).await.unwrap();
    log.purge(vec![stream("gone")]).await.unwrap();
    last.head
}

/// What comes and what goes in such a log; a body that goes.
async fn change(log: &SqliteLog, head: Head) -> BlobId {
    log.purge(vec![stream("b")]).await.unwrap();
    log.destroy_key("stack-a").await.unwrap();
    let (scope, from, to) = ("stack-c".to_owned(), vec![5], vec![6]);
    log.reseal_keys(vec![Reseal { scope, from, to }]).await.unwrap();
    log.key("stack-d", &|| vec![7]).unwrap();
    let dropped = log.blobs("", 9).unwrap()[0].clone();
    assert_eq!(log.drop_blobs(vec![dropped.clone()]).await.unwrap(), 1);
    log.put_blob(b"fresh").await.unwrap();
    append(log, &stream("a"), head, number(30)).await;
    let last = append(log, &stream("c"), Head::default(), number(1)).await.position;
    log.durable(last).await.unwrap();
    dropped
}

async fn all(log: &dyn EventLog) -> Vec<Arc<RecordedEvent>> {
    log.read_all(Position(0), &Filter::default(), 99_999).await.unwrap()
}

fn problems(path: &Path) -> Vec<String> {
    audit(path, None, &[]).unwrap().problems
}

/// Both have the same, wherever one begins to read.
async fn are_equal(one: &dyn EventLog, other: &dyn EventLog) {
    let events = all(one).await;
    assert_eq!(all(other).await, events);
    assert_eq!(one.durable_position(), other.durable_position());
    let end = one.durable_position().0;
    for after in [1, 2, 7, end / 3, end / 2, end - 3, end - 1, end].map(Position) {
        let here = one.read_all(after, &Filter::default(), 3).await.unwrap();
        assert_eq!(other.read_all(after, &Filter::default(), 3).await.unwrap(), here, "{after}");
        if let Some(next) = here.first() {
            let mut followed = other.subscribe(after, Filter::default());
            let heard = within("an event", followed.next()).await.unwrap().unwrap();
            assert_eq!(heard, *next);
        }
    }
    for kind in ["stack", "resource"] {
        assert_eq!(one.streams(kind, "", 99).unwrap(), other.streams(kind, "", 99).unwrap());
    }
    assert_eq!(one.keys("", 99).unwrap(), other.keys("", 99).unwrap());
    let blobs = one.blobs("", 99).unwrap();
    assert_eq!(other.blobs("", 99).unwrap(), blobs);
    for id in &blobs {
        assert_eq!(one.blob(id).await.unwrap(), other.blob(id).await.unwrap());
    }
}

#[tokio::test]
async fn a_log_moves_to_a_server_of_events_and_back_and_is_the_same() {
    let places = Places::new();
    let (path, back) = (places.path("log.db"), places.path("back.db"));
    let head = written(&path, 1_300).await;
    let told = problems(&path);
    assert_eq!(places.copied_there("log.db"), Ok(1_303));
    assert_eq!(places.copied_there("log.db"), Ok(1_303), "there is nothing to be done");
    assert_eq!(places.copied_back("back.db"), Ok(1_303));
    // What was purged left nothing there that would have to be told by a purge.
    assert_eq!(problems(&back), [""; 0]);

    let (file, log) = (SqliteLog::open_read_only(&path).unwrap(), places.open());
    are_equal(&file, &log).await;
    are_equal(&file, &SqliteLog::open_read_only(&back).unwrap()).await;
    assert!(log.find_key("stack-b").is_err());
    for name in ["closed", "never", "gone"] {
        let head = log.read(&stream(name), StreamRevision(0)).await.unwrap().head;
        assert!(log.append(&stream(name), head, vec![number(9)]).await.is_err(), "{name}");
    }
    // It goes on.
    let end = log.durable_position();
    let own = append(&log, &stream("a"), head, led_to(end, "own".to_owned())).await;
    assert!(own.position > end);
    let read = log.read_all(end, &Filter::default(), 9).await.unwrap();
    assert_eq!((read.len(), read[0].position), (1, own.position));
    let more = append(&log, &stream("a"), own.head, number(0)).await;
    drop((file, log));
    let log = places.open();
    assert_eq!(log.durable_position(), more.position);
    assert_eq!(log.read(&stream("a"), StreamRevision(0)).await.unwrap().head.next, 1_302);
    drop(log);

    // It moves back to where it was, which goes on in its turn, and is copied once more.
    assert_eq!(places.copied_back("log.db"), Ok(1_305));
    assert_eq!(problems(&path), told);
    let file = SqliteLog::open(&path).unwrap();
    are_equal(&places.open(), &file).await;
    let slice = file.read(&stream("a"), StreamRevision(0)).await.unwrap();
    let next = append(&file, &stream("a"), slice.head, number(1)).await;
    file.durable(next.position).await.unwrap();
    assert_eq!(next.position.0, more.position.0 + 1);
    assert_eq!(places.copied_there("log.db"), Ok(1_306));
    let log = places.open();
    are_equal(&file, &log).await;
    assert!(append(&log, &stream("a"), next.head, number(2)).await.position > next.position);
}

#[tokio::test]
async fn positions_that_are_larger_than_the_servers_are_kept_and_gone_on_from() {
    let (first, second) = (Places::new(), Places::new());
    let log = first.open();
    let mut head = Head::default();
    for count in 0..20 {
        head = append(&log, &stream("a"), head, event("7".repeat(10_000))).await.head;
        append(&log, &stream(count), Head::default(), number(count)).await;
    }
    log.purge(vec![stream("a")]).await.unwrap();
    drop(log);
    assert_eq!(transfer(&first.there(), &second.there()), Ok(20));
    let (one, other) = (first.open(), second.open());
    are_equal(&one, &other).await;
    let (end, head) = (other.durable_position(), Head { next: 1, ..Head::default() });
    let own = append(&other, &stream(0), head, number(9)).await;
    assert!(own.position > end);
    drop(other);
    let other = second.open();
    assert_eq!(other.durable_position(), own.position);
    for after in [end, Position(end.0 + 1), Position(own.position.0 - 1)] {
        let read = other.read_all(after, &Filter::default(), 9).await.unwrap();
        assert_eq!(read.iter().map(|it| it.position).collect::<Vec<_>>(), [own.position]);
        let mut followed = other.subscribe(after, Filter::default());
        let heard = within("an event", followed.next()).await.unwrap().unwrap();
        assert_eq!(heard.position, own.position);
    }
}

#[tokio::test]
async fn a_copy_is_brought_up_to_date_with_what_came_and_what_went() {
    let places = Places::new();
    let path = places.path("log.db");
    let head = written(&path, 30).await;
    assert_eq!(places.copied_there("log.db"), Ok(33));
    let log = SqliteLog::open(&path).unwrap();
    let dropped = change(&log, head).await;
    // The log is written meanwhile.
    assert_eq!(places.copied_there("log.db"), Ok(33));
    let there = places.open();
    are_equal(&log, &there).await;
    assert!(there.find_key("stack-a").is_err(), "a key that was destroyed is in no copy");
    assert_eq!(there.blob(&dropped).await.unwrap(), None);
    drop(there);
    // And the same the other way.
    assert_eq!(places.copied_back("back.db"), Ok(33));
    let there = places.open();
    there.purge(vec![stream("c")]).await.unwrap();
    there.destroy_key("stack-d").await.unwrap();
    there.tombstone(&stream("a")).await.unwrap();
    there.put_blob(b"fresher").await.unwrap();
    append(&there, &stream("d"), Head::default(), number(1)).await;
    assert_eq!(places.copied_back("back.db"), Ok(33));
    are_equal(&there, &SqliteLog::open_read_only(&places.path("back.db")).unwrap()).await;
    assert_eq!(problems(&places.path("back.db")).len(), 1, "the purge, which no event says");
}

#[tokio::test]
async fn a_log_that_is_no_earlier_copy_stays_as_it_is() {
    let places = Places::new();
    written(&places.path("log.db"), 20).await;
    let log = places.open();
    let own = append(&log, &stream("a"), Head::default(), number(7)).await;
    drop(log);
    let another = |refused: Result<u64, String>| {
        let refused = refused.unwrap_err();
        assert!(refused.ends_with("there is another log already"), "{refused}");
    };
    another(places.copied_there("log.db"));
    another(places.copied_back("log.db"));
    assert_eq!(all(&places.open()).await.len(), 1);
    assert_eq!(places.open().durable_position(), own.position);

    let places = Places::new();
    let head = written(&places.path("log.db"), 20).await;
    assert_eq!(places.copied_there("log.db"), Ok(23));
    let log = places.open();
    append(&log, &stream("a"), head, number(7)).await;
    another(places.copied_there("log.db"));
    assert_eq!(all(&log).await.len(), 24);
    drop(log);

    let places = Places::new();
    written(&places.path("log.db"), 20).await;
    assert_eq!(places.copied_there("log.db"), Ok(23));
    places.open().destroy_key("stack-a").await.unwrap();
    another(places.copied_there("log.db"));
    let address = places.address();
    let held = tokio::task::spawn_blocking(|| EventstoreLog::open_as(address, "a server"));
    let held = held.await.unwrap().unwrap();
    written(&places.path("more.db"), 21).await;
    let refused = places.copied_there("more.db").unwrap_err();
    assert!(refused.ends_with("there is another log already"), "{refused}");
    let log = SqliteLog::open(&places.path("log.db")).unwrap();
    log.destroy_key("stack-a").await.unwrap();
    let refused = places.copied_there("log.db").unwrap_err();
    assert!(refused.ends_with("a server writes it"), "{refused}");
    drop(held);
}

/// Breaks a copy off after every write, of a log to where an earlier one of it may have been copied,
/// and copies it again.
async fn broken_off_anywhere(earlier: Option<&Side>, path: &Path, events: u64) {
    let file = Side::File(path.to_owned());
    for writes in 0..WRITES_MAX {
        let places = Places::at(Place::standing_in());
        let server = places.place.server.as_ref().unwrap();
        let before = earlier.map_or(0, |earlier| transfer(earlier, &places.there()).unwrap());
        server.allow(Some(writes));
        let broken = transfer(&file, &places.there());
        server.allow(None);
        if broken.is_ok() {
            assert!(writes > WRITES_MIN, "{writes}");
            return;
        }
        match EventstoreLog::open(places.address()) {
            Err(error) => {
                assert!(error.to_string().contains("a copy that is not whole"), "{error}");
                assert!(places.copied_back("none.db").is_err());
                assert!(!places.path("none.db").exists());
            }
            // Nothing of it was begun.
            Ok(log) => assert_eq!(all(&log).await.len() as u64, before, "after {writes} writes"),
        }
        assert_eq!(transfer(&file, &places.there()), Ok(events), "after {writes} writes");
        let (file, log) = (SqliteLog::open_read_only(path).unwrap(), places.open());
        are_equal(&file, &log).await;
        let own = append(&log, &stream("own"), Head::default(), number(4)).await;
        assert!(own.position > file.durable_position());
    }
    panic!("a copy makes more than {WRITES_MAX} writes");
}

#[tokio::test]
async fn a_copy_that_broke_off_anywhere_is_no_log_and_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    written(&path, 4).await;
    broken_off_anywhere(None, &path, 7).await;
}

#[tokio::test]
async fn a_copy_that_is_brought_up_to_date_may_break_off_anywhere_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.db");
    let head = written(&path, 4).await;
    let earlier = Side::File(folder.path().join("earlier.db"));
    transfer(&Side::File(path.clone()), &earlier).unwrap();
    let log = SqliteLog::open(&path).unwrap();
    change(&log, head).await;
    drop(log);
    broken_off_anywhere(Some(&earlier), &path, 7).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_is_written_meanwhile_is_copied_as_it_stood_at_one_moment() {
    let places = Places::new();
    let log = places.open();
    let mut last = append(&log, &stream("a"), Head::default(), number(0)).await;
    let (from, to) = (places.there(), Side::File(places.path("log.db")));
    let copying = tokio::task::spawn_blocking(move || transfer(&from, &to));
    while !copying.is_finished() {
        last = append(&log, &stream("a"), last.head, number(last.head.next)).await;
    }
    let copied = copying.await.unwrap().unwrap();
    assert!(0 < copied && copied < last.head.next, "{copied} of {}", last.head.next);
    assert_eq!(problems(&places.path("log.db")), [""; 0]);
    assert_eq!(places.copied_back("log.db"), Ok(last.head.next));
    are_equal(&log, &SqliteLog::open_read_only(&places.path("log.db")).unwrap()).await;
}

fn template(value: &str) -> Value {
    hot(json!({
        "net": { "type": "OS::Neutron::Net" },
        "value": test_resource(json!({ "value": value })),
    }))
}

/// Closes a log, away from the runtime that its end would hold up.
async fn close(log: Arc<dyn OwnedLog>) {
    tokio::task::spawn_blocking(move || log.close()).await.unwrap();
}

#[actix::test]
async fn a_stack_goes_on_wherever_its_log_was_moved_to() {
    let places = Places::new();
    let ground = Ground::new().await;
    let empty = ground.counts();
    let log = Arc::new(SqliteLog::open(&places.path("log.db")).unwrap());
    let world = ground.start_on(log.clone()).await;
    let web = world.create("web", template("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    let events = world.events(web.stack).await;
    world.engine.shutdown();
    drop(world);
    close(log).await;

    places.copied_there("log.db").unwrap();
    let log = Arc::new(places.open());
    let world = ground.start_on(log.clone()).await;
    assert_eq!(world.events(web.stack).await, events);
    let updated = world.update(web.stack, template("two")).await.unwrap();
    assert_eq!(world.settled(&updated).await, "UPDATE_COMPLETE");
    let events = world.events(web.stack).await;
    world.engine.shutdown();
    drop(world);
    close(log).await;

    places.copied_back("back.db").unwrap();
    assert_eq!(problems(&places.path("back.db")), [""; 0]);
    let log = Arc::new(SqliteLog::open(&places.path("back.db")).unwrap());
    let world = ground.start_on(log.clone()).await;
    assert_eq!(world.events(web.stack).await, events);
    let deleted = world.delete(web.stack).await.unwrap();
    assert_eq!(world.settled(&deleted).await, "DELETE_COMPLETE");
    assert_eq!(ground.counts(), empty);
    world.engine.shutdown();
    drop(world);
    close(log).await;
    assert_eq!(problems(&places.path("back.db")), [""; 0]);
}

#[actix::test]
async fn views_that_are_kept_find_what_was_there_before_their_log_was_moved() {
    let places = Places::new();
    let ground = Ground::new().await;
    let log = Arc::new(SqliteLog::open(&places.path("log.db")).unwrap());
    let world = ground.start_on(log.clone()).await;
    // More than one block's events before the stack that is looked for.
    for number in 0..40 {
        let name = format!("s{number}");
        let made = world.create(&name, template("one")).await.unwrap();
        assert_eq!(world.settled(&made).await, "CREATE_COMPLETE");
    }
    let web = world.create("web", template("one")).await.unwrap();
    assert_eq!(world.settled(&web).await, "CREATE_COMPLETE");
    world.engine.shutdown();
    drop(world);
    is_found(&places.path("views.db"), log.clone(), web.stack, web.position).await;
    close(log).await;

    places.copied_there("log.db").unwrap();
    let log = Arc::new(places.open());
    is_found(&places.path("views.db"), log.clone(), web.stack, web.position).await;
    close(log).await;

    places.copied_back("back.db").unwrap();
    let log = Arc::new(SqliteLog::open(&places.path("back.db")).unwrap());
    is_found(&places.path("views.db"), log.clone(), web.stack, web.position).await;
    close(log).await;
}

/// Views in a file say where to look for what happened to a stack.
async fn is_found(path: &Path, log: Arc<dyn EventLog>, stack: StackId, at: Position) {
    let end = log.durable_position();
    let views = Views::open(path, log).await.unwrap();
    views.after(end).await.unwrap();
    let mut search = Search::default();
    search.one_of([Landmark::Stack(stack)]);
    let blocks = views.blocks(&search, Position(0)).await.unwrap();
    views.close().await;
    assert!(at.0 > 256, "{at}");
    assert!(blocks.iter().any(|block| block.contains(&at.0)), "{at} in {blocks:?}");
}
