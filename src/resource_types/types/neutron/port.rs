//! OS::Neutron::Port: addresses that are explicitly none, names of security groups, a policy that
//! replaces the port with every update, a profile that Neutron writes in too, and addresses that a
//! replacement may ask for again.
//!
//! ```text
//! create: former ─▶ clear ─▶ create …       where it replaces another port
//! delete: … ─▶ restore ─▶ done              where that one may still be needed
//! ```

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::text;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Change, Learned, Subject, UpdateKind, Work};
use crate::resource_types::resource_type::{At, Purpose, ResourceType};
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct Port;

stages! {
    /// What a port does otherwise.
    enum Stage {
        Former = "former" Looks,
        Clear = "clear" Changes,
        Update = "update" Changes,
        Restore = "restore" Changes,
    }
}

/// Whether an update takes the security groups away.
fn loses_groups(work: &Work, subject: &Subject) -> bool {
    let Work::Update { changed, .. } = work else { return false };
    let groups = subject.properties.get("security_groups");
    changed.contains("security_groups") && groups.is_none_or(Value::is_null)
}

/// What is said of how the port is bound, in `value_specs`.
const PROFILE: &str = "binding:profile";

fn profile(properties: &JsonMap) -> Option<&JsonMap> {
    properties.get("value_specs")?.get(PROFILE)?.as_object()
}

/// The profile to be sent: as it is now, with the keys that the update sets or takes away. Neutron
/// has keys of its own in it. `None`: it is sent as it is given.
fn merged_profile(
    cloud: &Asks<'_>,
    work: &Work,
    subject: &Subject,
) -> Result<Option<JsonMap>, Failure> {
    let Work::Update { before, .. } = work else { return Ok(None) };
    let (former, wanted) = (profile(before), profile(&subject.properties));
    let Some(wanted) = wanted.filter(|_| wanted != former) else { return Ok(None) };
    let id = subject.physical_id.as_deref().unwrap_or_default();
    let shown = cloud.send(Request::get(Service::Network, port_path(id)))?.json()?;
    // Whoever may not see it has no way to keep what is in it.
    let Some(live) = shown["port"][PROFILE].as_object() else { return Ok(None) };
    let mut merged = live.clone();
    for (key, value) in wanted {
        match former.and_then(|former| former.get(key)) == Some(value) {
            true => {}
            false if value.is_null() => drop(merged.shift_remove(key)),
            false => drop(merged.insert(key.clone(), value.clone())),
        }
    }
    Ok(Some(merged))
}

/// Resource data: the addresses that were taken from the ports that it replaces, by their ids.
const FORMER: &str = "former_addresses";

