//! The language of rules, as oslo.policy reads it: checks joined by `and`, `or` and `not`, with
//! parentheses; or the older form, a list of alternatives, each of which is a list of checks.

use std::fmt;

use serde_json::Value;

/// The longest text of a rule.
const RULE_MAX_BYTES: usize = 65_536;

/// How deep parentheses may stand in one another.
const DEPTH_MAX: usize = 50;

/// Why a text is no rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("it has {0} bytes, and a rule has {RULE_MAX_BYTES} at most")]
    TooLong(usize),
    #[error("its parentheses stand more than {DEPTH_MAX} deep")]
    TooDeep,
    #[error("a check is missing {0}")]
    NoCheck(&'static str),
    #[error("`and` or `or` is missing before `{0}`")]
    NoOperator(String),
    #[error("a parenthesis is not closed")]
    Open,
    #[error("a parenthesis is closed that was not opened")]
    NotOpen,
    #[error("`{0}` is no check: one is written KIND:VALUE")]
    NoKind(String),
    #[error("`{0}` stands in quotes, and only the value before a colon may")]
    Quoted(String),
    #[error("`{0}` has a % that is neither %% nor %(NAME)s")]
    Percent(String),
    #[error("it is neither a text nor a list of lists of texts")]
    Shape,
}

/// A rule as a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// `@`, and the empty rule.
    Always,
    /// `!`
    Never,
    Not(Box<Check>),
    All(Vec<Check>),
    Any(Vec<Check>),
    /// `rule:NAME`
    Rule(String),
    /// `role:NAME`, in any case.
    Role(Template),
    /// `http://…` or `https://…`: another server decides.
    Remote(Template),
    /// `LEFT:VALUE`: a literal or a credential of the caller's, compared with a value.
    Equal(Left, Template),
}

/// What stands before the colon of a comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// As Python shows the literal.
    Literal(String),
    /// The name of a credential.
    Credential(String),
}

/// A text with the target's attributes in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// `%(NAME)s`
    Attribute(String),
}

impl Template {
    fn parse(text: &str) -> Result<Self, RuleError> {
        let wrong = || RuleError::Percent(text.to_owned());
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            pieces.push(Piece::Text(rest[..at].to_owned()));
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix('%') {
                pieces.push(Piece::Text("%".to_owned()));
                rest = after;
            } else {
                let (name, after) =
                    rest.strip_prefix('(').and_then(|it| it.split_once(")s")).ok_or_else(wrong)?;
                pieces.push(Piece::Attribute(name.to_owned()));
                rest = after;
            }
        }
        pieces.push(Piece::Text(rest.to_owned()));
        Ok(Self(pieces))
    }

    /// The text, where the target has every attribute that it names.
    pub(super) fn filled(&self, attribute: impl Fn(&str) -> Option<String>) -> Option<String> {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.clone()),
            Piece::Attribute(name) => attribute(name),
        });
        pieces.collect()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Text(text) => f.write_str(text),
            Piece::Attribute(name) => write!(f, "%({name})s"),
        })
    }
}

impl Check {
    /// Reads a rule as a policy file has it.
    pub(super) fn read(rule: &Value) -> Result<Self, RuleError> {
        match rule {
            Value::String(text) => Self::parse(text),
            Value::Array(alternatives) => Self::of_lists(alternatives),
            _ => Err(RuleError::Shape),
        }
    }

    /// Reads a rule of the language.
    pub(super) fn parse(text: &str) -> Result<Self, RuleError> {
        if text.len() > RULE_MAX_BYTES {
            return Err(RuleError::TooLong(text.len()));
        }
        if text.is_empty() {
            return Ok(Self::Always);
        }
        let mut open = vec![Frame::default()];
        for word in text.split_whitespace() {
            let inner = word.trim_start_matches('(');
            for _ in 0..word.len() - inner.len() {
                innermost(&mut open)?.begins("(")?;
                if open.len() > DEPTH_MAX {
                    return Err(RuleError::TooDeep);
                }
                open.push(Frame::default());
            }
            let clean = inner.trim_end_matches(')');
            if !clean.is_empty() {
                innermost(&mut open)?.takes(clean)?;
            }
            for _ in 0..inner.len() - clean.len() {
                let closed = open.pop().ok_or(RuleError::NotOpen)?.closed()?;
                innermost(&mut open)?.adds(closed);
            }
        }
        let whole = open.pop().ok_or(RuleError::NotOpen)?;
        if open.is_empty() { whole.closed() } else { Err(RuleError::Open) }
    }

    /// The older form. No alternative at all is always true, and only empty ones never.
    fn of_lists(alternatives: &[Value]) -> Result<Self, RuleError> {
        if alternatives.is_empty() {
            return Ok(Self::Always);
        }
        let one = |text: &Value| Self::single(text.as_str().ok_or(RuleError::Shape)?);
        let mut any = Vec::new();
        for alternative in alternatives {
            match alternative {
                Value::String(text) if text.is_empty() => {}
                Value::String(_) => any.push(one(alternative)?),
                Value::Array(checks) if checks.is_empty() => {}
                Value::Array(checks) => {
                    any.push(Self::All(checks.iter().map(one).collect::<Result<_, _>>()?));
                }
                _ => return Err(RuleError::Shape),
            }
        }
        Ok(Self::Any(any))
    }

