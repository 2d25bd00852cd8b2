//! Whether a rule holds for a caller and a target.

use std::cell::RefCell;
use std::collections::HashMap;

use super::rule::{Check, Left, Template};
use super::rules::Rules;
use super::subject::credential;
use crate::model::Caller;

/// A rule needs the answer of another server first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unheard(pub(super) String);

/// What other servers have said, by their address.
pub(super) type Heard = HashMap<String, bool>;

/// One question: these rules, this caller, this target.
pub(super) struct Question<'a> {
    pub(super) rules: &'a Rules,
    pub(super) caller: &'a Caller,
    /// The one attribute that Heat gives its targets; types have none.
    pub(super) project_id: Option<&'a str>,
    pub(super) heard: &'a Heard,
    /// What was found of named rules, so that one that many name is looked at once.
    known: RefCell<HashMap<&'a str, bool>>,
}

impl<'a> Question<'a> {
    pub(super) fn new(
        rules: &'a Rules,
        caller: &'a Caller,
        project_id: Option<&'a str>,
        heard: &'a Heard,
    ) -> Self {
        Self { rules, caller, project_id, heard, known: RefCell::default() }
    }

    /// Whether a named rule holds. One that there is not holds for nobody.
    pub(super) fn rule_holds(&self, name: &str) -> Result<bool, Unheard> {
        let Some((name, rule)) = self.rules.find(name) else { return Ok(false) };
        if let Some(known) = self.known.borrow().get(name) {
            return Ok(*known);
        }
        // No deeper than `rules` has measured.
        let holds = self.holds(&rule.check)?;
        self.known.borrow_mut().insert(name, holds);
        Ok(holds)
    }

    /// Whether a check holds.
    pub(super) fn holds(&self, check: &'a Check) -> Result<bool, Unheard> {
        match check {
            Check::Always => Ok(true),
            Check::Never => Ok(false),
            Check::Not(inner) => Ok(!self.holds(inner)?),
            Check::All(checks) => {
                for check in checks {
                    if !self.holds(check)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Check::Any(checks) => {
                for check in checks {
                    if self.holds(check)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Check::Rule(name) => self.rule_holds(name),
            Check::Role(role) => Ok(self.filled(role).is_some_and(|role| {
                let role = role.to_lowercase();
                self.caller.roles.iter().any(|held| held.to_lowercase() == role)
            })),
            Check::Remote(address) => match self.filled(address) {
                None => Ok(false),
                Some(address) => self.heard.get(&address).copied().ok_or(Unheard(address)),
            },
            Check::Equal(left, right) => Ok(self.filled(right).is_some_and(|right| match left {
                Left::Literal(text) => *text == right,
                Left::Credential(name) => {
                    credential(self.caller, name).is_some_and(|own| own.is(&right))
                }
            })),
        }
    }

    fn filled(&self, template: &Template) -> Option<String> {
        template.filled(|name| match name {
            "project_id" => self.project_id.map(str::to_owned),
            _ => None,
        })
    }
}
