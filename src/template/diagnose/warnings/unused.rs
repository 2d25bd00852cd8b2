//! Names that are declared and never used, names that are used and never declared where Heat does
//! not look, and keys that it passes over.

use super::survey::Kind;
use super::{Finding, Written, keys};
use crate::template::dialect::Language;
use crate::template::node::Node;
use crate::template::suggest;

/// `unused-parameter`: no function anywhere reads it.
pub(super) fn parameters(written: &Written<'_>, found: &mut Vec<Finding>) {
    if written.survey.has_computed {
        return;
    }
    let used = written.survey.names(&[Kind::Parameter, Kind::Either, Kind::Resource]);
    let section = written.dialect.sections.parameters;
    for (name, node) in written.section(section) {
        if used.contains(name.as_str()) || written.is_told(node.key_place, name) {
            continue;
        }
        let message = format!("the parameter `{name}` is never used");
        let path = keys(&[section, name]);
        found.push(written.warning("unused-parameter", &path, node.key_place, message));
    }
}

/// `unused-condition`: nothing depends on it.
pub(super) fn conditions(written: &Written<'_>, found: &mut Vec<Finding>) {
    let used = written.survey.names(&[Kind::Condition]);
    let section = written.dialect.sections.conditions;
    for (name, node) in written.section(section) {
        if used.contains(name.as_str()) || written.is_told(node.key_place, name) {
            continue;
        }
        let message = format!("the condition `{name}` is never used");
        let path = keys(&[section, name]);
        let mut warning = written.warning("unused-condition", &path, node.key_place, message);
        warning.note = Some("Heat does not look at a condition that nothing uses".to_owned());
        found.push(warning);
    }
}

/// `unknown-name`: a name that is not declared, where no error is made of it: in a branch that is
/// not taken, in a resource whose condition does not hold, in a condition that is not used.
pub(super) fn names_not_looked_at(written: &Written<'_>, found: &mut Vec<Finding>) {
    let sections = &written.dialect.sections;
    let names = |section: &str| -> Vec<String> {
        written.section(section).map(|(name, _)| name.to_string()).collect()
    };
    let (parameters, resources) = (names(sections.parameters), names(sections.resources));
    for used in &written.survey.uses {
        let (what, known) = match used.kind {
            Kind::Parameter => ("parameter", parameters.clone()),
            Kind::Resource => ("resource", resources.clone()),
            Kind::Either => ("parameter or resource", [parameters.as_slice(), &resources].concat()),
            Kind::Condition => continue,
        };
        let is_pseudo = ["OS::", "AWS::"].iter().any(|prefix| used.name.starts_with(prefix));
        let path = super::tree::shown(&used.path);
        let is_in_error = |error: &Finding| !error.path.is_empty() && path.starts_with(&error.path);
        if known.contains(&used.name)
            || is_pseudo
            || written.is_told(used.place, "")
            || written.errors.iter().any(is_in_error)
        {
            continue;
        }
        let message = format!("there is no {what} `{}`", used.name);
        let mut warning = written.warning("unknown-name", &used.path, used.place, message);
        warning.suggestion = suggest::nearest(&used.name, known);
        let note = "nothing is refused, as Heat does not look here as long as conditions stay as \
                    they are";
        warning.note = Some(note.to_owned());
        found.push(warning);
    }
}

/// `ignored-key`: CloudFormation's language passes over keys of a resource that it does not know.
pub(super) fn keys_passed_over(written: &Written<'_>, found: &mut Vec<Finding>) {
    if written.dialect.language == Language::Hot {
        return;
    }
    let section = written.dialect.sections.resources;
    for (name, resource) in written.resources() {
        for (key, node) in resource.as_map().into_iter().flatten() {
            let known = written.dialect.resource.all().map(str::to_owned);
            if written.dialect.resource.all().any(|known| known == key) {
                continue;
            }
            let Some(meant) = suggest::nearest(key, known) else { continue };
            let message = format!("`{key}` is no key of a resource: Heat passes over it");
            let path = keys(&[section, name, key]);
            let mut warning = written.warning("ignored-key", &path, node.key_place, message);
            warning.suggestion = Some(meant);
            found.push(warning);
        }
    }
}

/// The nodes that hold what functions may stand in, with the paths that lead to them.
pub(super) fn bodies<'n>(written: &'n Written<'_>) -> Vec<(super::Path, &'n Node)> {
    let dialect = written.dialect;
    let fields =
        [dialect.resource.properties, dialect.resource.metadata, dialect.resource.update_policy];
    let mut bodies = Vec::new();
    for (name, resource) in written.resources() {
        for field in fields {
            let Some(node) = resource.get(field) else { continue };
            bodies.push((keys(&[dialect.sections.resources, name, field]), node));
        }
    }
    for (name, output) in written.section(dialect.sections.outputs) {
        if let Some(node) = output.get(dialect.output.value) {
            bodies.push((keys(&[dialect.sections.outputs, name, dialect.output.value]), node));
        }
    }
    bodies
}
