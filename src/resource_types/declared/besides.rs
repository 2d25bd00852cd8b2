//! Calls besides those that make, show, change and remove the object.

use serde::Deserialize;
use serde_json::Value;

use super::calls::named;
use crate::openstack::Method;

/// A call besides, most often for one property.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PropertyCall {
    /// The property: the call is made when it is set, or changed; without one it is made always.
    #[serde(default)]
    pub for_property: Option<String>,
    #[serde(default)]
    pub get: Option<String>,
    #[serde(default)]
    pub post: Option<String>,
    #[serde(default)]
    pub put: Option<String>,
    #[serde(default)]
    pub patch: Option<String>,
    #[serde(default)]
    pub delete: Option<String>,
    #[serde(default)]
    pub microversion: Option<String>,
    /// The body; the text `{property}` alone stands for the property's value.
    #[serde(default)]
    pub body: Option<Value>,
    /// What stands for an unset property.
    #[serde(default)]
    pub unset: Value,
    /// In which actions.
    #[serde(default = "create_and_update")]
    pub when: Vec<Moment>,
    /// That it waits until the object is ready.
    #[serde(default)]
    pub after: Option<Behind>,
}

impl PropertyCall {
    /// The method and the path.
    pub(super) fn parts(&self) -> Option<(Method, &str)> {
        named([
            (Method::Get, &self.get),
            (Method::Post, &self.post),
            (Method::Put, &self.put),
            (Method::Patch, &self.patch),
            (Method::Delete, &self.delete),
        ])
    }
}

/// An action that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    Create,
    Update,
    Delete,
    Suspend,
    Resume,
}

/// What a call waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behind {
    Ready,
}

fn create_and_update() -> Vec<Moment> {
    vec![Moment::Create, Moment::Update]
}
