//! The definition of a nested stack: made of the definition of its parent, which gives it files,
//! environment and place, and of a template and parameters that its resource decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::StackDefinition;
use super::load::{Env, Parts, Reading};
use crate::model::sizes::STACK_NAME;
use crate::model::{JsonMap, ResourceName};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::Node;
use crate::template::provider::{Files, NestedTemplate};
use crate::template::{Facade, PseudoParameters, TypeLookup, document, walk, work};

/// Where a nested stack stands.
pub struct ChildPlace {
    pub name: String,
    pub id: String,
    /// What its templates see of its resource.
    pub facade: Facade,
    /// Files that it has beside those of its parent.
    pub files: BTreeMap<String, String>,
    /// Its template, a text in its resource's properties, must not be seen.
    pub hides_template: bool,
}

impl ChildPlace {
    fn template(&self, text: &str) -> Outcome<Node> {
        let root = document::template_text(text, document::ROOT)?;
        Ok(if self.hides_template { root.into_tainted() } else { root })
    }
}

impl StackDefinition {
    /// The definition of the nested stack of a resource, as far as it is known before anything is.
    pub(crate) fn child(
        &self,
        resource: &ResourceName,
        template: &NestedTemplate,
        parameters: JsonMap,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        let place = ChildPlace {
            name: format!("{}-{resource}", self.pseudo.stack_name),
            id: self.pseudo.stack_id.clone(),
            facade: self.facade_of(resource, types)?,
            files: BTreeMap::new(),
            hides_template: false,
        };
        self.child_at(place, resource, template, parameters, types, reading)
    }

    /// The definition of the nested stack of a resource in its place.
    pub(crate) fn child_at(
        &self,
        place: ChildPlace,
        resource: &ResourceName,
        template: &NestedTemplate,
        parameters: JsonMap,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        if self.depth >= reading.depth_max {
            return Err(work::too_deep(reading.depth_max));
        }
        let provider = self.provider(resource);
        let made_from = provider.map(|provider| &provider.entry);
        let environment = self.environment.of_child(resource.as_str(), &parameters, made_from)?;
        let root = match (template, provider) {
            (NestedTemplate::Made(template), _) => Arc::new(template.into()),
            (NestedTemplate::Text(text), _) => Arc::new(place.template(text)?),
            (NestedTemplate::At(url), _) => self.files.template(url, self.template_text(url)?)?,
            (NestedTemplate::Provider, Some(provider)) => Arc::clone(&provider.root),
            (NestedTemplate::Provider, None) => {
                let message = format!("The resource {resource} is made of no template.");
                return Err(TemplateError::validation(message));
            }
        };
        check_stack_name(&place.name)?;
        let parts = Parts {
            root,
            environment: Env::Ready(Box::new(environment)),
            files: self.files_with(place.files),
            pseudo: PseudoParameters {
                stack_name: place.name,
                stack_id: place.id,
                project_id: self.pseudo.project_id.clone(),
                facade: Some(place.facade),
            },
            depth: self.depth + 1,
            is_provider: matches!(template, NestedTemplate::Provider),
        };
        Self::put_together(parts, types, reading)
    }

    /// The definition of a stack that a resource makes beside its own: with the same environment
    /// and files, within none.
    pub(crate) fn beside(
        &self,
        place: ChildPlace,
        text: &str,
        parameters: &JsonMap,
        types: &dyn TypeLookup,
        reading: Reading,
    ) -> Outcome<StackDefinition> {
        check_stack_name(&place.name)?;
        let parts = Parts {
            root: Arc::new(place.template(text)?),
            environment: Env::Ready(Box::new(self.environment.with_own(parameters)?)),
            files: Arc::clone(&self.files),
            pseudo: PseudoParameters {
                stack_name: place.name,
                stack_id: place.id,
                project_id: self.pseudo.project_id.clone(),
                facade: None,
            },
            depth: 0,
            is_provider: false,
        };
        Self::put_together(parts, types, reading)
    }

    /// Refuses a text that is no template at all.
    pub(crate) fn check_text(text: &str) -> Outcome<()> {
        document::template_text(text, document::ROOT).map(drop)
    }

    /// A template that stands at a URL: one of the files, or one that was fetched.
    pub(crate) fn template_text(&self, url: &str) -> Outcome<&str> {
        self.files.template_text(url).map_err(|reason| {
            let message = format!("Could not fetch remote template '{url}': {reason}");
            TemplateError::new("ValueError", message)
        })
    }

    /// The files, and others beside them.
    fn files_with(&self, mut others: BTreeMap<String, String>) -> Arc<Files> {
        others.retain(|name, _| !self.files.texts.contains_key(name));
        if others.is_empty() {
            return Arc::clone(&self.files);
        }
        Arc::new(self.files.with(others))
    }

    /// The files, which note what is missing among them.
    pub(crate) fn files(&self) -> Arc<Files> {
        Arc::clone(&self.files)
    }

    /// What a nested stack's templates see of the resource that it stands for.
    fn facade_of(&self, resource: &ResourceName, types: &dyn TypeLookup) -> Outcome<Facade> {
        let Some(definition) = self.definitions.get(resource.as_str()) else {
            return Ok(Facade::default());
        };
        let scope = self.scope(types);
        // What cannot be resolved yet gives nothing.
        let value = |node: &Node| match walk::resolve(node, &scope) {
            Ok(value) if value.is_truthy() => value.to_json(),
            _ => Value::Object(JsonMap::new()),
        };
        Ok(Facade {
            metadata: value(&definition.metadata),
            deletion_policy: definition.deletion_policy.clone(),
            update_policy: value(&definition.update_policy),
        })
    }
}

/// Refuses what cannot be a stack's name.
fn check_stack_name(name: &str) -> Outcome<()> {
    // Python's `$` lets a last line break pass.
    let name_proper = name.strip_suffix('\n').unwrap_or(name);
    let is_valid = name_proper.starts_with(|c: char| c.is_ascii_alphabetic())
        && name_proper.chars().count() <= STACK_NAME.max
        && name_proper.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-'));
    if is_valid {
        return Ok(());
    }
    Err(TemplateError::validation(format!(
        "Invalid stack name {name} must contain only alphanumeric or \"_-.\" characters, must \
         start with alpha and must be {} characters or less.",
        STACK_NAME.max
    )))
}
