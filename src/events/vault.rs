//! Secrets at rest: leaves of event bodies that hold one are sealed with a key of their scope (a
//! stack, a project), itself sealed with the master key. A scope's key lives beside the log and
//! can be destroyed: the log stays append-only, and the secrets are gone.
//!
//! A sealed leaf is `{"sealed": "base64 of nonce and ciphertext"}`, AES-256-GCM, bound to its
//! scope. A value of the user's that looks the same is sealed as a whole, so that what opens is
//! always what was put in.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload};
use aes_gcm::{Aes256Gcm, Key};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::log::{EventLog, LogError};
use crate::clock::Clock;
use crate::model::{JsonMap, Secret};

/// The one key of a sealed leaf.
const SEALED: &str = "sealed";
/// What stands where a secret is not shown, as in Heat.
const MASK: &str = "******";
const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;
/// How many scopes' keys are kept open.
const KEYS_OPEN_MAX: usize = 1_024;

/// Why something could not be sealed or opened.
#[derive(Debug, thiserror::Error)]
pub enum VaultError {
    #[error("could not use the master key in {path}")]
    MasterKey {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{path} does not hold a master key")]
    NotAKey { path: PathBuf },
    /// The scope has no key or another one, or the value is not what was sealed.
    #[error("a sealed value of {scope} cannot be opened")]
    Closed { scope: String },
    #[error(transparent)]
    Log(#[from] LogError),
}

/// The key that seals the scopes' keys.
#[derive(Clone)]
pub struct MasterKey(Secret<[u8; KEY_BYTES]>);

impl MasterKey {
    /// A key for a process that keeps nothing.
    pub fn fresh(clock: &dyn Clock) -> Self {
        let mut key = [0; KEY_BYTES];
        clock.fill(&mut key);
        Self(Secret::new(key))
    }

    /// Reads the key, or makes the file, which its owner alone may read.
    pub fn load_or_create(path: &Path, clock: &dyn Clock) -> Result<Self, VaultError> {
        let failed = |source| VaultError::MasterKey { path: path.to_owned(), source };
        match fs::read_to_string(path) {
            Ok(text) => {
                Self::from_text(&text).ok_or_else(|| VaultError::NotAKey { path: path.to_owned() })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let key = Self::fresh(clock);
                key.save(path).map_err(failed)?;
                Ok(key)
            }
            Err(error) => Err(failed(error)),
        }
    }

    fn from_text(text: &str) -> Option<Self> {
        let bytes = STANDARD.decode(text.trim()).ok()?;
        Some(Self(Secret::new(bytes.try_into().ok()?)))
    }

    /// Written whole or not at all: half a key would lock everything for ever.
    fn save(&self, path: &Path) -> io::Result<()> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let mut file =
            OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
        writeln!(file, "{}", STANDARD.encode(self.0.reveal()))?;
        file.sync_all()?;
        fs::rename(&beside, path)?;
        // A power cut must not take the name back once something is sealed.
        match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => fs::File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }
}

/// Seals and opens; see the module.
pub struct Vault {
    log: Arc<dyn EventLog>,
    master: Cipher,
    clock: Arc<dyn Clock>,
    open: Mutex<HashMap<String, Arc<Cipher>>>,
}

impl Vault {
    /// A vault whose scopes' keys are kept beside the log.
    pub fn new(log: Arc<dyn EventLog>, master: MasterKey, clock: Arc<dyn Clock>) -> Self {
        Self { log, master: Cipher::new(master.0.reveal()), clock, open: Mutex::default() }
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
        let sealed = self.log.key(scope, &|| {
            let mut key = [0; KEY_BYTES];
            self.clock.fill(&mut key);
            // An empty key is refused when it is opened.
            self.master.seal(scope, &key, &*self.clock).unwrap_or_default()
        })?;
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
        let key = self.master.open(scope, sealed).ok_or_else(|| closed(scope))?;
        let key: [u8; KEY_BYTES] = key.try_into().map_err(|_| closed(scope))?;
        let cipher = Arc::new(Cipher::new(&key));
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
    use std::os::unix::fs::PermissionsExt;

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

    #[test]
    fn the_master_key_is_kept_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data/master.key");
        let clock = SimulatedClock::new(1);
        let first = MasterKey::load_or_create(&path, &clock).unwrap();
        let again = MasterKey::load_or_create(&path, &clock).unwrap();
        assert_eq!(first.0.reveal(), again.0.reveal());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(matches!(
            MasterKey::load_or_create(&path, &clock),
            Err(VaultError::NotAKey { .. })
        ));
    }
}
