//! How large may be what users have kept: one table of limits, each with the words that say so.
//! What a request may bring at once is bounded by its body (`max_json_body_size`), a template by
//! `max_template_size`, with the descriptions in it, and a signal by `max_signal_size`.

use std::io;

use serde::Serialize;

use super::Refusal;

/// The most that there may be of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub of: &'static str,
    pub max: usize,
    pub unit: Unit,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Characters,
    /// Of JSON.
    Bytes,
    Items,
}

const fn characters(of: &'static str, max: usize) -> Limit {
    Limit { of, max, unit: Unit::Characters }
}

const fn bytes(of: &'static str, max: usize) -> Limit {
    Limit { of, max, unit: Unit::Bytes }
}

const fn items(of: &'static str, max: usize) -> Limit {
    Limit { of, max, unit: Unit::Items }
}

const MIB: usize = 1024 * 1024;

/// Heat's `max_stack_name`.
pub const STACK_NAME: Limit = characters("stack_name", 255);
pub const TAG: Limit = characters("tag", 80);
/// Of a stack, or in a list's filter: a deeper filter SQLite does not take.
pub const TAGS: Limit = items("tags", 200);

// Heat's columns.
pub const NAME: Limit = characters("name", 255);
pub const GROUP: Limit = characters("group", 255);
pub const SERVER: Limit = characters("server_id", 255);
pub const USERS_PROJECT: Limit = characters("stack_user_project_id", 64);
pub const ACTION: Limit = characters("action", 255);
pub const STATUS: Limit = characters("status", 255);
pub const REASON: Limit = characters("status_reason", 65_535);
/// The same, of a resource.
pub const RESOURCE_REASON: Limit = characters("resource_status_reason", 65_535);

pub const CONFIG: Limit = bytes("Software config", 4 * MIB);
pub const CONFIG_INPUTS: Limit = bytes("Software config inputs", 2 * MIB);
pub const CONFIG_OUTPUTS: Limit = bytes("Software config outputs", 2 * MIB);
pub const CONFIG_OPTIONS: Limit = bytes("Software config options", 2 * MIB);
pub const INPUT_VALUES: Limit = bytes("Deployment input_values", 2 * MIB);
pub const OUTPUT_VALUES: Limit = bytes("Deployment output_values", 2 * MIB);

/// Of what a revision is made of. What a PATCH does not send stays, so that no limit of one request
/// bounds it.
pub const SOURCE: Limit = bytes("Template with environment and files", 24 * MIB);
/// Of a revision: a PATCH leaves the others as they are, too.
pub const PARAMETERS: Limit = bytes("Parameters", 4 * MIB);

// Of one resource, as they are resolved.
pub const PROPERTIES: Limit = bytes("Resource properties", 4 * MIB);
pub const METADATA: Limit = bytes("Resource metadata", 4 * MIB);
/// Of what signals have added to a resource's metadata.
pub const SIGNALS: Limit = bytes("Signals", MIB);

/// All of them.
pub const LIMITS: [Limit; 22] = [
    STACK_NAME,
    TAG,
    TAGS,
    NAME,
    GROUP,
    SERVER,
    USERS_PROJECT,
    ACTION,
    STATUS,
    REASON,
    RESOURCE_REASON,
    CONFIG,
    CONFIG_INPUTS,
    CONFIG_OUTPUTS,
    CONFIG_OPTIONS,
    INPUT_VALUES,
    OUTPUT_VALUES,
    SOURCE,
    PARAMETERS,
    PROPERTIES,
    METADATA,
    SIGNALS,
];

impl Limit {
    /// Refuses more than there may be, in Heat's words: for texts those of its objects, for all
    /// else those of its limits.
    pub fn check(self, found: usize) -> Result<(), Refusal> {
        let Self { of, max, unit } = self;
        if found <= max {
            return Ok(());
        }
        Err(match unit {
            Unit::Characters => Refusal::new(
                "Invalid",
                format!(
                    "Data supplied was not valid: \"{of}\" should be no more than {max} characters"
                ),
            ),
            Unit::Bytes => too_long(of, found, max),
            Unit::Items => Refusal::new(
                "RequestLimitExceeded",
                format!("Request limit exceeded: there are {found} {of} and may be {max}."),
            ),
        })
    }

