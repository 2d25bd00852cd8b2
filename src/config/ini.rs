//! Reading INI files as Heat's own reader takes them, so that an existing heat.conf can be used.

use std::collections::BTreeMap;

/// An option: its group and its name.
pub(super) type Key = (String, String);

/// A line that is neither a group, an option nor a continuation.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct IniError {
    pub line: usize,
    pub reason: &'static str,
}

/// An option that is given once per item of a list, a `MultiStrOpt` of oslo.config's.
pub(super) fn is_repeated((group, name): &Key) -> bool {
    matches!(
        (group.as_str(), name.as_str()),
        ("oslo_messaging_notifications", "driver") | ("oslo_policy", "policy_dirs")
    )
}

/// What a file says of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    /// Where the last of its values begins, counted from 1.
    pub(super) line: usize,
    pub(super) value: String,
}

/// The options of a file by group and name. The last of several values holds; of a list that is
/// given item by item, all do.
///
/// `name = value` or `name: value`; `#` and `;` begin a comment line; a line that starts with
/// white space continues the value above; quotes around a whole value are dropped.
pub(super) fn parse(text: &str) -> Result<BTreeMap<Key, Given>, IniError> {
    let mut options: BTreeMap<Key, Given> = BTreeMap::new();
    let mut group = "DEFAULT".to_owned();
    let mut open: Option<Key> = None;
    for (index, raw) in text.lines().enumerate() {
        let at = |reason| IniError { line: index + 1, reason };
        let line = raw.trim();
        if line.is_empty() {
            open = None;
            continue;
        }
        if line.starts_with(['#', ';']) {
            continue;
        }
        if raw.starts_with([' ', '\t']) {
            let key = open.as_ref().ok_or(at("a continuation without an option above it"))?;
            if let Some(given) = options.get_mut(key) {
                given.value.push('\n');
                given.value.push_str(line);
            }
            continue;
        }
        if let Some(rest) = line.strip_prefix('[') {
            let name = rest.strip_suffix(']').ok_or(at("a group name must end with ]"))?;
            if name.is_empty() {
                return Err(at("a group needs a name"));
            }
            group = name.to_owned();
            open = None;
            continue;
        }
        let split = line.find(['=', ':']).ok_or(at("no = between an option and its value"))?;
        let name = line[..split].trim();
        if name.is_empty() {
            return Err(at("an option needs a name"));
        }
        let key = (group.clone(), name.to_owned());
        let value = unquoted(line[split + 1..].trim());
        let mut given = Given { line: index + 1, value: value.to_owned() };
        if let Some(before) = options.get(&key).filter(|_| is_repeated(&key)) {
            given.value = format!("{}\n{value}", before.value);
        }
        options.insert(key.clone(), given);
        open = Some(key);
    }
    Ok(options)
}

fn unquoted(value: &str) -> &str {
    ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str, &str)]) {
        let expected: BTreeMap<Key, String> = expected
            .iter()
            .map(|(group, name, value)| (((*group).into(), (*name).into()), (*value).into()))
            .collect();
        let found = parse(text).unwrap();
        let found: BTreeMap<Key, String> =
            found.into_iter().map(|(key, given)| (key, given.value)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_option_knows_the_line_that_holds() {
        let options = parse("# a\nb = 1\n\n[c]\nd = 2\nd = 3\n  4\n").unwrap();
        let lines: Vec<_> = options.into_values().map(|given| (given.line, given.value)).collect();
        assert_eq!(lines, [(2, "1".to_owned()), (6, "3\n4".to_owned())]);
    }

    #[test]
    fn options_belong_to_the_group_above_them() {
        check(
            "debug = true\n[trustee]\nusername: heat\n",
            &[("DEFAULT", "debug", "true"), ("trustee", "username", "heat")],
        );
    }

    #[test]
    fn comments_and_blank_lines_are_skipped() {
        check("# a = 1\n\n;b = 2\nc = 3 # kept\n", &[("DEFAULT", "c", "3 # kept")]);
    }

    #[test]
    fn an_indented_line_continues_a_value() {
        check("dirs = /a,\n  /b\n", &[("DEFAULT", "dirs", "/a,\n/b")]);
    }

    #[test]
    fn quotes_around_a_value_are_dropped_and_the_last_value_holds() {
        check("a = \"x = y\"\na = 'z'\n", &[("DEFAULT", "a", "z")]);
    }

    #[test]
    fn of_a_list_that_is_given_item_by_item_all_values_hold() {
        check(
            "[oslo_messaging_notifications]\ndriver = log\ndriver = messaging\n",
            &[("oslo_messaging_notifications", "driver", "log\nmessaging")],
        );
    }

    #[test]
    fn a_line_that_says_nothing_is_an_error_with_its_number() {
        let error = parse("[a]\nnonsense\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: no = between an option and its value");
    }
}
