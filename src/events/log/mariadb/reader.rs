//! Reading the log, on a few threads with a connection each. Whatever is read is at least as new
//! as what was acknowledged (`Session::check`), and no transaction stays open.

use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::super::heads::Tip;
use super::super::ledger::StoredKey;
use super::super::store::Scan;
use super::super::{BlobId, Filter, LogError};
use super::address::Address;
use super::claim;
use super::rows::{COLUMNS, EventRow, hash};
use super::session::{Failure, GivenUp, Line, Session};
use crate::events::{Position, RecordedEvent, StreamId};

/// How many read at the same time.
const READERS: usize = 4;
/// How long after it was asked a reader goes from host to host before it gives up: longer than a
/// cluster needs to go on, and, by `look_max`, long enough for one that is slow.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two rounds of the hosts.
const PAUSE: Duration = Duration::from_millis(50);
/// How long who only measures waits.
const SIZE_WITHIN: Duration = Duration::from_secs(1);
/// How many events of a stream are fetched at a time.
const STREAM_PAGE: u64 = 1_000;

/// Whether a stream is closed, and its last event, in one look: in a cluster each look waits until
/// the server has what was acknowledged at the others.
const TIP: &str = "SELECT EXISTS (SELECT 1 FROM closed WHERE stream = ?), last.revision, last.hash \
                   FROM (SELECT 1) AS one LEFT JOIN (SELECT revision, hash FROM events \
                   WHERE stream = ? ORDER BY revision DESC LIMIT 1) AS last ON TRUE";

type Job = Box<dyn FnOnce(&mut Reader) + Send>;

/// The threads.
pub(super) struct Readers {
    jobs: Mutex<Option<Sender<Job>>>,
}

/// One of them.
pub(super) struct Reader {
    runtime: tokio::runtime::Runtime,
    line: Line,
}

impl Readers {
    pub(super) fn start(address: &Arc<Address>) -> std::io::Result<Self> {
        let (sender, jobs) = channel::<Job>();
        let jobs = Arc::new(Mutex::new(jobs));
        for _ in 0..READERS {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let mut reader = Reader { runtime, line: Line::new(address.clone()) };
            let jobs = jobs.clone();
            std::thread::Builder::new().name("log-reader".to_owned()).spawn(move || {
                while let Some(job) = next(&jobs) {
                    job(&mut reader)
                }
            })?;
        }
        Ok(Self { jobs: Mutex::new(Some(sender)) })
    }

    /// Has a reader do something, and waits for it.
    pub(super) fn with<T: Send + 'static>(
        &self,
        read: impl AsyncFn(&mut Session) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, LogError> {
        self.ask(read)?.recv().map_err(|_| closed())?
    }

    /// Has a reader do something.
    fn ask<T: Send + 'static>(
        &self,
        read: impl AsyncFn(&mut Session) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Receiver<Result<T, LogError>>, LogError> {
        let ((told, answer), asked_at) = (sync_channel(1), Instant::now());
        let job: Job = Box::new(move |reader| drop(told.send(reader.run(asked_at, read))));
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let asked = jobs.is_some_and(|jobs| jobs.send(job).is_ok());
        asked.then_some(answer).ok_or_else(closed)
    }

