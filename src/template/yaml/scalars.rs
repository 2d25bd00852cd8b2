//! The values of tagged scalars, as PyYAML's constructors make them.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use ecow::EcoString;

use super::error::YamlError;
use super::tag::Tag;
use super::timestamp;
use crate::template::node::{Form, Place};
use crate::template::python;

/// What timestamps become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timestamps {
    /// The text stays as it is, as Heat has it.
    Text,
    /// Dates, and in JSON the text of those, as PyYAML's own reader has it.
    Dates,
}

/// The value of a scalar with its tag; `None` if the tag is of no scalar.
pub(super) fn scalar(
    tag: &Tag,
    text: &mut EcoString,
    place: Place,
    timestamps: Timestamps,
) -> Option<Result<Form, YamlError>> {
    let wrong = |message| YamlError::value(place, message);
    Some(match tag {
        Tag::Str => Ok(Form::Text(std::mem::take(text))),
        Tag::Timestamp if timestamps == Timestamps::Text => Ok(Form::Text(std::mem::take(text))),
        Tag::Timestamp => {
            timestamp::in_json(text).map(|text| Form::Text(text.into())).map_err(wrong)
        }
        Tag::Null => Ok(Form::Null),
        Tag::Bool => boolean(text).map(Form::Bool).map_err(wrong),
        Tag::Int => integer(text, place),
        Tag::Float => float(text).map(Form::Float).map_err(wrong),
        Tag::Binary => binary(text, place).map(|text| Form::Text(text.into())),
        Tag::Seq
        | Tag::Omap
        | Tag::Pairs
        | Tag::Map
        | Tag::Set
        | Tag::Merge
        | Tag::Value
        | Tag::Other(_) => return None,
    })
}

fn boolean(text: &str) -> Result<bool, String> {
    match text.to_lowercase().as_str() {
        "yes" | "true" | "on" => Ok(true),
        "no" | "false" | "off" => Ok(false),
        _ => Err(format!("{} is no boolean of YAML", python::quoted(text))),
    }
}

/// An integer: binary, octal, hexadecimal, in sixties, or plain.
fn integer(text: &str, place: Place) -> Result<Form, YamlError> {
    let bare = text.replace('_', "");
    let is_negative = bare.starts_with('-');
    let digits = bare.strip_prefix(['-', '+']).unwrap_or(&bare);
    let number = if digits.is_empty() {
        return Err(YamlError::value(place, "An integer without digits."));
    } else if let Some(binary) = digits.strip_prefix("0b") {
        whole(binary, 2, place)
    } else if let Some(hex) = digits.strip_prefix("0x") {
        whole(hex, 16, place)
    } else if digits.len() > 1 && digits.starts_with('0') {
        whole(digits.trim_start_matches("0o"), 8, place)
    } else if digits.contains(':') {
        digits.split(':').try_fold(0_i128, |sum, part| {
            let part = whole(part, 10, place)?;
            sum.checked_mul(60)
                .and_then(|sum| sum.checked_add(part))
                .ok_or_else(|| too_large(place))
        })
    } else {
        whole(digits, 10, place)
    };
    number.map(|number| Form::Int(if is_negative { -number } else { number }))
}

/// `int(digits, base)`.
fn whole(digits: &str, base: u32, place: Place) -> Result<i128, YamlError> {
    let number = match base {
        10 => python::int_of(digits),
        _ => i128::from_str_radix(digits, base).ok(),
    };
    let is_number = !digits.is_empty() && digits.chars().all(|c| c.is_digit(base));
    match number {
        Some(number) => Ok(number),
        None if is_number => Err(too_large(place)),
        None => {
            let quoted = python::quoted(digits);
            let message = format!("invalid literal for int() with base {base}: {quoted}");
            Err(YamlError::value(place, message))
        }
    }
}

fn too_large(place: Place) -> YamlError {
    YamlError::limit(place, python::INT_TOO_LARGE)
}

fn float(text: &str) -> Result<f64, String> {
    let bare = text.replace('_', "").to_lowercase();
    let sign = if bare.starts_with('-') { -1.0 } else { 1.0 };
    let digits = bare.strip_prefix(['-', '+']).unwrap_or(&bare);
    let number = |part: &str| {
        python::float_of(part)
            .ok_or_else(|| format!("could not convert string to float: {}", python::quoted(part)))
    };
    Ok(match digits {
        "" => return Err("A float without digits.".to_owned()),
        ".inf" => sign * f64::INFINITY,
        ".nan" => f64::NAN,
        _ if digits.contains(':') => {
            let mut base = 1.0;
            let mut sum = 0.0;
            for part in digits.rsplit(':') {
                sum += number(part)? * base;
                base *= 60.0;
            }
            sign * sum
        }
        _ => sign * number(digits)?,
    })
}

/// Python's lenient base64: what is not of its alphabet is skipped. JSON makes text of the bytes.
fn binary(text: &str, place: Place) -> Result<String, YamlError> {
    if !text.is_ascii() {
        let problem = python::encode_problem(text, "ascii", 128);
        let problem = format!("failed to convert base64 data into ascii: {problem}");
        return Err(YamlError::at(place, problem));
    }
    let wrong =
        |problem: String| YamlError::at(place, format!("failed to decode base64 data: {problem}"));
    let mut clean: String = text
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '='))
        .collect();
    // Padding ends the data, whatever follows.
    if let Some(at) = clean.find('=') {
        let padding = (4 - at % 4) % 4;
        if padding > 0 && padding < 3 && clean[at..].len() >= padding {
            clean.truncate(at + padding);
        }
    }
    let data = clean.trim_end_matches('=').len();
    if data % 4 == 1 {
        let problem = format!(
            "Invalid base64-encoded string: number of data characters ({data}) cannot be 1 more \
             than a multiple of 4"
        );
        return Err(wrong(problem));
    }
    let config = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireCanonical)
        .with_decode_allow_trailing_bits(true);
    let bytes = GeneralPurpose::new(&STANDARD, config)
        .decode(clean)
        .map_err(|_| wrong("Incorrect padding".to_owned()))?;
    // JSON, which the template crosses, has no bytes but those of text.
    python::utf8(bytes).map_err(|problem| YamlError::value(place, problem))
}
