//! What happens in the streams of software configurations and of their deployments. What a
//! configuration holds and a deployment brings back may be secret, and is sealed as a whole under
//! the project's scope.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::StreamId;
use crate::model::{ConfigId, DeploymentId, ProjectId};

events! {
    /// The facts of a software configuration, which never changes.
    ConfigEvent {
        ConfigCreated = 1,
        ConfigDeleted = 1,
    }
    scope: |event| match event {
        ConfigEvent::ConfigCreated(created) => Some(StreamId::project(&created.project_id)),
        ConfigEvent::ConfigDeleted(_) => None,
    }
}

events! {
    /// The facts of a deployment.
    DeploymentEvent {
        DeploymentCreated = 1,
        DeploymentUpdated = 1,
        DeploymentDeleted = 1,
    }
    scope: |event| match event {
        DeploymentEvent::DeploymentCreated(created) => {
            Some(StreamId::project(&created.project_id))
        }
        DeploymentEvent::DeploymentUpdated(_) | DeploymentEvent::DeploymentDeleted(_) => None,
    }
}

/// The configuration exists from here on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigCreated {
    pub config_id: ConfigId,
    pub project_id: ProjectId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// `{config, inputs, outputs, options}`, sealed.
    pub content: Value,
}

/// The configuration is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConfigDeleted {
    pub config_id: ConfigId,
}

/// The deployment exists from here on: a configuration is on its way to a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeploymentCreated {
    pub deployment_id: DeploymentId,
    pub project_id: ProjectId,
    /// The project of the user with which the server signals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_user_project_id: Option<String>,
    pub server_id: String,
    pub state: DeploymentChange,
}

/// What a deployment is set to; what is not given stays.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DeploymentChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_id: Option<ConfigId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// Heat's words: IN_PROGRESS, COMPLETE, FAILED; a client may set others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status_reason: Option<String>,
    /// Sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_values: Option<Value>,
    /// Sealed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_values: Option<Value>,
}

/// The deployment was brought to another configuration, or its outcome is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeploymentUpdated {
    pub change: DeploymentChange,
}

/// The deployment is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeploymentDeleted {
    pub deployment_id: DeploymentId,
}

impl DeploymentChange {
    /// The state after a further change.
    pub fn take(&mut self, change: &DeploymentChange) {
        let DeploymentChange {
            config_id,
            action,
            status,
            status_reason,
            input_values,
            output_values,
        } = change.clone();
        self.config_id = config_id.or(self.config_id);
        self.action = action.or(self.action.take());
        self.status = status.or(self.status.take());
        self.status_reason = status_reason.or(self.status_reason.take());
        self.input_values = input_values.or(self.input_values.take());
        self.output_values = output_values.or(self.output_values.take());
    }
}
