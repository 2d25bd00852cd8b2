//! Looks at a child: whether it is as it should be, and its attributes.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use serde_json::Value;

use super::asks::{See, sight};
use super::sight::Seen;
use super::turn::ChildBeat;
use super::{own_child, remote};
use crate::actors::executor;
use crate::actors::resource::Resource;
use crate::actors::services::Services;
use crate::actors::shell::Inhabit;
use crate::clock::Moment;
use crate::model::taint::{taint, taint_repeated};
use crate::model::{JsonMap, ResourceName};
use crate::openstack::{CloudError, Session};
use crate::resource_types::child::{ChildSeen, Nested};
use crate::resource_types::{Declared, Subject};
use crate::template::FAILED_ATTRIBUTES;

/// Whether a child differs from what it should be, or anything in it is not healthy. What cannot be
/// told is left to the update.
pub(in crate::actors) async fn differs(services: &Arc<Services>, beat: &ChildBeat<'_>) -> bool {
    let Ok(Some(sight)) = sight(services, beat).await else { return true };
    let is_same = beat.is_same(&sight, &Moment::of(services.clock.as_ref()));
    if !is_same.unwrap_or(false) {
        return true;
    }
    match sight.seen {
        Some(seen) => !is_healthy(services, seen).await,
        None => true,
    }
}

/// Whether nothing in a stack is unhealthy, nor in the stacks within it.
fn is_healthy(services: &Arc<Services>, seen: Seen) -> BoxFuture<'_, bool> {
    async move {
        if !seen.is_healthy {
            return false;
        }
        for within in seen.within {
            let Some(Some(seen)) = services.ask_of(within, || See).await else { return false };
            if !is_healthy(services, seen).await {
                return false;
            }
        }
        true
    }
    .boxed()
}

/// Attributes of a resource from its child, with marks on secrets; an empty list asks for all.
pub(in crate::actors) fn attributes<'a>(
    services: &'a Arc<Services>,
    session: &'a Session,
    driver: &'a Declared,
    subject: &'a Subject,
    wanted: &'a [String],
) -> BoxFuture<'a, JsonMap> {
    async move {
        let Some(nested) = driver.nests() else { return Default::default() };
        let properties = driver.properties(&subject.properties);
        let filled = Subject { properties, ..subject.clone() };
        if let Some(seen) = remote::seen(services, session, nested, &filled).await {
            return far_attributes(nested, &filled, seen, wanted);
        }
        let resource = subject.resource_id.unwrap_or_default();
        let Some(child) = own_child(resource, subject.physical_id.as_deref()) else {
            return Default::default();
        };
        let Some(Some(seen)) = services.ask_of(child, || See).await else {
            return Default::default();
        };
        let Own { mut values, missed } = own_attributes(driver, subject, &seen, wanted);
        for name in missed {
            let value = match nested.lists_members() && !name.starts_with(OF_MEMBER) {
                true => of_each(services, session, &seen, &name).await,
                false => of_member(services, session, &seen, &name).await,
            };
            values.extend(value.map(|value| (name, value)));
        }
        values
    }
    .boxed()
}

/// The attributes of a resource whose child stands somewhere else. Where that cannot be asked, none
/// of them resolves.
fn far_attributes(
    nested: &dyn Nested,
    subject: &Subject,
    seen: Result<ChildSeen, CloudError>,
    wanted: &[String],
) -> JsonMap {
    let why = seen.as_ref().err().map(ToString::to_string);
    let seen = seen.unwrap_or_default();
    let names = match wanted {
        [] => nested.attribute_names(&seen),
        wanted => wanted.to_vec(),
    };
    if let Some(why) = why {
        let failed: JsonMap = names.into_iter().map(|name| (name, why.as_str().into())).collect();
        return JsonMap::from_iter([(FAILED_ATTRIBUTES.to_owned(), failed.into())]);
    }
    let value = |name: String| Some((nested.attribute(subject, &seen, &name)?, name));
    names.into_iter().filter_map(value).map(|(value, name)| (name, value)).collect()
}

/// What a child itself says of the attributes of its resource.
pub struct Own {
    pub values: JsonMap,
    /// Those that only its members may have.
    pub missed: Vec<String>,
}

/// The attributes that the child itself has; an empty list asks for all. Pure.
pub fn own_attributes(driver: &Declared, subject: &Subject, seen: &Seen, wanted: &[String]) -> Own {
    let mut own = Own { values: JsonMap::new(), missed: Vec::new() };
    let Some(nested) = driver.nests() else { return own };
    let names = match wanted {
        [] => nested.attribute_names(&seen.child),
        wanted => wanted.to_vec(),
    };
    let failed: JsonMap =
        names.iter().filter_map(|name| failed(subject, &seen.child, name)).collect();
    if !failed.is_empty() {
        own.values.insert(FAILED_ATTRIBUTES.to_owned(), failed.into());
    }
    let properties = driver.properties(&subject.properties);
    let subject = Subject { properties, ..subject.clone() };
    for name in names {
        match nested.attribute(&subject, &seen.child, &name) {
            Some(value) => drop(own.values.insert(name, value)),
            None => own.missed.push(name),
        }
    }
    own
}

