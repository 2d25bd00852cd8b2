//! OS::Designate::RecordSet: a name without a final dot stands in the zone.

use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::declared::{Beating, Declared, PlainStage};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Beat;
use crate::resource_types::python;
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::Stages;

pub(in crate::resource_types::types) struct RecordSet;

impl ResourceType for RecordSet {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let given = subject.properties.get("name").filter(|name| !name.is_null());
        let name = given.map_or_else(|| subject.physical_name.clone(), python::text);
        let stage = PlainStage::of(step);
        let makes = matches!(stage, Some(PlainStage::NoteOthers | PlainStage::Create));
        if !makes || name.ends_with('.') {
            return declared.plain_beat(beating);
        }
        let mut subject = declared.placed(cloud, subject)?.into_owned();
        let zone = declared.path_word(cloud, &subject, "zone")?;
        let request =
            Request::get(Service::of_type("dns"), format!("/v2/zones/{}", path_segment(&zone)));
        let zone = cloud.send(request)?.json()?;
        let name = format!("{name}.{}", zone["name"].as_str().unwrap_or_default());
        subject.properties.insert("name".to_owned(), name.into());
        declared.plain_beat(&Beating { subject: &subject, ..*beating })
    }
}
