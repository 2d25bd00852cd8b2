//! Asks about software configurations and deployments.

use serde_json::Value;

use super::{Answer, Ask, Asks, SoftwareAnswer, SoftwareAsk, unlike};
use crate::model::{ConfigId, DeploymentId, ProjectId, Refusal};
use crate::resource_types::software::{Deploy, Deployment, SoftwareConfig};

/// The software configurations and deployments of a project.
pub struct Software<'a> {
    asks: &'a Asks<'a>,
    project: ProjectId,
}

impl<'a> Software<'a> {
    pub(super) fn of(asks: &'a Asks<'a>, project: ProjectId) -> Self {
        Self { asks, project }
    }

    fn ask(&self, ask: SoftwareAsk) -> Result<SoftwareAnswer, Refusal> {
        match self.asks.ask(Ask::Software { project: self.project.clone(), ask }) {
            Ok(Answer::Software(answer)) => answer,
            Ok(_) => Err(Refusal::unavailable(unlike().to_string())),
            Err(error) => Err(Refusal::unavailable(error.to_string())),
        }
    }

    fn tell(&self, ask: SoftwareAsk) -> Result<(), Refusal> {
        self.ask(ask).map(|_| ())
    }

    pub fn config(&self, id: &str) -> Result<SoftwareConfig, Refusal> {
        match self.ask(SoftwareAsk::Config(id.to_owned()))? {
            SoftwareAnswer::Config(config) => Ok(config),
            _ => Err(Refusal::unavailable(unlike().to_string())),
        }
    }

    pub fn create_config(&self, id: ConfigId, config: SoftwareConfig) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::CreateConfig(id, config))
    }

    /// One that is gone already is no error.
    pub fn delete_config(&self, id: ConfigId) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::DeleteConfig(id))
    }

    pub fn deployment(&self, id: &str) -> Result<Deployment, Refusal> {
        match self.ask(SoftwareAsk::Deployment(id.to_owned()))? {
            SoftwareAnswer::Deployment(deployment) => Ok(deployment),
            _ => Err(Refusal::unavailable(unlike().to_string())),
        }
    }

    /// Makes the deployment, or brings it to the configuration if it has another.
    pub fn deploy(&self, id: DeploymentId, deploy: Deploy) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::Deploy(id, deploy))
    }

    /// Notes what a server said of a deployment; the words for the event list. `None`: it is not
    /// under way.
    pub fn signal_deployment(&self, id: &str, details: &Value) -> Result<Option<String>, Refusal> {
        match self.ask(SoftwareAsk::Signal(id.to_owned(), details.clone()))? {
            SoftwareAnswer::Signaled(words) => Ok(words),
            _ => Err(Refusal::unavailable(unlike().to_string())),
        }
    }

    /// Nobody waits any longer for what a server says of a deployment.
    pub fn give_up_deployment(&self, id: &str) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::GiveUp(id.to_owned()))
    }

    /// One that is gone already is no error.
    pub fn delete_deployment(&self, id: DeploymentId) -> Result<(), Refusal> {
        self.tell(SoftwareAsk::DeleteDeployment(id))
    }
}
