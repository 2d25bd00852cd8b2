//! Events to where projects have them told: each one posted, signed, in order and at least once.
//!
//! Each webhook has a place of its own in the log, so that a receiver that is away holds up nobody
//! else, and costs no more than the tries. The place goes with the webhook.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::measures::Measures;
use super::place::Place;
use super::{Broken, Outlet, OutletParts, RETRY_PAUSE, run};
use crate::events::log::{EventLog, Filter, looked_aside};
use crate::events::{RecordedEvent, StreamId, forget};
use crate::model::WebhookId;
use crate::projections::{TOLD_KINDS, WebhookRow, event_shown};

/// How much of the log is passed without a word before that goes on record.
const PASSED_MAX: usize = 10_000;
/// The pauses between tries: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(300));

/// The events after which there are other webhooks.
const CHANGES: [&str; 2] = ["WebhookMade", "WebhookDeleted"];

/// What the names of webhooks' places begin with.
const PLACE_PREFIX: &str = "webhook-";
/// How many places are looked at in one go.
const PAGE_PLACES: usize = 256;

/// Whoever tells a webhook, and how he is stopped.
type AtWork = BTreeMap<WebhookId, (watch::Sender<bool>, JoinHandle<()>)>;

/// The name of a webhook's place.
pub(super) fn place_name(id: WebhookId) -> String {
    format!("{PLACE_PREFIX}{id}")
}

