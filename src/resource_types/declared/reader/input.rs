//! A document as what serde reads from. It knows, as serde does, which keys a map may have and
//! which words an enum has; what is not there and has to be is handed over empty.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, EnumAccess, Expected, IntoDeserializer, MapAccess};
use serde::de::{SeqAccess, Unexpected, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer};

pub(super) use super::Notes;
use super::failure::{Failure, What};
use super::scalars;
use crate::template::{Place, Shape, Written, nearest};

/// A node to read; without one, what nobody wrote.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    node: Option<&'a Written>,
    notes: &'a RefCell<Notes>,
}

impl<'a> Input<'a> {
    pub(super) fn of(node: &'a Written, notes: &'a RefCell<Notes>) -> Self {
        Self { node: Some(node), notes }
    }

    fn shape(self) -> Option<&'a Shape> {
        self.node.map(|node| &node.shape)
    }

    /// The text of a scalar, if it is plain.
    fn plain(self) -> Option<&'a str> {
        match self.shape() {
            Some(Shape::Text { text, is_plain: true }) => Some(text),
            _ => None,
        }
    }

    fn is_empty(self) -> bool {
        self.node.is_none() || self.plain() == Some("")
    }

    fn unlike(self, wanted: &dyn Expected) -> Failure {
        let found = match self.shape() {
            None => "nothing".to_owned(),
            Some(Shape::List(_)) => "a list".to_owned(),
            Some(Shape::Map(_)) => "a map".to_owned(),
            Some(Shape::Text { text, is_plain: true }) if scalars::is_null(text) => {
                "nothing".to_owned()
            }
            Some(Shape::Text { text, .. }) => format!("`{text}`"),
        };
        Failure::wrong(format!("{wanted} is wanted here, not {found}")).at(self.node)
    }

    fn is_hidden(self, node: &Written) -> bool {
        self.notes.borrow().hidden.contains(&node.place)
    }

    fn has_mistakes(self, node: &Written) -> bool {
        let is_told = |node: &Written| {
            let Place { line, column } = node.place;
            let notes = self.notes.borrow();
            notes.mistakes.iter().any(|told| (told.line, told.column) == (line, column))
        };
        let within = |node: &Written| is_told(node) || self.has_mistakes(node);
        match &node.shape {
            Shape::Text { .. } => false,
            Shape::List(items) => items.iter().any(within),
            Shape::Map(entries) => entries.iter().any(|(key, value)| is_told(key) || within(value)),
        }
    }

    /// What can be read of an entry behind what is wrong in it, so that not all that is around it
    /// has to be read again; `None` where that is the entry itself.
    fn behind_mistakes<T>(
        self,
        entry: &Written,
        read: impl Fn() -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        loop {
            let failure = match read() {
                Ok(read) => return Ok(Some(read)),
                Err(failure) => failure,
            };
            self.notes.borrow_mut().set_aside(failure)?;
            if self.is_hidden(entry) {
                return Ok(None);
            }
        }
    }

    fn list<'de, V: Visitor<'de>>(
        self,
        visitor: V,
        count: Option<usize>,
    ) -> Result<V::Value, Failure> {
        let items = match self.shape() {
            Some(Shape::List(items)) => items.as_slice(),
            _ if self.is_empty() => &[],
            _ => return Err(self.unlike(&"a list")),
        };
        if let Some(count) = count
            && count != items.len()
        {
            let message = format!("{count} entries are wanted here, not {}", items.len());
            return Err(Failure::wrong(message).at(self.node));
        }
        visitor.visit_seq(Items { of: self, items }).map_err(|failure| failure.at(self.node))
    }

    /// A map with these keys, or with any.
    fn map<'de, V: Visitor<'de>>(
        self,
        visitor: V,
        known: Option<&'static [&'static str]>,
    ) -> Result<V::Value, Failure> {
        let entries = match (self.shape(), known) {
            (Some(Shape::Map(entries)), _) => entries.as_slice(),
            (None, _) => &[],
            (_, None) if self.is_empty() => &[],
            (_, None) => return Err(self.unlike(&"a map")),
            (_, Some(known)) => {
                let wanted = format!("a map with keys of `{}`", known.join("`, `"));
                return Err(self.unlike(&wanted.as_str()));
            }
        };
        #[cfg(test)]
        if let (Some(known), Some(_)) = (known, self.node) {
            let used = entries.iter().filter_map(|(key, _)| key.text()).map(str::to_owned);
            self.notes.borrow_mut().keys.entry(known).or_default().extend(used);
        }
        let added = self.added(known.unwrap_or_default());
        let access = Entries {
            of: self,
            entries: entries.iter(),
            known,
            met: HashMap::new(),
            value: None,
            added,
        };
        visitor.visit_map(access).map_err(|failure| {
            let failure = failure.at(self.node);
            if let (What::Missing(key), Some(node)) = (&failure.what, self.node)
                && failure.place == Some(node.place)
                && node.entry(key).is_none()
            {
                self.notes.borrow_mut().add(node.place, format!("`{key}` is missing"), None);
            }
            failure
        })
    }

    /// The keys that are handed over without anybody having written them.
    fn added(self, known: &'static [&'static str]) -> Vec<&'static str> {
        let Some(node) = self.node else { return known.to_vec() };
        let notes = self.notes.borrow();
        known.iter().copied().filter(|key| notes.given.contains(&(node.place, key))).collect()
    }
}

