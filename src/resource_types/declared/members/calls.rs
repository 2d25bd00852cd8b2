//! The calls that add and drop entries.

use serde_json::Value;

use super::difference::{self, holds, key};
use super::format::{MemberCall, Members};
use crate::openstack::{CloudError, Request, Response, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Declared, dotted, shape};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject};
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
        cloud: &Asks<'_>,
        members: &Members,
        side: Side,
        (subject, entries): (&Subject, &[Value]),
    ) -> Result<Option<Beat>, Failure> {
        let calls = match side {
            Side::Add => &members.add,
            Side::Drop => &members.drop,
        };
        if let Some(call) = calls.iter().find(|call| call.is_for_all()) {
            return match entries {
                [] => Ok(None),
                _ => {
                    let answer = cloud.send(self.call_of(cloud, call, subject, entries)?);
                    self.judged(cloud, members, side, (subject, entries), answer)
                }
            };
        }
        let one_each = entries.iter().filter_map(|one| {
            let call = calls.iter().find(|call| call.is_for(one))?;
            Some((call, std::slice::from_ref(one)))
        });
        let meant: Vec<(&MemberCall, &[Value])> = one_each.collect();
        if meant.is_empty() {
            return Ok(None);
        }
        // Asked together: how many there are, a template decides.
        let requests = meant.iter().map(|(call, one)| self.call_of(cloud, call, subject, one));
        let answers = cloud.send_all(requests.collect::<Result<_, _>>()?)?;
        for ((_, one), answer) in meant.into_iter().zip(answers) {
            if let Some(wait) = self.judged(cloud, members, side, (subject, one), answer)? {
                return Ok(Some(wait));
            }
        }
        Ok(None)
    }

    /// A call for an entry, or for all.
    fn call_of(
        &self,
        cloud: &Asks<'_>,
        call: &MemberCall,
        subject: &Subject,
        entries: &[Value],
    ) -> Result<Request, Failure> {
        let Some((method, path)) = call.parts() else {
            return Err(self.incomplete("a call of members has no method"));
        };
        let own = |word: &str| item_word(word, entries.first().unwrap_or(&Value::Null));
        let path = self.filled_with(cloud, subject, path, own, path_segment)?;
        let mut request = self.request_at(method, path, call.microversion.as_deref());
        for (name, text) in &call.query {
            let text = self.filled_with(cloud, subject, text, own, str::to_owned)?;
            request = request.query(name, text);
        }
        if let Some(body) = &call.body {
            let values = self.values(cloud, subject, body, entries)?;
            request = request.json(shape::body(body, &values).into());
        }
        Ok(request)
    }

    /// What the answer to a call means; a beat where the service is busy.
    fn judged(
        &self,
        cloud: &Asks<'_>,
        members: &Members,
        side: Side,
        (subject, entries): (&Subject, &[Value]),
        answer: Result<Response, CloudError>,
    ) -> Result<Option<Beat>, Failure> {
        match answer {
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
    ) -> Result<Value, Failure> {
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
        let keys = entries.iter().filter_map(|one| one.get("key").cloned());
        values.insert("keys".into(), keys.collect());
        Ok(Value::Object(values))
    }
}

/// What `item` and `item.key` stand for; `None` where the word is neither.
fn item_word(word: &str, item: &Value) -> Option<String> {
    let value = match word.strip_prefix("item")? {
        "" => Some(item),
        path => dotted::one(item, path.strip_prefix('.')?),
    };
    Some(value.filter(|value| !value.is_null()).map(python::text).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_mean_the_item_and_its_keys() {
        let item = json!({ "role": "{id}", "project": null });
        assert_eq!(item_word("item.role", &item).as_deref(), Some("{id}"));
        assert_eq!(item_word("item.project", &item).as_deref(), Some(""));
        assert_eq!(item_word("item", &json!("g")).as_deref(), Some("g"));
        assert_eq!((item_word("id", &item), item_word("items", &item)), (None, None));
    }
}
