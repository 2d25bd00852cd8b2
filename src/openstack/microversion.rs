//! Microversions: which one a service has, and which of them a request is sent with.

use std::fmt;
use std::str::FromStr;

use serde_json::Value;

/// A microversion of a service's API: `2.90`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Microversion {
    pub major: u16,
    pub minor: u16,
}

impl Microversion {
    /// `new(2, 90)` is 2.90.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for Microversion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is no microversion.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no microversion")]
pub struct NoMicroversion(String);

impl FromStr for Microversion {
    type Err = NoMicroversion;

    fn from_str(text: &str) -> Result<Self, NoMicroversion> {
        let wrong = || NoMicroversion(text.to_owned());
        let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
        Ok(Self {
            major: major.parse().map_err(|_| wrong())?,
            minor: minor.parse().map_err(|_| wrong())?,
        })
    }
}

/// The microversions that a service has, from its version document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MicroversionRange {
    pub(super) min: Microversion,
    pub(super) max: Microversion,
}

impl MicroversionRange {
    /// Reads a version document, of one version or of several; `None` where it names none.
    pub(super) fn read(document: &Value) -> Option<Self> {
        let one = |version: &Value| {
            Some(Self {
                min: version["min_version"].as_str()?.parse().ok()?,
                // `max_version` is what the guidelines came to; the older services keep `version`.
                max: version["max_version"]
                    .as_str()
                    .or_else(|| version["version"].as_str())?
                    .parse()
                    .ok()?,
            })
        };
        if let Some(version) = document.get("version") {
            return one(version);
        }
        document.get("versions")?.as_array()?.iter().filter_map(one).max_by_key(|range| range.max)
    }

    /// What to send for a request that speaks `wanted`: that, or less where the cloud has less;
    /// `None` where the cloud no longer has anything so old.
    pub(super) fn negotiate(self, wanted: Microversion) -> Option<Microversion> {
        let agreed = wanted.min(self.max);
        (agreed >= self.min).then_some(agreed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn range(min: &str, max: &str) -> MicroversionRange {
        MicroversionRange { min: min.parse().unwrap(), max: max.parse().unwrap() }
    }

    #[test]
    fn a_microversion_is_ordered_by_number_not_by_text() {
        assert!(Microversion::new(2, 9) < Microversion::new(2, 10));
        assert_eq!("2.90".parse(), Ok(Microversion::new(2, 90)));
        assert!("2".parse::<Microversion>().is_err());
        assert!("".parse::<Microversion>().is_err());
    }

    #[test]
    fn the_range_is_read_from_one_version_or_the_newest_of_several() {
        let compute = json!({"version": {"id": "v2.1", "version": "2.93", "min_version": "2.1"}});
        assert_eq!(MicroversionRange::read(&compute), Some(range("2.1", "2.93")));
        let volume = json!({"versions": [
            {"id": "v2.0", "version": "", "min_version": ""},
            {"id": "v3.0", "version": "3.70", "min_version": "3.0"},
        ]});
        assert_eq!(MicroversionRange::read(&volume), Some(range("3.0", "3.70")));
        assert_eq!(MicroversionRange::read(&json!({"versions": [{"id": "v2.0"}]})), None);
    }

    #[test]
    fn the_cloud_sets_the_upper_end() {
        let cloud = range("2.1", "2.93");
        assert_eq!(cloud.negotiate(Microversion::new(2, 96)), Some(Microversion::new(2, 93)));
        assert_eq!(cloud.negotiate(Microversion::new(2, 26)), Some(Microversion::new(2, 26)));
        assert_eq!(range("3.0", "3.70").negotiate(Microversion::new(2, 1)), None);
    }
}
