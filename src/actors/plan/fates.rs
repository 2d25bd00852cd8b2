//! What a plan says of a resource and of the stack that stands for it, and what it is to be.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Change;
use crate::actors::previewed::{Difference, FarAsk, PreviewWithin, PreviewedResource};
use crate::actors::resource::{Resource, Verdict};
use crate::events::resource::Definition;
use crate::model::JsonMap;
use crate::model::taint::{masked, plain};
use crate::template::{TemplateError, hold, json_size};

/// What becomes of a resource, and what others get of it.
pub(super) struct Outlook {
    /// What becomes of it at most.
    pub(super) most: Change,
    /// What it is to be, with what there is now in the place of what is not known.
    pub(super) definition: Definition,
    pub(super) reference: Value,
    /// Whether the reference is that, or surely another than now.
    pub(super) is_reference_sure: bool,
    /// Whether the reference stands for one that the cloud has yet to give.
    pub(super) is_made_up: bool,
    pub(super) entry: PreviewedResource,
}

/// What a resource is to be, as far as that is known.
pub(super) struct Wanted {
    pub(super) definition: Definition,
    /// The properties whose values are not known.
    pub(super) unsure: BTreeSet<String>,
    /// The settings of which that is so, by the template's words.
    pub(super) unsure_settings: Vec<&'static str>,
    /// The properties that are surely others, and of which no more is known.
    pub(super) made_up: BTreeSet<String>,
    /// Why it cannot be resolved, come what may.
    pub(super) refused: Option<String>,
}

impl Wanted {
    pub(super) fn is_sure(&self) -> bool {
        self.unsure.is_empty() && self.unsure_settings.is_empty()
    }

    /// The properties that differ from others: those that have changed, or all, and those that are
    /// not known.
    pub(super) fn differences(
        &self,
        former: &JsonMap,
        changed: Option<&BTreeSet<String>>,
    ) -> Result<Vec<Difference>, TemplateError> {
        let properties = &self.definition.properties;
        let is_told = |name: &str| changed.is_none_or(|changed| changed.contains(name));
        let told = properties.keys().chain(former.keys()).filter(|name| is_told(name));
        let names: BTreeSet<&String> = told.chain(&self.unsure).collect();
        let shown = |of: &JsonMap, name: &String| of.get(name).map(masked).unwrap_or_default();
        let of_new = |value: &Value| value.to_string().contains(NEW_ID);
        let is_known = |name: &String| {
            !self.unsure.contains(name)
                && !self.made_up.contains(name)
                && !properties.get(name).is_some_and(of_new)
        };
        let differences = names.into_iter().map(|name| Difference {
            name: name.clone(),
            old: shown(former, name),
            new: is_known(name).then(|| shown(properties, name)),
        });
        let differences: Vec<Difference> = differences.collect();
        let bytes = |it: &Difference| json_size(&it.old) + it.new.as_ref().map_or(0, json_size);
        hold(differences.iter().map(bytes).sum())?;
        Ok(differences)
    }

    /// What it comes to where all that is not known stays as it is.
    pub(super) fn at_least(&self, former: &Definition) -> Definition {
        let mut definition = self.definition.clone();
        if self.is_sure() {
            return definition;
        }
        // How it is written counts for what has a value alone.
        definition.written = former.written.clone();
        for name in &self.unsure {
            match former.properties.get(name) {
                Some(value) => drop(definition.properties.insert(name.clone(), value.clone())),
                None => drop(definition.properties.shift_remove(name)),
            }
        }
        for setting in &self.unsure_settings {
            match *setting {
                METADATA => definition.metadata = former.metadata.clone(),
                _ => definition.update_policy = former.update_policy.clone(),
            }
        }
        definition
    }
}

/// What the cloud will call what is made anew: surely not what it calls anything now.
pub(super) const NEW_ID: &str = "00000000-0000-0000-0000-000000000000";

pub(super) const METADATA: &str = "metadata";

/// What a look at its child stack adds to the verdict on a resource.
pub(super) struct Child {
    pub(super) most: Change,
    pub(super) within: Vec<PreviewWithin>,
    /// What the child leads to.
    pub(super) why: Option<String>,
    /// What is asked where the child stands, if it is not here.
    pub(super) far: Option<FarAsk>,
}

impl Child {
    pub(super) fn none(verdict: &Verdict) -> Self {
        Self { most: change_of(verdict), within: Vec::new(), why: None, far: None }
    }

    pub(super) fn because(most: Change, why: &str) -> Self {
        Self { most, within: Vec::new(), why: Some(why.to_owned()), far: None }
    }
}

/// What a resource was made of; what it was to be made of, where that failed.
pub(super) fn as_made(resource: &Resource) -> Definition {
    let made = resource.definition.as_ref().or(resource.target.as_deref());
    made.cloned().unwrap_or_default()
}

/// The properties that a change to `wanted` starts from: as they were reached, but those that are as
/// wanted there as a failed update tried them, for the cloud may have that.
pub(super) fn properties_before(resource: &Resource, wanted: &Definition) -> JsonMap {
    let mut before = as_made(resource).properties;
    let value = |of: &JsonMap, name: &String| of.get(name).cloned().map(plain);
    for tried in [&resource.attempted, &resource.target].into_iter().flatten() {
        for name in wanted.properties.keys().chain(tried.properties.keys()) {
            let as_wanted = value(&wanted.properties, name);
            if value(&before, name) == as_wanted && value(&tried.properties, name) != as_wanted {
                match tried.properties.get(name) {
                    Some(tried) => before.insert(name.clone(), tried.clone()),
                    None => before.shift_remove(name),
                };
            }
        }
    }
    before
}

/// What a verdict announces, before a child stack was looked at.
pub(super) fn change_of(verdict: &Verdict) -> Change {
    match verdict {
        Verdict::Left | Verdict::Mended | Verdict::SeeChild | Verdict::SeeFailed => {
            Change::Unchanged
        }
        Verdict::Updated
        | Verdict::Restricted(_)
        | Verdict::Refused(_)
        | Verdict::Unsupported(_) => Change::Updated,
        Verdict::Replaced(_) => Change::Replaced,
    }
}
