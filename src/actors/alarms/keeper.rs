//! The keeper of alarms: it has those of each project in memory, and runs them one command at a
//! time. What it decides, it decides again where another writer was faster.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Mutex as AsyncMutex;

use super::alarm::{Alarm, AlarmCommand, LATE_MAX, LastLook};
use super::data::{Data, limit_exceeded, unavailable};
use super::telling;
use crate::actors::asks::RequestContext;
use crate::actors::services::Services;
use crate::actors::shell::{Aggregate, fold};
use crate::clock::Moment;
use crate::events::alarm::{AlarmMade, AlarmRule, AlarmState, DataPut};
use crate::events::log::{Head, LogError};
use crate::events::seal::Seals;
use crate::events::{Cause, Meta, Position, StreamId, StreamRevision};
use crate::model::{AlarmId, CommandId, ProjectId, Refusal};
use crate::resource_types::asks::AlarmAsk;

/// How many alarms a project may have.
const ALARMS_MAX: usize = 500;
/// How often it is looked whose period is over.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What is kept of alarms in memory.
#[derive(Default)]
pub(in crate::actors) struct Alarms {
    projects: Mutex<HashMap<ProjectId, Arc<AsyncMutex<Kept>>>>,
    is_stopped: AtomicBool,
}

/// A project's.
#[derive(Default)]
struct Kept {
    alarms: BTreeMap<AlarmId, Slot>,
    data: Data,
}

/// What is known of an alarm.
#[derive(Default)]
enum Slot {
    /// It is read back when it is needed.
    #[default]
    Asleep,
    Awake(Box<Woken>),
    /// Its stream is damaged: it is passed over, and the others go on.
    Unreadable,
}

/// An alarm as its stream says.
struct Woken {
    machine: Alarm,
    last: LastLook,
    head: Head,
    position: Position,
}

/// An alarm to be evaluated.
struct Due {
    made: AlarmMade,
    /// When its period was over.
    until: DateTime<Utc>,
}

impl Alarms {
    fn of(&self, project: &ProjectId) -> Arc<AsyncMutex<Kept>> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(projects.entry(project.clone()).or_default())
    }

    fn all(&self) -> Vec<(ProjectId, Arc<AsyncMutex<Kept>>)> {
        let projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        projects.iter().map(|(id, kept)| (id.clone(), Arc::clone(kept))).collect()
    }

    /// Nothing is looked at any more.
    pub(in crate::actors) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Reads all back when it is needed: the log has lost what was not durable.
    pub(in crate::actors) async fn read_back(&self) {
        for (_, kept) in self.all() {
            let mut kept = kept.lock().await;
            kept.alarms.values_mut().for_each(|slot| *slot = Slot::Asleep);
            kept.data = Data::default();
        }
    }
}

/// Runs the machines.
#[derive(Clone)]
pub struct AlarmKeeper(Arc<Services>);

impl AlarmKeeper {
    pub(in crate::actors) fn of(services: Arc<Services>) -> Self {
        Self(services)
    }

    /// Takes up the alarms that there are, before anybody makes another, and looks from now on whose
    /// period is over.
    pub fn watch(&self, alarms: Vec<(ProjectId, AlarmId)>) {
        let mut projects = self.0.alarms.projects.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: HashMap<ProjectId, Kept> = HashMap::new();
        for (project, id) in alarms {
            found.entry(project).or_default().alarms.insert(id, Slot::Asleep);
        }
        for (project, kept) in found {
            projects.insert(project, Arc::new(AsyncMutex::new(kept)));
        }
        drop(projects);
        actix::spawn(look_for_ever(self.clone()));
    }

    /// Metric data of a project, which an alarm of its has to watch, as in Heat.
    pub async fn put_data(
        &self,
        who: &RequestContext,
        project: &ProjectId,
        put: DataPut,
    ) -> Result<Position, Refusal> {
        let now = self.0.clock.now();
        for datum in &put.data {
            datum.check(now)?;
        }
        let kept = self.0.alarms.of(project);
        let mut kept = kept.lock().await;
        kept.wake(&self.0).await?;
        for datum in &put.data {
            let is_watched = |(_, made): (&Woken, &AlarmMade)| {
                made.watches(&datum.metric, &datum.dimensions, put.stack)
            };
            if !kept.watching().any(is_watched) {
                let name = datum.dimensions.get(crate::events::alarm::ALARM_NAME);
                return Err(Alarm::missing(name.unwrap_or(&datum.metric)));
            }
        }
        let span = kept.span();
        kept.data.put(&self.0, put, span, who.meta()).await
    }

