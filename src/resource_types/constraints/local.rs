//! Custom constraints that need nothing but the value.

use std::net::{IpAddr, Ipv4Addr};

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, Utc};
use serde_json::Value;

use super::cron;
use crate::resource_types::python;
use crate::template::json_problem;

/// The longest name in DNS, and the longest of its parts.
const FQDN_CHARS_MAX: usize = 255;
const LABEL_CHARS_MAX: usize = 63;

/// Whether the value satisfies the constraint; the error is Heat's reason. `None`: the constraint
/// is not one of these.
pub(super) fn check(name: &str, value: &Value, now: DateTime<Utc>) -> Option<Result<(), String>> {
    let text = value.as_str();
    let is_empty = value.is_null() || text == Some("");
    Some(match name {
        "ip_addr" => match text {
            Some(text) if text.parse::<IpAddr>().is_ok() => Ok(()),
            _ => Err("Invalid IP address".into()),
        },
        "mac_addr" => match text {
            Some(text) if is_mac(text) => Ok(()),
            _ => Err("Invalid MAC address.".into()),
        },
        "net_cidr" => net_cidr(&python::text(value)),
        "ip_or_cidr" => match text {
            Some(text) if text.contains('/') => match network(text) {
                Some(_) => Ok(()),
                None => Err(format!("'{text}' is not a valid IP subnet")),
            },
            Some(text) => address(text),
            None => Err(format!("{} is not a valid IP or CIDR", python::text(value))),
        },
        "dns_name" | "rel_dns_name" | "dns_domain" | "json_string" | "expiration"
        | "cron_expression" | "timezone"
            if is_empty =>
        {
            Ok(())
        }
        "cron_expression" => cron::check(&python::text(value))
            .map_err(|reason| format!("Invalid CRON expression: {reason}")),
        "timezone" => {
            timezone(&python::text(value)).map_err(|reason| format!("Invalid timezone: {reason}"))
        }
        "dns_name" => dns_name(&python::text(value)),
        "rel_dns_name" => relative_dns_name(&python::text(value)),
        "dns_domain" => {
            let name = python::text(value);
            dns_name(&name).and_then(|()| match name.ends_with('.') {
                true => Ok(()),
                false => Err(format!("'{name}' must end with '.'.")),
            })
        }
        "iso_8601" => match text.and_then(time) {
            Some(_) => Ok(()),
            None => Err(String::new()),
        },
        "expiration" => {
            let text = python::text(value);
            match time(text.trim()) {
                Some(at) if at > now => Ok(()),
                Some(_) => {
                    Err(format!("Expiration {text} is invalid: Expiration time is out of date."))
                }
                None => {
                    let shown = python::repr(&text.as_str().into());
                    Err(format!(
                        "Expiration {text} is invalid: Unable to parse date string {shown}"
                    ))
                }
            }
        }
        "json_string" => {
            let text = python::text(value);
            match json_problem(&text) {
                None => Ok(()),
                Some(problem) => Err(format!("JSON string {text} is invalid: {problem}")),
            }
        }
        _ => return None,
    })
}

/// Six bytes in any of the usual notations.
fn is_mac(text: &str) -> bool {
    let groups = |separator: char, count: usize, digits: usize| {
        let parts: Vec<&str> = text.split(separator).collect();
        parts.len() == count
            && parts.iter().all(|part| {
                (1..=digits).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit())
            })
    };
    let is_bare = text.len() == 12 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_bare || groups(':', 6, 2) || groups('-', 6, 2) || groups('.', 3, 4)
}

/// An address, a slash and the length of its prefix; bits behind the prefix may be set in both
/// versions, as Neutron itself decides about them.
fn network(text: &str) -> Option<(IpAddr, u8)> {
    let (address, prefix) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let bits = if address.is_ipv4() { 32 } else { 128 };
    let length = prefix.parse().ok().filter(|length| *length <= bits)?;
    Some((address, length))
}

fn net_cidr(text: &str) -> Result<(), String> {
    if network(text).is_some() {
        return Ok(());
    }
    // What netaddr reads, and Neutron does not take: no prefix, a mask, an address cut short.
    let (address, prefix) = text.split_once('/').unwrap_or((text, "32"));
    let is_short = (1..4).contains(&address.split('.').count())
        && address.split('.').all(|octet| octet.parse::<u8>().is_ok());
    let is_mask = prefix.parse::<Ipv4Addr>().is_ok();
    let is_length = prefix.parse::<u8>().is_ok_and(|length| length <= 32);
    let is_read = (is_short || address.parse::<IpAddr>().is_ok()) && (is_mask || is_length);
    match is_read {
        true => Err(format!("'{text}' is not a valid IP subnet")),
        false => Err(format!("Invalid net cidr invalid IPNetwork {text} ")),
    }
}

