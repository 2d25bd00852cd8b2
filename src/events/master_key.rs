//! The master key, which seals the keys of stacks and projects. It lies in a file of its own.
//!
//! The file holds a ring: one key in base64 per line, the first of which seals. There is more than
//! one only while a rotation is under way (`Vault::rotate`), so that every stack's key can be
//! opened at any moment of it.
//!
//! A sealed key is the id of the master key, a nonce and the AES-256-GCM ciphertext, bound to the
//! id and the scope. Those sealed before master keys had ids begin with the nonce and are bound to
//! the scope alone; they are read still.

use std::fmt;
use std::path::{Path, PathBuf};

use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload};
use aes_gcm::{Aes256Gcm, Key};
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use super::key_bytes::{self, KEY_BYTES, KeyBytes};
use crate::clock::Clock;
use crate::private_files::{self, PrivateFileError};

const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const ID_BYTES: usize = 8;
/// What a key sealed before master keys had ids is long.
const SEALED_WITHOUT_ID_BYTES: usize = NONCE_BYTES + KEY_BYTES + TAG_BYTES;
/// Keeps the id from being a hash that the key has anywhere else.
const ID_DOMAIN: &[u8] = b"hearth master key id\0";
/// Keeps a key that makes digests from being the one that seals.
const DIGEST_DOMAIN: &[u8] = b"hearth digest\0";
/// A digest is so long.
pub(super) const DIGEST_BYTES: usize = 32;

/// Why there is no master key to work with.
#[derive(Debug, thiserror::Error)]
pub enum MasterKeyError {
    #[error(transparent)]
    File(#[from] PrivateFileError),
    #[error("{0}; then `hearth key rotate` replaces it, if they may have read it")]
    Exposed(PrivateFileError),
    #[error("{path} does not hold a master key", path = path.display())]
    NotAKey { path: PathBuf },
    #[error(
        "there is no master key at {path}, and the log holds keys that were sealed with one: put \
         the file back from where it is kept, or say where it lies with --master-key",
        path = path.display()
    )]
    Missing { path: PathBuf },
    #[error(
        "{path} holds another master key ({found}) than the one that the log's keys were sealed \
         with{wanted}: put that one in its place",
        path = path.display(),
        wanted = wanted.map_or(String::new(), |id| format!(" ({id})"))
    )]
    Another { path: PathBuf, found: KeyId, wanted: Option<KeyId> },
}

/// By what a master key is told apart: the first bytes of a hash of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KeyId([u8; ID_BYTES]);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One master key.
#[derive(Clone)]
pub struct MasterKey(KeyBytes);

impl MasterKey {
    /// A key out of the clock's randomness.
    pub fn fresh(clock: &dyn Clock) -> Self {
        Self(KeyBytes::fresh(clock))
    }

    /// The id.
    pub fn id(&self) -> KeyId {
        let digest =
            Sha256::new().chain_update(ID_DOMAIN).chain_update(self.0.as_array()).finalize();
        let mut id = [0; ID_BYTES];
        id.copy_from_slice(&digest[..ID_BYTES]);
        KeyId(id)
    }

    fn from_text(line: &str) -> Option<Self> {
        KeyBytes::from_text(line).map(Self)
    }

    fn cipher(&self) -> Aes256Gcm {
        Aes256Gcm::new(Key::<Aes256Gcm>::cast_from_core(self.0.as_array()))
    }
}

/// A key of its own, out of one that seals, for digests.
pub(super) struct DigestKey(Zeroizing<[u8; DIGEST_BYTES]>);

impl DigestKey {
    pub(super) fn of(key: &[u8; KEY_BYTES]) -> Self {
        let own = Sha256::new().chain_update(DIGEST_DOMAIN).chain_update(key).finalize();
        Self(Zeroizing::new(own.into()))
    }

    pub(super) fn digest(&self, text: &[u8]) -> [u8; DIGEST_BYTES] {
        let mac = Hmac::<Sha256>::new_from_slice(self.0.as_slice());
        mac.map(|mac| mac.chain_update(text).finalize().into_bytes().into()).unwrap_or_default()
    }
}

/// The master keys in use: the first seals, all of them open.
#[derive(Clone)]
pub struct KeyRing {
    first: MasterKey,
    older: Vec<MasterKey>,
}

impl From<MasterKey> for KeyRing {
    fn from(first: MasterKey) -> Self {
        Self { first, older: Vec::new() }
    }
}

impl KeyRing {
    /// Reads the ring; `None` where there is no file.
    pub fn load(path: &Path) -> Result<Option<Self>, MasterKeyError> {
        let read = private_files::read(path).map_err(|error| match error {
            PrivateFileError::Exposed { .. } => MasterKeyError::Exposed(error),
            PrivateFileError::File { .. } => error.into(),
        });
        let Some(text) = read? else { return Ok(None) };
        let keys: Option<Vec<MasterKey>> = text.lines().map(MasterKey::from_text).collect();
        let mut keys = keys.unwrap_or_default().into_iter();
        match keys.next() {
            Some(first) => Ok(Some(Self { first, older: keys.collect() })),
            None => Err(MasterKeyError::NotAKey { path: path.to_owned() }),
        }
    }

    /// Writes the ring, whole or not at all.
    pub fn save(&self, path: &Path) -> Result<(), MasterKeyError> {
        let keys = std::iter::once(&self.first).chain(&self.older).map(|key| &key.0);
        Ok(private_files::write(path, &key_bytes::lines(keys))?)
    }