    /// Reads a single check.
    fn single(text: &str) -> Result<Self, RuleError> {
        match text {
            "@" => return Ok(Self::Always),
            "!" => return Ok(Self::Never),
            _ => {}
        }
        let (kind, value) =
            text.split_once(':').ok_or_else(|| RuleError::NoKind(text.to_owned()))?;
        Ok(match kind {
            "rule" => Self::Rule(value.to_owned()),
            "role" => Self::Role(Template::parse(value)?),
            "http" | "https" => Self::Remote(Template::parse(text)?),
            _ => Self::Equal(Left::read(kind), Template::parse(value)?),
        })
    }
}

impl Left {
    /// A literal of Python's, or else a name.
    fn read(kind: &str) -> Self {
        let quoted = ['\'', '"'].iter().find_map(|quote| {
            let inner = kind.strip_prefix(*quote)?.strip_suffix(*quote)?;
            (!inner.contains([*quote, '\\'])).then_some(inner)
        });
        let digits = kind.strip_prefix('-').unwrap_or(kind);
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit())
            && !digits.is_empty()
            && (digits == "0" || !digits.starts_with('0'));
        match kind {
            "True" | "False" | "None" => Self::Literal(kind.to_owned()),
            _ if is_number => Self::Literal(kind.to_owned()),
            _ => match quoted {
                Some(text) => Self::Literal(text.to_owned()),
                None => Self::Credential(kind.to_owned()),
            },
        }
    }
}

/// What was read since a parenthesis was opened.
#[derive(Default)]
struct Frame {
    /// Alternatives that are complete.
    any: Vec<Check>,
    /// The parts of the one that is being read.
    all: Vec<Check>,
    negates: bool,
    has_operand: bool,
}

impl Frame {
    /// A word that is no parenthesis.
    fn takes(&mut self, word: &str) -> Result<(), RuleError> {
        match word.to_lowercase().as_str() {
            "not" => {
                self.begins(word)?;
                self.negates = !self.negates;
            }
            "and" => self.ends("before `and`")?,
            "or" => {
                self.ends("before `or`")?;
                self.any.push(joined(std::mem::take(&mut self.all), Check::All));
            }
            _ if is_quoted(word) => return Err(RuleError::Quoted(word.to_owned())),
            _ => {
                self.begins(word)?;
                self.adds(Check::single(word)?);
            }
        }
        Ok(())
    }

    /// A check may stand here.
    fn begins(&self, word: &str) -> Result<(), RuleError> {
        match self.has_operand {
            true => Err(RuleError::NoOperator(word.to_owned())),
            false => Ok(()),
        }
    }

    /// A check stood here.
    fn ends(&mut self, place: &'static str) -> Result<(), RuleError> {
        match std::mem::take(&mut self.has_operand) {
            true => Ok(()),
            false => Err(RuleError::NoCheck(place)),
        }
    }

    fn adds(&mut self, check: Check) {
        self.has_operand = true;
        self.all.push(match std::mem::take(&mut self.negates) {
            true => Check::Not(Box::new(check)),
            false => check,
        });
    }

    fn closed(mut self) -> Result<Check, RuleError> {
        self.ends("at the end")?;
        self.any.push(joined(self.all, Check::All));
        Ok(joined(self.any, Check::Any))
    }
}

fn innermost(open: &mut [Frame]) -> Result<&mut Frame, RuleError> {
    open.last_mut().ok_or(RuleError::NotOpen)
}

/// One check as it is, several together.
fn joined(mut checks: Vec<Check>, join: fn(Vec<Check>) -> Check) -> Check {
    match (checks.len(), checks.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            checks.extend(last);
            join(checks)
        }
    }
}

fn is_quoted(word: &str) -> bool {
    word.len() > 1 && ['\'', '"'].iter().any(|it| word.starts_with(*it) && word.ends_with(*it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_of_a_hundred_thousand_parentheses_is_refused() {
        for (opening, closing) in [("(", ")"), ("not (", ")"), ("( ", " )"), ("@ or (", ")")] {
            for times in [51, 1_000, 100_000] {
                let text = format!("{}@{}", opening.repeat(times), closing.repeat(times));
                let refused = Check::parse(&text).unwrap_err();
                assert!(
                    matches!(refused, RuleError::TooLong(_) | RuleError::TooDeep),
                    "{times} of {opening}: {refused}"
                );
            }
        }
    }

    #[test]
    fn many_nots_turn_one_another_around() {
        let nots = |times| Check::parse(&format!("{}role:a", "not ".repeat(times))).unwrap();
        assert_eq!(nots(10_000), Check::parse("role:a").unwrap());
        assert_eq!(nots(10_001), Check::parse("not role:a").unwrap());
    }

    #[test]
    fn what_is_no_rule_is_refused_with_the_reason() {
        for (text, reason) in [
            ("role:a role:b", "`and` or `or` is missing before `role:b`"),
            ("role:a and", "a check is missing at the end"),
            ("or role:a", "a check is missing before `or`"),
            ("(role:a", "a parenthesis is not closed"),
            ("role:a)", "a parenthesis is closed that was not opened"),
            ("()", "a check is missing at the end"),
            ("admin", "`admin` is no check: one is written KIND:VALUE"),
            ("'role:a'", "`'role:a'` stands in quotes, and only the value before a colon may"),
            ("a:%(b)d", "`%(b)d` has a % that is neither %% nor %(NAME)s"),
            ("   ", "a check is missing at the end"),
        ] {
            assert_eq!(Check::parse(text).unwrap_err().to_string(), reason, "{text}");
        }
        assert_eq!(Check::read(&Value::Null), Err(RuleError::Shape));
        assert_eq!(Check::read(&serde_json::json!([[1]])), Err(RuleError::Shape));
    }
}
