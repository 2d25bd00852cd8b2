//! The key that signs what the log has come to. It lies in a file of its own, so that whoever can
//! write the log's file alone cannot make another log pass for it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::key_bytes::{self, KeyBytes};
use crate::clock::Clock;
use crate::private_files::{self, PrivateFileError};

const PUBLIC_BYTES: usize = 32;
/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Why there is no signing key to work with.
#[derive(Debug, thiserror::Error)]
pub enum SigningKeyError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error(
        "{0}; whoever has read it can sign another history, which shows beside a checkpoint that \
         was kept elsewhere (`hearth checkpoint print`)"
    )]
    Exposed(PrivateFileError),
    #[error("{path} does not hold a signing key", path = path.display())]
    NotAKey { path: PathBuf },
}

/// An Ed25519 key pair.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// Reads the key: 32 bytes in base64. `None` where there is no file.
    pub fn load(path: &Path) -> Result<Option<Self>, SigningKeyError> {
        let read = private_files::read(path).map_err(|error| match error {
            PrivateFileError::Exposed { .. } => SigningKeyError::Exposed(error),
            PrivateFileError::File { .. } => error.into(),
        });
        let Some(text) = read? else { return Ok(None) };
        let not_a_key = || SigningKeyError::NotAKey { path: path.to_owned() };
        let key = KeyBytes::from_text(&text).and_then(|seed| Self::of_seed(&seed));
        Ok(Some(key.ok_or_else(not_a_key)?))
    }

    /// Reads the key, or makes the file.
    pub fn load_or_create(path: &Path, clock: &dyn Clock) -> Result<Self, SigningKeyError> {
        if let Some(key) = Self::load(path)? {
            return Ok(key);
        }
        let seed = KeyBytes::fresh(clock);
        let key = Self::of_seed(&seed)
            .ok_or_else(|| SigningKeyError::NotAKey { path: path.to_owned() })?;
        private_files::write(path, &key_bytes::lines(std::iter::once(&seed)))?;
        Ok(key)
    }

    fn of_seed(seed: &KeyBytes) -> Option<Self> {
        // A seed alone is a whole key; there is no public half to be at odds with it.
        Ed25519KeyPair::from_seed_unchecked(seed.as_array()).ok().map(Self)
    }

    /// The half that everybody may know.
    pub fn public(&self) -> PublicKey {
        let mut public = [0; PUBLIC_BYTES];
        public.copy_from_slice(self.0.public_key().as_ref());
        PublicKey(public)
    }

    /// Signs a text.
    pub fn sign(&self, text: &[u8]) -> [u8; SIGNATURE_BYTES] {
        let mut signature = [0; SIGNATURE_BYTES];
        signature.copy_from_slice(self.0.sign(text).as_ref());
        signature
    }
}

/// By which a signature is checked; base64 as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublicKey([u8; PUBLIC_BYTES]);

impl PublicKey {
    /// Whether the text was signed with the other half.
    pub fn has_signed(&self, text: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(text, signature).is_ok()
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl FromStr for PublicKey {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bytes = STANDARD.decode(text.trim()).ok();
        let key = bytes.and_then(|bytes| bytes.try_into().ok());
        key.map(Self).ok_or("a public key is 32 bytes in base64")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimulatedClock;

    #[test]
    fn a_kept_key_signs_what_its_public_half_knows_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("signing.key");
        let key = SigningKey::load_or_create(&path, &SimulatedClock::new(1)).unwrap();
        let again = SigningKey::load(&path).unwrap().unwrap();
        assert_eq!(key.public(), again.public());
        let signature = again.sign(b"text");
        let public: PublicKey = key.public().to_string().parse().unwrap();
        assert!(public.has_signed(b"text", &signature));
        assert!(!public.has_signed(b"texts", &signature));
        let other = SigningKey::load_or_create(&folder.path().join("b"), &SimulatedClock::new(2));
        assert!(!other.unwrap().public().has_signed(b"text", &signature));
    }
}
