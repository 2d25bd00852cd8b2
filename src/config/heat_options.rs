//! Which options Heat knows, so that one that Hearth does without is told from a misspelt one, and
//! which of them an operator must not believe to be in force.

use super::ini::Key;

const KNOWN: &str = include_str!("heat_options.txt");

/// Whether Heat or a library under it reads the option.
pub(super) fn is_known_to_heat((group, name): &Key) -> bool {
    KNOWN.lines().filter_map(|line| line.split_once(": ")).any(|(known, options)| {
        is_in(group, known) && options.split(' ').any(|option| option == "*" || option == name)
    })
}

/// What to do about an option that hardens Heat, and that has a value which asks for more than
/// there is without it.
pub(super) fn missed_hardening((group, name): &Key, value: &str) -> Option<&'static str> {
    let value = value.trim().to_lowercase();
    KNOWN.lines().filter_map(hardening).find_map(|option| {
        let asks_for_nothing = value.is_empty() || option.idle.split(' ').any(|it| it == value);
        let is_meant = is_in(group, option.group) && option.name == name;
        (is_meant && !asks_for_nothing).then_some(option.advice)
    })
}

struct Hardening {
    group: &'static str,
    name: &'static str,
    idle: &'static str,
    advice: &'static str,
}

/// Reads `! GROUP OPTION [values]: advice`.
fn hardening(line: &'static str) -> Option<Hardening> {
    let (option, rest) = line.strip_prefix("! ")?.split_once(" [")?;
    let (group, name) = option.split_once(' ')?;
    let (idle, advice) = rest.split_once("]: ")?;
    Some(Hardening { group, name, idle, advice })
}

fn is_in(group: &str, known: &str) -> bool {
    match known.strip_suffix('*') {
        Some(start) => group.starts_with(start),
        None => known == group,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(group: &str, name: &str, known: bool) {
        assert_eq!(is_known_to_heat(&(group.into(), name.into())), known, "[{group}] {name}");
    }

    #[test]
    fn options_are_known_by_group_and_name() {
        check("DEFAULT", "max_events_per_stack", true);
        check("clients_nova", "http_log_debug", true);
        check("oslo_messaging_rabbit", "heartbeat_rate", true);
        check("ec2authtoken.other", "auth_uri", true);
        check("DEFAULT", "max_event_per_stack", false);
        check("trustees", "username", false);
    }

    #[test]
    fn every_option_that_hardens_is_one_of_heats_and_says_what_to_do() {
        let lines: Vec<&str> = KNOWN.lines().filter(|line| line.starts_with('!')).collect();
        assert!(!lines.is_empty());
        for line in lines {
            let option = hardening(line).unwrap_or_else(|| panic!("not read: {line}"));
            check(&option.group.replace('*', "nova"), option.name, true);
            assert!(!option.advice.is_empty());
        }
    }

    #[test]
    fn a_value_that_asks_for_nothing_is_no_reason_to_refuse() {
        let missed = |group: &str, name: &str, value| {
            missed_hardening(&(group.into(), name.into()), value).is_some()
        };
        assert!(missed("ssl", "ciphers", "HIGH"));
        assert!(missed("clients_nova", "ca_file", "/etc/ca.pem"));
        assert!(missed("DEFAULT", "encrypt_parameters_and_properties", "True"));
        assert!(!missed("DEFAULT", "encrypt_parameters_and_properties", "False"));
        assert!(!missed("DEFAULT", "auth_encryption_key", "whatever"));
    }
}
