//! Members are of one property, and their calls have methods and words that there are.

use super::Check;
use crate::resource_types::declared::paths;

impl Check<'_> {
    pub(super) fn members(&mut self) {
        let declaration = self.declaration;
        for (index, members) in declaration.members.iter().enumerate() {
            let index = index.to_string();
            let at = ["members", index.as_str()];
            match (members.property(), &members.of, &members.keys_of) {
                ("", ..) | (_, Some(_), Some(_)) => {
                    self.wrong(&at, "one of `of`, `keys_of` is wanted here".to_owned(), None);
                }
                (name, Some(_), _) => self.property(&[at[0], at[1], "of"], name),
                (name, ..) => self.property(&[at[0], at[1], "keys_of"], name),
            }
            for key in members.unset.keys() {
                let path = format!("{}.{key}", members.property());
                if let Some((message, meant)) = self.unknown(&path) {
                    self.wrong_key(&[at[0], at[1], "unset", key], message, meant);
                }
            }
            for name in members.when.keys() {
                if let Some((message, meant)) = self.unknown(name) {
                    self.wrong_key(&[at[0], at[1], "when", name], message, meant);
                }
            }
            match members.shown_at() {
                Some(Some((method, path))) => {
                    let method = method.as_str().to_ascii_lowercase();
                    self.path(&[at[0], at[1], "live", &method], path);
                }
                Some(None) => {
                    let message = "one of `get`, `post` is wanted here";
                    self.wrong_key(&[at[0], at[1], "live"], message.to_owned(), None);
                }
                None => {}
            }
            for (key, call) in members.calls() {
                let at = [at[0], at[1], key];
                let Some((_, path)) = call.parts() else {
                    let methods = "`post`, `put`, `patch`, `delete`, `get`";
                    self.wrong(&at, format!("one of {methods} is wanted here"), None);
                    continue;
                };
                let is_item = |word: &&str| *word == "item" || word.starts_with("item.");
                for word in paths::words(path).filter(|word| !is_item(word)) {
                    self.path(&at, &format!("{{{word}}}"));
                }
                self.version(&at, call.microversion.as_deref());
            }
        }
    }
}
