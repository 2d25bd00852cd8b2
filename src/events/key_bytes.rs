//! The bytes of a key. They have one place in memory, where they are made, and are wiped when they
//! go: what is moved is the way to them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::clock::Clock;

/// Bytes of a key.
pub(super) const KEY_BYTES: usize = 32;
/// A key in base64, padding included.
const TEXT_BYTES: usize = KEY_BYTES.div_ceil(3) * 4;

/// See the module.
#[derive(Clone)]
pub(super) struct KeyBytes(Box<Zeroizing<[u8; KEY_BYTES]>>);

impl KeyBytes {
    /// A key out of the clock's randomness.
    pub(super) fn fresh(clock: &dyn Clock) -> Self {
        let mut key = Self::empty();
        clock.fill(&mut **key.0);
        key
    }

    /// A key in base64.
    pub(super) fn from_text(text: &str) -> Option<Self> {
        // The decoder reckons with whole groups of three.
        let mut bytes = Zeroizing::new([0; TEXT_BYTES / 4 * 3]);
        let length = STANDARD.decode_slice(text.trim(), &mut *bytes).ok()?;
        let mut key = Self::empty();
        key.0.copy_from_slice(bytes.get(..length).filter(|key| key.len() == KEY_BYTES)?);
        Some(key)
    }

    pub(super) fn as_array(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    fn empty() -> Self {
        Self(Box::new(Zeroizing::new([0; KEY_BYTES])))
    }
}

/// The text of a file of keys, one in base64 per line.
pub(super) fn lines<'k>(keys: impl Iterator<Item = &'k KeyBytes> + Clone) -> Zeroizing<String> {
    // A text that grows would leave keys behind.
    let length = keys.clone().count() * (TEXT_BYTES + 1);
    let mut lines = Zeroizing::new(String::with_capacity(length));
    for key in keys {
        let mut text = Zeroizing::new([0; TEXT_BYTES]);
        let written = STANDARD.encode_slice(key.as_array(), &mut *text);
        let text = written.ok().and_then(|length| std::str::from_utf8(&text[..length]).ok());
        lines.extend(text);
        lines.push('\n');
    }
    lines
}
