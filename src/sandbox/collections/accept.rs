//! What is taken: who may give it, which attributes, of which values.

use serde_json::Value;

use super::super::answer::Answer;
use super::super::doc::{Doc, shown};
use super::super::keystone::Scope;
use super::definition::{Attribute, Collection, Errors, Owner, SetBy};
use super::values::{Shape, shaped};
use crate::model::JsonMap;

/// What every object with times, a revision and tags has, and nobody changes so.
const COMMON: [&str; 7] =
    ["id", "created_at", "updated_at", "revision_number", "tags", "project_id", "tenant_id"];

impl Collection {
    pub(super) fn is_seen(&self, scope: &Scope, row: &JsonMap) -> bool {
        self.owner == Owner::Nobody || scope.sees(row.text("project_id")) || row.is("shared")
    }

    /// Refuses to change what is only seen.
    pub(super) fn may_change(
        &self,
        scope: &Scope,
        row: Option<&JsonMap>,
        verb: &str,
    ) -> Result<(), Answer> {
        let is_theirs =
            row.is_none_or(|row| self.owner == Owner::Nobody || scope.sees(row.text("project_id")));
        if is_theirs && (scope.is_admin || !self.admin) {
            Ok(())
        } else {
            Err(self.forbidden(verb))
        }
    }

    /// A new object: what was given, checked, and the rest as it is unset.
    pub(super) fn new_row(&self, scope: &Scope, mut given: JsonMap) -> Result<JsonMap, Answer> {
        self.rename(&mut given);
        let mut row = JsonMap::new();
        row.set(&self.id, "");
        if self.owner == Owner::Project {
            let project = self.project(scope, &given)?;
            given.remove("project_id");
            given.remove("tenant_id");
            row.set("tenant_id", project.as_str());
            row.set("project_id", project);
        }
        for (name, attribute) in &self.attributes {
            let value = match (given.remove(name), &attribute.unset) {
                (Some(_), _) if attribute.set_by == SetBy::Nobody => {
                    return Err(self.bad_request(format!("Attribute '{name}' not allowed in POST")));
                }
                (Some(value), _) => self.checked(scope, "create", (name, attribute), value)?,
                (None, Some(_)) if self.open.contains(name) => continue,
                (None, Some(unset)) => unset.clone(),
                (None, None) => {
                    return Err(self.bad_request(format!(
                        "Failed to parse request. Required attribute '{name}' not specified"
                    )));
                }
            };
            row.insert(name.clone(), value);
        }
        self.take_rest(given, &mut row)?;
        Ok(row)
    }

    /// A change: what was given, checked.
    pub(super) fn change(&self, scope: &Scope, mut given: JsonMap) -> Result<JsonMap, Answer> {
        self.rename(&mut given);
        let mut change = JsonMap::new();
        for (name, attribute) in &self.attributes {
            let Some(value) = given.remove(name) else { continue };
            if attribute.set_by != SetBy::Put {
                return Err(self.read_only(name));
            }
            let value = self.checked(scope, "update", (name, attribute), value)?;
            change.insert(name.clone(), value);
        }
        if self.standard
            && let Some(name) = COMMON.iter().find(|name| given.contains_key(**name))
        {
            return Err(self.read_only(name));
        }
        self.take_rest(given, &mut change)?;
        Ok(change)
    }

    fn read_only(&self, name: &str) -> Answer {
        self.bad_request(format!("Cannot update read-only attribute {name}"))
    }

    /// Whom a new object belongs to.
    fn project(&self, scope: &Scope, given: &JsonMap) -> Result<String, Answer> {
        let named = given.get("project_id").or(given.get("tenant_id")).and_then(Value::as_str);
        match named.filter(|project| !project.is_empty()) {
            Some(project) if scope.sees(project) => Ok(project.to_owned()),
            Some(_) => Err(self.bad_request(
                "Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges",
            )),
            None => Ok(scope.project_id.clone()),
        }
    }

    fn rename(&self, given: &mut JsonMap) {
        for (theirs, ours) in &self.renamed {
            if let Some(value) = given.remove(theirs) {
                given.insert(ours.clone(), value);
            }
        }
    }

    fn checked(
        &self,
        scope: &Scope,
        verb: &str,
        (name, attribute): (&String, &Attribute),
        value: Value,
    ) -> Result<Value, Answer> {
        let invalid = |reason: String| {
            self.bad_request(format!("Invalid input for {name}. Reason: {reason}"))
        };
        let may_be_null = attribute.unset == Some(Value::Null);
        let shape = if value.is_null() && may_be_null { Shape::Any } else { attribute.shape };
        let value = shaped(shape, value).map_err(|reason| match (self.errors, shape) {
            (Errors::Neutron, Shape::Flag) => {
                let text = format!("Invalid input for operation: {reason}.");
                self.fault(400, "InvalidInput", text)
            }
            _ => invalid(reason),
        })?;
        if let Some(allowed) = self.values.get(name)
            && !allowed.contains(&value)
            && !value.is_null()
        {
            let allowed: Vec<String> = allowed.iter().map(shown).collect();
            let reason = format!("'{}' is not in {}.", shown(&value), allowed.join(", "));
            return Err(invalid(reason));
        }
        if let (Some([least, most]), Some(number)) = (self.ranges.get(name), value.as_i64())
            && !(*least..=*most).contains(&number)
        {
            return Err(invalid(format!("'{number}' is not in range {least} to {most}.")));
        }
        let is_unset = attribute.unset.as_ref() == Some(&value);
        if self.admin_sets.contains(name) && !scope.is_admin && !is_unset {
            return Err(self.not_settable(verb, name));
        }
        Ok(value)
    }

    /// What no attribute takes goes where `rest` says, and is refused otherwise.
    fn take_rest(&self, given: JsonMap, row: &mut JsonMap) -> Result<(), Answer> {
        match self.rest.as_deref() {
            _ if given.is_empty() => {}
            Some(".") => row.extend(given),
            Some(name) => {
                let mut rest = row.object(name).cloned().unwrap_or_default();
                rest.extend(given);
                row.set(name, rest);
            }
            None => {
                let names: Vec<&str> = given.keys().map(String::as_str).collect();
                let text = format!("Unrecognized attribute(s) '{}'", names.join(", "));
                return Err(self.bad_request(text));
            }
        }
        Ok(())
    }
}
