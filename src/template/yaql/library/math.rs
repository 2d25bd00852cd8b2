//! Numbers, with Python's arithmetic: integers are divided downwards, and a remainder has the sign
//! of the divisor.

use super::{Entry, function};
use crate::template::error::{Outcome, TemplateError};
use crate::template::python;
use crate::template::yaql::call::Call;
use crate::template::yaql::failure;
use crate::template::yaql::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    function("#operator_+", "left: number, right: number", |call| {
        binary(call, i128::checked_add, |left, right| left + right)
    }),
    function("#operator_-", "left: number, right: number", |call| {
        binary(call, i128::checked_sub, |left, right| left - right)
    }),
    function("#operator_*", "left: number, right: number", |call| {
        binary(call, i128::checked_mul, |left, right| left * right)
    }),
    function("#operator_/", "left: number, right: number", divide),
    function("#operator_mod", "left: number, right: number", remainder),
    function("#unary_operator_+", "op: number", |call| Ok(call.value(0))),
    function("#unary_operator_-", "op: number", |call| negated(&call.value(0))),
    function("abs", "op: number", abs),
    function("int", "value: any?", int),
    function("float", "value: any?", float),
    function("random", "", |_| Err(failure::impure("random"))),
    function("random", "from: any?, to: any?", |_| Err(failure::impure("random"))),
    function("bitwiseAnd", "left: int, right: int", |call| {
        Ok(Value::Int(call.int(0) & call.int(1)))
    }),
    function("bitwiseOr", "left: int, right: int", |call| {
        Ok(Value::Int(call.int(0) | call.int(1)))
    }),
    function("bitwiseXor", "left: int, right: int", |call| {
        Ok(Value::Int(call.int(0) ^ call.int(1)))
    }),
    function("bitwiseNot", "arg: int", |call| Ok(Value::Int(!call.int(0)))),
    function("shiftBitsLeft", "value: int, bitsNumber: int", shift_left),
    function("shiftBitsRight", "value: int, bitsNumber: int", shift_right),
    function("max", "a: any?, b: any?", |call| extreme(call, true)),
    function("min", "a: any?, b: any?", |call| extreme(call, false)),
    function("pow", "a: number, b: number, c: number = null", pow),
    function("sign", "num: number", |call| {
        let number = as_float(&call.value(0));
        Ok(Value::Int(i128::from(number > 0.0) - i128::from(number < 0.0)))
    }),
    function("round", "number: number, ndigits: int = 0", round),
    function("isInteger", "value: any?", |call| {
        Ok(Value::Bool(matches!(call.value(0), Value::Int(_))))
    }),
    function("isNumber", "value: any?", |call| {
        Ok(Value::Bool(matches!(call.value(0), Value::Int(_) | Value::Float(_))))
    }),
];

fn as_float(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        other => other.as_whole().unwrap_or_default() as f64,
    }
}

fn whole(number: Option<i128>) -> Outcome<Value> {
    number.map(Value::Int).ok_or_else(failure::too_large)
}

fn binary(
    call: &Call<'_>,
    ints: fn(i128, i128) -> Option<i128>,
    floats: fn(f64, f64) -> f64,
) -> Outcome<Value> {
    match (call.value(0), call.value(1)) {
        (Value::Int(left), Value::Int(right)) => whole(ints(left, right)),
        (left, right) => Ok(Value::Float(floats(as_float(&left), as_float(&right)))),
    }
}

fn divide(call: &mut Call<'_>) -> Outcome<Value> {
    match (call.value(0), call.value(1)) {
        (Value::Int(_), Value::Int(0)) => Err(failure::zero("integer division or modulo by zero")),
        (Value::Int(left), Value::Int(right)) => whole(floor_divided(left, right)),
        (left, right) => match as_float(&right) {
            0.0 => Err(failure::zero("float division by zero")),
            right => Ok(Value::Float(as_float(&left) / right)),
        },
    }
}

/// Division towards negative infinity.
fn floor_divided(left: i128, right: i128) -> Option<i128> {
    let quotient = left.checked_div(right)?;
    let is_inexact = left.checked_rem(right)? != 0;
    Some(if is_inexact && (left < 0) != (right < 0) { quotient - 1 } else { quotient })
}

