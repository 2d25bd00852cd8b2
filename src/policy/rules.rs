//! The rules in force by name: the operator's, and the defaults beneath them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::files::PolicyFile;
use super::rule::{Check, RuleError};
use crate::model::Caller;

/// How deep rules may stand in one another, by name and by parentheses.
const DEPTH_MAX: usize = 128;

/// What types' rules are called after.
pub(super) const TYPE_PREFIX: &str = "resource_types:";

/// Why rules cannot be in force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RulesError {
    #[error("the rule {name} of {origin} cannot be read: {source}")]
    Rule { name: String, origin: Origin, source: RuleError },
    #[error("the rule {0} names itself, by way of others or at once")]
    Cycle(String),
    #[error("the rule {0} stands in rules that are more than {DEPTH_MAX} deep")]
    TooDeep(String),
    #[error("the defaults cannot be read: {0}")]
    Defaults(String),
}

/// Where a rule was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    File(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
        }
    }
}

/// What a token is for, as rules name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TokenScope {
    Project,
    Domain,
    System,
}

impl TokenScope {
    /// As oslo.policy sees it: what is for neither system nor domain counts as a project's.
    fn of(caller: &Caller) -> Self {
        match (caller.scope.is_system, &caller.scope.domain_id) {
            (true, _) => Self::System,
            (false, Some(_)) => Self::Domain,
            (false, None) => Self::Project,
        }
    }
}

/// How defaults are taken: options of `[oslo_policy]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strictness {
    /// A token must be for what the rule is about.
    pub enforce_scope: bool,
    /// What was enough before no longer is.
    pub enforce_new_defaults: bool,
}

impl Default for Strictness {
    /// Both, as in Heat.
    fn default() -> Self {
        Self { enforce_scope: true, enforce_new_defaults: true }
    }
}

/// A rule in force.
#[derive(Clone, Debug)]
pub(super) struct Named {
    pub(super) check: Check,
    /// As it was written.
    pub(super) text: String,
    pub(super) origin: Origin,
    /// What a token must be for; empty takes any.
    scopes: Vec<TokenScope>,
}

/// All rules in force.
#[derive(Clone, Debug)]
pub(super) struct Rules(BTreeMap<String, Named>);

/// A rule of `defaults.yaml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DefaultRule {
    check: String,
    old: Option<String>,
    #[serde(default)]
    scopes: Vec<TokenScope>,
}

impl Rules {
    /// The files' rules, each over those before, over the defaults.
    pub(super) fn new(files: &[PolicyFile], strictness: Strictness) -> Result<Self, RulesError> {
        let mut rules = defaults(strictness)?;
        for file in files {
            for (name, written) in &file.rules {
                let origin = Origin::File(file.path.clone());
                let check = Check::read(written).map_err(|source| RulesError::Rule {
                    name: name.clone(),
                    origin: origin.clone(),
                    source,
                })?;
                let text = match written {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                let scopes = rules.remove(name).map(|default| default.scopes).unwrap_or_default();
                rules.insert(name.clone(), Named { check, text, origin, scopes });
            }
        }
        let rules = Self(rules);
        rules.measure()?;
        Ok(rules)
    }

    pub(super) fn find(&self, name: &str) -> Option<(&str, &Named)> {
        self.0.get_key_value(name).map(|(name, rule)| (name.as_str(), rule))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Named)> {
        self.0.iter().map(|(name, rule)| (name.as_str(), rule))
    }

    /// Names that rules speak of and that no rule has: what they stand for is nobody's.
    pub(super) fn missing(&self) -> BTreeSet<&str> {
        let mut named = self.named();
        named.retain(|name| !self.0.contains_key(*name));
        named
    }

    /// Names of rules in files that no route, no type and no other rule asks for: most likely a slip
    /// of the pen, and the rule that was meant holds as before.
    pub(super) fn idle(&self) -> Vec<&str> {
        let named = self.named();
        let asked = defaults(Strictness::default()).unwrap_or_default();
        let is_idle = |name: &&str| {
            !asked.contains_key(*name) && !named.contains(name) && !name.starts_with(TYPE_PREFIX)
        };
        self.0.keys().map(String::as_str).filter(is_idle).collect()
    }

    fn named(&self) -> BTreeSet<&str> {
        let mut named = BTreeSet::new();
        for rule in self.0.values() {
            visit(&rule.check, &mut |check| {
                if let Check::Rule(name) = check {
                    named.insert(name.as_str());
                }
            });
        }
        named
    }

    /// Whether any rule asks another server.
    pub(super) fn ask_others(&self) -> bool {
        let mut found = false;
        for rule in self.0.values() {
            visit(&rule.check, &mut |check| found |= matches!(check, Check::Remote(_)));
        }
        found
    }

    /// Refuses rules that never come to an end, or go so deep that looking at them is a danger.
    fn measure(&self) -> Result<(), RulesError> {
        let mut measured = BTreeMap::new();
        for name in self.0.keys() {
            self.depth(name, &mut measured, 0)?;
        }
        Ok(())
    }

    fn depth<'a>(
        &'a self,
        name: &'a str,
        measured: &mut BTreeMap<&'a str, Option<usize>>,
        above: usize,
    ) -> Result<usize, RulesError> {
        let Some(rule) = self.0.get(name) else { return Ok(0) };
        match measured.get(name) {
            Some(Some(known)) if above + known > DEPTH_MAX => {
                return Err(RulesError::TooDeep(name.to_owned()));
            }
            Some(Some(known)) => return Ok(*known),
            // It is being measured, further up.
            Some(None) => return Err(RulesError::Cycle(name.to_owned())),
            None => {}
        }
        measured.insert(name, None);
        let depth = self.depth_of_check(name, &rule.check, measured, above + 1)? + 1;
        measured.insert(name, Some(depth));
        Ok(depth)
    }

