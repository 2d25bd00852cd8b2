//! Suspend and resume: asked for unless it is so already, then waited for.

use serde_json::json;

use super::Stage;
use super::{TRANSIENT, action, poll, status};
use crate::events::resource::Step;
use crate::model::Action;
use crate::resource_types::declared::{Beating, done, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned};
use crate::resource_types::stage::Stages;

/// The step that the action begins with.
pub(super) fn first(action: Action) -> Step {
    match action {
        Action::Suspend => Stage::Suspend.step(),
        _ => Stage::Resume.step(),
    }
}

/// One beat.
pub(super) fn beat(beating: &Beating<'_>) -> Result<Beat, Failure> {
    let Beating { cloud, subject, step, .. } = *beating;
    let stage = Stage::of(step);
    let suspends = matches!(stage, Some(Stage::Suspend | Stage::Suspended));
    let (verb, noun, end) = match suspends {
        true => ("suspend", "Suspend", "SUSPENDED"),
        false => ("resume", "Resume", "ACTIVE"),
    };
    let Some(id) = &subject.physical_id else {
        let name = subject.name.as_ref().map_or("", |name| name.as_str());
        return Err(Failure::Failed(format!("Cannot {verb} {name}, resource_id not set")));
    };
    let asks = matches!(stage, Some(Stage::Suspend | Stage::Resume));
    let server = match poll(cloud, subject) {
        Ok(Some(server)) => server,
        Ok(None) => return Ok(Beat::Wait { after: None }),
        Err(error) if asks && error.is_not_found() => {
            return Err(Failure::NotFound(format!("Failed to find server {id}")));
        }
        Err(error) => return Err(error),
    };
    let now = status(&server);
    if now == end {
        return Ok(done());
    }
    if !asks {
        return match now == "ACTIVE" || TRANSIENT.contains(&now) {
            true => Ok(Beat::Wait { after: None }),
            false => {
                let name = server["name"].as_str().unwrap_or_default();
                Err(Failure::unknown_status(format!("{noun} of server {name} failed"), now))
            }
        };
    }
    let under_way = !server["OS-EXT-STS:task_state"].is_null();
    if !(beating.is_unanswered() && under_way) {
        cloud.send(action(subject, json!({ verb: null })))?;
    }
    let waits = if suspends { Stage::Suspended } else { Stage::Resumed };
    Ok(next(Learned::default(), waits.step()))
}
