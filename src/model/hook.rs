//! The points at which an environment can have a resource wait for a word from outside.

use serde::{Deserialize, Serialize};

use super::Action;

/// A hook, written as environments and signals write it: `pre-create`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hook {
    PreCreate,
    PreUpdate,
    PreDelete,
    PostCreate,
    PostUpdate,
    PostDelete,
}

/// Each hook, its word and the action that waits there.
const HOOKS: &[(Hook, &str, Action)] = &[
    (Hook::PreCreate, "pre-create", Action::Create),
    (Hook::PreUpdate, "pre-update", Action::Update),
    (Hook::PreDelete, "pre-delete", Action::Delete),
    (Hook::PostCreate, "post-create", Action::Create),
    (Hook::PostUpdate, "post-update", Action::Update),
    (Hook::PostDelete, "post-delete", Action::Delete),
];

impl Hook {
    /// The hook of a word.
    pub fn named(word: &str) -> Option<Hook> {
        HOOKS.iter().find(|(_, known, _)| *known == word).map(|(hook, _, _)| *hook)
    }

    /// The hook behind an action.
    pub fn after(action: Action) -> Option<Hook> {
        let after = |hook: Hook| hook.as_str().starts_with("post");
        HOOKS.iter().find(|(hook, _, of)| *of == action && after(*hook)).map(|(hook, _, _)| *hook)
    }

    /// Its word.
    pub fn as_str(self) -> &'static str {
        HOOKS.iter().find(|(hook, _, _)| *hook == self).map_or("", |(_, word, _)| word)
    }

    /// The action that waits at it.
    pub fn action(self) -> Action {
        HOOKS.iter().find(|(hook, _, _)| *hook == self).map_or(Action::Init, |(_, _, of)| *of)
    }
}

impl std::fmt::Display for Hook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
