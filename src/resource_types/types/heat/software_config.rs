//! OS::Heat::SoftwareConfig and its kin: configurations that Hearth keeps to be deployed. The id of
//! the resource is that of the configuration, so that making it twice makes one.

use serde::Deserialize;
use serde_json::{Value, json};

use super::multipart::{Part, message, parts_of};
use crate::events::resource::Step;
use crate::model::{ConfigId, JsonMap, ProjectId};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::software::{ConfigContent, SoftwareConfig, read_io};
use crate::resource_types::stage::Stages;
use crate::template::yaml_text;

/// The tool of a configuration that names none.
pub(super) const UNGROUPED: &str = "Heat::Ungrouped";

/// A type whose resources are configurations.
pub(crate) struct Kept(pub(crate) ConfigKind);

/// What is made of the properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConfigKind {
    /// What they say.
    Plain,
    /// A text for cloud-init, of a map.
    Cloud,
    /// Several configurations in one.
    Component,
    /// One message, of several texts.
    Multipart,
}

/// The message of a list of parts. The id of a configuration stands for its text.
fn joined(cloud: &Asks<'_>, subject: &Subject, parts: &Value) -> Result<String, Failure> {
    let software = cloud.software(&project(subject));
    let mut read = Vec::new();
    for item in parts.as_array().into_iter().flatten() {
        let text = |name: &str| item.get(name).map(python::text).unwrap_or_default();
        let mut content = text("config");
        if uuid::Uuid::try_parse(&content).is_ok() {
            match software.config(&content) {
                Ok(kept) => content = python::text(&kept.content.config),
                Err(refusal) if refusal.class == "NotFound" => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        let given = |name: &str| if item[name].is_null() { String::new() } else { text(name) };
        match item["type"] == "multipart" {
            true => read.extend(parts_of(&content)),
            false => read.push(Part {
                text: content,
                subtype: given("subtype"),
                filename: given("filename"),
            }),
        }
    }
    let digits = subject.resource_id.map_or(0, |id| id.0.as_u128());
    Ok(message(&read, digits))
}

impl Kept {
    /// The configuration that the properties describe.
    fn config(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<SoftwareConfig, Failure> {
        let given = declared.properties(&subject.properties);
        let property = |name: &str| given.get(name).cloned().unwrap_or_default();
        let (group, config) = match self.0 {
            ConfigKind::Plain => (property("group"), property("config")),
            ConfigKind::Cloud => {
                let text = yaml_text(&property("cloud_config"));
                (UNGROUPED.into(), format!("#cloud-config\n{text}").into())
            }
            ConfigKind::Multipart => {
                (property("group"), joined(cloud, subject, &property("parts"))?.into())
            }
            ConfigKind::Component => {
                ("component".into(), json!({ "configs": property("configs") }))
            }
        };
        let options = property("options");
        Ok(SoftwareConfig {
            name: Some(subject.physical_name.clone()),
            group: group.as_str().map(str::to_owned),
            content: ConfigContent {
                config,
                inputs: read_io(&property("inputs"), true)?,
                outputs: read_io(&property("outputs"), false)?,
                options: if options.is_null() { json!({}) } else { options },
            },
        })
    }
}

/// The project whose the resource is.
pub(super) fn project(subject: &Subject) -> ProjectId {
    subject.project_id.clone().unwrap_or_default()
}

impl ResourceType for Kept {
    fn first(&self, _declared: &Declared, work: &Work, _subject: &Subject) -> Step {
        match work {
            Work::Create => PlainStage::Create.step(),
            Work::Delete => PlainStage::Delete.step(),
            Work::Update { .. } | Work::Act(_) => PlainStage::Done.step(),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, step, .. } = *beating;
        let software = cloud.software(&project(subject));
        let id = ConfigId(subject.resource_id.unwrap_or_default().0);
        match PlainStage::of(step) {
            Some(PlainStage::Create) => {
                software.create_config(id, self.config(declared, cloud, subject)?)?;
                let physical_id = Some(id.to_string());
                Ok(Beat::Done { learned: Learned { physical_id, ..Learned::default() } })
            }
            Some(PlainStage::Delete) => {
                software.delete_config(id)?;
                Ok(done())
            }
            _ => Ok(done()),
        }
    }

    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { cloud, subject, .. } = at;
        let Some(id) = &subject.physical_id else { return Ok(JsonMap::new()) };
        let kept = cloud.software(&project(subject)).config(id);
        let config = match kept {
            Ok(kept) => kept.content.config,
            Err(refusal) if refusal.class == "NotFound" => Value::Null,
            Err(refusal) => return Err(refusal.into()),
        };
        let config = match self.0 {
            ConfigKind::Component => config.get("configs").cloned().unwrap_or_default(),
            ConfigKind::Plain | ConfigKind::Cloud | ConfigKind::Multipart => config,
        };
        Ok(JsonMap::from_iter([("config".to_owned(), config)]))
    }
}
