//! Runs types' programs: gets the answers to what they ask, one after the other, and runs them
//! again with all that came so far.

use std::collections::HashMap;
use std::sync::Arc;

use uuid::Uuid;

use super::alarms::AlarmKeeper;
use super::claims::{Claimant, unknown};
use super::neighbors;
use super::nested::{ChildBeat, definition};
use super::services::Services;
use super::software::SoftwareKeeper;
use crate::events::Meta;
use crate::events::resource::{AnswersKept, Step};
use crate::model::{ProjectId, Refusal};
use crate::openstack::{CloudError, Request, Response, Session, UserDomain};
use crate::resource_types::asks::{Answer, Ask, Asks, Facts, Run, SoftwareAnswer, SoftwareAsk};
use crate::resource_types::job::StackUser;
use crate::resource_types::kept;
use crate::resource_types::{Attempt, Beat, CloudCheck, Failure, Registry};
use crate::template::StackDefinition;

/// How much one beat may ask: a program is run again with each answer, so that its work grows with
/// the square of this.
const ASKS_MAX: usize = 2_000;

/// Runs a program that looks to its end: what would change something is not asked for.
pub(super) async fn look<T>(
    services: &Arc<Services>,
    session: &Session,
    program: impl Fn(&Asks<'_>) -> T,
) -> T {
    let executor = Executor::new(Some(services), session);
    Executor { only_looks: true, ..executor }.run(program).await
}

/// Runs a program to its end.
pub(super) async fn run<T>(
    services: &Arc<Services>,
    session: &Session,
    program: impl Fn(&Asks<'_>) -> T,
) -> T {
    run_for(services, session, &Arc::default(), program).await
}

/// The same where the program may write: events that come of it are due to who asked.
pub(super) async fn run_for<T>(
    services: &Arc<Services>,
    session: &Session,
    asked: &Arc<Meta>,
    program: impl Fn(&Asks<'_>) -> T,
) -> T {
    let executor = Executor::new(Some(services), session);
    Executor { asked: Arc::clone(asked), ..executor }.run(program).await
}

/// Runs a beat to its end. Where the step only looks, what would change something is not asked for:
/// the same step comes first, on record as one that changes something. With the outcome come the
/// answers that led to it, to be kept. The beat of a stack elsewhere comes `with` the place.
pub(super) async fn run_beat(
    services: &Arc<Services>,
    session: &Session,
    asked: &Arc<Meta>,
    (claimant, with): (&Claimant, Option<(&ChildBeat<'_>, Session)>),
    (step, attempt): (&Step, Attempt),
    program: impl Fn(&Asks<'_>) -> Result<Beat, Failure>,
) -> (Result<Beat, Failure>, Option<AnswersKept>) {
    let (child, there) = with.unzip();
    let executor = Executor::new(Some(services), session);
    let (asked, claimant) = (Arc::clone(asked), Some(claimant));
    let mut executor = Executor { asked, claimant, child, there, ..executor };
    let mut run = Run::new(executor.facts().await);
    loop {
        match run.go_on(&program) {
            Ok(outcome) => {
                let kept = decides(&outcome).then(|| run.kept(attempt)).flatten();
                return (outcome, kept);
            }
            Err(_) if run.asked() == ASKS_MAX => {
                let text = format!("More than {ASKS_MAX} calls in one step");
                return (Err(Failure::TooMuch(text)), None);
            }
            Err(ask) => match ask.held_back(step) {
                Some(beat) => return (Ok(beat), None),
                None => executor.answer_next(ask, &mut run).await,
            },
        }
    }
}

/// Whether an outcome moves the action on: what is looked at again, or tried again, decides nothing.
fn decides(outcome: &Result<Beat, Failure>) -> bool {
    match outcome {
        Ok(beat) => !matches!(beat, Beat::Wait { .. }),
        Err(error) => !error.is_transient(),
    }
}

/// Runs a program that asks for nothing but the cloud.
pub async fn run_in_cloud<T>(session: &Session, program: impl Fn(&Asks<'_>) -> T) -> T {
    Executor::new(None, session).run(program).await
}

/// Asks the cloud what it alone knows of a definition.
pub(super) async fn check_in_cloud(
    registry: &Registry,
    definition: &StackDefinition,
    checks: &[CloudCheck],
    session: &Session,
) -> Result<(), Refusal> {
    let mut executor = Executor::new(None, session);
    executor.heard = Some(Heard::new());
    executor.only_looks = true;
    for check in checks {
        executor.run(|cloud| registry.check_in_cloud(definition, check, cloud)).await?;
    }
    Ok(())
}

/// What came of requests, by their paths.
type Heard = HashMap<String, Vec<(Request, Result<Response, CloudError>)>>;

struct Executor<'a> {
    services: Option<&'a Arc<Services>>,
    session: &'a Session,
    /// Who asked for what the program does, and in which request.
    asked: Arc<Meta>,
    /// The resource whose beat it is.
    claimant: Option<&'a Claimant>,
    /// The beat, where its stack is elsewhere.
    child: Option<&'a ChildBeat<'a>>,
    /// The place that was reached last.
    there: Option<Session>,
    /// The stack's user who called last.
    user: Option<(StackUser, Session)>,
    /// Whether an ask that would change something is answered with [`CloudError::OnlyLooks`].
    only_looks: bool,
    /// What came of each look at the cloud, by its path, where several programs ask the same.
    heard: Option<Heard>,
}

impl<'a> Executor<'a> {
    fn new(services: Option<&'a Arc<Services>>, session: &'a Session) -> Self {
        Self {
            services,
            session,
            asked: Arc::default(),
            claimant: None,
            child: None,
            there: None,
            user: None,
            only_looks: false,
            heard: None,
        }
    }

    /// Sends a request, if it is not known what comes of it.
    async fn send(&mut self, request: &Request) -> Result<Response, CloudError> {
        let Some(heard) = self.heard.as_mut().filter(|_| request.method.is_read()) else {
            return self.session.send(request.clone()).await;
        };
        let known = heard.entry(request.path.clone()).or_default();
        if let Some((_, outcome)) = known.iter().find(|(asked, _)| asked == request) {
            return outcome.clone();
        }
        let outcome = self.session.send(request.clone()).await;
        known.push((request.clone(), outcome.clone()));
        outcome
    }

    async fn facts(&self) -> Facts {
        Facts {
            now: self.session.now(),
            stack_user_role: self.session.stack_user_role().map(str::to_owned),
            auth_url: self.session.guests_auth_url().await,
            region: self.session.region().map(str::to_owned),
            cfn_places: self.session.cfn_places(),
        }
    }

    async fn run<T>(&mut self, program: impl Fn(&Asks<'_>) -> T) -> T {
        let mut run = Run::new(self.facts().await);
        loop {
            match run.go_on(&program) {
                Ok(outcome) => return outcome,
                Err(ask) => self.answer_next(ask, &mut run).await,
            }
        }
    }

    async fn answer_next(&mut self, ask: Box<Ask>, run: &mut Run) {
        if self.only_looks && ask.changes() {
            let refused = CloudError::OnlyLooks(ask.to_string());
            return run.answered(ask, Err(refused));
        }
        let session = self.session;
        // On the heap: what gets an answer is large, and would be moved from frame to frame.
        let answer = session.covers(Box::pin(self.answer(&ask))).await;
        run.answered(ask, answer);
    }

    async fn answer(&mut self, ask: &Ask) -> Result<Answer, CloudError> {
        let session = self.session;
        Ok(match ask {
            Ask::Call(request) => Answer::Response(self.send(request).await?),
            Ask::Calls(requests) => {
                let mut responses = Vec::with_capacity(requests.len());
                for request in requests {
                    responses.push(session.send(request.clone()).await);
                }
                Answer::Responses(responses)
            }
            Ask::CallThere(request) => {
                let there = self.there.as_ref().unwrap_or(session);
                Answer::Response(there.send(request.clone()).await?)
            }
            Ask::Poll { collection, id } => Answer::Object(session.poll_one(collection, id).await?),
            Ask::Endpoint(service) => Answer::Text(session.endpoint(service).await?),
            Ask::Project => Answer::Text(session.project_id().await?.0),
            Ask::Names => {
                let caller = session.caller().await?;
                let (project, user) = (caller.project_name.clone(), caller.user_name.clone());
                Answer::Names { project, user }
            }
            Ask::Microversion { service, wanted } => {
                Answer::Microversion(session.microversion(service, *wanted).await?)
            }
            Ask::Reach { to, service } => {
                self.there = session.elsewhere(&to.borrowed(), service).await?;
                Answer::Reached(self.there.is_some())
            }
            Ask::CallInDomain(request) => {
                Answer::Response(self.domain()?.send(request.clone()).await?)
            }
            Ask::CallAsUser { user, request } => {
                Answer::Response(self.as_user(user)?.send(request.clone()).await?)
            }
            Ask::DomainId => Answer::Text(self.domain()?.id().await?),
            Ask::UserToken { id, password, project_id } => {
                Answer::Token(self.domain()?.token(id, password, project_id).await?)
            }
            Ask::Software { project, ask } => Answer::Software(self.software(project, ask).await),
            Ask::Alarm { project, ask } => Answer::Alarm(match self.services {
                Some(services) => {
                    let keeper = AlarmKeeper::of(Arc::clone(services));
                    keeper.answer(project, ask, Arc::clone(&self.asked)).await
                }
                None => Err(Refusal::unavailable(no_engine().to_string())),
            }),
            Ask::Claim { ids, named } => match (self.services, self.claimant) {
                (Some(services), Some(claimant)) => {
                    let Services { claims, on_record, .. } = services.as_ref();
                    Answer::Claimed(claims.claim(claimant, ids, *named, on_record.as_ref()).await?)
                }
                // There is no other resource.
                (None, _) | (_, None) => Answer::Claimed(ids.first().cloned()),
            },
            Ask::Shares(id) => match (self.services, self.claimant) {
                (Some(services), Some(claimant)) => {
                    let known = services.on_record.holders(id).await.map_err(unknown)?;
                    Answer::Shares(known.iter().any(|holder| claimant.shares_with(holder)))
                }
                (None, _) | (_, None) => Answer::Shares(false),
            },
            Ask::Neighbor(known) => match (self.services, self.claimant) {
                (Some(services), Some(claimant)) => {
                    Answer::Neighbor(neighbors::seen(services, claimant.stack, known).await?)
                }
                (None, _) | (_, None) => Answer::Neighbor(None),
            },
            Ask::Neighbors { of_type, property, value } => match (self.services, self.claimant) {
                (Some(services), Some(claimant)) => {
                    let alike = neighbors::Alike { of_type, property, value };
                    Answer::Neighbors(alike.ids(services, claimant.stack).await?)
                }
                (None, _) | (_, None) => Answer::Neighbors(Vec::new()),
            },
            Ask::ChildDefinition => match (self.services, self.child) {
                (Some(services), Some(child)) => {
                    Answer::ChildDefinition(definition(services, child).await)
                }
                (None, _) | (_, None) => return Err(no_engine()),
            },
            Ask::FreshId => match self.services {
                Some(services) => Answer::Id(services.clock.fresh_id()),
                None => return Err(no_engine()),
            },
            Ask::SharedId(purpose) => match self.services {
                Some(services) => {
                    // The ids of plans are digests, too, but of JSON, which this is not.
                    let text = format!("{purpose} of {}", session.project_id().await?);
                    let mut bytes = [0; size_of::<Uuid>()];
                    let digest = services.vault.digest(text.as_bytes());
                    bytes.copy_from_slice(&digest[..size_of::<Uuid>()]);
                    Answer::Id(Uuid::from_bytes(bytes))
                }
                None => return Err(no_engine()),
            },
            Ask::Pause(time) => {
                tokio::time::sleep(*time).await;
                Answer::Done
            }
        })
    }

    fn as_user(&mut self, user: &StackUser) -> Result<Session, CloudError> {
        match &self.user {
            Some((known, session)) if known == user => Ok(session.clone()),
            Some(_) | None => {
                let StackUser { id, password, project } = user;
                let session = self.domain()?.session(id, password, project);
                self.user = Some((user.clone(), session.clone()));
                Ok(session)
            }
        }
    }

    fn domain(&self) -> Result<UserDomain, CloudError> {
        let none = || CloudError::Unsendable("There is no domain for stacks' users".to_owned());
        self.session.user_domain().ok_or_else(none)
    }

    async fn software(
        &self,
        project: &ProjectId,
        ask: &SoftwareAsk,
    ) -> Result<SoftwareAnswer, Refusal> {
        let Some(services) = self.services else {
            return Err(Refusal::unavailable(no_engine().to_string()));
        };
        let keeper = SoftwareKeeper::asked(Arc::clone(services), Arc::clone(&self.asked));
        keeper.answer(project, ask).await
    }
}

fn no_engine() -> CloudError {
    CloudError::Unsendable("There is no engine to keep it".to_owned())
}

/// A beat that was run again by the answers that were kept of it.
pub struct Rerun {
    /// What the program asks, with the answer, as far as one was kept.
    pub asked: Vec<(Ask, Option<Result<Answer, CloudError>>)>,
    /// What it comes to; `None` where an answer is missing.
    pub outcome: Option<Result<Beat, Failure>>,
}

/// Runs a program by the answers that were kept of it; nothing leaves. `written` says how an ask
/// stands in the log.
pub fn run_again(
    kept: &AnswersKept,
    written: impl Fn(&Ask) -> String,
    program: impl Fn(&Asks<'_>) -> Result<Beat, Failure>,
) -> Result<Rerun, serde_json::Error> {
    let mut run = Run::new(serde_json::from_value(kept.facts.clone())?);
    let mut asked = Vec::new();
    let mut answers = kept.answers.iter();
    let outcome = loop {
        match run.go_on(&program) {
            Ok(outcome) => break Some(outcome),
            Err(ask) => {
                // Another version may ask otherwise: what was answered is no answer to that.
                let answer = answers
                    .next()
                    .filter(|kept| kept.ask == written(&ask))
                    .and_then(|kept| kept::answer(&ask, kept));
                asked.push(((*ask).clone(), answer.clone()));
                match answer {
                    Some(answer) => run.answered(ask, answer),
                    None => break None,
                }
            }
        }
    };
    Ok(Rerun { asked, outcome })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{Clock, SimulatedClock};
    use crate::openstack::Service;

    #[tokio::test]
    async fn whoever_looks_is_refused_what_would_change_something() {
        let clock: Arc<dyn Clock> = Arc::new(SimulatedClock::new(1));
        let session = Session::detached(&clock);
        let mut executor = Executor { only_looks: true, ..Executor::new(None, &session) };
        let error = async |executor: &mut Executor<'_>, request: Request| {
            executor.run(|cloud| cloud.send(request.clone())).await.unwrap_err()
        };
        let post = || Request::post(Service::Compute, "/servers/1/remote-consoles");
        let refused = CloudError::OnlyLooks("POST compute:/servers/1/remote-consoles".to_owned());
        assert_eq!(error(&mut executor, post()).await, refused);
        // What only asks is sent, and gets nowhere here.
        for request in [post().only_asking(), Request::get(Service::Compute, "/servers/1")] {
            let error = error(&mut executor, request).await;
            assert!(matches!(error, CloudError::Unsendable(_)), "{error:?}");
        }
    }
}
