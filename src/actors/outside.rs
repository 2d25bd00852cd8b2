//! What resources ask of the outside: the beats of their drivers, the calls of signals, and looks at
//! what there is.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use serde_json::Value;
use tracing::warn;

use super::claims::Claimant;
use super::executor;
use super::nest::Busy;
use super::nested::{self, Beating, ChildBeat};
use super::resource::{Answered, BeatCall, Due, Nesting, Resource};
use super::services::Services;
use super::shell::Inhabit;
use super::stack::{Knowledge, Stack};
use crate::events::resource::{AnswersKept, SignalTaken, Step};
use crate::events::{Meta, Position};
use crate::model::taint::plain;
use crate::model::{Action, JsonMap, ProjectId, Refusal, Trustor};
use crate::openstack::{Behalf, Session};
use crate::resource_types::agent;
use crate::resource_types::asks::Asks;
use crate::resource_types::child::Nested;
use crate::resource_types::declared::nesting::is_look;
use crate::resource_types::{
    Attempt, Beat, Declared, Failure, Learned, Reality, SignalOutcome, Subject, Work,
};
use crate::template::ALL_ATTRIBUTES;

/// The pause before a signal is carried out again whose calls were not answered.
const SIGNAL_PAUSE: Duration = Duration::from_secs(5);

/// How long a look may take before what it is for counts as unknown.
const OBSERVE_MAX: Duration = Duration::from_secs(60);

/// What a resource asks with.
pub(super) struct Outside {
    pub(super) services: Arc<Services>,
    pub(super) project: ProjectId,
    /// For which request.
    pub(super) behalf: Option<Behalf>,
    /// What led to it.
    pub(super) asked: Arc<Meta>,
    /// Of the newest event that explains it.
    pub(super) at: Position,
    /// Held until it is over.
    pub(super) busy: Busy,
}

/// A signal that is to be carried out.
pub(super) struct SignalCall {
    pub(super) due: Due,
    pub(super) driver_type: String,
    pub(super) subject: Box<Subject>,
    pub(super) nesting: Box<Nesting>,
    pub(super) attempt: Attempt,
    pub(super) trustor: Trustor,
}

impl Outside {
    /// Makes a beat. `None`: the intent of the call was lost with its group, and the actor is about
    /// to be dropped.
    pub(super) async fn beat(self, claimant: Claimant, call: BeatCall) -> Option<Answered> {
        if call.step.mutates && self.services.log.durable(self.at).await.is_err() {
            return None;
        }
        let mut answered = Answered {
            epoch: call.epoch,
            result: Ok(Beat::Wait { after: None }),
            kept: None,
            attributes: JsonMap::new(),
            reality: None,
        };
        let (driver, session) = match self.reach(&call.driver_type, &call.trustor).await {
            Ok((driver, session)) => (driver, session.fresh()),
            Err(error) => return Some(Answered { result: Err(error), ..answered }),
        };
        let _turn = match agent::is_placed(&call.subject) {
            true => Some(self.services.placing.wait(&claimant.resource).await),
            false => None,
        };
        (answered.result, answered.kept) = self.answer(&claimant, &call, &driver, &session).await;
        if let Ok(Beat::Done { learned }) = &answered.result {
            let BeatCall { work, subject, observe, .. } = call;
            if work == Work::Act(Action::Check) && driver.nests().is_none() {
                answered.reality = Some(self.compared(&driver, &session, &subject).await);
            }
            if !observe.is_empty() {
                let subject = with_learned(subject, learned);
                answered.attributes = self.observed(&driver, &session, &subject, &observe).await;
            }
        }
        Some(answered)
    }

