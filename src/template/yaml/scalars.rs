//! The values of tagged scalars, as PyYAML's constructors make them.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::{YamlError, resolver};
use crate::template::node::{Form, Place};
use crate::template::python;

/// The value of a scalar with its tag; `None` for a tag without a constructor.
pub(super) fn scalar(tag: &str, text: &str, place: Place) -> Result<Option<Form>, YamlError> {
    let wrong = || YamlError::at(place, format!("{} is no {tag}", python::quoted(text)));
    Ok(Some(match tag {
        resolver::STR | resolver::TIMESTAMP => Form::Text(text.to_owned()),
        resolver::NULL => Form::Null,
        resolver::BOOL => match text.to_ascii_lowercase().as_str() {
            "yes" | "true" | "on" => Form::Bool(true),
            "no" | "false" | "off" => Form::Bool(false),
            _ => return Err(wrong()),
        },
        resolver::INT => integer(text).ok_or_else(wrong)?,
        resolver::FLOAT => Form::Float(float(text).ok_or_else(wrong)?),
        resolver::BINARY => Form::Text(binary(text, place)?),
        _ => return Ok(None),
    }))
}

/// An integer: binary, octal, hexadecimal, in sixties, or plain. One beyond 128 bits is a float.
fn integer(text: &str) -> Option<Form> {
    let bare = text.replace('_', "");
    let negative = bare.starts_with('-');
    let digits = bare.strip_prefix(['-', '+']).unwrap_or(&bare);
    let number = if let Some(binary) = digits.strip_prefix("0b") {
        i128::from_str_radix(binary, 2).ok()
    } else if let Some(hex) = digits.strip_prefix("0x") {
        i128::from_str_radix(hex, 16).ok()
    } else if digits.len() > 1 && digits.starts_with('0') {
        i128::from_str_radix(digits, 8).ok()
    } else {
        digits
            .split(':')
            .try_fold(0_i128, |sum, part| sum.checked_mul(60)?.checked_add(python::int_of(part)?))
    };
    let sign = if negative { -1 } else { 1 };
    match number {
        Some(number) => Some(Form::Int(sign * number)),
        None if digits.len() > 30 && digits.chars().all(|c| c.is_ascii_digit()) => {
            Some(Form::Float(f64::from(sign as i32) * digits.parse::<f64>().ok()?))
        }
        None => None,
    }
}

fn float(text: &str) -> Option<f64> {
    let bare = text.replace('_', "").to_ascii_lowercase();
    let sign = if bare.starts_with('-') { -1.0 } else { 1.0 };
    let digits = bare.strip_prefix(['-', '+']).unwrap_or(&bare);
    Some(match digits {
        ".inf" => sign * f64::INFINITY,
        ".nan" => f64::NAN,
        _ if digits.contains(':') => {
            let mut base = 1.0;
            let mut sum = 0.0;
            for part in digits.rsplit(':') {
                sum += python::float_of(part)? * base;
                base *= 60.0;
            }
            sign * sum
        }
        _ => sign * python::float_of(digits)?,
    })
}

/// Python's lenient base64: what is not of its alphabet is skipped. JSON makes text of the bytes.
fn binary(text: &str, place: Place) -> Result<String, YamlError> {
    if let Some(wrong) = text.chars().find(|c| !c.is_ascii()) {
        let problem = format!("failed to convert base64 data into ascii: {wrong:?}");
        return Err(YamlError::at(place, problem));
    }
    let clean: String =
        text.chars().filter(|c| c.is_ascii_alphanumeric() || "+/=".contains(*c)).collect();
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true);
    match GeneralPurpose::new(&STANDARD, config).decode(clean) {
        // JSON, which the template crosses, has no bytes but those of text.
        Ok(bytes) => String::from_utf8(bytes)
            .map_err(|_| YamlError::at(place, "the binary data is no text in UTF-8")),
        Err(_) => Err(YamlError::at(place, "failed to decode base64 data: Incorrect padding")),
    }
}
