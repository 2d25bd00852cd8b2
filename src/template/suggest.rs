//! Names that may have been meant where a wrong one is written.

use super::TypeLookup;
use super::error::TemplateError;
use super::node::Node;
use super::version::VERSIONS;

/// Where names are looked for.
pub(crate) struct Names<'a> {
    pub(crate) root: &'a Node,
    pub(crate) types: &'a dyn TypeLookup,
}

impl Names<'_> {
    fn keys(&self, section: &str) -> Vec<String> {
        let map = self.root.get(section).and_then(Node::as_map);
        map.into_iter().flat_map(|map| map.keys().cloned()).collect()
    }

    /// The type of a resource, as far as it is not an alias.
    fn type_of(&self, resource: &str) -> Option<&str> {
        self.root.get("resources")?.get(resource)?.get("type")?.as_text()
    }
}

/// The name that an error says is no parameter of the template.
pub(crate) fn unknown_parameter(error: &TemplateError) -> Option<&str> {
    let message = &error.message;
    (error.class == "UnknownUserParameter")
        .then(|| between(message, "The Parameter (", ")"))
        .flatten()
}

/// The name nearest to the one that an error complains of.
pub(crate) fn suggestion(error: &TemplateError, names: &Names<'_>) -> Option<String> {
    let message = error.message.as_str();
    let (wrong, known): (&str, Vec<String>) = if let Some(name) =
        between(message, "The Resource Type (", ")")
    {
        (name, names.types.type_names())
    } else if let Some(name) = between(message, "The specified reference \"", "\"") {
        (name, names.keys("resources"))
    } else if let Some(name) = between(message, "The Parameter (", ")") {
        (name, names.keys("parameters"))
    } else if let Some(name) = between(message, "Invalid condition \"", "\"") {
        (name, names.keys("conditions"))
    } else if let Some(pair) = between(message, "The Referenced Attribute (", ")") {
        let (resource, attribute) = pair.split_once(' ')?;
        (attribute, names.types.attribute_names(names.type_of(resource)?))
    } else if let Some((path, name)) = message.split_once("Unknown Property ") {
        let resource = between(path, "resources.", ".properties")?;
        (name, names.types.property_names(names.type_of(resource)?))
    } else if let Some(name) = between(message, "The template section is invalid: ", "") {
        let known =
            ["conditions", "description", "outputs", "parameter_groups", "parameters", "resources"];
        (name, known.map(str::to_owned).to_vec())
    } else if let Some(name) = between(message, "\"heat_template_version: ", "\"") {
        (name, VERSIONS.iter().map(|version| version.name.to_owned()).collect())
    } else if let Some(key) = between(message, "Invalid key '", "'") {
        let known = [
            "type",
            "description",
            "default",
            "constraints",
            "hidden",
            "label",
            "immutable",
            "tags",
            "min",
            "max",
            "step",
            "offset",
            "range",
            "length",
            "modulo",
            "allowed_values",
            "allowed_pattern",
            "custom_constraint",
        ];
        (key, known.map(str::to_owned).to_vec())
    } else if message.contains("keyword") {
        let wrong = between(message, "\"", "\" is not a valid keyword")
            .or_else(|| between(message, "definition: ", ""))?;
        let known = [
            "type",
            "properties",
            "metadata",
            "depends_on",
            "deletion_policy",
            "update_policy",
            "description",
            "external_id",
            "condition",
        ];
        (wrong, known.map(str::to_owned).to_vec())
    } else {
        return None;
    };
    nearest(wrong, known)
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    match after {
        "" => Some(rest),
        after => rest.split_once(after).map(|(name, _)| name),
    }
}

/// The nearest of the known names, unless even that is far.
fn nearest(wrong: &str, known: Vec<String>) -> Option<String> {
    let limit = (wrong.chars().count() / 3).max(1);
    let distances = known.into_iter().filter(|name| name != wrong).map(|name| {
        let distance = distance(&wrong.to_lowercase(), &name.to_lowercase());
        (distance, name)
    });
    distances.filter(|(distance, _)| *distance <= limit).min().map(|(_, name)| name)
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
        let known = || vec!["network".to_owned(), "network_id".to_owned(), "name".to_owned()];
        assert_eq!(nearest("netwrok", known()).as_deref(), Some("network"));
        assert_eq!(nearest("nam", known()).as_deref(), Some("name"));
        assert_eq!(nearest("Name", known()).as_deref(), Some("name"));
        assert_eq!(nearest("nmae", known()).as_deref(), Some("name"));
        assert_eq!(nearest("flavor", known()), None);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
