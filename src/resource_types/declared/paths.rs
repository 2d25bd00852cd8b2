//! Paths of calls and the words in them: `{id}`, `{uuid}` (the last part of an id that is a URL),
//! `{name}`, a property or a key of one, translated and resolved, and `{project}`, the session's,
//! where no property has that name.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::Value;

use super::calls::Create;
use super::{Declaration, Declared, Translation};
use crate::model::JsonMap;
use crate::openstack::{Method, Request, path_segment};
use crate::resource_types::asks::Asks;
use crate::resource_types::failure::Failure;
use crate::resource_types::job::Subject;
use crate::resource_types::python;

/// The resource data that has what names in the paths stood for when the object was made: another
/// object of that name, or none, does not hide it.
const AT: &str = "at";

/// The words of a path.
pub(super) fn words(path: &str) -> impl Iterator<Item = &str> {
    path.split('{').skip(1).filter_map(|rest| Some(rest.split_once('}')?.0))
}

/// Whether each brace has its other.
pub(super) fn is_whole(path: &str) -> bool {
    let mut is_open = false;
    for brace in path.chars().filter(|c| matches!(c, '{' | '}')) {
        if is_open == (brace == '{') {
            return false;
        }
        is_open = brace == '{';
    }
    !is_open
}

impl Declaration {
    /// Whether what is made is put where it is shown: that something is shown there does not say
    /// that it came, and it may be put there again.
    pub(super) fn is_put_in_place(&self) -> bool {
        let put = self.create.as_ref().and_then(|create| create.put.as_ref());
        let shown = self.show.as_ref().and_then(|show| show.get.as_ref());
        put.is_some() && put == shown
    }

    /// The same with the paths of `at` in the calls that name none. What is posted to it stands
    /// behind it, under its id; what is put stands there itself.
    pub(super) fn completed(mut self) -> Self {
        let Some(at) = self.at.clone() else { return self };
        let is_put = self.create.as_ref().is_some_and(|create| create.put.is_some());
        let one = if is_put { at.clone() } else { format!("{at}/{{id}}") };
        let own = |path: &mut Option<String>, whole: &str| {
            if path.as_deref() == Some("") {
                *path = Some(whole.to_owned());
            }
        };
        if let Some(Create { post, put, .. }) = &mut self.create {
            if post.is_none() && put.is_none() {
                *post = Some(String::new());
            }
            own(post, &at);
            own(put, &at);
        }
        if let Some(find) = &mut self.find {
            if find.parts().is_none() {
                find.get = Some(String::new());
            }
            own(&mut find.get, &at);
        }
        if let Some(show) = &mut self.show {
            if show.parts().is_none() {
                show.get = Some(String::new());
            }
            own(&mut show.get, &one);
            own(&mut show.post, &one);
        }
        if let Some(update) = &mut self.update {
            own(&mut update.put, &one);
            own(&mut update.patch, &one);
            own(&mut update.post, &one);
        }
        if let Some(delete) = &mut self.delete {
            if delete.parts().is_none() {
                delete.delete = Some(String::new());
            }
            own(&mut delete.delete, &one);
            own(&mut delete.put, &one);
            own(&mut delete.post, &one);
        }
        self
    }

    /// The words of the object's own paths, and of its id, that names may stand in.
    fn named_words(&self) -> impl Iterator<Item = &str> {
        let create = self.create.iter().flat_map(|it| it.post.iter().chain(&it.put));
        let show = self.show.iter().filter_map(|show| Some(show.parts()?.1));
        let delete = self.delete.iter().filter_map(|delete| Some(delete.parts()?.1));
        let paths = create.chain(self.forms()).map(String::as_str).chain(show).chain(delete);
        let is_resolved = |word: &&str| {
            let schema = self.properties.get(*word);
            let stays = schema.is_some_and(|property| !property.update_allowed);
            stays
                && self.translation.iter().any(
                    |rule| matches!(rule, Translation::Resolve { resolve, .. } if resolve == word),
                )
        };
        paths.flat_map(words).filter(is_resolved)
    }
}

impl Declared {
    /// A request to a path of the file.
    pub(crate) fn request(
        &self,
        cloud: &Asks<'_>,
        method: Method,
        path: &str,
        subject: &Subject,
        microversion: Option<&str>,
    ) -> Result<Request, Failure> {
        let path = self.filled(cloud, subject, path, path_segment)?;
        Ok(self.request_at(method, path, microversion))
    }

    /// A request to a path without words.
    pub(super) fn request_at(
        &self,
        method: Method,
        path: String,
        microversion: Option<&str>,
    ) -> Request {
        let declaration = self.declaration();
        let request = Request::new(method, declaration.service(), path);
        let microversion = microversion.or(declaration.microversion.as_deref());
        match microversion.and_then(|text| text.parse().ok()) {
            Some(microversion) => request.microversion(microversion),
            None => request,
        }
    }

    /// A text with what its words stand for, each written as `write` does.
    pub(super) fn filled(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        text: &str,
        write: impl Fn(&str) -> String,
    ) -> Result<String, Failure> {
        self.filled_with(cloud, subject, text, |_| None, write)
    }

