//! Which names a template uses and where, in whatever branch of whatever condition they stand.

use std::collections::BTreeSet;

use crate::template::diagnose::tree::{Path, Step};
use crate::template::dialect::{Dialect, Language};
use crate::template::node::{Form, Node, Place};

/// What a name is to name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Parameter,
    Resource,
    /// `Ref` of CloudFormation's language.
    Either,
    Condition,
}

/// A name where it is used.
#[derive(Clone, Debug)]
pub(super) struct Use {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) path: Path,
}

/// All uses.
#[derive(Debug, Default)]
pub(super) struct Survey {
    pub(super) uses: Vec<Use>,
    /// Whether a name of a parameter is worked out, so that none is surely unused.
    pub(super) has_computed: bool,
}

impl Survey {
    pub(super) fn of(root: &Node, dialect: &Dialect) -> Self {
        let mut survey = Self::default();
        let mut path = Path::new();
        for (section, node) in root.as_map().into_iter().flatten() {
            path.push(Step::Key(section.to_string()));
            if section != dialect.sections.parameters {
                survey.walk(node, &mut path, dialect);
            }
            if section == dialect.sections.conditions {
                survey.words(Kind::Condition, node, &mut path);
            }
            path.pop();
        }
        for section in [dialect.sections.resources, dialect.sections.outputs] {
            let entries = root.get(section).and_then(Node::as_map).into_iter().flatten();
            for (name, entry) in entries {
                let key = dialect.resource.condition;
                if let Some(condition) = entry.get(key) {
                    let mut path: Path =
                        [section, name, key].map(|key| Step::Key(key.to_owned())).to_vec();
                    survey.words(Kind::Condition, condition, &mut path);
                }
            }
        }
        survey
    }

    /// The names of a kind that are used anywhere.
    pub(super) fn names(&self, kinds: &[Kind]) -> BTreeSet<&str> {
        let of_kind = self.uses.iter().filter(|used| kinds.contains(&used.kind));
        of_kind.map(|used| used.name.as_str()).collect()
    }

    fn walk(&mut self, node: &Node, path: &mut Path, dialect: &Dialect) {
        match &node.form {
            Form::Map(map) => {
                let only = map.first().filter(|_| map.len() == 1);
                for (key, item) in map.iter() {
                    path.push(Step::Key(key.to_string()));
                    if only.is_some() {
                        self.call(key, item, path, dialect);
                    }
                    self.walk(item, path, dialect);
                    path.pop();
                }
            }
            Form::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    path.push(Step::Index(index));
                    self.walk(item, path, dialect);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, name: &str, args: &Node, path: &mut Path, dialect: &Dialect) {
        let reference = match dialect.language {
            Language::Hot => Kind::Resource,
            Language::Cfn => Kind::Either,
        };
        match name {
            "get_param" => self.first(Kind::Parameter, args, path),
            "get_resource" => self.first(Kind::Resource, args, path),
            "Ref" => self.first(reference, args, path),
            "get_attr" | "Fn::GetAtt" if args.as_list().is_some() => {
                self.first(Kind::Resource, args, path);
            }
            "if" | "Fn::If" => {
                if let Some([condition, ..]) = args.as_list() {
                    path.push(Step::Index(0));
                    self.words(Kind::Condition, condition, path);
                    path.pop();
                }
            }
            _ => {}
        }
    }

    /// The name that is the argument, or the first of several.
    fn first(&mut self, kind: Kind, args: &Node, path: &Path) {
        let node = args.as_list().and_then(<[Node]>::first).unwrap_or(args);
        match node.as_text() {
            Some(name) => {
                let (name, path) = (name.to_owned(), path.clone());
                self.uses.push(Use { kind, name, place: node.place, path });
            }
            None => self.has_computed |= kind != Kind::Resource,
        }
    }

    /// Every text below a node that may be a condition's name.
    fn words(&mut self, kind: Kind, node: &Node, path: &mut Path) {
        match &node.form {
            Form::Text(name) => {
                let (name, path) = (name.clone(), path.clone());
                self.uses.push(Use { kind, name: name.to_string(), place: node.place, path });
            }
            Form::Map(map) => map.values().for_each(|item| self.words(kind, item, path)),
            Form::List(items) => items.iter().for_each(|item| self.words(kind, item, path)),
            _ => {}
        }
    }
}
