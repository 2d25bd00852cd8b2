//! The keeper of configurations and deployments, as drivers of resources know it (`requests.rs` has
//! what clients of the API ask).
//! What they hold is sealed under the project's scope.

use std::sync::Arc;

use serde_json::Value;
use uuid::Uuid;

use super::deployment::IN_PROGRESS;
use super::outcome::outcome;
use super::{Config, ConfigCommand, DeploymentCommand, DeploymentState};
use crate::actors::services::Services;
use crate::actors::shell::{Aggregate, fold};
use crate::actors::tallies::Counted;
use crate::actors::turns::to_the_end;
use crate::clock::Moment;
use crate::events::log::{LogError, StreamSlice};
use crate::events::seal::Seals;
use crate::events::software::{ConfigCreated, DeploymentChange, DeploymentCreated};
use crate::events::{Meta, Position, StreamId, StreamRevision};
use crate::model::sizes::{INPUT_VALUES, OUTPUT_VALUES};
use crate::model::taint;
use crate::model::{Caller, ConfigId, DeploymentId, JsonMap, ProjectId, Refusal};
use crate::resource_types::asks::{SoftwareAnswer, SoftwareAsk};
use crate::resource_types::software::{ConfigContent, Deploy, Deployment, SoftwareConfig};

/// Runs the machines.
#[derive(Clone)]
pub struct SoftwareKeeper {
    pub(super) services: Arc<Services>,
    /// On whose behalf resources ask.
    asked: Arc<Meta>,
}

/// Whose configurations are meant: a project's, or anybody's for an administrator.
fn owns(project: &ProjectId, caller: Option<&Caller>, owner: &ProjectId) -> bool {
    project == owner || caller.is_some_and(Caller::is_admin)
}

impl SoftwareKeeper {
    pub(in crate::actors) fn of(services: Arc<Services>) -> Self {
        Self::asked(services, Arc::default())
    }

    /// The keeper as resources know it.
    pub(in crate::actors) fn asked(services: Arc<Services>, asked: Arc<Meta>) -> Self {
        Self { services, asked }
    }

    pub(super) async fn keep_config(
        &self,
        project: &ProjectId,
        id: ConfigId,
        config: SoftwareConfig,
        limit: Option<usize>,
        meta: Arc<Meta>,
    ) -> Result<Position, Refusal> {
        let content = serde_json::to_value(&config.content).unwrap_or_default();
        let created = ConfigCreated {
            config_id: id,
            project_id: project.clone(),
            name: config.name,
            group: config.group,
            content: taint::taint(content),
        };
        let command = ConfigCommand::Create(Box::new(created));
        let stream = StreamId::config(id);
        let (known, ..) = self.read(&stream, Config::named(id)).await?;
        let is_new = known.created.is_none() || known.deleted;
        if is_new {
            config.content.check_size()?;
        }
        let keeper = self.clone();
        self.counted(project, Counted::Config, limit, is_new, async move {
            keeper.decide(&stream, || Config::named(id), command, meta).await
        })
        .await
    }

    /// Makes a deployment where there is none.
    pub(super) async fn deploy_new(
        &self,
        id: DeploymentId,
        created: DeploymentCreated,
        limit: Option<usize>,
        meta: Arc<Meta>,
    ) -> Result<Position, Refusal> {
        let blank = DeploymentState::named(id);
        let (known, ..) = self.read(&StreamId::deployment(id), blank).await?;
        let is_new = known.created.is_none() || known.deleted;
        let project = created.project_id.clone();
        let command = DeploymentCommand::Deploy(Box::new(created));
        let keeper = self.clone();
        let make = async move { keeper.tell(id, command, meta).await };
        self.counted(&project, Counted::Deployment, limit, is_new, make).await
    }

    pub(super) async fn drop_deployment(
        &self,
        id: DeploymentId,
        known: &DeploymentState,
        meta: Arc<Meta>,
    ) -> Result<Position, Refusal> {
        let gone = self.tell(id, DeploymentCommand::Delete, meta).await?;
        if let Some(created) = known.created.as_ref().filter(|_| !known.deleted) {
            self.services.tallies.give_back(&created.project_id, Counted::Deployment);
        }
        Ok(gone)
    }