    /// The same with words that stand for something else. What they stand for is looked at no
    /// further: a value may look like a word.
    pub(super) fn filled_with(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        text: &str,
        own: impl Fn(&str) -> Option<String>,
        write: impl Fn(&str) -> String,
    ) -> Result<String, Failure> {
        let mut filled = String::with_capacity(text.len() + 36);
        let mut rest = text;
        while let Some((before, (word, after))) =
            rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
        {
            filled.push_str(before);
            let said = match own(word) {
                Some(said) => said,
                None => self.path_word(cloud, subject, word)?,
            };
            filled.push_str(&write(&said));
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }

    /// What a word of a path stands for.
    pub(crate) fn path_word(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        word: &str,
    ) -> Result<String, Failure> {
        let id = || subject.physical_id.clone().unwrap_or_default();
        match word {
            "id" => return Ok(id()),
            "uuid" => return Ok(id().rsplit('/').next().unwrap_or_default().to_owned()),
            "name" => return Ok(subject.physical_name.clone()),
            _ => {}
        }
        if let Some(kept) = self.known_words(subject).get(word) {
            return Ok(python::text(kept));
        }
        let name = word.split('.').next().unwrap_or_default();
        if name == "project" && !self.declaration().properties.contains_key(name) {
            return Ok(cloud.project_id()?.to_string());
        }
        let mut properties = self.properties(&subject.properties);
        properties.retain(|property, _| property == name);
        let properties = Value::Object(self.declaration().resolved(cloud, properties)?);
        Ok(said(&properties, word))
    }

    /// The subject with what names in its paths stand for, looked up once.
    pub(crate) fn placed<'s>(
        &self,
        cloud: &Asks<'_>,
        subject: &'s Subject,
    ) -> Result<Cow<'s, Subject>, Failure> {
        let mut words: BTreeSet<&str> = self.declaration().named_words().collect();
        if words.is_empty() || subject.data.contains_key(AT) {
            return Ok(Cow::Borrowed(subject));
        }
        let properties = self.properties(&subject.properties);
        words.retain(|word| properties.get(*word).is_some_and(|value| !value.is_null()));
        self.placed_at(cloud, Cow::Borrowed(subject), words.into_iter())
    }

    /// The same of these words.
    pub(super) fn placed_at<'s, 'w>(
        &self,
        cloud: &Asks<'_>,
        subject: Cow<'s, Subject>,
        words: impl Iterator<Item = &'w str>,
    ) -> Result<Cow<'s, Subject>, Failure> {
        let known = subject.data.get(AT).and_then(Value::as_object).cloned().unwrap_or_default();
        let mut at = known.clone();
        for word in words {
            if !at.contains_key(word) {
                at.insert(word.to_owned(), self.path_word(cloud, &subject, word)?.into());
            }
        }
        if at == known {
            return Ok(subject);
        }
        let mut subject = subject.into_owned();
        subject.data.insert(AT.to_owned(), at.into());
        Ok(Cow::Owned(subject))
    }

    /// Forgets what names in its paths stand for.
    pub(super) fn displaced(subject: &mut Subject) {
        subject.data.remove(AT);
    }

    /// Properties with names looked up, but for those that are known.
    pub(super) fn looked_up(
        &self,
        cloud: &Asks<'_>,
        subject: &Subject,
        mut properties: JsonMap,
    ) -> Result<JsonMap, Failure> {
        let at = self.known_words(subject);
        // A default is no name that somebody has given.
        let schema = &self.declaration().properties;
        let is_default = |name: &String, value: &Value| {
            let given = subject.properties.get(name).is_some_and(|given| !given.is_null());
            !given && schema.get(name).is_some_and(|it| it.default_value().as_ref() == Some(value))
        };
        let defaults = properties.iter().filter(|(name, value)| is_default(name, value));
        let defaults: JsonMap =
            defaults.map(|(name, value)| (name.clone(), value.clone())).collect();
        let known = |name: &String| at.get(name).or_else(|| defaults.get(name)).cloned();
        for (name, value) in &mut properties {
            if known(name).is_some() {
                *value = Value::Null;
            }
        }
        let mut properties = self.declaration().resolved(cloud, properties)?;
        for (name, value) in &mut properties {
            *value = known(name).unwrap_or_else(|| value.take());
        }
        Ok(properties)
    }

    /// What is known of words that names may stand in: by what is kept, or by an id that was made of
    /// them.
    fn known_words(&self, subject: &Subject) -> JsonMap {
        let mut known = JsonMap::new();
        if let Some(id) = &subject.physical_id {
            let parts = self.declaration().told_by(id);
            let named: BTreeSet<&str> = self.declaration().named_words().collect();
            let parts = parts.into_iter().filter(|(word, _)| named.contains(word));
            known.extend(parts.map(|(word, part)| (word.to_owned(), part.into())));
        }
        let kept = subject.data.get(AT).and_then(Value::as_object);
        known.extend(kept.cloned().unwrap_or_default());
        known
    }

    /// What is kept of a subject's places.
    pub(super) fn kept_places(subject: &Subject) -> Option<(String, Value)> {
        subject.data.get_key_value(AT).map(|(name, at)| (name.clone(), at.clone()))
    }
}

/// The text of a property or of a key of one.
fn said(properties: &Value, word: &str) -> String {
    let value = super::dotted::one(properties, word).filter(|value| !value.is_null());
    value.map(python::text).unwrap_or_default()
}

/// What is not there cannot be looked up, and what stands below it is not there either.
pub(super) fn unless_missing<T>(found: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}
