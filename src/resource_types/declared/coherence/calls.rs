//! The calls of a type's file: their methods, paths and versions.

use super::Check;
use crate::openstack::Microversion;
use crate::resource_types::declared::id::Id;
use crate::resource_types::declared::paths;

/// The words of paths that are no properties.
const WORDS: [&str; 4] = ["id", "uuid", "name", "project"];

impl Check<'_> {
    /// Methods, paths and versions of all calls.
    pub(super) fn calls(&mut self) {
        let declaration = self.declaration;
        let mut calls = Vec::new();
        if let Some(create) = &declaration.create {
            calls.push((
                vec!["create".to_owned()],
                vec![("post", &create.post), ("put", &create.put)],
            ));
        }
        for (key, call) in [("find", &declaration.find), ("show", &declaration.show)] {
            if let Some(call) = call {
                let get = ("get", &call.get);
                let others = [("post", &call.post), ("put", &call.put), ("patch", &call.patch)];
                let all = [get].into_iter().chain(others).chain([("delete", &call.delete)]);
                calls.push((vec![key.to_owned()], all.collect()));
                self.version(&[key, "microversion"], call.microversion.as_deref());
            }
        }
        if let Some(update) = &declaration.update {
            let methods =
                vec![("put", &update.put), ("patch", &update.patch), ("post", &update.post)];
            calls.push((vec!["update".to_owned()], methods));
        }
        if let Some(delete) = &declaration.delete {
            let others = [("put", &delete.put), ("post", &delete.post)];
            let methods = [("delete", &delete.delete)].into_iter().chain(others).collect();
            calls.push((vec!["delete".to_owned()], methods));
        }
        for (index, call) in declaration.calls.iter().enumerate() {
            let index = index.to_string();
            let at = ["calls", index.as_str()];
            let name = call.for_property.as_deref().unwrap_or_default();
            if call.for_property.is_some() {
                self.property(&[at[0], at[1], "for_property"], name);
            }
            self.version(&[at[0], at[1], "microversion"], call.microversion.as_deref());
            if let Some(body) = &call.body {
                self.body(&[at[0], at[1], "body"], body, name);
            }
            let others = [("put", &call.put), ("patch", &call.patch), ("delete", &call.delete)];
            let methods = [("get", &call.get), ("post", &call.post)].into_iter().chain(others);
            calls.push((at.map(str::to_owned).to_vec(), methods.collect()));
        }
        for (at, methods) in calls {
            let at: Vec<&str> = at.iter().map(String::as_str).collect();
            let given = methods.iter().filter(|(_, path)| path.is_some()).count();
            // An update may be nothing but members, and a search differ in its fields alone.
            let may_lack = match at.as_slice() {
                ["update"] => {
                    !declaration.members.is_empty()
                        || !declaration.calls.is_empty()
                        || declaration.local.is_some()
                        || declaration.waits.is_some()
                }
                // What is made by a `post` is looked for where that goes.
                ["find"] => declaration.create.as_ref().is_some_and(|it| it.post.is_some()),
                _ => false,
            };
            if given != 1 && !(given == 0 && may_lack) {
                let names: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
                let only = if given > 1 { "only " } else { "" };
                let message = format!("{only}one of `{}` is wanted here", names.join("`, `"));
                self.wrong_key(&at, message, None);
            }
            for (method, path) in methods {
                let is_own =
                    |path: &&String| declaration.at.as_ref().is_some_and(|at| path.starts_with(at));
                if let Some(path) = path.as_ref().filter(|path| !is_own(path)) {
                    self.route(&[at.as_slice(), &[method]].concat(), path);
                }
            }
        }
        if let Some(at) = &declaration.at {
            self.route(&["at"], at);
        }
        if let Id::MadeOf(forms) = &declaration.id {
            for form in forms {
                self.path(&["id", "made_of"], form);
            }
        }
        for name in declaration.find.iter().flat_map(|find| find.query.values()) {
            self.path(&["find", "query"], name);
        }
        self.version(&["microversion"], declaration.microversion.as_deref());
    }

    /// The path of a call.
    pub(super) fn route(&mut self, at: &[&str], path: &str) {
        let is_path =
            path.starts_with('/') && !path.contains(|c: char| c.is_whitespace() || c.is_control());
        if !is_path {
            let message = "a path begins with `/` and has no spaces, or is true for that of `at`";
            self.wrong(at, message.to_owned(), None);
        }
        self.path(at, path);
    }

    /// The words of a path.
    pub(super) fn path(&mut self, at: &[&str], path: &str) {
        if !paths::is_whole(path) {
            self.wrong(at, "each `{` wants its `}`".to_owned(), None);
        }
        for word in paths::words(path).filter(|word| !WORDS.contains(word)) {
            if let Some((_, meant)) = self.unknown(word) {
                let message =
                    format!("`{{{word}}}` is neither `{{id}}` nor `{{name}}` nor a property");
                self.wrong(at, message, meant.map(|name| format!("{{{name}}}")));
            }
        }
    }

    pub(super) fn version(&mut self, at: &[&str], version: Option<&str>) {
        if let Some(text) = version.filter(|text| text.parse::<Microversion>().is_err()) {
            self.wrong(at, format!("`{text}` is no microversion, such as \"2.64\""), None);
        }
    }
}
