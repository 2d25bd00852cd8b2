//! A table of rows in the order of their creation, with the changes of one request at hand: they
//! are undone when the request is refused, and written to the journal when it is not.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// One kind of thing that the cloud holds.
#[derive(Clone, Debug)]
pub(in crate::sandbox) struct Table<T> {
    name: String,
    rows: BTreeMap<u64, (String, T)>,
    places: HashMap<String, u64>,
    next: u64,
    /// What the rows touched by this request were before it; `None` did not exist.
    before: Vec<(String, Option<(u64, T)>)>,
}

impl<T: Clone + Serialize + DeserializeOwned> Table<T> {
    pub(in crate::sandbox) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            rows: BTreeMap::new(),
            places: HashMap::new(),
            next: 0,
            before: Vec::new(),
        }
    }

    pub(in crate::sandbox) fn get(&self, id: &str) -> Option<&T> {
        let place = self.places.get(id)?;
        self.rows.get(place).map(|(_, row)| row)
    }

    pub(in crate::sandbox) fn contains(&self, id: &str) -> bool {
        self.places.contains_key(id)
    }

    /// A row to be changed; the change is part of this request.
    pub(in crate::sandbox) fn edit(&mut self, id: &str) -> Option<&mut T> {
        self.touch(id);
        let place = self.places.get(id)?;
        self.rows.get_mut(place).map(|(_, row)| row)
    }

    /// Adds a row at the end, or replaces the one of this id in its place.
    pub(in crate::sandbox) fn insert(&mut self, id: &str, row: T) {
        self.touch(id);
        match self.places.get(id) {
            Some(place) => {
                self.rows.insert(*place, (id.to_owned(), row));
            }
            None => {
                let place = self.next;
                self.put(place, id.to_owned(), row);
            }
        }
    }

    pub(in crate::sandbox) fn remove(&mut self, id: &str) -> Option<T> {
        self.touch(id);
        let place = self.places.remove(id)?;
        self.rows.remove(&place).map(|(_, row)| row)
    }

    /// In the order of creation.
    pub(in crate::sandbox) fn values(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.values().map(|(_, row)| row)
    }

    /// Ids and rows in the order of creation.
    pub(in crate::sandbox) fn iter(&self) -> impl DoubleEndedIterator<Item = (&str, &T)> {
        self.rows.values().map(|(id, row)| (id.as_str(), row))
    }

    /// The ids of the rows that fit.
    pub(in crate::sandbox) fn ids_where(&self, fits: impl Fn(&T) -> bool) -> Vec<String> {
        self.iter().filter(|(_, row)| fits(row)).map(|(id, _)| id.to_owned()).collect()
    }

    fn put(&mut self, place: u64, id: String, row: T) {
        self.places.insert(id.clone(), place);
        self.rows.insert(place, (id, row));
        self.next = self.next.max(place + 1);
    }

    fn touch(&mut self, id: &str) {
        if self.before.iter().any(|(touched, _)| touched == id) {
            return;
        }
        let row = self.places.get(id).and_then(|place| {
            let (_, row) = self.rows.get(place)?;
            Some((*place, row.clone()))
        });
        self.before.push((id.to_owned(), row));
    }
}

/// What the journal needs of a table, whatever its rows are.
pub(in crate::sandbox) trait Rows {
    fn name(&self) -> &str;

    fn len(&self) -> usize;

    /// Adds a journal entry for each change of this request; how many there are.
    fn write_changes(&self, entries: &mut Vec<u8>) -> Result<usize, serde_json::Error>;

    /// Keeps the changes of this request.
    fn keep(&mut self);

    /// Takes the changes of this request back.
    fn undo(&mut self);

    /// Adds a journal entry for every row; how many there are.
    fn write_all(&self, entries: &mut Vec<u8>) -> Result<usize, serde_json::Error>;

    /// Every row as JSON.
    fn dump(&self) -> Vec<Value>;

    /// Does again what a journal entry says: null removes.
    fn replay(&mut self, place: u64, id: String, row: Value) -> Result<(), serde_json::Error>;
}

impl<T: Clone + Serialize + DeserializeOwned> Rows for Table<T> {
    fn name(&self) -> &str {
        &self.name
    }

    fn len(&self) -> usize {
        self.rows.len()
    }

    fn write_changes(&self, entries: &mut Vec<u8>) -> Result<usize, serde_json::Error> {
        let mut written = 0;
        for (id, before) in &self.before {
            match self.places.get(id) {
                Some(place) => {
                    let row = self.rows.get(place).map(|(_, row)| row);
                    entry(entries, &self.name, *place, id, row)?;
                }
                None if before.is_none() => continue, // made and removed by the same request
                None => entry::<T>(entries, &self.name, 0, id, None)?,
            }
            written += 1;
        }
        Ok(written)
    }

    fn keep(&mut self) {
        self.before.clear();
    }

    fn undo(&mut self) {
        for (id, before) in std::mem::take(&mut self.before) {
            if let Some(place) = self.places.remove(&id) {
                self.rows.remove(&place);
            }
            if let Some((place, row)) = before {
                self.put(place, id, row);
            }
        }
    }

    fn write_all(&self, entries: &mut Vec<u8>) -> Result<usize, serde_json::Error> {
        for (place, (id, row)) in &self.rows {
            entry(entries, &self.name, *place, id, Some(row))?;
        }
        Ok(self.rows.len())
    }

    fn dump(&self) -> Vec<Value> {
        self.values().filter_map(|row| serde_json::to_value(row).ok()).collect()
    }

    fn replay(&mut self, place: u64, id: String, row: Value) -> Result<(), serde_json::Error> {
        if row.is_null() {
            if let Some(place) = self.places.remove(&id) {
                self.rows.remove(&place);
            }
            return Ok(());
        }
        self.put(place, id, serde_json::from_value(row)?);
        Ok(())
    }
}

/// One entry of a list, with the comma that parts it from the next.
fn entry<T: Serialize>(
    entries: &mut Vec<u8>,
    table: &str,
    place: u64,
    id: &str,
    row: Option<&T>,
) -> Result<(), serde_json::Error> {
    serde_json::to_writer(&mut *entries, &(table, place, id, row))?;
    entries.push(b',');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table<i64> {
        let mut table = Table::new("numbers");
        table.insert("a", 1);
        table.insert("b", 2);
        table.keep();
        table
    }

    #[test]
    fn a_refused_request_leaves_no_trace() {
        let mut table = table();
        table.insert("c", 3);
        *table.edit("a").unwrap() = 10;
        table.remove("b");
        table.undo();
        assert_eq!(table.iter().collect::<Vec<_>>(), [("a", &1), ("b", &2)]);
    }

    #[test]
    fn journal_entries_bring_the_rows_back_in_their_order() {
        let mut table = table();
        let mut entries = Vec::new();
        table.write_all(&mut entries).unwrap();
        table.remove("a");
        table.insert("c", 3);
        table.write_changes(&mut entries).unwrap();
        let mut again: Table<i64> = Table::new("numbers");
        let list = format!("[{}]", String::from_utf8(entries).unwrap().trim_end_matches(','));
        let list: Vec<(String, u64, String, Value)> = serde_json::from_str(&list).unwrap();
        for (_, place, id, row) in list {
            again.replay(place, id, row).unwrap();
        }
        assert_eq!(again.iter().collect::<Vec<_>>(), [("b", &2), ("c", &3)]);
    }
}