    /// Says how an alarm stands, until it is evaluated again.
    pub async fn set_state(
        &self,
        who: &RequestContext,
        project: &ProjectId,
        name: &str,
        (state, reason): (AlarmState, String),
    ) -> Result<Position, Refusal> {
        self.tell_named(who, project, name, AlarmCommand::SetState { state, reason }).await
    }

    /// Has others told of what an alarm comes to, or not.
    pub async fn switch(
        &self,
        who: &RequestContext,
        project: &ProjectId,
        name: &str,
        tells: bool,
    ) -> Result<Position, Refusal> {
        self.tell_named(who, project, name, AlarmCommand::Switch { tells }).await
    }

    /// Makes a client's alarm, or brings it to the rule.
    pub async fn put_alarm(
        &self,
        who: &RequestContext,
        project: &ProjectId,
        name: &str,
        rule: AlarmRule,
    ) -> Result<Position, Refusal> {
        let kept = self.0.alarms.of(project);
        let mut kept = kept.lock().await;
        kept.wake(&self.0).await?;
        let known = kept.named(name);
        refuse_owned(known)?;
        let id = known.map_or_else(|| AlarmId(self.0.clock.fresh_id()), |made| made.alarm_id);
        let (project_id, name) = (project.clone(), name.to_owned());
        let made = AlarmMade { alarm_id: id, project_id, name, owner: None, rule };
        kept.tell(&self.0, id, AlarmCommand::Make(Box::new(made)), who.meta()).await
    }

    /// Deletes a client's alarms; one that there is not is none of them, as with Amazon.
    pub async fn delete(
        &self,
        who: &RequestContext,
        project: &ProjectId,
        names: &[String],
    ) -> Result<Position, Refusal> {
        let kept = self.0.alarms.of(project);
        let mut kept = kept.lock().await;
        kept.wake(&self.0).await?;
        let found: Vec<&AlarmMade> = names.iter().filter_map(|name| kept.named(name)).collect();
        found.iter().try_for_each(|made| refuse_owned(Some(made)))?;
        let ids: Vec<AlarmId> = found.into_iter().map(|made| made.alarm_id).collect();
        let mut last = Position(0);
        for id in ids {
            last = last.max(kept.tell(&self.0, id, AlarmCommand::Delete, who.meta()).await?);
        }
        Ok(last)
    }

    async fn tell_named(
        &self,
        who: &RequestContext,
        project: &ProjectId,
        name: &str,
        command: AlarmCommand,
    ) -> Result<Position, Refusal> {
        let kept = self.0.alarms.of(project);
        let mut kept = kept.lock().await;
        kept.wake(&self.0).await?;
        let id = kept.named(name).ok_or_else(|| Alarm::missing(name))?.alarm_id;
        let told = kept.tell(&self.0, id, command, who.meta()).await?;
        drop(kept);
        self.settle(project).await;
        Ok(told)
    }

    /// What a resource asks; all of it is safe to repeat.
    pub(in crate::actors) async fn answer(
        &self,
        project: &ProjectId,
        ask: &AlarmAsk,
        meta: Arc<Meta>,
    ) -> Result<(), Refusal> {
        let kept = self.0.alarms.of(project);
        let mut kept = kept.lock().await;
        kept.wake(&self.0).await?;
        let (id, command) = match ask {
            AlarmAsk::Make(made) => (made.alarm_id, AlarmCommand::Make(made.clone())),
            AlarmAsk::Suspend(id) => (*id, AlarmCommand::Suspend),
            AlarmAsk::Resume(id) => (*id, AlarmCommand::Resume),
            AlarmAsk::Delete(id) => (*id, AlarmCommand::Delete),
        };
        kept.tell(&self.0, id, command, meta).await.map(drop)
    }

