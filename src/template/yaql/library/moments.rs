//! Functions and properties of points and spans of time. What asks the clock is refused: a
//! template gives the same each time.

use std::rc::Rc;

use super::time::{Clock, DAY, Moment, SECOND, Span};
use super::{Entry, function, method};
use crate::template::error::{Outcome, TemplateError};
use crate::template::python;
use crate::template::yaql::call::Call;
use crate::template::yaql::failure;
use crate::template::yaql::value::Value;

pub(super) const FUNCTIONS: &[Entry] = &[
    function(
        "datetime",
        "year: int, month: int, day: int, hour: int = 0, minute: int = 0, second: int = 0, \
         microsecond: int = 0, offset: span = none",
        build,
    ),
    function("datetime", "timestamp: number, offset: span = none", |call| {
        let utc = (float(&call.value(0)) * 1e6).round_ties_even();
        moment(Moment::at(utc as i128, span(call, 1))?)
    }),
    function("datetime", "string: text, format: text = null", |call| {
        let text = call.string(0);
        let format = call.text(1).filter(|format| !format.is_empty());
        moment(match format {
            Some(format) => super::timetext::parse(&text, &format)?,
            None => super::timetext::read(&text)?,
        })
    }),
    function(
        "timespan",
        "days: int = 0, hours: int = 0, minutes: int = 0, seconds: integer = 0, \
         milliseconds: integer = 0, microseconds: integer = 0",
        build_span,
    ),
    function("now", "offset: span? = none", |_| Err(failure::impure("now"))),
    // A server's zone is no part of a template: it is UTC.
    function("localtz utctz", "", |_| Ok(Value::Span(Span(0)))),
    function("#property#microseconds", "obj: span", |call| Ok(Value::Int(span(call, 0)))),
    function("#property#milliseconds", "obj: span", |call| Ok(in_units(call, 1e3))),
    function("#property#seconds", "obj: span", |call| Ok(in_units(call, 1e6))),
    function("#property#minutes", "obj: span", |call| Ok(in_units(call, 6e7))),
    function("#property#hours", "obj: span", |call| Ok(in_units(call, 3.6e9))),
    function("#property#days", "obj: span", |call| Ok(in_units(call, 8.64e10))),
    function("#operator_+", "dt: moment, ts: span", |call| shift(call, 0, 1, 1)),
    function("#operator_+", "ts: span, dt: moment", |call| shift(call, 1, 0, 1)),
    function("#operator_-", "dt: moment, ts: span", |call| shift(call, 0, 1, -1)),
    function("#operator_-", "dt1: moment, dt2: moment", |call| {
        Ok(Value::Span(Span(instant(call, 0).utc() - instant(call, 1).utc())))
    }),
    function("#operator_+", "ts1: span, ts2: span", |call| {
        Span::new(span(call, 0) + span(call, 1)).map(Value::Span)
    }),
    function("#operator_-", "ts1: span, ts2: span", |call| {
        Span::new(span(call, 0) - span(call, 1)).map(Value::Span)
    }),
    function("#operator_*", "ts: span, n: number", |call| times(call, 0, 1)),
    function("#operator_*", "n: number, ts: span", |call| times(call, 1, 0)),
    function("#operator_/", "ts1: span, ts2: span", |call| match span(call, 1) {
        0 => Err(failure::zero("float division by zero")),
        other => Ok(Value::Float(span(call, 0) as f64 / other as f64)),
    }),
    function("#operator_/", "ts: span, n: number", |call| match float(&call.value(1)) {
        0.0 if matches!(call.value(1), Value::Int(_)) => Err(failure::zero("division by zero")),
        0.0 => Err(failure::zero("float division by zero")),
        other => rounded(span(call, 0) as f64 / other),
    }),
    function("#unary_operator_-", "ts: span", |call| Span::new(-span(call, 0)).map(Value::Span)),
    function("#unary_operator_+", "ts: span", |call| Ok(call.value(0))),
    function("#property#year", "obj: moment", |call| clock(call, |clock| clock.year)),
    function("#property#month", "obj: moment", |call| clock(call, |clock| clock.month)),
    function("#property#day", "obj: moment", |call| clock(call, |clock| clock.day)),
    function("#property#hour", "obj: moment", |call| clock(call, |clock| clock.hour)),
    function("#property#minute", "obj: moment", |call| clock(call, |clock| clock.minute)),
    function("#property#second", "obj: moment", |call| clock(call, |clock| clock.second)),
    function("#property#microsecond", "obj: moment", |call| clock(call, |clock| clock.microsecond)),
    function("#property#weekday", "obj: moment", |call| {
        Ok(Value::Int(instant(call, 0).weekday().into()))
    }),
    function("#property#offset", "obj: moment", |call| {
        Ok(Value::Span(Span(instant(call, 0).offset)))
    }),
    function("#property#date", "obj: moment", |call| moment(midnight(instant(call, 0))?)),
    function("#property#time", "obj: moment", |call| {
        let instant = instant(call, 0);
        Ok(Value::Span(Span(instant.utc() - midnight(instant)?.utc())))
    }),
    // The clock goes to UTC, but the zone stays: so it is in yaql.
    function("#property#utc", "obj: moment", |call| moment(to_utc(instant(call, 0))?)),
    function("#property#timestamp", "obj: moment", |call| {
        Ok(Value::Float(to_utc(instant(call, 0))?.utc() as f64 / 1e6))
    }),
    method(
        "replace",
        "dt: moment, year: int = null, month: int = null, day: int = null, hour: int = null, \
         minute: int = null, second: int = null, microsecond: int = null, offset: span = null",
        replace,
    ),
    method("format", "dt: moment, format: text", |call| {
        let text = super::timetext::format(instant(call, 0), &call.string(1));
        Ok(Value::text(text))
    }),
    function("isDatetime", "value: any?", |call| {
        Ok(Value::Bool(matches!(call.value(0), Value::Moment(_))))
    }),
    function("isTimespan", "value: any?", |call| {
        Ok(Value::Bool(matches!(call.value(0), Value::Span(_))))
    }),
];

