//! Addresses that were signed in advance: whoever has one may signal the resource that it was made
//! for, and nothing else. The signature is that of Amazon's version 2, by the key of the resource's
//! user, as CloudFormation's API has it checked.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use url::form_urlencoded;

use super::asks::Asks;
use super::failure::Failure;
use super::job::Subject;
use super::stack_user::Key;
use crate::openstack::Service;

/// Where CloudFormation's API is when neither the catalog nor this process has it.
const NOWHERE: &str = "http://localhost:8000/v1";

/// What an address is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Whoever signals is told what was heard so far.
    WaitCondition,
    Signal,
}

impl Door {
    fn path(self) -> &'static str {
        match self {
            Door::WaitCondition => WAIT_CONDITION,
            Door::Signal => "/signal",
        }
    }

    /// The verb that is signed.
    fn verb(self) -> &'static str {
        match self {
            Door::WaitCondition => "PUT",
            Door::Signal => "POST",
        }
    }
}

/// The path by which the operator's address of the API ends, too.
const WAIT_CONDITION: &str = "/waitcondition";

/// An address to signal the resource at; `None` where its user has no key. It says no time, as
/// Keystone would take one for some minutes alone: it is good until the key is deleted.
pub(crate) fn address(
    cloud: &Asks<'_>,
    subject: &Subject,
    door: Door,
) -> Result<Option<String>, Failure> {
    let Some(key) = Key::made(subject) else { return Ok(None) };
    Ok(Some(signed(&base(cloud, door)?, subject, door, &key)))
}

/// Where the API hears such signals, in small letters as the signature has the host.
pub(crate) fn base(cloud: &Asks<'_>, door: Door) -> Result<String, Failure> {
    let said = cloud.cfn_places().wait_conditions.as_deref();
    let base = match said {
        Some(said) => said.replace(WAIT_CONDITION, door.path()),
        None => format!("{}{}", api(cloud)?, door.path()),
    };
    Ok(base.to_lowercase())
}

/// Where agents ask CloudFormation's API for metadata.
pub(crate) fn metadata_server(cloud: &Asks<'_>) -> Result<String, Failure> {
    let mut url = match &cloud.cfn_places().metadata {
        Some(said) => said.clone(),
        None => api(cloud)?,
    };
    // As in Heat: what operators gave had no version once.
    if !url.contains("/v1") {
        url = format!("{}/v1", url.trim_end_matches('/'));
    }
    Ok(format!("{}/", url.trim_end_matches('/')))
}

/// Where the catalog says the API is, or where this process has it.
fn api(cloud: &Asks<'_>) -> Result<String, Failure> {
    let url = match cloud.endpoint(&Service::of_type("cloudformation")) {
        Ok(endpoint) => endpoint,
        Err(error) if error.is_transient() => return Err(error.into()),
        Err(_) => {
            let own = cloud.cfn_places().listener.as_deref();
            own.unwrap_or(NOWHERE).to_owned()
        }
    };
    Ok(url.trim_end_matches('/').to_owned())
}

fn signed(base: &str, subject: &Subject, door: Door, key: &Key) -> String {
    let arn = arn(subject);
    let place = base.split_once("://").map_or(base, |(_, place)| place);
    let (host, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    let params = [
        ("AWSAccessKeyId", key.access.as_str()),
        ("SignatureMethod", "HmacSHA256"),
        ("SignatureVersion", "2"),
    ];
    let query = |params: &[(&str, &str)]| {
        form_urlencoded::Serializer::new(String::new()).extend_pairs(params).finish()
    };
    // What is signed is what the API has read: the path is decoded there.
    let text = format!("{}\n{host}\n{path}/{arn}\n{}", door.verb(), query(&params));
    let signature = STANDARD.encode(hmac_sha256(key.secret.reveal().as_bytes(), text.as_bytes()));
    let quoted = quoted(&arn, b"/");
    format!("{base}/{quoted}?{}&{}", query(&params), query(&[("Signature", &signature)]))
}

/// The resource's name as Amazon writes it.
fn arn(subject: &Subject) -> String {
    let part = |part: Option<String>| quoted(&part.unwrap_or_default(), b"");
    format!(
        "arn:openstack:heat::{}:stacks/{}/{}/resources/{}",
        part(subject.project_id.as_ref().map(ToString::to_string)),
        part(subject.stack_name.as_ref().map(ToString::to_string)),
        part(subject.stack_id.map(|id| id.to_string())),
        part(subject.name.as_ref().map(ToString::to_string)),
    )
}

/// The same without a signature, for a handle that no user signs for.
pub(crate) fn unsigned(
    cloud: &Asks<'_>,
    subject: &Subject,
    access: &str,
) -> Result<String, Failure> {
    let base = base(cloud, Door::WaitCondition)?;
    Ok(format!("{base}/{}?AWSAccessKeyId={access}", quoted(&arn(subject), b"/")))
}

/// A text with percent signs, as Python quotes it; some characters stay beside those that always do.
fn quoted(text: &str, plain: &[u8]) -> String {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || plain.contains(&byte);
    let quote = |byte: u8| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(quote).collect()
}

/// HMAC-SHA256.
pub(crate) fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    // A key of any length is taken.
    let mac = Hmac::<Sha256>::new_from_slice(key).map(|mac| mac.chain_update(message).finalize());
    mac.map(|mac| mac.into_bytes().to_vec()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::model::{ProjectId, Secret, StackId, hex};

    /// Made by keystoneclient's `Ec2Signer`, over the path as Heat's API has it unquoted.
    #[test]
    fn an_address_is_signed_as_keystones_own_library_signs_it() {
        let subject = Subject {
            project_id: Some(ProjectId("p1".to_owned())),
            stack_name: Some("web".into()),
            stack_id: Some(StackId(Uuid::from_u128(7))),
            name: Some("a b%41".into()),
            ..Subject::default()
        };
        let key = Key { access: "key".to_owned(), secret: Secret::new("s&A1".to_owned()) };
        let address = signed("http://h:8000/v1/waitcondition", &subject, Door::WaitCondition, &key);
        let (place, query) = address.split_once('?').unwrap();
        assert_eq!(
            place,
            "http://h:8000/v1/waitcondition/arn%3Aopenstack%3Aheat%3A%3Ap1%3Astacks/web/\
             00000000-0000-0000-0000-000000000007/resources/a%2520b%252541"
        );
        assert_eq!(
            query,
            "AWSAccessKeyId=key&SignatureMethod=HmacSHA256&SignatureVersion=2&Signature=DZmhaAo0WEy2XMSrjYJ4VgAu8ExWBE7L1o7I9kmLZM4%3D"
        );
    }

    #[test]
    fn a_key_of_any_length_is_taken() {
        // RFC 4231, test cases 2 and 6.
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(hex(&hmac_sha256(b"Jefe", b"what do ya want for nothing?")), expected);
        let text = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(hex(&hmac_sha256(&[0xaa; 131], text)), expected);
    }
}
