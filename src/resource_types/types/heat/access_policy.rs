//! OS::Heat::AccessPolicy, whose properties are all there is.

use serde_json::Value;

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::resource_types::declared::{Declared, PlainStage};
use crate::resource_types::job::{Subject, Work};
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::Stages;

pub(crate) struct PropertiesAlone;

impl ResourceType for PropertiesAlone {
    fn first(&self, _declared: &Declared, _work: &Work, _subject: &Subject) -> Step {
        PlainStage::Done.step()
    }

    fn admits<'a>(&self, properties: &'a JsonMap) -> Option<&'a [Value]> {
        properties.get("AllowedResources")?.as_array().map(Vec::as_slice)
    }
}
