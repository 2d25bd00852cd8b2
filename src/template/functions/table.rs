//! Which version of which language has which function, and since when in which form.

use super::{
    Kind, Parse, ParseScoped, base64, conditions, contains, digest, equals, filter, find_in_map,
    get_attr, get_azs, get_file, get_param, get_resource, invalid, list_concat, list_join,
    make_url, map_merge, map_replace, member_list_to_map, reference, repeat, resource_facade,
    select, split, str_replace, str_split, yaql,
};
use crate::template::dialect::Language;
use crate::template::version::{Release, Version};

/// A function since a release; for one name the newest form stands first.
struct Entry {
    name: &'static str,
    since: Release,
    /// Heat's name of the class, which some errors show.
    class: &'static str,
    kind: Kind,
}

const fn entry(name: &'static str, since: Release, class: &'static str, kind: Kind) -> Entry {
    Entry { name, since, class, kind }
}

const fn plain(name: &'static str, since: Release, class: &'static str, parse: Parse) -> Entry {
    entry(name, since, class, Kind::Plain(parse))
}

const fn scoped(
    name: &'static str,
    since: Release,
    class: &'static str,
    parse: ParseScoped,
) -> Entry {
    entry(name, since, class, Kind::Scoped(parse))
}

const fn removed(name: &'static str, since: Release) -> Entry {
    entry(name, since, "Removed", Kind::Removed)
}

use Release::{
    Aws2010_09_09, Heat2012_12_12, R2013_05_23, R2014_10_16, R2015_04_30, R2015_10_15, R2016_04_08,
    R2016_10_14, R2017_02_24, R2017_09_01, R2021_04_16,
};

static HOT: &[Entry] = &[
    plain("get_param", R2013_05_23, "GetParam", get_param::parse),
    plain("get_resource", R2013_05_23, "GetResource", get_resource::parse),
    plain("get_attr", R2015_10_15, "GetAttAllAttributes", get_attr::parse_all),
    plain("get_attr", R2013_05_23, "GetAttThenSelect", get_attr::parse),
    plain("get_file", R2013_05_23, "GetFile", get_file::parse),
    plain("list_join", R2015_10_15, "JoinMultiple", list_join::parse_many),
    plain("list_join", R2013_05_23, "Join", list_join::parse),
    plain("str_replace", R2015_10_15, "ReplaceJson", str_replace::parse_json),
    plain("str_replace", R2013_05_23, "Replace", str_replace::parse),
    plain("str_replace_strict", R2017_02_24, "ReplaceJsonStrict", str_replace::parse_strict),
    plain(
        "str_replace_vstrict",
        R2017_09_01,
        "ReplaceJsonVeryStrict",
        str_replace::parse_very_strict,
    ),
    plain("repeat", R2017_09_01, "RepeatWithNestedLoop", repeat::parse_nested),
    plain("repeat", R2016_10_14, "RepeatWithMap", repeat::parse_maps),
    plain("repeat", R2015_04_30, "Repeat", repeat::parse),
    plain("digest", R2015_04_30, "Digest", digest::parse),
    plain("str_split", R2015_10_15, "StrSplit", str_split::parse),
    plain("map_merge", R2016_04_08, "MapMerge", map_merge::parse),
    plain("map_replace", R2016_10_14, "MapReplace", map_replace::parse),
    entry("if", R2021_04_16, "IfNullable", Kind::If { nullable: true }),
    entry("if", R2016_10_14, "If", Kind::If { nullable: false }),
    plain("filter", R2017_02_24, "Filter", filter::parse),
    plain("make_url", R2017_09_01, "MakeURL", make_url::parse),
    plain("list_concat", R2017_09_01, "ListConcat", list_concat::parse),
    plain("list_concat_unique", R2017_09_01, "ListConcatUnique", list_concat::parse_unique),
    plain("contains", R2017_09_01, "Contains", contains::parse),
    scoped("resource_facade", R2013_05_23, "ResourceFacade", resource_facade::parse),
    plain("yaql", R2016_10_14, "Yaql", yaql::parse),
    removed("Fn::Select", R2015_10_15),
    plain("Fn::Select", R2013_05_23, "Select", select::parse),
    removed("Fn::GetAZs", R2014_10_16),
    plain("Fn::GetAZs", R2013_05_23, "GetAZs", get_azs::parse),
    removed("Fn::Join", R2014_10_16),
    plain("Fn::Join", R2013_05_23, "Join", list_join::parse),
    removed("Fn::Split", R2014_10_16),
    plain("Fn::Split", R2013_05_23, "Split", split::parse),
    removed("Fn::Replace", R2014_10_16),
    plain("Fn::Replace", R2013_05_23, "Replace", str_replace::parse_pair),
    removed("Fn::Base64", R2014_10_16),
    plain("Fn::Base64", R2013_05_23, "Base64", base64::parse),
    removed("Fn::MemberListToMap", R2014_10_16),
    plain("Fn::MemberListToMap", R2013_05_23, "MemberListToMap", member_list_to_map::parse),
    removed("Fn::ResourceFacade", R2014_10_16),
    scoped("Fn::ResourceFacade", R2013_05_23, "ResourceFacade", resource_facade::parse_cfn),
    removed("Ref", R2014_10_16),
    scoped("Ref", R2013_05_23, "ParamRef", reference::parse),
];

