//! AWS::IAM::AccessKey: a pair of keys with which another resource's user signs requests.

use serde_json::Value;

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::asks::{Asks, NeighborKnown};
use crate::resource_types::declared::{Beating, Declared, PlainStage, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stack_user::{self, SECRET_KEY};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct AccessKey;

/// What is shown of a secret key that is not known.
const LOST: &str = "000-000-000";

stages! {
    /// How a key is made for a user who is there.
    enum Stage {
        Find = "find" Looks,
        Make = "make" Changes,
        Drop = "drop" Changes,
    }
}

impl ResourceType for AccessKey {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create | Work::Update { .. } => Stage::Find.step(),
            Work::Delete => Stage::Drop.step(),
            Work::Act(_) => PlainStage::Done.step(),
        }
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        match Stage::of(step) {
            Some(Stage::Find) => found(cloud, subject),
            Some(Stage::Make) => {
                let data = stack_user::make_key(cloud, subject)?;
                let physical_id = stack_user::access_key(subject);
                Ok(Beat::Done { learned: Learned { physical_id, data, ..Learned::default() } })
            }
            Some(Stage::Drop) => {
                stack_user::drop_key(cloud, subject)?;
                Ok(done())
            }
            None => Ok(done()),
        }
    }

    fn attributes(&self, at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, subject, .. } = at;
        let names = declared.declaration().attributes.keys();
        let shown = names.filter(|name| wanted.is_empty() || wanted.contains(name)).map(|name| {
            let value = match name.as_str() {
                "SecretAccessKey" => subject.data.get(SECRET_KEY).cloned(),
                name => subject.properties.get(name).cloned(),
            };
            (name.clone(), value.unwrap_or_else(|| LOST.into()))
        });
        Ok(shown.collect())
    }
}

/// The user is there, and the key is on record before he is given it.
fn found(cloud: &Asks<'_>, subject: &Subject) -> Result<Beat, Failure> {
    let name = subject.properties.get("UserName").and_then(Value::as_str).unwrap_or_default();
    let known = cloud.neighbor(NeighborKnown::Reference(name.to_owned()))?;
    let user = known.and_then(|known| known.user);
    let (user, project) =
        user.ok_or_else(|| Failure::NotFound(format!("could not find user {name}")))?;
    let data = stack_user::key_for(cloud, user, project)?;
    let learned = Learned { data, ..Learned::default() };
    Ok(Beat::Next { learned, next: Stage::Make.step() })
}