fn remainder(call: &mut Call<'_>) -> Outcome<Value> {
    match (call.value(0), call.value(1)) {
        (Value::Int(_), Value::Int(0)) => Err(failure::zero("integer modulo by zero")),
        (Value::Int(left), Value::Int(right)) => whole(modulo(left, right)),
        (left, right) => match (as_float(&left), as_float(&right)) {
            (_, 0.0) => Err(failure::zero("float modulo")),
            (left, right) => {
                let remainder = left % right;
                let crosses = remainder != 0.0 && (remainder < 0.0) != (right < 0.0);
                let remainder = if crosses { remainder + right } else { remainder };
                let is_zero = remainder == 0.0;
                Ok(Value::Float(if is_zero { 0.0_f64.copysign(right) } else { remainder }))
            }
        },
    }
}

/// The remainder with the sign of the divisor.
fn modulo(left: i128, right: i128) -> Option<i128> {
    let remainder = left.checked_rem(right)?;
    let crosses = remainder != 0 && (remainder < 0) != (right < 0);
    Some(if crosses { remainder + right } else { remainder })
}

fn negated(value: &Value) -> Outcome<Value> {
    match value {
        Value::Int(number) => whole(number.checked_neg()),
        other => Ok(Value::Float(-as_float(other))),
    }
}

fn abs(call: &mut Call<'_>) -> Outcome<Value> {
    match call.value(0) {
        Value::Int(number) => whole(number.checked_abs()),
        other => Ok(Value::Float(as_float(&other).abs())),
    }
}

fn int(call: &mut Call<'_>) -> Outcome<Value> {
    match call.value(0) {
        Value::Null => Ok(Value::Int(0)),
        Value::Float(number) => truncated(number),
        Value::Text(text) => match python::int_of(&text) {
            Some(number) => Ok(Value::Int(number)),
            None if text.trim().len() > 38 && text.trim().chars().all(|c| c.is_ascii_digit()) => {
                Err(failure::too_large())
            }
            None => {
                let text = python::quoted(&text);
                let message = format!("invalid literal for int() with base 10: {text}");
                Err(TemplateError::value(message))
            }
        },
        other => other.as_whole().map(Value::Int).ok_or_else(|| {
            TemplateError::kind(format!(
                "int() argument must be a string, a bytes-like object or a real number, not '{}'",
                other.kind()
            ))
        }),
    }
}

fn truncated(number: f64) -> Outcome<Value> {
    if number.is_nan() {
        return Err(TemplateError::value("cannot convert float NaN to integer"));
    }
    if number.is_infinite() {
        let message = "cannot convert float infinity to integer";
        return Err(TemplateError::new("OverflowError", message));
    }
    whole((number.abs() < 1.7e38).then_some(number as i128))
}

fn float(call: &mut Call<'_>) -> Outcome<Value> {
    match call.value(0) {
        Value::Null => Ok(Value::Float(0.0)),
        Value::Text(text) => python::float_of(&text).map(Value::Float).ok_or_else(|| {
            let text = python::quoted(&text);
            TemplateError::value(format!("could not convert string to float: {text}"))
        }),
        value @ (Value::Int(_) | Value::Float(_) | Value::Bool(_)) => {
            Ok(Value::Float(as_float(&value)))
        }
        other => Err(TemplateError::kind(format!(
            "float() argument must be a string or a real number, not '{}'",
            other.kind()
        ))),
    }
}

fn shift_left(call: &mut Call<'_>) -> Outcome<Value> {
    let (value, bits) = (call.int(0), shift(call)?);
    if value == 0 {
        return Ok(Value::Int(0));
    }
    let factor = (bits < 127).then(|| 1_i128 << bits);
    whole(factor.and_then(|factor| value.checked_mul(factor)))
}

fn shift_right(call: &mut Call<'_>) -> Outcome<Value> {
    let bits = shift(call)?.min(127);
    Ok(Value::Int(call.int(0) >> bits))
}

fn shift(call: &Call<'_>) -> Outcome<i128> {
    let bits = call.int(1);
    if bits < 0 { Err(TemplateError::value("negative shift count")) } else { Ok(bits) }
}

/// The greater of two values by the operator `>`, or the other one.
fn extreme(call: &mut Call<'_>, greatest: bool) -> Outcome<Value> {
    let (first, second) = (call.value(0), call.value(1));
    let is_greater = call.apply("#operator_>", vec![second.clone(), first.clone()])?.is_truthy();
    Ok(if is_greater == greatest { second } else { first })
}

fn pow(call: &mut Call<'_>) -> Outcome<Value> {
    let (base, exponent) = (call.value(0), call.value(1));
    match call.value(2) {
        Value::Null => plain_pow(&base, &exponent),
        Value::Int(modulus) => match (base, exponent) {
            (Value::Int(base), Value::Int(exponent)) => modular_pow(base, exponent, modulus),
            _ => Err(TemplateError::kind(
                "pow() 3rd argument not allowed unless all arguments are integers",
            )),
        },
        _ => Err(TemplateError::kind(
            "pow() 3rd argument not allowed unless all arguments are integers",
        )),
    }
}