    /// Evaluates a project's alarms whose period is over, and tells whoever is to be told.
    pub async fn look(&self, project: &ProjectId) -> Result<(), Refusal> {
        let kept = self.0.alarms.of(project);
        let mut kept = kept.lock().await;
        kept.wake(&self.0).await?;
        let now = self.0.clock.now();
        let span = kept.span();
        loop {
            let due = kept.due(now);
            if due.is_empty() {
                break;
            }
            for Due { made, until } in due {
                let (id, data) = (made.alarm_id, kept.data.of(&self.0, &made, until, span).await?);
                let meta = Arc::new(Meta::of_command(CommandId(self.0.clock.fresh_id())));
                kept.tell(&self.0, id, AlarmCommand::Evaluate { until, data }, meta).await?;
                if self.0.alarms.is_stopped.load(Ordering::Relaxed) {
                    return Ok(());
                }
                // Alarms may be many, with many data: others of this thread have their turn.
                tokio::task::yield_now().await;
            }
        }
        drop(kept);
        self.settle(project).await;
        Ok(())
    }

    /// Tells those who are still to be told, also of what a former process came to.
    async fn settle(&self, project: &ProjectId) {
        let kept = self.0.alarms.of(project);
        let owed: Vec<telling::Owed> = kept.lock().await.owed().collect();
        for owed in owed {
            let told = telling::tell(&self.0, project, &owed).await;
            if told.is_empty() {
                continue;
            }
            let command = AlarmCommand::Told(told);
            let meta = Arc::new(Meta { cause: Some(Cause::Event(owed.since)), ..Meta::default() });
            let noted = kept.lock().await.tell(&self.0, owed.alarm, command, meta).await;
            if let Err(error) = noted {
                tracing::warn!(alarm.id = %owed.alarm, %error, "an alarm tells again");
            }
        }
    }
}

/// An alarm that a template has is the stack's.
fn refuse_owned(made: Option<&AlarmMade>) -> Result<(), Refusal> {
    match made.filter(|made| made.owner.is_some()) {
        None => Ok(()),
        Some(made) => {
            let text = format!("The alarm ({}) is a resource of a stack", made.name);
            Err(Refusal::new("Invalid", text))
        }
    }
}

