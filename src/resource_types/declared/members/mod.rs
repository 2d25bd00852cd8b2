//! Entries of a list, or keys of a map, that are calls of their own: what there is too much of is
//! dropped, and what is missing is added. One beat looks and makes all the calls, so that one that
//! is made again does what is left of them.

mod calls;
mod difference;
pub(super) mod format;

use serde_json::Value;

pub(super) use self::format::Members;

use self::calls::Side;
use self::difference::{Difference, difference, entry, holds};
use self::format::{First, Takes};
use super::beating::Beating;
use super::paths::unless_missing;
use super::sequence::Turn;
use super::{Declared, dotted};
use crate::model::JsonMap;
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject, Work};

impl Declared {
    /// Looks at the entries, and makes them those that are wanted.
    pub(super) fn members(&self, beating: &Beating<'_>, index: u32) -> Result<Beat, Failure> {
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
        let Some(subject) = subject else { return Ok(self.after(beating, Turn::Members(index))) };
        let (difference, former) = self.due(beating, members, &subject)?;
        let drops = (Side::Drop, &difference.surplus, &former);
        let adds = (Side::Add, &difference.missing, &*subject);
        let sides = match members.first {
            First::Drop => [drops, adds],
            First::Add => [adds, drops],
        };
        for (side, entries, subject) in sides {
            if let Some(wait) = self.each_made(cloud, members, side, (subject, entries))? {
                return Ok(wait);
            }
        }
        Ok(self.after(beating, Turn::Members(index)))
    }

    /// What is to be done, and the subject that surplus entries belong to.
    fn due(
        &self,
        beating: &Beating<'_>,
        members: &Members,
        subject: &Subject,
    ) -> Result<(Difference, Subject), Failure> {
        let Beating { cloud, work, .. } = *beating;
        let wanted = match work {
            Work::Delete => Vec::new(),
            Work::Create => self.entries_or_others(cloud, subject, members)?,
            Work::Update { .. } | Work::Act(_) => {
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
        // What was there before the resource stays.
        if matches!(work, Work::Update { .. }) && Self::was_there(subject) {
            left.clear();
        }
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
    ) -> Result<Vec<Value>, Failure> {
        let mut properties = self.properties(properties);
        properties.retain(|name, _| name == members.property());
        let mut properties = self.looked_up(cloud, subject, properties)?;
        let value = properties.get_mut(members.property()).map(Value::take).unwrap_or_default();
        let mut entries = difference::entries(value);
        for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
            for (name, value) in &members.unset {
                entry.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        Ok(entries)
    }

    /// The same at the creation, when there may be some without the property.
    fn entries_or_others(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        members: &Members,
    ) -> Result<Vec<Value>, Failure> {
        let entries = self.entries(cloud, subject, members, &subject.properties)?;
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
    ) -> Result<Option<Vec<Value>>, Failure> {
        let Some(live) = &members.live else { return Ok(None) };
        let microversion = live.microversion.as_deref();
        let Some((method, path)) = live.parts() else {
            return Err(self.incomplete("what shows members has no method"));
        };
        // An action that shows something changes nothing.
        let mut request = self.request(cloud, method, path, subject, microversion)?.only_asking();
        if let Some(body) = &live.body {
            request = request.json(body.clone());
        }
        for (name, text) in &live.query {
            request = request.query(name, self.filled(cloud, subject, text, str::to_owned)?);
        }
        let items = cloud.list(request, |body| {
            difference::entries(match &live.list {
                Some(list) => dotted::one(&body, list).cloned().unwrap_or_default(),
                None => body,
            })
        })?;
        let items = items.into_iter();
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
    ) -> Result<Option<Value>, Failure> {
        let of = |members: &&Members| members.property() == name && members.live.is_some();
        let Some(members) = self.declaration().members.iter().find(of) else { return Ok(None) };
        let properties = Value::Object(self.properties(&subject.properties));
        let is_default = difference::entries(wanted.clone()).is_empty();
        if !members.is_meant(&properties) || (is_default && !members.otherwise.is_empty()) {
            return Ok(None);
        }
        let mut live = match self.live(cloud, subject, members) {
            Ok(live) => live.unwrap_or_default(),
            // It is the user who may not know.
            Err(error) if error.is_forbidden() => return Ok(None),
            Err(error) => return Err(error),
        };
        if members.takes == Takes::Ours {
            let wanted = difference::entries(wanted.clone());
            live.retain(|entry| holds(&wanted, entry));
        }
        Ok(Some(match wanted.is_object() {
            true => difference::map_of(&live),
            false => live.into_iter().map(difference::shown).collect(),
        }))
    }
}
