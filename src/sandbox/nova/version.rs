//! Microversions: what the client asks for, and what there is.

use std::fmt;

use serde_json::{Value, json};

use super::super::answer::{self, Answer};
use super::super::ask::Ask;

/// A microversion `2.x`: the x.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32);

const FIRST: Version = Version(1);
const LAST: Version = Version(93);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "2.{}", self.0)
    }
}

impl Version {
    /// The microversion that a request asks for; 2.1 if none.
    pub(super) fn of(ask: &Ask) -> Result<Version, Answer> {
        let modern = ask.header("openstack-api-version").and_then(|header| {
            header.split(',').find_map(|part| part.trim().strip_prefix("compute "))
        });
        let asked = modern.or_else(|| ask.header("x-openstack-nova-api-version"));
        let asked = match asked.map(str::trim) {
            None => return Ok(FIRST),
            Some("latest") => return Ok(LAST),
            Some(asked) => asked,
        };
        let minor = asked.strip_prefix("2.").and_then(|minor| minor.parse().ok());
        match minor.map(Version) {
            Some(version) if (FIRST..=LAST).contains(&version) => Ok(version),
            Some(_) => Err(answer::nova(
                406,
                format!(
                    "Version {asked} is not supported by the API. Minimum is {FIRST} and maximum is {LAST}."
                ),
            )),
            None => Err(answer::nova(
                400,
                format!(
                    "API Version String {asked} is of invalid format. Must be of format MajorNum.MinorNum."
                ),
            )),
        }
    }

    /// Since 2.75 a list refuses every query parameter that it does not know.
    pub(super) fn accept_only(self, ask: &Ask, known: &[&str]) -> Result<(), Answer> {
        let strange: Vec<String> = (ask.query.iter())
            .filter(|(name, _)| self >= Version(75) && !known.contains(&name.as_str()))
            .map(|(name, _)| format!("'{name}'"))
            .collect();
        let verb = match strange.len() {
            0 => return Ok(()),
            1 => "was",
            _ => "were",
        };
        let names = strange.join(", ");
        let said = format!("Additional properties are not allowed ({names} {verb} unexpected)");
        Err(answer::nova(400, said))
    }
}

pub(super) fn list(ask: &Ask) -> Answer {
    Answer::json(200, &json!({"versions": [entry(ask)]}))
}

pub(super) fn show(ask: &Ask) -> Answer {
    Answer::json(200, &json!({"version": entry(ask)}))
}

fn entry(ask: &Ask) -> Value {
    json!({
        "id": "v2.1",
        "status": "CURRENT",
        "version": LAST.to_string(),
        "min_version": FIRST.to_string(),
        "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": format!("{}/compute/v2.1/", ask.base)}],
        "media-types": [{
            "base": "application/json",
            "type": "application/vnd.openstack.compute+json;version=2.1",
        }],
    })
}
