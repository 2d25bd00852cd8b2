//! `Fn::FindInMap`: what stands in the section `Mappings` under a name, a key and a second key.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Call, Function, Scope, unpack};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::{Form, Node};
use crate::template::value::Datum;
use crate::template::{subscript, walk};

#[derive(Debug)]
struct FindInMap(Call);

/// Parses `[mapping, key, key]`.
pub(super) fn parse(mut call: Call) -> Outcome<Arc<dyn Function>> {
    let parts = unpack(&call.args, 3).map_err(|error| match error.class.as_ref() {
        "ValueError" => TemplateError::key(&error.message),
        _ => error,
    })?;
    call.args = Node::at(&call.args, Form::List(parts));
    Ok(Arc::new(FindInMap(call)))
}

impl Function for FindInMap {
    fn call(&self) -> &Call {
        &self.0
    }

    fn resolve(&self, scope: &Scope<'_>) -> Outcome<Option<Datum>> {
        let Some([mapping, key, value]) = self.args().as_list() else {
            return Ok(Some(Datum::Null));
        };
        let mapping = item(scope.mappings, &walk::resolve(mapping, scope)?, scope)?;
        let key = walk::resolve(key, scope)?;
        let value = walk::resolve(value, scope)?;
        let entry = item(&mapping, &key, scope)?;
        let found = item(&entry, &value, scope)?;
        if found.is_tainted() {
            scope.note_taint();
        }
        Ok(Some(found.to_datum()))
    }
}

/// What stands under a key. Only the entries of maps are secret by themselves.
fn item<'n>(node: &'n Node, key: &Datum, scope: &Scope<'_>) -> Outcome<Cow<'n, Node>> {
    if let Datum::Text(key) = key
        && let Some(within) = node.get(key)
    {
        return Ok(Cow::Borrowed(within));
    }
    if node.is_tainted() {
        scope.note_taint();
    }
    Ok(Cow::Owned(subscript::item(&node.to_datum(), key)?.into()))
}
