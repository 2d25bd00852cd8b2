//! How a request is signed, and when it was: versions 2 and 4 of Amazon's signatures, in the query,
//! the form or the header `Authorization`. Whether a signature is good, Keystone knows.

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use sha2::{Digest, Sha256};

use super::asked::Asked;
use super::fault::{
    CfnFault, INCOMPLETE_SIGNATURE, INVALID_VALUE, MISSING_PARAMETER, MISSING_TOKEN,
    REQUEST_EXPIRED, REQUEST_LIMIT,
};
use crate::model::hex;
use crate::openstack::SignedRequest;

/// How far the time of a request may be from ours, as at Amazon.
const TIME_OFF_MAX: TimeDelta = TimeDelta::minutes(15);

/// The longest time that a request may be signed for, as at Amazon.
const EXPIRES_MAX: TimeDelta = TimeDelta::days(7);

/// The longest key, and the longest signature, that is looked at: theirs have 32 to 64 characters.
const KEY_LENGTH_MAX: usize = 255;
const SIGNATURE_LENGTH_MAX: usize = 255;

/// How many headers may be signed.
const SIGNED_HEADERS_MAX: usize = 64;

/// How much of the parameters Keystone is told, which reads no more than 112 KiB unless it is set to.
const TOLD_BYTES_MAX: usize = 100 * 1024;

/// The parts of what version 4 calls a credential: the key, and its scope: date, region, service and
/// a word that is always the same.
const CREDENTIAL_PARTS: usize = 5;

/// How long what is signed holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::api) enum Window {
    /// One request, made now.
    Now,
    /// A look at a resource, made now: the agents of servers sign theirs without a time.
    Look,
    /// An address that was given out to be used later, maybe more than once.
    Lasting,
}

/// What of a request is signed, as Keystone wants to be told; `None` where nothing is.
pub(in crate::api) fn of(asked: &Asked) -> Result<Option<SignedRequest>, CfnFault> {
    let header = asked.header("authorization");
    let of_header = |name: &str| header.and_then(|header| part(header, name));
    let signature = asked.param("Signature").or(asked.param("X-Amz-Signature"));
    let signature = signature.or(of_header("Signature")).filter(|it| !it.is_empty());
    let Some(signature) = signature else { return Ok(None) };
    let in_scope = |scope: &str| scope.split('/').next().unwrap_or_default().to_owned();
    let access = asked.param("AWSAccessKeyId").map(str::to_owned);
    let access = access.or(asked.param("X-Amz-Credential").map(in_scope));
    let access = access.or(of_header("Credential").map(in_scope)).filter(|it| !it.is_empty());
    let Some(access) = access else { return Err(MISSING_TOKEN.into()) };
    if access.len() > KEY_LENGTH_MAX || signature.len() > SIGNATURE_LENGTH_MAX {
        return Err(INCOMPLETE_SIGNATURE.into());
    }
    let mut signed = SignedRequest {
        access,
        signature: signature.to_owned(),
        host: asked.host.clone(),
        verb: asked.verb.clone(),
        path: asked.path.clone(),
        params: [].into(),
        headers: [].into(),
        body_hash: String::new(),
    };
    let is_posted = match asked.param("SignatureVersion") {
        Some("2") => false,
        _ if asked.is_version_4() => {
            add_version_4(asked, &mut signed)?;
            asked.verb == "POST"
        }
        // Keystone would take versions 0 and 1, too, which sign next to nothing.
        Some(_) | None => return Err(INCOMPLETE_SIGNATURE.into()),
    };
    let is_told = |name: &str| match name {
        "Signature" | "X-Amz-Signature" => false,
        name => !is_posted || name.starts_with("X-Amz-"),
    };
    let told = asked.params.iter().filter(|(name, _)| is_told(name));
    if told.clone().map(|(name, value)| name.len() + value.len()).sum::<usize>() > TOLD_BYTES_MAX {
        return Err(REQUEST_LIMIT.into());
    }
    signed.params = told.map(|(name, value)| (name.clone(), value.clone())).collect();
    Ok(Some(signed))
}

