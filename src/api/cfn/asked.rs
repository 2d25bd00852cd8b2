//! A request of this API, read: parameters may stand in its query and in the form that is its body.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;

use actix_web::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use actix_web::{HttpRequest, dev};
use flate2::read::GzDecoder;
use url::form_urlencoded;

use super::fault::{
    CfnFault, INVALID_COMBINATION, INVALID_VALUE, MISSING_PARAMETER, REQUEST_LIMIT,
};
use super::shape::Format;
use crate::api::request::{read, state};
use crate::api::url::root;
use crate::model::decoded;

/// How version 4 of Amazon's signatures is called.
const VERSION_4: &str = "AWS4-HMAC-SHA256";

/// How many parameters a request may have: two for each parameter of a stack.
pub(in crate::api) const PARAMS_MAX: usize = 4096;

/// See the module.
pub(in crate::api) struct Asked {
    pub(in crate::api) verb: String,
    /// As the client believes it to be.
    pub(in crate::api) host: String,
    /// Decoded, with what a proxy puts before it.
    pub(in crate::api) path: String,
    pub(in crate::api) params: BTreeMap<String, String>,
    pub(in crate::api) headers: HeaderMap,
    /// As it was sent and signed, which may be compressed.
    pub(in crate::api) body: Vec<u8>,
    /// How long it may be once it is not compressed any more.
    pub(in crate::api) body_size_max: usize,
}

impl Asked {
    /// Reads an action, whose form may stand in the body.
    pub(in crate::api) async fn action(
        request: &HttpRequest,
        payload: dev::Payload,
    ) -> Result<Self, CfnFault> {
        Self::without_form(request, payload).await?.with_form()
    }

    /// The same with what stands in the form that the body may be.
    pub(super) fn with_form(mut self) -> Result<Self, CfnFault> {
        if self.verb == "POST" && self.is_version_4() {
            // Keystone leaves the query of such a request out of what is signed.
            self.retain_version_4();
        }
        if self.is_form() {
            let content = self.content()?;
            let form = form_urlencoded::parse(&content).into_owned();
            let form: Vec<_> = form.take(PARAMS_MAX + 1).collect();
            // As in Heat, what stands in both is taken from the query.
            for (name, value) in form {
                self.params.entry(name).or_insert(value);
            }
        }
        self.bounded()
    }