    /// What a beat comes to, and the answers that led to it.
    async fn answer(
        &self,
        claimant: &Claimant,
        call: &BeatCall,
        driver: &Declared,
        session: &Session,
    ) -> (Result<Beat, Failure>, Option<AnswersKept>) {
        let BeatCall { work, subject, step, attempt, .. } = call;
        let services = &self.services;
        let nested = driver.nests().filter(|_| !is_look(step));
        let knowledge = Stack::knowledge(services);
        let knowledge = &knowledge;
        let child = nested.zip(call.nesting.as_ref()).map(|(nested, nesting)| ChildBeat {
            knowledge,
            driver,
            nested,
            work,
            subject,
            step,
            nesting,
        });
        let there = match &child {
            Some(beat) => nested::elsewhere(services, session, beat.nested, subject).await,
            None => Ok(None),
        };
        let (result, kept) = match (child, there) {
            (_, Err(error)) => (Err(error.into()), None),
            (Some(beat), Ok(None)) => {
                (nested::beat(&self.beating(session, beat, *attempt)).await, None)
            }
            (child, Ok(there)) => {
                let beat = |cloud: &Asks<'_>| driver.beat(cloud, work, subject, step, *attempt);
                let (of, at) = ((claimant, child.as_ref().zip(there)), (step, *attempt));
                executor::run_beat(services, session, &self.asked, of, at, beat).await
            }
        };
        let is_shut = |error: &Failure| error.is_unauthorized() || error.is_forbidden();
        if result.as_ref().is_err_and(is_shut) {
            services.credentials.forget(&self.project, &call.trustor);
        }
        let result = result.map_err(|error| match session.has_changed() {
            true => Failure::AfterChange(Box::new(error)),
            false => error,
        });
        let result = services.claims.learned(claimant, driver, subject, result);
        let is_lost = matches!(&result, Err(error) if error.is_transient());
        (result, kept.filter(|_| !is_lost))
    }

    fn beating<'a>(
        &'a self,
        session: &'a Session,
        beat: ChildBeat<'a>,
        attempt: Attempt,
    ) -> Beating<'a> {
        Beating { services: &self.services, session, beat, asked: &self.asked, attempt }
    }

    /// Makes the calls of a signal, with a pause where it is to be carried out again. `None`: the
    /// signal was lost with its group, and the actor is about to be dropped.
    pub(super) async fn carry_out(
        self,
        call: SignalCall,
    ) -> Option<Result<SignalOutcome, Failure>> {
        self.services.log.durable(self.at).await.ok()?;
        let result = self.signaled(call).await;
        if result.as_ref().is_err_and(Failure::is_transient) {
            tokio::time::sleep(SIGNAL_PAUSE).await;
        }
        Some(result)
    }

    async fn signaled(&self, call: SignalCall) -> Result<SignalOutcome, Failure> {
        let SignalCall { due, driver_type, subject, nesting, attempt, trustor } = call;
        let (services, asked) = (&self.services, &self.asked);
        let (driver, session) = self.reach(&driver_type, &trustor).await?;
        let SignalTaken { signal: id, details } = match (due, driver.nests()) {
            (Due::Resize(taken), Some(nested)) => {
                let knowledge = Stack::knowledge(services);
                let beat = looking(&knowledge, (&driver, nested), &subject, &nesting);
                return self.beating(&session, beat, attempt).resize(&taken.resize).await;
            }
            // What was a group, and is none of today's types.
            (Due::Resize(_), None) => return Ok(SignalOutcome::default()),
            (Due::Sent(taken), _) => taken,
        };
        if let Some(adjustment) = driver.adjustment(&subject) {
            return nested::adjust(services, &subject, adjustment, id, asked).await;
        }
        if let Some(reference) = driver.restarts(&subject) {
            return nested::restart(services, &subject, &reference, id, asked).await;
        }
        let details = plain(details);
        let carry_out =
            |cloud: &Asks<'_>| driver.program().carry_out_signal(cloud, &subject, &details);
        executor::run_for(services, &session, asked, carry_out).await
    }

    /// Whether what failed is replaced by the next update.
    pub(super) async fn replaces_failed(
        self,
        driver_type: &str,
        subject: &Subject,
        trustor: &Trustor,
    ) -> Result<bool, Failure> {
        let (driver, session) = self.reach(driver_type, trustor).await?;
        let replaces = |cloud: &Asks<'_>| driver.replace_failed(cloud, subject);
        executor::look(&self.services, &session, replaces).await
    }

    /// What there is of a resource; what cannot be looked up is taken for what is on record, as in
    /// Heat.
    pub(super) async fn reality(
        self,
        driver_type: &str,
        subject: &Subject,
        trustor: &Trustor,
    ) -> Reality {
        match self.reach(driver_type, trustor).await {
            Ok((driver, session)) => self.compared(&driver, &session, subject).await,
            Err(error) => as_recorded(subject, &error.told()),
        }
    }

    /// The same, where the cloud is reached.
    async fn compared(&self, driver: &Declared, session: &Session, subject: &Subject) -> Reality {
        let look = executor::look(&self.services, session, |it| driver.reality(it, subject));
        match tokio::time::timeout(OBSERVE_MAX, look).await {
            Ok(Ok(reality)) => reality,
            Ok(Err(error)) => as_recorded(subject, &error.told()),
            Err(_) => as_recorded(subject, "it was not answered in time"),
        }
    }

    /// Whether a child stack is to be updated.
    pub(super) async fn child_differs(
        self,
        driver_type: &str,
        subject: &Subject,
        nesting: &Nesting,
    ) -> bool {
        let services = &self.services;
        let driver = services.registry.driver(driver_type);
        let Some(driver) = driver.as_deref() else { return false };
        let Some(nested) = driver.nests() else { return false };
        let knowledge = Stack::knowledge(services);
        let beat = looking(&knowledge, (driver, nested), subject, nesting);
        nested::differs(services, &beat).await
    }

    /// Attributes as they are now; those that cannot be looked up are null.
    pub(super) async fn attributes(
        self,
        driver_type: &str,
        subject: &Subject,
        wanted: Vec<String>,
        trustor: &Trustor,
    ) -> JsonMap {
        let mut attributes = match self.reach(driver_type, trustor).await {
            Ok((driver, session)) => self.observed(&driver, &session, subject, &wanted).await,
            Err(_) => JsonMap::new(),
        };
        for name in wanted {
            attributes.entry(name).or_insert(Value::Null);
        }
        attributes
    }

    /// What is known of attributes; what a child stack has for secret is marked.
    async fn observed(
        &self,
        driver: &Declared,
        session: &Session,
        subject: &Subject,
        wanted: &[String],
    ) -> JsonMap {
        let wanted = if wanted.iter().any(|name| name == ALL_ATTRIBUTES) { &[] } else { wanted };
        let services = &self.services;
        if driver.nests().is_some() {
            return nested::attributes(services, session, driver, subject, wanted).await;
        }
        let look = executor::look(services, session, |it| driver.attributes(it, subject, wanted));
        let error = match tokio::time::timeout(OBSERVE_MAX, look).await {
            Ok(Ok(attributes)) => return attributes,
            Ok(Err(error)) => error.told(),
            Err(_) => "they were not answered in time".to_owned(),
        };
        warn!(resource.name = ?subject.name, error, "attributes cannot be looked up");
        JsonMap::new()
    }

    async fn reach(
        &self,
        driver_type: &str,
        trustor: &Trustor,
    ) -> Result<(Arc<Declared>, Session), Failure> {
        let (driver, session) = reach(&self.services, driver_type, &self.project, trustor).await?;
        Ok((driver, session.on_behalf(self.behalf.clone())))
    }
}

