//! The format of what is done to an object beside changing it, in `services/*.yaml`.

use serde::Deserialize;
use serde_json::Value;

/// Something that is done to an object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Action {
    /// The request that asks for it.
    #[serde(default)]
    pub(super) via: Via,
    /// What is done, and to which field of the object.
    #[serde(rename = "do")]
    pub(super) deed: (Deed, String),
    /// What is added, dropped or merged; `{given.host}` is what the request says of it.
    #[serde(default)]
    pub(super) entry: Value,
    /// The request has a list of such entries at this dotted path.
    #[serde(default)]
    pub(super) each: Option<String>,
    /// What tells entries of a list apart; the whole entry when left out.
    #[serde(default)]
    pub(super) by: Option<String>,
    /// What entries name, by the field that names it: it must be there.
    #[serde(default)]
    pub(super) refers: Option<(String, String)>,
    /// Twice the same is no mistake.
    #[serde(default)]
    pub(super) lenient: bool,
    #[serde(default)]
    pub(super) answer: Answers,
    #[serde(default = "ok")]
    pub(super) status: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Via {
    /// `POST /{id}/action`, with the action's name as the key of the body.
    #[default]
    Action,
    /// `POST /{id}/NAME`; the query says the rest.
    Post,
    /// `PUT /{id}/NAME`; the body says the rest.
    Put,
    /// `GET /{id}/NAME`; the query says the rest.
    Get,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Deed {
    /// The entry joins a list.
    Add,
    /// It leaves it.
    Drop,
    /// Keys of a map are set, and removed where they are null.
    Merge,
    /// Keys of a map go: the entry is a list of them.
    Unset,
    /// The list is empty from then on.
    Clear,
    /// The field is the entry.
    Set,
    /// Nothing: it is looked at.
    Read,
}

/// What is answered.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Answers {
    Word(Word),
    /// A part, under a key.
    Part(Part, String),
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// The object, as ever.
    Object,
    /// The object without a key around it.
    Bare,
    Nothing,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    Entry,
    Field,
}

impl Default for Answers {
    fn default() -> Self {
        Answers::Word(Word::Object)
    }
}

fn ok() -> u16 {
    200
}
