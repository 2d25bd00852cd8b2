//! Requests to CloudFormation's API, signed as the agents of servers sign theirs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use url::{Url, form_urlencoded};

use crate::model::hex;

/// A key of a stack's user.
pub(super) struct Key<'a> {
    pub access: &'a str,
    pub secret: &'a str,
}

impl Key<'_> {
    /// The address by version 2 and without a time, as os-collect-config asks: it is the same
    /// each time. The parameters come in the order of their names.
    pub(super) fn by_version_2(&self, at: &Url, params: &[(&str, &str)]) -> Url {
        let own = [
            ("AWSAccessKeyId", self.access),
            ("SignatureMethod", "HmacSHA256"),
            ("SignatureVersion", "2"),
        ];
        let mut params: Vec<(&str, &str)> = [&own[..], params].concat();
        params.sort_unstable();
        let text = format!("GET\n{}\n{}\n{}", host(at), at.path(), query(&params));
        let signature = STANDARD.encode(mac(self.secret.as_bytes(), &text));
        params.push(("Signature", signature.as_str()));
        with(at, &params)
    }

    /// The address and the headers by version 4, as boto asks, and with it cfn-hup: they are
    /// others each second.
    pub(super) fn by_version_4(
        &self,
        at: &Url,
        params: &[(&str, &str)],
        now: DateTime<Utc>,
    ) -> (Url, [(&'static str, String); 2]) {
        let date = now.format("%Y%m%dT%H%M%SZ").to_string();
        let day = now.format("%Y%m%d").to_string();
        let scope = format!("{day}/RegionOne/cloudformation/aws4_request");
        let names = "host;x-amz-date";
        let request = format!(
            "GET\n{}\n{}\nhost:{}\nx-amz-date:{date}\n\n{names}\n{}",
            at.path(),
            query(params),
            host(at),
            hex(&Sha256::digest("")),
        );
        let digest = hex(&Sha256::digest(request));
        let first = format!("AWS4{}", self.secret).into_bytes();
        let key = scope.split('/').fold(first, |key, part| mac(&key, part));
        let signature = hex(&mac(&key, &format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{digest}")));
        let credential = format!("{}/{scope}", self.access);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders={names}, Signature={signature}"
        );
        (with(at, params), [("x-amz-date", date), ("authorization", authorization)])
    }
}

fn host(at: &Url) -> &str {
    &at[url::Position::BeforeHost..url::Position::AfterPort]
}

fn query(params: &[(&str, &str)]) -> String {
    // What is asked for has no space, which Amazon would have quoted otherwise.
    form_urlencoded::Serializer::new(String::new()).extend_pairs(params).finish()
}

fn with(at: &Url, params: &[(&str, &str)]) -> Url {
    let mut url = at.clone();
    url.set_query(Some(&query(params)));
    url
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    // A key of any length is taken.
    let mac = Hmac::<Sha256>::new_from_slice(key).map(|mac| mac.chain_update(text));
    mac.map(|mac| mac.finalize().into_bytes().to_vec()).unwrap_or_default()
}
