//! How a revision's source is kept: as a blob with its secrets sealed, and parameters beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::asks::UpdateStack;
use super::stack::{Known, Revise};
use crate::clock::Clock;
use crate::events::log::BlobId;
use crate::events::vault::{Vault, VaultError};
use crate::model::sizes::{PARAMETERS, SOURCE};
use crate::model::taint::{is_tainted, plain, taint};
use crate::model::{JsonMap, Refusal, StackSettings, TraversalOptions, Trustor};
use crate::resource_types::Registry;
use crate::template::{StackDefinition, StackSource};

/// The body of a source blob.
#[derive(Default, Serialize, Deserialize)]
struct Kept {
    #[serde(default)]
    template: Value,
    /// Without `parameters`, which stand in the revision.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    environment: JsonMap,
    /// Texts; those that hold a secret are sealed.
    #[serde(default, skip_serializing_if = "JsonMap::is_empty")]
    files: JsonMap,
    /// The files that are environments and set a secret parameter.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    environments: BTreeSet<String>,
    /// The files that were fetched and not sent.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    fetched: BTreeSet<String>,
    /// Where what is sealed in it was sealed: a place that no other source has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    place: Option<String>,
}

/// The parameters that count: those given beside the environment over its own. What environment
/// files say goes above both, and stands in the environment alone by now.
pub(super) fn effective_parameters(source: &StackSource) -> JsonMap {
    let own = source.environment.get("parameters").and_then(Value::as_object);
    let mut parameters = own.cloned().unwrap_or_default();
    parameters.extend(source.parameters.clone());
    parameters
}

/// The blob's content, its secrets sealed, and the parameters as the revision keeps them, marked.
pub(super) fn encode(
    source: StackSource,
    definition: &StackDefinition,
    services: &Sealing<'_>,
) -> Result<(Vec<u8>, JsonMap), VaultError> {
    let Sealing { registry, vault, clock, scope } = *services;
    let source = definition.mark(source);
    let parameters = effective_parameters(&source);
    let mut environment = source.environment;
    environment.shift_remove("parameters");
    let secret_files = definition.secret_files(registry);
    let environments = definition.secret_environments();
    let files = source.files.into_iter().map(|(name, text)| {
        let is_secret = secret_files.contains(&name) || environments.contains(&name);
        let text = if is_secret { taint(text.into()) } else { text.into() };
        (name, text)
    });
    let kept = json!({
        "template": definition.template_kept(registry),
        "environment": environment,
        "files": files.collect::<JsonMap>(),
    });
    let has_secrets = is_tainted(&kept);
    let place = has_secrets.then(|| format!("source-{}", clock.fresh_id()));
    // What only looks sealed is escaped also where nothing is sealed.
    let kept = vault.seal(scope, place.as_deref().unwrap_or_default(), kept)?;
    let mut kept: Kept = serde_json::from_value(kept).unwrap_or_default();
    kept.place = place;
    kept.environments = environments;
    let fetched = source.fetched.iter().filter(|(_, fetched)| fetched.is_ok());
    kept.fetched = fetched.map(|(url, _)| url.clone()).collect();
    Ok((serde_json::to_vec(&kept).unwrap_or_default(), parameters))
}

/// A definition that was read and checked, written down for its stack, and the blob of its source,
/// which is to be kept first.
pub(super) fn revise(
    sealing: &Sealing<'_>,
    (source, known): (StackSource, Arc<Known>),
    settings: StackSettings,
    trustor: Trustor,
) -> Result<(Revise, Vec<u8>), Refusal> {
    let (blob, parameters) = encode(source, &known.definition, sealing)
        .map_err(|error| Refusal::unavailable(error.to_string()))?;
    SOURCE.check(blob.len())?;
    PARAMETERS.check_json(&parameters)?;
    let revise = Revise {
        source_bytes: blob.len() as u64,
        source: BlobId::of(&blob),
        known,
        parameters,
        settings,
        trustor,
        options: TraversalOptions::default(),
        back_to: None,
        from_rest: false,
        facade: Value::Null,
        claim: None,
    };
    Ok((revise, blob))
}

/// What a source is sealed with.
#[derive(Clone, Copy)]
pub struct Sealing<'a> {
    pub registry: &'a Registry,
    pub vault: &'a Vault,
    pub clock: &'a dyn Clock,
    /// The stack's own.
    pub scope: &'a str,
}

/// The source again, what was sealed in it marked.
pub(super) fn decode(
    blob: Option<&[u8]>,
    parameters: &JsonMap,
    vault: &Vault,
    scope: &str,
) -> Result<StackSource, String> {
    let Some(blob) = blob else { return Ok(StackSource::default()) };
    let kept: Kept = serde_json::from_slice(blob).map_err(|error| error.to_string())?;
    let fetched = kept.fetched.iter().map(|url| (url.clone(), Ok(()))).collect();
    let place = kept.place.clone().unwrap_or_default();
    let open = |value, part: &str| {
        let opened = vault.open_at(scope, &format!("{place}/{part}"), value);
        opened.map_err(|error| error.to_string())
    };
    let map = |value| if let Value::Object(map) = value { map } else { JsonMap::new() };
    let files = map(plain(open(Value::Object(kept.files), "files")?)).into_iter();
    let text = |value| if let Value::String(text) = value { text } else { String::new() };
    Ok(StackSource {
        template: open(kept.template, "template")?,
        environment: map(open(Value::Object(kept.environment), "environment")?),
        files: files.map(|(name, value)| (name, text(value))).collect(),
        parameters: parameters.clone(),
        fetched,
    })
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
