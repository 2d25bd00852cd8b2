//! What signals have left in a resource, by their ids in the order in which these came. It grows by
//! one with each signal and is handed to whoever waits for them each time, so a copy shares what it
//! is a copy of.

use std::sync::Arc;

use rpds::{HashTrieMapSync, VectorSync};
use serde_json::Value;

use crate::model::JsonMap;
use crate::model::taint::plain;

/// The entries, with marks on what must not be seen.
#[derive(Clone, Debug, Default)]
pub struct SignalEntries(Option<Arc<Kept>>);

#[derive(Clone, Debug, Default)]
struct Kept {
    entries: VectorSync<(String, Value)>,
    places: HashTrieMapSync<String, usize>,
    /// How many say that something failed.
    failures: usize,
    /// How often something was put in.
    puts: u64,
}

impl SignalEntries {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |kept| kept.entries.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Whether an entry says that something failed.
    pub(crate) fn has_failure(&self) -> bool {
        self.0.as_ref().is_some_and(|kept| kept.failures > 0)
    }

    /// The entry of an id.
    pub fn get(&self, id: &str) -> Option<&Value> {
        let kept = self.0.as_ref()?;
        kept.entries.get(*kept.places.get(id)?).map(|(_, entry)| entry)
    }

    /// Puts an entry in; the former one of its id.
    pub(crate) fn insert(&mut self, id: String, entry: Value) -> Option<Value> {
        let kept = Arc::make_mut(self.0.get_or_insert_default());
        kept.puts += 1;
        kept.failures += usize::from(says_failure(&entry));
        let place = kept.places.get(&id).copied();
        let Some(place) = place else {
            kept.places.insert_mut(id.clone(), kept.entries.len());
            kept.entries.push_back_mut((id, entry));
            return None;
        };
        let former = kept.entries.get(place).map(|(_, former)| former.clone())?;
        kept.failures -= usize::from(says_failure(&former));
        kept.entries.set_mut(place, (id, entry));
        Some(former)
    }

    /// All of them, in their order.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Value)> {
        let entries = self.0.iter().flat_map(|kept| kept.entries.iter());
        entries.map(|(id, entry)| (id, entry))
    }

    /// How many of them are in the same place of memory as another's.
    #[cfg(test)]
    pub(crate) fn shared_with(&self, other: &Self) -> usize {
        self.iter().zip(other.iter()).filter(|(own, others)| std::ptr::eq(own.1, others.1)).count()
    }

    /// All of them without marks.
    pub fn plain(&self) -> JsonMap {
        self.iter().map(|(id, entry)| (id.clone(), plain(entry.clone()))).collect()
    }
}

/// As far as entries that came about alike go: whatever was put in anew differs.
impl PartialEq for SignalEntries {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (None, None) => true,
            (Some(own), Some(others)) => {
                Arc::ptr_eq(own, others)
                    || (own.puts == others.puts && self.iter().eq(other.iter()))
            }
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

fn says_failure(entry: &Value) -> bool {
    let status = entry.get("status").or_else(|| entry.get("Status"));
    status.is_some_and(|status| status == "FAILURE")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(status: &str) -> Value {
        json!({ "status": status })
    }

    #[test]
    fn an_id_keeps_its_place_and_the_newest_of_it_counts() {
        let mut entries = SignalEntries::default();
        assert_eq!(entries.insert("a".into(), entry("FAILURE")), None);
        assert_eq!(entries.insert("b".into(), entry("SUCCESS")), None);
        assert!(entries.has_failure());
        assert_eq!(entries.insert("a".into(), entry("SUCCESS")), Some(entry("FAILURE")));
        assert!(!entries.has_failure());
        assert_eq!(entries.plain().keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!((entries.len(), entries.get("a")), (2, Some(&entry("SUCCESS"))));
    }

    #[test]
    fn a_copy_stays_as_it_was() {
        let mut entries = SignalEntries::default();
        entries.insert("a".into(), entry("SUCCESS"));
        let copy = entries.clone();
        entries.insert("a".into(), entry("FAILURE"));
        entries.insert("b".into(), entry("SUCCESS"));
        assert_eq!(copy.plain(), *json!({ "a": entry("SUCCESS") }).as_object().unwrap());
        assert_ne!(copy, entries);
        assert_eq!(entries, entries.clone());
    }

    #[test]
    fn a_copy_shares_all_but_what_was_put_in_since() {
        let mut entries = SignalEntries::default();
        for number in 0..10_000 {
            entries.insert(number.to_string(), entry("SUCCESS"));
        }
        let copy = entries.clone();
        entries.insert("new".into(), entry("SUCCESS"));
        let shared = entries.shared_with(&copy);
        assert!(shared > 9_900, "{shared} of 10,000 are shared");
    }
}
