//! What clients of Amazon's APIs send, read as a server reads it and without one: for `fuzz/`.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use chrono::{DateTime, Utc};

use super::asked::{self, Asked};
use super::fault::CfnFault;
use super::shape::Format;
use super::signal::details_in;
use super::signature::{self, Window};
use crate::api::cloudwatch::document;
use crate::api::cloudwatch::protocol::Protocol;
use crate::api::request::read_object;

/// As it is where nothing else is set.
const BODY_SIZE_MAX: usize = 1024 * 1024;

/// A request. What is no name or value of a header is left out: it never gets so far.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    pub verb: &'a str,
    pub query: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

impl Sent<'_> {
    fn asked(&self) -> Result<Asked, CfnFault> {
        let mut headers = HeaderMap::new();
        for (name, value) in self.headers {
            let (name, value) = (HeaderName::try_from(*name), HeaderValue::from_str(value));
            if let (Ok(name), Ok(value)) = (name, value) {
                headers.append(name, value);
            }
        }
        Asked {
            verb: self.verb.to_owned(),
            host: "localhost".to_owned(),
            path: "/v1/".to_owned(),
            params: asked::of_query(self.query),
            headers,
            body: self.body.to_vec(),
            body_size_max: BODY_SIZE_MAX,
        }
        .bounded()
    }

    /// How many parameters there are in the query and the form, or the status of the refusal.
    pub fn parameters(&self) -> Result<usize, u16> {
        let asked = self.asked().and_then(Asked::with_form).map_err(|fault| status(&fault))?;
        let pairs = asked.pairs("Parameters", "ParameterKey", "ParameterValue");
        Ok(asked.params.len().max(pairs.len()))
    }

    /// Whether it is signed, in whatever window of time, or the status of the refusal.
    pub fn is_signed(&self, now: DateTime<Utc>) -> Result<bool, u16> {
        let read = || {
            let asked = self.asked()?;
            let signed = signature::of(&asked)?;
            let windows = [Window::Now, Window::Look, Window::Lasting];
            let outcomes = windows.map(|window| signature::check_time(&asked, window, now));
            outcomes.into_iter().collect::<Result<(), CfnFault>>()?;
            Ok(signed.is_some())
        };
        read().map_err(|fault: CfnFault| status(&fault))
    }
}

/// Whether a signal says something, of up to so many values, or the status of the refusal.
pub fn is_signal(body: &[u8], values: usize) -> Result<bool, u16> {
    match details_in(&mut body.to_vec()) {
        Some(object) => match read_object(&object, values) {
            Ok(_) => Ok(true),
            Err(fault) => Err(status(&fault.into())),
        },
        None => Ok(false),
    }
}

/// How many parameters the input of an operation comes to that has up to so many values, in JSON and
/// in CBOR, or the statuses of the refusals.
pub fn parameters_of(input: &[u8], values: usize) -> [Result<usize, u16>; 2] {
    [Protocol::Json, Protocol::Cbor].map(|protocol| {
        let read = protocol.reader()(input, values).map_err(CfnFault::from);
        let params = read.and_then(document::parameters);
        params.map(|params| params.len()).map_err(|fault| protocol.refuse(&fault).status().as_u16())
    })
}

fn status(fault: &CfnFault) -> u16 {
    let statuses = [Format::Xml, Format::Json].map(|format| fault.answer(format).status().as_u16());
    statuses[0].max(statuses[1])
}
