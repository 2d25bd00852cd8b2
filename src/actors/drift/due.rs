//! Looks that nobody asks for: a stack's schedule has them made in the stack's own name, and what is
//! found goes on record.

use std::sync::Arc;

use super::{Found, LookedAt};
use crate::actors::engine::Engine;
use crate::actors::shell::Expected;
use crate::actors::stack::StackCommand;
use crate::events::Meta;
use crate::events::stack::{DriftLooked, FieldDrifted, ResourceDrifted};
use crate::model::{CommandId, Refusal, StackId, Status};

/// How many resources a look puts on record, how many properties of each, and how long a value may
/// be, as JSON.
const RESOURCES_MAX: usize = 100;
const PROPERTIES_MAX: usize = 20;
const VALUE_MAX_BYTES: usize = 512;

impl Engine {
    /// Compares a stack with what there is in the cloud, and puts on record what was found.
    pub async fn look_for_drift(&self, stack: StackId) -> Result<(), Refusal> {
        let missing = || Refusal::new("NotFound", format!("Stack with id {stack} not found"));
        let summary = self.summary_of(stack).await?.filter(|it| !it.deleted).ok_or_else(missing)?;
        if summary.status == Status::InProgress {
            return Err(Refusal::unavailable("The stack is at work."));
        }
        let credentials = &self.services.credentials;
        let (project, trustor, seen) = (&summary.project_id, &summary.trustor, summary.position);
        let session = credentials.session(&self.services, project, trustor).await;
        let session = session.map_err(|error| Refusal::unavailable(error.told()))?;
        let found = self.drift_within(&session, summary, String::new()).await?;
        let meta = Arc::new(Meta::of_command(CommandId(self.services.clock.fresh_id())));
        let looked = on_record(&found);
        let measures = &self.services.measures;
        let command = || StackCommand::DriftLooked(Box::new(looked.clone()));
        // What was changed meanwhile is no drift.
        let otherwise = Refusal::unavailable("The stack has been changed meanwhile.");
        let expected = vec![Expected { last: vec![seen], otherwise }];
        let ask = || measures.ask(command(), Arc::clone(&meta)).expecting(expected.clone());
        self.ask_of(stack, ask).await??;
        Ok(())
    }
}

/// What goes on record of a look: how many are as they should be, and what is not.
fn on_record(found: &[LookedAt]) -> DriftLooked {
    let mut looked = DriftLooked::default();
    for resource in found {
        let (drift, fields) = match &resource.found {
            Found::NotCompared => continue,
            Found::Same => {
                looked.same += 1;
                continue;
            }
            Found::Gone => ("gone", &[][..]),
            Found::Unknown(_) => ("unknown", &[][..]),
            Found::Differs(fields) => ("differs", &fields[..]),
        };
        if looked.resources.len() == RESOURCES_MAX {
            looked.more += 1;
            continue;
        }
        let fits = |value: &serde_json::Value| {
            let is_long = value.to_string().len() > VALUE_MAX_BYTES;
            (!is_long).then(|| value.clone())
        };
        let properties = fields.iter().take(PROPERTIES_MAX).map(|field| FieldDrifted {
            name: field.name.clone(),
            recorded: fits(&field.recorded),
            live: fits(&field.live),
        });
        looked.resources.push(ResourceDrifted {
            path: resource.path.clone(),
            type_name: resource.type_name.clone(),
            drift: drift.to_owned(),
            properties: properties.collect(),
        });
    }
    looked
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::FieldFound;
    use super::*;

    #[test]
    fn what_goes_on_record_is_bounded() {
        let found = |found| LookedAt {
            path: "a".to_owned(),
            type_name: "T".to_owned(),
            physical_id: None,
            found,
        };
        let field = |live: &str| FieldFound {
            name: "name".to_owned(),
            recorded: json!("own"),
            live: json!(live),
        };
        let differs = Found::Differs(vec![field(&"x".repeat(600)); 30]);
        let mut all = vec![found(Found::Same), found(Found::NotCompared)];
        all.extend(vec![found(differs); RESOURCES_MAX]);
        all.extend([found(Found::Gone), found(Found::Unknown("secret".to_owned()))]);
        let looked = on_record(&all);
        assert_eq!((looked.same, looked.more, looked.resources.len()), (1, 2, RESOURCES_MAX));
        let first = &looked.resources[0];
        assert_eq!((first.drift.as_str(), first.properties.len()), ("differs", PROPERTIES_MAX));
        assert_eq!(
            (&first.properties[0].recorded, &first.properties[0].live),
            (&Some(json!("own")), &None)
        );
        let short = on_record(&[found(Found::Differs(vec![field("theirs")]))]);
        assert_eq!(short.resources[0].properties[0].live, Some(json!("theirs")));
    }
}
