//! Amazon's signatures of requests, versions 2 and 4, as Keystone computes them of what a service
//! tells it of a request.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::super::doc::Doc;
use crate::model::{JsonMap, hex};

/// How long a signature holds (`auth_ttl`).
const HOLDS: TimeDelta = TimeDelta::minutes(15);

const VERSION_4: &str = "AWS4-HMAC-SHA256";

/// Whether a request was signed with the secret, and lately where it says when.
pub(super) fn is_good(signed: &JsonMap, secret: &str, now: DateTime<Utc>) -> bool {
    let empty = JsonMap::new();
    let request = Request {
        verb: signed.text("verb"),
        path: signed.text("path"),
        params: signed.object("params").unwrap_or(&empty),
        headers: signed.object("headers").unwrap_or(&empty),
        body_hash: signed.text("body_hash"),
    };
    if !request.is_fresh(now) {
        return false;
    }
    let host = signed.text("host");
    // Some clients leave the port out.
    let hosts = [host, host.split(':').next().unwrap_or_default()];
    hosts.iter().any(|host| {
        request.signature(secret, host).is_some_and(|known| known == signed.text("signature"))
    })
}

struct Request<'a> {
    verb: &'a str,
    path: &'a str,
    params: &'a JsonMap,
    headers: &'a JsonMap,
    body_hash: &'a str,
}

impl Request<'_> {
    fn signature(&self, secret: &str, host: &str) -> Option<String> {
        if self.params.text("SignatureVersion") == "2" {
            return Some(self.version_2(secret, host));
        }
        let is_4 = self.headers.text("Authorization").starts_with(VERSION_4)
            || self.params.text("X-Amz-Algorithm") == VERSION_4;
        if is_4 { self.version_4(secret) } else { None }
    }

    fn version_2(&self, secret: &str, host: &str) -> String {
        let text = format!("{}\n{host}\n{}\n{}", self.verb, self.path, self.query());
        STANDARD.encode(hmac(secret.as_bytes(), &text))
    }

    fn version_4(&self, secret: &str) -> Option<String> {
        let query = if self.verb == "POST" { String::new() } else { self.query() };
        let names = self.said("SignedHeaders")?;
        let header = |name: &str| {
            let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
            found
                .and_then(|(_, value)| value.as_str())
                .map(|value| format!("{name}:{}\n", value.trim()))
        };
        let headers: String = names.split(';').filter_map(header).collect();
        let (verb, path, body) = (self.verb, self.path, self.body_hash);
        let canonical = format!("{verb}\n{path}\n{query}\n{headers}\n{names}\n{body}");
        let credential = self.said("Credential")?;
        let (_, scope) = credential.split_once('/')?;
        let date = self.date()?;
        let mut key = format!("AWS4{secret}").into_bytes();
        for part in scope.split('/') {
            key = hmac(&key, part);
        }
        if !date.starts_with(scope.split('/').next()?) {
            return None;
        }
        let text = format!("{VERSION_4}\n{date}\n{scope}\n{}", hex(&Sha256::digest(canonical)));
        Some(hex(&hmac(&key, &text)))
    }

    /// What the header or the query says of the signature.
    fn said(&self, name: &str) -> Option<String> {
        let header = self.headers.text("Authorization");
        let after = header.split_once(&format!("{name}=")).map(|(_, rest)| rest);
        let from_header = after.map(|rest| rest.split(',').next().unwrap_or_default().to_owned());
        let param = self.params.get(&format!("X-Amz-{name}")).and_then(Value::as_str);
        from_header.or(param.map(str::to_owned))
    }

    fn date(&self) -> Option<&str> {
        let date = self.headers.get("X-Amz-Date").or(self.params.get("X-Amz-Date"));
        date.and_then(Value::as_str)
    }

    fn is_fresh(&self, now: DateTime<Utc>) -> bool {
        let said = self.params.get("Timestamp").and_then(Value::as_str).or(self.date());
        let Some(said) = said else { return true };
        let formats = ["%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%dT%H:%M:%S%.fZ", "%Y%m%dT%H%M%SZ"];
        let read = |format: &&str| NaiveDateTime::parse_from_str(said, format).ok();
        formats.iter().find_map(read).is_some_and(|at| now - at.and_utc() <= HOLDS)
    }

    fn query(&self) -> String {
        let mut names: Vec<&String> = self.params.keys().collect();
        names.sort();
        let pair = |name: &&String| format!("{}={}", quoted(name), quoted(self.params.text(name)));
        names.iter().map(pair).collect::<Vec<_>>().join("&")
    }
}

fn quoted(text: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let quote = |byte: u8| match is_plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(quote).collect()
}

fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    // A key of any length is taken.
    let mac = Hmac::<Sha256>::new_from_slice(key);
    let mac = mac.map(|mac| mac.chain_update(message).finalize().into_bytes());
    mac.map(|bytes| bytes.to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> JsonMap {
        serde_json::from_value(value).unwrap()
    }

    /// Computed by keystoneclient's `Ec2Signer`.
    #[test]
    fn signatures_are_those_of_keystones_own_library() {
        let now = "2026-01-02T03:14:05Z".parse().unwrap();
        let second = map(json!({
            "verb": "PUT", "host": "h:8000", "path": "/v1/waitcondition/arn:a/b c",
            "params": { "SignatureMethod": "HmacSHA256", "SignatureVersion": "2",
                "AWSAccessKeyId": "key", "Timestamp": "2026-01-02T03:04:05Z", "A": "b c~*" },
            "headers": {}, "signature": "LD5S01oRSEpEY1SdCl4b1kYYUfG6nDxo/LC0e425UXc=",
        }));
        assert!(is_good(&second, "secret", now));
        assert!(!is_good(&second, "secre", now));
        assert!(!is_good(&second, "secret", now + TimeDelta::minutes(10)));
        let fourth = map(json!({
            "verb": "POST", "host": "h:8000", "path": "/v1/", "params": { "Action": "ListStacks" },
            "headers": {
                "Authorization": "AWS4-HMAC-SHA256 Credential=key/20260102/r/cloudformation/aws4_request, \
                                  SignedHeaders=host;x-amz-date, Signature=x",
                "X-Amz-Date": "20260102T030405Z", "Host": "h:8000",
            },
            "body_hash": "ab", "signature": "b7d5dc6b966918eb35ccd1776731024ed06474571122bae77cac39a1b3156b93",
        }));
        assert!(is_good(&fourth, "secret", now));
        assert!(!is_good(&fourth, "Secret", now));
    }
}
