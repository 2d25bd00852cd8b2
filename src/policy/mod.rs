//! Who may do what: the operator's rules in oslo.policy's language over Heat's defaults.
//!
//! A rule is found by its name, read once, and asked with the credentials of a caller and the
//! project that the request is about. Files are looked at again about once a second; one that
//! cannot be used leaves the rules as they are.

mod evaluate;
mod files;
mod remote;
mod rule;
mod rules;
mod subject;
mod why;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

pub use files::{FileError, PolicyPaths};
pub use remote::{RemoteError, RemoteSettings};
pub use rule::RuleError;
pub use rules::{Origin, RulesError, Strictness};
pub use why::Reason;

use self::evaluate::{Heard, Question, Unheard};
use self::files::Fingerprint;
use self::remote::Remote;
use self::rules::{Rules, TYPE_PREFIX};
use crate::clock::Clock;
use crate::model::Caller;

/// How long rules hold before their files are looked at again.
const LOOK_AGAIN_SECS: i64 = 1;

/// The rule that makes an administrator of the cloud.
const ADMIN_RULE: &str = "context_is_admin";

/// Why there are no rules to start with.
#[derive(Debug, thiserror::Error)]
pub enum PolicyError {
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    Rules(#[from] RulesError),
    #[error(transparent)]
    Remote(#[from] RemoteError),
}

/// What an operator sets: `[oslo_policy]`.
#[derive(Clone, Debug, Default)]
pub struct PolicySettings {
    pub paths: PolicyPaths,
    pub strictness: Strictness,
    pub remote: RemoteSettings,
}

/// The rules in force.
pub struct Policy {
    settings: PolicySettings,
    clock: Arc<dyn Clock>,
    /// Made when a rule first asks another server.
    remote: OnceLock<Remote>,
    current: RwLock<Current>,
}

struct Current {
    rules: Arc<Rules>,
    /// The rules have those of the policy file among them: without it they would be weaker.
    has_file: bool,
    looked_at: DateTime<Utc>,
    /// How the files looked then, and when they were read.
    seen: Fingerprint,
    read: Fingerprint,
}

/// One rule in force, to be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    pub name: String,
    pub text: String,
    pub origin: Origin,
}

impl Policy {
    /// Reads the rules, and refuses those that cannot be used.
    pub fn load(settings: PolicySettings, clock: Arc<dyn Clock>) -> Result<Self, PolicyError> {
        let read = settings.paths.fingerprint();
        let files = settings.paths.read(false)?;
        let rules = Rules::new(&files, settings.strictness)?;
        tell_slips(&rules);
        let remote = OnceLock::new();
        if rules.ask_others() {
            let _ = remote.set(Remote::new(&settings.remote)?);
        }
        let current = Current {
            rules: Arc::new(rules),
            has_file: settings.paths.file_is_among(&files),
            looked_at: clock.now(),
            seen: read.clone(),
            read,
        };
        Ok(Self { settings, clock, remote, current: RwLock::new(current) })
    }

    /// The defaults, without files.
    pub fn defaults(clock: Arc<dyn Clock>) -> Result<Self, PolicyError> {
        Self::load(PolicySettings::default(), clock)
    }

    /// Whether a caller may do this, by the rule of its name, in the project that his token is
    /// for. What no rule names is nobody's.
    pub async fn may(&self, caller: &Caller, rule: &str) -> bool {
        self.decide(caller, rule, Some(caller.project_id.as_str())).await
    }

    /// Whether a caller administers the cloud.
    pub async fn is_admin(&self, caller: &Caller) -> bool {
        self.decide(caller, ADMIN_RULE, None).await
    }

    /// Of these types, those that a caller may not make resources of: by the type's rule or that
    /// of its family, `OS::Nova::*`. What no rule names is everybody's. Each rule is asked once.
    pub async fn forbidden(&self, caller: &Caller, types: BTreeSet<String>) -> BTreeSet<String> {
        let rules = self.rules();
        let mut decided = HashMap::new();
        let mut forbidden = BTreeSet::new();
        for type_name in types {
            let family = match type_name.rsplit_once("::") {
                Some((family, _)) => format!("{TYPE_PREFIX}{family}::*"),
                None => format!("{TYPE_PREFIX}*"),
            };
            for name in [format!("{TYPE_PREFIX}{type_name}"), family] {
                let Some((name, _)) = rules.find(&name) else { continue };
                let holds = match decided.get(name) {
                    Some(known) => *known,
                    None => self.holds(&rules, caller, name, None).await,
                };
                decided.insert(name, holds);
                if !holds {
                    forbidden.insert(type_name);
                    break;
                }
            }
        }
        forbidden
    }

    /// All rules by name.
    pub fn show(&self) -> Vec<Shown> {
        let shown = |(name, rule): (&str, &rules::Named)| Shown {
            name: name.to_owned(),
            text: rule.text.clone(),
            origin: rule.origin.clone(),
        };
        self.rules().iter().map(shown).collect()
    }

