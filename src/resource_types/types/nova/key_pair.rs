//! OS::Nova::KeyPair: found by its name; a generated private key is shown once and kept on request.

use serde_json::Value;

use super::text;
use crate::model::{JsonMap, Refusal};
use crate::openstack::{Method, Microversion, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, PlainStage, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject};
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::stage::Stages;

pub(crate) struct KeyPair;

/// From here on Nova generates no keys.
const PUBLIC_KEY_REQUIRED: Microversion = Microversion::new(2, 92);

impl ResourceType for KeyPair {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, subject, .. } = *beating;
        match PlainStage::of(beating.step) {
            Some(PlainStage::Create) => {
                if beating.is_unanswered()
                    && let Some(found) = adopt(declared, cloud, subject)?
                {
                    return Ok(found);
                }
                let request = declared.create_request(cloud, subject)?;
                match cloud.send(request) {
                    Ok(response) => {
                        let key_pair = declared.declaration().unwrapped(response.json()?);
                        let physical_id = declared.declaration().id_of(&key_pair);
                        let mut learned = Declared::made(subject, physical_id);
                        let keeps = subject.properties.get("save_private_key");
                        if keeps == Some(&Value::Bool(true))
                            && let Some(key) = key_pair.get("private_key")
                        {
                            learned.data.insert("private_key".into(), key.clone());
                        }
                        Ok(Beat::Done { learned })
                    }
                    Err(error) if error.is_conflict() => {
                        // Its predecessor has the name until it is deleted, so that goes first.
                        if cloud.shares(&named(subject))? {
                            remove(declared, cloud, subject)?;
                        }
                        beating.progress().again(cloud.now(), error.into(), |progress| {
                            progress.to(PlainStage::Create)
                        })
                    }
                    Err(error) => Err(error.into()),
                }
            }
            Some(PlainStage::Delete) => match &subject.physical_id {
                // The key pair of this name is its successor's by now.
                Some(id) if cloud.shares(id)? => Ok(done()),
                Some(_) | None => declared.plain_beat(beating),
            },
            _ => declared.plain_beat(beating),
        }
    }

    fn attribute(&self, at: At<'_>, _object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { subject, .. } = at;
        match name {
            "private_key" => {
                Ok(Some(subject.data.get("private_key").cloned().unwrap_or_else(|| "".into())))
            }
            "public_key" => Ok(text(&subject.properties, "public_key").map(Value::from)),
            _ => Ok(None),
        }
    }

    fn asked_of_cloud(&self, properties: &JsonMap) -> Option<JsonMap> {
        text(properties, "public_key").is_none().then(JsonMap::new)
    }

    fn validate_in_cloud(&self, cloud: &Asks<'_>, _asked: &JsonMap) -> Result<(), Refusal> {
        match cloud.microversion(&Service::Compute, Some(PUBLIC_KEY_REQUIRED)) {
            Ok(Some(agreed)) if agreed >= PUBLIC_KEY_REQUIRED => Err(Refusal::validation(
                "The public_key property is required by the nova API version currently used.",
            )),
            // An older Nova makes the key; one out of reach says so when it is called.
            Ok(_) | Err(_) => Ok(()),
        }
    }
}

fn named(subject: &Subject) -> String {
    text(&subject.properties, "name").unwrap_or(&subject.physical_name).to_owned()
}

fn remove(declared: &Declared, cloud: &Asks<'_>, subject: &Subject) -> Result<(), Failure> {
    let former = Subject { physical_id: Some(named(subject)), ..subject.clone() };
    let request = declared.request(cloud, Method::Delete, "/os-keypairs/{id}", &former, None)?;
    match cloud.send(request) {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The key pair of this name, if the lost call made it: the public key tells.
fn adopt(
    declared: &Declared,
    cloud: &Asks<'_>,
    subject: &Subject,
) -> Result<Option<Beat>, Failure> {
    let name = named(subject);
    if Declared::is_others(subject, &name) {
        return Ok(None);
    }
    let sought = Subject { physical_id: Some(name.clone()), ..subject.clone() };
    let Some(found) = declared.look(cloud, &sought)? else { return Ok(None) };
    match text(&subject.properties, "public_key") {
        Some(wanted) if found["public_key"].as_str().map(str::trim) == Some(wanted.trim()) => {
            // Its predecessor has the name until it is deleted.
            let is_handed_on = subject.replaces.contains(&name);
            if !is_handed_on && cloud.claim(vec![name.clone()], declared.is_named())?.is_none() {
                return Ok(None);
            }
            let learned = Declared::made(subject, Some(name));
            Ok(Some(Beat::Done { learned }))
        }
        // Another's key of the same name: the call says so.
        Some(_) => Ok(None),
        // A key that Nova generated is useless without the answer that had it.
        None => Ok(None),
    }
}