    /// What the body holds: Amazon's clients compress what is long.
    pub(in crate::api) fn content(&self) -> Result<Cow<'_, [u8]>, CfnFault> {
        if self.header(CONTENT_ENCODING.as_str()) != Some("gzip") {
            return Ok(Cow::Borrowed(&self.body));
        }
        let mut content = Vec::new();
        let most = u64::try_from(self.body_size_max).unwrap_or(u64::MAX).saturating_add(1);
        let read = GzDecoder::new(&*self.body).take(most).read_to_end(&mut content);
        read.map_err(|_| CfnFault::new(INVALID_VALUE, "The body is not compressed by gzip."))?;
        match content.len() <= self.body_size_max {
            true => Ok(Cow::Owned(content)),
            false => {
                let text = format!("The body has more than {} bytes.", self.body_size_max);
                Err(CfnFault::new(REQUEST_LIMIT, text))
            }
        }
    }

    /// Leaves nothing of the query but what belongs to a signature of version 4.
    pub(in crate::api) fn retain_version_4(&mut self) {
        self.params.retain(|name, _| name.starts_with("X-Amz-"));
    }

    fn is_form(&self) -> bool {
        let declared = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let declared = declared.and_then(|value| value.split(';').next()).unwrap_or("").trim();
        matches!(declared.to_ascii_lowercase().as_str(), "" | "application/x-www-form-urlencoded")
    }

    /// Whether it is signed by version 4 of Amazon's signatures.
    pub(in crate::api) fn is_version_4(&self) -> bool {
        self.header("authorization").is_some_and(|header| header.starts_with(VERSION_4))
            || self.param("X-Amz-Algorithm") == Some(VERSION_4)
    }

    /// Reads what has its parameters in the query alone.
    pub(in crate::api) async fn without_form(
        request: &HttpRequest,
        payload: dev::Payload,
    ) -> Result<Self, CfnFault> {
        let settings = &state(request)?.settings;
        let body = read(payload, settings.json_body_size_max, &settings.front).await?;
        let root = root(request);
        let place = root.split_once("://").map_or(root.as_str(), |(_, place)| place);
        let (host, prefix) = place.split_at(place.find('/').unwrap_or(place.len()));
        let asked = Self {
            verb: request.method().as_str().to_owned(),
            host: host.to_owned(),
            path: decoded(&format!("{prefix}{}", request.uri().path())),
            params: of_query(request.query_string()),
            headers: request.headers().clone(),
            body,
            body_size_max: settings.json_body_size_max,
        };
        asked.bounded()
    }

    pub(super) fn bounded(self) -> Result<Self, CfnFault> {
        if self.params.len() > PARAMS_MAX {
            let text = format!("There are more than {PARAMS_MAX} parameters.");
            return Err(CfnFault::new(REQUEST_LIMIT, text));
        }
        Ok(self)
    }

    pub(in crate::api) fn param(&self, name: &str) -> Option<&str> {
        self.params.get(name).map(String::as_str)
    }

    /// A parameter that there has to be.
    pub(in crate::api) fn needed(&self, name: &str) -> Result<&str, CfnFault> {
        let given = self.param(name).filter(|value| !value.is_empty());
        given.ok_or_else(|| CfnFault::new(MISSING_PARAMETER, name))
    }

    /// One of two parameters that exclude each other.
    pub(in crate::api) fn refuse_both(&self, one: &str, other: &str) -> Result<(), CfnFault> {
        if self.param(one).is_some() && self.param(other).is_some() {
            let text = format!("{one} and {other} may not be used together");
            return Err(CfnFault::new(INVALID_COMBINATION, text));
        }
        Ok(())
    }

    pub(in crate::api) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    pub(in crate::api) fn format(&self) -> Format {
        match self.param("ContentType") {
            Some("JSON") => Format::Json,
            Some(_) | None => Format::Xml,
        }
    }

    /// The members of a list as Amazon writes them (`StackStatusFilter.member.1`), in the order of
    /// their numbers.
    pub(in crate::api) fn members(&self, list: &str) -> Vec<String> {
        let prefix = format!("{list}.member.");
        let members = self.params.iter().filter_map(|(name, value)| {
            let number: u64 = name.strip_prefix(&prefix)?.parse().ok()?;
            Some((number, value.clone()))
        });
        members.collect::<BTreeMap<u64, String>>().into_values().collect()
    }

    /// Pairs of a list as Amazon writes them (`Parameters.member.1.ParameterKey`), in the order of
    /// their numbers; halves without the other are dropped.
    pub(in crate::api) fn pairs(
        &self,
        list: &str,
        key: &str,
        value: &str,
    ) -> Vec<(String, String)> {
        let mut found: BTreeMap<u64, (Option<&str>, Option<&str>)> = BTreeMap::new();
        let prefix = format!("{list}.member.");
        for (name, given) in &self.params {
            let Some((number, field)) =
                name.strip_prefix(&prefix).and_then(|rest| rest.split_once('.'))
            else {
                continue;
            };
            let Ok(number) = number.parse() else { continue };
            let pair = found.entry(number).or_default();
            if field == key {
                pair.0 = Some(given);
            } else if field == value {
                pair.1 = Some(given);
            }
        }
        let pairs = found.into_values().filter_map(|(key, value)| key.zip(value));
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }
}

/// The parameters of a query; one more than there may be, where there are more.
pub(super) fn of_query(query: &str) -> BTreeMap<String, String> {
    form_urlencoded::parse(query.as_bytes()).into_owned().take(PARAMS_MAX + 1).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use actix_web::http::header::HeaderValue;
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn of(params: &[(&str, &str)]) -> Asked {
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Asked {
            verb: "POST".to_owned(),
            host: String::new(),
            path: String::new(),
            params: params.collect(),
            headers: HeaderMap::new(),
            body: Vec::new(),
            body_size_max: 1_000,
        }
    }

    fn compressed(content: &[u8]) -> Asked {
        let mut asked = of(&[]);
        asked.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        asked.body = encoder.finish().unwrap();
        asked
    }

    #[test]
    fn a_form_may_be_compressed_and_no_longer_for_that() {
        let asked = compressed(b"Action=ListStacks").with_form().unwrap();
        assert_eq!(asked.param("Action"), Some("ListStacks"));
        let code = |asked: Asked| asked.with_form().err().map(|fault| fault.code());
        assert_eq!(code(compressed(&[b'a'; 1_000])), None);
        assert_eq!(code(compressed(&[b'a'; 1_001])), Some("RequestLimitExceeded"));
        let mut cut = compressed(b"Action=ListStacks");
        cut.body.truncate(20);
        assert_eq!(code(cut), Some("InvalidParameterValue"));
    }

    #[test]
    fn pairs_need_both_halves_and_no_numbers_in_a_row() {
        let asked = of(&[
            ("Parameters.member.12.ParameterKey", "b"),
            ("Parameters.member.12.ParameterValue", "2"),
            ("Parameters.member.3.ParameterKey", "a"),
            ("Parameters.member.3.ParameterValue", "1"),
            ("Parameters.member.4.ParameterKey", "half"),
            ("Parameters.member.x.ParameterKey", "none"),
        ]);
        let pairs = asked.pairs("Parameters", "ParameterKey", "ParameterValue");
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("b", "2")]);
    }
}
