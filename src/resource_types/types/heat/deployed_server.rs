//! OS::Heat::DeployedServer: a server that somebody else made. It has what the agent in it is told,
//! and the user that the agent asks as.
//!
//! ```text
//! create, update of the transport: (user_project ─▶ user (─▶ user_key)) ─▶ settle ─▶ done
//! delete: remove ─▶ done          suspend, resume: enable ─▶ done
//! ```

use serde_json::Value;

use crate::events::resource::Step;
use crate::model::{Action, JsonMap, Refusal};
use crate::resource_types::agent;
use crate::resource_types::declared::{Beating, Declared, PlainStage};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stack_user::{self, StackUser};
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
        let proof = agent::proof(&declared.properties(&subject.properties));
        let told_anew = match work {
            Work::Update { changed, .. } => changed.contains(TRANSPORT),
            Work::Create => true,
            Work::Delete | Work::Act(_) => false,
        };
        match work {
            Work::Create | Work::Update { .. } if told_anew && proof.is_some() => {
                stack_user::first(Value::Null)
            }
            Work::Create | Work::Update { .. } if told_anew => Stage::Settle.step(),
            // One stays when he is not asked for any more.
            Work::Delete if proof.is_some() || stack_user::may_be_there(subject) => {
                stack_user::removal()
            }
            Work::Act(Action::Suspend | Action::Resume) if StackUser::made(subject).is_some() => {
                stack_user::enabling()
            }
            Work::Create | Work::Update { .. } | Work::Delete | Work::Act(_) => {
                PlainStage::Done.step()
            }
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let properties = declared.properties(&subject.properties);
        let settle = || Stage::Settle.step();
        if let Some(proof) = agent::proof(&properties)
            && let Some(beat) = stack_user::make(cloud, subject, step, proof, settle)
        {
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

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        agent::check(properties)
    }
}
