//! OS::Neutron::ExtraRoute and its set. Neutron takes a route that a router has already without a
//! word, and it would go with the resource though somebody else made it: so it is looked first, and
//! as in Heat nothing is made of what is there.

use serde_json::Value;

use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::Method;
use crate::resource_types::declared::{Beating, Declared, PlainStage, next};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Learned, Subject, Work};
use crate::resource_types::resource_type::ResourceType;
use crate::resource_types::stage::Stages;

pub(in crate::resource_types::types) struct ExtraRoute;
pub(in crate::resource_types::types) struct ExtraRouteSet;

/// A destination and its next hop.
type Route<'a> = (&'a str, &'a str);

impl ResourceType for ExtraRoute {
    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if PlainStage::of(beating.step) != Some(PlainStage::NoteOthers) {
            return declared.plain_beat(beating);
        }
        let Beating { subject, .. } = *beating;
        let there = router(declared, beating, "/v2.0/routers/{router_id}")?;
        if routes(&there["router"]["routes"]).contains(&route(&subject.properties)) {
            return Err(Failure::Failed("Route duplicates an existing route.".to_owned()));
        }
        Ok(Declared::noted(subject, Vec::new(), PlainStage::Create.step()))
    }
}

impl ResourceType for ExtraRouteSet {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create => PlainStage::NoteOthers.step(),
            // What an update that failed has left is not known, and may be ours.
            Work::Update { changed, .. } if changed.contains("routes") && !subject.in_doubt => {
                PlainStage::NoteOthers.step()
            }
            Work::Update { .. } | Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if PlainStage::of(beating.step) != Some(PlainStage::NoteOthers) {
            return declared.plain_beat(beating);
        }
        let Beating { work, subject, .. } = *beating;
        let there = router(declared, beating, "/v2.0/routers/{router}")?;
        let there = routes(&there["router"]["routes"]);
        let former = match work {
            Work::Update { before, .. } => set(before),
            Work::Create | Work::Delete | Work::Act(_) => Vec::new(),
        };
        let wanted = set(&subject.properties);
        let mut new = wanted.iter().filter(|route| !former.contains(route));
        if let Some((destination, nexthop)) = new.find(|route| there.contains(route)) {
            let router = subject.properties.get("router").and_then(Value::as_str);
            let router = router.unwrap_or_default();
            return Err(Failure::StillThere(format!("{router},{destination}={nexthop}")));
        }
        Ok(next(Learned::default(), declared.first_step(work, subject)))
    }
}

/// The router as Neutron shows it.
fn router(declared: &Declared, beating: &Beating<'_>, path: &str) -> Result<Value, Failure> {
    let request = declared.request(beating.cloud, Method::Get, path, beating.subject, None)?;
    Ok(beating.cloud.send(request)?.json()?)
}

fn routes(list: &Value) -> Vec<Route<'_>> {
    list.as_array().into_iter().flatten().filter_map(Value::as_object).map(route).collect()
}

fn set(properties: &JsonMap) -> Vec<Route<'_>> {
    properties.get("routes").map(routes).unwrap_or_default()
}

fn route(of: &JsonMap) -> Route<'_> {
    let text = |key| of.get(key).and_then(Value::as_str).unwrap_or_default();
    (text("destination"), text("nexthop"))
}
