//! Whether the cloud answers when a server starts: what is wrong is said then, and not by the first
//! stack that fails.

use std::time::Duration;

use super::data::with_causes;
use super::node;
use crate::config::{CloudChoice, Settings};
use crate::openstack::Cloud;

/// How long a start waits for the first word.
const FIRST_WORD_WITHIN: Duration = Duration::from_secs(3);
/// How often a cloud that does not answer is asked again.
const ASK_EVERY: Duration = Duration::from_secs(30);

/// Asks the cloud for a token of the service user's. The error is the reason why there is none; it
/// is in the log as well, and so will be that the cloud answers.
pub(super) async fn first_word(settings: &Settings, auth_url: &str) -> Result<(), String> {
    if settings.cloud == CloudChoice::Sandbox {
        return Ok(());
    }
    let cloud = node::cloud_once(settings, auth_url).map_err(|error| with_causes(&error))?;
    let reason = match tokio::time::timeout(FIRST_WORD_WITHIN, try_token(&cloud)).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(reason)) => reason,
        Err(_) => format!("no answer within {} s", FIRST_WORD_WITHIN.as_secs()),
    };
    tracing::warn!(auth_url, reason, "the cloud cannot be used yet");
    actix::spawn(wait_for(cloud, auth_url.to_owned()));
    Err(reason)
}

async fn wait_for(cloud: Cloud, auth_url: String) {
    while try_token(&cloud).await.is_err() {
        tokio::time::sleep(ASK_EVERY).await;
    }
    tracing::info!(auth_url, "the cloud can be used");
}

async fn try_token(cloud: &Cloud) -> Result<(), String> {
    let token = cloud.service_session().token().await;
    token.map(drop).map_err(|error| error.to_string())
}
