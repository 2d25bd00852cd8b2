//! OS::Barbican::Secret: what is said of its payload must go together, and the payload is shown by a
//! call of its own.

use serde_json::Value;

use super::{payload, write_expiration};
use crate::model::{JsonMap, Refusal};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;
use crate::resource_types::resource_type::{At, Purpose, ResourceType};

pub(in crate::resource_types::types) struct Secret;

impl ResourceType for Secret {
    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        write_expiration(body);
        let is_told = body.contains_key("payload_content_type")
            || body.contains_key("payload_content_encoding");
        if body.contains_key("payload") && !is_told {
            body.insert("payload_content_type".to_owned(), "text/plain".into());
        }
    }

    fn validate(&self, _name: &str, properties: &JsonMap) -> Result<(), Refusal> {
        let text = |name: &str| {
            let text = properties.get(name).and_then(Value::as_str);
            text.filter(|text| !text.is_empty())
        };
        let kind = text("payload_content_type");
        let is_binary = kind == Some("application/octet-stream");
        if is_binary && text("payload").is_some_and(|payload| !is_base64(payload)) {
            return Err(Refusal::validation(
                "Invalid payload for specified 'base64' value of 'payload_content_encoding' \
                 property."
                    .to_owned(),
            ));
        }
        Ok(())
    }

    fn attribute(&self, at: At<'_>, object: &Value, name: &str) -> Result<Option<Value>, Failure> {
        let At { cloud, subject, .. } = at;
        match (name, &subject.physical_id) {
            ("decrypted_payload", Some(reference)) => payload(cloud, object, reference).map(Some),
            _ => Ok(None),
        }
    }
}

/// Whether Python reads it as base64: what is no letter of it is passed over, and its end is full.
fn is_base64(text: &str) -> bool {
    let is_letter = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/');
    let letters = text.chars().filter(is_letter).count();
    let filling = text.chars().filter(|c| *c == '=').count();
    let is_full = match letters % 4 {
        0 => true,
        1 => false,
        rest => filling >= 4 - rest,
    };
    text.is_ascii() && is_full
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_binary_payload_is_base64() {
        for (text, is_read) in
            [("YQ==", true), ("YWJj", true), ("Y W\nJj", true), ("YWJ", false), ("Y===", false)]
        {
            assert_eq!(is_base64(text), is_read, "{text}");
        }
        assert!(!is_base64("ä"));
    }

    #[test]
    fn a_payload_of_no_kind_is_text() {
        let mut body = JsonMap::from_iter([("payload".to_owned(), json!("p"))]);
        Secret.body(Purpose::Create, &Subject::default(), &mut body);
        assert_eq!(body["payload_content_type"], "text/plain");
    }
}
