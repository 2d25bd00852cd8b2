//! Rules name properties, or keys of the entries of their list.

use super::Check;
use crate::resource_types::rules::Kind;

impl Check<'_> {
    pub(super) fn rules(&mut self) {
        let declaration = self.declaration;
        for (index, rule) in declaration.rules.iter().enumerate() {
            let index = index.to_string();
            let at = ["rules", index.as_str()];
            let within = |path: &str| match &rule.each {
                Some(list) => format!("{list}.{path}"),
                None => path.to_owned(),
            };
            if let Some(list) = &rule.each {
                self.property(&[at[0], at[1], "each"], list);
            }
            for (key, conditions) in [("when", &rule.when), ("unless", &rule.unless)] {
                for path in conditions.keys() {
                    self.key_of(&[at[0], at[1], key, path], &within(path));
                }
            }
            for path in rule.given.keys() {
                self.key_of(&[at[0], at[1], "given", path], path);
            }
            let (key, names): (_, &[String]) = match &rule.kind {
                Kind::AtMostOne(names) => ("at_most_one", names),
                Kind::AtLeastOne(names) => ("at_least_one", names),
                Kind::ExactlyOne(names) => ("exactly_one", names),
                Kind::Needs(names) => ("needs", names),
                Kind::Refuses(names) => ("refuses", names),
                Kind::Ascending(names) => ("ascending", names),
                Kind::Differ(path) => {
                    self.property(&[at[0], at[1], "differ"], &within(path));
                    continue;
                }
                Kind::Matches(patterns) => {
                    for (path, pattern) in patterns {
                        let at = [at[0], at[1], "matches", path];
                        self.key_of(&at, &within(path));
                        self.pattern(&at, pattern);
                    }
                    continue;
                }
                Kind::Satisfies(constraints) => {
                    for (path, name) in constraints {
                        let at = [at[0], at[1], "satisfies", path];
                        self.key_of(&at, &within(path));
                        self.constraint(&at, name);
                    }
                    continue;
                }
            };
            for (number, name) in names.iter().enumerate() {
                self.property(&[at[0], at[1], key, &number.to_string()], &within(name));
            }
        }
    }

    fn key_of(&mut self, at: &[&str], path: &str) {
        if let Some((message, meant)) = self.unknown(path) {
            self.wrong_key(at, message, meant);
        }
    }
}
