//! Opening the log: the tables, the claim, and the end that was signed last.

use std::time::{Duration, Instant};

use chrono::DateTime;

use super::super::checkpoint::{Checkpoint, NoteKind};
use super::super::proof::{Found, Signing, judge, read_beside};
use super::super::sqlite::OpenError;
use super::address::Address;
use super::batch::Batch;
use super::claim::{self, Claim};
use super::rows::hash;
use super::schema;
use super::session::{Failure, GivenUp, Line, Session};
use super::writer::write;
use crate::events::Position;

/// How long a cluster is waited for.
const PATIENCE: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(200);
/// How many events one step of a walk takes.
const WALK_PAGE: u64 = 10_000;

/// What is known of a log that was opened.
pub(super) struct Opened {
    pub(super) claim: Claim,
    pub(super) end: Checkpoint,
    /// The newest event's.
    pub(super) position: Position,
}

/// Takes the log for a holder.
pub(super) async fn take(
    address: &Address,
    line: &mut Line,
    holder: &str,
    signing: Option<&Signing>,
) -> Result<Opened, OpenError> {
    with_patience(address, line, async |session| {
        let format = schema::format(session).await?;
        if format > schema::FORMAT {
            let address = address.to_string();
            return Ok(Err(OpenError::NewerTables { address, found: format }));
        }
        schema::migrate(session, format).await?;
        let mut claim = match claim::take(session, holder).await? {
            Ok(claim) => claim,
            Err(holder) => {
                return Ok(Err(OpenError::Held { address: address.to_string(), holder }));
            }
        };
        let end = prove(session, &mut claim, signing).await?;
        let position = end_of(session).await?;
        Ok(Ok(Opened { claim, end, position }))
    })
    .await?
}

/// The format of a log that this version can read; `copies` says that a copy that is not whole is
/// one, too.
pub(super) async fn check(
    address: &Address,
    line: &mut Line,
    copies: bool,
) -> Result<i64, OpenError> {
    let (found, copy) = with_patience(address, line, async |session| {
        let found = schema::format(session).await?;
        let is_looked_at = !copies && (1..=schema::FORMAT).contains(&found);
        Ok((found, if is_looked_at { claim::copy(session).await? } else { None }))
    })
    .await?;
    let address = address.to_string();
    match (found, copy) {
        (0, _) => Err(OpenError::Server { address, reason: "there is no log in it".to_owned() }),
        (found, _) if found > schema::FORMAT => Err(OpenError::NewerTables { address, found }),
        (_, Some(holder)) => Err(OpenError::Held { address, holder }),
        (found, None) => Ok(found as i64),
    }
}

/// Does something at the first server that can, for as long as a cluster takes to form again.
async fn with_patience<T>(
    address: &Address,
    line: &mut Line,
    act: impl AsyncFn(&mut Session) -> Result<T, Failure>,
) -> Result<T, OpenError> {
    let (begun, mut given_up) = (Instant::now(), GivenUp::default());
    loop {
        let done = match line.session().await {
            Ok(session) => {
                session.limit(given_up);
                let done = act(session).await;
                given_up = session.given_up;
                done
            }
            Err(failure) => Err(failure),
        };
        let failure = match done {
            Ok(done) => return Ok(done),
            Err(Failure::Again) => Failure::Again,
            Err(failure) => {
                line.drop_session();
                failure
            }
        };
        if matches!(failure, Failure::Refused(_)) || begun.elapsed() > PATIENCE {
            let (address, reason) = (address.to_string(), failure.reason());
            return Err(OpenError::Server { address, reason });
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Takes up the checkpoint at the end. Where that is not what was signed, the log says so for ever
/// by a note, and goes on from what there is.
async fn prove(
    session: &mut Session,
    claim: &mut Claim,
    signing: Option<&Signing>,
) -> Result<Checkpoint, Failure> {
    let signer = signing.map(|signing| &signing.key);
    let beside = signing.and_then(|signing| read_beside(&signing.beside));
    let head = claim::head(session).await?;
    let found = judge(head.as_deref(), place(session).await?, signer, beside.as_ref());
    let reason = match found {
        Found::End(end) => return Ok(end),
        Found::None => None,
        Found::Broken(reason) => Some(reason),
    };
    if let Some(reason) = &reason {
        tracing::error!(
            reason,
            "the log is not what was signed; `hearth verify` says what is known"
        );
    }
    let batch = Batch::broken(walk(session).await?, reason.as_deref(), signer);
    match write(session, claim, &batch, &mut false).await? {
        true => claim.go_on(),
        // Somebody else writes by now: from the start.
        false => return Err(Failure::Again),
    }
    Ok(batch.end)
}

async fn end_of(session: &mut Session) -> Result<Position, Failure> {
    Ok(Position(number(session, "SELECT max(position) FROM events").await?))
}

/// The last position and the last note.
async fn place(session: &mut Session) -> Result<(u64, u64), Failure> {
    let event = number(session, "SELECT max(position) FROM events").await?;
    let purged = number(session, "SELECT max(position) FROM purged").await?;
    let note = number(session, "SELECT max(number) FROM notes").await?;
    Ok((event.max(purged), note))
}

async fn number(session: &mut Session, sql: &str) -> Result<u64, Failure> {
    let found: Option<Option<u64>> = session.ask_one(sql, ()).await?;
    Ok(found.flatten().unwrap_or(0))
}

/// Makes the checkpoint of what there is, from the first event on.
async fn walk(session: &mut Session) -> Result<Checkpoint, Failure> {
    session.be_patient();
    let mut end = Checkpoint::default();
    let notes: Vec<(u64, u8, Vec<u8>, Vec<u8>)> = session
        .ask("SELECT after_position, kind, name, hash FROM notes ORDER BY number", ())
        .await?;
    let mut notes = notes.into_iter().peekable();
    let sql = format!(
        "(SELECT position, hash FROM events WHERE position > ? ORDER BY position LIMIT {WALK_PAGE}) \
         UNION ALL \
         (SELECT position, hash FROM purged WHERE position > ? ORDER BY position LIMIT {WALK_PAGE}) \
         ORDER BY position LIMIT {WALK_PAGE}"
    );
    loop {
        let page: Vec<(u64, Vec<u8>)> = session.ask(&sql, (end.position, end.position)).await?;
        for (position, found) in &page {
            while let Some(note) = notes.next_if(|(after, ..)| after < position) {
                take_note(&mut end, &note);
            }
            // One of another length is damaged, and the digest shows it.
            end.event(*position, &hash(found).unwrap_or_default());
        }
        if (page.len() as u64) < WALK_PAGE {
            break;
        }
    }
    notes.for_each(|note| take_note(&mut end, &note));
    end.streams = number(
        session,
        "SELECT count(*) FROM (SELECT stream FROM events UNION SELECT stream FROM purged) s",
    )
    .await?;
    end.blobs = number(session, "SELECT count(*) FROM blobs WHERE part = 0").await?;
    end.keys = number(session, "SELECT count(*) FROM scope_keys WHERE sealed IS NOT NULL").await?;
    let at: Option<i64> =
        session.ask_one("SELECT at FROM events ORDER BY position DESC LIMIT 1", ()).await?;
    end.at = at.and_then(DateTime::from_timestamp_micros).unwrap_or_default();
    Ok(end)
}

fn take_note(end: &mut Checkpoint, (_, kind, name, hash): &(u64, u8, Vec<u8>, Vec<u8>)) {
    let kind = NoteKind::of(i64::from(*kind)).unwrap_or(NoteKind::Broken);
    end.note(kind, &String::from_utf8_lossy(name), hash);
}
