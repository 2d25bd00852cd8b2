//! The calls that add and drop entries.

use serde_json::{Value, json};

use super::difference::{self, holds, key};
use super::format::{MemberCall, Members};
use crate::openstack::path_segment;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::steps::Beating;
use crate::resource_types::declared::{Declared, dotted, paths, shape};
use crate::resource_types::driver::{Beat, DriverError, Subject};
use crate::resource_types::python;

/// What a call is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Add,
    Drop,
}

impl Declared {
    /// Makes the calls of one side; a beat where the service is busy.
    pub(super) fn each_made(
        &self,
        beating: &Beating<'_>,
        members: &Members,
        side: Side,
        (subject, entries): (&Subject, &[Value]),
    ) -> Result<Option<Beat>, DriverError> {
        let calls = match side {
            Side::Add => &members.add,
            Side::Drop => &members.drop,
        };
        if let Some(call) = calls.iter().find(|call| call.is_for_all()) {
            return match entries {
                [] => Ok(None),
                _ => self.make_call(beating, members, (side, call), (subject, entries)),
            };
        }
        for one in entries {
            let Some(call) = calls.iter().find(|call| call.is_for(one)) else { continue };
            let one = std::slice::from_ref(one);
            if let Some(wait) = self.make_call(beating, members, (side, call), (subject, one))? {
                return Ok(Some(wait));
            }
        }
        Ok(None)
    }

    fn make_call(
        &self,
        beating: &Beating<'_>,
        members: &Members,
        (side, call): (Side, &MemberCall),
        (subject, entries): (&Subject, &[Value]),
    ) -> Result<Option<Beat>, DriverError> {
        let cloud = beating.cloud;
        let Some((method, path)) = call.parts() else {
            return Err(self.incomplete("a call of members has no method"));
        };
        let first = entries.first().unwrap_or(&Value::Null);
        let path = with_item(path, first, |text| path_segment(text).to_string());
        let microversion = call.microversion.as_deref();
        let mut request = self.request(cloud, method, &path, subject, microversion)?;
        for (name, text) in &call.query {
            let text = with_item(text, first, str::to_owned);
            request = request.query(name, self.filled(cloud, subject, &text, str::to_owned)?);
        }
        if let Some(body) = &call.body {
            let values = self.values(cloud, subject, body, entries)?;
            request = request.json(shape::body(body, &values).into());
        }
        match cloud.send(request) {
            Ok(_) => Ok(None),
            Err(error) if self.declaration().is_busy(&error) => {
                Ok(Some(Beat::Wait { after: None }))
            }
            Err(error) if side == Side::Drop && error.is_not_found() => Ok(None),
            Err(error) if error.is_conflict() => {
                // It may have come to what is wanted all the same: made before, or by others.
                let is_so = match self.live(cloud, subject, members)? {
                    Some(live) => {
                        entries.iter().all(|one| holds(&live, one) == (side == Side::Add))
                    }
                    None => side == Side::Add,
                };
                if is_so { Ok(None) } else { Err(error.into()) }
            }
            Err(error) => Err(error.into()),
        }
    }

    /// What the words of a body stand for.
    fn values(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        body: &Value,
        entries: &[Value],
    ) -> Result<Value, DriverError> {
        let text = body.to_string();
        let mut properties = self.properties(&subject.properties);
        properties.retain(|name, _| text.contains(&format!("{{{name}")));
        let mut values = self.looked_up(cloud, subject, properties)?;
        values.insert("id".into(), subject.physical_id.clone().into());
        values.insert("item".into(), entries.first().cloned().unwrap_or_default());
        let is_pairs = entries.iter().all(|one| difference::pair(one).is_some());
        values.insert(
            "added".into(),
            match is_pairs {
                true => difference::map_of(entries),
                false => entries.into(),
            },
        );
        values.insert(
            "dropped".into(),
            match is_pairs {
                true => entries.iter().map(|one| (key(&one["key"]), Value::Null)).collect(),
                false => entries.into(),
            },
        );
        Ok(Value::Object(values))
    }
}

/// A text with `{item}` and `{item.key}` replaced.
fn with_item(text: &str, item: &Value, write: impl Fn(&str) -> String) -> String {
    let values = json!({ "item": item });
    let mut filled = text.to_owned();
    for word in paths::words(text) {
        if word == "item" || word.starts_with("item.") {
            let value = dotted::one(&values, word).filter(|value| !value.is_null());
            let value = value.map(python::text).unwrap_or_default();
            filled = filled.replace(&format!("{{{word}}}"), &write(&value));
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_the_item_and_what_else_stays() {
        let item = json!({ "role": "a/b", "project": "p" });
        let path = "/projects/{item.project}/users/{id}/roles/{item.role}";
        let write = |text: &str| path_segment(text).to_string();
        assert_eq!(with_item(path, &item, write), "/projects/p/users/{id}/roles/a%2Fb");
        assert_eq!(with_item("/groups/{item}", &json!("g"), write), "/groups/g");
    }
}
