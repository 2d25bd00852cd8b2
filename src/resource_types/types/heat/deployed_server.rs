//! OS::Heat::DeployedServer: a server that somebody else made. It has what the agent in it is told,
//! and the user that the agent asks as.
//!
//! ```text
//! create, update of the transport: (`agent`) ─▶ settle ─▶ done
//! delete: (`agent`) ─▶ remove ─▶ done          suspend, resume: enable ─▶ done
//! ```

use serde_json::Value;

use crate::events::resource::Step;
use crate::model::{Action, JsonMap};
use crate::resource_types::agent;
use crate::resource_types::declared::{Beating, Declared, PlainStage};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, StackUser, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stack_user;
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct DeployedServer;

const TRANSPORT: &str = "software_config_transport";

stages! {
    /// What a deployed server goes through, besides what its user does.
    enum Stage {
        Settle = "settle" Looks,
    }
}

impl ResourceType for DeployedServer {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        let properties = declared.properties(&subject.properties);
        let told_anew = match work {
            Work::Update { changed, .. } => changed.contains(TRANSPORT),
            Work::Create => true,
            Work::Delete | Work::Act(_) => false,
        };
        match work {
            Work::Create | Work::Update { .. } if told_anew => {
                agent::first(subject, &properties).unwrap_or_else(|| Stage::Settle.step())
            }
            Work::Delete => {
                agent::removal(subject).unwrap_or_else(|| after_agent(&properties, work, subject))
            }
            Work::Act(Action::Suspend | Action::Resume) if StackUser::made(subject).is_some() => {
                stack_user::enabling()
            }
            Work::Create | Work::Update { .. } | Work::Act(_) => PlainStage::Done.step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let properties = declared.properties(&subject.properties);
        let then = || after_agent(&properties, work, subject);
        if let Some(beat) = agent::beat(beating, &properties, &then) {
            return beat;
        }
        if let Some(beat) = stack_user::keep(cloud, work, subject, step) {
            return beat;
        }
        match Stage::of(step) {
            Some(Stage::Settle) => {
                let metadata = agent::told(cloud, subject, &properties, &[])?;
                let physical_id = subject.resource_id.map(|id| id.to_string());
                let learned = Learned { physical_id, metadata, ..Learned::default() };
                Ok(Beat::Done { learned })
            }
            None => declared.plain_beat(beating),
        }
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { declared, subject, .. } = at;
        Ok(match name {
            "name" => {
                let properties = declared.properties(&subject.properties);
                let given = properties.get("name").and_then(Value::as_str);
                let given = given.filter(|name| !name.is_empty());
                Some(given.unwrap_or(&subject.physical_name).into())
            }
            "os_collect_config" => Some(agent::known(subject)),
            _ => None,
        })
    }
}

/// What follows once the way is there, or gone, by which the agent is told things.
fn after_agent(properties: &JsonMap, work: &Work, subject: &Subject) -> Step {
    match work {
        // A user stays when he is not asked for any more.
        Work::Delete if agent::proof(properties).is_some() || stack_user::may_be_there(subject) => {
            stack_user::removal()
        }
        Work::Delete => PlainStage::Done.step(),
        Work::Create | Work::Update { .. } | Work::Act(_) => Stage::Settle.step(),
    }
}