/// Has each webhook told, as they come and go, until it is told to stop.
pub(super) async fn keep(
    parts: OutletParts,
    measures: Arc<Measures>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut at_work = AtWork::new();
    loop {
        let ended = tokio::select! {
            ended = watch_over(&parts, &measures, &mut at_work) => ended,
            _ = stopped.wait_for(|stopped| *stopped) => break,
        };
        let Err(error) = ended else { break };
        tracing::warn!(%error, "webhooks are looked over again");
        tokio::select! {
            () = tokio::time::sleep(RETRY_PAUSE) => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
    }
    for (stop, _) in at_work.values() {
        stop.send_replace(true);
    }
    for (_, task) in at_work.into_values() {
        ended(task.await);
    }
}

async fn watch_over(
    parts: &OutletParts,
    measures: &Arc<Measures>,
    at_work: &mut AtWork,
) -> Result<(), Broken> {
    forget_left_over(parts).await?;
    let mut changes =
        parts.log.subscribe(parts.views.position(), Filter { kinds: vec!["project"] });
    loop {
        let webhooks = parts.views.webhooks(None).await?;
        let is_left = |id: &WebhookId| webhooks.iter().any(|webhook| webhook.id == *id);
        let gone: Vec<WebhookId> = at_work.keys().filter(|id| !is_left(id)).copied().collect();
        for id in gone {
            if let Some((stop, task)) = at_work.get_mut(&id) {
                stop.send_replace(true);
                ended(task.await);
            }
            at_work.remove(&id);
            forget(parts, &[StreamId::outlet(&place_name(id))]).await?;
        }
        for webhook in webhooks {
            at_work.entry(webhook.id).or_insert_with(|| {
                let (stop, stopped) = watch::channel(false);
                let outlet = Outlet::Webhook(Box::new(webhook), Arc::clone(measures));
                (stop, actix::spawn(run(outlet, parts.clone(), stopped)))
            });
        }
        loop {
            let Some(event) = changes.next().await else { return Ok(()) };
            let event = event?;
            if CHANGES.contains(&event.event_type.as_ref()) {
                parts.views.after(event.position).await?;
                break;
            }
        }
    }
}

fn ended(ended: Result<(), tokio::task::JoinError>) {
    if ended.is_err() {
        tracing::error!("a webhook did not stop cleanly");
    }
}

/// Takes the places of webhooks away that are deleted.
async fn forget(parts: &OutletParts, places: &[StreamId]) -> Result<(), Broken> {
    Ok(forget::purge_streams(parts.log.as_ref(), parts.clock.as_ref(), places).await?)
}

/// Forgets the places of webhooks that were deleted when a process had no time for that any more.
async fn forget_left_over(parts: &OutletParts) -> Result<(), Broken> {
    let mut places = BTreeMap::new();
    let mut after = String::new();
    loop {
        let page = move |log: &dyn EventLog| log.streams("outlet", &after, PAGE_PLACES);
        let page = looked_aside(&parts.log, page).await?;
        let Some(last) = page.last() else { break };
        after = last.as_str().to_owned();
        let of_webhook = |stream: StreamId| {
            let id = stream.as_str().strip_prefix(StreamId::outlet(PLACE_PREFIX).as_str())?;
            Some((WebhookId(id.parse().ok()?), stream))
        };
        places.extend(page.into_iter().filter_map(of_webhook));
    }
    // A place is made after its webhook, so that the views know by now of all that have one.
    parts.views.after(parts.log.durable_position()).await?;
    for webhook in parts.views.webhooks(None).await? {
        places.remove(&webhook.id);
    }
    forget(parts, &places.into_values().collect::<Vec<_>>()).await
}

/// Tells a webhook.
pub(super) async fn follow(
    parts: &OutletParts,
    webhook: &WebhookRow,
    measures: &Measures,
    place: &mut Place,
) -> Result<(), Broken> {
    let mut passed = 0;
    let filter = Filter { kinds: TOLD_KINDS.to_vec() };
    let mut events = parts.log.subscribe(place.reached, filter);
    while let Some(event) = place.awaits(events.next()).await? {
        let event = event?;
        let is_told = webhook.selection.takes(&parts.views, &event).await?;
        if is_told && !tell(parts, webhook, measures, &event).await {
            return Ok(());
        }
        place.move_to(event.position, usize::from(is_told)).await?;
        passed += 1;
        if passed > PASSED_MAX {
            place.move_to(event.position, 1).await?;
            place.record().await?;
            passed = 0;
        }
    }
    Ok(())
}

/// Comes back once the receiver has the event, be it days later, or the webhook is gone (false).
async fn tell(
    parts: &OutletParts,
    webhook: &WebhookRow,
    measures: &Measures,
    event: &RecordedEvent,
) -> bool {
    let _waits = measures.waits(event.at);
    let body = event_shown(event);
    let (mut pause, mut failures) = (PAUSES.0, 0);
    loop {
        let WebhookRow { id, origin, project_id, .. } = webhook;
        let posted = match parts.engine.webhook(project_id, *id).await {
            Ok(None) => return false,
            Ok(Some(target)) => {
                let now = parts.clock.now().timestamp();
                let headers = signed(target.key.reveal(), event, now, &body);
                parts.engine.post(target.url, headers, body.clone()).await
            }
            Err(refusal) => Err(refusal.to_string()),
        };
        let Err(problem) = posted else {
            measures.delivered();
            if failures > 0 {
                tracing::info!(webhook = %id, origin, "a webhook takes events again");
            }
            return true;
        };
        failures += 1;
        measures.failed();
        tracing::warn!(webhook = %id, origin, problem, failures, "a webhook is tried again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// What says that it is us, and which event it is, whenever it is sent: by the names and the scheme
/// of Standard Webhooks.
fn signed(
    key: &[u8],
    event: &RecordedEvent,
    timestamp: i64,
    body: &[u8],
) -> Vec<(&'static str, String)> {
    let id = event.position.to_string();
    vec![
        ("webhook-signature", signature(key, &id, timestamp, body)),
        ("webhook-timestamp", timestamp.to_string()),
        ("webhook-id", id),
    ]
}

fn signature(key: &[u8], id: &str, timestamp: i64, body: &[u8]) -> String {
    let head = format!("{id}.{timestamp}.");
    let mac = Hmac::<Sha256>::new_from_slice(key)
        .map(|mac| mac.chain_update(head).chain_update(body).finalize());
    // A key of any length is taken.
    let bytes = mac.map(|mac| mac.into_bytes().to_vec()).unwrap_or_default();
    format!("v1,{}", STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::super::story::recorded;
    use super::*;
    use crate::events::stack::UserProjectMade;
    use crate::events::{Meta, StackEvent};
    use crate::model::StackId;

    fn headers(position: u64, timestamp: i64, body: &[u8]) -> BTreeMap<&'static str, String> {
        let stream = StreamId::stack(StackId::default());
        let event = UserProjectMade { project_id: "users".into() };
        let event = recorded::<StackEvent>(stream, position, event, Meta::default());
        signed(b"key", &event, timestamp, body).into_iter().collect()
    }

    #[test]
    fn what_is_sent_again_is_known_by_its_id_and_signed_for_its_own_time() {
        let (first, again) = (headers(7, 100, b"{}"), headers(7, 200, b"{}"));
        assert_eq!(first["webhook-id"], "7");
        assert_eq!(again["webhook-id"], first["webhook-id"]);
        assert_eq!(again["webhook-timestamp"], "200");
        assert_ne!(again["webhook-signature"], first["webhook-signature"]);
        assert_ne!(headers(8, 100, b"{}")["webhook-id"], first["webhook-id"]);
    }

    #[test]
    fn a_signature_is_of_what_is_sent_and_of_its_id() {
        let signature = |position, body| headers(position, 100, body)["webhook-signature"].clone();
        assert_ne!(signature(7, b"{}"), signature(7, b"[]"));
        assert_ne!(signature(7, b"{}"), signature(8, b"{}"));
    }

    #[test]
    fn a_signature_is_the_one_of_the_published_example() {
        let key = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let id = "msg_p5jXN8AQM9LWM0D4loKWxJek";
        let told = signature(&key, id, 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(told, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
