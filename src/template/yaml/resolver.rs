//! The tag of a plain scalar, by its looks: PyYAML's implicit resolvers, in their order.

use super::tag::Tag;
use super::timestamp;

/// The tag that a plain scalar gets.
pub(super) fn implicit_tag(text: &str) -> Tag {
    // Python's `$` also matches before a newline at the end; a plain scalar has none.
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Tag::Null,
        "yes" | "Yes" | "YES" | "no" | "No" | "NO" | "true" | "True" | "TRUE" | "false"
        | "False" | "FALSE" | "on" | "On" | "ON" | "off" | "Off" | "OFF" => Tag::Bool,
        "<<" => Tag::Merge,
        "=" => Tag::Value,
        "!" | "&" | "*" => Tag::Other("tag:yaml.org,2002:yaml".to_owned()),
        _ if !text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) => Tag::Str,
        _ if is_float(text) => Tag::Float,
        _ if is_int(text) => Tag::Int,
        _ if timestamp::looks_like_one(text) => Tag::Timestamp,
        _ => Tag::Str,
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
