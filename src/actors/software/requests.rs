//! What clients of the API ask of configurations and deployments.

use serde_json::{Value, json};

use super::keeper::SoftwareKeeper;
use super::{Config, ConfigCommand, DeploymentCommand};
use crate::actors::asks::RequestContext;
use crate::actors::tallies::Counted;
use crate::events::software::{DeploymentChange, DeploymentCreated};
use crate::events::{Position, StreamId};
use crate::model::sizes::{INPUT_VALUES, OUTPUT_VALUES};
use crate::model::taint;
use crate::model::{ConfigId, DeploymentId, ProjectId, Refusal};
use crate::resource_types::software::SoftwareConfig;

/// A deployment as a client of the API asks for it.
#[derive(Clone, Debug, Default)]
pub struct CreateDeployment {
    pub server_id: String,
    /// The project of one of the client's stacks' users: whoever asks has made sure of it.
    pub stack_user_project_id: Option<String>,
    pub change: ChangeDeployment,
}

/// What a client of the API sets; what is not given stays.
#[derive(Clone, Debug, Default)]
pub struct ChangeDeployment {
    pub config_id: Option<String>,
    pub action: Option<String>,
    pub status: Option<String>,
    pub status_reason: Option<String>,
    pub input_values: Option<Value>,
    pub output_values: Option<Value>,
}

impl SoftwareKeeper {
    /// Makes a configuration for a client.
    pub async fn create(
        &self,
        who: &RequestContext,
        config: SoftwareConfig,
    ) -> Result<(ConfigId, Position), Refusal> {
        let id = ConfigId(self.services.clock.fresh_id());
        let project = &who.caller.project_id;
        let limit = self.limit(Counted::Config).filter(|_| !who.caller.is_admin());
        let created = self.keep_config(project, id, config, limit, who.meta()).await?;
        Ok((id, created))
    }

    /// A configuration as the agents of its project's servers are told of it; none where it is gone.
    pub async fn told(&self, project: &ProjectId, id: ConfigId) -> Result<Option<Value>, Refusal> {
        let config = match self.config(project, &id.to_string()).await {
            Ok(config) => config,
            Err(refusal) if refusal.class == "NotFound" => return Ok(None),
            Err(refusal) => return Err(refusal),
        };
        Ok(Some(json!({
            "id": id,
            "name": config.name,
            "group": config.group,
            "config": config.content.config,
            "inputs": config.content.inputs,
            "outputs": config.content.outputs,
            "options": config.content.options,
        })))
    }

    /// Deletes a client's configuration.
    pub async fn delete(&self, who: &RequestContext, id: &str) -> Result<Position, Refusal> {
        let (config, owner) =
            self.read_config(&who.caller.project_id, Some(&who.caller), id).await?;
        let deleted = self
            .decide(
                &StreamId::config(config.id),
                || Config::named(config.id),
                ConfigCommand::Delete,
                who.meta(),
            )
            .await?;
        self.services.tallies.give_back(&owner.project_id, Counted::Config);
        Ok(deleted)
    }

    /// Makes a deployment for a client.
    pub async fn create_deployment(
        &self,
        who: &RequestContext,
        ask: CreateDeployment,
    ) -> Result<(DeploymentId, Position), Refusal> {
        let project = &who.caller.project_id;
        let id = DeploymentId(self.services.clock.fresh_id());
        let limit = self.limit(Counted::Deployment).filter(|_| !who.caller.is_admin());
        let mut state = self.change(who, project, ask.change).await?;
        if state.config_id.is_none() {
            return Err(Config::missing("None"));
        }
        // Python's text of a reason that was never given.
        state.status_reason.get_or_insert_with(|| "None".to_owned());
        let created = DeploymentCreated {
            deployment_id: id,
            project_id: project.clone(),
            stack_user_project_id: ask.stack_user_project_id,
            server_id: ask.server_id,
            state,
        };
        Ok((id, self.deploy_new(id, created, limit, who.meta()).await?))
    }

    /// Changes a client's deployment.
    pub async fn update_deployment(
        &self,
        who: &RequestContext,
        id: &str,
        ask: ChangeDeployment,
    ) -> Result<(DeploymentId, Position), Refusal> {
        let (found, created) =
            self.read_deployment(&who.caller.project_id, Some(&who.caller), id).await?;
        let change = self.change(who, &created.project_id, ask).await?;
        let command = DeploymentCommand::Update(Box::new(change));
        Ok((found.id, self.tell(found.id, command, who.meta()).await?))
    }

    /// Deletes a client's deployment.
    pub async fn remove_deployment(
        &self,
        who: &RequestContext,
        id: &str,
    ) -> Result<Position, Refusal> {
        let (found, _) =
            self.read_deployment(&who.caller.project_id, Some(&who.caller), id).await?;
        self.drop_deployment(found.id, &found, who.meta()).await
    }

    /// What a client sets, checked.
    async fn change(
        &self,
        who: &RequestContext,
        project: &ProjectId,
        ask: ChangeDeployment,
    ) -> Result<DeploymentChange, Refusal> {
        let config_id = match ask.config_id {
            None => None,
            Some(id) => Some(self.read_config(project, Some(&who.caller), &id).await?.0.id),
        };
        INPUT_VALUES.check_json(&ask.input_values)?;
        OUTPUT_VALUES.check_json(&ask.output_values)?;
        Ok(DeploymentChange {
            config_id,
            action: ask.action,
            status: ask.status,
            status_reason: ask.status_reason,
            input_values: ask.input_values.map(taint::taint),
            output_values: ask.output_values.map(taint::taint),
        })
    }
}
