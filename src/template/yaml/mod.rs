//! Reading YAML as PyYAML's safe loader reads it: YAML 1.1 scalars, merge keys, the last of
//! duplicate keys wins, dates stay text as Heat wants them. Everything is bounded: bytes by the
//! caller, depth and what aliases expand to here.

mod assemble;
mod compose;
mod construct;
mod direct;
pub(crate) mod emit;
mod error;
mod event;
mod libyaml;
mod made;
#[cfg(test)]
mod properties;
mod pure;
mod resolver;
mod scalars;
mod tag;
mod timestamp;
mod written;

use self::compose::compose;
use self::construct::construct;
pub(super) use self::error::YamlError;
use self::scalars::Timestamps;
pub(crate) use self::written::{Shape, Written, written};
use super::node::{Form, Node, Place};

/// How deep collections may nest. Stored templates pass a JSON reader that stops at 128.
pub(super) const DEPTH_MAX: usize = 100;

/// How many nodes aliases may add to a document.
pub(super) const ALIAS_NODES_MAX: usize = 100_000;

/// How many bytes of text aliases may add to a document.
pub(super) const ALIAS_BYTES_MAX: usize = 2 * 1024 * 1024;

/// How many lines may be directives: each is compared with all before it.
const DIRECTIVES_MAX: usize = 1_000;

/// Reads the one document of a text, of which nothing is an empty map.
pub(super) fn read(text: &str) -> Result<Node, YamlError> {
    if directives(text) > DIRECTIVES_MAX {
        let message = format!("There are more than {DIRECTIVES_MAX} directives");
        return Err(YamlError::limit(Place { line: 1, column: 1 }, message));
    }
    if let Some(node) = direct::read(text) {
        return Ok(node);
    }
    match read_by_graph(text) {
        Ok(Some(node)) if !node.is_null() => Ok(node),
        Ok(_) => Ok(Node { form: Form::Map(Default::default()), ..Node::default() }),
        // What the second reader accepts counts, nothing and dates as what they are.
        Err(error) if error.is_of_syntax() => match compose(pure::Parser::new(text)?)? {
            Some(graph) => construct(graph, Timestamps::Dates),
            None => Ok(Node::default()),
        },
        Err(error) => Err(error),
    }
}

/// The number of lines that begin with `%`.
fn directives(text: &str) -> usize {
    let starts_line = |at: usize| text[..at].chars().next_back().is_none_or(error::is_break);
    text.match_indices('%').filter(|(at, _)| starts_line(*at)).count()
}

fn read_by_graph(text: &str) -> Result<Option<Node>, YamlError> {
    let Some(graph) = compose(libyaml::Scanner::new(text)?)? else {
        return Ok(None);
    };
    construct(graph, Timestamps::Text).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::python;

    fn check(text: &str, expected: &str) {
        let value = read(text).unwrap().to_datum();
        assert_eq!(python::repr(&value), expected, "{text}");
    }

    fn refused(text: &str, problem: &str) {
        let message = read(text).unwrap_err().message(text);
        assert!(message.contains(problem), "{text}: {message}");
    }

    #[test]
    fn plain_scalars_are_those_of_yaml_1_1() {
        check(
            "[yes, No, on, y, ~, null, '', Null]",
            "[True, False, True, 'y', None, None, '', None]",
        );
        check("[1:30, 0777, 1_000, 0x1F, 0b11, -5, +5]", "[90, 511, 1000, 31, 3, -5, 5]");
        check(
            "[08, 0o17, 1e3, 1.e3, 5e-324, 1:60]",
            "['08', '0o17', '1e3', '1.e3', '5e-324', '1:60']",
        );
        check(
            "[1.0e+3, 190:20:30.15, .5, 1., .inf, -.INF]",
            "[1000.0, 685230.15, 0.5, 1.0, inf, -inf]",
        );
        check(
            "[2013-05-23, 2001-12-14t21:59:43.10-05:00]",
            "['2013-05-23', '2001-12-14t21:59:43.10-05:00']",
        );
        check("['1', \"yes\", !!str 1, !!int '7', ! 5]", "['1', 'yes', '1', 7, 5]");
    }

    #[test]
    fn merge_keys_and_duplicates_are_pythons() {
        check("{a: 1, b: 2, a: 3}", "{'a': 3, 'b': 2}");
        check(
            "x: &x {a: 1, b: 2}\ny: {<<: *x, b: 3}",
            "{'x': {'a': 1, 'b': 2}, 'y': {'a': 1, 'b': 3}}",
        );
        check("y: {<<: [{a: 1}, {a: 2, c: 3}]}", "{'y': {'a': 1, 'c': 3}}");
        check("{'<<': 1}", "{'<<': 1}");
        check("{1: a, yes: b, 1.0: c}", "{'1': 'c'}");
        check("{1: a, '1': b}", "{'1': 'b'}");
        check("{~: a, true: b, 1.5: c}", "{'null': 'a', 'true': 'b', '1.5': 'c'}");
    }

    #[test]
    fn rarer_tags_become_what_the_safe_loader_and_json_make_of_them() {
        check("!!set {a, b}", "['a', 'b']");
        check("!!omap [a: 1, b: 2]", "[['a', 1], ['b', 2]]");
        check("!!pairs [a: 1, a: 2]", "[['a', 1], ['a', 2]]");
        check("!!binary aGVsbG8=", "'hello'");
        check("\"\\ud83d\\ude00 \\u00e9\"", "'😀 é'");
    }

    #[test]
    fn a_mark_of_the_byte_order_comes_before_any_document() {
        check("\u{feff}a: 2001-13-99", "{'a': '2001-13-99'}");
        check("\u{feff}--- # x\na: é", "{'a': 'é'}");
        refused("# x\n\u{feff}a: 2001-13-99\nb: 1", "month must be in 1..12");
    }

    #[test]
    fn what_pyyaml_refuses_is_refused() {
        refused("a: =", "could not determine a constructor for the tag 'tag:yaml.org,2002:value'");
        refused("a: <<", "could not determine a constructor for the tag 'tag:yaml.org,2002:merge'");
        refused("!foo a", "could not determine a constructor for the tag '!foo'");
        refused("[a]: b\n", "found unhashable key");
        refused("a: *b", "found undefined alias 'b'");
        refused("a\n---\nb", "but found another document");
        refused("&a [*a]", "stands within what it refers to");
        refused("a: [", "expected the node content, but found '<stream end>'");
    }

    #[test]
    fn depth_and_aliases_are_bounded() {
        refused(&"[".repeat(200), "nested deeper");
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        for level in 1..30 {
            bomb += &format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1);
        }
        refused(&bomb, "Aliases");
    }

    #[test]
    fn nodes_know_where_they_stand() {
        let node = read("a:\n  bc: [1, two]\n").unwrap();
        let list = node.get("a").and_then(|a| a.get("bc")).unwrap();
        assert_eq!(list.key_place, Place { line: 2, column: 3 });
        assert_eq!(list.as_list().unwrap()[1].place, Place { line: 2, column: 11 });
    }
}
