//! The protocols that Amazon's newer clients speak to CloudWatch instead of the query protocol: AWS
//! JSON 1.0 and Smithy RPC v2 CBOR. Which one a request is in, which operation it asks for, and how
//! it is answered.

use actix_web::http::Method;
use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use serde_json::{Value, json};

use super::cbor;
use super::document::typed;
use crate::api::cfn::asked::Asked;
use crate::api::cfn::fault::CfnFault;
use crate::api::cfn::signature;
use crate::api::error::Fault;
use crate::api::request::read_object;
use crate::model::JsonMap;
use crate::model::sizes::answer_json;

/// Where an operation is called in CBOR.
pub(super) const OPERATION: &str = "/service/GraniteServiceVersion20100801/operation/{operation}";

/// What an operation's name follows in JSON.
const TARGET: &str = "GraniteServiceVersion20100801.";
const TARGET_HEADER: &str = "x-amz-target";

/// By which CBOR is declared, in requests and in answers.
const PROTOCOL_HEADER: &str = "smithy-protocol";
const RPC_V2_CBOR: &str = "rpc-v2-cbor";

/// Where clients find the code that an error has in the query protocol.
const QUERY_ERROR: &str = "x-amzn-query-error";

/// Codes of errors whose shapes are called otherwise.
const SHAPES: [(&str, &str); 4] = [
    ("InternalFailure", "InternalServiceFault"),
    ("InvalidParameterCombination", "InvalidParameterCombinationException"),
    ("InvalidParameterValue", "InvalidParameterValueException"),
    ("MissingParameter", "MissingRequiredParameterException"),
];

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum Protocol {
    Json,
    Cbor,
}

impl Protocol {
    /// The one that a request is in; `None` for the query protocol.
    pub(in crate::api) fn of(verb: &Method, headers: &HeaderMap) -> Option<Self> {
        if verb != Method::POST {
            return None;
        }
        match headers.get(PROTOCOL_HEADER) {
            Some(declared) if declared == RPC_V2_CBOR => Some(Self::Cbor),
            Some(_) | None => headers.contains_key(TARGET_HEADER).then_some(Self::Json),
        }
    }

    /// The operation that is asked for; empty where it is none of CloudWatch's.
    pub(super) fn operation(self, request: &HttpRequest) -> &str {
        let named = match self {
            Self::Cbor => request.match_info().get("operation"),
            Self::Json => {
                let target = request.headers().get(TARGET_HEADER);
                let target = target.and_then(|target| target.to_str().ok());
                target.and_then(|target| target.strip_prefix(TARGET))
            }
        };
        named.unwrap_or_default()
    }

    /// Refuses a signature under which the operation could be another: a path is always signed.
    pub(super) fn require_signed(self, asked: &Asked) -> Result<(), CfnFault> {
        match self {
            Self::Json => signature::require_signed(asked, TARGET_HEADER),
            Self::Cbor => Ok(()),
        }
    }

    /// Reads an operation's input, with so many values; without any, some clients send nothing.
    pub(in crate::api) fn reader(self) -> fn(&[u8], usize) -> Result<JsonMap, Fault> {
        match self {
            Self::Json => |content, values| match content {
                b"" => Ok(JsonMap::new()),
                content => read_object(content, values),
            },
            Self::Cbor => |content, values| match content {
                b"" => Ok(JsonMap::new()),
                content => cbor::read_object(content, values),
            },
        }
    }

    /// The answer to an operation. In CBOR, none that has no output has a body.
    pub(super) fn answer(self, output: &Value) -> HttpResponse {
        let is_empty = output.as_object().is_some_and(JsonMap::is_empty);
        match self {
            Self::Cbor if is_empty => {
                HttpResponse::Ok().insert_header((PROTOCOL_HEADER, RPC_V2_CBOR)).finish()
            }
            Self::Json | Self::Cbor => self.write(HttpResponse::Ok(), output),
        }
    }

    /// The answer with an error.
    pub(in crate::api) fn refuse(self, fault: &CfnFault) -> HttpResponse {
        let code = fault.code();
        let shape =
            SHAPES.iter().find(|(known, _)| *known == code).map_or(code, |(_, shape)| shape);
        let error = json!({
            "__type": format!("com.amazonaws.cloudwatch#{shape}"),
            "message": fault.message(),
        });
        let mut answer = fault.begun();
        answer.insert_header((QUERY_ERROR, format!("{code};{}", fault.who())));
        self.write(answer, &error)
    }

    fn write(self, mut answer: HttpResponseBuilder, value: &Value) -> HttpResponse {
        let value = typed(value);
        let body = match self {
            Self::Json => answer_json(&value).map_err(Fault::from),
            Self::Cbor => {
                answer.insert_header((PROTOCOL_HEADER, RPC_V2_CBOR));
                cbor::written(&value).map_err(Fault::from)
            }
        };
        match body {
            Ok(body) => answer.insert_header((CONTENT_TYPE, self.content_type())).body(body),
            Err(fault) => self.refuse(&fault.into()),
        }
    }

    fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/x-amz-json-1.0",
            Self::Cbor => "application/cbor",
        }
    }
}
