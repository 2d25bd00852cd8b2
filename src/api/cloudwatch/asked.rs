//! Parameters as CloudWatch has them: lists, dimensions, times and numbers.

use std::collections::BTreeMap;
use std::str::FromStr;

use chrono::{DateTime, NaiveDateTime, Utc};
use serde_json::{Value, json};

use crate::api::cfn::asked::Asked;
use crate::api::cfn::fault::{CfnFault, INVALID_VALUE};
use crate::events::alarm::DIMENSIONS_MAX;

/// How many members a list may have: as many as Amazon takes `Values` of a datum.
const MEMBERS_MAX: usize = 150;

/// How many of a list are given at a time, and the most that may be asked for.
pub(super) const PAGE_MAX: usize = 100;

pub(super) fn wrong(what: &str) -> CfnFault {
    CfnFault::new(INVALID_VALUE, what)
}

/// The members of a list, in the order of their numbers.
pub(super) fn list(asked: &Asked, name: &str) -> Result<Vec<String>, CfnFault> {
    let members = asked.members(name);
    match members.len() <= MEMBERS_MAX {
        true => Ok(members),
        false => Err(wrong(name)),
    }
}

/// Dimensions, whose list stands below a name.
pub(super) fn dimensions(
    asked: &Asked,
    within: &str,
) -> Result<BTreeMap<String, String>, CfnFault> {
    let list = format!("{within}Dimensions");
    let pairs = asked.pairs(&list, "Name", "Value");
    match pairs.len() <= DIMENSIONS_MAX {
        true => Ok(pairs.into_iter().collect()),
        false => Err(wrong(&list)),
    }
}

/// Dimensions as they are shown.
pub(super) fn shown(dimensions: &BTreeMap<String, String>) -> Vec<Value> {
    dimensions.iter().map(|(name, value)| json!({ "Name": name, "Value": value })).collect()
}

/// A number, where it is given.
pub(super) fn number<T: FromStr>(asked: &Asked, name: &str) -> Result<Option<T>, CfnFault> {
    let given = asked.param(name).filter(|text| !text.is_empty());
    given.map(|text| text.parse().map_err(|_| wrong(name))).transpose()
}

/// A time, where it is given.
pub(super) fn time(asked: &Asked, name: &str) -> Result<Option<DateTime<Utc>>, CfnFault> {
    let given = asked.param(name).filter(|text| !text.is_empty());
    let read = |text: &str| {
        let read = DateTime::parse_from_rfc3339(text).map(|at| at.with_timezone(&Utc));
        read.or_else(|_| {
            NaiveDateTime::parse_from_str(text, "%Y-%m-%dT%H:%M:%S%.f").map(|at| at.and_utc())
        })
    };
    given.map(|text| read(text).map_err(|_| wrong(name))).transpose()
}

/// How much is asked for at a time; with none, the other.
pub(super) fn page(asked: &Asked, otherwise: usize) -> Result<usize, CfnFault> {
    match number::<usize>(asked, "MaxRecords")? {
        None => Ok(otherwise),
        Some(count) if (1..=PAGE_MAX).contains(&count) => Ok(count),
        Some(_) => Err(wrong("MaxRecords")),
    }
}
