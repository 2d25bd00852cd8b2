//! Answers in Amazon's shape.

use actix_web::{HttpResponse, HttpResponseBuilder};
use serde_json::{Map, Value};

use super::fault::CfnFault;
use super::shape::{self, Format};

/// The answer to an action.
pub(in crate::api) fn answer(format: Format, action: &str, result: Value) -> HttpResponse {
    let mut within = Map::new();
    within.insert(format!("{action}Result"), result);
    let mut answer = HttpResponse::Ok();
    write(&mut answer, format, &format!("{action}Response"), &Value::Object(within))
}

/// Writes a value under one root.
pub(in crate::api) fn write(
    answer: &mut HttpResponseBuilder,
    format: Format,
    root: &str,
    value: &Value,
) -> HttpResponse {
    match shape::body(format, root, value) {
        Ok((kind, body)) => answer.content_type(kind).body(body),
        Err(fault) => CfnFault::from(fault).answer(format),
    }
}
