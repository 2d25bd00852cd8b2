//! What gives its items one by one: yaql's lazy iterators, and a cursor over any collection.

use std::cell::RefCell;
use std::rc::Rc;

use super::{List, Part, Value};
use crate::template::error::{Outcome, TemplateError};
use crate::template::yaql::failure;
use crate::template::yaql::machine::{Held, Machine};

/// Makes the next item; none at the end.
type Producer = Box<dyn FnMut(&mut Machine) -> Outcome<Option<Value>>>;

/// A lazy iterator. Who takes an item takes it from everybody, unless it remembers.
pub(in crate::template::yaql) struct Stream {
    producer: RefCell<Option<Producer>>,
    /// What it gave so far, if it remembers that: then everybody starts at the first item.
    memory: Option<RefCell<Vec<Value>>>,
}

impl Stream {
    fn new(producer: Producer, remembers: bool) -> Self {
        let memory = remembers.then(RefCell::default);
        Self { producer: RefCell::new(Some(producer)), memory }
    }

    /// The next item. After the end, or an error, there is none.
    pub(in crate::template::yaql) fn next(&self, machine: &mut Machine) -> Outcome<Option<Value>> {
        // While it works the producer is out, so one that reads itself finds the end.
        let Some(mut producer) = self.producer.borrow_mut().take() else { return Ok(None) };
        machine.step(1)?;
        machine.enter()?;
        let item = producer(machine);
        machine.leave();
        let item = item?;
        if item.is_some() {
            self.producer.replace(Some(producer));
        }
        Ok(item)
    }

    /// The item at a place, which it remembers or makes now.
    fn remembered(
        &self,
        memory: &RefCell<Vec<Value>>,
        at: usize,
        machine: &mut Machine,
    ) -> Outcome<Option<Value>> {
        let known = memory.borrow().get(at).cloned();
        if known.is_some() {
            return Ok(known);
        }
        let item = self.next(machine)?;
        memory.borrow_mut().extend(item.clone());
        machine.limit_bytes(56 + 8 * memory.borrow().len())?;
        Ok(item)
    }
}

impl Held for Stream {
    fn clear(&self) {
        self.producer.replace(None);
        if let Some(memory) = &self.memory {
            memory.borrow_mut().clear();
        }
    }
}

impl Machine {
    /// A lazy iterator.
    pub(in crate::template::yaql) fn stream(
        &mut self,
        producer: impl FnMut(&mut Machine) -> Outcome<Option<Value>> + 'static,
    ) -> Value {
        self.keep_stream(Box::new(producer), false)
    }

    /// A lazy iterator that can be gone through more than once.
    pub(in crate::template::yaql) fn remembering(&mut self, mut cursor: Cursor) -> Value {
        self.keep_stream(Box::new(move |machine| cursor.next(machine)), true)
    }

    fn keep_stream(&mut self, producer: Producer, remembers: bool) -> Value {
        let stream = Rc::new(Stream::new(producer, remembers));
        self.hold(Rc::<Stream>::clone(&stream));
        Value::Stream(stream)
    }
}

/// A place in a collection.
pub(in crate::template::yaql) enum Cursor {
    Items(Rc<[Value]>, usize),
    List(Rc<List>, usize),
    Stream(Rc<Stream>, usize),
}

impl Cursor {
    /// The start of a collection; what is none is Python's `TypeError`.
    pub(in crate::template::yaql) fn over(
        machine: &mut Machine,
        collection: &Value,
    ) -> Outcome<Self> {
        Ok(match collection {
            Value::List(list) => Cursor::List(Rc::clone(list), 0),
            Value::Stream(stream) => Cursor::Stream(Rc::clone(stream), 0),
            Value::Set(set) => Cursor::Items(set.members.iter().cloned().collect(), 0),
            Value::View(view) => Cursor::Items(view.items()?.into(), 0),
            Value::Map(map) => Cursor::Items(map.entries.keys().cloned().collect(), 0),
            Value::Text(text) => Cursor::Items(characters(text).into(), 0),
            Value::Ordering(ordering) => Cursor::Items(ordering.sorted(machine)?, 0),
            other => {
                let message = format!("'{}' object is not iterable", other.kind());
                return Err(TemplateError::kind(message));
            }
        })
    }

    /// The next item.
    pub(in crate::template::yaql) fn next(
        &mut self,
        machine: &mut Machine,
    ) -> Outcome<Option<Value>> {
        match self {
            Cursor::Items(items, at) => Ok(advance(items, at)),
            Cursor::List(list, at) => Ok(advance(&list.items, at)),
            Cursor::Stream(stream, at) => match &stream.memory {
                None => stream.next(machine),
                Some(memory) => {
                    *at += 1;
                    stream.remembered(memory, *at - 1, machine)
                }
            },
        }
    }

    /// All items that are left.
    pub(in crate::template::yaql) fn rest(mut self, machine: &mut Machine) -> Outcome<Vec<Value>> {
        let mut items = Vec::new();
        while let Some(item) = self.next(machine)? {
            items.push(item);
        }
        Ok(items)
    }
}

fn advance(items: &[Value], at: &mut usize) -> Option<Value> {
    let item = items.get(*at).cloned();
    *at += 1;
    item
}

/// The characters of a text, as texts.
pub(in crate::template::yaql) fn characters(text: &str) -> Vec<Value> {
    text.chars().map(|c| Value::text(c.encode_utf8(&mut [0; 4]) as &str)).collect()
}

/// A collection that fails beyond a limit: at once where it knows its length, else on the way.
pub(in crate::template::yaql) fn limited(
    machine: &mut Machine,
    collection: Value,
    limit: usize,
) -> Outcome<Value> {
    let length = match &collection {
        Value::List(list) => Some(list.items.len()),
        Value::Set(set) => Some(set.members.len()),
        Value::View(view) if view.part != Part::Values => Some(view.of.entries.len()),
        _ => None,
    };
    match length {
        Some(length) if length > limit => Err(failure::collection(limit)),
        Some(_) => Ok(collection),
        None => {
            let mut cursor = None;
            let mut count = 0;
            Ok(machine.stream(move |machine| {
                let cursor = match &mut cursor {
                    Some(cursor) => cursor,
                    none => none.insert(Cursor::over(machine, &collection)?),
                };
                let item = cursor.next(machine)?;
                if item.is_some() && count == limit {
                    return Err(failure::collection(limit));
                }
                count += 1;
                Ok(item)
            }))
        }
    }
}