/// Version 4 signs headers and the body; of a form that is posted it signs the body alone, so that
/// nobody else need know what is in it.
fn add_version_4(asked: &Asked, signed: &mut SignedRequest) -> Result<(), CfnFault> {
    let names: Vec<&str> = signed_headers(asked).split(';').collect();
    let scope: Vec<&str> = said(asked, "Credential").split('/').collect();
    let date = scope.get(1).copied().filter(|date| !date.is_empty());
    let is_of_its_date = date.zip(date_4(asked)).is_some_and(|(date, at)| at.starts_with(date));
    // Keystone breaks over what is not so.
    let is_whole = scope.len() == CREDENTIAL_PARTS && is_of_its_date;
    if names.len() > SIGNED_HEADERS_MAX || !is_whole {
        return Err(INCOMPLETE_SIGNATURE.into());
    }
    // As Keystone looks for them; an old boto leaves the port out of the host.
    let special = [
        ("authorization", "Authorization"),
        ("x-amz-date", "X-Amz-Date"),
        ("user-agent", "User-Agent"),
    ];
    let others = names.iter().filter(|name| !special.iter().any(|(known, _)| known == *name));
    let wanted = special.into_iter().chain(others.map(|name| (*name, *name)));
    let found = wanted.filter_map(|(name, shown)| Some((shown, asked.header(name)?)));
    signed.headers = found.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    signed.body_hash = hex(&Sha256::digest(&asked.body));
    Ok(())
}

/// Refuses a request under version 4 that does not sign a header which says what is asked for.
pub(in crate::api) fn require_signed(asked: &Asked, name: &str) -> Result<(), CfnFault> {
    let is_signed = || signed_headers(asked).split(';').any(|signed| signed == name);
    if asked.is_version_4() && !is_signed() { Err(INCOMPLETE_SIGNATURE.into()) } else { Ok(()) }
}

/// The names of headers that are signed, with semicolons between them.
fn signed_headers(asked: &Asked) -> &str {
    said(asked, "SignedHeaders")
}

/// What version 4 says of a signature, read as Keystone reads it: of the header, where there is one.
fn said<'a>(asked: &'a Asked, name: &str) -> &'a str {
    let found = match asked.header("authorization") {
        Some(header) => part(header, name),
        None => asked.param(&format!("X-Amz-{name}")),
    };
    found.unwrap_or_default()
}

/// When version 4 says that a request was signed.
fn date_4(asked: &Asked) -> Option<&str> {
    asked.header("x-amz-date").or(asked.param("X-Amz-Date"))
}

/// A part of the header: `Signature=…`.
fn part<'a>(header: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("{name}="))?;
    rest.split(',').next().map(str::trim)
}

/// Refuses a request that was signed too long ago, or in the future.
pub(in crate::api) fn check_time(
    asked: &Asked,
    window: Window,
    now: DateTime<Utc>,
) -> Result<(), CfnFault> {
    let is_4 = asked.is_version_4() && asked.param("SignatureVersion") != Some("2");
    let at = match is_4 {
        true => date_4(asked),
        false => asked.param("Timestamp"),
    };
    let at = at.map(time).transpose()?;
    // Differences, and no sums: a time that is given may be the last that there is.
    let age = at.map(|at| now - at);
    let is_expired = match (is_4, age) {
        (true, Some(age)) => {
            // The query of what is posted is not signed.
            let given = asked.param("X-Amz-Expires").filter(|_| asked.verb != "POST");
            let seconds = given.map(str::parse::<u32>).transpose();
            let seconds = seconds.map_err(|_| CfnFault::new(INVALID_VALUE, "X-Amz-Expires"))?;
            let life = seconds.map(|seconds| TimeDelta::seconds(seconds.into()));
            life.map(|life| life > EXPIRES_MAX || age > life)
        }
        (true, None) => return Err(INCOMPLETE_SIGNATURE.into()),
        (false, _) => {
            let expires = asked.param("Expires").map(time).transpose()?;
            // An address that is given out may hold for ever, as one without a time does.
            let is_bound = window != Window::Lasting;
            expires.map(|at| now > at || (is_bound && at - now > EXPIRES_MAX))
        }
    };
    let is_over = match (is_expired, age, window) {
        (Some(is_expired), ..) => is_expired,
        (None, Some(age), Window::Now | Window::Look) => age > TIME_OFF_MAX,
        (None, None, Window::Look) => false,
        // How long an address holds that says when it was made, is for Keystone to say.
        (None, _, Window::Lasting) => false,
        (None, None, Window::Now) => {
            return Err(CfnFault::new(MISSING_PARAMETER, "Timestamp or Expires"));
        }
    };
    let is_early = age.is_some_and(|age| age < -TIME_OFF_MAX);
    if is_over || is_early { Err(REQUEST_EXPIRED.into()) } else { Ok(()) }
}

