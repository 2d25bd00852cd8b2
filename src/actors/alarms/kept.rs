//! The alarms of each project in memory: read back from their streams, told one command after the
//! other, and asked which are due and who is still to be told.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use chrono::{DateTime, TimeDelta, Utc};
use tokio::sync::Mutex as AsyncMutex;

use super::alarm::{Alarm, AlarmCommand, LATE_MAX, LastLook};
use super::data::{Data, limit_exceeded, unavailable};
use crate::actors::shell::{Aggregate, Ground, fold};
use crate::clock::Moment;
use crate::events::alarm::{AlarmMade, AlarmSignal, AlarmState};
use crate::events::log::{EventLog, Head, LogError};
use crate::events::seal::Seals;
use crate::events::{AlarmEvent, Meta, Position, StreamId, StreamRevision};
use crate::model::{AlarmId, ProjectId, Refusal, StackId};

/// How many alarms a project may have.
const ALARMS_MAX: usize = 500;

/// What is kept of alarms in memory.
#[derive(Default)]
pub(in crate::actors) struct Alarms {
    pub(super) projects: Mutex<HashMap<ProjectId, Arc<AsyncMutex<Kept>>>>,
    pub(super) is_stopped: AtomicBool,
}

/// A project's.
#[derive(Default)]
pub(super) struct Kept {
    pub(super) alarms: BTreeMap<AlarmId, Slot>,
    /// Those that were deleted of late, in which generation of the log: it may yet lose that.
    deleted: Vec<(AlarmId, Position, u64)>,
    pub(super) data: Data,
}

/// What is known of an alarm.
#[derive(Default)]
pub(super) enum Slot {
    /// It is read back when it is needed.
    #[default]
    Asleep,
    Awake(Box<Woken>),
    /// Its stream is damaged: it is passed over, and the others go on.
    Unreadable,
}

/// An alarm as its stream says.
pub(super) struct Woken {
    machine: Alarm,
    last: LastLook,
    head: Head,
    position: Position,
}

/// An alarm to be evaluated.
pub(super) struct Due {
    pub(super) made: AlarmMade,
    /// When its period was over.
    pub(super) until: DateTime<Utc>,
}

/// What an alarm has still to tell.
pub(super) struct Owed {
    pub(super) alarm: AlarmId,
    pub(super) name: String,
    /// Its own stack.
    pub(super) stack: Option<StackId>,
    pub(super) state: AlarmState,
    pub(super) signals: Vec<AlarmSignal>,
    /// Of the event by which it was to be told.
    pub(super) since: Position,
}

impl Alarms {
    pub(super) fn of(&self, project: &ProjectId) -> Arc<AsyncMutex<Kept>> {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(projects.entry(project.clone()).or_default())
    }

    pub(super) fn all(&self) -> Vec<(ProjectId, Arc<AsyncMutex<Kept>>)> {
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
            let deleted = std::mem::take(&mut kept.deleted);
            kept.alarms.extend(deleted.into_iter().map(|(id, ..)| (id, Slot::Asleep)));
            kept.alarms.values_mut().for_each(|slot| *slot = Slot::Asleep);
            kept.data = Data::default();
        }
    }
}

