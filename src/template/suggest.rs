//! Names that may have been meant where a wrong one is written.

use super::dialect::Language;
use super::node::Node;
use super::parameters::ParameterType;
use super::parameters::schema::CONSTRAINT_KEYS;
use super::version::{VERSION_KEYS, VERSIONS};
use super::{TypeLookup, dialect, environment};

/// Where names are looked for.
pub(crate) struct Names<'a> {
    pub(crate) root: &'a Node,
    pub(crate) types: &'a dyn TypeLookup,
}

/// What a message says is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The name as written.
    pub(crate) name: String,
    /// Whether it is the key of an entry, not a value.
    pub(crate) is_key: bool,
    /// The known name next to it, unless even that is far.
    pub(crate) meant: Option<String>,
}

/// The names that could stand where a wrong one does.
#[derive(Clone, Copy)]
enum Known {
    Types,
    Resources,
    Parameters,
    Conditions,
    /// Of the resource that the message names before the attribute.
    Attributes,
    /// At the path that the message begins with.
    Properties,
    Versions,
    Sections,
    ParameterKeys,
    ParameterTypes,
    ResourceKeys,
    OutputKeys,
    /// Those that the message lists in brackets.
    Listed,
    Words(&'static [&'static str]),
    /// The function that does the same now.
    Successor,
}

/// Functions that newer versions have under another name.
const SUCCESSORS: &[(&str, &str)] = &[
    ("Fn::GetAtt", "get_attr"),
    ("Fn::Join", "list_join"),
    ("Fn::Split", "str_split"),
    ("Fn::Replace", "str_replace"),
    ("Fn::ResourceFacade", "resource_facade"),
];

/// Around a name in a message of Heat's.
struct Pattern {
    before: &'static str,
    after: &'static str,
    is_key: bool,
    known: Known,
}

const fn value(before: &'static str, after: &'static str, known: Known) -> Pattern {
    Pattern { before, after, is_key: false, known }
}

const fn key(before: &'static str, after: &'static str, known: Known) -> Pattern {
    Pattern { before, after, is_key: true, known }
}

/// In the order in which they are tried.
const PATTERNS: &[Pattern] = &[
    value("The Resource Type (", ")", Known::Types),
    value("The specified reference \"", "\"", Known::Resources),
    value("The Parameter (", ")", Known::Parameters),
    value("The grouped parameter ", " does not reference", Known::Parameters),
    value("Invalid condition \"", "\"", Known::Conditions),
    value("The Referenced Attribute (", ")", Known::Attributes),
    key("Unknown Property ", "", Known::Properties),
    value("The function ", " is not supported in this version", Known::Successor),
    value("\"heat_template_version: ", "\"", Known::Versions),
    value("\"AWSTemplateFormatVersion: ", "\"", Known::Versions),
    value("\"HeatTemplateFormatVersion: ", "\"", Known::Versions),
    value("Invalid type (", ")", Known::ParameterTypes),
    value("Invalid deletion policy \"", "\"", Known::Words(&["Delete", "Retain", "Snapshot"])),
    value("\"", "\" is not an allowed value [", Known::Listed),
    value("", " is not an allowed value [", Known::Listed),
    key("The template section is invalid: ", "", Known::Sections),
    key("\"", "\" is no key of a template", Known::Words(&VERSION_KEYS)),
    key("environment has wrong section \"", "\"", Known::Words(&environment::SECTIONS)),
    key("environment has empty section \"", "\"", Known::Words(&[])),
    key("Invalid key '", "' for parameter constraints", Known::Words(&CONSTRAINT_KEYS)),
    key("Invalid key '", "' for range constraint", Known::Words(&["min", "max"])),
    key("Invalid key '", "' for length constraint", Known::Words(&["min", "max"])),
    key("Invalid key '", "' for modulo constraint", Known::Words(&["step", "offset"])),
    key("Invalid key '", "' for parameter (", Known::ParameterKeys),
    key("\"", "\" is not a valid keyword inside a resource", Known::ResourceKeys),
    key("Invalid keyword(s) inside a resource definition: ", "", Known::ResourceKeys),
    key("\"", "\" is not a valid keyword inside a output", Known::OutputKeys),
];

