//! Patterns for names as a shell has them: `*` any text, `?` one character, `[a-z]` one of a set,
//! `[!a-z]` one that is not in it. Upper and lower case differ.

/// Whether the pattern matches the whole name.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let name: Vec<char> = name.chars().collect();
    // Where the last `*` stood, and how much of the name it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    let (mut at, mut taken) = (0, 0);
    while taken < name.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at, taken));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => set(&pattern[at..], name[taken]),
            Some(c) => (*c == name[taken]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(length), _) => {
                at += length;
                taken += 1;
            }
            (None, Some((before, from))) => {
                star = Some((before, from + 1));
                at = before + 1;
                taken = from + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// The length of the set at the start of a pattern if it takes the character; a bracket that is
/// never closed stands for itself.
fn set(pattern: &[char], c: char) -> Option<usize> {
    let negated = pattern.get(1) == Some(&'!');
    let first = if negated { 2 } else { 1 };
    // A bracket that closes at once is one of the set.
    let Some(end) = (first + 1..pattern.len()).find(|at| pattern[*at] == ']') else {
        return (c == '[').then_some(1);
    };
    let mut within = &pattern[first..end];
    let mut found = false;
    while let Some((low, rest)) = within.split_first() {
        within = rest;
        match rest {
            ['-', high, rest @ ..] => {
                found |= (low..=high).contains(&&c);
                within = rest;
            }
            _ => found |= *low == c,
        }
    }
    (found != negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_as_in_a_shell() {
        for (pattern, name) in [
            ("web", "web"),
            ("w*", "web"),
            ("*", ""),
            ("*b", "web"),
            ("w*b*", "web"),
            ("w?b", "web"),
            ("[v-x]eb", "web"),
            ("[!a]eb", "web"),
            ("[", "["),
            ("[]]", "]"),
            ("a*a*b", "aaaab"),
        ] {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in
            [("W*", "web"), ("w?", "web"), ("[!w]eb", "web"), ("", "a"), ("a*a*b", "aaaa")]
        {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
