//! What Heat takes and its author may not have meant. `docs/validate.md` lists the rules; each is
//! meant to be right nearly always, and says nothing of what an error speaks of already.

mod calls;
mod literals;
mod old;
mod survey;
mod unused;

use ecow::EcoString;

use super::finding::{Finding, Severity};
use super::tree::{self, Path, Step};
use crate::template::TypeLookup;
use crate::template::dialect::{self, Dialect};
use crate::template::node::{Node, Place};
use crate::template::version::Version;
use survey::Survey;

/// A template as its rules see it: as it was written.
struct Written<'a> {
    root: &'a Node,
    /// The name of the document and its text.
    document: &'a (String, String),
    dialect: &'static Dialect,
    types: &'a dyn TypeLookup,
    survey: Survey,
    errors: &'a [Finding],
}

/// All warnings on a template.
pub(super) fn all(
    root: &Node,
    document: &(String, String),
    types: &dyn TypeLookup,
    errors: &[Finding],
) -> Vec<Finding> {
    let dialect = dialect::of(root);
    let survey = Survey::of(root, dialect);
    let written = Written { root, document, dialect, types, survey, errors };
    let mut found = Vec::new();
    unused::parameters(&written, &mut found);
    unused::conditions(&written, &mut found);
    unused::names_not_looked_at(&written, &mut found);
    unused::keys_passed_over(&written, &mut found);
    if let Ok(version) = Version::of(root) {
        calls::taken_as_data(&written, version, &mut found);
    }
    old::members(&written, &mut found);
    literals::for_references(&written, &mut found);
    found
}

impl Written<'_> {
    fn section(&self, name: &str) -> impl Iterator<Item = (&EcoString, &Node)> {
        self.root.get(name).and_then(Node::as_map).into_iter().flatten()
    }

    fn resources(&self) -> impl Iterator<Item = (&EcoString, &Node)> {
        self.section(self.dialect.sections.resources)
    }

    /// The type that a resource is declared to be.
    fn type_of<'n>(&self, resource: &'n Node) -> Option<&'n str> {
        resource.get(self.dialect.resource.kind)?.as_text()
    }

    /// Whether an error speaks of a name there, or asks whether that name was meant.
    fn is_told(&self, place: Place, name: &str) -> bool {
        self.errors.iter().any(|error| {
            let at = error.span.map(|span| (span.line, span.column));
            let is_here = at == Some((place.line, place.column));
            is_here || error.suggestion.as_deref() == Some(name)
        })
    }

    fn warning(&self, code: &str, path: &[Step], place: Place, message: String) -> Finding {
        let finding = Finding {
            severity: Severity::Warning,
            code: code.to_owned(),
            message,
            path: tree::shown(path),
            document: self.document.0.clone(),
            span: None,
            suggestion: None,
            note: None,
        };
        finding.at(Some(place), &self.document.1)
    }
}

fn keys(names: &[&str]) -> Path {
    names.iter().map(|name| Step::Key((*name).to_owned())).collect()
}
