//! Who is in a group next: the members that stay, those that take a new definition, and new ones.

use serde_json::Value;

/// A member as the template of the group's stack has it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) definition: Value,
}

/// What is to become of a group.
pub(crate) struct Change<'a> {
    /// How many members there are to be.
    pub(crate) total: usize,
    /// How many may take the new definition, new ones included.
    pub(crate) changes: usize,
    /// The new definition of a member.
    pub(crate) definition: &'a dyn Fn(&str) -> Value,
}

/// The next members. `old` are those there are, the first to be changed or to go first; `names`
/// are those of new members.
pub(crate) fn next(
    old: &[Member],
    change: &Change<'_>,
    names: impl Iterator<Item = String>,
) -> Vec<Member> {
    let kept = &old[old.len().saturating_sub(change.total)..];
    let created = change.total - kept.len();
    let mut changes = change.changes.saturating_sub(created);
    let mut next = Vec::with_capacity(change.total);
    for member in kept {
        let definition = (change.definition)(&member.name);
        if changes > 0 && definition != member.definition {
            changes -= 1;
            next.push(Member { name: member.name.clone(), definition });
        } else {
            next.push(member.clone());
        }
    }
    next.extend(names.take(created).map(|name| {
        let definition = (change.definition)(&name);
        Member { name, definition }
    }));
    next
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members as `NAME=DEFINITION`.
    fn after(old: &[&str], total: usize, changes: usize) -> Vec<String> {
        let old: Vec<Member> = old
            .iter()
            .map(|name| Member { name: (*name).to_owned(), definition: "old".into() })
            .collect();
        let change = Change { total, changes, definition: &|_| "new".into() };
        let names = (0..).map(|number| format!("n{number}"));
        let shown = |member: &Member| {
            format!("{}={}", member.name, member.definition.as_str().unwrap_or_default())
        };
        next(&old, &change, names).iter().map(shown).collect()
    }

    #[test]
    fn a_group_of_the_same_size_is_left_alone() {
        assert_eq!(after(&["a", "b"], 2, 0), ["a=old", "b=old"]);
    }

    #[test]
    fn the_first_ones_go_and_new_ones_come_last() {
        assert_eq!(after(&["a", "b", "c"], 1, 0), ["c=old"]);
        assert_eq!(after(&["a"], 3, 0), ["a=old", "n0=new", "n1=new"]);
        assert!(after(&["a"], 0, 0).is_empty());
    }

    #[test]
    fn what_is_left_of_the_changes_after_new_members_changes_old_ones() {
        assert_eq!(after(&["a", "b"], 3, 2), ["a=new", "b=old", "n0=new"]);
        assert_eq!(after(&["a", "b"], 2, 1), ["a=new", "b=old"]);
        assert_eq!(after(&["a", "b"], 2, 5), ["a=new", "b=new"]);
    }
}