    /// Makes something of which a project may have so many. Once it is counted it is made or given
    /// back, also where nobody waits for it any more.
    async fn counted(
        &self,
        project: &ProjectId,
        kind: Counted,
        limit: Option<usize>,
        is_new: bool,
        make: impl Future<Output = Result<Position, Refusal>> + 'static,
    ) -> Result<Position, Refusal> {
        if !is_new {
            return make.await;
        }
        self.services.tallies.take(project, kind, limit)?;
        let (services, project) = (Arc::clone(&self.services), project.clone());
        to_the_end(async move {
            let made = make.await;
            if made.is_err() {
                services.tallies.give_back(&project, kind);
            }
            made
        })
        .await
    }

    pub(super) fn limit(&self, kind: Counted) -> Option<usize> {
        match kind {
            Counted::Config => self.services.limits.max_software_configs_per_tenant,
            Counted::Deployment => self.services.limits.max_software_deployments_per_tenant,
        }
    }

    pub(super) async fn tell(
        &self,
        id: DeploymentId,
        command: DeploymentCommand,
        meta: Arc<Meta>,
    ) -> Result<Position, Refusal> {
        let stream = StreamId::deployment(id);
        self.decide(&stream, || DeploymentState::named(id), command, meta).await
    }

    pub(super) async fn read_config(
        &self,
        project: &ProjectId,
        caller: Option<&Caller>,
        id: &str,
    ) -> Result<(Config, ConfigCreated), Refusal> {
        let missing = || Config::missing(id);
        let uuid = ConfigId(Uuid::try_parse(id).map_err(|_| missing())?);
        let (config, ..) = self.read(&StreamId::config(uuid), Config::named(uuid)).await?;
        let created = config.created.clone().filter(|_| !config.deleted).ok_or_else(missing)?;
        match owns(project, caller, &created.project_id) {
            true => Ok((config, created)),
            false => Err(missing()),
        }
    }

    pub(super) async fn read_deployment(
        &self,
        project: &ProjectId,
        caller: Option<&Caller>,
        id: &str,
    ) -> Result<(DeploymentState, DeploymentCreated), Refusal> {
        let missing = || DeploymentState::missing(id);
        let uuid = DeploymentId(Uuid::try_parse(id).map_err(|_| missing())?);
        let blank = DeploymentState::named(uuid);
        let (found, ..) = self.read(&StreamId::deployment(uuid), blank).await?;
        let created = found.created.clone().filter(|_| !found.deleted).ok_or_else(missing)?;
        let is_users = created.stack_user_project_id.as_deref() == Some(project.as_str());
        match is_users || owns(project, caller, &created.project_id) {
            true => Ok((found, created)),
            false => Err(missing()),
        }
    }

    async fn read<A: Aggregate>(
        &self,
        stream: &StreamId,
        blank: A,
    ) -> Result<(A, StreamSlice, Seals), Refusal> {
        let slice = self.services.log.read(stream, StreamRevision(0)).await.map_err(unavailable)?;
        let mut seals = Seals::of(self.services.vault.clone(), stream.clone());
        seals.warm::<A::Event>(&slice.events).await.map_err(unavailable)?;
        let machine = fold(blank, &slice.events, &mut seals).map_err(unavailable)?;
        Ok((machine, slice, seals))
    }