fn address(text: &str) -> Result<(), String> {
    if text.parse::<IpAddr>().is_ok() {
        return Ok(());
    }
    let octets: Vec<&str> = text.split('.').collect();
    let stripped: Vec<&str> = octets
        .iter()
        .map(|octet| match octet.trim_start_matches('0') {
            "" if !octet.is_empty() => "0",
            digits => digits,
        })
        .collect();
    match stripped.join(".").parse::<Ipv4Addr>() {
        Ok(plain) => {
            Err(format!("'{text}' is not an accepted IP address, '{plain}' is recommended"))
        }
        Err(_) => Err(format!("'{text}' is not a valid IP address")),
    }
}

/// The time zones of the IANA database, a name a line, sorted.
const TIMEZONES: &str = include_str!("timezones.txt");

fn timezone(name: &str) -> Result<(), String> {
    if TIMEZONES.lines().any(|known| known == name) {
        return Ok(());
    }
    if name.starts_with('/') {
        return Err(format!("ZoneInfo keys may not be absolute paths, got: {name}"));
    }
    Err(python::repr(&format!("No time zone found with key {name}").into()))
}

fn relative_dns_name(name: &str) -> Result<(), String> {
    if name.ends_with('.') {
        return Err(format!("'{name}' is a FQDN. It should be a relative domain name."));
    }
    let length = name.len();
    if length > FQDN_CHARS_MAX - 3 {
        return Err(format!(
            "'{name}' contains '{length}' characters. Adding a domain name will cause it to exceed \
             the maximum length of a FQDN of '{FQDN_CHARS_MAX}'."
        ));
    }
    dns_name(name)
}

fn dns_name(name: &str) -> Result<(), String> {
    let refused = |reason: String| Err(format!("'{name}' not in valid format. Reason: {reason}"));
    let trimmed = name.strip_suffix('.').unwrap_or(name);
    if trimmed.len() > FQDN_CHARS_MAX {
        return refused(format!("'{trimmed}' exceeds the {FQDN_CHARS_MAX} character FQDN limit"));
    }
    let labels: Vec<&str> = trimmed.split('.').collect();
    for label in &labels {
        if label.is_empty() {
            return refused("Encountered an empty component.".into());
        }
        if label.starts_with('-') || label.ends_with('-') {
            return refused(format!("Name '{label}' must not start or end with a hyphen."));
        }
        let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if label.len() > LABEL_CHARS_MAX || !label.bytes().all(fits) {
            return refused(format!(
                "Name '{label}' must be 1-{LABEL_CHARS_MAX} characters long, each of which can \
                 only be alphanumeric or a hyphen."
            ));
        }
    }
    let is_qualified = name.ends_with('.') && labels.len() > 1;
    if is_qualified && labels.last().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit())) {
        let last = labels.last().unwrap_or(&"");
        return refused(format!("TLD '{last}' must not be all numeric."));
    }
    Ok(())
}

/// A time of ISO 8601 in its zone; without one it is UTC.
pub(in crate::resource_types) fn time(text: &str) -> Option<DateTime<FixedOffset>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time);
    }
    let local =
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    if let Some(time) = local.iter().find_map(|f| NaiveDateTime::parse_from_str(text, f).ok()) {
        return Some(time.and_utc().fixed_offset());
    }
    let date = match text.len() {
        4 => NaiveDate::parse_from_str(&format!("{text}-01-01"), "%Y-%m-%d"),
        7 => NaiveDate::parse_from_str(&format!("{text}-01"), "%Y-%m-%d"),
        _ => NaiveDate::parse_from_str(text, "%Y-%m-%d"),
    };
    date.ok()?.and_hms_opt(0, 0, 0).map(|time| time.and_utc().fixed_offset())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_taken_and_refused_as_heat_takes_and_refuses_them() {
        let now = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
        let text = include_str!("../../../tests/data/constraints/probes.json");
        let cases: Value = serde_json::from_str(text).unwrap();
        for (name, cases) in cases.as_object().unwrap() {
            for case in cases.as_array().unwrap() {
                let held = check(name, &case[0], now).unwrap();
                assert_eq!(json!(held.is_ok()), case[1], "{name} {}", case[0]);
                if let Some(reason) = case.get(2) {
                    assert_eq!(held.unwrap_err(), reason.as_str().unwrap(), "{name}");
                }
            }
        }
    }
}
