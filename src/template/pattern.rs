//! Python's regular expressions in terms of ours: the few things that are written differently.

use std::ops::Range;
use std::sync::OnceLock;

use fancy_regex::{Error, ParseError, Regex, RegexBuilder, RuntimeError};

/// How often a search may go back: cheaply at first, and dearer where that does not do.
const BACKTRACKS: [usize; 3] = [2_000, 50_000, 1_000_000];

/// How many goings back cost as much as a step, in a text of one piece.
const BACKTRACKS_PER_STEP: usize = 16;

/// The bytes of a text that a search reads in a step.
const BYTES_PER_STEP: usize = 256;

/// The steps that it costs to compile the shortest pattern, and each of its parts.
const STEPS_TO_COMPILE: (usize, usize) = (100, 4);

/// The parts that a class of characters counts for: they are many ranges.
const CLASS_PARTS: usize = 16;

/// The bytes that a pattern may take once it is compiled: repetitions of repetitions multiply.
const COMPILED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// A compiled pattern. What a search costs is told to who searches, before it is done.
pub(crate) struct Pattern {
    text: String,
    /// By how often they may go back.
    regexes: [OnceLock<Regex>; BACKTRACKS.len()],
}

/// Where the groups of a match are, in bytes; the first is the match itself.
pub(crate) type Match = Vec<Option<Range<usize>>>;

/// Why there is no pattern of a text.
#[derive(Debug)]
pub(crate) struct Unusable {
    pub(crate) message: String,
    /// It is one, but too large or too deep for us.
    pub(crate) is_too_large: bool,
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Self {
        let is_too_large = matches!(
            error,
            Error::ParseError(_, ParseError::RecursionExceeded) | Error::CompileError(_)
        );
        Self { message: error.to_string(), is_too_large }
    }
}

/// Why a search found no answer.
#[derive(Debug)]
pub(crate) enum Unanswered<E> {
    /// Who searches has no more steps to give.
    Refused(E),
    /// The pattern goes back too often.
    GaveUp(String),
}

impl Pattern {
    fn new(text: String) -> Result<Self, Unusable> {
        let pattern = Self { text, regexes: Default::default() };
        pattern.regex(0)?;
        Ok(pattern)
    }

    fn regex(&self, tier: usize) -> Result<&Regex, Unusable> {
        if let Some(known) = self.regexes[tier].get() {
            return Ok(known);
        }
        let regex = RegexBuilder::new(&self.text)
            .backtrack_limit(BACKTRACKS[tier])
            .delegate_size_limit(COMPILED_BYTES_MAX)
            .delegate_dfa_size_limit(COMPILED_BYTES_MAX)
            .build()?;
        Ok(self.regexes[tier].get_or_init(|| regex))
    }

    /// The names of its groups; the first is the whole match, which has none. The crate knows no
    /// group that is repeated not at all.
    pub(crate) fn group_names(&self) -> Vec<Option<&str>> {
        let mut names = vec![None];
        let mut rest = self.text.as_str();
        while let Some(at) = rest.find(['(', '[', '\\']) {
            let (found, after) = (rest.as_bytes()[at], &rest[at + 1..]);
            rest = after;
            match found {
                b'(' => match after.strip_prefix('?') {
                    None => names.push(None),
                    Some(kind) => {
                        let named = kind.strip_prefix("P<").or_else(|| kind.strip_prefix('<'));
                        let named = named.filter(|name| !name.starts_with(['=', '!']));
                        let name = named.and_then(|named| named.split_once('>'));
                        names.extend(name.map(|(name, _)| Some(name)));
                    }
                },
                b'[' => rest = &after[class_length(after)..],
                _ => {
                    let escaped = after.chars().next().map_or(0, char::len_utf8);
                    rest = &after[escaped..];
                }
            }
        }
        names
    }

    /// The first match from a place on. `pay` takes the steps that it costs.
    pub(crate) fn find<E>(
        &self,
        text: &str,
        from: usize,
        mut pay: impl FnMut(usize) -> Result<(), E>,
    ) -> Result<Option<Match>, Unanswered<E>> {
        let pieces = 1 + text.len() / BYTES_PER_STEP;
        pay(pieces).map_err(Unanswered::Refused)?;
        for (tier, backtracks) in BACKTRACKS.into_iter().enumerate() {
            let regex =
                self.regex(tier).map_err(|unusable| Unanswered::GaveUp(unusable.message))?;
            match regex.captures_from_pos(text, from) {
                Ok(found) => {
                    // Each group is somebody's to look at.
                    let groups = found.as_ref().map_or(0, fancy_regex::Captures::len);
                    pay(groups.saturating_mul(pieces)).map_err(Unanswered::Refused)?;
                    return Ok(found.map(|found| {
                        (0..found.len())
                            .map(|group| found.get(group).map(|group| group.range()))
                            .collect()
                    }));
                }
                Err(Error::RuntimeError(RuntimeError::BacktrackLimitExceeded))
                    if tier + 1 < BACKTRACKS.len() =>
                {
                    // What was tried is paid for, and so is what comes next.
                    let steps = (backtracks + BACKTRACKS[tier + 1]) / BACKTRACKS_PER_STEP;
                    pay(steps.saturating_mul(pieces)).map_err(Unanswered::Refused)?;
                }
                Err(error) => return Err(Unanswered::GaveUp(error.to_string())),
            }
        }
        Ok(None)
    }
}

