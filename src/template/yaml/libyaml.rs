//! A thin safe wrapper over the YAML scanner, and the one place of the project with unsafe code.
//! It hands out owned events and keeps every pointer of the scanner to itself.

use std::ffi::CStr;
use std::mem::MaybeUninit;

use libyaml_rs as sys;

use super::error::YamlError;
use super::event::{Event, EventKind, Events};
use crate::template::place::Place;

/// Scans a text into events.
pub(super) struct Scanner<'text> {
    parser: Box<MaybeUninit<sys::yaml_parser_t>>,
    /// The parser reads from here until it is dropped.
    _text: &'text str,
}

#[expect(unsafe_code, reason = "the scanner has the interface of a C library")]
impl<'text> Scanner<'text> {
    /// Begins to scan.
    pub(super) fn new(text: &'text str) -> Result<Self, YamlError> {
        // A mark of the byte order belongs to no document.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut parser = Box::new(MaybeUninit::<sys::yaml_parser_t>::uninit());
        // SAFETY: the parser is initialized before anything else touches it, stays where it is on
        // the heap, and the text outlives it by the lifetime.
        unsafe {
            if sys::yaml_parser_initialize(parser.as_mut_ptr()).fail {
                return Err(YamlError::at(Place::default(), "the YAML scanner could not start"));
            }
            sys::yaml_parser_set_encoding(parser.as_mut_ptr(), sys::YAML_UTF8_ENCODING);
            sys::yaml_parser_set_input_string(
                parser.as_mut_ptr(),
                text.as_ptr(),
                text.len() as u64,
            );
        }
        Ok(Self { parser, _text: text })
    }
}

#[expect(unsafe_code, reason = "the scanner has the interface of a C library")]
impl Events for Scanner<'_> {
    fn next(&mut self) -> Result<Event, YamlError> {
        let mut event = MaybeUninit::<sys::yaml_event_t>::uninit();
        // SAFETY: the parser was initialized by `new`; an event is read only after the parser
        // filled it, its union by the type that says which part is set, and deleted once.
        unsafe {
            if sys::yaml_parser_parse(self.parser.as_mut_ptr(), event.as_mut_ptr()).fail {
                return Err(self.error());
            }
            let mut event = event.assume_init();
            let kind = owned(&event);
            let place = place(event.start_mark);
            sys::yaml_event_delete(&raw mut event);
            Ok(Event { place, kind: kind? })
        }
    }
}

#[expect(unsafe_code, reason = "what it complains about is in its memory")]
impl Scanner<'_> {
    /// What the parser complains about: the other reader has the words for it.
    ///
    /// # Safety
    /// The parser is initialized and has just failed.
    unsafe fn error(&self) -> YamlError {
        // SAFETY: by contract; the message is a static string or null.
        unsafe {
            let parser = &*self.parser.as_ptr();
            let problem = match parser.problem.is_null() {
                true => String::new(),
                false => CStr::from_ptr(parser.problem.cast()).to_string_lossy().into_owned(),
            };
            YamlError::at(place(parser.problem_mark), problem)
        }
    }
}

#[expect(unsafe_code, reason = "what the scanner allocated has to be freed by it")]
impl Drop for Scanner<'_> {
    fn drop(&mut self) {
        // SAFETY: initialized by `new`, deleted here and nowhere else.
        unsafe { sys::yaml_parser_delete(self.parser.as_mut_ptr()) }
    }
}

fn place(mark: sys::yaml_mark_t) -> Place {
    let count = |from_zero: u64| u32::try_from(from_zero + 1).unwrap_or(u32::MAX);
    Place { line: count(mark.line), column: count(mark.column) }
}

/// Copies an event out of the scanner's memory.
///
/// # Safety
/// The event was filled by the parser and not deleted yet.
#[expect(unsafe_code, reason = "the event is a tagged union of the C kind")]
unsafe fn owned(event: &sys::yaml_event_t) -> Result<EventKind, YamlError> {
    // SAFETY: the type says which part of the union is set; strings are null or end with NUL.
    unsafe {
        Ok(match event.type_ {
            sys::YAML_STREAM_START_EVENT => EventKind::StreamStart,
            sys::YAML_DOCUMENT_START_EVENT => EventKind::DocumentStart,
            sys::YAML_DOCUMENT_END_EVENT => EventKind::DocumentEnd,
            sys::YAML_ALIAS_EVENT => {
                EventKind::Alias { anchor: text(event.data.alias.anchor).unwrap_or_default() }
            }
            sys::YAML_SCALAR_EVENT => {
                let scalar = &event.data.scalar;
                let bytes = std::slice::from_raw_parts(scalar.value, scalar.length as usize);
                EventKind::Scalar {
                    anchor: text(scalar.anchor),
                    tag: text(scalar.tag),
                    text: String::from_utf8_lossy(bytes).as_ref().into(),
                    plain: scalar.plain_implicit,
                }
            }
            sys::YAML_SEQUENCE_START_EVENT => EventKind::SequenceStart {
                anchor: text(event.data.sequence_start.anchor),
                tag: text(event.data.sequence_start.tag),
            },
            sys::YAML_SEQUENCE_END_EVENT => EventKind::SequenceEnd,
            sys::YAML_MAPPING_START_EVENT => EventKind::MappingStart {
                anchor: text(event.data.mapping_start.anchor),
                tag: text(event.data.mapping_start.tag),
            },
            sys::YAML_MAPPING_END_EVENT => EventKind::MappingEnd,
            sys::YAML_STREAM_END_EVENT => EventKind::StreamEnd,
            _ => return Err(YamlError::at(Place::default(), "the YAML scanner lost its way")),
        })
    }
}

/// A string of the scanner, copied.
///
/// # Safety
/// The pointer is null or points to bytes that end with NUL.
#[expect(unsafe_code, reason = "the scanner's strings are C strings")]
unsafe fn text(pointer: *mut u8) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: by contract.
    Some(unsafe { CStr::from_ptr(pointer.cast()) }.to_string_lossy().into_owned())
}