    /// Lets the threads end.
    pub(super) fn close(&self) {
        *self.jobs.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn closed() -> LogError {
    LogError::Unavailable("the log is closed".to_owned())
}

fn next(jobs: &Mutex<Receiver<Job>>) -> Option<Job> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

impl Reader {
    fn run<T>(
        &mut self,
        asked_at: Instant,
        read: impl AsyncFn(&mut Session) -> Result<T, Failure>,
    ) -> Result<T, LogError> {
        let Self { runtime, line } = self;
        if asked_at.elapsed() > PATIENCE {
            return Err(LogError::Unavailable("all readers wait for an answer".to_owned()));
        }
        runtime.block_on(async {
            let mut given_up = GivenUp::default();
            loop {
                let read = match line.session().await {
                    Ok(session) => {
                        session.limit(given_up);
                        let read = match session.stay_fit().await {
                            Ok(()) => read(session).await,
                            Err(failure) => Err(failure),
                        };
                        given_up = session.given_up;
                        read
                    }
                    Err(failure) => Err(failure),
                };
                let reason = match read {
                    Ok(read) => return Ok(read),
                    Err(Failure::Refused(reason)) => {
                        line.drop_session();
                        return Err(LogError::Unavailable(reason));
                    }
                    Err(Failure::Again) => Failure::Again.reason(),
                    Err(Failure::Elsewhere(reason)) => {
                        tracing::debug!(reason, "the log is read at another server");
                        // What was asked there may be answered still.
                        line.drop_session();
                        reason
                    }
                };
                if asked_at.elapsed() > PATIENCE {
                    return Err(LogError::Unavailable(reason));
                }
                tokio::time::sleep(PAUSE).await;
            }
        })
    }
}

impl Readers {
    /// The newest position.
    pub(super) fn end(&self) -> Result<Position, LogError> {
        self.with(async |session| {
            let end: Option<Option<u64>> =
                session.ask_one("SELECT max(position) FROM events", ()).await?;
            Ok(Position(end.flatten().unwrap_or(0)))
        })
    }

    pub(super) fn tip(&self, stream: &StreamId) -> Result<Tip, LogError> {
        let name = stream.as_str().to_owned();
        let row: Option<(bool, Option<u64>, Option<Vec<u8>>)> =
            self.with(async move |session| session.ask_one(TIP, (&name, &name)).await)?;
        let (closed, revision, found) = row.unwrap_or_default();
        let mut tip = Tip { tombstoned: closed, ..Tip::default() };
        if let (Some(revision), Some(found)) = (revision, found) {
            tip.next = revision + 1;
            tip.hash = hash(&found)
                .ok_or_else(|| LogError::Damaged(format!("stream {stream}: its hash")))?;
        }
        Ok(tip)
    }

    pub(super) fn stream(
        &self,
        stream: &StreamId,
        from: u64,
    ) -> Result<Vec<Arc<RecordedEvent>>, LogError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM events WHERE stream = ? AND revision >= ? \
             ORDER BY revision LIMIT {STREAM_PAGE}"
        );
        let mut events: Vec<Arc<RecordedEvent>> = Vec::new();
        let mut from = from;
        loop {
            let (sql, name) = (sql.clone(), stream.as_str().to_owned());
            let rows: Vec<EventRow> =
                self.with(async move |session| session.ask(&sql, (&name, from)).await)?;
            let count = rows.len() as u64;
            for row in rows {
                events.push(Arc::new(row.event()?));
            }
            if count < STREAM_PAGE {
                return Ok(events);
            }
            from = events.last().map_or(from, |event| event.revision.0 + 1);
        }
    }

