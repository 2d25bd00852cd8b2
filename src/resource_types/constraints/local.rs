//! Custom constraints that need nothing but the value.

use std::net::IpAddr;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use serde_json::Value;

use crate::resource_types::python;

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
            Some(text) if text.contains('/') => net_cidr(text),
            Some(text) if text.parse::<IpAddr>().is_ok() => Ok(()),
            Some(text) => Err(format!("'{text}' is not a valid IP address")),
            None => Err(format!("{} is not a valid IP or CIDR", python::text(value))),
        },
        "dns_name" | "rel_dns_name" | "dns_domain" | "json_string" | "expiration" if is_empty => {
            Ok(())
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
                    Err(format!("Expiration {text} is invalid: Unable to parse date string {text}"))
                }
            }
        }
        "json_string" => {
            let text = python::text(value);
            match serde_json::from_str::<Value>(&text) {
                Ok(_) => Ok(()),
                Err(error) => Err(format!("JSON string {text} is invalid: {error}")),
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
fn net_cidr(text: &str) -> Result<(), String> {
    let invalid = || format!("Invalid net cidr invalid IPNetwork {text} ");
    let Some((address, prefix)) = text.split_once('/') else {
        return match text.parse::<IpAddr>() {
            Ok(address) => {
                let bits = if address.is_ipv4() { 32 } else { 128 };
                Err(format!(
                    "'{text}' isn't a recognized IP subnet cidr, '{text}/{bits}' is recommended"
                ))
            }
            Err(_) => Err(invalid()),
        };
    };
    let address: IpAddr = address.parse().map_err(|_| invalid())?;
    let bits: u8 = if address.is_ipv4() { 32 } else { 128 };
    match prefix.parse::<u8>() {
        Ok(length) if length <= bits => Ok(()),
        _ => Err(invalid()),
    }
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

/// A time of ISO 8601; without a zone it is UTC.
fn time(text: &str) -> Option<DateTime<Utc>> {
    if let Ok(time) = DateTime::parse_from_rfc3339(text) {
        return Some(time.to_utc());
    }
    let local =
        ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M"];
    if let Some(time) = local.iter().find_map(|f| NaiveDateTime::parse_from_str(text, f).ok()) {
        return Some(time.and_utc());
    }
    let date = match text.len() {
        4 => NaiveDate::parse_from_str(&format!("{text}-01-01"), "%Y-%m-%d"),
        7 => NaiveDate::parse_from_str(&format!("{text}-01"), "%Y-%m-%d"),
        _ => NaiveDate::parse_from_str(text, "%Y-%m-%d"),
    };
    date.ok()?.and_hms_opt(0, 0, 0).map(|time| time.and_utc())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_taken_and_refused_as_heat_takes_and_refuses_them() {
        let now = DateTime::UNIX_EPOCH;
        let cases = json!({
            "dns_domain": [["a.b", false], ["a.b.", true], ["", true]],
            "dns_name": [["a.b", true], ["a.b.", true], ["a", true], ["-a", false], ["a-", false],
                ["a_b", false], ["1.2", true], ["1.2.", false], ["a.1", true], ["", true],
                ["A.B", false], ["a..b", false], [".", false]],
            "expiration": [["x", false], ["2100-01-01T00:00:00Z", true], ["", true]],
            "ip_addr": [["1.2.3.4", true], ["01.2.3.4", false], ["1.2.3", false],
                [" 1.2.3.4", false], ["::1", true], ["fe80::1%eth0", false], [5, false], ["", false]],
            "ip_or_cidr": [["1.2.3.4", true], ["1.2.3.4/24", true], ["1.2.3.0/24", true],
                ["x", false], ["::1", true], ["::/0", true]],
            "iso_8601": [["2020-01-01", true], ["2020-01-01T00:00:00Z", true], ["2020", true],
                ["x", false], ["2020-01-01T00:00:00+02:00", true], ["2020-01-01 00:00", true]],
            "json_string": [["{}", true], ["x", false], ["", true], ["1", true]],
            "mac_addr": [["00:11:22:33:44:55", true], ["00-11-22-33-44-55", true],
                ["001122334455", true], ["0011.2233.4455", true], ["x", false],
                ["00:11:22:33:44", false]],
            "net_cidr": [["10.0.0.0/24", true], ["10.0.0.1/24", true], ["10/8", false],
                ["10.0.0.0", false], ["::/64", true], ["fe80::1/64", true], ["x", false]],
        });
        for (name, cases) in cases.as_object().unwrap() {
            for case in cases.as_array().unwrap() {
                let holds = check(name, &case[0], now).unwrap().is_ok();
                assert_eq!(json!(holds), case[1], "{name} {}", case[0]);
            }
        }
    }
}