fn time(text: &str) -> Result<DateTime<Utc>, CfnFault> {
    if let Ok(at) = DateTime::parse_from_rfc3339(text) {
        return Ok(at.with_timezone(&Utc));
    }
    // boto leaves the zone out; version 4 leaves everything out.
    ["%Y-%m-%dT%H:%M:%S%.f", "%Y%m%dT%H%M%SZ"]
        .iter()
        .find_map(|format| NaiveDateTime::parse_from_str(text, format).ok())
        .map(|at| at.and_utc())
        .ok_or_else(|| CfnFault::new(INVALID_VALUE, "the time of the request"))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};

    use super::*;

    fn asked(verb: &str, params: &[(&str, &str)], headers: &[(&'static str, &str)]) -> Asked {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        }
        Asked {
            verb: verb.to_owned(),
            host: "h:8000".to_owned(),
            path: "/v1/".to_owned(),
            params: params.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            headers: map,
            body: b"Action=ListStacks".to_vec(),
            body_size_max: 1_000,
        }
    }

    const HEADER: &str = "AWS4-HMAC-SHA256 Credential=key/20260102/r/cloudformation/aws4_request, \
                          SignedHeaders=host;x-amz-date, Signature=abc";

    fn code<T>(outcome: Result<T, CfnFault>) -> String {
        let fault = outcome.err().map(|fault| fault.to_string()).unwrap_or_default();
        fault.split(':').next().unwrap_or_default().to_owned()
    }

    #[test]
    fn version_2_tells_keystone_all_parameters_and_no_header() {
        let params = [
            ("Action", "X"),
            ("AWSAccessKeyId", "key"),
            ("Signature", "abc"),
            ("SignatureVersion", "2"),
        ];
        let signed = of(&asked("GET", &params, &[("cookie", "mine")])).unwrap().unwrap();
        assert_eq!((signed.access.as_str(), signed.signature.as_str()), ("key", "abc"));
        let names: Vec<&str> = signed.params.keys().map(String::as_str).collect();
        assert_eq!(names, ["AWSAccessKeyId", "Action", "SignatureVersion"]);
        assert!(signed.headers.is_empty() && signed.body_hash.is_empty());
    }

    #[test]
    fn version_4_tells_keystone_of_signed_headers_and_nothing_of_a_posted_form() {
        let headers = [
            ("authorization", HEADER),
            ("x-amz-date", "20260102T030405Z"),
            ("host", "h:8000"),
            ("cookie", "mine"),
        ];
        let signed = of(&asked("POST", &[("Secret", "mine")], &headers)).unwrap().unwrap();
        assert_eq!((signed.access.as_str(), signed.signature.as_str()), ("key", "abc"));
        let names: Vec<&str> = signed.headers.keys().map(String::as_str).collect();
        assert_eq!(names, ["Authorization", "X-Amz-Date", "host"]);
        assert!(signed.params.is_empty());
        assert_eq!(signed.body_hash.len(), 64);
    }

    #[test]
    fn keystone_is_told_no_more_parameters_than_it_reads() {
        let long = "x".repeat(TOLD_BYTES_MAX);
        let second = [
            ("AWSAccessKeyId", "key"),
            ("Signature", "abc"),
            ("SignatureVersion", "2"),
            ("TemplateBody", &long),
        ];
        assert_eq!(code(of(&asked("POST", &second, &[]))), "RequestLimitExceeded");
        let headers = [("authorization", HEADER), ("x-amz-date", "20260102T030405Z")];
        let fourth = [("TemplateBody", long.as_str())];
        assert_eq!(code(of(&asked("POST", &fourth, &headers))), "");
        assert_eq!(code(of(&asked("GET", &fourth[..], &headers))), "RequestLimitExceeded");
    }

    #[test]
    fn version_4_needs_a_whole_credential_of_its_date() {
        let outcome = |credential: &str, date: &str| {
            let header = HEADER.replace("key/20260102/r/cloudformation/aws4_request", credential);
            let headers = [("authorization", header.as_str()), ("x-amz-date", date)];
            code(of(&asked("POST", &[], &headers)))
        };
        let date = "20260102T030405Z";
        assert_eq!(outcome("key/20260102/r/cloudformation/aws4_request", date), "");
        for credential in [
            "key",
            "key/20260102/r/cloudformation",
            "key/20260102/r/cloudformation/aws4_request/x",
            "key/20260103/r/cloudformation/aws4_request",
            "key//r/cloudformation/aws4_request",
        ] {
            assert_eq!(outcome(credential, date), "IncompleteSignature", "{credential}");
        }
        let scope = "key/20260102/r/cloudformation/aws4_request";
        assert_eq!(outcome(scope, "yesterday"), "IncompleteSignature");
        // Where there is a header, Keystone looks nowhere else.
        let query = [
            ("X-Amz-Algorithm", "AWS4-HMAC-SHA256"),
            ("X-Amz-Credential", scope),
            ("X-Amz-Date", date),
            ("X-Amz-SignedHeaders", "host"),
            ("X-Amz-Signature", "abc"),
        ];
        assert_eq!(code(of(&asked("GET", &query, &[]))), "");
        let basic = [("authorization", "Basic eA==")];
        assert_eq!(code(of(&asked("GET", &query, &basic))), "IncompleteSignature");
    }

    #[test]
    fn what_is_signed_by_halves_or_too_long_is_refused() {
        assert!(of(&asked("GET", &[("AWSAccessKeyId", "key")], &[])).unwrap().is_none());
        let refused = |params: &[(&str, &str)]| code(of(&asked("GET", params, &[])));
        assert_eq!(refused(&[("Signature", "abc")]), "MissingAuthenticationToken");
        let old = [("AWSAccessKeyId", "key"), ("Signature", "abc"), ("SignatureVersion", "1")];
        assert_eq!(refused(&old), "IncompleteSignature");
        let long = "k".repeat(KEY_LENGTH_MAX + 1);
        let long =
            [("AWSAccessKeyId", long.as_str()), ("Signature", "abc"), ("SignatureVersion", "2")];
        assert_eq!(refused(&long), "IncompleteSignature");
    }

    #[test]
    fn a_request_holds_a_quarter_of_an_hour_and_an_address_until_it_expires() {
        let now: DateTime<Utc> = "2026-01-02T03:04:05Z".parse().unwrap();
        let outcome = |params: &[(&str, &str)], window| {
            code(check_time(&asked("GET", params, &[]), window, now))
        };
        let at = |text: &'static str| [("Timestamp", text)];
        assert_eq!(outcome(&at("2026-01-02T03:04:05Z"), Window::Now), "");
        assert_eq!(outcome(&at("2026-01-02T02:49:04"), Window::Now), "RequestExpired");
        assert_eq!(outcome(&at("2026-01-02T03:19:06Z"), Window::Lasting), "RequestExpired");
        assert_eq!(outcome(&at("2026-01-01T00:00:00Z"), Window::Lasting), "");
        assert_eq!(outcome(&at("yesterday"), Window::Now), "InvalidParameterValue");
        for window in [Window::Now, Window::Lasting] {
            assert_eq!(outcome(&at("+262142-12-31T23:59:59"), window), "RequestExpired");
        }
        assert_eq!(outcome(&at("-262143-01-01T00:00:00"), Window::Now), "RequestExpired");
        assert_eq!(outcome(&[], Window::Now), "MissingParameter");
        assert_eq!(outcome(&[], Window::Lasting), "");
        assert_eq!(outcome(&[], Window::Look), "");
        assert_eq!(outcome(&at("2026-01-02T02:49:04"), Window::Look), "RequestExpired");
        let over = [("Expires", "2026-01-02T03:04:04Z")];
        assert_eq!(outcome(&over, Window::Lasting), "RequestExpired");
        for (expires, window, expected) in [
            ("2026-01-09T03:04:05Z", Window::Now, ""),
            ("2026-01-09T03:04:06Z", Window::Now, "RequestExpired"),
            ("2036-01-02T03:04:05Z", Window::Look, "RequestExpired"),
            ("2036-01-02T03:04:05Z", Window::Lasting, ""),
        ] {
            assert_eq!(outcome(&[("Expires", expires)], window), expected, "{expires}");
        }
        let fourth = |date: &str, expires: &str| {
            let headers = [("authorization", HEADER), ("x-amz-date", date)];
            let asked = asked("GET", &[("X-Amz-Expires", expires)], &headers);
            code(check_time(&asked, Window::Now, now))
        };
        assert_eq!(fourth("20260102T020405Z", "3600"), "");
        assert_eq!(fourth("20260102T020405Z", "3599"), "RequestExpired");
        assert_eq!(fourth("20251220T020405Z", "99999999"), "RequestExpired");
        assert_eq!(fourth("20260102T030404Z", "604800"), "");
        assert_eq!(fourth("20260102T030404Z", "604801"), "RequestExpired");
        assert_eq!(fourth("20260102T020405Z", "-1"), "InvalidParameterValue");
        let headers = [("authorization", HEADER), ("x-amz-date", "20260102T020405Z")];
        let posted = asked("POST", &[("X-Amz-Expires", "604800")], &headers);
        assert_eq!(code(check_time(&posted, Window::Now, now)), "RequestExpired");
    }
}
