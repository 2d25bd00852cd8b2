//! Which version of the language has which function, and since when in which form.

use super::{
    Kind, Parse, conditions, contains, digest, equals, filter, get_attr, get_file, get_param,
    get_resource, invalid, list_concat, list_join, make_url, map_merge, map_replace, repeat,
    str_replace, str_split,
};
use crate::template::version::{Release, Version};

/// A function since a release; for one name the newest form stands first.
struct Entry {
    name: &'static str,
    since: Release,
    kind: Kind,
}

const fn plain(name: &'static str, since: Release, parse: Parse) -> Entry {
    Entry { name, since, kind: Kind::Plain(parse) }
}

use Release::{
    R2013_05_23, R2014_10_16, R2015_04_30, R2015_10_15, R2016_04_08, R2016_10_14, R2017_02_24,
    R2017_09_01, R2021_04_16,
};

static FUNCTIONS: &[Entry] = &[
    plain("get_param", R2013_05_23, get_param::parse),
    plain("get_resource", R2013_05_23, get_resource::parse),
    plain("get_attr", R2015_10_15, get_attr::parse_all),
    plain("get_attr", R2013_05_23, get_attr::parse),
    plain("get_file", R2013_05_23, get_file::parse),
    plain("list_join", R2015_10_15, list_join::parse_many),
    plain("list_join", R2013_05_23, list_join::parse),
    plain("str_replace", R2015_10_15, str_replace::parse_json),
    plain("str_replace", R2013_05_23, str_replace::parse),
    plain("str_replace_strict", R2017_02_24, str_replace::parse_strict),
    plain("str_replace_vstrict", R2017_09_01, str_replace::parse_very_strict),
    plain("repeat", R2017_09_01, repeat::parse_nested),
    plain("repeat", R2016_10_14, repeat::parse_maps),
    plain("repeat", R2015_04_30, repeat::parse),
    plain("digest", R2015_04_30, digest::parse),
    plain("str_split", R2015_10_15, str_split::parse),
    plain("map_merge", R2016_04_08, map_merge::parse),
    plain("map_replace", R2016_10_14, map_replace::parse),
    Entry { name: "if", since: R2021_04_16, kind: Kind::If { nullable: true } },
    Entry { name: "if", since: R2016_10_14, kind: Kind::If { nullable: false } },
    plain("filter", R2017_02_24, filter::parse),
    plain("make_url", R2017_09_01, make_url::parse),
    plain("list_concat", R2017_09_01, list_concat::parse),
    plain("list_concat_unique", R2017_09_01, list_concat::parse_unique),
    plain("contains", R2017_09_01, contains::parse),
    plain("resource_facade", R2013_05_23, invalid::unsupported),
    plain("yaql", R2016_10_14, invalid::unsupported),
    plain("Fn::Select", R2015_10_15, invalid::removed),
    plain("Fn::Select", R2013_05_23, invalid::unsupported),
    plain("Fn::GetAZs", R2014_10_16, invalid::removed),
    plain("Fn::GetAZs", R2013_05_23, invalid::unsupported),
    plain("Fn::Join", R2014_10_16, invalid::removed),
    plain("Fn::Join", R2013_05_23, invalid::unsupported),
    plain("Fn::Split", R2014_10_16, invalid::removed),
    plain("Fn::Split", R2013_05_23, invalid::unsupported),
    plain("Fn::Replace", R2014_10_16, invalid::removed),
    plain("Fn::Replace", R2013_05_23, invalid::unsupported),
    plain("Fn::Base64", R2014_10_16, invalid::removed),
    plain("Fn::Base64", R2013_05_23, invalid::unsupported),
    plain("Fn::MemberListToMap", R2014_10_16, invalid::removed),
    plain("Fn::MemberListToMap", R2013_05_23, invalid::unsupported),
    plain("Fn::ResourceFacade", R2014_10_16, invalid::removed),
    plain("Fn::ResourceFacade", R2013_05_23, invalid::unsupported),
    plain("Ref", R2014_10_16, invalid::removed),
    plain("Ref", R2013_05_23, invalid::unsupported),
];

static CONDITION_FUNCTIONS: &[Entry] = &[
    plain("get_param", R2016_10_14, get_param::parse),
    plain("equals", R2016_10_14, equals::parse),
    plain("not", R2016_10_14, conditions::parse_not),
    plain("and", R2016_10_14, conditions::parse_and),
    plain("or", R2016_10_14, conditions::parse_or),
    plain("contains", R2017_09_01, contains::parse),
    plain("yaql", R2017_09_01, invalid::unsupported),
];

/// Where a call stands, which decides what it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// In resources and outputs.
    Value,
    /// In conditions, and where one is named.
    Condition,
}

/// The function of a name; none is plain data.
pub(crate) fn lookup(version: &Version, position: Position, name: &str) -> Option<Kind> {
    let value = find(FUNCTIONS, version, name);
    match position {
        Position::Value => value,
        Position::Condition => find(CONDITION_FUNCTIONS, version, name).or_else(|| {
            let is_removed = is_removed(version, name);
            value.map(|kind| if is_removed { kind } else { Kind::Plain(invalid::misplaced) })
        }),
    }
}

fn find(table: &[Entry], version: &Version, name: &str) -> Option<Kind> {
    let since = version.release;
    table.iter().find(|entry| entry.name == name && entry.since <= since).map(|entry| entry.kind)
}

/// Whether the version knows the name only to say that it is gone.
fn is_removed(version: &Version, name: &str) -> bool {
    let is_select = name == "Fn::Select";
    let gone_since = if is_select { R2015_10_15 } else { R2014_10_16 };
    (name == "Ref" || name.starts_with("Fn::")) && version.release >= gone_since
}

/// The names of a version's functions, sorted, those that are gone left out.
pub(crate) fn names(version: &Version, position: Position) -> Vec<&'static str> {
    let table = match position {
        Position::Value => FUNCTIONS,
        Position::Condition => CONDITION_FUNCTIONS,
    };
    let mut names: Vec<_> = table
        .iter()
        .filter(|entry| entry.since <= version.release && !is_removed(version, entry.name))
        .map(|entry| entry.name)
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
