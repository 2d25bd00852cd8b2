//! How tests wait. For what happens in this process they are told of whatever it hangs on, and look
//! again with each change of that; what nobody here is told of is looked at again after a short
//! pause. Both end with an error that says what was waited for and what was there instead.

use std::convert::Infallible;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::{BoxFuture, FutureExt, pending, select_all};
use futures::stream::StreamExt;
use hearth::events::Position;
use hearth::events::log::{EventLog, Filter, OwnedLog};
use hearth::projections::Views;
use hearth::sandbox::{RequestSeen, RunningSandbox};
use tokio::sync::watch;

/// How long a test waits for what must come, where it has no bound of its own.
pub(crate) const WAIT_MAX: Duration = Duration::from_secs(120);
/// Between two looks at what tells nobody that it has changed.
const PAUSE: Duration = Duration::from_millis(20);
/// Between two tries of somebody who is not heard.
const AGAIN_AFTER: Duration = Duration::from_millis(4);

/// What tells of its changes.
pub(crate) trait Tells {
    /// Ends with the first change after it was called.
    fn change(&self) -> BoxFuture<'_, ()>;
}

/// What may be seen at a look: that something holds, or something, or what is there instead.
pub(crate) trait Look {
    type Found;

    fn found(self) -> Result<Self::Found, String>;
}

/// Waits for what hangs on something that tells of its changes.
pub(crate) async fn until<L: Look>(
    of: &[&dyn Tells],
    what: impl Display,
    look: impl AsyncFnMut() -> L,
) -> L::Found {
    until_within(WAIT_MAX, of, what, look).await
}

/// The same with a bound of its own.
pub(crate) async fn until_within<L: Look>(
    bound: Duration,
    of: &[&dyn Tells],
    what: impl Display,
    look: impl AsyncFnMut() -> L,
) -> L::Found {
    let found = sought(bound, of, look).await;
    found.unwrap_or_else(|instead| panic!("{bound:?} are over, and not {what}: {instead}"))
}

/// The same for who says himself that it did not come; an error is what was there instead.
pub(crate) async fn sought<L: Look>(
    bound: Duration,
    of: &[&dyn Tells],
    mut look: impl AsyncFnMut() -> L,
) -> Result<L::Found, String> {
    let end = tokio::time::Instant::now() + bound;
    loop {
        // Called before the look: no change is missed that comes during it.
        let change = select_all(of.iter().map(|it| it.change()));
        if let Ok(found) = look().await.found() {
            return Ok(found);
        }
        if tokio::time::timeout_at(end, change).await.is_err() {
            // On a machine that stood still it may have come all the same.
            return look().await.found();
        }
    }
}

/// Waits for what nobody here is told of: another process, a server on another thread, a file.
pub(crate) async fn polled<L: Look>(
    bound: Duration,
    what: impl Display,
    mut look: impl AsyncFnMut() -> L,
) -> L::Found {
    let began = Instant::now();
    loop {
        let instead = match look().await.found() {
            Ok(found) => return found,
            Err(instead) => instead,
        };
        assert!(began.elapsed() < bound, "{bound:?} are over, and not {what}: {instead}");
        tokio::time::sleep(PAUSE).await;
    }
}

/// The same on a thread that has nothing else to do.
pub(crate) fn polled_here<L: Look>(
    bound: Duration,
    what: impl Display,
    mut look: impl FnMut() -> L,
) -> L::Found {
    let began = Instant::now();
    loop {
        let instead = match look().found() {
            Ok(found) => return found,
            Err(instead) => instead,
        };
        assert!(began.elapsed() < bound, "{bound:?} are over, and not {what}: {instead}");
        std::thread::sleep(PAUSE);
    }
}

/// Does something again and again, as somebody does who is not heard at once; it has no end.
pub(crate) async fn repeat(mut act: impl AsyncFnMut()) -> Infallible {
    loop {
        act().await;
        tokio::time::sleep(AGAIN_AFTER).await;
    }
}

impl Look for bool {
    type Found = ();

    fn found(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("it is not so".to_owned()) }
    }
}

impl<T> Look for Option<T> {
    type Found = T;

    fn found(self) -> Result<T, String> {
        self.ok_or_else(|| "there is none".to_owned())
    }
}

impl<T> Look for Result<T, String> {
    type Found = T;

    fn found(self) -> Result<T, String> {
        self
    }
}

impl Tells for Views {
    fn change(&self) -> BoxFuture<'_, ()> {
        let (views, next) = (self.clone(), Position(self.position().0 + 1));
        async move {
            if views.after(next).await.is_err() {
                // They follow no log any more.
                pending::<()>().await;
            }
        }
        .boxed()
    }
}

impl Tells for Arc<dyn EventLog> {
    fn change(&self) -> BoxFuture<'_, ()> {
        next_event(self.as_ref())
    }
}

impl Tells for Arc<dyn OwnedLog> {
    fn change(&self) -> BoxFuture<'_, ()> {
        next_event(self.as_ref())
    }
}

fn next_event(log: &dyn EventLog) -> BoxFuture<'_, ()> {
    let mut events = log.subscribe(log.durable_position(), Filter::default());
    async move {
        events.next().await;
    }
    .boxed()
}

/// Of every request.
impl Tells for RunningSandbox {
    fn change(&self) -> BoxFuture<'_, ()> {
        changed(self.heard())
    }
}

/// Tells of what is put or posted at a sandbox: whoever looks there is no news to himself.
pub(crate) struct Written<'a>(pub(crate) &'a RunningSandbox);

impl Tells for Written<'_> {
    fn change(&self) -> BoxFuture<'_, ()> {
        let before = *self.0.heard().borrow();
        let is_news = move |seen: &RequestSeen| {
            seen.number > before && ["PUT", "POST"].contains(&&*seen.method)
        };
        async move {
            loop {
                let heard = self.0.heard();
                if self.0.requests().iter().any(is_news) {
                    return;
                }
                changed(heard).await;
            }
        }
        .boxed()
    }
}

impl<T: Send + Sync> Tells for watch::Sender<T> {
    fn change(&self) -> BoxFuture<'_, ()> {
        changed(self.subscribe())
    }
}

/// Ends when there is another value than when it was called.
fn changed<'a, T: Send + Sync + 'a>(mut watched: watch::Receiver<T>) -> BoxFuture<'a, ()> {
    watched.mark_unchanged();
    async move {
        if watched.changed().await.is_err() {
            // Nothing changes any more.
            pending::<()>().await;
        }
    }
    .boxed()
}
