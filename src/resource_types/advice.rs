//! What is good to know of types, properties and attributes: what is on its way out, what takes
//! its place, what a value names.

use super::declared::{Declaration, Translation};
use super::schema::{Properties, PropertySchema, Support};
use crate::template::constraints::Rule;
use crate::template::{Advice, Member};

/// Types that others have taken the place of.
const SUCCESSORS: &[(&str, &str)] = &[
    ("OS::Aodh::Alarm", "OS::Aodh::GnocchiAggregationByResourcesAlarm"),
    ("OS::Aodh::CombinationAlarm", "OS::Aodh::CompositeAlarm"),
    ("OS::Designate::Domain", "OS::Designate::Zone"),
    ("OS::Designate::Record", "OS::Designate::RecordSet"),
    ("OS::Glance::Image", "OS::Glance::WebImage"),
    ("OS::Heat::SoftwareDeployments", "OS::Heat::SoftwareDeploymentGroup"),
    ("OS::Heat::StructuredDeployments", "OS::Heat::StructuredDeploymentGroup"),
    ("OS::Magnum::Bay", "OS::Magnum::Cluster"),
    ("OS::Magnum::BayModel", "OS::Magnum::ClusterTemplate"),
    ("OS::Neutron::HealthMonitor", "OS::Octavia::HealthMonitor"),
    ("OS::Neutron::LBaaS::HealthMonitor", "OS::Octavia::HealthMonitor"),
    ("OS::Neutron::LBaaS::L7Policy", "OS::Octavia::L7Policy"),
    ("OS::Neutron::LBaaS::L7Rule", "OS::Octavia::L7Rule"),
    ("OS::Neutron::LBaaS::Listener", "OS::Octavia::Listener"),
    ("OS::Neutron::LBaaS::LoadBalancer", "OS::Octavia::LoadBalancer"),
    ("OS::Neutron::LBaaS::Pool", "OS::Octavia::Pool"),
    ("OS::Neutron::LBaaS::PoolMember", "OS::Octavia::PoolMember"),
    ("OS::Neutron::LoadBalancer", "OS::Octavia::LoadBalancer"),
    ("OS::Neutron::Pool", "OS::Octavia::Pool"),
    ("OS::Neutron::PoolMember", "OS::Octavia::PoolMember"),
    ("OS::Neutron::RouterGateway", "OS::Neutron::Router"),
    ("OS::Nova::FloatingIP", "OS::Neutron::FloatingIP"),
    ("OS::Nova::FloatingIPAssociation", "OS::Neutron::FloatingIPAssociation"),
];

/// What a type says of a member; nothing where it has no such member.
pub(super) fn of(declaration: &Declaration, member: Member<'_>) -> Advice {
    match member {
        Member::Type => {
            let name = declaration.type_name.as_str();
            let successor = SUCCESSORS.iter().find(|(old, _)| *old == name);
            Advice {
                deprecated_since: deprecated_since(&declaration.support),
                successor: successor.map(|(_, new)| (*new).to_owned()),
                constraint: None,
            }
        }
        Member::Attribute(name) => Advice {
            deprecated_since: declaration
                .attributes
                .get(name)
                .and_then(|attribute| deprecated_since(&attribute.support)),
            ..Advice::default()
        },
        Member::Property(path) => {
            let Some(property) = property(&declaration.properties, path) else {
                return Advice::default();
            };
            Advice {
                deprecated_since: deprecated_since(&property.support),
                successor: successor(declaration, path),
                constraint: constraint(property),
            }
        }
    }
}

fn property<'s>(properties: &'s Properties, path: &[&str]) -> Option<&'s PropertySchema> {
    let (last, before) = path.split_last()?;
    let inner = before.iter().try_fold(properties, |keys, step| keys.get(*step)?.inner_keys());
    inner?.get(*last)
}

/// The release in which something was deprecated, or hidden without that; empty if unknown.
fn deprecated_since(support: &Support) -> Option<String> {
    if !matches!(support.status(), "DEPRECATED" | "HIDDEN") {
        return None;
    }
    let deprecated = support.0.iter().find(|status| status.status == "DEPRECATED");
    Some(deprecated.or(support.0.first())?.version.clone().unwrap_or_default())
}

/// The name that a translation gives the value to.
fn successor(declaration: &Declaration, path: &[&str]) -> Option<String> {
    let (last, before) = path.split_last()?;
    declaration.translation.iter().find_map(|rule| {
        let Translation::Replace { replace, with } = rule else { return None };
        let (parent, name) = replace.rsplit_once('.').unwrap_or(("", replace));
        (with == last && parent == before.join(".")).then(|| name.to_owned())
    })
}

/// The custom constraint of a value, or of the items of a list.
fn constraint(property: &PropertySchema) -> Option<String> {
    let own = property.constraints.iter().find_map(|constraint| match &constraint.rule {
        Rule::CustomConstraint(name) => Some(name.clone()),
        _ => None,
    });
    own.or_else(|| constraint(property.items.as_ref()?))
}