fn moment(moment: Moment) -> Outcome<Value> {
    Ok(Value::Moment(Rc::new(moment)))
}

fn instant(call: &Call<'_>, at: usize) -> Moment {
    match call.value(at) {
        Value::Moment(moment) => *moment,
        _ => Moment::EPOCH,
    }
}

/// The microseconds of a span; none is zero.
fn span(call: &Call<'_>, at: usize) -> i128 {
    match call.value(at) {
        Value::Span(span) => span.0,
        _ => 0,
    }
}

fn float(value: &Value) -> f64 {
    match value {
        Value::Float(number) => *number,
        other => other.as_whole().unwrap_or_default() as f64,
    }
}

fn build(call: &mut Call<'_>) -> Outcome<Value> {
    let clock = Clock {
        year: call.int(0),
        month: call.int(1),
        day: call.int(2),
        hour: call.int(3),
        minute: call.int(4),
        second: call.int(5),
        microsecond: call.int(6),
    };
    moment(Moment::new(clock, span(call, 7))?)
}

fn build_span(call: &mut Call<'_>) -> Outcome<Value> {
    const UNITS: [i128; 6] = [DAY, 3600 * SECOND, 60 * SECOND, SECOND, 1000, 1];
    let mut total: i128 = 0;
    for (index, unit) in UNITS.iter().enumerate() {
        let part = call.int(index).checked_mul(*unit);
        let sum = part.and_then(|part| total.checked_add(part));
        total = sum.ok_or_else(|| {
            TemplateError::new("OverflowError", "Python int too large to convert to C int")
        })?;
    }
    Span::new(total).map(Value::Span)
}

fn in_units(call: &Call<'_>, unit: f64) -> Value {
    Value::Float(span(call, 0) as f64 / unit)
}

fn shift(call: &Call<'_>, of: usize, by: usize, sign: i128) -> Outcome<Value> {
    moment(instant(call, of).moved(sign * span(call, by))?)
}

fn rounded(microseconds: f64) -> Outcome<Value> {
    if !microseconds.is_finite() {
        let text = python::float_text(microseconds);
        return Err(TemplateError::value(format!("cannot convert float {text} to integer")));
    }
    Span::new(microseconds.round_ties_even() as i128).map(Value::Span)
}

fn times(call: &Call<'_>, of: usize, by: usize) -> Outcome<Value> {
    match call.value(by) {
        Value::Int(number) => {
            let product = span(call, of).checked_mul(number).ok_or_else(failure::too_large)?;
            Span::new(product).map(Value::Span)
        }
        other => rounded(span(call, of) as f64 * float(&other)),
    }
}

fn clock(call: &Call<'_>, part: fn(Clock) -> i128) -> Outcome<Value> {
    Ok(Value::Int(part(instant(call, 0).clock())))
}

fn midnight(instant: Moment) -> Outcome<Moment> {
    let clock = Clock { hour: 0, minute: 0, second: 0, microsecond: 0, ..instant.clock() };
    Moment::new(clock, instant.offset)
}

fn to_utc(instant: Moment) -> Outcome<Moment> {
    instant.moved(-instant.offset)
}

fn replace(call: &mut Call<'_>) -> Outcome<Value> {
    let instant = instant(call, 0);
    let mut clock = instant.clock();
    let parts = [
        &mut clock.year,
        &mut clock.month,
        &mut clock.day,
        &mut clock.hour,
        &mut clock.minute,
        &mut clock.second,
        &mut clock.microsecond,
    ];
    for (index, part) in parts.into_iter().enumerate() {
        if let Some(value) = call.value(index + 1).as_whole() {
            *part = value;
        }
    }
    let offset = match call.value(8) {
        Value::Span(span) => span.0,
        _ => instant.offset,
    };
    moment(Moment::new(clock, offset)?)
}