static HOT_CONDITIONS: &[Entry] = &[
    plain("get_param", R2016_10_14, "GetParam", get_param::parse),
    plain("equals", R2016_10_14, "Equals", equals::parse),
    plain("not", R2016_10_14, "Not", conditions::parse_not),
    plain("and", R2016_10_14, "And", conditions::parse_and),
    plain("or", R2016_10_14, "Or", conditions::parse_or),
    plain("contains", R2017_09_01, "Contains", contains::parse),
    plain("yaql", R2017_09_01, "Yaql", yaql::parse),
];

static CFN: &[Entry] = &[
    scoped("Ref", Heat2012_12_12, "ParamRef", reference::parse),
    plain("Fn::GetAtt", Heat2012_12_12, "GetAtt", get_attr::parse_pair),
    plain("Fn::FindInMap", Heat2012_12_12, "FindInMap", find_in_map::parse),
    plain("Fn::GetAZs", Heat2012_12_12, "GetAZs", get_azs::parse),
    plain("Fn::Select", Heat2012_12_12, "Select", select::parse),
    plain("Fn::Join", Heat2012_12_12, "Join", list_join::parse),
    plain("Fn::Split", Heat2012_12_12, "Split", split::parse),
    plain("Fn::Replace", Heat2012_12_12, "Replace", str_replace::parse_pair),
    plain("Fn::Base64", Heat2012_12_12, "Base64", base64::parse),
    plain("Fn::MemberListToMap", Heat2012_12_12, "MemberListToMap", member_list_to_map::parse),
    scoped("Fn::ResourceFacade", Heat2012_12_12, "ResourceFacade", resource_facade::parse_cfn),
    entry("Fn::If", Aws2010_09_09, "If", Kind::If { nullable: false }),
];

static CFN_CONDITIONS: &[Entry] = &[
    plain("Ref", Aws2010_09_09, "ParamRef", reference::parse_parameter),
    plain("Fn::FindInMap", Aws2010_09_09, "FindInMap", find_in_map::parse),
    plain("Fn::Equals", Aws2010_09_09, "Equals", equals::parse),
    plain("Fn::Not", Aws2010_09_09, "Not", conditions::parse_not_of_list),
    plain("Fn::And", Aws2010_09_09, "And", conditions::parse_and),
    plain("Fn::Or", Aws2010_09_09, "Or", conditions::parse_or),
];

/// Where a call stands, which decides what it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Position {
    /// In resources and outputs.
    Value,
    /// In conditions, and where one is named.
    Condition,
}

/// The functions of a version that may stand there.
fn entries(version: &Version, position: Position) -> impl Iterator<Item = &'static Entry> {
    let table = match (version.dialect.language, position) {
        (Language::Hot, Position::Value) => HOT,
        (Language::Hot, Position::Condition) => HOT_CONDITIONS,
        (Language::Cfn, Position::Value) => CFN,
        (Language::Cfn, Position::Condition) => CFN_CONDITIONS,
    };
    let release = version.release;
    table.iter().filter(move |entry| entry.since <= release)
}

/// What a name stands for, with Heat's name of the class.
pub(crate) type Found = (Kind, &'static str);

fn find(version: &Version, position: Position, name: &str) -> Option<Found> {
    let mut entries = entries(version, position);
    entries.find(|entry| entry.name == name).map(|entry| (entry.kind, entry.class))
}

/// The function of a name; none is plain data.
pub(crate) fn lookup(version: &Version, position: Position, name: &str) -> Option<Found> {
    let here = find(version, position, name);
    if here.is_some() || position == Position::Value {
        return here;
    }
    let (kind, class) = find(version, Position::Value, name)?;
    let kind = match kind {
        Kind::Removed => Kind::Removed,
        Kind::Plain(_) | Kind::Scoped(_) | Kind::If { .. } => Kind::Plain(invalid::misplaced),
    };
    Some((kind, class))
}

/// The names of a version's functions, sorted, those that are gone left out.
pub(crate) fn names(version: &Version, position: Position) -> Vec<&'static str> {
    let mut names: Vec<_> = entries(version, position).map(|entry| entry.name).collect();
    names.sort_unstable();
    names.dedup();
    names.retain(|name| !matches!(find(version, position, name), Some((Kind::Removed, _))));
    names
}

/// Whether any version has a function of the name.
pub(crate) fn is_known(name: &str) -> bool {
    let mut all = [HOT, HOT_CONDITIONS, CFN, CFN_CONDITIONS].into_iter().flatten();
    all.any(|entry| entry.name == name)
}
