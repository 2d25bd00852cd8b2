//! Entries of a list, or keys of a map, that are calls of their own: what there is too much of is
//! dropped, and what is missing is added. One beat looks and makes all the calls, so that one that
//! is made again does what is left of them.

mod difference;
mod format;

use serde_json::{Value, json};

pub(super) use self::format::Members;

use self::difference::{Difference, difference, entry, holds, key};
use self::format::{First, MemberCall, Takes};
use super::paths::unless_missing;
use super::sequence::Stage;
use super::steps::Beating;
use super::{Declared, dotted, shape};
use crate::model::JsonMap;
use crate::openstack::{Method, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::driver::{Beat, DriverError, Subject, Work};
use crate::resource_types::python;

/// What a call is made for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Add,
    Drop,
}

impl Declared {
    /// Looks at the entries, and makes them those that are wanted.
    pub(super) fn members(&self, beating: &Beating<'_>, index: u32) -> Result<Beat, DriverError> {
        let Some(members) = self.declaration().members.get(index as usize) else {
            return Err(self.incomplete("there are no such members"));
        };
        let Beating { cloud, work, subject, .. } = *beating;
        let owners = || members.owners().filter(|word| !word.starts_with("item"));
        let placed = self.placed(cloud, subject);
        let placed = placed.and_then(|placed| self.placed_at(cloud, placed, owners()));
        let subject = match work {
            // Without the parent there is nothing to be dropped.
            Work::Delete => unless_missing(placed)?,
            Work::Create | Work::Update { .. } | Work::Act(_) => Some(placed?),
        };
        let Some(subject) = subject else { return Ok(self.after(beating, Stage::Members(index))) };
        let (difference, former) = self.due(beating, members, &subject)?;
        let drops = (Side::Drop, &difference.surplus, &former);
        let adds = (Side::Add, &difference.missing, &*subject);
        let sides = match members.first {
            First::Drop => [drops, adds],
            First::Add => [adds, drops],
        };
        for (side, entries, subject) in sides {
            if let Some(wait) = self.each_made(beating, members, side, (subject, entries))? {
                return Ok(wait);
            }
        }
        Ok(self.after(beating, Stage::Members(index)))
    }

    /// What is to be done, and the subject that surplus entries belong to.
    fn due(
        &self,
        beating: &Beating<'_>,
        members: &Members,
        subject: &Subject,
    ) -> Result<(Difference, Subject), DriverError> {
        let Beating { cloud, work, .. } = *beating;
        let wanted = match work {
            Work::Delete => Vec::new(),
            Work::Create | Work::Update { .. } | Work::Act(_) => {
                self.entries(cloud, subject, members, &subject.properties)?
            }
        };
        let former = match work {
            Work::Update { before, .. } => before,
            Work::Create | Work::Delete | Work::Act(_) => &subject.properties,
        };
        let has_moved = matches!(work, Work::Update { .. })
            && members.owners().any(|name| former.get(name) != subject.properties.get(name));
        let mut owner = subject.clone();
        if has_moved {
            Self::displaced(&mut owner);
        }
        let former = Subject { properties: former.clone(), ..owner };
        let mut left = match work {
            Work::Create | Work::Act(_) => Vec::new(),
            Work::Update { .. } | Work::Delete => {
                let left = self.entries(cloud, &former, members, &former.properties);
                unless_missing(left)?.unwrap_or_default()
            }
        };
        // They belong to something else now, and so did all those that there were.
        if has_moved {
            let live = unless_missing(self.live(cloud, &former, members))?.flatten();
            left.retain(|entry| live.as_ref().is_none_or(|live| holds(live, entry)));
            return Ok((Difference { surplus: left, missing: wanted }, former));
        }
        // What was just made has none, unless the service gives it some.
        let is_known = !beating.is_unanswered() && !subject.in_doubt;
        let is_fresh = is_known && *work == Work::Create && members.takes == Takes::Ours;
        let is_settled =
            !subject.in_doubt && members.live.as_ref().is_some_and(|live| live.in_doubt);
        let live = match is_fresh || is_settled {
            true => None,
            false => match (self.live(cloud, subject, members), work) {
                (live, Work::Delete) => unless_missing(live)?.unwrap_or(Some(Vec::new())),
                (live, _) => live?,
            },
        };
        // What an update that failed has left is not known.
        let may_lack = subject.in_doubt && live.is_none();
        let mut difference = difference(members, live, &left, &wanted);
        if may_lack {
            difference.missing = wanted;
        }
        Ok((difference, former))
    }

    /// The entries that properties ask for, names looked up.
    fn entries(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        members: &Members,
        properties: &JsonMap,
    ) -> Result<Vec<Value>, DriverError> {
        let mut properties = self.properties(properties);
        properties.retain(|name, _| name == members.property());
        let mut properties = self.looked_up(cloud, subject, properties)?;
        let value = properties.get_mut(members.property()).map(Value::take).unwrap_or_default();
        let entries = difference::entries(value);
        if !entries.is_empty() {
            return Ok(entries);
        }
        let others = members.otherwise.iter();
        let others = others.map(|text| self.filled(cloud, subject, text, str::to_owned));
        others.map(|text| Ok(text?.into())).collect()
    }

    /// The entries that there are, in the property's words; `None` where nothing shows them.
    fn live(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        members: &Members,
    ) -> Result<Option<Vec<Value>>, DriverError> {
        let Some(live) = &members.live else { return Ok(None) };
        let microversion = live.microversion.as_deref();
        let mut request = self.request(cloud, Method::Get, &live.get, subject, microversion)?;
        for (name, text) in &live.query {
            request = request.query(name, self.filled(cloud, subject, text, str::to_owned)?);
        }
        let mut body = cloud.send(request)?.json()?;
        let found = match &live.list {
            Some(list) => dotted::one(&body, list).cloned().unwrap_or_default(),
            None => body.take(),
        };
        let items = difference::entries(found).into_iter();
        Ok(Some(match &members.entry {
            Some(form) => items.filter_map(|item| entry(form, &item)).collect(),
            None => items.collect(),
        }))
    }

    /// A property of members as the cloud has it; `None` where nothing shows them.
    pub(super) fn live_members(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, DriverError> {
        let of = |members: &&Members| members.property() == name && members.live.is_some();
        let Some(members) = self.declaration().members.iter().find(of) else { return Ok(None) };
        let mut live = match self.live(cloud, subject, members) {
            Ok(live) => live.unwrap_or_default(),
            // It is the user who may not know.
            Err(error) if error.class == "Forbidden" => return Ok(None),
            Err(error) => return Err(error),
        };
        if members.takes == Takes::Ours {
            let wanted = difference::entries(wanted.clone());
            live.retain(|entry| holds(&wanted, entry));
        }
        Ok(Some(match wanted.is_object() {
            true => difference::map_of(&live),
            false => live.into(),
        }))
    }

    /// Makes the calls of one side; a beat where the service is busy.
    fn each_made(
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
    for word in super::paths::words(text) {
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