/// How long a class of characters is, behind its opening bracket.
fn class_length(rest: &str) -> usize {
    let mut is_escaped = false;
    let ends = |(_, letter): &(usize, char)| {
        let ends = !is_escaped && *letter == ']';
        is_escaped = !is_escaped && *letter == '\\';
        ends
    };
    rest.char_indices().find(ends).map_or(rest.len(), |(at, _)| at + 1)
}

/// The steps that it costs to compile a pattern.
pub(crate) fn steps_to_compile(pattern: &str) -> usize {
    let (least, per_part) = STEPS_TO_COMPILE;
    parts(pattern).saturating_mul(per_part).saturating_add(least)
}

/// How many parts a pattern has once its repetitions are written out.
fn parts(pattern: &str) -> usize {
    // Those of the groups that are open, and of what stands last in the innermost.
    let mut groups = vec![0_usize];
    let mut last = 0;
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '(' => groups.push(0),
            ')' if groups.len() > 1 => last = groups.pop().unwrap_or(0).saturating_add(1),
            '{' => {
                let counts: String = chars.clone().take_while(|c| *c != '}').collect();
                let most = counts.split(',').filter_map(|count| count.parse::<usize>().ok()).max();
                // What is no repetition is text.
                last = last.saturating_mul(most.unwrap_or(1).max(1));
            }
            '\\' => {
                last = if chars.next().is_some_and(char::is_alphabetic) { CLASS_PARTS } else { 1 }
            }
            '.' | '[' => last = CLASS_PARTS,
            _ => last = 1,
        }
        if c == '(' {
            last = 0;
            continue;
        }
        if let Some(group) = groups.last_mut() {
            *group = group.saturating_add(last);
        }
    }
    groups.into_iter().fold(0, usize::saturating_add)
}

/// Compiles a pattern that has to match from the start of a text; the error is ours.
pub(crate) fn compile(pattern: &str) -> Result<Pattern, Unusable> {
    Pattern::new(format!("\\A(?:{})", translated(pattern)))
}

/// How a pattern is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) multi_line: bool,
    pub(crate) dot_all: bool,
}

/// Compiles a pattern that may match anywhere in a text; the error is ours.
pub(crate) fn searching(pattern: &str, flags: Flags) -> Result<Pattern, Unusable> {
    let Flags { ignore_case, multi_line, dot_all } = flags;
    let mut pattern = translated(pattern);
    for (is_set, letter) in [(ignore_case, 'i'), (dot_all, 's')] {
        if is_set {
            pattern = format!("(?{letter}:{pattern})");
        }
    }
    if multi_line {
        pattern = format!("(?m:{})", pattern.replace(END, "$"));
    }
    Pattern::new(pattern)
}

/// What `$` means to Python where it stands for the end of a text.
const END: &str = "(?=\\n?\\z)";

