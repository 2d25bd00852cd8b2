//! OS::Designate::Zone: of a zone that is transferred from elsewhere Designate takes no mail address
//! and no TTL.

use crate::model::JsonMap;
use crate::resource_types::job::Subject;
use crate::resource_types::resource_type::{Purpose, ResourceType};

pub(in crate::resource_types::types) struct Zone;

impl ResourceType for Zone {
    fn body(&self, purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        if purpose == Purpose::Create && body.get("type").is_some_and(|it| it == "SECONDARY") {
            body.retain(|name, _| !["email", "ttl"].contains(&name.as_str()));
        }
    }
}
