//! Names of stacks and resources as Amazon writes them: `arn:openstack:heat::PROJECT:stacks/NAME/ID`,
//! and what stands within.

use crate::api::url::quoted;
use crate::model::{self, ProjectId, decoded};
use crate::projections::StackRow;

/// A stack's.
pub(super) fn of(stack: &StackRow) -> String {
    of_parts(&stack.project_id, stack.name.as_str(), &stack.id.to_string())
}

/// The same, by the parts of its identity.
pub(super) fn of_parts(project: &ProjectId, name: &str, id: &str) -> String {
    format!(
        "arn:openstack:heat::{}:stacks/{}/{}",
        quoted(project.as_str()),
        quoted(name),
        quoted(id)
    )
}

/// One that was read; its parts are not quoted any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arn {
    pub(super) project: String,
    pub(super) name: String,
    pub(super) id: String,
    /// `resources/NAME` and the like; may be empty.
    pub(super) within: String,
}

impl Arn {
    /// Reads one; `None` where the text is none at all.
    pub(super) fn read(text: &str) -> Option<Self> {
        let model::Arn { project, name, id, within } = model::Arn::read(text)?;
        Some(Self {
            project: decoded(project),
            name: decoded(name),
            id: decoded(id),
            within: decoded(within),
        })
    }

    /// The resource that it names, which is a stack's own.
    pub(super) fn resource(&self) -> Option<&str> {
        let name = self.within.strip_prefix("resources/")?;
        (!name.is_empty() && !name.contains('/')).then_some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arn_is_read_as_it_is_written() {
        let text = of_parts(&ProjectId("p".to_owned()), "web é", "1");
        assert_eq!(text, "arn:openstack:heat::p:stacks/web%20%C3%A9/1");
        let read = Arn::read(&format!("{text}/resources/a%2Fb")).unwrap();
        assert_eq!(
            (read.project.as_str(), read.name.as_str(), read.id.as_str()),
            ("p", "web é", "1")
        );
        assert_eq!(read.within, "resources/a/b");
        assert_eq!(read.resource(), None);
        let read = Arn::read(&format!("{text}/resources/handle")).unwrap();
        assert_eq!(read.resource(), Some("handle"));
    }
}
