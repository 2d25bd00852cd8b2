//! The tag of a plain scalar, by its looks: PyYAML's implicit resolvers, in their order.

pub(super) const STR: &str = "tag:yaml.org,2002:str";
pub(super) const SEQ: &str = "tag:yaml.org,2002:seq";
pub(super) const MAP: &str = "tag:yaml.org,2002:map";
pub(super) const NULL: &str = "tag:yaml.org,2002:null";
pub(super) const BOOL: &str = "tag:yaml.org,2002:bool";
pub(super) const INT: &str = "tag:yaml.org,2002:int";
pub(super) const FLOAT: &str = "tag:yaml.org,2002:float";
pub(super) const TIMESTAMP: &str = "tag:yaml.org,2002:timestamp";
pub(super) const MERGE: &str = "tag:yaml.org,2002:merge";
pub(super) const VALUE: &str = "tag:yaml.org,2002:value";
pub(super) const BINARY: &str = "tag:yaml.org,2002:binary";
pub(super) const SET: &str = "tag:yaml.org,2002:set";
pub(super) const OMAP: &str = "tag:yaml.org,2002:omap";
pub(super) const PAIRS: &str = "tag:yaml.org,2002:pairs";
const YAML: &str = "tag:yaml.org,2002:yaml";

/// The tag that a plain scalar gets. Dates stay text in Heat, so they are not told apart.
pub(super) fn implicit_tag(text: &str) -> &'static str {
    // Python's `$` also matches before a newline at the end; a plain scalar has none.
    match text {
        "" | "~" | "null" | "Null" | "NULL" => NULL,
        "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "true" | "True" | "TRUE" | "false"
        | "False" | "FALSE" | "on" | "On" | "ON" | "off" | "Off" | "OFF" => BOOL,
        "<<" => MERGE,
        "=" => VALUE,
        "!" | "&" | "*" => YAML,
        _ if is_float(text) => FLOAT,
        _ if is_int(text) => INT,
        _ => STR,
    }
}

fn is_int(text: &str) -> bool {
    let text = unsigned(text);
    let digits = |text: &str, of: fn(char) -> bool| {
        !text.is_empty() && text.chars().all(|c| of(c) || c == '_')
    };
    if let Some(binary) = text.strip_prefix("0b") {
        return digits(binary, |c| matches!(c, '0' | '1'));
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return digits(hex, |c| c.is_ascii_hexdigit());
    }
    if let Some(octal) = text.strip_prefix('0') {
        return octal.is_empty() || digits(octal, |c| ('0'..='7').contains(&c));
    }
    let (whole, sixties) = text.split_once(':').unwrap_or((text, ""));
    let starts_well = whole.starts_with(|c: char| c.is_ascii_digit());
    let has_sixties = text.contains(':');
    starts_well
        && digits(whole, |c| c.is_ascii_digit())
        && (!has_sixties || sixties.split(':').all(is_sixty))
}

fn is_float(text: &str) -> bool {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    let bare = unsigned(text);
    if matches!(bare, ".inf" | ".Inf" | ".INF") {
        return true;
    }
    let number = |c: char| c.is_ascii_digit() || c == '_';
    if let Some(fraction) = text.strip_prefix('.') {
        let (digits, exponent) = split_exponent(fraction);
        return digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.chars().all(number)
            && exponent.is_none_or(is_exponent);
    }
    let Some((whole, fraction)) = bare.split_once('.') else { return false };
    let (first, sixties) = whole.split_once(':').unwrap_or((whole, ""));
    let whole_fits = first.starts_with(|c: char| c.is_ascii_digit()) && first.chars().all(number);
    if whole.contains(':') {
        return whole_fits && sixties.split(':').all(is_sixty) && fraction.chars().all(number);
    }
    let (digits, exponent) = split_exponent(fraction);
    whole_fits && digits.chars().all(number) && exponent.is_none_or(is_exponent)
}

fn unsigned(text: &str) -> &str {
    text.strip_prefix(['-', '+']).unwrap_or(text)
}

fn is_sixty(part: &str) -> bool {
    match part.as_bytes() {
        [ones] => ones.is_ascii_digit(),
        [tens, ones] => (b'0'..=b'5').contains(tens) && ones.is_ascii_digit(),
        _ => false,
    }
}

fn split_exponent(text: &str) -> (&str, Option<&str>) {
    match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, Some(exponent)),
        None => (text, None),
    }
}

/// An exponent has its sign.
fn is_exponent(text: &str) -> bool {
    text.strip_prefix(['-', '+'])
        .is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
}