async fn look_for_ever(keeper: AlarmKeeper) {
    loop {
        for (project, _) in keeper.0.alarms.all() {
            if keeper.0.alarms.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = keeper.look(&project).await {
                tracing::warn!(project = %project, %error, "alarms are not evaluated now");
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

impl Kept {
    /// Reads back what is not in memory.
    async fn wake(&mut self, services: &Services) -> Result<(), Refusal> {
        for (id, slot) in &mut self.alarms {
            if !matches!(slot, Slot::Asleep) {
                continue;
            }
            *slot = match Woken::read(services, *id).await {
                Ok(woken) => Slot::Awake(Box::new(woken)),
                Err(LogError::Damaged(reason)) => {
                    tracing::error!(alarm.id = %id, reason, "an alarm is damaged and passed over");
                    Slot::Unreadable
                }
                Err(error) => return Err(unavailable(error)),
            };
        }
        self.alarms.retain(|_, slot| match slot {
            Slot::Awake(woken) => woken.machine.living().is_some(),
            Slot::Asleep | Slot::Unreadable => true,
        });
        Ok(())
    }

    /// Decides a command and takes in what comes of it.
    async fn tell(
        &mut self,
        services: &Services,
        id: AlarmId,
        command: AlarmCommand,
        meta: Arc<Meta>,
    ) -> Result<Position, Refusal> {
        if matches!(command, AlarmCommand::Make(_))
            && !self.alarms.contains_key(&id)
            && self.alarms.len() >= ALARMS_MAX
        {
            return Err(limit_exceeded(&format!("A project has up to {ALARMS_MAX} alarms")));
        }
        loop {
            let slot = self.alarms.entry(id).or_default();
            if !matches!(slot, Slot::Awake(_)) {
                let woken = Woken::read(services, id).await.map_err(unavailable)?;
                *slot = Slot::Awake(Box::new(woken));
            }
            let Slot::Awake(woken) = slot else { continue };
            let told = woken.tell(services, command.clone(), &meta).await;
            let is_gone = woken.machine.living().is_none();
            if is_gone || told.as_ref().is_err_and(Told::is_over) {
                self.alarms.remove(&id);
            }
            match told {
                Ok(position) => return Ok(position),
                Err(Told::Refused(refusal)) => return Err(refusal),
                Err(Told::TooLate) => {
                    // What there was of it may never have been.
                    self.alarms.insert(id, Slot::Asleep);
                }
            }
        }
    }

    fn awake(&self) -> impl Iterator<Item = &Woken> {
        self.alarms.values().filter_map(|slot| match slot {
            Slot::Awake(woken) => Some(woken.as_ref()),
            Slot::Asleep | Slot::Unreadable => None,
        })
    }

    fn watching(&self) -> impl Iterator<Item = (&Woken, &AlarmMade)> {
        let watching = self.awake().filter(|it| it.machine.state != AlarmState::Suspended);
        watching.filter_map(|it| Some((it, it.machine.living()?)))
    }

    /// The alarm of a name; the newest, while one takes another's place.
    fn named(&self, name: &str) -> Option<&AlarmMade> {
        let named = self.awake().filter_map(|it| Some((it, it.machine.living()?)));
        let named = named.filter(|(_, made)| made.name == name);
        named.max_by_key(|(it, _)| it.machine.made_at).map(|(_, made)| made)
    }

    /// How long data are needed, also where somebody looks late.
    fn span(&self) -> TimeDelta {
        let spans = self.watching().map(|(_, made)| made.rule.span());
        spans.max().unwrap_or_default() + LATE_MAX
    }

    /// The alarms whose period is over, each with its next.
    fn due(&self, now: DateTime<Utc>) -> Vec<Due> {
        let due = self.watching().filter_map(|(it, made)| {
            let until = it.machine.due(&it.last, now).filter(|until| *until <= now)?;
            Some(Due { made: made.clone(), until })
        });
        due.collect()
    }

    fn owed(&self) -> impl Iterator<Item = telling::Owed> {
        let owing = self.awake().filter(|it| !it.machine.owed.is_empty());
        owing.filter_map(|it| {
            let made = it.machine.living()?;
            Some(telling::Owed {
                alarm: made.alarm_id,
                name: made.name.clone(),
                stack: made.owner.as_ref().map(|owner| owner.stack),
                state: it.machine.state,
                signals: it.machine.owed.clone(),
                since: it.position,
            })
        })
    }
}

/// Why a command led to nothing.
enum Told {
    Refused(Refusal),
    /// Another writer was faster, or what was written before is lost.
    TooLate,
}

impl Told {
    fn is_over(&self) -> bool {
        matches!(self, Told::TooLate)
    }
}

impl Woken {
    async fn read(services: &Services, id: AlarmId) -> Result<Self, LogError> {
        let stream = StreamId::alarm(id);
        let slice = services.log.read(&stream, StreamRevision(0)).await?;
        let mut seals = Seals::of(services.vault.clone(), stream);
        let machine = fold(Alarm::named(id), &slice.events, &mut seals)?;
        let position = slice.events.last().map(|event| event.position).unwrap_or_default();
        // What was due while nobody looked is passed over, as in Heat.
        let last = LastLook(services.clock.now());
        Ok(Self { machine, last, head: slice.head, position })
    }

    async fn tell(
        &mut self,
        services: &Services,
        command: AlarmCommand,
        meta: &Arc<Meta>,
    ) -> Result<Position, Told> {
        let (events, now) = {
            let moment = Moment::of(services.clock.as_ref());
            let decided = self.machine.decide(&mut self.last, command, &moment, &());
            (decided.map_err(Told::Refused)?.events, moment.now)
        };
        if events.is_empty() {
            return Ok(self.position);
        }
        let stream = StreamId::alarm(self.machine.id);
        let mut seals = Seals::of(services.vault.clone(), stream.clone());
        let encoded = seals.seal_all(&events, self.head, now, meta).map_err(|error| {
            tracing::error!(%stream, %error, "an event cannot be kept");
            Told::Refused(Refusal::unavailable("internal error"))
        })?;
        match services.log.append(&stream, self.head, encoded).await {
            Ok(appended) => {
                (self.head, self.position) = (appended.head, appended.position);
                events.iter().for_each(|event| self.machine.apply(event, now));
                Ok(self.position)
            }
            Err(LogError::Conflict { .. } | LogError::Lost { .. }) => Err(Told::TooLate),
            Err(error) => Err(Told::Refused(unavailable(error))),
        }
    }
}
