//! The threads on which templates are read and evaluated for requests, so that whoever sends a
//! hard one holds up nobody who only reads. Projects take turns, and none has all threads; what one
//! of them has waiting is bounded, and so is what each request may take (`template::within_request`).

use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use chrono::{DateTime, Duration, Utc};
use futures::channel::oneshot;
use tracing::{Span, error};

use crate::clock::Clock;
use crate::model::{ProjectId, Refusal};
use crate::template::{GIVEN_UP, GoesOn, within_request};

/// The stack of a thread. Evaluations nest `template::work::DEPTH_MAX` deep at most, which takes a
/// part of it.
const STACK_BYTES: usize = 8 * 1024 * 1024;

/// How many jobs of a project may wait.
const WAITING_MAX: usize = 256;

/// How long a job may take, from when it was asked for.
const JOB_SECS_MAX: i64 = 60;

type Job = Box<dyn FnOnce() + Send>;

/// The threads. They end with it.
pub(super) struct Pool {
    line: Arc<Line>,
    clock: Arc<dyn Clock>,
    load: Arc<Load>,
}

/// What the threads are doing.
#[derive(Debug, Default)]
struct Load {
    at_work: AtomicUsize,
    given_up: AtomicUsize,
}

/// What the threads are doing, at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TemplateLoad {
    /// Jobs under way.
    pub at_work: usize,
    /// Jobs that ended, since the start, because nobody waited for them any more.
    pub given_up: usize,
}

/// A job under way, until it is dropped.
struct AtWork(Arc<Load>);

impl AtWork {
    fn begin(load: Arc<Load>) -> Self {
        load.at_work.fetch_add(1, Ordering::Relaxed);
        Self(load)
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.0.at_work.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What waits, and the call for whoever is to do it.
struct Line {
    /// How many jobs of one project are done at a time: a thread is always left for the others.
    share: usize,
    waiting: Mutex<Waiting>,
    called: Condvar,
}

#[derive(Default)]
struct Waiting {
    jobs: HashMap<ProjectId, VecDeque<Job>>,
    /// How many jobs of a project are being done.
    at_work: HashMap<ProjectId, usize>,
    /// The projects that have jobs, in the order of their turns.
    turns: VecDeque<ProjectId>,
    closed: bool,
}

/// Whether somebody still waits for a job: who asked lets go of it when he does not.
struct Waits(Arc<AtomicBool>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Pool {
    /// A thread per core, and two at least.
    pub(super) fn start(clock: Arc<dyn Clock>) -> Self {
        let threads = thread::available_parallelism().map_or(1, usize::from).max(2);
        let line = Arc::new(Line::of(threads - 1));
        for number in 0..threads {
            let line = Arc::clone(&line);
            let thread = thread::Builder::new()
                .name(format!("templates-{number}"))
                .stack_size(STACK_BYTES)
                .spawn(move || {
                    while let Some((project, job)) = line.next() {
                        job();
                        line.done(&project);
                    }
                });
            if let Err(error) = thread {
                error!(%error, "a thread for templates cannot be started");
            }
        }
        Self { line, clock, load: Arc::default() }
    }

    /// Does a job for a request of a project's. It ends early where nobody waits any more, and a
    /// panic in it is its own.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        project: &ProjectId,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        let (sender, receiver) = oneshot::channel();
        let waits = Waits(Arc::new(AtomicBool::new(true)));
        let until = self.clock.now() + Duration::seconds(JOB_SECS_MAX);
        let (span, goes_on) = (Span::current(), self.goes_on(&waits, until));
        let (load, clock) = (Arc::clone(&self.load), Arc::clone(&self.clock));
        let done = move || {
            if !goes_on() {
                return;
            }
            let at_work = AtWork::begin(load);
            let job = || span.in_scope(|| within_request(goes_on, job));
            let done = catch_unwind(AssertUnwindSafe(job));
            let ended_early = matches!(&done, Ok(Err(refusal)) if refusal.class == GIVEN_UP);
            if ended_early && clock.now() < until {
                at_work.0.given_up.fetch_add(1, Ordering::Relaxed);
            }
            drop(at_work);
            // Who no longer waits does not take it.
            let _ = sender.send(done);
        };
        self.line.push(project, Box::new(done))?;
        let done = receiver.await;
        drop(waits);
        match done {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                error!(%project, "the work on a template panicked");
                Err(Refusal::new("Error", "An internal error occurred."))
            }
            Err(oneshot::Canceled) => {
                Err(Refusal::unavailable("There is too much work on templates at present."))
            }
        }
    }

    fn goes_on(&self, waits: &Waits, until: DateTime<Utc>) -> GoesOn {
        let (waits, clock) = (Arc::clone(&waits.0), Arc::clone(&self.clock));
        Arc::new(move || waits.load(Ordering::Relaxed) && clock.now() < until)
    }

    /// What the threads are doing.
    pub(super) fn load(&self) -> TemplateLoad {
        let Load { at_work, given_up } = &*self.load;
        TemplateLoad {
            at_work: at_work.load(Ordering::Relaxed),
            given_up: given_up.load(Ordering::Relaxed),
        }
    }

    /// Begins nothing more.
    pub(super) fn close(&self) {
        let mut waiting = self.line.waiting();
        waiting.closed = true;
        waiting.jobs.clear();
        drop(waiting);
        self.line.called.notify_all();
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.close();
    }
}

impl Line {
    fn of(share: usize) -> Self {
        Self { share, waiting: Mutex::default(), called: Condvar::new() }
    }

