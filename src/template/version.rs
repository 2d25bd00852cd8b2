//! The versions of the template languages: which there are, which keys they have.

use super::dialect::{CFN, Dialect, HOT, Language};
use super::error::{Outcome, TemplateError};
use super::node::Node;

/// The releases of each language; a later one has what an earlier one of the same has, and more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Release {
    /// `HeatTemplateFormatVersion`: CloudFormation's language without conditions.
    Heat2012_12_12,
    /// `AWSTemplateFormatVersion`.
    Aws2010_09_09,
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
    Aws2010_09_09, Heat2012_12_12, R2013_05_23, R2014_10_16, R2015_04_30, R2015_10_15, R2016_04_08,
    R2016_10_14, R2017_02_24, R2017_09_01, R2018_03_02, R2018_08_31, R2021_04_16,
};

/// A version that a template may name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Version {
    /// The key that names it.
    pub(crate) key: &'static str,
    pub(crate) name: &'static str,
    pub(crate) release: Release,
    /// The date that a release's name stands for.
    pub(crate) alias_of: Option<&'static str>,
    pub(crate) dialect: &'static Dialect,
}

const AWS_KEY: &str = "AWSTemplateFormatVersion";
const HEAT_KEY: &str = "HeatTemplateFormatVersion";
const HOT_KEY: &str = "heat_template_version";

/// The keys that name the version.
pub(crate) const VERSION_KEYS: [&str; 3] = [AWS_KEY, HEAT_KEY, HOT_KEY];

const fn cfn(key: &'static str, name: &'static str, release: Release) -> Version {
    Version { key, name, release, alias_of: None, dialect: &CFN }
}

const fn dated(name: &'static str, release: Release) -> Version {
    Version { key: HOT_KEY, name, release, alias_of: None, dialect: &HOT }
}

const fn named(name: &'static str, release: Release, date: &'static str) -> Version {
    Version { key: HOT_KEY, name, release, alias_of: Some(date), dialect: &HOT }
}

/// All versions, sorted by key and name.
pub(crate) static VERSIONS: [Version; 19] = [
    cfn(AWS_KEY, "2010-09-09", Aws2010_09_09),
    cfn(HEAT_KEY, "2012-12-12", Heat2012_12_12),
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

impl Version {
    /// The version that a template names.
    pub(crate) fn of(template: &Node) -> Outcome<&'static Version> {
        let present = |key: &&str| template.get(key).is_some_and(|node| node.as_text().is_some());
        let keys: Vec<&str> = VERSION_KEYS.into_iter().filter(present).collect();
        if keys.len() > 1 {
            let keys = keys.join(", ");
            return Err(TemplateError::version(format_args!("Ambiguous versions ({keys})")));
        }
        let named = keys.first().and_then(|key| Some((*key, template.get(key)?)));
        let Some((key, node)) = named else {
            let error = TemplateError::version("Template version was not provided");
            let place = VERSION_KEYS.iter().find_map(|key| Some(template.get(key)?.place));
            return Err(error.placed(place.unwrap_or_default()));
        };
        let name = node.as_text().unwrap_or_default();
        let known = || VERSIONS.iter().filter(|version| version.key == key);
        known().find(|version| version.name == name).ok_or_else(|| {
            let names: Vec<&str> = known().map(|version| version.name).collect();
            let one_of = if names.len() > 1 { " one of" } else { "" };
            let error = TemplateError::version(format_args!(
                "\"{key}: {name}\". \"{key}\" should be{one_of}: {}",
                names.join(", ")
            ));
            error.placed(node.place)
        })
    }

    /// Whether it is a version of HOT.
    pub(crate) fn is_hot(&self) -> bool {
        self.dialect.language == Language::Hot
    }

    /// Whether templates have conditions, and in HOT resources `external_id`.
    pub(crate) fn has_conditions(&self) -> bool {
        match self.dialect.language {
            Language::Hot => self.release >= R2016_10_14,
            Language::Cfn => self.release >= Aws2010_09_09,
        }
    }

    /// The sections of a template.
    pub(crate) fn has_section(&self, name: &str) -> bool {
        let sections = &self.dialect.sections;
        sections.all().any(|section| section == name)
            && (self.has_conditions() || name != sections.conditions)
    }

    /// The keys of a resource.
    pub(crate) fn has_resource_key(&self, key: &str) -> bool {
        let keys = &self.dialect.resource;
        let of_conditions = key == keys.condition || Some(key) == keys.external_id;
        keys.all().any(|known| known == key) && (self.has_conditions() || !of_conditions)
    }

    /// The keys of a parameter.
    pub(crate) fn has_parameter_key(&self, key: &str) -> bool {
        self.dialect.parameter.all.contains(&key) && (key != "tags" || self.release >= R2018_03_02)
    }

    /// Whether parameters can have the constraint `modulo`.
    pub(crate) fn has_modulo(&self) -> bool {
        self.release >= R2017_02_24
    }

    /// The deletion policy that a word stands for.
    pub(crate) fn deletion_policy(&self, word: &str) -> Option<&'static str> {
        let in_small = self.is_hot() && self.has_conditions();
        Some(match word {
            "Delete" => "Delete",
            "Retain" => "Retain",
            "Snapshot" => "Snapshot",
            "delete" if in_small => "Delete",
            "retain" if in_small => "Retain",
            "snapshot" if in_small => "Snapshot",
            _ => return None,
        })
    }
}
