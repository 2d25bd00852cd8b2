//! What the API lists of the language: its versions, and the functions of each.

use super::functions::table::{self, Position};
use super::version::{VERSIONS, Version};

/// A version of the language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VersionListed {
    /// `heat_template_version.2018-08-31`.
    pub version: String,
    /// `hot` or `cfn`.
    pub kind: &'static str,
    /// `heat_template_version.rocky`.
    pub aliases: Vec<String>,
}

/// A function with what it does, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionListed {
    pub name: &'static str,
    pub description: &'static str,
}

/// All versions, CloudFormation's first, then HOT's, oldest first.
pub fn template_versions() -> Vec<VersionListed> {
    let named = |version: &Version| format!("{}.{}", version.key, version.name);
    VERSIONS
        .iter()
        .filter(|version| version.alias_of.is_none())
        .map(|version| VersionListed {
            version: named(version),
            kind: version.dialect.language.name(),
            aliases: VERSIONS
                .iter()
                .filter(|alias| alias.key == version.key && alias.alias_of == Some(version.name))
                .map(named)
                .collect(),
        })
        .collect()
}

/// The functions of a version (`heat_template_version.2018-08-31`), sorted by name; `None` if
/// there is no such version. Condition functions come along only where they are asked for.
pub fn template_functions(version: &str, with_conditions: bool) -> Option<Vec<FunctionListed>> {
    let (key, name) = version.split_once('.')?;
    let version = VERSIONS.iter().find(|version| version.key == key && version.name == name)?;
    let mut names = table::names(version, Position::Value);
    if with_conditions {
        names.extend(table::names(version, Position::Condition));
        names.sort_unstable();
        names.dedup();
    }
    let listed = |name| FunctionListed { name, description: description(name) };
    Some(names.into_iter().map(listed).collect())
}

fn description(name: &str) -> &'static str {
    match name {
        "get_param" => "Gives the value of a parameter, or of a part of it.",
        "get_resource" => "Gives what stands for another resource, most often its id.",
        "get_attr" => "Gives an attribute of another resource, or a part of it.",
        // A public conformance test compares this one word for word.
        "get_file" => "A function for including a file inline.",
        "list_join" => "Joins the items of lists to one text with a delimiter between them.",
        "str_replace" => "Replaces placeholders in a text by values.",
        "str_replace_strict" => "Replaces placeholders in a text, all of which must be there.",
        "str_replace_vstrict" => {
            "Replaces placeholders in a text, all of which must be there and have a value."
        }
        "repeat" => "Makes a list of copies of a template, one for each item of lists.",
        "digest" => "Gives the hash of a text.",
        "str_split" => "Splits a text at a delimiter, or gives one of the parts.",
        "map_merge" => "Merges maps into one, later ones winning.",
        "map_replace" => "Replaces keys and values of a map.",
        "if" | "Fn::If" => "Chooses one of two values by a condition.",
        "filter" => "Takes the items of one list out of another.",
        "make_url" => "Makes a URL of its parts.",
        "list_concat" => "Makes one list of several.",
        "list_concat_unique" => "Makes one list of several, without repeated items.",
        "contains" => "Tells whether a value is in a list or a text.",
        "equals" | "Fn::Equals" => "Tells whether two values are equal.",
        "not" | "Fn::Not" => "Turns a condition around.",
        "and" | "Fn::And" => "Tells whether all of several conditions hold.",
        "or" | "Fn::Or" => "Tells whether any of several conditions holds.",
        "resource_facade" => "Gives metadata or a policy of the resource that a nested stack is.",
        "yaql" => "Gives the result of a YAQL expression on data.",
        "Ref" => "Gives the value of a parameter, or what stands for a resource.",
        "Fn::GetAtt" => "Gives an attribute of another resource.",
        "Fn::FindInMap" => "Gives a value of the section of mappings.",
        "Fn::GetAZs" => "Gives the availability zones of a region.",
        "Fn::Join" => "Joins texts with a delimiter between them.",
        "Fn::Split" => "Splits a text at a delimiter.",
        "Fn::Select" => "Gives an item of a list or a map.",
        "Fn::Replace" => "Replaces placeholders in a text by values.",
        "Fn::Base64" => "Gives a text as it is; nothing is encoded.",
        "Fn::MemberListToMap" => "Makes a map of a flat list of keys and values.",
        "Fn::ResourceFacade" => {
            "Gives metadata or a policy of the resource that a nested stack is."
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_come_with_their_release_names() {
        let versions = template_versions();
        assert_eq!(versions.len(), 13);
        assert_eq!(versions[0].version, "AWSTemplateFormatVersion.2010-09-09");
        assert_eq!((versions[1].kind, versions[2].kind), ("cfn", "hot"));
        assert_eq!(versions[11].aliases, ["heat_template_version.rocky"]);
    }

    #[test]
    fn functions_are_those_of_the_version_and_all_are_described() {
        let names = |version: &str, conditions| -> Vec<&str> {
            let listed = template_functions(version, conditions).unwrap();
            assert!(listed.iter().all(|function| !function.description.is_empty()));
            listed.iter().map(|function| function.name).collect()
        };
        assert!(names("heat_template_version.2013-05-23", false).contains(&"Ref"));
        let newest = names("heat_template_version.2021-04-16", false);
        assert!(!newest.contains(&"Ref") && newest.contains(&"make_url"));
        assert!(!newest.contains(&"equals"));
        assert!(names("heat_template_version.wallaby", true).contains(&"equals"));
        let cfn = names("AWSTemplateFormatVersion.2010-09-09", true);
        assert!(cfn.contains(&"Fn::If") && cfn.contains(&"Fn::And"));
        assert!(!names("HeatTemplateFormatVersion.2012-12-12", true).contains(&"Fn::If"));
        assert!(template_functions("heat_template_version.1999-01-01", true).is_none());
    }
}
