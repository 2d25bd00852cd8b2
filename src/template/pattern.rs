//! Python's regular expressions in terms of ours: the few things that are written differently.

use fancy_regex::Regex;

/// Compiles a pattern that has to match from the start of a text; the error is ours.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(&format!("\\A(?:{})", translated(pattern))).map_err(|error| error.to_string())
}

/// How a pattern is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) ignore_case: bool,
    pub(crate) multi_line: bool,
    pub(crate) dot_all: bool,
}

/// Compiles a pattern that may match anywhere in a text; the error is ours.
pub(crate) fn searching(pattern: &str, flags: Flags) -> Result<Regex, String> {
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
    Regex::new(&pattern).map_err(|error| error.to_string())
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
        let regex = compile(pattern).unwrap();
        regex.find(text).unwrap().map(|found| found.as_str().to_owned())
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
}
