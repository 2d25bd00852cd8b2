//! What types stand for with everybody: Heat's `environment.d`. What its default installation has
//! is built in; an operator's directory goes above it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::registry::Registry;
use super::{check_sections, document};
use crate::template::error::{Outcome, TemplateError};
use crate::template::node::Node;

/// Mappings for everybody, and the templates that they name.
#[derive(Clone, Debug, Default)]
pub struct Mappings {
    pub(crate) registry: Registry,
    /// By the URLs (`file:///…`) that the registry has.
    pub(crate) templates: BTreeMap<String, String>,
}

/// A file of the directory that is no environment.
#[derive(Clone, Debug, thiserror::Error)]
#[error("not an environment: {message}")]
pub struct MappingsError {
    message: String,
}

static BUILT_IN: LazyLock<Mappings> = LazyLock::new(|| {
    let mut mappings = Mappings::default();
    // A unit test reads it, so that what is built in is known to be well.
    let _ = mappings.add(include_str!("built_in/mappings.yaml"));
    for (url, text) in [
        (
            "file:///etc/heat/templates/AWS_RDS_DBInstance.yaml",
            include_str!("built_in/db_instance.yaml"),
        ),
        (
            "file:///etc/heat/templates/AWS_CloudWatch_Alarm.yaml",
            include_str!("built_in/alarm.yaml"),
        ),
    ] {
        mappings.add_template(url, text);
    }
    mappings
});

impl Mappings {
    /// What Heat's default installation maps.
    pub fn built_in() -> &'static Mappings {
        &BUILT_IN
    }

    /// Takes in the text of an environment, above what is there. Gives the `file:` URLs of the
    /// templates that it names and that are not known yet.
    pub fn add(&mut self, text: &str) -> Result<Vec<String>, MappingsError> {
        let failed = |error: TemplateError| MappingsError { message: error.text() };
        let node = environment(text).map_err(failed)?;
        let section = node.get("resource_registry").cloned().unwrap_or_default();
        self.registry.load(&section).map_err(failed)?;
        let mut urls = self.registry.templates();
        urls.retain(|url| url.starts_with("file:") && !self.templates.contains_key(url));
        Ok(urls)
    }

    /// The text of a template that the mappings name.
    pub fn add_template(&mut self, url: &str, text: &str) {
        self.templates.insert(url.to_owned(), text.to_owned());
    }
}

fn environment(text: &str) -> Outcome<Node> {
    let node = document::environment_text(text)?;
    check_sections(&node)?;
    Ok(node)
}
