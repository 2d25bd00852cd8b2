//! A deployment: a configuration on its way to a server, and what came of it.

use chrono::{DateTime, Utc};

use crate::actors::shell::{Aggregate, Decision};
use crate::clock::Moment;
use crate::events::DeploymentEvent;
use crate::events::software::{
    DeploymentChange, DeploymentCreated, DeploymentDeleted, DeploymentUpdated,
};
use crate::model::{DeploymentId, Refusal};

/// The status of a deployment whose outcome is awaited.
pub(super) const IN_PROGRESS: &str = "IN_PROGRESS";

/// A command to a deployment.
#[derive(Clone, Debug)]
pub enum DeploymentCommand {
    /// Make it, or bring it to the configuration if it has another. A repeated command changes
    /// nothing, whatever the server has said meanwhile.
    Deploy(Box<DeploymentCreated>),
    Update(Box<DeploymentChange>),
    /// What the server said, or that nobody waits for it any longer; it counts where it is awaited.
    Signal(Box<DeploymentChange>),
    Delete,
}

/// A deployment's state.
#[derive(Debug, Default)]
pub struct DeploymentState {
    pub id: DeploymentId,
    pub created: Option<DeploymentCreated>,
    pub state: DeploymentChange,
    /// When it was last changed.
    pub updated_at: Option<DateTime<Utc>>,
    pub deleted: bool,
}

impl DeploymentState {
    /// A deployment that nothing is known of but its id.
    pub fn named(id: DeploymentId) -> Self {
        Self { id, ..Self::default() }
    }

    /// Heat's refusal where there is none of an id.
    pub fn missing(id: &str) -> Refusal {
        Refusal::new("NotFound", format!("Deployment with id {id} not found"))
    }
}

impl Aggregate for DeploymentState {
    type Command = DeploymentCommand;
    type Event = DeploymentEvent;
    type Effect = ();
    type Knowledge = ();
    type Working = ();

    fn apply(&mut self, event: &DeploymentEvent, at: DateTime<Utc>) {
        match event {
            DeploymentEvent::DeploymentCreated(created) => {
                self.state = created.state.clone();
                self.created = Some(created.clone());
                self.deleted = false;
            }
            DeploymentEvent::DeploymentUpdated(updated) => {
                self.state.take(&updated.change);
                self.updated_at = Some(at);
            }
            DeploymentEvent::DeploymentDeleted(_) => self.deleted = true,
        }
    }

    fn decide(
        &self,
        (): &mut (),
        command: DeploymentCommand,
        _moment: &Moment<'_>,
        (): &(),
    ) -> Result<Decision<Self>, Refusal> {
        let exists = self.created.is_some() && !self.deleted;
        match command {
            DeploymentCommand::Deploy(created) if !exists => Ok(Decision::record(*created)),
            DeploymentCommand::Deploy(created) => {
                if created.state.config_id == self.state.config_id {
                    return Ok(Decision::nothing());
                }
                Ok(Decision::record(DeploymentUpdated { change: created.state }))
            }
            _ if !exists => Err(Self::missing(&self.id.to_string())),
            DeploymentCommand::Update(change) => {
                Ok(Decision::record(DeploymentUpdated { change: *change }))
            }
            DeploymentCommand::Signal(change) => {
                if self.state.status.as_deref() != Some(IN_PROGRESS) {
                    return Ok(Decision::nothing());
                }
                Ok(Decision::record(DeploymentUpdated { change: *change }))
            }
            DeploymentCommand::Delete => {
                Ok(Decision::record(DeploymentDeleted { deployment_id: self.id }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::clock::SimulatedClock;
    use crate::model::ConfigId;

    fn change(config: u128, status: &str) -> DeploymentChange {
        DeploymentChange {
            config_id: Some(ConfigId(Uuid::from_u128(config))),
            status: Some(status.to_owned()),
            ..DeploymentChange::default()
        }
    }

    fn deploy(config: u128) -> DeploymentCommand {
        DeploymentCommand::Deploy(Box::new(DeploymentCreated {
            deployment_id: DeploymentId::default(),
            project_id: "p".into(),
            stack_user_project_id: None,
            server_id: "s".to_owned(),
            state: change(config, IN_PROGRESS),
        }))
    }

    /// Decides the commands one by one; how many events each led to.
    fn told(commands: Vec<DeploymentCommand>) -> Vec<usize> {
        let clock = SimulatedClock::new(1);
        let mut machine = DeploymentState::default();
        let mut counts = Vec::new();
        for command in commands {
            let decision = machine.decide(&mut (), command, &Moment::of(&clock), &()).unwrap();
            counts.push(decision.events.len());
            for event in decision.events {
                machine.apply(&event, clock_now());
            }
        }
        counts
    }

    fn clock_now() -> DateTime<Utc> {
        DateTime::default()
    }

    #[test]
    fn a_repeated_deploy_keeps_what_the_server_has_said() {
        let complete = || DeploymentCommand::Signal(Box::new(change(1, "COMPLETE")));
        let counts = told(vec![deploy(1), complete(), deploy(1), complete(), deploy(2)]);
        assert_eq!(counts, [1, 1, 0, 0, 1]);
    }

    #[test]
    fn what_is_not_there_cannot_be_changed() {
        let clock = SimulatedClock::new(1);
        let machine = DeploymentState::default();
        let command = DeploymentCommand::Update(Box::default());
        let refused = machine.decide(&mut (), command, &Moment::of(&clock), &()).err();
        assert_eq!(refused.map(|it| it.class.to_string()).as_deref(), Some("NotFound"));
    }
}
