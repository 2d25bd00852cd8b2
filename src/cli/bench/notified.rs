//! How late a notification leaves: from the event's own time to the moment in which whoever listens
//! has it. The driver `log` is listened to, which needs no bus.

use std::io::{BufRead, BufReader};
use std::process::{ChildStderr, Stdio};
use std::time::Duration;

use chrono::NaiveDateTime;

use super::figure::{Figure, most_of};
use super::server::Server;
use super::{BenchError, Scale, stack, templates};
use crate::clock::{Clock, SystemClock};

const SETTINGS: [(&str, &str); 2] = [
    ("HEARTH_OSLO_MESSAGING_NOTIFICATIONS__DRIVER", "log"),
    ("HEARTH_LOG_FILTER", "error,hearth::notification=info"),
];
const STACKS: usize = 200;
/// One that an action begins, and one that it ends.
const TOLD_OF_EACH: usize = 2;
const LATE_MOST_MILLIS: f64 = 20.0;
/// What stands before an event's time in a notification, and how that is written.
const AT: &str = "\"timestamp\":\"";
const FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f";

/// Creates stacks one after the other, and listens.
pub(super) async fn run(scale: Scale, data: &std::path::Path) -> Result<Vec<Figure>, BenchError> {
    let stacks = if scale == Scale::Quick { 10 } else { STACKS };
    let mut server = Server::start_with(data, &SETTINGS, Stdio::piped()).await?;
    let said = server.said().ok_or_else(|| BenchError::Server("it is not heard".to_owned()))?;
    let listener = std::thread::spawn(move || listen(said));
    let client = server.client().await?;
    for number in 0..stacks {
        let template = templates::independent(2, "a");
        stack::create(&client, &format!("told-{number}"), &template).await?;
    }
    server.stop().await?;
    let unheard = || BenchError::Unexpected("not all notifications were heard".to_owned());
    let mut late = listener.join().map_err(|_| unheard())?;
    if late.len() < stacks * TOLD_OF_EACH {
        return Err(unheard());
    }
    let most = most_of(&mut late);
    Ok(vec![Figure::millis("how late a notification leaves, 99 of 100", most, LATE_MOST_MILLIS)])
}

/// How late each was, until nothing more is said.
fn listen(said: ChildStderr) -> Vec<Duration> {
    let lines = BufReader::new(said).lines().map_while(Result::ok);
    let late = lines.filter_map(|line| {
        let now = SystemClock.now();
        let text = line.split_once(AT)?.1.split('"').next()?;
        let at = NaiveDateTime::parse_from_str(text, FORMAT).ok()?.and_utc();
        Some((now - at).to_std().unwrap_or_default())
    });
    late.collect()
}
