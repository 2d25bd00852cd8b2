//! Reading a type's file so that every mistake in it is told, with its place. What may be written
//! is what the types of `format` and `schema` take: nothing of it is told twice. A mistake is noted
//! and set aside, and the rest is read again.

mod failure;
mod input;
mod scalars;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;

use super::Declaration;
use crate::resource_types::finders::Rows;
use crate::template::{Place, Written, written};
use failure::{Failure, What};
use input::Input;

/// What is wrong in a file, and where; lines and columns count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub line: u32,
    pub column: u32,
    pub message: String,
    /// The known word next to the one that is wrong.
    pub meant: Option<String>,
}

/// A file as far as it can be read.
pub(crate) struct Looked {
    /// With defaults in the place of what is wrong; `None` where there is too little.
    pub(crate) declaration: Option<Declaration>,
    pub(crate) root: Option<Written>,
    pub(crate) notes: Notes,
}

impl Looked {
    /// What the file says; the error is all that is wrong.
    pub(crate) fn whole(self) -> Result<Declaration, Vec<Mistake>> {
        match self.declaration {
            Some(declaration) if self.notes.mistakes.is_empty() => Ok(declaration),
            _ => Err(self.notes.mistakes),
        }
    }
}

/// What is learned of a document while it is read.
#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) mistakes: Vec<Mistake>,
    /// Keys that stand nowhere and have to: by the place of their map.
    given: BTreeSet<(Place, &'static str)>,
    /// Nodes that are passed over.
    pub(crate) hidden: BTreeSet<Place>,
    /// The keys that each map may have, and which of them it has somewhere.
    #[cfg(test)]
    keys: std::collections::BTreeMap<&'static [&'static str], BTreeSet<String>>,
    /// How many entries of maps and lists were come to.
    #[cfg(test)]
    entries: usize,
    /// The words of enums.
    #[cfg(test)]
    words: BTreeSet<&'static str>,
}

/// Reads a file; the error is all that is wrong.
pub(crate) fn read(text: &str) -> Result<Declaration, Vec<Mistake>> {
    look(text).whole()
}

/// Reads what can be read of an operator's own file. Programs are for Hearth's: they know the
/// properties of the types that they are for.
pub(crate) fn look_at_plugin(text: &str) -> Looked {
    let mut looked = look(text);
    let program = looked.declaration.as_ref().and_then(|declaration| declaration.program.as_ref());
    if program.is_some()
        && let Some((_, value)) = looked.root.as_ref().and_then(|root| root.entry("program"))
    {
        let message = "programs are for Hearth's own types";
        looked.notes.add(value.place, message, None);
    }
    looked
}

/// Reads a file of finders; the error is all that is wrong.
pub(crate) fn read_finders(text: &str) -> Result<Rows, Vec<Mistake>> {
    let (root, notes) = document(text);
    match root.as_ref().and_then(|root| all(root, &notes)) {
        Some(rows) if notes.borrow().mistakes.is_empty() => Ok(rows),
        _ => Err(notes.into_inner().mistakes),
    }
}

/// Reads what can be read of a file.
pub(crate) fn look(text: &str) -> Looked {
    let (root, notes) = document(text);
    let declaration = root.as_ref().and_then(|root| all(root, &notes));
    let declaration = declaration.map(Declaration::completed);
    Looked { declaration, root, notes: notes.into_inner() }
}

fn document(text: &str) -> (Option<Written>, RefCell<Notes>) {
    let notes = RefCell::new(Notes::default());
    let root = match written(text) {
        Ok(Some(root)) => Some(root),
        Ok(None) => {
            notes.borrow_mut().add(Place { line: 1, column: 1 }, "the file is empty", None);
            None
        }
        Err((place, problem)) => {
            notes.borrow_mut().add(place, problem, None);
            None
        }
    };
    (root, notes)
}

/// All that can be read, behind what is wrong.
fn all<'de, T: Deserialize<'de>>(root: &Written, notes: &RefCell<Notes>) -> Option<T> {
    loop {
        let failure = match T::deserialize(Input::of(root, notes)) {
            Ok(read) => return Some(read),
            Err(failure) => failure.at(Some(root)),
        };
        let mut notes = notes.borrow_mut();
        // Each turn sets one thing more aside, so there is an end.
        if notes.set_aside(failure).is_err() || notes.hidden.contains(&root.place) {
            return None;
        }
    }
}

impl Notes {
    /// Has what could not be read passed over from now on; an error where it is already.
    fn set_aside(&mut self, failure: Failure) -> Result<(), Failure> {
        let Some(place) = failure.place else { return Err(failure) };
        let is_new = match &failure.what {
            What::Missing(key) => self.given.insert((place, key)),
            What::Follows => self.hidden.insert(place),
            What::Wrong { message, meant } => {
                self.add(place, message.clone(), meant.clone());
                self.hidden.insert(place)
            }
        };
        if is_new { Ok(()) } else { Err(failure) }
    }

    /// One entry more was come to.
    #[cfg(test)]
    fn count(&mut self) {
        self.entries += 1;
    }

    /// Notes a mistake, once.
    pub(crate) fn add(
        &mut self,
        place: Place,
        message: impl Into<String>,
        meant: impl Into<Option<String>>,
    ) {
        let Place { line, column } = place;
        let mistake = Mistake { line, column, message: message.into(), meant: meant.into() };
        if !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }
}

/// `3:5: what, did you mean …?`
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)?;
        match &self.meant {
            Some(meant) => write!(f, ", did you mean `{meant}`?"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