    fn depth_of_check<'a>(
        &'a self,
        name: &str,
        check: &'a Check,
        measured: &mut BTreeMap<&'a str, Option<usize>>,
        above: usize,
    ) -> Result<usize, RulesError> {
        // Nothing is looked at that lies deeper, so measuring is no danger itself.
        if above > DEPTH_MAX {
            return Err(RulesError::TooDeep(name.to_owned()));
        }
        let inner: &[Check] = match check {
            Check::Rule(named) => return self.depth(named, measured, above),
            Check::Not(inner) => std::slice::from_ref(inner),
            Check::All(checks) | Check::Any(checks) => checks,
            Check::Always | Check::Never | Check::Role(_) | Check::Remote(_) | Check::Equal(..) => {
                &[]
            }
        };
        let mut deepest = 0;
        for check in inner {
            let depth = self.depth_of_check(name, check, measured, above + 1)? + 1;
            deepest = deepest.max(depth);
        }
        Ok(deepest)
    }
}

impl Named {
    /// Whether a token may be for what the caller's is.
    pub(super) fn takes_scope_of(&self, caller: &Caller) -> bool {
        self.scopes.is_empty() || self.scopes.contains(&TokenScope::of(caller))
    }
}

fn visit<'a>(check: &'a Check, see: &mut impl FnMut(&'a Check)) {
    see(check);
    match check {
        Check::Not(inner) => visit(inner, see),
        Check::All(checks) | Check::Any(checks) => {
            for check in checks {
                visit(check, see);
            }
        }
        Check::Always
        | Check::Never
        | Check::Rule(_)
        | Check::Role(_)
        | Check::Remote(_)
        | Check::Equal(..) => {}
    }
}

/// Heat's defaults and Hearth's few.
fn defaults(strictness: Strictness) -> Result<BTreeMap<String, Named>, RulesError> {
    let read: BTreeMap<String, DefaultRule> =
        serde_yaml::from_str(include_str!("defaults.yaml"))
            .map_err(|error| RulesError::Defaults(error.to_string()))?;
    let named = read.into_iter().map(|(name, default)| {
        let text = match default.old.filter(|_| !strictness.enforce_new_defaults) {
            Some(old) => format!("({}) or ({old})", default.check),
            None => default.check,
        };
        let check = Check::parse(&text).map_err(|source| RulesError::Rule {
            name: name.clone(),
            origin: Origin::Default,
            source,
        })?;
        let scopes = if strictness.enforce_scope { default.scopes } else { Vec::new() };
        Ok((name, Named { check, text, origin: Origin::Default, scopes }))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(text: &str) -> Result<Rules, RulesError> {
        let file =
            PolicyFile { path: "policy.yaml".into(), rules: serde_yaml::from_str(text).unwrap() };
        Rules::new(&[file], Strictness::default())
    }

    #[test]
    fn rules_that_name_one_another_in_a_circle_are_refused() {
        for text in ["a: rule:a", "a: not rule:b\nb: (rule:c)\nc: role:x and rule:a"] {
            let refused = with(text).unwrap_err();
            assert!(matches!(refused, RulesError::Cycle(_)), "{refused}");
        }
        let many: String = (0..10_000).map(|i| format!("r{i}: rule:r{}\n", i + 1)).collect();
        let refused = with(&many).unwrap_err();
        assert!(matches!(refused, RulesError::TooDeep(_)), "{refused}");
    }

    #[test]
    fn what_many_rules_name_may_be_named_by_many() {
        let many: String =
            (0..100).map(|i| format!("r{i}: rule:r{n} and rule:r{n}\n", n = i + 1)).collect();
        // Each level has two: one for the name and one for `and`.
        assert!(matches!(with(&many), Err(RulesError::TooDeep(_))));
        let fewer: String = many.lines().take(50).map(|line| format!("{line}\n")).collect();
        with(&fewer).unwrap();
    }

    #[test]
    fn what_a_rule_speaks_of_and_no_rule_has_is_told() {
        let rules = with("a: not (rule:b or rule:stacks:index)").unwrap();
        assert_eq!(rules.missing().into_iter().collect::<Vec<_>>(), ["b"]);
    }
}
