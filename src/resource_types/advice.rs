//! What is good to know of types, properties and attributes: what is on its way out, what takes
//! its place, what a value names.

use super::declared::{Declaration, Translation};
use super::schema::{Properties, PropertySchema, Support};
use crate::template::constraints::Rule;
use crate::template::{Advice, Member};

/// What a type says of a member; nothing where it has no such member.
pub(super) fn of(declaration: &Declaration, member: Member<'_>) -> Advice {
    match member {
        Member::Type => Advice {
            deprecated_since: deprecated_since(&declaration.support),
            does_nothing: declaration.accepts_anything,
            successor: declaration.successor.clone(),
            constraint: None,
        },
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
                does_nothing: false,
                successor: successor(declaration, path),
                constraint: constraint(property),
            }
        }
    }
}

impl Declaration {
    /// What the status of a resource says of a retired type, whose resources are nothing.
    pub(crate) fn retirement(&self) -> Option<String> {
        let is_retired = self.accepts_anything && self.support.is_hidden();
        let newer = self.successor.as_ref().map(|newer| format!("; {newer} takes its place"));
        is_retired.then(|| {
            format!("{} does nothing any more{}", self.type_name, newer.unwrap_or_default())
        })
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
