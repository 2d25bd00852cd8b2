//! How late others are told: from an event's own time to the moment in which whoever listens has
//! it whole. A message bus is told by the driver `messagingv2`, a webhook of all that happens.

use std::time::Duration;

use chrono::{DateTime, NaiveDateTime, Utc};
use serde_json::{Value, json};

use super::figure::{Figure, most_of};
use super::receivers::{self, Listener, Told};
use super::server::Server;
use super::{BenchError, Scale, broker, stack, templates};

const STACKS: usize = 200;
/// Of each stack the bus is told that an action begins and that it ends, and the webhook of more.
const TOLD_OF_EACH: usize = 2;
const LATE_MOST_MILLIS: f64 = 20.0;
/// How a notification writes its event's time.
const FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f";

/// Creates stacks one after the other, and listens.
pub(super) async fn run(scale: Scale, data: &std::path::Path) -> Result<Vec<Figure>, BenchError> {
    let stacks = if scale == Scale::Quick { 10 } else { STACKS };
    let (bus, webhook) = (Listener::start(broker::serve)?, Listener::start(receivers::webhook)?);
    let bus_at = format!("rabbit://bench:bench@127.0.0.1:{}/", bus.port);
    let settings = [
        ("HEARTH_OSLO_MESSAGING_NOTIFICATIONS__DRIVER", "messagingv2"),
        ("HEARTH_DEFAULT__TRANSPORT_URL", bus_at.as_str()),
        ("HEARTH_HEARTH__FETCH_ALLOW", "127.0.0.1"),
    ];
    let server = Server::start(data, &settings).await?;
    let client = server.client().await?;
    let url = format!("http://127.0.0.1:{}/", webhook.port);
    client.post("/webhooks", &json!({ "url": url })).await?;
    for number in 0..stacks {
        let template = templates::independent(2, "a");
        stack::create(&client, &format!("told-{number}"), &template).await?;
    }
    let least = stacks * TOLD_OF_EACH;
    let figures = vec![
        figure("a notification leaves", &bus.heard(), notified_at, least)?,
        figure("a webhook is told", &webhook.heard(), posted_at, least)?,
    ];
    server.stop().await?;
    Ok(figures)
}

fn figure(
    what: &str,
    told: &[Told],
    at: fn(&[u8]) -> Option<DateTime<Utc>>,
    least: usize,
) -> Result<Figure, BenchError> {
    let late = |told: &Told| Some((told.at - at(&told.body)?).to_std().unwrap_or_default());
    let mut late: Vec<Duration> = told.iter().filter_map(late).collect();
    if late.len() < least {
        let text = format!("{what}: {} times of {least} were heard", late.len());
        return Err(BenchError::Unexpected(text));
    }
    let name = format!("how late {what}, 99 of 100");
    Ok(Figure::millis(name, most_of(&mut late), LATE_MOST_MILLIS))
}

/// When the event of a notification happened, which is text within an envelope.
fn notified_at(body: &[u8]) -> Option<DateTime<Utc>> {
    let envelope: Value = serde_json::from_slice(body).ok()?;
    let message: Value = serde_json::from_str(envelope["oslo.message"].as_str()?).ok()?;
    let at = NaiveDateTime::parse_from_str(message["timestamp"].as_str()?, FORMAT).ok()?;
    Some(at.and_utc())
}

/// When an event happened that is posted.
fn posted_at(body: &[u8]) -> Option<DateTime<Utc>> {
    let event: Value = serde_json::from_slice(body).ok()?;
    event["at"].as_str()?.parse().ok()
}
