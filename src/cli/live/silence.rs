//! How long a place has had no news.

use std::time::Duration;

use tokio::time::Instant;

/// The longest that a place is asked again: a server that is exchanged for another is there sooner.
pub(super) const SILENCE_MAX_MINUTES: u64 = 3;
const SILENCE_MAX: Duration = Duration::from_secs(SILENCE_MAX_MINUTES * 60);

/// Since when there has been no news, and why.
#[derive(Debug, Default)]
pub(super) struct Silence(Option<(Instant, String)>);

impl Silence {
    /// There is still no news; whether that is for another reason than before.
    pub(super) fn goes_on(&mut self, why: &str) -> bool {
        let is_new = self.why() != Some(why);
        let since = self.0.as_ref().map(|(since, _)| *since);
        self.0 = Some((since.unwrap_or_else(Instant::now), why.to_owned()));
        is_new
    }

    /// There is news; whether there was none before.
    pub(super) fn ends(&mut self) -> bool {
        self.0.take().is_some()
    }

    /// Why there is no news.
    pub(super) fn why(&self) -> Option<&str> {
        self.0.as_ref().map(|(_, why)| why.as_str())
    }

    /// Why, once it is of no use to ask again.
    pub(super) fn is_too_long(&self) -> Option<String> {
        let (since, why) = self.0.as_ref()?;
        (since.elapsed() >= SILENCE_MAX).then(|| why.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_place_that_says_nothing_is_given_up_and_one_that_comes_back_is_not() {
        let mut silence = Silence::default();
        assert!(silence.goes_on("it does not answer") && !silence.goes_on("it does not answer"));
        assert!(silence.goes_on("it is busy"), "another reason is said, too");
        tokio::time::advance(SILENCE_MAX - Duration::from_secs(1)).await;
        assert_eq!((silence.why(), silence.is_too_long()), (Some("it is busy"), None));
        assert!(silence.ends() && !silence.ends());
        silence.goes_on("it does not answer");
        tokio::time::advance(SILENCE_MAX - Duration::from_secs(1)).await;
        silence.goes_on("it does not answer");
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(silence.is_too_long().as_deref(), Some("it does not answer"));
    }
}