impl ResourceType for Port {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create if !subject.replaces.is_empty() => Stage::Former.step(),
            _ => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        match Stage::of(step) {
            Some(Stage::Former) => {
                let mut former = JsonMap::new();
                for id in &subject.replaces {
                    former.extend(addresses(cloud, id)?.map(|ips| (id.clone(), ips)));
                }
                let following = match former.is_empty() {
                    true => declared.creation(subject),
                    false => Stage::Clear.step(),
                };
                Ok(next(remembered(former), following))
            }
            Some(Stage::Clear) => {
                for (id, _) in former(subject) {
                    match cloud.send(readdressed(id, &json!([]))) {
                        Ok(_) => {}
                        Err(error) if error.is_not_found() => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(next(Learned::default(), declared.creation(subject)))
            }
            Some(Stage::Restore) => {
                for (id, addresses) in former(subject) {
                    match cloud.send(readdressed(id, addresses)) {
                        Ok(_) => {}
                        // It went as well, or somebody else has its addresses by now.
                        Err(error) if matches!(error.status(), Some(400 | 404 | 409)) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
                Ok(Beat::Done { learned: remembered(JsonMap::new()) })
            }
            Some(Stage::Update) => {
                let mut subject = subject.clone();
                // As at its creation, a port without a word on them has the default group.
                if loses_groups(work, &subject) {
                    subject.properties.insert("security_groups".to_owned(), json!(["default"]));
                }
                if let Some(profile) = merged_profile(cloud, work, &subject)?
                    && let Some(specs) = subject.properties.get_mut("value_specs")
                {
                    specs[PROFILE] = Value::Object(profile);
                }
                declared.plain_beat(&Beating { subject: &subject, ..*beating })
            }
            _ => match declared.plain_beat(beating)? {
                Beat::Done { learned }
                    if *work == Work::Delete && former(subject).next().is_some() =>
                {
                    Ok(next(learned, Stage::Restore.step()))
                }
                beat => Ok(beat),
            },
        }
    }

    fn body(&self, purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        if body.shift_remove("no_fixed_ips") == Some(Value::Bool(true)) {
            body.insert("fixed_ips".into(), json!([]));
        }
        if let Some(pairs @ Value::Null) = body.get_mut("allowed_address_pairs") {
            *pairs = json!([]);
        }
        if purpose == Purpose::Update && body.get("fixed_ips") == Some(&Value::Null) {
            body.shift_remove("fixed_ips");
        }
    }

    fn on_change(&self, declared: &Declared, change: Change<'_>) -> UpdateKind {
        let Change { subject, changed, .. } = change;
        if text(&subject.properties, "replacement_policy") == Some("REPLACE_ALWAYS") {
            return declared.replaced_by_class(subject);
        }
        declared.plain_on_change(subject, changed)
    }

    /// The device is whoever uses the port, unless the template says it.
    fn observes(&self, subject: &Subject, name: &str, update_allowed: bool) -> bool {
        let by_default =
            matches!(name, "device_id" | "device_owner") && !subject.properties.contains_key(name);
        update_allowed && !by_default
    }

    /// Of the profile that is compared which the template speaks of.
    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let mut live = at.declared.plain_live(object, name, wanted);
        let own = wanted.get(PROFILE).and_then(Value::as_object);
        if let Some(own) = own
            && let Some(profile) = live.as_mut().and_then(|live| live.get_mut(PROFILE))
            && let Some(profile) = profile.as_object_mut()
        {
            profile.retain(|key, _| own.contains_key(key));
        }
        Ok(live)
    }

    fn attribute(&self, at: At<'_>, object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { cloud, .. } = at;
        match name {
            "network" => {
                let id = object["network_id"].as_str().unwrap_or_default();
                Ok(Some(shown(cloud, "/v2.0/networks", id, "network")?))
            }
            "subnets" => {
                let mut subnets = Vec::new();
                for address in object["fixed_ips"].as_array().into_iter().flatten() {
                    if let Some(id) = address["subnet_id"].as_str() {
                        subnets.push(shown(cloud, "/v2.0/subnets", id, "subnet")?);
                    }
                }
                Ok(Some(subnets.into()))
            }
            _ => Ok(None),
        }
    }
}

fn former(subject: &Subject) -> impl Iterator<Item = (&String, &Value)> {
    subject.data.get(FORMER).and_then(Value::as_object).into_iter().flatten()
}

fn remembered(former: JsonMap) -> Learned {
    let former = if former.is_empty() { Value::Null } else { Value::Object(former) };
    Learned { data: BTreeMap::from([(FORMER.to_owned(), former)]), ..Learned::default() }
}

/// The addresses of a port; none where it has none, or is gone.
fn addresses(cloud: &Asks<'_>, id: &str) -> Result<Option<Value>, Failure> {
    match cloud.send(Request::get(Service::Network, port_path(id))) {
        Ok(response) => {
            let addresses = response.json()?["port"]["fixed_ips"].take();
            Ok(Some(addresses).filter(|all| all.as_array().is_some_and(|all| !all.is_empty())))
        }
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn readdressed(id: &str, addresses: &Value) -> Request {
    let body = json!({ "port": { "fixed_ips": addresses } });
    Request::put(Service::Network, port_path(id)).json(body)
}

fn port_path(id: &str) -> String {
    format!("/v2.0/ports/{}", path_segment(id))
}

fn shown(cloud: &Asks<'_>, path: &str, id: &str, wrap: &str) -> Result<Value, Failure> {
    let request = Request::get(Service::Network, format!("{path}/{}", path_segment(id)));
    Ok(cloud.send(request)?.json()?[wrap].take())
}
