//! Secrets at rest: leaves of event bodies that hold one are sealed with a key of their scope (a
//! stack, a project), itself sealed with the master key. A scope's key lives beside the log and
//! can be destroyed: the log stays append-only, and the secrets are gone.
//!
//! A sealed leaf is `{"sealed": "base64 of nonce and ciphertext"}`, AES-256-GCM, bound to its
//! scope. A value of the user's that looks the same is sealed as a whole, so that what opens is
//! always what was put in.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload};
use aes_gcm::{Aes256Gcm, Key};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use zeroize::Zeroizing;

use super::log::{EventLog, LogError, Reseal};
pub use super::master_key::MasterKey;
use super::master_key::{KEY_BYTES, KeyRing, MasterKeyError, sealed_under};
use crate::clock::Clock;
use crate::model::{JsonMap, Secret};

/// The one key of a sealed leaf.
const SEALED: &str = "sealed";
/// What stands where a secret is not shown, as in Heat.
const MASK: &str = "******";
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
    #[error(transparent)]
    Log(#[from] LogError),
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
        let ring = match KeyRing::load(path)? {
            Some(ring) => {
                check_opens(log.as_ref(), &ring, path)?;
                ring
            }
            None if log.keys("", 1)?.is_empty() => {
                let ring = KeyRing::from(MasterKey::fresh(clock.as_ref()));
                ring.save(path)?;
                ring
            }
            None => return Err(MasterKeyError::Missing { path: path.to_owned() }.into()),
        };
        let vault = Self::new(log, ring.clone(), clock);
        if ring.has_older() {
            vault.finish_rotation(path, ring).await?;
        }
        Ok(vault)
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

    fn ring(&self) -> KeyRing {
        self.master.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Seals a value of any kind.
    pub fn seal(&self, scope: &str, value: &Value) -> Result<Value, VaultError> {
        let cipher = self.cipher_or_fresh(scope)?;
        let sealed = cipher.seal(scope, value.to_string().as_bytes(), &*self.clock);
        let sealed = sealed.ok_or_else(|| closed(scope))?;
        Ok(Value::Object(JsonMap::from_iter([(
            SEALED.to_owned(),
            Value::String(STANDARD.encode(sealed)),
        )])))
    }

    /// Seals every leaf that contains one of the secrets; leaves sealed already stay as they are.
    pub fn seal_leaves(
        &self,
        scope: &str,
        value: Value,
        secrets: &[Secret<String>],
    ) -> Result<Value, VaultError> {
        if self.looks_sealed_but_is_not(scope, &value) || holds_secret(&value, secrets) {
            return self.seal(scope, &value);
        }
        match value {
            Value::Object(map) if sealed_text(&map).is_none() => {
                let sealed = map
                    .into_iter()
                    .map(|(key, value)| Ok((key, self.seal_leaves(scope, value, secrets)?)))
                    .collect::<Result<JsonMap, VaultError>>()?;
                Ok(Value::Object(sealed))
            }
            Value::Array(items) => {
                let sealed = items
                    .into_iter()
                    .map(|item| self.seal_leaves(scope, item, secrets))
                    .collect::<Result<Vec<Value>, VaultError>>()?;
                Ok(Value::Array(sealed))
            }
            other => Ok(other),
        }
    }

    /// The value with every sealed leaf in it opened.
    pub fn open(&self, scope: &str, value: &Value) -> Result<Value, VaultError> {
        match value {
            Value::Object(map) => match sealed_text(map) {
                Some(sealed) => self.open_leaf(scope, sealed),
                None => {
                    let opened = map
                        .iter()
                        .map(|(key, value)| Ok((key.clone(), self.open(scope, value)?)))
                        .collect::<Result<JsonMap, VaultError>>()?;
                    Ok(Value::Object(opened))
                }
            },
            Value::Array(items) => {
                let opened = items.iter().map(|item| self.open(scope, item));
                Ok(Value::Array(opened.collect::<Result<_, _>>()?))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(value.clone()),
        }
    }

    /// The value with `******` in place of every sealed leaf.
    pub fn masked(value: &Value) -> Value {
        match value {
            Value::Object(map) if sealed_text(map).is_some() => Value::String(MASK.to_owned()),
            Value::Object(map) => Value::Object(
                map.iter().map(|(key, value)| (key.clone(), Self::masked(value))).collect(),
            ),
            Value::Array(items) => Value::Array(items.iter().map(Self::masked).collect()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    /// Whether any leaf within is sealed.
    pub fn is_sealed(value: &Value) -> bool {
        match value {
            Value::Object(map) => sealed_text(map).is_some() || map.values().any(Self::is_sealed),
            Value::Array(items) => items.iter().any(Self::is_sealed),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        }
    }

    /// Every sealed leaf within.
    pub fn sealed_leaves(value: &Value) -> Vec<&Value> {
        match value {
            Value::Object(map) if sealed_text(map).is_some() => vec![value],
            Value::Object(map) => map.values().flat_map(Self::sealed_leaves).collect(),
            Value::Array(items) => items.iter().flat_map(Self::sealed_leaves).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
        }
    }

    /// Destroys the scope's key: nothing that it sealed can be opened any more.
    pub async fn destroy(&self, scope: &str) -> Result<(), VaultError> {
        self.log.destroy_key(scope).await?;
        self.keys().remove(scope);
        Ok(())
    }

    fn open_leaf(&self, scope: &str, sealed: &str) -> Result<Value, VaultError> {
        let cipher = self.cipher(scope)?.ok_or_else(|| closed(scope))?;
        let open = || {
            let text = cipher.open(scope, &STANDARD.decode(sealed).ok()?)?;
            serde_json::from_slice(&text).ok()
        };
        open().ok_or_else(|| closed(scope))
    }

    /// A user's own `{"sealed": …}` would be taken for ours when it is read back.
    fn looks_sealed_but_is_not(&self, scope: &str, value: &Value) -> bool {
        let sealed = value.as_object().and_then(sealed_text);
        sealed.is_some_and(|sealed| self.open_leaf(scope, sealed).is_err())
    }

    fn cipher_or_fresh(&self, scope: &str) -> Result<Arc<Cipher>, VaultError> {
        if let Some(cipher) = self.keys().get(scope) {
            return Ok(cipher.clone());
        }
        // Held until the key is queued: see `finish_rotation`.
        let master = self.master.read().unwrap_or_else(PoisonError::into_inner);
        let sealed = self.log.key(scope, &|| {
            let mut key = Zeroizing::new([0; KEY_BYTES]);
            self.clock.fill(&mut *key);
            // An empty key is refused when it is opened.
            master.seal(scope, &*key, &*self.clock).unwrap_or_default()
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

/// AES-256-GCM with the nonce in front of the ciphertext and the scope bound to it.
struct Cipher(Aes256Gcm);

impl Cipher {
    fn new(key: &[u8; KEY_BYTES]) -> Self {
        Self(Aes256Gcm::new(&Key::<Aes256Gcm>::from(*key)))
    }

    fn seal(&self, scope: &str, msg: &[u8], clock: &dyn Clock) -> Option<Vec<u8>> {
        let mut nonce = [0; NONCE_BYTES];
        clock.fill(&mut nonce);
        let payload = Payload { msg, aad: scope.as_bytes() };
        let ciphertext = self.0.encrypt(&Nonce::<Aes256Gcm>::from(nonce), payload).ok()?;
        Some([&nonce[..], &ciphertext].concat())
    }

    fn open(&self, scope: &str, sealed: &[u8]) -> Option<Vec<u8>> {
        let (nonce, msg) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg, aad: scope.as_bytes() };
        self.0.decrypt(&Nonce::<Aes256Gcm>::from(*nonce), payload).ok()
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

/// The text of a sealed leaf.
fn sealed_text(map: &JsonMap) -> Option<&str> {
    if map.len() != 1 {
        return None;
    }
    map.get(SEALED)?.as_str()
}

/// Whether this very leaf holds a secret; a map does when a key of it does.
fn holds_secret(value: &Value, secrets: &[Secret<String>]) -> bool {
    let within = |text: &str| {
        secrets.iter().any(|secret| !secret.reveal().is_empty() && text.contains(secret.reveal()))
    };
    match value {
        Value::String(text) => within(text),
        Value::Number(number) => {
            secrets.iter().any(|secret| *secret.reveal() == number.to_string())
        }
        Value::Object(map) => sealed_text(map).is_none() && map.keys().any(|key| within(key)),
        Value::Array(_) | Value::Null | Value::Bool(_) => false,
    }
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

    #[test]
    fn what_was_sealed_opens_and_does_not_show() {
        let vault = vault();
        let sealed = vault.seal("stack-1", &json!({"a": ["hunter2", 3]})).unwrap();
        assert!(!sealed.to_string().contains("hunter2"));
        assert_eq!(vault.open("stack-1", &sealed).unwrap(), json!({"a": ["hunter2", 3]}));
        assert_eq!(Vault::masked(&json!({"x": sealed})), json!({"x": "******"}));
    }

    #[test]
    fn only_leaves_with_a_secret_are_sealed() {
        let vault = vault();
        let secrets = [Secret::new("hunter2".to_owned()), Secret::new("4711".to_owned())];
        let value = json!({
            "plain": "text", "url": "mysql://u:hunter2@db", "list": ["hunter2", 1, 4711],
            "map": {"hunter2": true},
        });
        let sealed = vault.seal_leaves("stack-1", value.clone(), &secrets).unwrap();
        assert_eq!(
            Vault::masked(&sealed),
            json!({
                "plain": "text", "url": "******", "list": ["******", 1, "******"], "map": "******",
            })
        );
        assert!(Vault::is_sealed(&sealed) && !Vault::is_sealed(&value));
        assert_eq!(vault.open("stack-1", &sealed).unwrap(), value);
        let again = vault.seal_leaves("stack-1", sealed.clone(), &secrets).unwrap();
        assert_eq!(again, sealed);
    }

    #[test]
    fn a_users_value_that_looks_sealed_comes_back_as_it_was() {
        let vault = vault();
        let value = json!({"x": {"sealed": "not ours"}});
        let sealed = vault.seal_leaves("stack-1", value.clone(), &[]).unwrap();
        assert_eq!(vault.open("stack-1", &sealed).unwrap(), value);
    }

    #[test]
    fn another_scope_cannot_open() {
        let vault = vault();
        let sealed = vault.seal("stack-1", &json!("hunter2")).unwrap();
        vault.seal("stack-2", &json!("x")).unwrap();
        assert!(matches!(vault.open("stack-2", &sealed), Err(VaultError::Closed { .. })));
        assert!(matches!(vault.open("stack-3", &sealed), Err(VaultError::Closed { .. })));
    }

    #[tokio::test]
    async fn a_destroyed_scope_opens_and_seals_no_more() {
        let vault = vault();
        let sealed = vault.seal("stack-1", &json!("hunter2")).unwrap();
        vault.destroy("stack-1").await.unwrap();
        let destroyed = |error| matches!(error, VaultError::Log(LogError::KeyDestroyed(scope)) if scope == "stack-1");
        assert!(vault.open("stack-1", &sealed).is_err_and(destroyed));
        assert!(vault.seal("stack-1", &json!("again")).is_err_and(destroyed));
    }
}
