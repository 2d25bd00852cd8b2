//! How a revision's source is kept: what has no secret as a blob, parameters beside it, hidden
//! ones sealed.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::asks::UpdateStack;
use crate::events::stack::RevisionAccepted;
use crate::events::vault::{Vault, VaultError};
use crate::model::{JsonMap, Secret};
use crate::template::{StackDefinition, StackSource};

/// A revision that has a source, and whether no more than its version counts: a create that is
/// rolled back leaves a template of that version with nothing in it.
#[derive(Clone, Debug)]
pub struct Sourced {
    pub revision: RevisionAccepted,
    pub emptied: bool,
}

/// The body of a source blob.
#[derive(Serialize, Deserialize)]
struct Kept {
    template: Value,
    /// Without `parameters`, which stand in the revision.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    environment: JsonMap,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, String>,
    /// The files that were fetched and not sent.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    fetched: BTreeSet<String>,
}

/// The parameters that count: those given beside the environment over its own. What environment
/// files say goes above both, and stands in the environment alone by now.
pub(super) fn effective_parameters(source: &StackSource) -> JsonMap {
    let own = source.environment.get("parameters").and_then(Value::as_object);
    let mut parameters = own.cloned().unwrap_or_default();
    parameters.extend(source.parameters.clone());
    parameters
}

/// The blob's content and the parameters as the revision keeps them.
pub(super) fn encode(
    source: &StackSource,
    definition: &StackDefinition,
    hidden: &BTreeSet<String>,
    vault: &Vault,
    scope: &str,
) -> Result<(Vec<u8>, JsonMap), VaultError> {
    let parameters = seal_hidden(effective_parameters(source), hidden, vault, scope)?;
    let mut environment = source.environment.clone();
    environment.shift_remove("parameters");
    if let Some(Value::Object(defaults)) = environment.get_mut("parameter_defaults") {
        *defaults = seal_hidden(std::mem::take(defaults), hidden, vault, scope)?;
    }
    let mut template = definition.template();
    let secrets = definition.secrets();
    let (environment, parameters) = match secrets {
        [] => (environment, parameters),
        secrets => {
            template = vault.seal_leaves(scope, template, secrets)?;
            (
                seal_within(environment, secrets, vault, scope)?,
                seal_within(parameters, secrets, vault, scope)?,
            )
        }
    };
    let fetched = source.fetched.iter().filter(|(_, fetched)| fetched.is_ok());
    let fetched = fetched.map(|(url, _)| url.clone()).collect();
    let kept = Kept { template, environment, files: source.files.clone(), fetched };
    Ok((serde_json::to_vec(&kept).unwrap_or_default(), parameters))
}

/// A source that is open, and the secrets that were sealed in it.
#[derive(Default)]
pub(super) struct Opened {
    pub(super) source: StackSource,
    pub(super) secrets: Vec<Secret<String>>,
}

/// The source again, with what was sealed open.
pub(super) fn decode(
    blob: Option<&[u8]>,
    parameters: &JsonMap,
    vault: &Vault,
    scope: &str,
) -> Result<Opened, String> {
    let Some(blob) = blob else { return Ok(Opened::default()) };
    let kept: Kept = serde_json::from_slice(blob).map_err(|error| error.to_string())?;
    let mut secrets = Vec::new();
    let mut open = |value: Value| {
        let leaves = Vault::sealed_leaves(&value);
        if leaves.is_empty() {
            return Ok(value);
        }
        for leaf in leaves {
            let opened = vault.open(scope, leaf).map_err(|error| error.to_string())?;
            secrets.extend(opened.as_str().map(|text| Secret::new(text.to_owned())));
        }
        vault.open(scope, &value).map_err(|error| error.to_string())
    };
    let map = |value| if let Value::Object(map) = value { map } else { JsonMap::new() };
    let source = StackSource {
        template: open(kept.template)?,
        environment: map(open(Value::Object(kept.environment))?),
        files: kept.files,
        parameters: map(open(Value::Object(parameters.clone()))?),
        fetched: kept.fetched.into_iter().map(|url| (url, Ok(()))).collect(),
    };
    Ok(Opened { source, secrets })
}

fn seal_within(
    map: JsonMap,
    secrets: &[Secret<String>],
    vault: &Vault,
    scope: &str,
) -> Result<JsonMap, VaultError> {
    let sealed = vault.seal_leaves(scope, Value::Object(map), secrets)?;
    Ok(if let Value::Object(map) = sealed { map } else { JsonMap::new() })
}

fn seal_hidden(
    parameters: JsonMap,
    hidden: &BTreeSet<String>,
    vault: &Vault,
    scope: &str,
) -> Result<JsonMap, VaultError> {
    parameters
        .into_iter()
        .map(|(name, value)| {
            if hidden.contains(&name) {
                let sealed = vault.seal(scope, &value)?;
                Ok((name, sealed))
            } else {
                Ok((name, value))
            }
        })
        .collect()
}

/// The source that an update leads to: a PUT is whole, a PATCH goes over what there is.
pub(super) fn updated(ask: &UpdateStack, former: &StackSource) -> StackSource {
    let given = StackSource {
        template: ask.template.clone().unwrap_or_else(|| former.template.clone()),
        environment: ask.environment.clone(),
        files: ask.files.clone(),
        parameters: ask.parameters.clone(),
        fetched: BTreeMap::new(),
    };
    if !ask.existing {
        return given;
    }
    let mut parameters = former.parameters.clone();
    for name in &ask.clear_parameters {
        parameters.shift_remove(name);
    }
    parameters.extend(effective_parameters(&given));
    let mut environment = former.environment.clone();
    for (section, value) in given.environment {
        match (environment.get_mut(&section), value) {
            (_, _) if section == "parameters" => {}
            (Some(Value::Object(before)), Value::Object(now)) => before.extend(now),
            (_, value) => {
                environment.insert(section, value);
            }
        }
    }
    let mut files = former.files.clone();
    // What was fetched may be another text by now.
    files.retain(|name, _| !former.fetched.contains_key(name));
    files.extend(given.files);
    let mut source =
        StackSource { template: given.template, environment, files, parameters, ..given };
    // A PATCH forgets parameters that its template does not know.
    let names = crate::template::parameter_names(&source.template);
    source.parameters.retain(|name, _| names.contains(name));
    source
}