    /// Decides a command on its stream, again where another writer was faster.
    pub(super) async fn decide<A>(
        &self,
        stream: &StreamId,
        blank: impl Fn() -> A,
        command: A::Command,
        meta: Arc<Meta>,
    ) -> Result<Position, Refusal>
    where
        A: Aggregate<Knowledge = (), Working = (), Command: Clone>,
    {
        loop {
            let (machine, slice, mut seals) = self.read(stream, blank()).await?;
            let last = slice.events.last().map(|event| event.position).unwrap_or_default();
            let (events, now) = {
                let moment = Moment::of(self.services.clock.as_ref());
                (machine.decide(&mut (), command.clone(), &moment, &())?.events, moment.now)
            };
            if events.is_empty() {
                return Ok(last);
            }
            let encoded = seals.seal_all(&events, slice.head, now, &meta).map_err(|error| {
                tracing::error!(stream = %stream, %error, "an event cannot be kept");
                Refusal::unavailable("internal error")
            })?;
            match self.services.log.append(stream, slice.head, encoded).await {
                Ok(appended) => return Ok(appended.position),
                Err(LogError::Conflict { .. } | LogError::Lost { .. }) => {}
                Err(error) => return Err(unavailable(error)),
            }
        }
    }
}

fn content(created: ConfigCreated) -> Result<ConfigContent, Refusal> {
    let content = taint::plain(created.content);
    serde_json::from_value(content).map_err(|error| Refusal::unavailable(error.to_string()))
}

fn outputs(state: &DeploymentChange) -> JsonMap {
    match state.output_values.clone().map(taint::plain) {
        Some(Value::Object(map)) => map,
        Some(_) | None => JsonMap::new(),
    }
}

/// What resources ask; all of it is safe to repeat.
impl SoftwareKeeper {
    pub(in crate::actors) async fn answer(
        &self,
        project: &ProjectId,
        ask: &SoftwareAsk,
    ) -> Result<SoftwareAnswer, Refusal> {
        let done = |()| SoftwareAnswer::Done;
        match ask {
            SoftwareAsk::Config(id) => self.config(project, id).await.map(SoftwareAnswer::Config),
            SoftwareAsk::CreateConfig(id, config) => {
                self.create_config(project, *id, config.clone()).await.map(done)
            }
            SoftwareAsk::DeleteConfig(id) => self.delete_config(project, *id).await.map(done),
            SoftwareAsk::Deployment(id) => {
                self.deployment(project, id).await.map(SoftwareAnswer::Deployment)
            }
            SoftwareAsk::Deploy(id, deploy) => {
                self.deploy(project, *id, deploy.clone()).await.map(done)
            }
            SoftwareAsk::Signal(id, details) => {
                self.signal_deployment(project, id, details).await.map(SoftwareAnswer::Signaled)
            }
            SoftwareAsk::GiveUp(id) => self.give_up_deployment(project, id).await.map(done),
            SoftwareAsk::DeleteDeployment(id) => self.delete_deployment(*id).await.map(done),
        }
    }

    /// A configuration of a project.
    pub async fn config(&self, project: &ProjectId, id: &str) -> Result<SoftwareConfig, Refusal> {
        let (_, created) = self.read_config(project, None, id).await?;
        let (name, group) = (created.name.clone(), created.group.clone());
        Ok(SoftwareConfig { name, group, content: content(created)? })
    }

    async fn create_config(
        &self,
        project: &ProjectId,
        id: ConfigId,
        config: SoftwareConfig,
    ) -> Result<(), Refusal> {
        let limit = self.limit(Counted::Config);
        self.keep_config(project, id, config, limit, self.asked.clone()).await.map(drop)
    }

    async fn delete_config(&self, project: &ProjectId, id: ConfigId) -> Result<(), Refusal> {
        let found = self.read_config(project, None, &id.to_string()).await;
        if found.as_ref().is_err_and(is_missing) {
            return Ok(());
        }
        let (_, created) = found?;
        let stream = StreamId::config(id);
        let blank = || Config::named(id);
        let deleted = self.decide(&stream, blank, ConfigCommand::Delete, self.asked.clone()).await;
        if deleted.is_ok() {
            self.services.tallies.give_back(&created.project_id, Counted::Config);
        }
        or_gone(deleted)
    }

