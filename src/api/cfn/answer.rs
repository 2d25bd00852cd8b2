//! Answers in Amazon's shape.

use actix_web::web::Bytes;
use actix_web::{HttpResponse, HttpResponseBuilder};
use serde_json::{Map, Value};

use super::fault::CfnFault;
use super::shape::{self, Format};
use crate::api::error::Fault;

/// What an action gives.
pub(in crate::api) enum Given {
    Result(Value),
    /// The whole body, written in the format of the request.
    Body(Bytes),
}

/// The answer to an action.
pub(in crate::api) fn answer(format: Format, action: &str, given: Given) -> HttpResponse {
    let mut answer = HttpResponse::Ok();
    match given {
        Given::Result(result) => {
            let (root, within) = wrapped(action, result);
            write(&mut answer, format, &root, &within)
        }
        Given::Body(body) => answer.content_type(format.content_type()).body(body),
    }
}

/// The body of an answer.
pub(super) fn body(format: Format, action: &str, result: Value) -> Result<Vec<u8>, Fault> {
    let (root, within) = wrapped(action, result);
    shape::body(format, &root, &within)
}

fn wrapped(action: &str, result: Value) -> (String, Value) {
    let within = Map::from_iter([(format!("{action}Result"), result)]);
    (format!("{action}Response"), Value::Object(within))
}

/// Writes a value under one root.
pub(in crate::api) fn write(
    answer: &mut HttpResponseBuilder,
    format: Format,
    root: &str,
    value: &Value,
) -> HttpResponse {
    match shape::body(format, root, value) {
        Ok(body) => answer.content_type(format.content_type()).body(body),
        Err(fault) => CfnFault::from(fault).answer(format),
    }
}
