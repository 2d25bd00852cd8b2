//! `hearth rebuild`: the views made anew from the log.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use super::data::{DataArguments, Files, with_causes};
use crate::clock::SystemClock;
use crate::events::Position;
use crate::events::log::OpenError;
use crate::private_files;
use crate::projections::{ViewError, Views};

/// Make the views anew from the log, while no server runs
#[derive(Debug, clap::Args)]
pub(super) struct RebuildArgs {
    #[command(flatten)]
    data: DataArguments,
}

/// Why there are no new views.
#[derive(Debug, thiserror::Error)]
enum RebuildError {
    #[error(transparent)]
    Log(#[from] OpenError),
    #[error("could not remove {}", path.display())]
    Remove {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("the views could not be made")]
    Views(#[from] ViewError),
}

/// Removes the views, follows the log to its end and says how long that took.
pub(super) async fn run(args: RebuildArgs) -> ExitCode {
    let files = match args.data.files() {
        Ok(files) => files,
        Err(text) => {
            eprintln!("hearth: {text}");
            return ExitCode::FAILURE;
        }
    };
    let began = Instant::now();
    match rebuild(&files).await {
        Ok(position) => {
            println!("views rebuilt up to position {position} in {:.1?}", began.elapsed());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("hearth: {}", with_causes(&error));
            ExitCode::FAILURE
        }
    }
}

async fn rebuild(files: &Files) -> Result<Position, RebuildError> {
    // Holding the log keeps a server from starting meanwhile.
    let (log, _lock) = files.open_log(&SystemClock)?;
    let end = log.durable_position();
    let views = files.data.views();
    for suffix in ["", "-wal", "-shm"] {
        remove(&private_files::beside(&views, suffix))?;
    }
    let views = Views::open(&views, log).await?;
    views.after(end).await?;
    Ok(end)
}

fn remove(path: &Path) -> Result<(), RebuildError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(RebuildError::Remove { path: path.to_owned(), source })
        }
        _ => Ok(()),
    }
}