    /// This ring with a fresh key in front, which seals from now on.
    pub fn with_fresh(&self, clock: &dyn Clock) -> Self {
        let older = std::iter::once(&self.first).chain(&self.older).cloned().collect();
        Self { first: MasterKey::fresh(clock), older }
    }

    /// The key that seals, alone.
    pub fn first_alone(&self) -> Self {
        self.first.clone().into()
    }

    /// Whether a rotation is under way.
    pub fn has_older(&self) -> bool {
        !self.older.is_empty()
    }

    /// The ids, that of the key that seals first.
    pub fn ids(&self) -> Vec<KeyId> {
        std::iter::once(&self.first).chain(&self.older).map(MasterKey::id).collect()
    }

    /// A digest that nobody can make or guess from who has not the key that seals.
    pub(super) fn digest(&self, text: &[u8]) -> [u8; DIGEST_BYTES] {
        DigestKey::of(self.first.0.as_array()).digest(text)
    }

    /// Seals a scope's key; `None` where the cipher refuses, which it does for no key.
    pub(super) fn seal(&self, scope: &str, key: &[u8], clock: &dyn Clock) -> Option<Vec<u8>> {
        let (id, mut nonce) = (self.first.id().0, [0; NONCE_BYTES]);
        clock.fill(&mut nonce);
        let aad = bound_to(&id, scope);
        let ciphertext = self
            .first
            .cipher()
            .encrypt(&Nonce::<Aes256Gcm>::from(nonce), Payload { msg: key, aad: &aad })
            .ok()?;
        Some([&id[..], &nonce, &ciphertext].concat())
    }

    /// A scope's key as it was sealed; `None` where no key of the ring opens it there.
    pub(super) fn open(&self, scope: &str, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (aad, rest) = match sealed_under(sealed) {
            Some(id) => (bound_to(&id.0, scope), sealed.get(ID_BYTES..)?),
            None => (scope.as_bytes().to_vec(), sealed),
        };
        let (nonce, msg) = rest.split_first_chunk::<NONCE_BYTES>()?;
        std::iter::once(&self.first)
            .chain(&self.older)
            .find_map(|key| {
                let payload = Payload { msg, aad: &aad };
                key.cipher().decrypt(&Nonce::<Aes256Gcm>::from(*nonce), payload).ok()
            })
            .map(Zeroizing::new)
    }

    /// Whether the key was sealed by the one that seals now.
    pub(super) fn is_of_first(&self, sealed: &[u8]) -> bool {
        sealed_under(sealed) == Some(self.first.id())
    }
}

/// The master key that a scope's key lies under; `None` where it was sealed without an id.
pub fn sealed_under(sealed: &[u8]) -> Option<KeyId> {
    if sealed.len() == SEALED_WITHOUT_ID_BYTES {
        return None;
    }
    sealed.first_chunk().copied().map(KeyId)
}

fn bound_to(id: &[u8], scope: &str) -> Vec<u8> {
    [id, scope.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::SimulatedClock;

    #[test]
    fn a_ring_is_kept_and_its_first_key_seals() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/master.key");
        let clock = SimulatedClock::new(1);
        assert!(KeyRing::load(&path).unwrap().is_none());
        let old = KeyRing::from(MasterKey::fresh(&clock));
        let sealed = old.seal("stack-1", &[7; KEY_BYTES], &clock).unwrap();
        let both = old.with_fresh(&clock);
        both.save(&path).unwrap();
        let again = KeyRing::load(&path).unwrap().unwrap();
        assert_eq!(again.ids(), both.ids());
        assert_eq!(again.ids()[1], old.ids()[0]);
        assert_eq!(again.open("stack-1", &sealed).unwrap().as_slice(), [7; KEY_BYTES]);
        assert!(!again.is_of_first(&sealed));
        assert!(again.first_alone().open("stack-1", &sealed).is_none());
    }

    #[test]
    fn a_key_row_moved_to_another_stack_does_not_open() {
        let clock = SimulatedClock::new(1);
        let ring = KeyRing::from(MasterKey::fresh(&clock));
        let mut sealed = ring.seal("stack-1", &[7; KEY_BYTES], &clock).unwrap();
        assert!(ring.open("stack-2", &sealed).is_none());
        sealed[0] ^= 1;
        assert!(ring.open("stack-1", &sealed).is_none(), "the id is bound, too");
    }

    #[test]
    fn a_key_sealed_before_there_were_ids_opens() {
        let clock = SimulatedClock::new(1);
        let ring = KeyRing::from(MasterKey::fresh(&clock));
        let payload = Payload { msg: &[7; KEY_BYTES], aad: b"stack-1" };
        let nonce = [3; NONCE_BYTES];
        let text = ring.first.cipher().encrypt(&Nonce::<Aes256Gcm>::from(nonce), payload).unwrap();
        let sealed = [&nonce[..], &text].concat();
        assert_eq!(sealed_under(&sealed), None);
        assert_eq!(ring.open("stack-1", &sealed).unwrap().as_slice(), [7; KEY_BYTES]);
        assert!(ring.open("stack-2", &sealed).is_none());
    }

    #[test]
    fn a_file_with_anything_else_is_no_ring() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("master.key");
        for text in ["", "short\n", "AAAA\n"] {
            private_files::write(&path, text).unwrap();
            assert!(matches!(KeyRing::load(&path), Err(MasterKeyError::NotAKey { .. })));
        }
    }
}
