//! Secrets at rest: leaves of event bodies that hold one are sealed with a key of their scope (a
//! stack, a project), itself sealed with the master key. A scope's key lives beside the log and
//! can be destroyed: the log stays append-only, and the secrets are gone.
//!
//! In memory what must not be seen bears a mark (`model/taint.rs`); marked parts are sealed on
//! their way into the log and nowhere else, each bound to its place there. A sealed part is
//! `{"sealed": "v2:…", "at": PLACE}`: base64 of nonce and ciphertext, AES-256-GCM, with its scope
//! and its place as additional data. Version 1 has no place, and is read for ever. A value of the
//! user's that looks like either is escaped, so that what opens is always what was put in.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload};
use aes_gcm::{Aes256Gcm, Key};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zeroize::Zeroizing;

use super::key_bytes::{KEY_BYTES, KeyBytes};
use super::leaf::{AT, ESCAPED, Leaf, SEALED, VERSION, looks_sealed, replaced};
use super::log::{EventLog, LogError, Reseal, aside, looked_aside};
pub use super::master_key::MasterKey;
use super::master_key::{DIGEST_BYTES, DigestKey, KeyId, KeyRing, MasterKeyError, sealed_under};
use crate::clock::Clock;
use crate::model::JsonMap;
use crate::model::taint::{self, MASK};

const NONCE_BYTES: usize = 12;
/// How many scopes' keys are kept open.
const KEYS_OPEN_MAX: usize = 1_024;
/// How many keys a rotation seals anew in one go.
const RESEAL_KEYS: usize = 256;

/// Why something could not be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error(transparent)]
    MasterKey(#[from] MasterKeyError),
    /// The scope has no key or another one, or the value is not what was sealed.
    #[error("a sealed value of {scope} cannot be opened")]
    Closed { scope: String },
    /// The value was sealed, but not where it stands.
    #[error("a sealed value of {scope} does not stand where it was sealed")]
    Moved { scope: String },
    #[error(transparent)]
    Log(#[from] LogError),
}

/// A value as it is kept, and where: what is sealed in it opens in no other place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Placed {
    pub place: String,
    pub value: Value,
}

/// Seals and opens; see the module.
pub struct Vault {
    log: Arc<dyn EventLog>,
    master: RwLock<KeyRing>,
    clock: Arc<dyn Clock>,
    open: Mutex<HashMap<String, Arc<Cipher>>>,
}

impl Vault {
    /// A vault whose scopes' keys are kept beside the log.
    pub fn new(log: Arc<dyn EventLog>, master: impl Into<KeyRing>, clock: Arc<dyn Clock>) -> Self {
        Self { log, master: RwLock::new(master.into()), clock, open: Mutex::default() }
    }