impl Kept {
    /// Reads back what is not in memory.
    pub(super) async fn wake(&mut self, ground: &impl Ground) -> Result<(), Refusal> {
        for (id, slot) in &mut self.alarms {
            if !matches!(slot, Slot::Asleep) {
                continue;
            }
            *slot = match Woken::read(ground, *id).await {
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
    pub(super) async fn tell(
        &mut self,
        ground: &impl Ground,
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
                let woken = Woken::read(ground, id).await.map_err(unavailable)?;
                *slot = Slot::Awake(Box::new(woken));
            }
            let Slot::Awake(woken) = slot else { continue };
            let told = woken.tell(ground, command.clone(), &meta).await;
            let is_gone = woken.machine.living().is_none();
            if is_gone || told.as_ref().is_err_and(Told::is_over) {
                self.alarms.remove(&id);
            }
            match told {
                Ok(position) => {
                    if is_gone {
                        self.note_deleted(ground.log().as_ref(), id, position);
                    }
                    return Ok(position);
                }
                Err(Told::Refused(refusal)) => return Err(refusal),
                Err(Told::TooLate) => {
                    // What there was of it may never have been.
                    self.alarms.insert(id, Slot::Asleep);
                }
            }
        }
    }

    fn note_deleted(&mut self, log: &dyn EventLog, id: AlarmId, position: Position) {
        let (durable, generation) = (log.durable_position(), *log.generation().borrow());
        self.deleted.retain(|(_, at, of)| *at > durable || *of != generation);
        self.deleted.push((id, position, generation));
    }

    fn awake(&self) -> impl Iterator<Item = &Woken> {
        self.alarms.values().filter_map(|slot| match slot {
            Slot::Awake(woken) => Some(woken.as_ref()),
            Slot::Asleep | Slot::Unreadable => None,
        })
    }

    pub(super) fn watching(&self) -> impl Iterator<Item = (&Woken, &AlarmMade)> {
        let watching = self.awake().filter(|it| it.machine.state != AlarmState::Suspended);
        watching.filter_map(|it| Some((it, it.machine.living()?)))
    }

    /// The alarm of a name; the newest, while one takes another's place.
    pub(super) fn named(&self, name: &str) -> Option<&AlarmMade> {
        let named = self.awake().filter_map(|it| Some((it, it.machine.living()?)));
        let named = named.filter(|(_, made)| made.name == name);
        named.max_by_key(|(it, _)| it.machine.made_at).map(|(_, made)| made)
    }

    /// How long data are needed, also where somebody looks late.
    pub(super) fn span(&self) -> TimeDelta {
        let spans = self.watching().map(|(_, made)| made.rule.span());
        spans.max().unwrap_or_default() + LATE_MAX
    }

    /// The alarms whose period is over, each with its next.
    pub(super) fn due(&self, now: DateTime<Utc>) -> Vec<Due> {
        let due = self.watching().filter_map(|(it, made)| {
            let until = it.machine.due(&it.last, now).filter(|until| *until <= now)?;
            Some(Due { made: made.clone(), until })
        });
        due.collect()
    }

    pub(super) fn owed(&self) -> impl Iterator<Item = Owed> {
        let owing = self.awake().filter(|it| !it.machine.owed.is_empty());
        owing.filter_map(|it| {
            let made = it.machine.living()?;
            Some(Owed {
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
    async fn read(ground: &impl Ground, id: AlarmId) -> Result<Self, LogError> {
        let stream = StreamId::alarm(id);
        let slice = ground.log().read(&stream, StreamRevision(0)).await?;
        let mut seals = Seals::of(ground.vault().clone(), stream);
        seals.warm::<AlarmEvent>(&slice.events).await?;
        let machine = fold(Alarm::named(id), &slice.events, &mut seals)?;
        let position = slice.events.last().map(|event| event.position).unwrap_or_default();
        // What was due while nobody looked is passed over, as in Heat.
        let last = LastLook(ground.clock().now());
        Ok(Self { machine, last, head: slice.head, position })
    }

    async fn tell(
        &mut self,
        ground: &impl Ground,
        command: AlarmCommand,
        meta: &Arc<Meta>,
    ) -> Result<Position, Told> {
        let (events, now) = {
            let moment = Moment::of(ground.clock().as_ref());
            let decided = self.machine.decide(&mut self.last, command, &moment, &());
            (decided.map_err(Told::Refused)?.events, moment.now)
        };
        if events.is_empty() {
            return Ok(self.position);
        }
        let stream = StreamId::alarm(self.machine.id);
        let mut seals = Seals::of(ground.vault().clone(), stream.clone());
        let encoded = seals.seal_all(&events, self.head, now, meta).map_err(|error| {
            tracing::error!(%stream, %error, "an event cannot be kept");
            Told::Refused(Refusal::unavailable("internal error"))
        })?;
        match ground.log().append(&stream, self.head, encoded).await {
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
