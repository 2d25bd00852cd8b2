//! What an operator waits for on a log of many events: that it is proved, and that the views are
//! made anew.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::BenchError;
use super::figure::Figure;

/// The budgets are for so many events.
const MILLION: f64 = 1_000_000.0;
const VERIFY_SECS: f64 = 6.0;
const REBUILD_SECS: f64 = 20.0;

/// Runs the commands on the data of a stopped server with so many events.
pub(super) fn run(data: &Path, events: usize) -> Result<Vec<Figure>, BenchError> {
    let figure = |what: &str, command: &str, most: f64| {
        let took = timed(command, data)?.mul_f64(MILLION / events.max(1) as f64);
        Ok::<_, BenchError>(Figure::secs(format!("{what} of 1,000,000 events"), took, most))
    };
    Ok(vec![figure("proof", "verify", VERIFY_SECS)?, figure("views", "rebuild", REBUILD_SECS)?])
}

fn timed(command: &str, data: &Path) -> Result<Duration, BenchError> {
    let began = Instant::now();
    let mut hearth = Command::new(std::env::current_exe()?);
    let ended = hearth.arg(command).arg("--data").arg(data).stdout(Stdio::null()).status()?;
    match ended.success() {
        true => Ok(began.elapsed()),
        false => Err(BenchError::Unexpected(format!("hearth {command} ended with {ended}"))),
    }
}