    /// Names in files that nothing asks for.
    pub fn idle(&self) -> Vec<String> {
        self.rules().idle().into_iter().map(str::to_owned).collect()
    }

    /// Whether a rule lets a caller pass, and the checks that decided it.
    pub async fn explain(&self, caller: &Caller, rule: &str) -> (bool, Vec<Reason>) {
        let rules = self.rules();
        let project = Some(caller.project_id.as_str()).filter(|it| !it.is_empty());
        let reasons = self
            .asking(caller, rule, project, |heard| {
                why::reasons(&Question::new(&rules, caller, project, heard), rule)
            })
            .await;
        let mut reasons = reasons.unwrap_or_default();
        if rules.find(rule).is_some_and(|(_, rule)| !rule.takes_scope_of(caller)) {
            let check = "the token is not for what the rule is about (enforce_scope)".to_owned();
            reasons = vec![Reason { depth: 0, check, holds: false }];
        }
        (reasons.first().is_some_and(|first| first.holds), reasons)
    }

    async fn decide(&self, caller: &Caller, rule: &str, project: Option<&str>) -> bool {
        self.holds(&self.rules(), caller, rule, project).await
    }

    async fn holds(
        &self,
        rules: &Rules,
        caller: &Caller,
        rule: &str,
        project: Option<&str>,
    ) -> bool {
        if !rules.find(rule).is_some_and(|(_, rule)| rule.takes_scope_of(caller)) {
            return false;
        }
        let holds = self
            .asking(caller, rule, project, |heard| {
                Question::new(rules, caller, project, heard).rule_holds(rule)
            })
            .await;
        holds.unwrap_or(false)
    }

    /// Evaluates until no other server has to be asked any more.
    async fn asking<T>(
        &self,
        caller: &Caller,
        rule: &str,
        project: Option<&str>,
        evaluate: impl Fn(&Heard) -> Result<T, Unheard>,
    ) -> Option<T> {
        /// How many servers one rule may ask.
        const ASKS_MAX: usize = 16;
        let mut heard = Heard::new();
        for _ in 0..=ASKS_MAX {
            match evaluate(&heard) {
                Ok(found) => return Some(found),
                Err(Unheard(address)) => {
                    let target = project.map_or(json!({}), |id| json!({ "project_id": id }));
                    let credentials: Value = subject::credentials(caller);
                    let says = match self.remote() {
                        Some(remote) => remote.ask(&address, rule, &target, &credentials).await,
                        None => false,
                    };
                    heard.insert(address, says);
                }
            }
        }
        tracing::warn!(rule, "a rule asks more servers than it may");
        None
    }

    /// The client for rules that ask others; none where it cannot be made, which is said.
    fn remote(&self) -> Option<&Remote> {
        if let Some(remote) = self.remote.get() {
            return Some(remote);
        }
        match Remote::new(&self.settings.remote) {
            Ok(remote) => Some(self.remote.get_or_init(|| remote)),
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(error, "rules that ask other servers refuse");
                None
            }
        }
    }

    /// The rules, read anew where their files have changed.
    fn rules(&self) -> Arc<Rules> {
        let now = self.clock.now();
        let is_due = |current: &Current| {
            (now - current.looked_at).abs() >= TimeDelta::seconds(LOOK_AGAIN_SECS)
        };
        {
            let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
            if !is_due(&current) {
                return Arc::clone(&current.rules);
            }
        }
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        // Another request may have looked meanwhile.
        if is_due(&current) {
            current.looked_at = now;
            let seen = self.settings.paths.fingerprint();
            // A file that changes from one look to the next may be half written.
            if seen != current.read && seen == current.seen {
                self.reread(&mut current);
                current.read.clone_from(&seen);
            }
            current.seen = seen;
        }
        Arc::clone(&current.rules)
    }

    fn reread(&self, current: &mut Current) {
        let paths = &self.settings.paths;
        let read = paths.read(current.has_file).map_err(PolicyError::from);
        let read = read.and_then(|files| {
            Ok((Rules::new(&files, self.settings.strictness)?, paths.file_is_among(&files)))
        });
        match read {
            Ok((rules, has_file)) => {
                tell_slips(&rules);
                current.rules = Arc::new(rules);
                current.has_file = has_file;
                tracing::info!("the policy has changed");
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(error, "the policy cannot be used; the rules before it hold on");
            }
        }
    }
}

fn tell_slips(rules: &Rules) {
    for name in rules.missing() {
        tracing::warn!(name, "rules name one that there is not, which holds for nobody");
    }
    for name in rules.idle() {
        tracing::warn!(name, "no route, type or other rule asks for this rule of the policy");
    }
}

#[cfg(test)]
mod tests;
