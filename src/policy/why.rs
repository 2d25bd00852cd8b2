//! Which checks decided: what `hearth policy check` prints.

use super::evaluate::{Question, Unheard};
use super::rule::{Check, Left};

/// A part of a rule that settled the whole, how deep it stands, and whether it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    pub depth: usize,
    pub check: String,
    pub holds: bool,
}

/// The checks that decided a rule: of alternatives the first that holds or all, of parts the first
/// that does not hold or all.
pub(super) fn reasons(question: &Question<'_>, name: &str) -> Result<Vec<Reason>, Unheard> {
    let mut reasons = Vec::new();
    explain_rule(question, name, 0, &mut reasons)?;
    Ok(reasons)
}

fn explain_rule(
    question: &Question<'_>,
    name: &str,
    depth: usize,
    reasons: &mut Vec<Reason>,
) -> Result<(), Unheard> {
    let Some((_, rule)) = question.rules.find(name) else {
        reasons.push(Reason { depth, check: format!("no rule is called {name}"), holds: false });
        return Ok(());
    };
    let holds = question.rule_holds(name)?;
    let check = format!("{name}: \"{}\" ({})", rule.text, rule.origin);
    reasons.push(Reason { depth, check, holds });
    explain(question, &rule.check, depth + 1, reasons)
}

fn explain<'a>(
    question: &Question<'a>,
    check: &'a Check,
    depth: usize,
    reasons: &mut Vec<Reason>,
) -> Result<(), Unheard> {
    let holds = question.holds(check)?;
    let mut leaf = |text: String| reasons.push(Reason { depth, check: text, holds });
    match check {
        Check::Always => leaf("@".to_owned()),
        Check::Never => leaf("!".to_owned()),
        Check::Role(role) => leaf(format!("role:{role}")),
        Check::Remote(address) => leaf(address.to_string()),
        Check::Equal(Left::Literal(left) | Left::Credential(left), right) => {
            leaf(format!("{left}:{right}"));
        }
        Check::Rule(name) => explain_rule(question, name, depth, reasons)?,
        Check::Not(inner) => {
            leaf("not".to_owned());
            explain(question, inner, depth + 1, reasons)?;
        }
        Check::All(checks) | Check::Any(checks) => {
            // One is enough to make alternatives hold, or parts fail.
            let settles = matches!(check, Check::Any(_)) == holds;
            for check in checks {
                let is_reason = !settles || question.holds(check)? == holds;
                if is_reason {
                    explain(question, check, depth, reasons)?;
                    if settles {
                        break;
                    }
                }
            }
        }
    }
    Ok(())
}
