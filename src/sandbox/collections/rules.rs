//! What Rust does with the objects of a few collections beside what their files say.

use std::sync::OnceLock;

use chrono::{DateTime, Utc};

use super::super::answer::Answer;
use super::super::ask::Ask;
use super::super::cloud::Cloud;
use super::super::keystone::scope::Scope;
use super::definition::Collection;
use crate::model::JsonMap;

/// Those that there are, by name. They are the same in every sandbox of a process, and know the
/// collections, which so cannot know them.
static ALL: OnceLock<Vec<(&'static str, &'static dyn Rules)>> = OnceLock::new();

/// Says once which rules there are.
pub(in crate::sandbox) fn provide(all: Vec<(&'static str, &'static dyn Rules)>) {
    ALL.get_or_init(|| all);
}

/// The rules that a collection names.
pub(super) fn of(collection: &Collection) -> Option<&'static dyn Rules> {
    let name = collection.hook.as_deref()?;
    ALL.get()?.iter().find(|(known, _)| *known == name).map(|(_, rules)| *rules)
}

/// The rules of a collection, which its file names as its `hook`.
pub(in crate::sandbox) trait Rules: Sync {
    /// Whether others than its project see an object.
    fn is_seen(&self, _cloud: &Cloud, _scope: &Scope, _row: &JsonMap) -> bool {
        false
    }

    /// A new object is about to be kept.
    fn made(
        &self,
        _cloud: &mut Cloud,
        _by: (&Ask, &Scope),
        _row: &mut JsonMap,
    ) -> Result<(), Answer> {
        Ok(())
    }

    /// An object is about to be kept as it is now: what it was before, and what was given.
    fn changed(
        &self,
        _cloud: &mut Cloud,
        _by: (&Ask, &Scope),
        _old: (&JsonMap, &JsonMap),
        _row: &mut JsonMap,
    ) -> Result<(), Answer> {
        Ok(())
    }

    /// An action has changed an object, which is about to be kept.
    fn acted(&self, _cloud: &mut Cloud, _row: &mut JsonMap) {}

    /// An object is to go because somebody wants so. An error if it must stay.
    fn dropping(
        &self,
        _cloud: &mut Cloud,
        _at: DateTime<Utc>,
        _row: &JsonMap,
    ) -> Result<(), Answer> {
        Ok(())
    }

    /// An object goes, be it with another one.
    fn dropped(&self, _cloud: &mut Cloud, _row: &JsonMap) {}

    /// An object is shown.
    fn shown(&self, _cloud: &Cloud, _view: &mut JsonMap) {}
}
