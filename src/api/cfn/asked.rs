//! A request of this API, read: parameters may stand in its query and in the form that is its body.

use std::collections::BTreeMap;

use actix_web::http::header::{CONTENT_TYPE, HeaderMap};
use actix_web::{HttpRequest, dev};
use url::form_urlencoded;

use super::fault::{CfnFault, INVALID_COMBINATION, MISSING_PARAMETER, REQUEST_LIMIT};
use super::shape::Format;
use crate::api::request::{read, state};
use crate::api::url::root;
use crate::model::decoded;

/// How version 4 of Amazon's signatures is called.
const VERSION_4: &str = "AWS4-HMAC-SHA256";

/// How many parameters a request may have: two for each parameter of a stack.
const PARAMS_MAX: usize = 4096;

/// See the module.
pub(in crate::api) struct Asked {
    pub(in crate::api) verb: String,
    /// As the client believes it to be.
    pub(in crate::api) host: String,
    /// Decoded, with what a proxy puts before it.
    pub(in crate::api) path: String,
    pub(in crate::api) params: BTreeMap<String, String>,
    pub(in crate::api) headers: HeaderMap,
    pub(in crate::api) body: Vec<u8>,
}

impl Asked {
    /// Reads an action, whose form may stand in the body.
    pub(in crate::api) async fn action(
        request: &HttpRequest,
        payload: dev::Payload,
    ) -> Result<Self, CfnFault> {
        Self::signal(request, payload).await?.with_form()
    }

    /// The same with what stands in the form that the body may be.
    pub(super) fn with_form(mut self) -> Result<Self, CfnFault> {
        if self.verb == "POST" && self.is_version_4() {
            // Keystone leaves the query of such a request out of what is signed.
            self.params.retain(|name, _| name.starts_with("X-Amz-"));
        }
        if self.is_form() {
            let form = form_urlencoded::parse(&self.body).into_owned();
            // As in Heat, what stands in both is taken from the query.
            for (name, value) in form.take(PARAMS_MAX + 1) {
                self.params.entry(name).or_insert(value);
            }
        }
        self.bounded()
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
    pub(in crate::api) async fn signal(
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
    use super::*;

    #[test]
    fn pairs_need_both_halves_and_no_numbers_in_a_row() {
        let params = [
            ("Parameters.member.12.ParameterKey", "b"),
            ("Parameters.member.12.ParameterValue", "2"),
            ("Parameters.member.3.ParameterKey", "a"),
            ("Parameters.member.3.ParameterValue", "1"),
            ("Parameters.member.4.ParameterKey", "half"),
            ("Parameters.member.x.ParameterKey", "none"),
        ];
        let asked = Asked {
            verb: String::new(),
            host: String::new(),
            path: String::new(),
            params: params.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            headers: HeaderMap::new(),
            body: Vec::new(),
        };
        let pairs = asked.pairs("Parameters", "ParameterKey", "ParameterValue");
        let pairs: Vec<_> =
            pairs.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("a", "1"), ("b", "2")]);
    }
}
