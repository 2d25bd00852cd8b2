//! Events as rows, and many of them in one statement.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::DateTime;
use mysql_async::prelude::FromRow;
use mysql_async::{FromRowError, Row, Value};

use super::super::LogError;
use super::super::chain::{Hash, meta_text};
use super::session::{Failure, Session};
use crate::events::{Meta, Position, RecordedEvent, StreamId, StreamRevision};

/// The columns of an event, in the order of `EventRow`.
pub(super) const COLUMNS: &str = "position, stream, revision, type, version, at, meta, hash, body";
/// How many rows one statement takes.
const ROWS_MAX: usize = 256;
/// How many bytes one statement takes, unless a single row has more; servers take 16 MiB.
const BYTES_MAX: usize = 4 << 20;

type Columns = (u64, Vec<u8>, u64, Vec<u8>, u16, i64, Vec<u8>, Vec<u8>, Vec<u8>);

/// A row of `events`.
pub(super) struct EventRow(Columns);

impl FromRow for EventRow {
    fn from_row_opt(row: Row) -> Result<Self, FromRowError> {
        Columns::from_row_opt(row).map(Self)
    }
}

impl EventRow {
    pub(super) fn position(&self) -> u64 {
        self.0.0
    }

    /// The event. Errors: `Damaged` where a column is not what was written.
    pub(super) fn event(self) -> Result<RecordedEvent, LogError> {
        let (position, stream, revision, event_type, version, at, meta, hash, body) = self.0;
        let damaged =
            |what: &str| LogError::Damaged(format!("position {position}: its {what} is damaged"));
        let text = |bytes, what| String::from_utf8(bytes).map_err(|_| damaged(what));
        let meta: Meta = serde_json::from_slice(&meta).map_err(|_| damaged("meta"))?;
        Ok(RecordedEvent {
            position: Position(position),
            stream: StreamId(text(stream, "stream")?.into()),
            revision: StreamRevision(revision),
            event_type: text(event_type, "type")?.into(),
            version,
            at: DateTime::from_timestamp_micros(at).ok_or_else(|| damaged("time"))?,
            meta: Arc::new(meta),
            body: text(body, "body")?.into(),
            hash: hash.try_into().map_err(|_| damaged("hash"))?,
        })
    }
}

/// The values of an event's row.
pub(super) fn values_of(event: &RecordedEvent) -> Result<Vec<Value>, Failure> {
    let meta = meta_text(&event.meta)
        .map_err(|error| Failure::Refused(format!("an event's meta cannot be written: {error}")))?;
    Ok(vec![
        event.position.0.into(),
        event.stream.as_str().into(),
        event.revision.0.into(),
        (&*event.event_type).into(),
        event.version.into(),
        event.at.timestamp_micros().into(),
        meta.into(),
        bytes(&event.hash),
        (&*event.body).into(),
    ])
}

pub(super) fn bytes(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.to_vec())
}

pub(super) fn hash(bytes: &[u8]) -> Option<Hash> {
    bytes.try_into().ok()
}

/// The rows of a statement that ends in `IN`, for these names.
pub(super) async fn chosen<R: FromRow + Send + 'static>(
    session: &mut Session,
    sql: &str,
    names: BTreeSet<&str>,
) -> Result<Vec<R>, Failure> {
    let names: Vec<&str> = names.into_iter().collect();
    let mut rows = Vec::new();
    for some in names.chunks(ROWS_MAX) {
        // Few lengths, for each is a statement that the server keeps: a name may stand twice.
        let count = some.len().next_power_of_two();
        let values: Vec<Value> = some.iter().cycle().take(count).map(|&it| it.into()).collect();
        let sql = format!("{sql} ({})", vec!["?"; count].join(","));
        rows.extend(session.ask(&sql, values).await?);
    }
    Ok(rows)
}

/// Inserts rows by as few statements as their size allows. `into` is the statement up to VALUES,
/// and `then` what follows the rows.
pub(super) async fn insert(
    session: &mut Session,
    into: &str,
    then: &str,
    rows: Vec<Vec<Value>>,
) -> Result<(), Failure> {
    let mut some: Vec<Vec<Value>> = Vec::new();
    let mut size = 0;
    for row in rows {
        let more: usize = row.iter().map(|value| value.bin_len() as usize).sum();
        if some.len() == ROWS_MAX || !some.is_empty() && size + more > BYTES_MAX {
            insert_some(session, into, then, std::mem::take(&mut some)).await?;
            size = 0;
        }
        size += more;
        some.push(row);
    }
    insert_some(session, into, then, some).await
}

async fn insert_some(
    session: &mut Session,
    into: &str,
    then: &str,
    rows: Vec<Vec<Value>>,
) -> Result<(), Failure> {
    let Some(first) = rows.first() else { return Ok(()) };
    let row = format!("({})", vec!["?"; first.len()].join(","));
    let sql = format!("{into} VALUES {} {then}", vec![row.as_str(); rows.len()].join(","));
    let values: Vec<Value> = rows.into_iter().flatten().collect();
    session.change(&sql, values).await?;
    Ok(())
}