    fn push(&self, project: &ProjectId, job: Job) -> Result<(), Refusal> {
        let mut guard = self.waiting();
        let waiting = &mut *guard;
        if waiting.closed {
            return Err(Refusal::unavailable("The engine does not answer at present."));
        }
        let jobs = waiting.jobs.entry(project.clone()).or_default();
        if jobs.len() >= WAITING_MAX {
            let text = format!(
                "Request limit exceeded: {WAITING_MAX} templates of the project are waited for \
                 already."
            );
            return Err(Refusal::new("HTTPTooManyRequests", text));
        }
        if jobs.is_empty() {
            waiting.turns.push_back(project.clone());
        }
        jobs.push_back(job);
        drop(guard);
        self.called.notify_one();
        Ok(())
    }

    /// The next job of the project whose turn it is, of those that have not their share; waits for
    /// one. None once the line is closed.
    fn next(&self) -> Option<(ProjectId, Job)> {
        let mut guard = self.waiting();
        loop {
            let waiting = &mut *guard;
            if waiting.closed {
                return None;
            }
            let at_work = |project| waiting.at_work.get(project).copied().unwrap_or_default();
            let turn = waiting.turns.iter().position(|project| at_work(project) < self.share);
            if let Some(project) = turn.and_then(|turn| waiting.turns.remove(turn))
                && let Some(jobs) = waiting.jobs.get_mut(&project)
                && let Some(job) = jobs.pop_front()
            {
                if jobs.is_empty() {
                    waiting.jobs.remove(&project);
                } else {
                    waiting.turns.push_back(project.clone());
                }
                *waiting.at_work.entry(project.clone()).or_default() += 1;
                return Some((project, job));
            }
            guard = self.called.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A job of a project is done: another of its own may have waited for that.
    fn done(&self, project: &ProjectId) {
        let mut waiting = self.waiting();
        if let Some(count) = waiting.at_work.get_mut(project) {
            *count -= 1;
            if *count == 0 {
                waiting.at_work.remove(project);
            }
        }
        drop(waiting);
        self.called.notify_one();
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::clock::SystemClock;

    fn pool() -> Pool {
        Pool::start(Arc::new(SystemClock))
    }

    fn project(name: &str) -> ProjectId {
        ProjectId::from(name)
    }

    #[tokio::test]
    async fn a_project_with_hard_jobs_on_every_thread_it_may_have_leaves_one_to_the_others() {
        let pool = pool();
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let threads = thread::available_parallelism().unwrap().get().max(2);
        let greedy = project("hard");
        let hard = (0..2 * threads).map(|_| {
            let held = Arc::clone(&held);
            pool.run(&greedy, move || held.lock().unwrap().recv().is_err())
        });
        let other = async {
            let answered = pool.run(&project("other"), || 7).await;
            drop(release);
            answered
        };
        let (hard, other) = futures::join!(futures::future::join_all(hard), other);
        assert_eq!(other.unwrap(), 7);
        assert!(hard.into_iter().all(|job| job.is_ok()));
    }

    #[tokio::test]
    async fn a_job_that_panics_is_a_500_for_itself_alone() {
        let pool = pool();
        for _ in 0..2 * thread::available_parallelism().unwrap().get() {
            let refused = pool.run(&project("a"), || panic!("poisoned")).await;
            assert_eq!(refused.map(|()| "made").unwrap_err().class, "Error");
        }
        assert_eq!(pool.run(&project("a"), || 7).await.unwrap(), 7);
    }

    #[test]
    fn projects_take_turns_however_much_one_of_them_sends() {
        let line = Line::of(4);
        let (sender, done) = mpsc::channel();
        let say = |said: &str| -> Job {
            let (sender, said) = (sender.clone(), said.to_owned());
            Box::new(move || sender.send(said).unwrap())
        };
        for number in 0..3 {
            line.push(&project("greedy"), say(&format!("greedy {number}"))).unwrap();
        }
        line.push(&project("modest"), say("modest")).unwrap();
        for _ in 0..4 {
            let (_, job) = line.next().unwrap();
            job();
        }
        let order: Vec<String> = done.try_iter().collect();
        assert_eq!(order, ["greedy 0", "modest", "greedy 1", "greedy 2"]);
    }

    #[test]
    fn what_a_project_has_waiting_is_bounded_and_others_are_let_in() {
        let line = Line::of(4);
        for _ in 0..WAITING_MAX {
            line.push(&project("greedy"), Box::new(|| {})).unwrap();
        }
        let refused = line.push(&project("greedy"), Box::new(|| {})).unwrap_err();
        assert_eq!(refused.class, "HTTPTooManyRequests");
        assert!(line.push(&project("modest"), Box::new(|| {})).is_ok());
    }

    #[tokio::test]
    async fn a_job_ends_when_the_client_is_gone() {
        let pool = pool();
        let (sender, ended) = mpsc::channel();
        let (began, begun) = oneshot::channel();
        let mine = project("a");
        let asked = pool.run(&mine, move || {
            began.send(()).unwrap();
            while crate::template::hold(0).is_ok() && crate::template::step_of_request(1).is_ok() {
                thread::yield_now();
            }
            sender.send(()).unwrap();
        });
        let asked = Box::pin(asked);
        // As actix does with the future of a request whose connection is gone.
        match futures::future::select(asked, begun).await {
            futures::future::Either::Right((_, asked)) => drop(asked),
            futures::future::Either::Left(_) => panic!("it ended by itself"),
        }
        ended.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
    }
}