    /// A vault with the master key in a file. Where there is none one is made, unless the log holds
    /// keys already; a rotation that was broken off is finished.
    pub async fn open_with(
        log: Arc<dyn EventLog>,
        path: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, VaultError> {
        Self::check(log.as_ref(), path)?;
        let ring = match KeyRing::load(path)? {
            Some(ring) => ring,
            None => {
                let ring = KeyRing::from(MasterKey::fresh(clock.as_ref()));
                ring.save(path)?;
                ring
            }
        };
        let vault = Self::new(log, ring.clone(), clock);
        if ring.has_older() {
            vault.finish_rotation(path, ring).await?;
        }
        Ok(vault)
    }

    /// A vault for a log that others write, with their master key in a file.
    pub fn open_to_read(
        log: Arc<dyn EventLog>,
        path: &Path,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, VaultError> {
        let missing = || MasterKeyError::Missing { path: path.to_owned() };
        let ring = KeyRing::load(path)?.ok_or_else(missing)?;
        check_opens(log.as_ref(), &ring, path)?;
        Ok(Self::new(log, ring, clock))
    }

    /// Whether a vault opens with the master key in a file, which is left as it is: the key's id, or
    /// `None` where one would be made.
    pub fn check(log: &dyn EventLog, path: &Path) -> Result<Option<KeyId>, VaultError> {
        match KeyRing::load(path)? {
            Some(ring) => {
                check_opens(log, &ring, path)?;
                Ok(ring.ids().first().copied())
            }
            None if log.keys("", 1)?.is_empty() => Ok(None),
            None => Err(MasterKeyError::Missing { path: path.to_owned() }.into()),
        }
    }

    /// Seals every scope's key anew under a fresh master key while others seal and open, and gives
    /// how many there were. Until all of them are, the file holds the old master key, too: a crash
    /// at any moment leaves nothing that cannot be opened, and is made good by `open_with`.
    pub async fn rotate(&self, path: &Path) -> Result<usize, VaultError> {
        let ring = self.ring().with_fresh(&*self.clock);
        ring.save(path)?;
        self.finish_rotation(path, ring).await
    }

    async fn finish_rotation(&self, path: &Path, ring: KeyRing) -> Result<usize, VaultError> {
        // Whoever makes a key holds the ring until the key is queued: from here on none is made
        // under an old one, and what was made before is in the log after the empty batch.
        *self.master.write().unwrap_or_else(PoisonError::into_inner) = ring.clone();
        self.log.reseal_keys(Vec::new()).await?;
        let (mut after, mut count) = (String::new(), 0);
        loop {
            let page = self.log.keys(&after, RESEAL_KEYS)?;
            let Some((last, _)) = page.last() else { break };
            after = last.clone();
            let mut batch = Vec::with_capacity(page.len());
            for (scope, from) in page {
                if ring.is_of_first(&from) {
                    continue;
                }
                let Some(key) = ring.open(&scope, &from) else {
                    tracing::error!(%scope, "a key cannot be opened and stays as it is");
                    continue;
                };
                let to = ring.seal(&scope, &key, &*self.clock).ok_or_else(|| closed(&scope))?;
                batch.push(Reseal { scope, from, to });
            }
            count += batch.len();
            self.log.reseal_keys(batch).await?;
        }
        let alone = ring.first_alone();
        alone.save(path)?;
        *self.master.write().unwrap_or_else(PoisonError::into_inner) = alone;
        Ok(count)
    }

    /// A digest that only who has the master key can make: what it is of cannot be guessed from it.
    pub fn digest(&self, text: &[u8]) -> [u8; DIGEST_BYTES] {
        self.ring().digest(text)
    }

    /// The same by the key of a scope, which no rotation changes.
    pub fn digest_in(&self, scope: &str, text: &[u8]) -> Result<[u8; DIGEST_BYTES], VaultError> {
        Ok(self.cipher_or_fresh(scope)?.digest(text))
    }

    fn ring(&self) -> KeyRing {
        self.master.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Seals every marked part, each bound to the place, and to where it stands within it.
    pub fn seal(&self, scope: &str, place: &str, value: Value) -> Result<Value, VaultError> {
        if let Some(secret) = taint::marked(&value) {
            return self.seal_part(scope, place, secret);
        }
        Ok(match value {
            Value::Object(map) => {
                let looks_sealed = looks_sealed(&map);
                let sealed = map
                    .into_iter()
                    .map(|(key, value)| Ok((self.seal(scope, &within(place, &key), value)?, key)))
                    .map(|sealed| sealed.map(|(value, key)| (key, value)))
                    .collect::<Result<JsonMap, VaultError>>()?;
                let sealed = Value::Object(sealed);
                if looks_sealed { entry(SEALED, entry(ESCAPED, sealed)) } else { sealed }
            }
            Value::Array(items) => {
                let items = items.into_iter().enumerate();
                let sealed = items.map(|(at, item)| self.seal(scope, &within(place, at), item));
                Value::Array(sealed.collect::<Result<_, _>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
        })
    }

    /// The value with a mark in place of every seal, each of which must have been made where it
    /// stands.
    pub fn open_at(&self, scope: &str, place: &str, value: Value) -> Result<Value, VaultError> {
        Ok(match value {
            Value::Object(mut map) => match Leaf::of(&map) {
                Some(Leaf::Escaped) => {
                    let own = map.get_mut(SEALED).and_then(|it| it.get_mut(ESCAPED));
                    match own.map(Value::take) {
                        Some(Value::Object(own)) => self.opened_map(scope, place, own)?,
                        other => other.unwrap_or_default(),
                    }
                }
                Some(Leaf::Sealed { text, at }) => {
                    if at.is_some_and(|at| at != place) {
                        return Err(VaultError::Moved { scope: scope.to_owned() });
                    }
                    taint::taint(self.open_part(scope, text, at)?)
                }
                None => self.opened_map(scope, place, map)?,
            },
            Value::Array(items) => {
                let items = items.into_iter().enumerate();
                let opened = items.map(|(at, item)| self.open_at(scope, &within(place, at), item));
                Value::Array(opened.collect::<Result<_, _>>()?)
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value,
        })
    }

    /// The value as it was before it was sealed.
    pub fn open(&self, scope: &str, placed: &Placed) -> Result<Value, VaultError> {
        self.open_at(scope, &placed.place, placed.value.clone()).map(taint::plain)
    }

    fn opened_map(&self, scope: &str, place: &str, map: JsonMap) -> Result<Value, VaultError> {
        let opened = map.into_iter().map(|(key, value)| {
            let value = self.open_at(scope, &within(place, &key), value)?;
            Ok((key, value))
        });
        Ok(Value::Object(opened.collect::<Result<_, VaultError>>()?))
    }

    /// The value with `******` in place of every sealed or marked part.
    pub fn masked(value: &Value) -> Value {
        replaced(value, &MASK.into())
    }

    /// The value with null in place of them: what is left of it without its key.
    pub fn emptied(value: &Value) -> Value {
        replaced(value, &Value::Null)
    }

    /// Whether the value itself is sealed or marked, and not only something within.
    pub fn is_secret(value: &Value) -> bool {
        let sealed = |map| matches!(Leaf::of(map), Some(Leaf::Sealed { .. }));
        taint::marked(value).is_some() || value.as_object().is_some_and(sealed)
    }

    /// Has the key of a scope at hand where looking it up may wait for the log's server: what it
    /// sealed is opened without a wait then. Needs a runtime, none of whose threads waits. Errors:
    /// the key cannot be looked up; that there is none is no error.
    pub async fn warm(&self, scope: &str) -> Result<(), VaultError> {
        if !self.waits_for(scope) {
            return Ok(());
        }
        let wanted = scope.to_owned();
        match looked_aside(&self.log, move |log| log.find_key(&wanted)).await {
            Ok(Some(sealed)) => self.keep(scope, &sealed).map(drop),
            Ok(None) | Err(LogError::KeyDestroyed(_)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the key of a scope is not at hand, and looking it up may wait for the log's server.
    pub fn waits_for(&self, scope: &str) -> bool {
        self.log.waits() && !self.keys().contains_key(scope)
    }

    /// Has the key of a scope at hand as `warm` does, and makes it where there is none, for whoever
    /// is about to seal something. Errors: the key was destroyed, cannot be looked up or be kept.
    pub async fn make_ready(self: &Arc<Self>, scope: &str) -> Result<(), VaultError> {
        if !self.waits_for(scope) {
            return Ok(());
        }
        let (vault, scope) = (Arc::clone(self), scope.to_owned());
        let made = aside(async move { vault.cipher_or_fresh(&scope).map(drop) }).await;
        let stopped = || LogError::Unavailable("its reader stopped".to_owned());
        made.unwrap_or_else(|| Err(stopped().into()))
    }

    /// Destroys the scope's key: nothing that it sealed can be opened any more.
    pub async fn destroy(&self, scope: &str) -> Result<(), LogError> {
        self.log.destroy_key(scope).await?;
        self.keys().remove(scope);
        Ok(())
    }

    fn seal_part(&self, scope: &str, place: &str, secret: &Value) -> Result<Value, VaultError> {
        let cipher = self.cipher_or_fresh(scope)?;
        let text = Zeroizing::new(secret.to_string());
        let sealed = cipher.seal(&bound(scope, place), text.as_bytes(), &*self.clock);
        let sealed = STANDARD.encode(sealed.ok_or_else(|| closed(scope))?);
        Ok(Value::Object(JsonMap::from_iter([
            (SEALED.to_owned(), format!("{VERSION}{sealed}").into()),
            (AT.to_owned(), place.into()),
        ])))
    }

    fn open_part(&self, scope: &str, text: &str, at: Option<&str>) -> Result<Value, VaultError> {
        let cipher = self.cipher(scope)?.ok_or_else(|| closed(scope))?;
        let bound = at.map_or_else(|| scope.to_owned(), |at| bound(scope, at));
        let open = || {
            let text = text.strip_prefix(VERSION).unwrap_or(text);
            let text = Zeroizing::new(cipher.open(&bound, &STANDARD.decode(text).ok()?)?);
            serde_json::from_slice(&text).ok()
        };
        open().ok_or_else(|| closed(scope))
    }

    fn cipher_or_fresh(&self, scope: &str) -> Result<Arc<Cipher>, VaultError> {
        if let Some(cipher) = self.keys().get(scope) {
            return Ok(cipher.clone());
        }
        // Held until the key is queued: see `finish_rotation`.
        let master = self.master.read().unwrap_or_else(PoisonError::into_inner);
        let sealed = self.log.key(scope, &|| {
            let key = KeyBytes::fresh(&*self.clock);
            // An empty key is refused when it is opened.
            master.seal(scope, key.as_array(), &*self.clock).unwrap_or_default()
        })?;
        drop(master);
        self.keep(scope, &sealed)
    }

    fn cipher(&self, scope: &str) -> Result<Option<Arc<Cipher>>, VaultError> {
        if let Some(cipher) = self.keys().get(scope) {
            return Ok(Some(cipher.clone()));
        }
        match self.log.find_key(scope)? {
            Some(sealed) => self.keep(scope, &sealed).map(Some),
            None => Ok(None),
        }
    }

    fn keep(&self, scope: &str, sealed: &[u8]) -> Result<Arc<Cipher>, VaultError> {
        let key = self.ring().open(scope, sealed).ok_or_else(|| closed(scope))?;
        let key: &[u8; KEY_BYTES] = key.as_slice().try_into().map_err(|_| closed(scope))?;
        let cipher = Arc::new(Cipher::new(key));
        let mut keys = self.keys();
        if keys.len() >= KEYS_OPEN_MAX {
            keys.clear();
        }
        keys.insert(scope.to_owned(), cipher.clone());
        Ok(cipher)
    }

    fn keys(&self) -> MutexGuard<'_, HashMap<String, Arc<Cipher>>> {
        self.open.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// AES-256-GCM with the nonce in front of the ciphertext, and what it is bound to. The key is wiped
/// when it is dropped.
struct Cipher {
    cipher: Aes256Gcm,
    digests: DigestKey,
}

impl Cipher {
    fn new(key: &[u8; KEY_BYTES]) -> Self {
        let cipher = Aes256Gcm::new(Key::<Aes256Gcm>::cast_from_core(key));
        Self { cipher, digests: DigestKey::of(key) }
    }

    fn digest(&self, text: &[u8]) -> [u8; DIGEST_BYTES] {
        self.digests.digest(text)
    }

    fn seal(&self, bound: &str, msg: &[u8], clock: &dyn Clock) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        clock.fill(&mut nonce);
        let payload = Payload { msg, aad: bound.as_bytes() };
        let ciphertext = self.cipher.encrypt(&Nonce::<Aes256Gcm>::from(nonce), payload).ok()?;
        Some([&nonce[..], &ciphertext].concat())
    }

    fn open(&self, bound: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, msg) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg, aad: bound.as_bytes() };
        self.cipher.decrypt(&Nonce::<Aes256Gcm>::from(*nonce), payload).ok()
    }
}

/// Whether the ring is the one that the log's keys were sealed with. One that is damaged does not
/// count: the others are served still.
fn check_opens(log: &dyn EventLog, ring: &KeyRing, path: &Path) -> Result<(), VaultError> {
    let (mut after, mut wanted) = (String::new(), None);
    loop {
        let page = log.keys(&after, RESEAL_KEYS)?;
        let Some((last, sealed)) = page.last() else { break };
        if page.iter().any(|(scope, sealed)| ring.open(scope, sealed).is_some()) {
            return Ok(());
        }
        wanted = Some(sealed_under(sealed));
        after = last.clone();
    }
    match (wanted, ring.ids().first()) {
        (Some(wanted), Some(found)) => {
            let path = path.to_owned();
            Err(MasterKeyError::Another { path, found: *found, wanted }.into())
        }
        _ => Ok(()),
    }
}

fn closed(scope: &str) -> VaultError {
    VaultError::Closed { scope: scope.to_owned() }
}

/// What a sealed part is bound to.
fn bound(scope: &str, place: &str) -> String {
    format!("{scope}\0{place}")
}

fn within(place: &str, step: impl std::fmt::Display) -> String {
    format!("{place}/{step}")
}

fn entry(key: &str, value: Value) -> Value {
    Value::Object(JsonMap::from_iter([(key.to_owned(), value)]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::clock::SimulatedClock;
    use crate::events::log::MemoryLog;

    fn vault() -> Vault {
        let clock = Arc::new(SimulatedClock::new(7));
        Vault::new(Arc::new(MemoryLog::new()), MasterKey::fresh(&*clock), clock)
    }

    /// A value sealed as a whole at a place.
    fn sealed(vault: &Vault, scope: &str, value: Value) -> Placed {
        let value = vault.seal(scope, "place", taint::taint(value)).unwrap();
        Placed { place: "place".to_owned(), value }
    }

    #[test]
    fn what_was_sealed_opens_and_does_not_show() {
        let vault = vault();
        let sealed = sealed(&vault, "stack-1", json!({"a": ["hunter2", 3]}));
        assert!(!sealed.value.to_string().contains("hunter2"));
        assert_eq!(vault.open("stack-1", &sealed).unwrap(), json!({"a": ["hunter2", 3]}));
        assert_eq!(Vault::masked(&json!({"x": sealed.value})), json!({"x": "******"}));
    }

    #[test]
    fn only_marked_parts_are_sealed_and_come_back_marked() {
        let vault = vault();
        let value = json!({
            "plain": "text", "url": taint::taint("mysql://u:hunter2@db".into()),
            "list": [taint::taint("hunter2".into()), 1],
        });
        let sealed = vault.seal("stack-1", "p", value.clone()).unwrap();
        let shown = json!({ "plain": "text", "url": "******", "list": ["******", 1] });
        assert_eq!(Vault::masked(&sealed), shown);
        assert_eq!(vault.open_at("stack-1", "p", sealed).unwrap(), value);
    }

    #[test]
    fn a_sealed_value_opens_nowhere_but_where_it_was_sealed() {
        let vault = vault();
        let secrets = json!({ "a": taint::taint("one".into()), "b": taint::taint("two".into()) });
        let sealed = vault.seal("stack-1", "event-7", secrets).unwrap();
        let closed = |value: Value, place: &str| {
            let opened = vault.open_at("stack-1", place, value);
            matches!(opened, Err(VaultError::Closed { .. } | VaultError::Moved { .. }))
        };
        assert!(closed(json!({ "a": sealed["b"], "b": sealed["a"] }), "event-7"), "swapped");
        let mut text_alone = sealed.clone();
        text_alone["a"]["sealed"] = sealed["b"]["sealed"].clone();
        assert!(closed(text_alone, "event-7"), "the text swapped");
        let mut placed = sealed.clone();
        placed["a"] = json!({ "sealed": sealed["b"]["sealed"], "at": sealed["a"]["at"] });
        assert!(closed(placed, "event-7"), "its place forged");
        assert!(closed(sealed.clone(), "event-8"), "in another event");
        assert!(!closed(sealed, "event-7"));
    }

    #[test]
    fn what_version_1_sealed_opens_for_ever() {
        let vault = vault();
        let cipher = vault.cipher_or_fresh("stack-1").unwrap();
        let text = cipher.seal("stack-1", br#""hunter2""#, &*vault.clock).unwrap();
        let old = json!({ "x": { "sealed": STANDARD.encode(text) } });
        let opened = vault.open_at("stack-1", "anywhere", old.clone()).unwrap();
        assert_eq!(taint::plain(opened), json!({ "x": "hunter2" }));
        assert_eq!(Vault::masked(&old), json!({ "x": "******" }));
    }

    #[test]
    fn a_users_value_that_looks_sealed_is_data() {
        let vault = vault();
        let seal = sealed(&vault, "stack-1", json!("hunter2")).value;
        for own in [
            json!({ "sealed": "not ours" }),
            json!({ "sealed": "v2:not ours", "at": "p" }),
            json!({ "sealed": { ESCAPED: 1 } }),
            json!({ "sealed": { "sealed": "x" } }),
            seal,
        ] {
            let value = json!({ "x": own });
            let kept = vault.seal("stack-1", "p", value.clone()).unwrap();
            assert_eq!(vault.open_at("stack-1", "p", kept.clone()).unwrap(), value);
            assert_eq!(Vault::masked(&kept), value);
        }
    }

    #[test]
    fn another_scope_cannot_open() {
        let vault = vault();
        let kept = sealed(&vault, "stack-1", json!("hunter2"));
        sealed(&vault, "stack-2", json!("x"));
        assert!(matches!(vault.open("stack-2", &kept), Err(VaultError::Closed { .. })));
        assert!(matches!(vault.open("stack-3", &kept), Err(VaultError::Closed { .. })));
    }

    #[tokio::test]
    async fn a_destroyed_scope_opens_and_seals_no_more() {
        let vault = vault();
        let kept = sealed(&vault, "stack-1", json!("hunter2"));
        vault.destroy("stack-1").await.unwrap();
        let destroyed = |error| matches!(error, VaultError::Log(LogError::KeyDestroyed(scope)) if scope == "stack-1");
        assert!(vault.open("stack-1", &kept).is_err_and(destroyed));
        let again = vault.seal("stack-1", "p", taint::taint("again".into()));
        assert!(again.is_err_and(destroyed));
    }
}
