//! Absolute URLs under the address that the client used: links and redirects.

use actix_web::HttpRequest;
pub(super) use percent::quoted;
use serde::Serialize;
use uuid::Uuid;

pub(super) use super::front::root;
use crate::model::{ProjectId, StackId};
use crate::projections::StackRow;

/// What links of one answer have in common.
pub(super) struct Links {
    /// `http://host:port/v1`.
    base: String,
}

impl Links {
    /// Links under the host and scheme of a request, those of a proxy in front of us included.
    pub(super) fn of(request: &HttpRequest) -> Self {
        Self { base: format!("{}/v1", root(request)) }
    }

    /// A stack's canonical URL.
    pub(super) fn stack(&self, stack: &StackRow) -> String {
        self.stack_by(&stack.project_id, stack.name.as_str(), stack.id)
    }

    /// A stack's canonical URL, by the parts of its identity.
    pub(super) fn stack_by(&self, project: &ProjectId, name: &str, id: StackId) -> String {
        self.stack_path(project.as_str(), name, &id.to_string())
    }

    /// A stack's canonical URL, of parts that may not exist.
    pub(super) fn stack_path(&self, project: &str, name: &str, id: &str) -> String {
        format!("{}/{}/stacks/{}/{}", self.base, quoted(project), quoted(name), quoted(id))
    }

    /// A resource's URL.
    pub(super) fn resource(&self, stack: &str, name: &str) -> String {
        format!("{stack}/resources/{}", quoted(name))
    }

    /// An event's URL.
    pub(super) fn event(&self, resource: &str, id: Uuid) -> String {
        format!("{resource}/events/{id}")
    }
}

/// What an answer names elsewhere.
#[derive(Serialize)]
pub(super) struct Link {
    pub(super) href: String,
    pub(super) rel: &'static str,
}

/// A link, and what stands behind it.
pub(super) fn link(href: impl Into<String>, rel: &'static str) -> Link {
    Link { href: href.into(), rel }
}

mod percent {
    //! Percent-encoding of one segment of a path.

    /// Every byte but letters, digits and `_.-~`.
    pub(in crate::api) fn quoted(segment: &str) -> String {
        let mut quoted = String::with_capacity(segment.len());
        for byte in segment.bytes() {
            if byte.is_ascii_alphanumeric() || b"_.-~".contains(&byte) {
                quoted.push(char::from(byte));
            } else {
                quoted.push_str(&format!("%{byte:02X}"));
            }
        }
        quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_segment_of_a_link_is_encoded() {
        let links = Links { base: "http://h/v1".to_owned() };
        let stack = links.stack_path("p", "web", "1");
        assert_eq!(
            links.resource(&stack, "a/b ü"),
            "http://h/v1/p/stacks/web/1/resources/a%2Fb%20%C3%BC"
        );
    }
}
