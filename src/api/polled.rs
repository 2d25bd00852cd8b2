//! Answers to agents, which ask for the same every few seconds: each is kept for who asked, while
//! nothing of the project has changed that it was read of.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use actix_web::web::Bytes;

use crate::model::{Caller, Changes, ProjectId, Since};

/// How much is kept, in bytes: half of it of late, and half that is asked for again or goes.
const KEPT_MAX_BYTES: usize = 32 * 1024 * 1024;

/// What an answer takes beside its body, in bytes.
const ENTRY_BYTES: usize = 1024;

/// A question, by an API and what it names.
pub(super) type Question = (&'static str, [String; 3]);

/// See the module.
pub(super) struct Polled {
    /// `None`: nothing is kept, since actors here do not see what another process writes.
    changes: Option<Changes>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    young: HashMap<Key, Answered>,
    young_bytes: usize,
    old: HashMap<Key, Answered>,
}

#[derive(PartialEq, Eq, Hash)]
struct Key {
    user_id: String,
    question: Question,
}

struct Answered {
    caller: Arc<Caller>,
    /// Whose it was read of.
    project: ProjectId,
    since: Since,
    body: Bytes,
}

impl Answered {
    fn bytes(&self) -> usize {
        self.body.len() + ENTRY_BYTES
    }
}

impl Polled {
    /// Answers that hold by these changes.
    pub(super) fn new(changes: Option<Changes>) -> Self {
        Self { changes, kept: Mutex::default() }
    }

    /// What was answered to the caller before, or what is made now, with the project that it was
    /// read of. Whether he may ask was seen already.
    pub(super) async fn answer<E>(
        &self,
        caller: &Arc<Caller>,
        question: Question,
        make: impl Future<Output = Result<(ProjectId, Vec<u8>), E>>,
    ) -> Result<Bytes, E> {
        let Some(changes) = &self.changes else { return Ok(make.await?.1.into()) };
        let key = Key { user_id: caller.user_id.clone(), question };
        if let Some(body) = self.found(changes, caller, &key) {
            return Ok(body);
        }
        let since = changes.now();
        let (project, mut body) = make.await?;
        // What is kept takes no more than is counted.
        body.shrink_to_fit();
        let body = Bytes::from(body);
        if body.len() < KEPT_MAX_BYTES / 16 {
            let (caller, body) = (Arc::clone(caller), body.clone());
            self.lock().keep(key, Answered { caller, project, since, body });
        }
        Ok(body)
    }

    fn found(&self, changes: &Changes, caller: &Caller, key: &Key) -> Option<Bytes> {
        let mut kept = self.lock();
        let answered = kept.find(key)?;
        // The same user with other roles is another caller, and where he is of another project,
        // what he names may be there by now.
        let holds = *answered.caller == *caller
            && [&answered.project, &caller.project_id]
                .iter()
                .all(|project| changes.has_none_of(project, answered.since));
        holds.then(|| answered.body.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn find(&mut self, key: &Key) -> Option<&Answered> {
        if let Some((key, answered)) = self.old.remove_entry(key) {
            self.keep(key, answered);
        }
        self.young.get(key)
    }

    fn keep(&mut self, key: Key, answered: Answered) {
        let bytes = answered.bytes();
        if self.young_bytes + bytes > KEPT_MAX_BYTES / 2 {
            self.young_bytes = 0;
            self.old = std::mem::take(&mut self.young);
        }
        self.young_bytes += bytes;
        let former = self.young.insert(key, answered);
        self.young_bytes -= former.map_or(0, |former| former.bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::convert::Infallible;
    use std::future::ready;

    use super::*;
    use crate::model::Scope;

    fn caller(user: &str, roles: &[&str]) -> Arc<Caller> {
        Arc::new(Caller {
            user_id: user.to_owned(),
            user_name: user.to_owned(),
            project_id: ProjectId("users".to_owned()),
            project_name: "users".to_owned(),
            roles: roles.iter().map(|&role| role.to_owned()).collect(),
            scope: Scope::default(),
            admin: false,
        })
    }

    struct Story {
        changes: Changes,
        polled: Polled,
        made: Cell<usize>,
    }

    impl Story {
        fn new(is_on: bool) -> Self {
            let changes = Changes::default();
            let polled = Polled::new(is_on.then(|| changes.clone()));
            Self { changes, polled, made: Cell::default() }
        }

        /// How often an answer was made so far.
        async fn ask(&self, caller: &Arc<Caller>, name: &str, bytes: usize) -> usize {
            let question = ("metadata", ["stack", "id", name].map(str::to_owned));
            let make = async {
                self.made.set(self.made.get() + 1);
                ready(Ok::<_, Infallible>((ProjectId("owner".to_owned()), vec![0; bytes]))).await
            };
            let Ok(body) = self.polled.answer(caller, question, make).await;
            assert_eq!(body.len(), bytes);
            self.made.get()
        }
    }

    #[actix_web::test]
    async fn an_answer_is_kept_for_who_asked_until_something_of_its_project_changes() {
        let story = Story::new(true);
        let user = caller("user", &["heat_stack_user"]);
        assert_eq!(story.ask(&user, "server", 10).await, 1);
        assert_eq!(story.ask(&user, "server", 10).await, 1);
        assert_eq!(story.ask(&user, "other", 10).await, 2, "of another resource");
        assert_eq!(story.ask(&caller("else", &[]), "server", 10).await, 3, "to another user");
        assert_eq!(story.ask(&caller("user", &[]), "server", 10).await, 4, "with other roles");
        assert_eq!(story.ask(&user, "server", 10).await, 5);
        story.changes.note(&ProjectId("third".to_owned()));
        assert_eq!(story.ask(&user, "server", 10).await, 5);
        for changed in ["owner", "users"] {
            let made = story.made.get();
            story.changes.note(&ProjectId(changed.to_owned()));
            assert_eq!(story.ask(&user, "server", 10).await, made + 1, "{changed}");
        }
    }

    #[actix_web::test]
    async fn what_changes_while_an_answer_is_made_counts() {
        let story = Story::new(true);
        let user = caller("user", &[]);
        let question = || ("metadata", ["a", "b", "c"].map(str::to_owned));
        let owner = ProjectId("owner".to_owned());
        let make = async {
            story.changes.note(&owner);
            Ok::<_, Infallible>((owner.clone(), b"before".to_vec()))
        };
        let Ok(first) = story.polled.answer(&user, question(), make).await;
        let make = ready(Ok::<_, Infallible>((owner.clone(), b"after".to_vec())));
        let Ok(second) = story.polled.answer(&user, question(), make).await;
        assert_eq!((&first[..], &second[..]), (&b"before"[..], &b"after"[..]));
    }

    #[actix_web::test]
    async fn nothing_is_kept_where_it_is_off() {
        let story = Story::new(false);
        let user = caller("user", &[]);
        assert_eq!(story.ask(&user, "server", 10).await, 1);
        assert_eq!(story.ask(&user, "server", 10).await, 2);
    }

    #[actix_web::test]
    async fn what_is_kept_is_bounded_and_what_is_asked_for_stays() {
        let story = Story::new(true);
        let user = caller("user", &[]);
        story.ask(&user, "server", 10).await;
        for number in 0..100 {
            story.ask(&user, &number.to_string(), 1024 * 1024).await;
            story.ask(&user, "server", 10).await;
        }
        assert_eq!(story.made.get(), 101);
        let bytes = {
            let kept = story.polled.lock();
            kept.young.values().chain(kept.old.values()).map(|it| it.body.len()).sum::<usize>()
        };
        assert!(bytes <= KEPT_MAX_BYTES, "{bytes}");
        let made = story.made.get();
        story.ask(&user, "large", KEPT_MAX_BYTES / 16).await;
        assert_eq!(story.ask(&user, "large", KEPT_MAX_BYTES / 16).await, made + 2, "too large");
    }
}