    pub(super) fn scan(
        &self,
        after: Position,
        filter: &Filter,
        limit: usize,
    ) -> Result<Scan, LogError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM events WHERE position > ? ORDER BY position LIMIT {limit}"
        );
        let rows: Vec<EventRow> =
            self.with(async move |session| session.ask(&sql, (after.0,)).await)?;
        let mut scan = Scan { events: Vec::new(), to: after };
        for row in rows {
            scan.to = Position(row.position());
            match row.event() {
                Ok(event) if filter.takes(&event.stream) => scan.events.push(Arc::new(event)),
                Ok(_) => {}
                // One event that is damaged does not hide those after it. Whoever reads its stream
                // is refused.
                Err(error) => {
                    tracing::error!(position = %scan.to, %error, "an event is passed over");
                }
            }
        }
        Ok(scan)
    }

    pub(super) fn blob(&self, id: &BlobId) -> Result<Option<Arc<[u8]>>, LogError> {
        let id = id.0.clone();
        let parts: Vec<Vec<u8>> = self.with(async move |session| {
            session.ask("SELECT content FROM blobs WHERE id = ? ORDER BY part", (&id,)).await
        })?;
        Ok((!parts.is_empty()).then(|| parts.concat().into()))
    }

    pub(super) fn key(&self, scope: &str) -> Result<StoredKey, LogError> {
        let scope = scope.to_owned();
        let row: Option<Option<Vec<u8>>> = self.with(async move |session| {
            session.ask_one("SELECT sealed FROM scope_keys WHERE scope = ?", (&scope,)).await
        })?;
        Ok(match row {
            None => StoredKey::Absent,
            Some(None) => StoredKey::Destroyed,
            Some(Some(sealed)) => StoredKey::Sealed(sealed),
        })
    }

    pub(super) fn keys(
        &self,
        after: &str,
        limit: usize,
    ) -> Result<Vec<(String, Vec<u8>)>, LogError> {
        let after = after.to_owned();
        let rows: Vec<(Vec<u8>, Vec<u8>)> = self.with(async move |session| {
            let sql = format!(
                "SELECT scope, sealed FROM scope_keys WHERE scope > ? AND sealed IS NOT NULL \
                 ORDER BY scope LIMIT {limit}"
            );
            session.ask(&sql, (&after,)).await
        })?;
        rows.into_iter().map(|(scope, sealed)| Ok((text(scope)?, sealed))).collect()
    }

    pub(super) fn streams(
        &self,
        kind: &str,
        after: &str,
        limit: usize,
    ) -> Result<Vec<StreamId>, LogError> {
        let (from, to) = (format!("{kind}-"), format!("{kind}."));
        let after = after.to_owned().max(from);
        let rows: Vec<Vec<u8>> = self.with(async move |session| {
            let sql = format!(
                "SELECT stream FROM events WHERE stream > ? AND stream < ? \
                 GROUP BY stream ORDER BY stream LIMIT {limit}"
            );
            session.ask(&sql, (&after, &to)).await
        })?;
        rows.into_iter().map(|name| Ok(StreamId(text(name)?.into()))).collect()
    }

    pub(super) fn blobs(&self, after: &str, limit: usize) -> Result<Vec<BlobId>, LogError> {
        let after = after.to_owned();
        let rows: Vec<Vec<u8>> = self.with(async move |session| {
            let sql =
                format!("SELECT id FROM blobs WHERE id > ? AND part = 0 ORDER BY id LIMIT {limit}");
            session.ask(&sql, (&after,)).await
        })?;
        rows.into_iter().map(|id| Ok(BlobId(text(id)?))).collect()
    }

    /// The checkpoint at the end.
    pub(super) fn head(&self) -> Result<Option<String>, LogError> {
        self.with(claim::head)
    }

    /// How much the tables take, in bytes, as the server estimates it; `None` where it is not known
    /// soon.
    pub(super) fn size(&self) -> Option<u64> {
        let sql = "SELECT CAST(sum(data_length + index_length) AS UNSIGNED) \
                   FROM information_schema.tables WHERE table_schema = database()";
        let asked = self.ask(async |session| session.ask_one(sql, ()).await).ok()?;
        let size: Option<Option<u64>> = asked.recv_timeout(SIZE_WITHIN).ok()?.ok()?;
        size.flatten()
    }
}

fn text(bytes: Vec<u8>) -> Result<String, LogError> {
    String::from_utf8(bytes).map_err(|_| LogError::Damaged("a name is not text".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::super::session::{STATEMENT_MAX, look_max};
    use super::*;

    #[test]
    fn a_cluster_that_is_slow_has_its_time_before_it_is_given_up() {
        let mut passed = Duration::ZERO;
        let within = (0..).map(look_max).take_while(|look| {
            passed += *look + PAUSE;
            passed <= PATIENCE
        });
        assert_eq!(within.max(), Some(STATEMENT_MAX * 2));
    }

    #[test]
    fn what_has_waited_for_a_reader_for_too_long_is_asked_no_more() {
        let address = Address::parse("mysql://hearth@127.0.0.1:1/hearth").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut reader = Reader { runtime, line: Line::new(Arc::new(address)) };
        let long_ago = Instant::now().checked_sub(PATIENCE * 2).unwrap();
        let read = reader.run(long_ago, async |_| Ok(()));
        let Err(LogError::Unavailable(reason)) = read else { panic!("{read:?}") };
        assert_eq!(reason, "all readers wait for an answer");
    }
}