/// `$` also matches before a line break at the end, `\Z` is the very end, and a look-around may be
/// repeated.
fn translated(pattern: &str) -> String {
    let chars: Vec<char> = pattern.chars().collect();
    let mut out = String::with_capacity(pattern.len());
    let mut open_groups: Vec<(usize, bool)> = Vec::new();
    let mut in_class = false;
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        at += 1;
        match c {
            '\\' => {
                let escaped = chars.get(at).copied();
                at += 1;
                match escaped {
                    Some('Z') if !in_class => out.push_str("\\z"),
                    Some(other) => out.extend(['\\', other]),
                    None => out.push('\\'),
                }
            }
            '[' if in_class => out.push_str("\\["),
            '[' => {
                in_class = true;
                out.push('[');
                // The first bracket within is one of the class.
                if chars.get(at) == Some(&'^') {
                    out.push('^');
                    at += 1;
                }
                if chars.get(at) == Some(&']') {
                    out.push_str("\\]");
                    at += 1;
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            // Within a class these mean nothing to Python, but something to us.
            '&' | '~' if in_class => out.extend(['\\', c]),
            _ if in_class => out.push(c),
            '(' => {
                let rest: String = chars[at..].iter().take(3).collect();
                let is_look = ["?=", "?!", "?<=", "?<!"].iter().any(|look| rest.starts_with(look));
                open_groups.push((out.len(), is_look));
                out.push('(');
            }
            ')' => {
                out.push(')');
                let repeated = matches!(chars.get(at), Some('*' | '+' | '?' | '{'));
                if let Some((start, true)) = open_groups.pop()
                    && repeated
                {
                    // To look more than once finds nothing else; not at all is always allowed.
                    let group = out.split_off(start);
                    let optional = matches!(chars[at], '*' | '?');
                    out.push_str(&if optional { "(?:)".to_owned() } else { group });
                    at += repetition_length(&chars[at..]);
                }
            }
            '$' => out.push_str(END),
            other => out.push(other),
        }
    }
    out
}

/// The length of `*`, `+?`, `{1,2}` and the like.
fn repetition_length(rest: &[char]) -> usize {
    let length = match rest.first() {
        Some('{') => rest.iter().position(|c| *c == '}').map_or(1, |end| end + 1),
        _ => 1,
    };
    length + usize::from(matches!(rest.get(length), Some('?' | '+')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_match(pattern: &str, text: &str) -> Option<String> {
        let found = compile(pattern).unwrap().find(text, 0, |_| Ok::<(), ()>(())).unwrap();
        let whole = found.and_then(|found| found.into_iter().next().flatten());
        whole.map(|whole| text[whole].to_owned())
    }

    #[test]
    fn groups_are_known_by_their_names() {
        let named = |pattern| compile(pattern).unwrap().group_names().len();
        for (pattern, names) in [
            ("(?P<n>a){0}(b)", vec![None, Some("n"), None]),
            ("(?:a)(?=b)(?<=c)(?P<é>d)", vec![None, Some("é")]),
            (r"\((a)[(\](]([)(]b)", vec![None, None, None]),
            ("[]()](?P<a>[^]()])", vec![None, Some("a")]),
        ] {
            assert_eq!(compile(pattern).unwrap().group_names(), names, "{pattern}");
        }
        assert_eq!(named("a"), 1);
    }

    #[test]
    fn a_group_cannot_be_called() {
        // It would be written out, and within itself again and again.
        for pattern in [r"(a\g<1>?\g<1>?\g<1>?)", r"(?P<a>x(?&a)?)", "(x(?1)?)", "(?R)"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }

    #[test]
    fn what_repeats_on_both_sides_is_there_twice() {
        for pattern in ["[a-z]+[-_]?[a-z]+$", "a+b*a+$", r"\w+\.?\w+$", "(?:(?:a+b?)a+)+$"] {
            assert_eq!(first_match(pattern, "a"), None, "{pattern}");
            assert_eq!(first_match(pattern, "aa").as_deref(), Some("aa"), "{pattern}");
        }
    }

    #[test]
    fn patterns_mean_what_python_means() {
        assert_eq!(first_match("a$", "a\n").as_deref(), Some("a"));
        assert_eq!(first_match("a\\Z", "a\n"), None);
        assert_eq!(first_match("[a&&b]+", "a&b").as_deref(), Some("a&b"));
        assert_eq!(first_match("[]a]+", "]a").as_deref(), Some("]a"));
        assert_eq!(first_match("a(?=b)*c", "ac").as_deref(), Some("ac"));
        assert_eq!(first_match("(?P<x>a)(?P=x)", "aa").as_deref(), Some("aa"));
        assert_eq!(first_match("[[]", "[").as_deref(), Some("["));
        assert_eq!(first_match("b", "ab"), None);
    }

    #[test]
    fn a_pattern_that_goes_back_for_ever_is_paid_for_and_given_up() {
        let pattern = compile("(?=a)(a|a|aa)*\\Zb").unwrap();
        let text = "a".repeat(300);
        let mut paid = 0;
        let gave_up = pattern.find(&text, 0, |steps| {
            paid += steps;
            Ok::<(), ()>(())
        });
        assert!(matches!(gave_up, Err(Unanswered::GaveUp(_))));
        assert!(paid > 100_000, "{paid}");
        let poor = |steps| if steps > 100 { Err("too dear") } else { Ok(()) };
        let refused = pattern.find(&text, 0, poor);
        assert!(matches!(refused, Err(Unanswered::Refused("too dear"))));
    }

    #[test]
    fn repetitions_of_repetitions_are_dear() {
        assert!(steps_to_compile("^[a-z0-9-]{1,63}$") < 10_000);
        assert!(steps_to_compile("(\\d{1,3}\\.){3}\\d{1,3}") < 10_000);
        assert!(steps_to_compile("(((a{30}){30}){30})") > 100_000);
        assert!(steps_to_compile("((((a{999}){999}){999}){999}){999999}") > 10_000_000);
    }

    #[test]
    fn repetitions_of_repetitions_are_no_pattern() {
        let mut nested = "a".to_owned();
        for _ in 0..8 {
            nested = format!("(?:{nested}){{50}}");
        }
        assert!(compile(&nested).is_err());
    }
}
