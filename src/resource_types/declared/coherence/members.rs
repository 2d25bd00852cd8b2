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
            for name in members.when.keys() {
                if let Some((message, meant)) = self.unknown(name) {
                    self.wrong_key(&[at[0], at[1], "when", name], message, meant);
                }
            }
            if let Some(path) = members.shown_at() {
                self.path(&[at[0], at[1], "live", "get"], path);
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
