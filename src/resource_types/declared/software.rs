//! Software configurations that Hearth keeps to be deployed. The id of the resource is that of the
//! configuration, so that making it twice makes one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Beating, Declared, PlainStage, done, shape};
use crate::events::resource::Step;
use crate::model::{ConfigId, JsonMap};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::mime::{Part, message, parts_of};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::software::{ConfigContent, SoftwareConfig, read_io};
use crate::resource_types::stage::Stages;
use crate::template::yaml_text;

/// The parts of a configuration, each a template of the properties.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Configured {
    /// The tool that applies it.
    group: Value,
    config: Value,
    #[serde(default, rename = "as")]
    form: Form,
    #[serde(default)]
    inputs: Value,
    #[serde(default)]
    outputs: Value,
    #[serde(default)]
    options: Value,
}

impl Configured {
    /// All of them, with their keys.
    pub(super) fn parts(&self) -> [(&'static str, &Value); 5] {
        [
            ("group", &self.group),
            ("config", &self.config),
            ("inputs", &self.inputs),
            ("outputs", &self.outputs),
            ("options", &self.options),
        ]
    }
}

/// What the configuration is.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    /// The value that its template comes to.
    #[default]
    Value,
    /// A text for cloud-init, of a map.
    CloudConfig,
    /// A MIME message, of a list of parts with `config`, `type`, `subtype` and `filename`.
    Multipart,
}

/// The program of a type whose resources are configurations.
pub(super) struct Kept(pub(super) Configured);

impl Kept {
    /// The configuration that the properties describe.
    fn config(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<SoftwareConfig, Failure> {
        let properties = Value::Object(declared.properties(&subject.properties));
        let part = |of: &Value| shape::filled(of, &properties).unwrap_or_default();
        let config = part(&self.0.config);
        let config = match self.0.form {
            Form::Value => config,
            Form::CloudConfig => format!("#cloud-config\n{}", yaml_text(&sorted(config))).into(),
            Form::Multipart => joined(cloud, subject, &config)?.into(),
        };
        let options = part(&self.0.options);
        Ok(SoftwareConfig {
            name: Some(subject.physical_name.clone()),
            group: part(&self.0.group).as_str().map(str::to_owned),
            content: ConfigContent {
                config,
                inputs: read_io(&part(&self.0.inputs), true)?,
                outputs: read_io(&part(&self.0.outputs), false)?,
                options: if options.is_null() { json!({}) } else { options },
            },
        })
    }
}

/// Maps by their keys, as Heat writes them.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<String, Value> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// The message of a list of parts. The id of a configuration stands for its text.
fn joined(cloud: &Asks<'_>, subject: &Subject, parts: &Value) -> Result<String, Failure> {
    let software = cloud.software(&subject.project());
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
    message(&read, digits).map_err(|error| Failure::Invalid(error.to_string()))
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
        let software = cloud.software(&subject.project());
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

    /// What of the configuration is shown.
    fn attributes(&self, at: At<'_>, _wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, cloud, subject } = at;
        let Some(id) = &subject.physical_id else { return Ok(JsonMap::new()) };
        let shown = match cloud.software(&subject.project()).config(id) {
            Ok(kept) => json!({ "config": kept.content.config }),
            Err(refusal) if refusal.class == "NotFound" => Value::Null,
            Err(refusal) => return Err(refusal.into()),
        };
        let names = declared.declaration().attributes.keys();
        let value =
            |name: &String| Ok((name.clone(), declared.attribute(cloud, subject, &shown, name)?));
        names.map(value).collect()
    }
}