impl<'de> Deserializer<'de> for Input<'_> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.shape() {
            None => visitor.visit_unit(),
            Some(Shape::Text { text, is_plain: true }) => scalars::visit(text, visitor),
            Some(Shape::Text { text, .. }) => visitor.visit_str(text),
            Some(Shape::List(_)) => self.list(visitor, None),
            Some(Shape::Map(_)) => self.map(visitor, None),
        }
        .map_err(|failure| failure.at(self.node))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let truth = match self.node {
            None => Some(false),
            Some(_) => self.plain().and_then(scalars::boolean),
        };
        visitor.visit_bool(truth.ok_or_else(|| self.unlike(&"true or false"))?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        let number = match self.node {
            None => Some(0),
            Some(_) => self.plain().and_then(scalars::integer),
        };
        let number = number.and_then(|number| u64::try_from(number).ok());
        visitor.visit_u64(number.ok_or_else(|| self.unlike(&"a whole number"))?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        // Any scalar is a text where one is wanted: a version, a number.
        match self.shape() {
            None => visitor.visit_str(""),
            Some(Shape::Text { text, .. }) => visitor.visit_str(text),
            Some(Shape::List(_) | Shape::Map(_)) => Err(self.unlike(&"a text")),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.node.is_none() || self.plain().is_some_and(scalars::is_null) {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.list(visitor, None)
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.list(visitor, Some(count))
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.map(visitor, None)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.map(visitor, Some(known))
    }

    /// A word of several, or a map of the word and its setting.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        #[cfg(test)]
        self.notes.borrow_mut().words.extend(known);
        let (word, setting) = match self.shape() {
            None => (known.first().copied(), None),
            Some(Shape::Text { text, .. }) => (Some(text.as_str()), None),
            Some(Shape::Map(entries)) => match entries.as_slice() {
                [(word, setting)] => (word.text(), Some(setting)),
                _ => (None, None),
            },
            Some(Shape::List(_)) => (None, None),
        };
        let word = word.unwrap_or_default();
        if known.contains(&word) {
            let setting = setting.map(|node| Input { node: Some(node), ..self });
            return visitor.visit_enum(Choice { word, setting });
        }
        let mut failure = self.unlike(&format!("one of `{}`", known.join("`, `")).as_str());
        if let What::Wrong { meant, .. } = &mut failure.what {
            *meant = nearest(word, known.iter().map(|word| (*word).to_owned()));
        }
        Err(failure)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i64 i128 u128 f32 f64 char bytes byte_buf unit unit_struct identifier ignored_any
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u16<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_u64(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.deserialize_str(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        count: usize,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.list(visitor, Some(count))
    }
}

/// A word of several, and its setting where one is given.
struct Choice<'a> {
    word: &'a str,
    setting: Option<Input<'a>>,
}

impl<'de> EnumAccess<'de> for Choice<'_> {
    type Error = Failure;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), Failure> {
        let word: StrDeserializer<'_, Failure> = self.word.into_deserializer();
        Ok((seed.deserialize(word)?, self))
    }
}

impl<'de> VariantAccess<'de> for Choice<'_> {
    type Error = Failure;

    fn unit_variant(self) -> Result<(), Failure> {
        match self.setting {
            None => Ok(()),
            Some(_) => Err(Failure::wrong(format!("`{}` has no setting", self.word))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Failure> {
        let missing = || Failure::wrong(format!("`{}` has to have a setting", self.word));
        let setting = self.setting.ok_or_else(missing)?;
        seed.deserialize(setting).map_err(|failure| failure.at(setting.node))
    }

    // Nothing of the format has several settings without names, or named ones but by a type.
    fn tuple_variant<V: Visitor<'de>>(self, _: usize, _: V) -> Result<V::Value, Failure> {
        self.unit_variant().and_then(|()| Err(Failure::wrong("one setting is wanted here")))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        self.tuple_variant(0, visitor)
    }
}

/// The items of a list that are not passed over.
struct Items<'a> {
    of: Input<'a>,
    items: &'a [Written],
}