/// Whether a failed resource is replaced by the next update, as its type says.
pub(super) async fn is_lost(
    services: &Arc<Services>,
    resource: &Resource,
) -> Result<bool, Failure> {
    if !resource.may_be_lost() {
        return Ok(false);
    }
    let definition = resource.definition.as_ref().or(resource.target.as_deref());
    let (Some(definition), Some(stack)) = (definition, &resource.stack) else { return Ok(true) };
    let subject = resource.subject(definition, &Resource::knowledge(services));
    let (driver_type, user) = (&definition.driver_type, &resource.signals_for);
    let (driver, session) = reach(services, driver_type, &stack.project_id, user).await?;
    let replaces = |cloud: &Asks<'_>| driver.replace_failed(cloud, &subject);
    executor::look(services, &session, replaces).await
}

async fn reach(
    services: &Arc<Services>,
    driver_type: &str,
    project: &ProjectId,
    trustor: &Trustor,
) -> Result<(Arc<Declared>, Session), Failure> {
    let driver = services
        .registry
        .driver(driver_type)
        .ok_or_else(|| Refusal::not_found("Resource Type", driver_type))?;
    Ok((driver, services.credentials.session(services, project, trustor).await?))
}

/// A look at a child stack as it is.
fn looking<'a>(
    knowledge: &'a Knowledge,
    (driver, nested): (&'a Declared, &'a dyn Nested),
    subject: &'a Subject,
    nesting: &'a Nesting,
) -> ChildBeat<'a> {
    static STEP: LazyLock<Step> = LazyLock::new(Step::default);
    ChildBeat {
        knowledge,
        driver,
        nested,
        work: &Work::Act(Action::Check),
        subject,
        step: &STEP,
        nesting,
    }
}

fn with_learned(mut subject: Subject, learned: &Learned) -> Subject {
    subject.physical_id = learned.physical_id.clone().or(subject.physical_id);
    subject.data.extend(learned.data.clone());
    subject.signals.extend(learned.metadata.clone());
    subject
}

fn as_recorded(subject: &Subject, error: &str) -> Reality {
    warn!(resource.name = ?subject.name, error, "a resource cannot be compared with what there is");
    Reality::Differs(JsonMap::new())
}
