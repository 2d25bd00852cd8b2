//! How long a feed's token lets it go on: Keystone is asked again and again, and what it said
//! before counts no longer than for any request.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Ended;
use crate::api::ApiState;
use crate::api::context::Context;
use crate::openstack::CloudError;

/// How often Keystone is asked.
const ASK_EVERY: Duration = Duration::from_secs(5);

/// Whose feed it is, by which token.
pub(super) struct Validity {
    context: Context,
    verbs: Vec<&'static str>,
}

impl Validity {
    /// For a caller who needs all of these rules to follow the feed.
    pub(super) fn of(context: Context, verbs: Vec<&'static str>) -> Self {
        Self { context, verbs }
    }

    /// Returns when the feed has to end, and why.
    pub(super) async fn ends(mut self, state: &ApiState) -> Ended {
        let Some(cloud) = &state.cloud else { return Ended::Token };
        let mut confirmed = Instant::now();
        let mut pause = ASK_EVERY;
        loop {
            sleep(pause).await;
            match cloud.validate_token_anew(&self.context.token, ASK_EVERY).await {
                Ok(identity) => {
                    let left = identity.expires_at - state.clock.now();
                    pause = left.to_std().unwrap_or_default().min(ASK_EVERY);
                    confirmed = Instant::now();
                    self.context.renew(identity.caller).await;
                    for verb in &self.verbs {
                        if self.context.require(verb).await.is_err() {
                            return Ended::Forbidden;
                        }
                    }
                }
                Err(CloudError::InvalidToken) => return Ended::Token,
                Err(_) if confirmed.elapsed() > cloud.token_cache_time() => {
                    return Ended::Unconfirmed;
                }
                // What cannot be asked now was true a moment ago.
                Err(error) => tracing::debug!(%error, "a feed's token was not confirmed"),
            }
        }
    }
}
