//! The tables of the log, and how a database comes to have them. Names and texts are kept as
//! bytes, so that they are compared and come back as what they are.

use super::session::{Failure, Session};

/// The step that makes the table of steps is no step.
const FORMAT_TABLE: &str = "CREATE TABLE IF NOT EXISTS format (id TINYINT PRIMARY KEY, steps BIGINT UNSIGNED NOT NULL) ENGINE=InnoDB";

/// The steps from an empty database to today's tables, each of which may be made again: a process
/// can be killed after a table was made and before that was noted, and two may make it at once.
const STEPS: [&[&str]; 1] = [&[
    // Where the log ends; `turn` counts what was written, and `epoch` who writes.
    "CREATE TABLE IF NOT EXISTS sequencer (
        id TINYINT PRIMARY KEY,
        next BIGINT UNSIGNED NOT NULL,
        turn BIGINT UNSIGNED NOT NULL,
        epoch BIGINT UNSIGNED NOT NULL,
        holder VARBINARY(512) NOT NULL,
        seen DATETIME(6) NOT NULL,
        checkpoint BLOB
    ) ENGINE=InnoDB",
    "INSERT IGNORE INTO sequencer VALUES (0, 1, 0, 0, '', '2000-01-01', NULL)",
    "CREATE TABLE IF NOT EXISTS events (
        position BIGINT UNSIGNED PRIMARY KEY,
        stream VARBINARY(512) NOT NULL,
        revision BIGINT UNSIGNED NOT NULL,
        type VARBINARY(128) NOT NULL,
        version SMALLINT UNSIGNED NOT NULL,
        at BIGINT NOT NULL,
        meta LONGBLOB NOT NULL,
        hash BINARY(32) NOT NULL,
        body LONGBLOB NOT NULL,
        UNIQUE KEY events_of_stream (stream, revision)
    ) ENGINE=InnoDB",
    // What is left of an event that was purged.
    "CREATE TABLE IF NOT EXISTS purged (
        position BIGINT UNSIGNED PRIMARY KEY,
        stream VARBINARY(512) NOT NULL,
        hash BINARY(32) NOT NULL
    ) ENGINE=InnoDB",
    // What is part of the digest beside the events; see `checkpoint::NoteKind`.
    "CREATE TABLE IF NOT EXISTS notes (
        number BIGINT UNSIGNED PRIMARY KEY,
        after_position BIGINT UNSIGNED NOT NULL,
        kind TINYINT UNSIGNED NOT NULL,
        name BLOB NOT NULL,
        hash VARBINARY(64) NOT NULL
    ) ENGINE=InnoDB",
    // Checkpoints that were passed.
    "CREATE TABLE IF NOT EXISTS checkpoints (
        position BIGINT UNSIGNED NOT NULL,
        notes BIGINT UNSIGNED NOT NULL,
        checkpoint BLOB NOT NULL,
        PRIMARY KEY (position, notes)
    ) ENGINE=InnoDB",
    // Streams that take no more events.
    "CREATE TABLE IF NOT EXISTS closed (stream VARBINARY(512) PRIMARY KEY) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS blobs (
        id VARBINARY(64) NOT NULL,
        part INT UNSIGNED NOT NULL,
        content MEDIUMBLOB NOT NULL,
        PRIMARY KEY (id, part)
    ) ENGINE=InnoDB",
    // A destroyed key leaves a row without one.
    "CREATE TABLE IF NOT EXISTS scope_keys (scope VARBINARY(512) PRIMARY KEY, sealed BLOB) ENGINE=InnoDB",
    // Written to find out whether a server that refused something takes rows again.
    "CREATE TABLE IF NOT EXISTS probe (id TINYINT PRIMARY KEY, page MEDIUMBLOB NOT NULL) ENGINE=InnoDB",
]];

/// How many steps this version knows.
pub(super) const FORMAT: u64 = STEPS.len() as u64;

/// How many steps the database has taken; 0 where it is empty.
pub(super) async fn format(session: &mut Session) -> Result<u64, Failure> {
    let there: Vec<String> = session.ask("SHOW TABLES LIKE 'format'", ()).await?;
    if there.is_empty() {
        return Ok(0);
    }
    Ok(session.ask_one("SELECT steps FROM format WHERE id = 0", ()).await?.unwrap_or(0))
}

/// Takes the steps that are left: none where the format is today's, for a cluster halts for each.
/// The caller has looked that there are not more than are known.
pub(super) async fn migrate(session: &mut Session, from: u64) -> Result<(), Failure> {
    if from == FORMAT {
        return Ok(());
    }
    session.run(FORMAT_TABLE).await?;
    for (step, number) in STEPS.iter().zip(1_u64..).skip(from as usize) {
        for statement in *step {
            session.run(statement).await?;
        }
        let sql = "INSERT INTO format VALUES (0, ?) ON DUPLICATE KEY UPDATE steps = VALUES(steps)";
        session.change(sql, (number,)).await?;
    }
    Ok(())
}
