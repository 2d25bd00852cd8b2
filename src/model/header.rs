//! The text of a header.

use std::borrow::Cow;

/// What the bytes of a header say: in UTF-8, as Heat's own clients send it, or else in Latin-1, as
/// Python's libraries send a text and Heat reads all of them.
pub fn header_text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_in_both_ways_in_which_clients_write_it() {
        assert_eq!(header_text(b"demo"), "demo");
        assert_eq!(header_text("jörg".as_bytes()), "jörg");
        assert_eq!(header_text(b"j\xf6rg"), "jörg");
    }
}