impl<'a> Items<'a> {
    /// The next item.
    fn next_item(&mut self) -> Option<&'a Written> {
        while let Some((item, rest)) = self.items.split_first() {
            self.items = rest;
            if !self.of.is_hidden(item) {
                #[cfg(test)]
                self.of.notes.borrow_mut().count();
                return Some(item);
            }
        }
        None
    }

    fn read<'de, T: DeserializeSeed<'de>>(
        &self,
        item: &Written,
        seed: T,
    ) -> Result<T::Value, Failure> {
        seed.deserialize(Input::of(item, self.of.notes)).map_err(|failure| match failure.place {
            None if self.of.has_mistakes(item) => {
                Failure { place: Some(item.place), what: What::Follows }
            }
            _ => failure.at(Some(item)),
        })
    }
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Failure> {
        self.next_item().map(|item| self.read(item, seed)).transpose()
    }

    fn next_element<T: Deserialize<'de>>(&mut self) -> Result<Option<T>, Failure> {
        while let Some(item) = self.next_item() {
            let read = self.of.behind_mistakes(item, || self.read(item, PhantomData::<T>))?;
            if read.is_some() {
                return Ok(read);
            }
        }
        Ok(None)
    }
}

/// The entries of a map that are not passed over, and those that nobody wrote.
struct Entries<'a> {
    of: Input<'a>,
    entries: std::slice::Iter<'a, (Written, Written)>,
    known: Option<&'static [&'static str]>,
    /// The keys so far, and their lines.
    met: HashMap<&'a str, u32>,
    value: Option<&'a Written>,
    added: Vec<&'static str>,
}

impl<'a> Entries<'a> {
    /// The next entry's key; what is wrong with keys is noted on the way.
    fn next_key(&mut self) -> Option<&'a str> {
        while let Some((key, value)) = self.entries.next() {
            #[cfg(test)]
            self.of.notes.borrow_mut().count();
            let Some(name) = key.text() else {
                self.note(key, "a key has to be a text", None);
                continue;
            };
            if let Some(known) = self.known
                && !known.contains(&name)
            {
                let meant = nearest(name, known.iter().map(|key| (*key).to_owned()));
                self.note(key, &format!("unknown key `{name}`"), meant);
                continue;
            }
            if let Some(line) = self.met.get(name) {
                self.note(key, &format!("`{name}` is in line {line} already"), None);
                continue;
            }
            self.met.insert(name, key.place.line);
            if !self.of.is_hidden(value) {
                self.value = Some(value);
                return Some(name);
            }
        }
        self.value = None;
        None
    }

    fn note(&self, key: &Written, message: &str, meant: Option<String>) {
        self.of.notes.borrow_mut().add(key.place, message, meant);
    }
}

impl<'de> MapAccess<'de> for Entries<'_> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Failure> {
        let Some(key) = self.next_key().or_else(|| self.added.pop()) else { return Ok(None) };
        let key: StrDeserializer<'_, Failure> = key.into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Failure> {
        let node = self.value.take();
        let input = Input { node, notes: self.of.notes };
        seed.deserialize(input).map_err(|failure| failure.at(node))
    }

    fn next_entry<K, V>(&mut self) -> Result<Option<(K, V)>, Failure>
    where
        K: Deserialize<'de>,
        V: Deserialize<'de>,
    {
        while let Some(key) = MapAccess::next_key(self)? {
            let Some(node) = self.value.take() else { return Ok(Some((key, self.next_value()?))) };
            let input = Input { node: Some(node), notes: self.of.notes };
            let read = || V::deserialize(input).map_err(|failure| failure.at(Some(node)));
            if let Some(value) = self.of.behind_mistakes(node, read)? {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }
}

impl de::Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::wrong(message.to_string())
    }

    fn missing_field(key: &'static str) -> Self {
        Self { place: None, what: What::Missing(key) }
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn Expected) -> Self {
        Self::wrong(format!("{wanted} is wanted here, not {found}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Missing(key) => write!(f, "`{key}` is missing"),
            What::Wrong { message, .. } => f.write_str(message),
            What::Follows => f.write_str("there are mistakes within"),
        }
    }
}

impl std::error::Error for Failure {}
