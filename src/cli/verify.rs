//! `hearth verify`: proves the hash chain of every stream in the log.

use std::process::ExitCode;

use super::data::DataArguments;
use crate::events::Position;
use crate::events::log::chain::Verifier;
use crate::events::log::{EventLog, Filter, SqliteLog};

/// How many events are read at a time.
const PAGE_EVENTS: usize = 4_096;

/// Prove that no event in the log was changed, moved or taken out
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    data: DataArguments,
}

/// Walks the log and says what it found.
pub(super) async fn run(arguments: Arguments) -> ExitCode {
    let log = match arguments.data.open_log() {
        Ok(log) => log,
        Err(reason) => {
            eprintln!("hearth verify: {reason}");
            return ExitCode::FAILURE;
        }
    };
    match walk(&log).await {
        Ok(verifier) => {
            println!(
                "{} events in {} streams: every chain holds",
                verifier.events(),
                verifier.streams()
            );
            // Kept elsewhere, it shows later that nothing was cut off the end of a stream.
            println!("digest of all ends: {}", verifier.digest());
            ExitCode::SUCCESS
        }
        Err(reason) => {
            eprintln!("hearth verify: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn walk(log: &SqliteLog) -> Result<Verifier, String> {
    let mut verifier = Verifier::default();
    let mut after = Position(0);
    loop {
        let page = log
            .read_all(after, &Filter::default(), PAGE_EVENTS)
            .await
            .map_err(|error| error.to_string())?;
        let Some(last) = page.last() else { return Ok(verifier) };
        after = last.position;
        for event in &page {
            verifier.check(event).map_err(|broken| broken.to_string())?;
        }
    }
}
