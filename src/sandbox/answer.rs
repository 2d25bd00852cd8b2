//! What a service answers, and the error bodies of each, in the shape its real counterpart gives.

use bytes::Bytes;
use serde_json::{Value, json};

/// One answer on its way out.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Bytes,
}

/// An answer that keeps the request's changes, or one that takes them back.
pub(super) type Reply = Result<Answer, Answer>;

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: Bytes::from(body.to_string()),
        }
    }

    pub(super) fn empty(status: u16) -> Self {
        Self { status, headers: Vec::new(), body: Bytes::new() }
    }

    pub(super) fn text(status: u16, kind: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), kind.to_owned())],
            body: body.into(),
        }
    }

    pub(super) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }
}

/// Neutron's `{"NeutronError": {type, message, detail}}`.
pub(super) fn neutron(status: u16, kind: &str, message: impl Into<String>) -> Answer {
    let message: String = message.into();
    Answer::json(status, &json!({"NeutronError": {"type": kind, "message": message, "detail": ""}}))
}

/// Nova's and Cinder's `{"itemNotFound": {code, message}}`.
pub(super) fn nova(status: u16, message: impl Into<String>) -> Answer {
    let kind = match status {
        400 => "badRequest",
        401 => "unauthorized",
        403 => "forbidden",
        404 => "itemNotFound",
        405 => "badMethod",
        409 => "conflictingRequest",
        413 => "overLimit",
        415 => "badMediaType",
        429 => "overLimit",
        501 => "notImplemented",
        503 => "serviceUnavailable",
        _ => "computeFault",
    };
    let message: String = message.into();
    Answer::json(status, &json!({kind: {"code": status, "message": message}}))
}

/// Keystone's `{"error": {code, message, title}}`.
pub(super) fn keystone(status: u16, message: impl Into<String>) -> Answer {
    let message: String = message.into();
    Answer::json(
        status,
        &json!({"error": {"code": status, "message": message, "title": reason(status)}}),
    )
}

/// Barbican's `{code, title, description}`.
pub(super) fn barbican(status: u16, description: impl Into<String>) -> Answer {
    let description: String = description.into();
    let body = json!({"code": status, "title": reason(status), "description": description});
    Answer::json(status, &body)
}

/// Octavia's `{faultcode, faultstring, debuginfo}`.
pub(super) fn octavia(status: u16, message: impl Into<String>) -> Answer {
    let message: String = message.into();
    let code = if status < 500 { "Client" } else { "Server" };
    Answer::json(status, &json!({"faultcode": code, "faultstring": message, "debuginfo": null}))
}

/// Glance's page.
pub(super) fn glance(status: u16, message: impl AsRef<str>) -> Answer {
    let title = format!("{status} {}", reason(status));
    let message = message.as_ref().replace('\'', "&#x27;");
    let page = format!(
        "<html>\n <head>\n  <title>{title}</title>\n </head>\n <body>\n  <h1>{title}</h1>\n  {message}<br /><br />\n\n\n </body>\n</html>"
    );
    Answer::text(status, "text/html; charset=UTF-8", page)
}

/// Swift's page.
pub(super) fn swift(status: u16) -> Answer {
    let text = match status {
        401 => {
            "This server could not verify that you are authorized to access the document you requested."
        }
        403 => "Access was denied to this resource.",
        404 => "The resource could not be found.",
        405 => "The method is not allowed for this resource.",
        409 => "There was a conflict when trying to complete your request.",
        411 => "Content-Length header required.",
        412 => "A precondition for this request was not met.",
        422 => "Unable to process the contained instructions.",
        _ => {
            "The server could not comply with the request since it is either malformed or otherwise incorrect."
        }
    };
    let page = format!("<html><h1>{}</h1><p>{text}</p></html>", reason(status));
    Answer::text(status, "text/html; charset=UTF-8", page)
}

/// What the token check in front of Nova, Neutron, Cinder and Glance answers.
pub(super) fn no_token(identity: &str) -> Answer {
    keystone(401, "The request you have made requires authentication.")
        .header("www-authenticate", format!("Keystone uri=\"{identity}\""))
}

/// The answer to a request whose address makes no sense.
pub(super) fn unreadable() -> Answer {
    keystone(400, "The path cannot be read.")
}

/// The standard phrase of a status code.
pub(super) fn reason(status: u16) -> &'static str {
    actix_web::http::StatusCode::from_u16(status)
        .ok()
        .and_then(|status| status.canonical_reason())
        .unwrap_or("Unknown")
}