    async fn deployment(&self, project: &ProjectId, id: &str) -> Result<Deployment, Refusal> {
        let (found, created) = self.read_deployment(project, None, id).await?;
        Ok(Deployment {
            config_id: found.state.config_id.unwrap_or_default(),
            server_id: created.server_id,
            output_values: outputs(&found.state),
            action: found.state.action,
            status: found.state.status,
            status_reason: found.state.status_reason,
        })
    }

    async fn deploy(
        &self,
        project: &ProjectId,
        id: DeploymentId,
        deploy: Deploy,
    ) -> Result<(), Refusal> {
        INPUT_VALUES.check_json(&deploy.input_values)?;
        let created = DeploymentCreated {
            deployment_id: id,
            project_id: project.clone(),
            stack_user_project_id: deploy.stack_user_project_id,
            server_id: deploy.server_id,
            state: DeploymentChange {
                config_id: Some(deploy.config_id),
                action: Some(deploy.action),
                input_values: deploy.input_values.map(taint::taint),
                status: Some(deploy.status.to_owned()),
                status_reason: Some(deploy.status_reason.to_owned()),
                ..DeploymentChange::default()
            },
        };
        let limit = self.limit(Counted::Deployment);
        self.deploy_new(id, created, limit, self.asked.clone()).await.map(drop)
    }

    async fn signal_deployment(
        &self,
        project: &ProjectId,
        id: &str,
        details: &Value,
    ) -> Result<Option<String>, Refusal> {
        let (found, created) = self.read_deployment(project, None, id).await?;
        let project = &created.project_id;
        let taken = self.take_signal(&found, project, details, self.asked.clone()).await?;
        Ok(taken.map(|(event, _)| event))
    }

    /// What becomes of a deployment that is under way with what its server says: the event, and where
    /// it stands.
    pub(super) async fn take_signal(
        &self,
        found: &DeploymentState,
        project: &ProjectId,
        details: &Value,
        meta: Arc<Meta>,
    ) -> Result<Option<(String, Position)>, Refusal> {
        if found.state.status.as_deref() != Some(IN_PROGRESS) {
            return Ok(None);
        }
        let config_id = found.state.config_id.unwrap_or_default().to_string();
        let (_, config) = self.read_config(project, None, &config_id).await?;
        let declared = content(config)?.outputs;
        let id = found.id.to_string();
        let said = outcome(&id, details, &declared, outputs(&found.state));
        OUTPUT_VALUES.check_json(&said.outputs)?;
        let change = DeploymentChange {
            status: Some(said.status.to_owned()),
            status_reason: Some(said.status_reason),
            output_values: Some(taint::taint(Value::Object(said.outputs))),
            ..DeploymentChange::default()
        };
        let command = DeploymentCommand::Signal(Box::new(change));
        let position = self.tell(found.id, command, meta).await?;
        Ok(Some((said.event, position)))
    }

    async fn give_up_deployment(&self, project: &ProjectId, id: &str) -> Result<(), Refusal> {
        let (found, _) = self.read_deployment(project, None, id).await?;
        let change = DeploymentChange {
            status: Some("FAILED".to_owned()),
            status_reason: Some("Deployment cancelled.".to_owned()),
            ..DeploymentChange::default()
        };
        let command = DeploymentCommand::Signal(Box::new(change));
        self.tell(found.id, command, self.asked.clone()).await.map(drop)
    }

    async fn delete_deployment(&self, id: DeploymentId) -> Result<(), Refusal> {
        let blank = DeploymentState::named(id);
        let (known, ..) = self.read(&StreamId::deployment(id), blank).await?;
        or_gone(self.drop_deployment(id, &known, self.asked.clone()).await)
    }
}

fn or_gone(done: Result<Position, Refusal>) -> Result<(), Refusal> {
    match done {
        Err(refusal) if !is_missing(&refusal) => Err(refusal),
        Ok(_) | Err(_) => Ok(()),
    }
}

fn is_missing(refusal: &Refusal) -> bool {
    refusal.class == "NotFound"
}

pub(super) fn unavailable(error: LogError) -> Refusal {
    Refusal::unavailable(error.to_string())
}
