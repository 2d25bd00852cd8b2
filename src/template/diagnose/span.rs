//! How far what begins at a place reaches on its line, to be underlined.

/// Columns from 1: where it begins and where it has ended. `None` where the text has no such place.
pub(super) fn columns(text: &str, line: u32, column: u32) -> Option<(u32, u32)> {
    let source = text.lines().nth(line.checked_sub(1)? as usize)?;
    let start = column.checked_sub(1)? as usize;
    let chars: Vec<char> = source.chars().collect();
    let rest = chars.get(start..)?;
    let length = match rest.first() {
        None => 0,
        Some(quote @ ('"' | '\'')) => quoted(rest, *quote),
        Some('{' | '[') => bracketed(rest),
        Some(_) => plain(rest),
    };
    let end = column + u32::try_from(length.max(1)).ok()?;
    Some((column, end))
}

/// Up to the closing quote, or the end of the line.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.iter().enumerate().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            c if *c == quote => return at + 1,
            _ => {}
        }
    }
    trimmed(rest)
}

/// Up to the bracket that closes the first one, or the end of the line.
fn bracketed(rest: &[char]) -> usize {
    let mut depth = 0;
    for (at, c) in rest.iter().enumerate() {
        match c {
            '{' | '[' => depth += 1,
            '}' | ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    trimmed(rest)
}

/// A plain scalar: up to what ends it in a key, in a flow collection or before a comment.
fn plain(rest: &[char]) -> usize {
    let ends = |at: usize| match rest[at] {
        ':' => rest.get(at + 1).is_none_or(|next| next.is_whitespace()),
        ',' | ']' | '}' => true,
        '#' => at > 0 && rest[at - 1].is_whitespace(),
        _ => false,
    };
    let end = (0..rest.len()).find(|at| ends(*at)).unwrap_or(rest.len());
    trimmed(&rest[..end])
}

fn trimmed(chars: &[char]) -> usize {
    chars.iter().rposition(|c| !c.is_whitespace()).map_or(0, |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, column: u32, expected: &str) {
        let (from, to) = columns(line, 1, column).unwrap();
        let found: String =
            line.chars().skip(from as usize - 1).take((to - from) as usize).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_underlined_is_the_word_that_begins_there() {
        check("  nmae: x", 3, "nmae");
        check("  a: {get_resource: nett} # why", 6, "{get_resource: nett}");
        check("  a: {get_resource: nett} # why", 21, "nett");
        check("  a: \"b, \\\"c\" # d", 6, "\"b, \\\"c\"");
        check("  a: two words # comment", 6, "two words");
        check("  type: OS::Nova::Servr", 9, "OS::Nova::Servr");
        check("a: [", 4, "[");
        assert_eq!(columns("a", 3, 1), None);
    }
}
