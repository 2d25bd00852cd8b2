//! Which options Heat knows, so that one that Hearth does without is told from a misspelt one.

use super::ini::Key;

const KNOWN: &str = include_str!("heat_options.txt");

/// Whether Heat or a library under it reads the option.
pub(super) fn is_known_to_heat((group, name): &Key) -> bool {
    KNOWN.lines().filter_map(|line| line.split_once(": ")).any(|(known, options)| {
        let same_group = match known.strip_suffix('*') {
            Some(start) => group.starts_with(start),
            None => known == group,
        };
        same_group && options.split(' ').any(|option| option == "*" || option == name)
    })
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
}
