//! How a stack's ARN is read: `arn:openstack:heat::PROJECT:stacks/NAME/ID`, and what may follow.

/// The parts of one, as they stand in it: still quoted where the writer quoted them.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Arn<'a> {
    pub(super) project: &'a str,
    pub(super) name: &'a str,
    pub(super) id: &'a str,
    /// The path of something within the stack, without the slash before it; may be empty.
    pub(super) within: &'a str,
}

impl<'a> Arn<'a> {
    /// Reads one; `None` where the text is none at all.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let rest = text.strip_prefix("arn:openstack:heat::")?;
        let (project, path) = rest.split_once(':')?;
        let (name, path) = path.strip_prefix("stacks/")?.split_once('/')?;
        let (id, within) = path.split_once('/').unwrap_or((path, ""));
        (!name.is_empty() && !id.is_empty()).then_some(Self { project, name, id, within })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