impl Names<'_> {
    fn keys(&self, section: &str) -> Vec<String> {
        let map = self.root.get(section).and_then(Node::as_map);
        map.into_iter().flat_map(|map| map.keys().map(|key| key.to_string())).collect()
    }

    /// The type of a resource, as far as it is not an alias.
    fn type_of(&self, resource: &str) -> Option<&str> {
        let dialect = dialect::of(self.root);
        let resource = self.root.get(dialect.sections.resources)?.get(resource)?;
        resource.get(dialect.resource.kind)?.as_text()
    }

    /// The names that are known where a message says that one is wrong, and that name.
    fn known(&self, known: Known, name: &str, message: &str) -> Option<(String, Vec<String>)> {
        let dialect = dialect::of(self.root);
        let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let names = match known {
            Known::Types => self.types.type_names(),
            // `Ref` may mean either.
            Known::Resources if dialect.language == Language::Cfn => {
                let parameters = self.keys(dialect.sections.parameters);
                [self.keys(dialect.sections.resources), parameters].concat()
            }
            Known::Resources => self.keys(dialect.sections.resources),
            Known::Parameters => self.keys(dialect.sections.parameters),
            Known::Conditions => self.keys(dialect.sections.conditions),
            Known::Versions => {
                let of_language = VERSIONS.iter().filter(|version| version.dialect == dialect);
                of_language.map(|version| version.name.to_owned()).collect()
            }
            Known::Sections => dialect.sections.all().map(str::to_owned).collect(),
            Known::ParameterKeys => owned(dialect.parameter.all),
            Known::ParameterTypes => {
                ParameterType::names(dialect.language).map(str::to_owned).collect()
            }
            Known::ResourceKeys => dialect.resource.all().map(str::to_owned).collect(),
            Known::OutputKeys => {
                let keys = &dialect.output;
                owned(&[keys.value, keys.description, keys.condition])
            }
            Known::Successor => return None,
            Known::Words(words) => owned(words),
            Known::Listed => {
                let (_, listed) = message.split_once(" is not an allowed value [")?;
                let words = listed.trim_end_matches(']').split(", ");
                words.map(|word| word.trim_matches(['\'', '"']).to_owned()).collect()
            }
            Known::Attributes => {
                let (resource, attribute) = name.split_once(' ')?;
                let names = self.types.attribute_names(self.type_of(resource)?);
                return Some((attribute.to_owned(), names));
            }
            Known::Properties => {
                let section = format!("{}.", dialect.sections.resources);
                let start = message.find(&section)? + section.len();
                let path = message[start..].split(": ").next()?;
                let properties = format!(".{}", dialect.resource.properties);
                let (resource, inner) = path.split_once(&properties)?;
                let steps = inner.split(['.', '[', ']']).filter(|step| !step.is_empty());
                let steps = steps.filter(|step| step.parse::<usize>().is_err());
                let steps: Vec<&str> = steps.collect();
                self.types.property_names(self.type_of(resource)?, &steps)
            }
        };
        Some((name.to_owned(), names))
    }
}

/// What is wrong by a message; `None` where it does not speak of a name.
pub(crate) fn wrong(message: &str, names: &Names<'_>) -> Option<Wrong> {
    PATTERNS.iter().find_map(|pattern| {
        let name = between(message, pattern.before, pattern.after)?;
        // Of several names the first is spoken of.
        let name = name.split(", ").next().unwrap_or(name);
        let successor = SUCCESSORS.iter().find(|(old, _)| *old == name);
        if let (Known::Successor, Some((_, new))) = (pattern.known, successor) {
            let meant = Some((*new).to_owned());
            return Some(Wrong { name: name.to_owned(), is_key: false, meant });
        }
        let (name, known) = names.known(pattern.known, name, message)?;
        let meant = nearest(&name, known);
        Some(Wrong { name, is_key: pattern.is_key, meant })
    })
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    match after {
        "" => Some(rest),
        after => rest.split_once(after).map(|(name, _)| name),
    }
}

/// The nearest of the known names, unless even that is far.
pub(crate) fn nearest(wrong: &str, known: impl IntoIterator<Item = String>) -> Option<String> {
    // What the name of a type begins with is long and says little.
    let telling = wrong.rsplit("::").next().unwrap_or(wrong).chars().count();
    let limit = (telling / 3).max(1);
    let lower = wrong.to_lowercase();
    let ranked = known.into_iter().filter(|name| name != wrong).filter_map(|name| {
        let other = name.to_lowercase();
        let distance = distance(&lower, &other);
        let is_begun = telling > 2 && (other.starts_with(&lower) || lower.starts_with(&other));
        let rank = if is_begun { distance.min(limit) } else { distance };
        let changed_letters = name.chars().zip(wrong.chars()).filter(|(a, b)| a != b).count();
        (rank <= limit).then_some((rank, distance, changed_letters, name))
    });
    ranked.min().map(|(.., name)| name)
}

/// How many letters have to be changed, added, taken away, or swapped with their neighbors.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for i in 1..=left.len() {
        let mut row = vec![i];
        for j in 1..=right.len() {
            let changed = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut least = changed.min(row[j - 1] + 1).min(rows[i - 1][j] + 1);
            let swapped =
                i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if swapped {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_found_unless_it_is_far() {
        let known = || ["network", "network_id", "name"].map(str::to_owned);
        assert_eq!(nearest("netwrok", known()).as_deref(), Some("network"));
        assert_eq!(nearest("nam", known()).as_deref(), Some("name"));
        assert_eq!(nearest("Name", known()).as_deref(), Some("name"));
        assert_eq!(nearest("nmae", known()).as_deref(), Some("name"));
        assert_eq!(nearest("flavor", known()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }

    #[test]
    fn a_type_is_told_by_its_last_part() {
        let known = || ["OS::Neutron::Net", "OS::Nova::Flavor", "AWS::EC2::VPC"].map(str::to_owned);
        assert_eq!(nearest("OS::Neutron::Network", known()).as_deref(), Some("OS::Neutron::Net"));
        assert_eq!(nearest("OS::Nova::Foo", known()), None);
    }

    #[test]
    fn the_capitals_of_a_dialect_are_kept() {
        let sections = || ["parameters", "Parameters", "outputs"].map(str::to_owned);
        assert_eq!(nearest("paramters", sections()).as_deref(), Some("parameters"));
        assert_eq!(nearest("Paramters", sections()).as_deref(), Some("Parameters"));
    }
}
