//! Bits that flip, by a dying disk or by somebody who hopes that nobody looks.

use std::collections::BTreeMap;
use std::fs;

use hearth::events::log::{EventLog, Held, LogError, OpenError, SqliteLog, audit};
use hearth::events::{StreamId, StreamRevision};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

use super::log::Disk;
use crate::support::chance::Chance;

const FLIPS: u64 = 400;

/// Every row of every table, or none where the file cannot be read.
fn dump(path: &std::path::Path) -> Option<BTreeMap<String, Vec<Vec<Value>>>> {
    let file = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let mut all = BTreeMap::new();
    let tables: Vec<String> = file
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
        .ok()?
        .query_map([], |row| row.get(0))
        .ok()?
        .collect::<rusqlite::Result<_>>()
        .ok()?;
    for table in tables {
        let mut statement = file.prepare(&format!("SELECT * FROM {table}")).ok()?;
        let columns = statement.column_count();
        let rows = statement
            .query_map([], |row| (0..columns).map(|column| row.get(column)).collect())
            .ok()?
            .collect::<rusqlite::Result<_>>()
            .ok()?;
        all.insert(table, rows);
    }
    Some(all)
}

#[tokio::test]
async fn a_flipped_bit_anywhere_is_named_unless_it_is_in_space_that_holds_nothing() {
    let disk = Disk::with_stacks().await;
    let (path, key) = (disk.path("log.db"), disk.key().public());
    let whole = fs::read(&path).unwrap();
    let rows = dump(&path).unwrap();
    let flipped = disk.path("flipped.db");
    let mut chance = Chance::new(5);
    let (mut named, mut idle) = (0, 0);
    for _ in 0..FLIPS {
        let (byte, bit) = (chance.below(whole.len() as u64) as usize, chance.below(8) as u32);
        let mut content = whole.clone();
        content[byte] ^= 1 << bit;
        fs::write(&flipped, &content).unwrap();
        let no_others: &[Held] = &[];
        match audit(&flipped, Some(key), no_others) {
            Err(OpenError::NotALog { .. } | OpenError::Newer { .. } | OpenError::Sqlite { .. }) => {
                named += 1;
            }
            Err(error) => panic!("{error}"),
            Ok(found) if !found.problems.is_empty() => named += 1,
            Ok(_) => {
                idle += 1;
                assert_eq!(dump(&flipped).as_ref(), Some(&rows), "byte {byte}, bit {bit}");
            }
        }
        for suffix in ["-wal", "-shm"] {
            let _ = fs::remove_file(disk.path(&format!("flipped.db{suffix}")));
        }
    }
    assert!(named > FLIPS / 4, "{named} named, {idle} without effect");
}

#[tokio::test]
async fn a_flipped_bit_in_each_column_is_named() {
    let changes = [
        ("events", "position = 99999 WHERE position = 5"),
        ("events", "revision = revision + 64 WHERE position = 5"),
        ("events", "version = 3 WHERE position = 5"),
        ("events", "at = at + 1 WHERE position = 5"),
        ("events", "hash = zeroblob(32) WHERE position = 5"),
        ("events", "body = replace(body, 't-0', 't-1') WHERE body LIKE '%t-0%'"),
        ("streams", "name = replace(name, 'stack', 'stacj')"),
        ("types", "name = 'StackCreatec' WHERE name = 'StackCreated'"),
        ("metas", "body = '{\"request_id\":\"r\"}'"),
        ("blobs", "part = 1"),
        ("blobs", "id = replace(id, 'a', 'b')"),
        ("keys", "scope = 'stack-gond' WHERE scope = 'stack-gone'"),
        ("notes", "after = after + 1 WHERE number = 1"),
        ("notes", "name = 'x' WHERE number = 2"),
        ("notes", "hash = zeroblob(32) WHERE number = 1"),
        ("head", "checkpoint = replace(checkpoint, 'a', 'b')"),
    ];
    for (table, change) in changes {
        let disk = Disk::with_stacks().await;
        disk.tamper(&format!("UPDATE {table} SET {change}"));
        let problems = disk.audit().problems;
        assert!(!problems.is_empty(), "{table}: {change}");
    }
}

#[tokio::test]
async fn a_damaged_stack_is_named_and_refused_and_the_others_are_served() {
    let disk = Disk::with_stacks().await;
    let [whole, damaged, torn] = [0, 1, 2].map(|number| StreamId::stack(disk.stacks[number]));
    let of =
        |stream: &StreamId| format!("stream = (SELECT id FROM streams WHERE name = '{stream}')");
    disk.tamper(&format!(
        "UPDATE events SET body = replace(body, 'alice', 'malice') WHERE {};
         UPDATE events SET body = CAST(x'ff' AS TEXT) WHERE {} AND revision = 1",
        of(&damaged),
        of(&torn)
    ));
    let log = SqliteLog::open(&disk.path("log.db")).unwrap();
    assert_eq!(log.read(&whole, StreamRevision(0)).await.unwrap().events.len(), 4);
    for stream in [damaged, torn] {
        let read = log.read(&stream, StreamRevision(0)).await;
        let Err(LogError::Damaged(said)) = read else { panic!("{read:?}") };
        assert!(said.contains(stream.as_str()), "{said}");
    }
    // The views, and whoever else follows the whole log, go past what cannot be read.
    let all = log.read_all(Default::default(), &Default::default(), 1_000).await.unwrap();
    assert_eq!(all.len(), 23);
}