    /// The same of a text, by its characters.
    pub fn check_text(self, text: Option<&str>) -> Result<(), Refusal> {
        self.check(text.map_or(0, |text| text.chars().count()))
    }

    /// The same of a value, by its length as JSON.
    pub fn check_json(self, value: &impl Serialize) -> Result<(), Refusal> {
        self.check(json_bytes(value))
    }

    /// As many characters of a text as there may be.
    pub fn shortened(self, mut text: String) -> String {
        if let Some((end, _)) = text.char_indices().nth(self.max) {
            text.truncate(end);
        }
        text
    }
}

/// Heat's refusal of what is too long.
pub fn too_long(what: &str, bytes: usize, limit: usize) -> Refusal {
    let text = format!(
        "Request limit exceeded: {what} size ({bytes} bytes) exceeds maximum allowed size ({limit} \
         bytes)."
    );
    Refusal::new("RequestLimitExceeded", text)
}

/// What may be held for one answer, in bytes.
pub const ANSWER_BYTES_MAX: usize = 32 * MIB;

/// What is left for an answer.
#[derive(Debug)]
pub struct Room(usize);

impl Default for Room {
    fn default() -> Self {
        Self(ANSWER_BYTES_MAX)
    }
}

impl Room {
    /// Takes what is about to be held.
    pub fn take(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.0 = self.0.checked_sub(bytes).ok_or_else(answer_too_large)?;
        Ok(())
    }
}

/// The refusal of an answer that would be too large.
pub fn answer_too_large() -> Refusal {
    let text = format!(
        "Request limit exceeded: The answer exceeds maximum allowed size ({ANSWER_BYTES_MAX} \
         bytes)."
    );
    Refusal::new("RequestLimitExceeded", text)
}

/// A value as JSON, where that is no larger than an answer may be.
pub fn answer_json(value: &impl Serialize) -> Result<Vec<u8>, AnswerError> {
    let mut answer = Answer { json: Vec::new(), room: Room::default() };
    match serde_json::to_writer(&mut answer, value) {
        Ok(()) => Ok(answer.json),
        Err(error) if error.is_io() => Err(AnswerError::TooLarge),
        Err(error) => Err(AnswerError::Json(error)),
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("the answer is too large")]
    TooLarge,
    #[error("the answer could not be written")]
    Json(#[source] serde_json::Error),
}

struct Answer {
    json: Vec<u8>,
    room: Room,
}

impl io::Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.room.take(bytes.len()).map_err(io::Error::other)?;
        self.json.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How long a value is as JSON, without writing it anywhere.
pub fn json_bytes(value: &impl Serialize) -> usize {
    let mut count = Count(0);
    // Nothing fails that goes nowhere; a value that is none is as long as it came.
    let _ = serde_json::to_writer(&mut count, value);
    count.0
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_limit_lets_in_what_it_says_and_no_more() {
        for limit in LIMITS {
            assert!(limit.check(limit.max).is_ok(), "{}", limit.of);
            let refused = limit.check(limit.max + 1).unwrap_err();
            assert!(refused.message.contains(&limit.max.to_string()), "{refused}");
        }
    }

    #[test]
    fn a_value_is_counted_as_it_is_written() {
        let value = json!({ "a": ["é\n", 1.5, null], "b": {} });
        assert_eq!(json_bytes(&value), value.to_string().len());
    }

    #[test]
    fn an_answer_is_as_large_as_it_may_be_and_no_larger() {
        let of = |bytes: usize| answer_json(&"x".repeat(bytes - 2));
        assert_eq!(of(ANSWER_BYTES_MAX).unwrap().len(), ANSWER_BYTES_MAX);
        assert!(matches!(of(ANSWER_BYTES_MAX + 1), Err(AnswerError::TooLarge)));
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(REASON.shortened("short".to_owned()), "short");
        let cut = REASON.shortened("é".repeat(REASON.max + 1));
        assert_eq!(cut, "é".repeat(REASON.max));
    }
}
