//! The keeper of alarms: it has those of each project in memory, and runs them one command at a
//! time. What it decides, it decides again where another writer was faster.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::Mutex as AsyncMutex;

use super::alarm::{Alarm, AlarmCommand};
use super::kept::{Due, Kept, Owed, Slot};
use super::telling;
use crate::actors::asks::RequestContext;
use crate::actors::services::Services;
use crate::events::alarm::{AlarmMade, AlarmRule, AlarmState, DataPut};
use crate::events::{Cause, Meta, Position};
use crate::model::{AlarmId, CommandId, ProjectId, Refusal};
use crate::resource_types::asks::AlarmAsk;

/// How often it is looked whose period is over.
const LOOK_EVERY: Duration = Duration::from_secs(1);

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

    /// Metric data of a project, which an alarm of its has to watch or be named by, as in Heat.
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
        kept.wake(self.0.as_ref()).await?;
        for datum in &put.data {
            let is_taken =
                |made: &AlarmMade| made.takes(&datum.metric, &datum.dimensions, put.stack);
            if !kept.watching().any(|(_, made)| is_taken(made)) {
                let name = datum.dimensions.get(crate::events::alarm::ALARM_NAME);
                return Err(Alarm::missing(name.unwrap_or(&datum.metric)));
            }
        }
        let span = kept.span();
        kept.data.put(self.0.as_ref(), put, span, who.meta()).await
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
        kept.wake(self.0.as_ref()).await?;
        let known = kept.named(name);
        refuse_owned(known)?;
        let id = known.map_or_else(|| AlarmId(self.0.clock.fresh_id()), |made| made.alarm_id);
        let (project_id, name) = (project.clone(), name.to_owned());
        let made = AlarmMade { alarm_id: id, project_id, name, owner: None, rule };
        kept.tell(self.0.as_ref(), id, AlarmCommand::Make(Box::new(made)), who.meta()).await
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
        kept.wake(self.0.as_ref()).await?;
        let found: Vec<&AlarmMade> = names.iter().filter_map(|name| kept.named(name)).collect();
        found.iter().try_for_each(|made| refuse_owned(Some(made)))?;
        let ids: Vec<AlarmId> = found.into_iter().map(|made| made.alarm_id).collect();
        let mut last = Position(0);
        for id in ids {
            last =
                last.max(kept.tell(self.0.as_ref(), id, AlarmCommand::Delete, who.meta()).await?);
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
        kept.wake(self.0.as_ref()).await?;
        let id = kept.named(name).ok_or_else(|| Alarm::missing(name))?.alarm_id;
        let told = kept.tell(self.0.as_ref(), id, command, who.meta()).await?;
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
        kept.wake(self.0.as_ref()).await?;
        let (id, command) = match ask {
            AlarmAsk::Make(made) => (made.alarm_id, AlarmCommand::Make(made.clone())),
            AlarmAsk::Suspend(id) => (*id, AlarmCommand::Suspend),
            AlarmAsk::Resume(id) => (*id, AlarmCommand::Resume),
            AlarmAsk::Delete(id) => (*id, AlarmCommand::Delete),
        };
        kept.tell(self.0.as_ref(), id, command, meta).await.map(drop)
    }

    /// Evaluates a project's alarms whose period is over, and tells whoever is to be told.
    pub async fn look(&self, project: &ProjectId) -> Result<(), Refusal> {
        let kept = self.0.alarms.of(project);
        let mut kept = kept.lock().await;
        kept.wake(self.0.as_ref()).await?;
        let now = self.0.clock.now();
        let span = kept.span();
        loop {
            let due = kept.due(now);
            if due.is_empty() {
                break;
            }
            for Due { made, until } in due {
                let (id, data) =
                    (made.alarm_id, kept.data.of(self.0.as_ref(), &made, until, span).await?);
                let meta = Arc::new(Meta::of_command(CommandId(self.0.clock.fresh_id())));
                kept.tell(self.0.as_ref(), id, AlarmCommand::Evaluate { until, data }, meta)
                    .await?;
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
        let owed: Vec<Owed> = kept.lock().await.owed().collect();
        for owed in owed {
            let told = telling::tell(&self.0, project, &owed).await;
            if told.is_empty() {
                continue;
            }
            let command = AlarmCommand::Told(told);
            let meta = Arc::new(Meta { cause: Some(Cause::Event(owed.since)), ..Meta::default() });
            let noted = kept.lock().await.tell(self.0.as_ref(), owed.alarm, command, meta).await;
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
    let alarms = &keeper.0.alarms;
    while !alarms.is_stopped.load(Ordering::Relaxed) {
        for (project, _) in alarms.all() {
            if alarms.is_stopped.load(Ordering::Relaxed) {
                return;
            }
            if let Err(error) = keeper.look(&project).await {
                tracing::warn!(project = %project, %error, "alarms are not evaluated now");
            }
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}
