//! OS::Nova::Flavor: extra specs and the projects with access are objects of their own.

use serde_json::{Value, json};

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Method, Request, Service, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, Progress, Special, done, next};
use crate::resource_types::driver::{Beat, DriverError, Learned, Subject, Work};

pub(crate) struct Flavor;

impl Special for Flavor {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Update { .. } => Progress::default().change("extra_specs"),
            Work::Create | Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, DriverError> {
        let Beating { cloud, subject, step, .. } = *beating;
        // A flavor that was just made has nothing yet.
        let is_fresh = *beating.work == Work::Create && !beating.is_unanswered();
        match step.name.as_str() {
            "create" => match declared.plain_beat(beating)? {
                Beat::Done { learned } => {
                    Ok(next(learned, Progress::default().change("extra_specs")))
                }
                other => Ok(other),
            },
            "extra_specs" => {
                extra_specs(cloud, subject, is_fresh)?;
                Ok(next(Learned::default(), Progress::default().change("tenants")))
            }
            "tenants" => {
                let properties = declared.properties(&subject.properties);
                let properties = declared.declaration().resolved(cloud, properties)?;
                if properties.get("is_public") == Some(&Value::Bool(false)) {
                    tenants(cloud, subject, &properties, is_fresh)?;
                }
                Ok(done())
            }
            _ => declared.plain_beat(beating),
        }
    }

    fn attribute(
        &self,
        _declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
        object: &Value,
        name: &str,
    ) -> Result<Option<Value>, DriverError> {
        match name {
            "is_public" => Ok(Some(object["os-flavor-access:is_public"].clone())),
            "extra_specs" => Ok(Some(live_specs(cloud, subject)?)),
            _ => Ok(None),
        }
    }

    fn observes(&self, _subject: &Subject, name: &str, _update_allowed: bool) -> bool {
        name == "extra_specs"
    }

    fn object(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
    ) -> Result<Option<Value>, DriverError> {
        match declared.look(cloud, subject)? {
            Some(_) => Ok(Some(json!({ "extra_specs": live_specs(cloud, subject)? }))),
            None => Ok(None),
        }
    }
}

fn path(subject: &Subject, rest: &str) -> String {
    format!("/flavors/{}/{rest}", path_segment(subject.physical_id.as_deref().unwrap_or_default()))
}

fn live_specs(cloud: &Asks<'_>, subject: &Subject) -> Result<Value, DriverError> {
    let request = Request::get(Service::Compute, path(subject, "os-extra_specs"));
    Ok(cloud.send(request)?.json()?["extra_specs"].take())
}

/// Makes the live specs those of the property.
fn extra_specs(cloud: &Asks<'_>, subject: &Subject, is_fresh: bool) -> Result<(), DriverError> {
    let empty = JsonMap::new();
    let wanted = subject.properties.get("extra_specs").and_then(Value::as_object).unwrap_or(&empty);
    let live = if is_fresh { json!({}) } else { live_specs(cloud, subject)? };
    for key in live.as_object().into_iter().flat_map(JsonMap::keys) {
        if !wanted.contains_key(key) {
            let path = path(subject, &format!("os-extra_specs/{}", path_segment(key)));
            cloud.send(Request::delete(Service::Compute, path))?;
        }
    }
    if wanted.is_empty() || live.as_object() == Some(wanted) {
        return Ok(());
    }
    let request = Request::post(Service::Compute, path(subject, "os-extra_specs"))
        .json(json!({ "extra_specs": wanted }));
    cloud.send(request)?;
    Ok(())
}

/// Gives access to the projects of the property, or to the stack's own.
fn tenants(
    cloud: &Asks<'_>,
    subject: &Subject,
    properties: &JsonMap,
    is_fresh: bool,
) -> Result<(), DriverError> {
    let listed = properties.get("tenants").and_then(Value::as_array);
    let mut wanted: Vec<&str> = listed.into_iter().flatten().filter_map(Value::as_str).collect();
    let own = cloud.project_id()?;
    if wanted.is_empty() {
        wanted.push(own.as_str());
    }
    let request = Request::get(Service::Compute, path(subject, "os-flavor-access"));
    let body = if is_fresh { Value::Null } else { cloud.send(request)?.json()? };
    let access = body["flavor_access"].as_array().map_or(&[][..], Vec::as_slice);
    let live: Vec<&str> = access.iter().filter_map(|access| access["tenant_id"].as_str()).collect();
    let surplus = live.iter().filter(|live| !wanted.contains(live));
    let missing = wanted.iter().filter(|wanted| !live.contains(wanted));
    let actions = surplus
        .map(|tenant| ("removeTenantAccess", tenant))
        .chain(missing.map(|tenant| ("addTenantAccess", tenant)));
    for (action, tenant) in actions {
        let request = Request::new(Method::Post, Service::Compute, path(subject, "action"))
            .json(json!({ action: { "tenant": tenant } }));
        match cloud.send(request) {
            Ok(_) => {}
            // Nova's answer where the access is as wanted already.
            Err(error) if error.is_conflict() || error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
