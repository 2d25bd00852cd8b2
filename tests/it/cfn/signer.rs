//! Amazon's signatures, as a client makes them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// A key and its secret.
#[derive(Clone)]
pub(crate) struct Key {
    pub(crate) access: String,
    pub(crate) secret: String,
}

pub(crate) type Pairs = Vec<(String, String)>;

impl Key {
    /// The parameters of a request with those that version 2 adds.
    pub(crate) fn version_2(
        &self,
        verb: &str,
        host: &str,
        path: &str,
        params: &Pairs,
        at: Option<DateTime<Utc>>,
    ) -> Pairs {
        let mut params = params.clone();
        let mut add = |name: &str, value: &str| params.push((name.to_owned(), value.to_owned()));
        add("AWSAccessKeyId", &self.access);
        add("SignatureMethod", "HmacSHA256");
        add("SignatureVersion", "2");
        if let Some(at) = at {
            add("Timestamp", &at.format("%Y-%m-%dT%H:%M:%SZ").to_string());
        }
        let text = format!("{verb}\n{host}\n{path}\n{}", query(&params));
        let signature = STANDARD.encode(hmac(self.secret.as_bytes(), &text));
        params.push(("Signature".to_owned(), signature));
        params
    }

    /// The headers by which version 4 signs a posted form.
    pub(crate) fn version_4(&self, host: &str, body: &str, at: DateTime<Utc>) -> Pairs {
        self.version_4_of(host, "/v1/", &[], body.as_bytes(), at)
    }

    /// The same for any body that is posted to a path, with other headers, which are in their order.
    pub(crate) fn version_4_of(
        &self,
        host: &str,
        path: &str,
        others: &[(&str, &str)],
        body: &[u8],
        at: DateTime<Utc>,
    ) -> Pairs {
        let date = at.format("%Y%m%dT%H%M%SZ").to_string();
        let scope = format!("{}/RegionOne/cloudformation/aws4_request", &date[..8]);
        let all = [("host", host), ("x-amz-date", &date)].into_iter().chain(others.iter().copied());
        let (mut names, mut headers) = (Vec::new(), String::new());
        for (name, value) in all {
            names.push(name);
            headers += &format!("{name}:{value}\n");
        }
        let names = names.join(";");
        let signature = self.fourth(
            &date,
            &scope,
            &format!("POST\n{path}\n\n{headers}\n{names}\n{}", hex(&Sha256::digest(body))),
        );
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={signature}",
            self.access
        );
        vec![("x-amz-date".to_owned(), date), ("authorization".to_owned(), authorization)]
    }

    /// The parameters by which version 4 signs an address.
    pub(crate) fn version_4_in_query(
        &self,
        host: &str,
        params: &Pairs,
        at: DateTime<Utc>,
    ) -> Pairs {
        let date = at.format("%Y%m%dT%H%M%SZ").to_string();
        let scope = format!("{}/RegionOne/cloudformation/aws4_request", &date[..8]);
        let mut params = params.clone();
        let mut add = |name: &str, value: String| params.push((name.to_owned(), value));
        add("X-Amz-Algorithm", "AWS4-HMAC-SHA256".to_owned());
        add("X-Amz-Credential", format!("{}/{scope}", self.access));
        add("X-Amz-Date", date.clone());
        add("X-Amz-Expires", "60".to_owned());
        add("X-Amz-SignedHeaders", "host".to_owned());
        let request = format!(
            "GET\n/v1/\n{}\nhost:{host}\n\nhost\n{}",
            query(&params),
            hex(&Sha256::digest(""))
        );
        let signature = self.fourth(&date, &scope, &request);
        params.push(("X-Amz-Signature".to_owned(), signature));
        params
    }

    fn fourth(&self, date: &str, scope: &str, request: &str) -> String {
        let mut key = format!("AWS4{}", self.secret).into_bytes();
        for part in scope.split('/') {
            key = hmac(&key, part);
        }
        let digest = hex(&Sha256::digest(request));
        hex(&hmac(&key, &format!("AWS4-HMAC-SHA256\n{date}\n{scope}\n{digest}")))
    }
}

/// The parameters in their order, quoted.
pub(crate) fn query(params: &Pairs) -> String {
    let mut sorted = params.clone();
    sorted.sort();
    let pair = |(name, value): &(String, String)| format!("{}={}", quoted(name), quoted(value));
    sorted.iter().map(pair).collect::<Vec<_>>().join("&")
}

pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let quote = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(quote).collect()
}

fn hmac(key: &[u8], message: &str) -> Vec<u8> {
    let mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
    mac.chain_update(message).finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