fn plain_pow(base: &Value, exponent: &Value) -> Outcome<Value> {
    if let (Value::Int(base), Value::Int(exponent)) = (base, exponent) {
        if let Ok(exponent) = u32::try_from(*exponent) {
            return whole(base.checked_pow(exponent));
        }
        if *exponent > 0 {
            return match base {
                0 | 1 => Ok(Value::Int(*base)),
                -1 => Ok(Value::Int(if exponent % 2 == 0 { 1 } else { -1 })),
                _ => Err(failure::too_large()),
            };
        }
    }
    let (base, exponent) = (as_float(base), as_float(exponent));
    if base == 0.0 && exponent < 0.0 {
        return Err(failure::zero("0.0 cannot be raised to a negative power"));
    }
    let power = base.powf(exponent);
    if power.is_nan() && !base.is_nan() && !exponent.is_nan() {
        return Err(TemplateError::value("a yaql expression has no complex numbers"));
    }
    if power.is_infinite() && base.is_finite() && exponent.is_finite() {
        return Err(TemplateError::new("OverflowError", "(34, 'Numerical result out of range')"));
    }
    Ok(Value::Float(power))
}

fn modular_pow(base: i128, exponent: i128, modulus: i128) -> Outcome<Value> {
    if modulus == 0 {
        return Err(TemplateError::value("pow() 3rd argument cannot be 0"));
    }
    let multiply = |left: i128, right: i128| modulo(left.checked_mul(right)?, modulus);
    let power = || {
        let mut exponent = exponent;
        let mut square = modulo(base, modulus)?;
        if exponent < 0 {
            exponent = exponent.checked_neg()?;
            square = inverse(square, modulus)?;
        }
        let mut power = modulo(1, modulus)?;
        while exponent > 0 {
            if exponent % 2 == 1 {
                power = multiply(power, square)?;
            }
            exponent /= 2;
            if exponent > 0 {
                square = multiply(square, square)?;
            }
        }
        Some(power)
    };
    if exponent < 0 && inverse(modulo(base, modulus).unwrap_or(0), modulus).is_none() {
        return Err(TemplateError::value("base is not invertible for the given modulus"));
    }
    whole(power())
}

/// The number whose product with this one leaves 1.
fn inverse(number: i128, modulus: i128) -> Option<i128> {
    let (mut previous, mut rest) = (number, modulus);
    let (mut factor, mut next) = (1_i128, 0_i128);
    while rest != 0 {
        let quotient = floor_divided(previous, rest)?;
        (previous, rest) = (rest, previous.checked_sub(quotient.checked_mul(rest)?)?);
        (factor, next) = (next, factor.checked_sub(quotient.checked_mul(next)?)?);
    }
    match previous {
        1 => modulo(factor, modulus),
        -1 => modulo(factor.checked_neg()?, modulus),
        _ => None,
    }
}

/// Half to even, as Python rounds.
fn round(call: &mut Call<'_>) -> Outcome<Value> {
    let digits = call.int(1);
    match call.value(0) {
        Value::Int(number) if digits >= 0 => Ok(Value::Int(number)),
        Value::Int(number) => {
            let unit = u32::try_from(-digits).ok().and_then(|power| 10_i128.checked_pow(power));
            let Some(unit) = unit else { return Ok(Value::Int(0)) };
            let (Some(down), Some(rest)) = (floor_divided(number, unit), modulo(number, unit))
            else {
                return Err(failure::too_large());
            };
            let doubled = rest.checked_mul(2).ok_or_else(failure::too_large)?;
            let up = doubled > unit || (doubled == unit && down % 2 != 0);
            whole((down + i128::from(up)).checked_mul(unit))
        }
        other => Ok(Value::Float(round_float(as_float(&other), digits))),
    }
}

fn round_float(number: f64, digits: i128) -> f64 {
    if !number.is_finite() || digits > 323 {
        return number;
    }
    if digits < -308 {
        return 0.0_f64.copysign(number);
    }
    if digits >= 0 {
        let digits = usize::try_from(digits).unwrap_or_default();
        return format!("{number:.digits$}").parse().unwrap_or(number);
    }
    // As many digits before the point are written as zeros.
    let unit = 10_f64.powi(i32::try_from(-digits).unwrap_or_default());
    (number / unit).round_ties_even() * unit
}
