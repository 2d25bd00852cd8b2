//! How a stack's ARN is read: `arn:openstack:heat::PROJECT:stacks/NAME/ID`, and what may follow; and
//! text with percent signs, as its parts are.

use url::Url;

/// The parts of one, as they stand in it: still quoted where the writer quoted them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arn<'a> {
    pub project: &'a str,
    pub name: &'a str,
    pub id: &'a str,
    /// The path of something within the stack, without the slash before it; may be empty.
    pub within: &'a str,
}

impl<'a> Arn<'a> {
    /// Reads one; `None` where the text is none at all.
    pub fn read(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("arn:openstack:heat::")?;
        let (project, path) = rest.split_once(':')?;
        let (name, path) = path.strip_prefix("stacks/")?.split_once('/')?;
        let (id, within) = path.split_once('/').unwrap_or((path, ""));
        (!name.is_empty() && !id.is_empty()).then_some(Self { project, name, id, within })
    }
}

/// A path without its percent signs. What is no UTF-8 then is signed by nobody.
pub fn decoded(path: &str) -> String {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|_| byte == b'%').and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Who is signaled by an address, or by a name of its own. An address may be a secret, for its signature is: of one that signals a
/// resource the ARN is kept, and of others what names no secret.
pub fn signaled(given: &str) -> String {
    let Ok(url) = Url::parse(given).map_err(drop).and_then(|url| match url.has_host() {
        true => Ok(url),
        false => Err(()),
    }) else {
        return given.to_owned();
    };
    let path = decoded(url.path());
    if let Some(at) = path.find("/arn:") {
        return path[at + 1..].to_owned();
    }
    let parts: Vec<&str> = url.path().split('/').collect();
    match parts[..] {
        [.., project, "stacks", name, id, "resources", resource, "signal"] => {
            format!("arn:openstack:heat::{project}:stacks/{name}/{id}/resources/{resource}")
        }
        _ => url.origin().ascii_serialization(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_decoded_once() {
        assert_eq!(decoded("/v1/arn%3Aa/%2520/%zz/%"), "/v1/arn:a/%20/%zz/%");
    }

    #[test]
    fn an_arn_is_taken_apart_and_nothing_else_is() {
        let web = Arn { project: "p", name: "web", id: "1", within: "" };
        assert_eq!(Arn::read("arn:openstack:heat::p:stacks/web/1"), Some(web));
        let resource = Arn { project: "p", name: "web", id: "1", within: "resources/a/" };
        assert_eq!(Arn::read("arn:openstack:heat::p:stacks/web/1/resources/a/"), Some(resource));
        assert_eq!(Arn::read("arn:openstack:heat::p:stacks/web"), None);
        assert_eq!(Arn::read("arn:openstack:heat::p:stacks//1"), None);
        assert_eq!(Arn::read("web"), None);
    }

    #[test]
    fn of_an_address_the_arn_is_kept_and_no_signature() {
        let arn = "arn:openstack:heat::p:stacks/web/1/resources/up%20x";
        let quoted = arn.replace('%', "%25").replace(':', "%3A");
        let signed = format!("http://h:8000/v1/signal/{quoted}?AWSAccessKeyId=a&Signature=secret");
        assert_eq!(signaled(&signed), arn);
        let plain = "https://h/heat/v1/p/stacks/web/1/resources/up%20x/signal";
        assert_eq!(signaled(plain), arn);
        assert_eq!(signaled("https://u:pw@h/hook?token=secret"), "https://h");
        assert_eq!(signaled("web-up-abc"), "web-up-abc");
    }
}
