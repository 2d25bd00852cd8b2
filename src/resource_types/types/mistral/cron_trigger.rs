//! A workflow is named by its id or by its name, and the body has a field for each.

use uuid::Uuid;

use crate::model::JsonMap;
use crate::resource_types::job::Subject;
use crate::resource_types::resource_type::{Purpose, ResourceType};

pub(in crate::resource_types::types) struct CronTrigger;

impl ResourceType for CronTrigger {
    fn body(&self, _: Purpose, _: &Subject, body: &mut JsonMap) {
        let is_id = |text: &str| Uuid::try_parse(text).is_ok();
        if let Some(name) = body.shift_remove("workflow_id") {
            let field = match name.as_str().is_some_and(is_id) {
                true => "workflow_id",
                false => "workflow_name",
            };
            body.insert(field.to_owned(), name);
        }
    }
}
