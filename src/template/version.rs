//! The versions of the template language: which there are, which keys they have.

use super::error::{Outcome, TemplateError};
use super::node::Node;

/// The releases of HOT, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Release {
    R2013_05_23,
    R2014_10_16,
    R2015_04_30,
    R2015_10_15,
    R2016_04_08,
    R2016_10_14,
    R2017_02_24,
    R2017_09_01,
    R2018_03_02,
    R2018_08_31,
    R2021_04_16,
}

use Release::{
    R2013_05_23, R2014_10_16, R2015_04_30, R2015_10_15, R2016_04_08, R2016_10_14, R2017_02_24,
    R2017_09_01, R2018_03_02, R2018_08_31, R2021_04_16,
};

/// A version that a template may name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Version {
    pub(crate) name: &'static str,
    pub(crate) release: Release,
    /// The date that a release's name stands for.
    pub(crate) alias_of: Option<&'static str>,
}

const fn dated(name: &'static str, release: Release) -> Version {
    Version { name, release, alias_of: None }
}

const fn named(name: &'static str, release: Release, date: &'static str) -> Version {
    Version { name, release, alias_of: Some(date) }
}

/// All versions, sorted by name.
pub(crate) static VERSIONS: [Version; 17] = [
    dated("2013-05-23", R2013_05_23),
    dated("2014-10-16", R2014_10_16),
    dated("2015-04-30", R2015_04_30),
    dated("2015-10-15", R2015_10_15),
    dated("2016-04-08", R2016_04_08),
    dated("2016-10-14", R2016_10_14),
    dated("2017-02-24", R2017_02_24),
    dated("2017-09-01", R2017_09_01),
    dated("2018-03-02", R2018_03_02),
    dated("2018-08-31", R2018_08_31),
    dated("2021-04-16", R2021_04_16),
    named("newton", R2016_10_14, "2016-10-14"),
    named("ocata", R2017_02_24, "2017-02-24"),
    named("pike", R2017_09_01, "2017-09-01"),
    named("queens", R2018_03_02, "2018-03-02"),
    named("rocky", R2018_08_31, "2018-08-31"),
    named("wallaby", R2021_04_16, "2021-04-16"),
];

/// The key that names the version.
pub(crate) const VERSION_KEY: &str = "heat_template_version";

/// The version keys of CloudFormation's language, which is not understood.
const OTHER_KEYS: [&str; 2] = ["HeatTemplateFormatVersion", "AWSTemplateFormatVersion"];

impl Version {
    /// The version that a template names.
    pub(crate) fn of(template: &Node) -> Outcome<&'static Version> {
        let place = |key: &str| template.get(key).map(|node| node.place).unwrap_or_default();
        let present = |key: &str| template.get(key).is_some_and(|node| node.as_text().is_some());
        let others: Vec<&str> = OTHER_KEYS.into_iter().filter(|key| present(key)).collect();
        if others.len() + usize::from(present(VERSION_KEY)) > 1 {
            let mut keys = others;
            keys.extend(present(VERSION_KEY).then_some(VERSION_KEY));
            let keys = keys.join(", ");
            return Err(TemplateError::version(format_args!("Ambiguous versions ({keys})")));
        }
        if let Some(key) = others.first() {
            let error = TemplateError::version(format_args!(
                "\"{key}\". Templates of this language are not supported; \"{VERSION_KEY}\" should \
                 be one of: {}",
                all_names()
            ));
            return Err(error.placed(place(key)));
        }
        let Some(name) = template.get(VERSION_KEY).and_then(Node::as_text) else {
            let error = TemplateError::version("Template version was not provided");
            return Err(error.placed(place(VERSION_KEY)));
        };
        VERSIONS.iter().find(|version| version.name == name).ok_or_else(|| {
            let error = TemplateError::version(format_args!(
                "\"{VERSION_KEY}: {name}\". \"{VERSION_KEY}\" should be one of: {}",
                all_names()
            ));
            error.placed(place(VERSION_KEY))
        })
    }

    /// Whether templates have conditions, and resources `condition` and `external_id`.
    pub(crate) fn has_conditions(&self) -> bool {
        self.release >= R2016_10_14
    }

    /// The sections of a template.
    pub(crate) fn has_section(&self, name: &str) -> bool {
        let always = [
            VERSION_KEY,
            "description",
            "parameter_groups",
            "parameters",
            "resources",
            "outputs",
            // Heat's own name for the section of CloudFormation that HOT does not have.
            "__undefined__",
        ];
        always.contains(&name) || (name == "conditions" && self.has_conditions())
    }

    /// The keys of a resource.
    pub(crate) fn has_resource_key(&self, key: &str) -> bool {
        let always = [
            "type",
            "properties",
            "metadata",
            "depends_on",
            "deletion_policy",
            "update_policy",
            "description",
        ];
        always.contains(&key)
            || (self.has_conditions() && ["external_id", "condition"].contains(&key))
    }

    /// The keys of a parameter.
    pub(crate) fn has_parameter_key(&self, key: &str) -> bool {
        let always = [
            "type",
            "description",
            "default",
            "schema",
            "constraints",
            "hidden",
            "label",
            "immutable",
        ];
        always.contains(&key) || (key == "tags" && self.release >= R2018_03_02)
    }

    /// Whether parameters can have the constraint `modulo`.
    pub(crate) fn has_modulo(&self) -> bool {
        self.release >= R2017_02_24
    }

    /// The deletion policy that a word stands for.
    pub(crate) fn deletion_policy(&self, word: &str) -> Option<&'static str> {
        Some(match word {
            "Delete" => "Delete",
            "Retain" => "Retain",
            "Snapshot" => "Snapshot",
            "delete" if self.has_conditions() => "Delete",
            "retain" if self.has_conditions() => "Retain",
            "snapshot" if self.has_conditions() => "Snapshot",
            _ => return None,
        })
    }
}

fn all_names() -> String {
    VERSIONS.iter().map(|version| version.name).collect::<Vec<_>>().join(", ")
}
