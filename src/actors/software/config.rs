//! A software configuration: it is made and deleted, and never changes.

use chrono::{DateTime, Utc};

use crate::actors::shell::{Aggregate, Decision};
use crate::clock::Moment;
use crate::events::ConfigEvent;
use crate::events::software::{ConfigCreated, ConfigDeleted};
use crate::model::{ConfigId, Refusal};

/// A command to a configuration.
#[derive(Clone, Debug)]
pub enum ConfigCommand {
    /// One that exists already is left as it is: a repeated command.
    Create(Box<ConfigCreated>),
    Delete,
}

/// A configuration's state.
#[derive(Debug, Default)]
pub struct Config {
    pub id: ConfigId,
    pub created: Option<ConfigCreated>,
    pub created_at: DateTime<Utc>,
    pub deleted: bool,
}

impl Config {
    /// A configuration that nothing is known of but its id.
    pub fn named(id: ConfigId) -> Self {
        Self { id, ..Self::default() }
    }

    /// Heat's refusal where there is none of an id.
    pub fn missing(id: &str) -> Refusal {
        Refusal::new("NotFound", format!("Software config with id {id} not found"))
    }
}

impl Aggregate for Config {
    type Command = ConfigCommand;
    type Event = ConfigEvent;
    type Effect = ();
    type Knowledge = ();
    type Working = ();

    fn apply(&mut self, event: &ConfigEvent, at: DateTime<Utc>) {
        match event {
            ConfigEvent::ConfigCreated(created) => {
                self.deleted = false;
                self.created = Some(created.clone());
                self.created_at = at;
            }
            ConfigEvent::ConfigDeleted(_) => self.deleted = true,
        }
    }

    fn decide(
        &self,
        (): &mut (),
        command: ConfigCommand,
        _moment: &Moment<'_>,
        (): &(),
    ) -> Result<Decision<Self>, Refusal> {
        let exists = self.created.is_some() && !self.deleted;
        match command {
            ConfigCommand::Create(_) if exists => Ok(Decision::nothing()),
            ConfigCommand::Create(created) => Ok(Decision::record(*created)),
            ConfigCommand::Delete if exists => {
                Ok(Decision::record(ConfigDeleted { config_id: self.id }))
            }
            ConfigCommand::Delete => Err(Self::missing(&self.id.to_string())),
        }
    }
}
