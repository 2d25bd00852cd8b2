//! What must fit together in a type's file beyond its format: what names a property names one that
//! the file has, and what is to be looked at can be looked at.

mod bodies;
mod calls;
mod constraints;
mod members;
mod rules;

use super::calls::Awaited;
use super::reader::{Looked, Notes};
use super::{Declaration, Translation};
use crate::resource_types::constraints::custom;
use crate::resource_types::convert;
use crate::resource_types::finders::Finders;
use crate::resource_types::schema::{Properties, PropertySchema, Support};
use crate::template::{Place, Shape, Written, nearest};

/// Notes all that does not fit.
pub(crate) fn check(looked: &mut Looked, finders: &Finders) {
    let Looked { declaration: Some(declaration), root: Some(root), notes } = looked else { return };
    let mut check = Check { declaration, root, notes, finders };
    check.names();
    check.translation();
    check.rules();
    check.calls();
    check.members();
    check.bodies();
    check.looks();
    check.schema(&["properties"], &declaration.properties);
    check.schema(&["update_policy"], &declaration.update_policy);
}

/// Notes what does not fit the properties of other types, as far as these are known.
pub(crate) fn check_beside<'p>(
    looked: &mut Looked,
    finders: &Finders,
    properties_of: impl Fn(&str) -> Option<&'p Properties>,
) {
    let Looked { declaration: Some(declaration), root: Some(root), notes } = looked else { return };
    let mut check = Check { declaration, root, notes, finders };
    for (index, after) in declaration.after.iter().enumerate() {
        let index = index.to_string();
        let at = ["after", index.as_str()];
        check.property_of(
            &[at[0], at[1], "theirs"],
            &after.type_name,
            &after.theirs,
            &properties_of,
        );
        if let Some(through) = &after.through {
            check.property_of(&[at[0], at[1], "ours"], through, &after.ours, &properties_of);
        }
        if let Some(or) = &after.or {
            let at = [at[0], at[1], "or", "theirs"];
            check.property_of(&at, &or.type_name, &or.theirs, &properties_of);
        }
    }
}

/// What is likely meant by a dotted path that leads nowhere; below what has no keys, anything may
/// be. `None`: it leads somewhere.
fn missing(properties: &Properties, path: &str) -> Option<Option<String>> {
    let mut keys = properties;
    let mut steps = path.split('.').peekable();
    while let Some(step) = steps.next() {
        let Some(property) = keys.get(step) else {
            return Some(nearest(step, keys.keys().cloned()));
        };
        match (property.inner_keys(), steps.peek()) {
            (Some(inner), Some(_)) => keys = inner,
            (None, _) | (_, None) => return None,
        }
    }
    None
}

/// The statuses that something is supported with.
const STATUSES: [&str; 5] = ["SUPPORTED", "DEPRECATED", "HIDDEN", "UNSUPPORTED", "UNKNOWN"];

/// Of the column that Heat keeps it in.
const TYPE_NAME_MAX_CHARS: usize = 255;

struct Check<'a> {
    declaration: &'a Declaration,
    root: &'a Written,
    notes: &'a mut Notes,
    finders: &'a Finders,
}

