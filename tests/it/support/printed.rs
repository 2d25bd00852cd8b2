//! What the process prints about itself, for tests that search it.
//!
//! All tests of the process have one subscriber: `tracing` remembers which lines nobody wanted, so
//! that a subscriber of one thread misses those that another thread came to first.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread::{self, ThreadId};

use tracing::Metadata;
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::fmt::{MakeWriter, layer};
use tracing_subscriber::prelude::*;

static LISTENERS: Mutex<Vec<Listener>> = Mutex::new(Vec::new());

#[derive(Clone)]
struct Listener {
    /// Of which thread lines of any origin are wanted; else Hearth's own of every thread.
    thread: Option<ThreadId>,
    lines: Arc<Mutex<Vec<u8>>>,
}

impl Listener {
    fn wants(&self, line: &Metadata<'_>) -> bool {
        match self.thread {
            Some(wanted) => wanted == thread::current().id(),
            None => {
                line.target().starts_with("hearth") && !line.target().starts_with("hearth::sandbox")
            }
        }
    }
}

/// Ends when it is dropped.
pub(crate) struct Printed(Arc<Mutex<Vec<u8>>>);

impl Printed {
    /// What this thread prints from now on, libraries' lines too.
    pub(crate) fn of_this_thread() -> Self {
        Self::listen(Some(thread::current().id()))
    }

    /// What Hearth prints from now on; the sandbox is not Hearth.
    pub(crate) fn of_the_process() -> Self {
        Self::listen(None)
    }

    fn listen(thread: Option<ThreadId>) -> Self {
        static SUBSCRIBED: Once = Once::new();
        SUBSCRIBED.call_once(|| {
            let wanted = dynamic_filter_fn(|line, _| wanting(line).next().is_some());
            let printer = layer().with_writer(ToListeners).with_filter(wanted);
            tracing_subscriber::registry().with(printer).init();
        });
        let lines = Arc::default();
        listeners().push(Listener { thread, lines: Arc::clone(&lines) });
        Self(lines)
    }

    /// All of it so far.
    pub(crate) fn text(&self) -> String {
        let lines = self.0.lock().unwrap();
        String::from_utf8_lossy(&lines).into_owned()
    }
}

impl Drop for Printed {
    fn drop(&mut self) {
        listeners().retain(|listener| !Arc::ptr_eq(&listener.lines, &self.0));
    }
}

fn listeners() -> std::sync::MutexGuard<'static, Vec<Listener>> {
    LISTENERS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn wanting(line: &Metadata<'_>) -> impl Iterator<Item = Listener> + use<> {
    let listeners = listeners();
    let wanting = listeners.iter().filter(|listener| listener.wants(line)).cloned();
    wanting.collect::<Vec<_>>().into_iter()
}

struct ToListeners;

impl<'a> MakeWriter<'a> for ToListeners {
    type Writer = Lines;

    fn make_writer(&'a self) -> Lines {
        Lines(Vec::new())
    }

    fn make_writer_for(&'a self, line: &Metadata<'_>) -> Lines {
        Lines(wanting(line).collect())
    }
}

struct Lines(Vec<Listener>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for listener in &self.0 {
            listener.lines.lock().unwrap().extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