/// Why an attribute has no value, in Heat's words, where it is an output that does not resolve.
fn failed(subject: &Subject, child: &ChildSeen, attribute: &str) -> Option<(String, Value)> {
    let output = attribute.strip_prefix("Outputs.").unwrap_or(attribute);
    let why = child.failed_outputs.get(output)?;
    let resource = subject.name.clone().unwrap_or_default();
    let text = format!("Error in {resource} output {output}: {why}");
    Some((attribute.to_owned(), text.into()))
}

/// How the name of an attribute begins that is one member's.
const OF_MEMBER: &str = "resource.";

/// An attribute of each member, in a list; `None` where no member has it.
async fn of_each(
    services: &Arc<Services>,
    session: &Session,
    seen: &Seen,
    attribute: &str,
) -> Option<Value> {
    let mut values = Vec::with_capacity(seen.child.members.len());
    for member in &seen.child.members {
        let of_member_named = format!("{OF_MEMBER}{}.{attribute}", member.name);
        values.push(of_member(services, session, seen, &of_member_named).await);
    }
    let is_known = values.iter().any(Option::is_some);
    is_known.then(|| values.into_iter().map(Option::unwrap_or_default).collect())
}

/// `resource.NAME` is the reference of a child's resource, `resource.NAME.ATTRIBUTE` an attribute
/// of it.
async fn of_member(
    services: &Arc<Services>,
    session: &Session,
    seen: &Seen,
    attribute: &str,
) -> Option<Value> {
    let of_member = attribute.strip_prefix(OF_MEMBER)?;
    let Some((name, attribute)) = of_member.split_once('.') else {
        let member = seen.child.members.iter().find(|member| member.name.as_str() == of_member);
        return member.map(|member| member.reference.clone());
    };
    let id = seen.ids.get(&ResourceName::from(name))?;
    let resource = services.resource(*id).await.ok()?;
    let knowledge = Resource::knowledge(services);
    let (driver, subject) = resource.inspected(&[], &knowledge)?;
    let wanted = [attribute.to_owned()];
    let mut values = match driver.nests() {
        Some(_) => attributes(services, session, driver.as_ref(), &subject, &wanted).await,
        None => {
            match executor::look(services, session, |it| driver.attributes(it, &subject, &wanted))
                .await
            {
                Ok(values) => values,
                Err(error) => {
                    tracing::warn!(resource.id = %id, %error, "an attribute cannot be looked up");
                    return None;
                }
            }
        }
    };
    let value = values.shift_remove(attribute)?;
    if driver.is_secret(attribute) {
        return Some(taint(value));
    }
    Some(taint_repeated(value, &resource.secrets()))
}

#[cfg(test)]
mod tests {
    use super::super::story::{Story, given_made, group};
    use super::*;

    fn own(story: &Story, seen: &Seen, wanted: &[&str]) -> Own {
        let subject = Subject { name: Some("a".into()), ..Subject::default() };
        let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
        own_attributes(&story.driver, &subject, seen, &wanted)
    }

    #[test]
    fn a_child_says_what_it_has_and_its_members_are_asked_for_the_rest() {
        let story = given_made(&group(2));
        let own = own(&story, &story.seen().unwrap(), &["refs", "output"]);
        assert_eq!(own.values["refs"], serde_json::json!(["0", "1"]));
        assert_eq!(own.missed, ["output"]);
    }

    #[test]
    fn an_output_that_does_not_resolve_says_why() {
        let story = given_made(&group(1));
        let mut seen = story.seen().unwrap();
        seen.child.failed_outputs.insert("ip".to_owned(), "no such thing".to_owned());
        for wanted in ["ip", "Outputs.ip"] {
            let failed = &own(&story, &seen, &[wanted]).values[FAILED_ATTRIBUTES];
            assert_eq!(failed[wanted], "Error in a output ip: no such thing");
        }
    }

    #[test]
    fn no_attribute_of_a_child_that_cannot_be_asked_resolves() {
        let story = given_made(&group(1));
        let nested = story.driver.nests().unwrap();
        let away = CloudError::Unanswered { url: "http://far".into(), reason: "closed".into() };
        let why = away.to_string();
        let values = far_attributes(nested, &Subject::default(), Err(away), &["refs".to_owned()]);
        assert_eq!(values[FAILED_ATTRIBUTES]["refs"], why);
    }
}
