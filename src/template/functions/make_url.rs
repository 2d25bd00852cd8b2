//! `make_url`: a URL of its parts, escaped.

use std::sync::Arc;

use super::{Call, Function, Scope, is_text_or_call};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::value::{Datum, DatumMap};
use crate::template::{python, walk};

/// The parts in the order in which they are checked; checking ends at the query.
const PARTS: [&str; 8] =
    ["scheme", "username", "password", "host", "port", "path", "query", "fragment"];

#[derive(Debug)]
struct MakeUrl(Call);

/// Parses a call.
pub(super) fn parse(call: Call) -> Outcome<Arc<dyn Function>> {
    Ok(Arc::new(MakeUrl(call)))
}

impl MakeUrl {
    /// Checks the parts as written or as resolved; what is still a call is taken on trust.
    fn check_parts(&self, args: &Node) -> Outcome<()> {
        let name = self.name();
        for part in PARTS {
            let Some(value) = args.get(part) else { continue };
            match part {
                "query" => {
                    if !matches!(value.form, Form::Map(_) | Form::Call(_)) {
                        let message =
                            format!("The \"{part}\" argument to \"{name}\" must be a map");
                        return Err(TemplateError::kind(message));
                    }
                    return Ok(());
                }
                "port" => self.check_port(value, args)?,
                _ if is_text_or_call(value) => {}
                _ => {
                    let message = format!("The \"{part}\" argument to \"{name}\" must be a string");
                    return Err(TemplateError::kind(message));
                }
            }
        }
        Ok(())
    }

    fn check_port(&self, value: &Node, args: &Node) -> Outcome<()> {
        let port = match &value.form {
            Form::Call(_) => return Ok(()),
            Form::Int(port) => Some(*port),
            Form::Bool(truth) => Some(i128::from(*truth)),
            Form::Float(port) if port.is_finite() => Some(port.trunc() as i128),
            Form::Text(text) => python::int_of(text),
            Form::Float(_) => None,
            Form::Null | Form::List(_) | Form::Map(_) | Form::Omitted => {
                let kind = python::type_name(&value.to_datum());
                return Err(TemplateError::kind(format!(
                    "int() argument must be a string, a bytes-like object or a real number, not \
                     '{kind}'"
                )));
            }
        };
        match port {
            Some(port) if (1..=65535).contains(&port) => Ok(()),
            Some(port) => Err(TemplateError::value(format!(
                "Invalid URL port {port}, must be in range 1-65535"
            ))),
            None => Err(TemplateError::value(format!(
                "Invalid URL port \"{}\" for {} called with {}",
                python::text_of(&value.to_datum()),
                self.name(),
                python::repr(&args.to_datum())
            ))),
        }
    }
}

impl Function for MakeUrl {
    fn call(&self) -> &Call {
        &self.0
    }

    fn check(&self, _scope: &Scope<'_>) -> Outcome<()> {
        let name = self.name();
        let Some(args) = self.args().as_map() else {
            let message = format!("The arguments to \"{name}\" must be a map");
            return Err(TemplateError::kind(message));
        };
        let unknown: Vec<&str> =
            args.keys().map(|key| key.as_str()).filter(|key| !PARTS.contains(key)).collect();
        if !unknown.is_empty() {
            let unknown = unknown.join(", ");
            return Err(TemplateError::value(format!(
                "Invalid arguments to \"{name}\": {unknown}"
            )));
        }
        self.check_parts(self.args())
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let args = walk::args(self, scope)?;
        self.check_parts(&Node::from(args.clone()))?;
        let Datum::Map(args) = args else {
            let message = format!("The arguments to \"{}\" must be a map", self.name());
            return Err(TemplateError::kind(message));
        };
        url(&args).map(|url| Some(Datum::Text(url.into())))
    }
}

/// The schemes of Python's `urllib.parse` in whose URLs an authority stands, even an empty one.
const WITH_AUTHORITY: [&str; 25] = [
    "ftp", "http", "gopher", "nntp", "telnet", "imap", "wais", "file", "mms", "https", "shttp",
    "snews", "prospero", "rtsp", "rtsps", "rtspu", "rsync", "svn", "svn+ssh", "sftp", "nfs", "git",
    "git+ssh", "ws", "wss",
];

fn url(args: &DatumMap) -> Outcome<String> {
    let text = |part: &str| match args.get(part) {
        None => Ok(""),
        Some(Datum::Text(text)) => Ok(text.as_str()),
        // Only what comes after the query can be something else here.
        Some(_) => Err(TemplateError::kind("quote_from_bytes() expected bytes")),
    };
    let scheme = text("scheme")?;
    if scheme.contains(':') {
        return Err(TemplateError::value("URL \"scheme\" should not contain ':'"));
    }
    let authority = authority(args, text("username")?, text("password")?, text("host")?);
    let mut url = escaped(text("path")?, "/");
    let has_authority = WITH_AUTHORITY.contains(&scheme) && !url.starts_with("//");
    if has_authority || !authority.is_empty() {
        let slash = if url.is_empty() || url.starts_with('/') { "" } else { "/" };
        url = format!("//{authority}{slash}{url}");
    }
    if !scheme.is_empty() {
        url = format!("{scheme}:{url}");
    }
    let query = match args.get("query") {
        Some(Datum::Map(query)) => query_text(query),
        _ => String::new(),
    };
    if !query.is_empty() {
        url = format!("{url}?{query}");
    }
    let fragment = escaped(text("fragment")?, "/");
    if !fragment.is_empty() {
        url = format!("{url}#{fragment}");
    }
    Ok(url)
}

fn authority(args: &DatumMap, username: &str, password: &str, host: &str) -> String {
    let mut out = String::new();
    if !(username.is_empty() && password.is_empty()) {
        out.push_str(&escaped(username, ""));
        if !password.is_empty() {
            out.push(':');
            out.push_str(&escaped(password, ""));
        }
        out.push('@');
    }
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let host = escaped(bare, ":");
    if host.contains(':') {
        out.push_str(&format!("[{host}]"));
    } else {
        out.push_str(&host);
    }
    if let Some(port) = args.get("port").filter(|port| port.is_truthy()) {
        out.push(':');
        out.push_str(&python::text_of(port));
    }
    out
}

fn query_text(query: &DatumMap) -> String {
    let form = |text: &str| escaped(text, " ").replace(' ', "+").replace("%2F", "/");
    let pairs: Vec<String> = query
        .iter()
        .map(|(key, value)| format!("{}={}", form(key), form(&python::text_of(value))))
        .collect();
    pairs.join("&")
}

/// Percent escapes for all but letters, digits, `_.-~` and what is named safe.
fn escaped(text: &str, safe: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        let is_plain = c.is_ascii_alphanumeric() || "_.-~".contains(c);
        if is_plain || (c.is_ascii() && safe.contains(c)) {
            out.push(c);
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}
