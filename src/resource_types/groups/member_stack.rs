//! What a group knows of itself and of the stack of its members when it decides.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::Value;

use super::members::Member;
use super::outputs::{Language, Read};
use crate::model::{JsonMap, Refusal};
use crate::resource_types::failure::Failure;
use crate::resource_types::too_many_resources;
use crate::template::json_size;

/// A group as its type's rules see it.
pub(crate) struct Group<'a> {
    pub(crate) name: &'a str,
    /// With defaults.
    pub(crate) properties: &'a JsonMap,
    /// With defaults.
    pub(crate) update_policy: &'a JsonMap,
    pub(crate) data: &'a BTreeMap<String, Value>,
    /// The attributes that the group's template reads.
    pub(crate) reads: &'a [Read],
    /// The stack of the members, once there is one.
    pub(crate) stack: Option<&'a MemberStack>,
}

/// The stack of a group's members.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberStack {
    pub(crate) template: Value,
    /// In the order of `sort`.
    pub(crate) members: Vec<MemberState>,
}

/// How a member stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct MemberState {
    pub(crate) name: String,
    pub(crate) failed: bool,
    pub(crate) created_at: DateTime<Utc>,
    /// What `get_resource` gives for it.
    pub(crate) reference: Option<Value>,
}

impl MemberStack {
    /// The failed ones first, then the oldest, then by name: the order in which members go.
    pub(crate) fn new(template: Value, mut members: Vec<MemberState>) -> Self {
        members.sort_by(|one, other| {
            let key = |it: &MemberState| (!it.failed, it.created_at);
            key(one).cmp(&key(other)).then_with(|| one.name.cmp(&other.name))
        });
        Self { template, members }
    }

    /// How many members there are that did not fail.
    pub(crate) fn size(&self) -> usize {
        self.healthy().count()
    }

    /// The members that did not fail.
    pub(crate) fn healthy(&self) -> impl Iterator<Item = &MemberState> {
        self.members.iter().filter(|member| !member.failed)
    }

    /// The members as the template has them.
    pub(crate) fn defined<'a>(
        &'a self,
        language: Language,
        members: impl Iterator<Item = &'a MemberState>,
    ) -> Vec<Member> {
        let Some(definitions) = language.members(&self.template) else { return Vec::new() };
        let member = |state: &MemberState| {
            let definition = definitions.get(&state.name)?.clone();
            Some(Member { name: state.name.clone(), definition })
        };
        members.filter_map(member).collect()
    }
}

/// How many members a group may have, whatever the service allows its stacks.
pub(crate) const MEMBERS_MAX: usize = 100_000;

/// A whole number among properties; zero where there is none. What is more than a group may have
/// is just that much more.
pub(crate) fn count(properties: &JsonMap, name: &str) -> usize {
    let number = properties.get(name).and_then(Value::as_f64).unwrap_or(0.0);
    // Beyond the bounds a cast gives the bound.
    (number as usize).min(MEMBERS_MAX + 1)
}

/// How many bytes the template of a group's members may have, as often as it says the same.
const MEMBERS_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Refuses a group that is too large to be made, before anything of it is: how many members there
/// is room for, and what of its properties each member says again.
pub(crate) fn check_size<'a>(
    size: usize,
    room: usize,
    said_again: impl IntoIterator<Item = &'a Value>,
) -> Result<(), Failure> {
    if size > MEMBERS_MAX.min(room) {
        return Err(Refusal::from(too_many_resources()).into());
    }
    let each: usize = said_again.into_iter().map(json_size).sum();
    let bytes = size.saturating_mul(each);
    if bytes > MEMBERS_BYTES_MAX {
        let text = format!(
            "Request limit exceeded: Template size ({bytes} bytes) exceeds maximum allowed size \
             ({MEMBERS_BYTES_MAX} bytes)."
        );
        return Err(Failure::TooMuch(text));
    }
    Ok(())
}

/// A map among properties, if it is there.
pub(crate) fn section<'a>(properties: &'a JsonMap, name: &str) -> Option<&'a JsonMap> {
    properties.get(name)?.as_object()
}
