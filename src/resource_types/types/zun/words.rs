//! A command as the words that a shell takes it for.

/// The words of a command, as Python's `shlex.split` has them; `None` where a quotation or an escape
/// has no end.
pub(super) fn words(command: &str) -> Option<Vec<String>> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(chars.next()?),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_read_as_a_shell_reads_it() {
        for (command, expected) in [
            ("sleep 9", Some(vec!["sleep", "9"])),
            ("  sh -c 'echo \"a b\" \\n' ", Some(vec!["sh", "-c", "echo \"a b\" \\n"])),
            (r#"a"b c"d \" "\"\x""#, Some(vec!["ab cd", "\"", "\"\\x"])),
            ("''", Some(vec![""])),
            ("", Some(vec![])),
            ("'a", None),
            ("a\\", None),
        ] {
            let expected = expected.map(|it| it.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(words(command), expected, "{command}");
        }
    }
}