impl Check<'_> {
    /// The key of what is at a path and its value, as far as they are there.
    fn at(&self, path: &[&str]) -> (Place, Place) {
        let mut key = self.root.place;
        let mut node = self.root;
        for step in path {
            let next = match &node.shape {
                Shape::Map(_) => node.entry(step).map(|(key, value)| (key.place, value)),
                Shape::List(items) => {
                    let shown = |item: &&Written| !self.notes.hidden.contains(&item.place);
                    let index = step.parse().unwrap_or(usize::MAX);
                    items.iter().filter(shown).nth(index).map(|item| (item.place, item))
                }
                Shape::Text { .. } => None,
            };
            let Some((place, value)) = next else { break };
            (key, node) = (place, value);
        }
        (key, node.place)
    }

    fn wrong(&mut self, path: &[&str], message: String, meant: Option<String>) {
        let (_, place) = self.at(path);
        self.notes.add(place, message, meant);
    }

    fn wrong_key(&mut self, path: &[&str], message: String, meant: Option<String>) {
        let (place, _) = self.at(path);
        self.notes.add(place, message, meant);
    }

    /// What is wrong with a dotted path of a property.
    fn unknown(&self, path: &str) -> Option<(String, Option<String>)> {
        let first = path.split('.').next().unwrap_or_default();
        let properties = &self.declaration.properties;
        let is_set_aside = !properties.contains_key(first)
            && self.root.entry("properties").is_some_and(|(_, all)| all.entry(first).is_some());
        missing(properties, path)
            .filter(|_| !is_set_aside)
            .map(|meant| (format!("there is no property `{path}`"), meant))
    }

    /// A property of another type; its path may pass through the items of a list.
    fn property_of<'p>(
        &mut self,
        at: &[&str],
        type_name: &str,
        path: &str,
        properties_of: &impl Fn(&str) -> Option<&'p Properties>,
    ) {
        let Some(properties) = properties_of(type_name) else { return };
        let is_name = |step: &&str| step.parse::<usize>().is_err();
        let steps: Vec<&str> = path.split('.').filter(is_name).collect();
        if let Some(meant) = missing(properties, &steps.join(".")) {
            self.wrong(at, format!("{type_name} has no property `{path}`"), meant);
        }
    }

    fn property(&mut self, at: &[&str], path: &str) {
        if let Some((message, meant)) = self.unknown(path) {
            self.wrong(at, message, meant);
        }
    }

    fn properties(&mut self, at: &[&str], paths: &[String]) {
        for (index, path) in paths.iter().enumerate() {
            let index = index.to_string();
            self.property(&[at, &[index.as_str()]].concat(), path);
        }
    }

    fn keys<'k>(&mut self, at: &[&str], keys: impl Iterator<Item = &'k String>) {
        for key in keys {
            if let Some((message, meant)) = self.unknown(key) {
                self.wrong_key(&[at, &[key.as_str()]].concat(), message, meant);
            }
        }
    }

    /// Lists of properties, and single ones.
    fn names(&mut self) {
        let declaration = self.declaration;
        let body = &declaration.body;
        for (key, names) in [
            ("omit", &body.omit),
            ("merge", &body.merge),
            ("omit_empty", &body.omit_empty),
            ("as_text", &body.as_text),
        ] {
            self.properties(&["body", key], names);
        }
        self.keys(&["body", "fields"], body.fields.keys());
        self.fields();
        self.found_by();
        self.support(&[], &declaration.support);
        self.keys(&["body", "beside"], body.beside.keys());
        self.keys(&["body", "unset"], body.unset.keys());
        self.keys(&["body", "null_when"], body.null_when.keys());
        self.keys(&["body", "omit_when"], body.omit_when.keys());
        self.properties(&["unobserved"], &declaration.unobserved);
        self.properties(&["rules_read"], &declaration.rules_read);
        let type_name = &declaration.type_name;
        let is_name = (1..=TYPE_NAME_MAX_CHARS).contains(&type_name.chars().count())
            && !type_name.contains(|c: char| c.is_whitespace() || c.is_control());
        if !is_name {
            let message = format!(
                "the name of a type has no spaces, and up to {TYPE_NAME_MAX_CHARS} characters"
            );
            self.wrong(&["type"], message, None);
        }
        if let Some(name) = &declaration.name {
            self.property(&["name"], name);
        }
        for (name, attribute) in &declaration.attributes {
            self.support(&["attributes", name], &attribute.support);
            if let Some(repeats) = &attribute.repeats {
                self.property(&["attributes", name, "repeats"], repeats);
            }
        }
        if let Some(makes) = &declaration.makes {
            self.constraint(&["makes"], makes);
        }
        if let Some(create) = &declaration.create {
            self.properties(&["create", "nulls"], &create.nulls);
        }
        if let Some(update) = &declaration.update {
            self.properties(&["update", "send"], update.send.as_deref().unwrap_or_default());
            self.properties(&["update", "always"], &update.always);
            self.properties(&["update", "replaces"], &update.replaces);
            self.keys(&["update", "refuses"], update.refuses.keys());
            self.keys(&["update", "fields"], update.fields.keys());
        }
        for (index, name) in declaration.secrets.iter().enumerate() {
            if !declaration.attributes.contains_key(name) {
                self.property(&["secrets", &index.to_string()], name);
            }
        }
        for (index, after) in declaration.after.iter().enumerate() {
            // Through another type, they are that one's properties.
            if after.through.is_none() {
                self.property(&["after", &index.to_string(), "ours"], &after.ours);
            }
        }
    }

    /// Statuses are Heat's words.
    fn support(&mut self, at: &[&str], support: &Support) {
        for (index, status) in support.0.iter().enumerate() {
            if !STATUSES.contains(&status.status.as_str()) {
                let message = format!("there is no status `{}`", status.status);
                let meant = nearest(&status.status, STATUSES.map(str::to_owned));
                let index = index.to_string();
                let at = [at, &["support", index.as_str(), "status"]].concat();
                self.wrong(&at, message, meant);
            }
        }
    }

    /// Each field of a body is one property's.
    fn fields(&mut self) {
        let above = |path: &str| path.rsplit_once('.').map_or("", |(above, _)| above).to_owned();
        let mut known: Vec<(String, &str, &str)> = Vec::new();
        for (path, field) in &self.declaration.body.fields {
            let place = above(path);
            let other =
                known.iter().find(|(of, taken, _)| *of == place && *taken == field.as_str());
            if let Some((_, _, other)) = other {
                let message = format!("`{field}` is the field of `{other}` already");
                self.wrong(&["body", "fields", path], message, None);
            } else {
                known.push((place, field, path));
            }
        }
    }

    /// What an object is found by are fields of the body that makes it: of one that is not, nothing
    /// would be found.
    fn found_by(&mut self) {
        let (declaration, body) = (self.declaration, &self.declaration.body);
        if body.shape.is_some() {
            return;
        }
        let sent = declaration.properties.keys().filter(|name| !body.omit.contains(name));
        let sent: Vec<_> = sent.map(|name| body.fields.get(name).unwrap_or(name).clone()).collect();
        let by = declaration.find.iter().flat_map(|find| &find.by).enumerate();
        for (index, field) in by.filter(|(_, field)| !sent.contains(field)) {
            let message = format!("no body has a field `{field}`");
            let as_sent = body.fields.get(field).cloned();
            let meant = as_sent.or_else(|| nearest(field, sent.iter().cloned()));
            self.wrong(&["find", "by", &index.to_string()], message, meant);
        }
    }

    fn translation(&mut self) {
        for (index, rule) in self.declaration.translation.iter().enumerate() {
            let index = index.to_string();
            let at = |key| ["translation", index.as_str(), key];
            match rule {
                Translation::Replace { replace, with } => {
                    self.property(&at("replace"), replace);
                    let above =
                        replace.rsplit_once('.').map(|(above, _)| format!("{above}.{with}"));
                    self.property(&at("with"), &above.unwrap_or_else(|| with.clone()));
                }
                Translation::Add { add, from } => {
                    self.property(&at("add"), add);
                    self.property(&at("from"), from);
                }
                Translation::Delete { delete } => self.property(&at("delete"), delete),
                Translation::Resolve { resolve: path, finder }
                | Translation::Same { same: path, finder } => {
                    let key =
                        if matches!(rule, Translation::Same { .. }) { "same" } else { "resolve" };
                    self.property(&at(key), path);
                    if !finder.contains('{') && !self.finders.has(finder) {
                        let meant = nearest(finder, self.finders.names().cloned());
                        self.wrong(&at("finder"), format!("there is no finder `{finder}`"), meant);
                    }
                }
            }
        }
    }

    /// What is needed to see what a call has done.
    fn looks(&mut self) {
        let declaration = self.declaration;
        let has_calls = declaration.create.is_some() || declaration.show.is_some();
        if has_calls && declaration.service.is_none() {
            let message = "calls need a `service` of the catalog".to_owned();
            self.notes.add(self.root.place, message, None);
        }
        if declaration.local.is_some() && !declaration.knows_id() {
            let message = "`id` has to say what it is, as no service gives one".to_owned();
            self.wrong_key(&["local"], message, None);
        }
        let is_posted = declaration.create.as_ref().is_some_and(|create| create.post.is_some());
        if is_posted && !declaration.knows_id() && declaration.list.is_none() {
            let problem = match &declaration.wrap {
                None => Some("neither `wrap` nor `list` says".to_owned()),
                Some(wrap) if wrap.ends_with(['s', 'x', 'y', 'z']) || wrap.ends_with('h') => {
                    Some(format!("`{wrap}s` is hardly"))
                }
                Some(_) => None,
            };
            if let Some(problem) = problem {
                let message = format!(
                    "{problem} the key of a list, by which a creation is found again whose answer \
                     was lost: say `list`"
                );
                self.wrong_key(&["create", "post"], message, None);
            }
        }
        if let Some(ready) = &declaration.ready
            && ready.ok.is_empty()
            && !ready.exists
        {
            let message = "`ok` or `exists` has to say what is waited for".to_owned();
            self.wrong(&["ready"], message, None);
        }
        if declaration.show.is_none() {
            let awaited =
                [("ready", declaration.ready.is_some()), ("failed", declaration.failed.is_some())];
            for (key, _) in awaited.into_iter().filter(|(_, is_there)| *is_there) {
                self.wrong_key(&[key], format!("`{key}` needs `show` to look at the object"), None);
            }
        }
        let awaits = declaration
            .update
            .as_ref()
            .is_some_and(|update| matches!(update.ready, Awaited::AsCreated));
        if awaits && declaration.ready.is_none() {
            let message = "there is no `ready` that says what to wait for".to_owned();
            self.wrong_key(&["update", "ready"], message, None);
        }
    }

    fn constraint(&mut self, at: &[&str], name: &str) {
        if !custom::exists(self.finders, name) {
            let meant = nearest(name, self.finders.names().cloned());
            self.wrong(at, format!("there is no constraint `{name}`"), meant);
        }
    }

    fn schema(&mut self, at: &[&str], schema: &Properties) {
        for (name, property) in schema {
            if name.is_empty() {
                self.wrong_key(&[at, &[""]].concat(), "a name is missing".to_owned(), None);
            }
            self.one(&[at, &[name.as_str()]].concat(), property);
        }
    }

    fn one(&mut self, at: &[&str], property: &PropertySchema) {
        if let Some(default) = property.default.as_ref().filter(|it| !it.is_null())
            && let Err(message) = convert::whole(property.kind, default)
        {
            self.wrong(&[at, &["default"]].concat(), message, None);
        }
        self.constraints(at, property);
        self.support(at, &property.support);
        if let Some(by) = &property.typed_by {
            self.property(&[at, &["typed_by"]].concat(), by);
        }
        if let Some(items) = &property.items {
            self.one(&[at, &["items"]].concat(), items);
        }
        if let Some(keys) = &property.keys {
            self.schema(&[at, &["keys"]].concat(), keys);
        }
    }
}
