//! What holds for any value and any text, shown by values and texts at random.

use ecow::EcoString;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::emit::emit;
use super::{direct, read, read_by_graph};
use crate::template::value::Datum;
use crate::template::{json, python};

/// Texts that YAML 1.1 reads as something else, or that need care.
const TRICKY: [&str; 40] = [
    "",
    " ",
    "~",
    "null",
    "yes",
    "No",
    "y",
    "1",
    "-1",
    "0x1F",
    "0b1",
    "0777",
    "08",
    "1_000",
    "1:30",
    "1.5",
    "1e3",
    "1.0e+3",
    ".inf",
    ".nan",
    "2013-05-23",
    "2001-12-14 21:59:43",
    "=",
    "<<",
    "!",
    "&a",
    "*a",
    "- a",
    "? a",
    ": ",
    "a: b",
    "a #b",
    "#",
    "---",
    "--- a",
    "...",
    "%YAML",
    "{}",
    "[a]",
    "'\"",
];

fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        select(&TRICKY[..]).prop_map(str::to_owned),
        "[ -~]{0,12}",
        "[a-z \n\t:#-]{0,20}",
        any::<String>(),
        "(a b ){0,400}",
    ];
    vec(piece, 0..3).prop_map(|pieces| pieces.concat())
}

fn value() -> impl Strategy<Value = Datum> {
    let float = any::<f64>().prop_filter("NaN differs from itself", |number| !number.is_nan());
    let whole = -(10_i128.pow(38) - 1)..10_i128.pow(38);
    let leaf = prop_oneof![
        Just(Datum::Null),
        any::<bool>().prop_map(Datum::Bool),
        any::<i64>().prop_map(|number| Datum::Int(number.into())),
        whole.prop_map(Datum::Int),
        float.prop_map(Datum::Float),
        text().prop_map(Datum::from),
    ];
    leaf.prop_recursive(8, 64, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Datum::List),
            vec((text().prop_map(EcoString::from), inner), 0..6).prop_map(|entries| {
                let entries = entries.into_iter().map(|(key, item)| (key.into(), item));
                Datum::Map(entries.collect())
            }),
        ]
    })
}

/// Text that looks like YAML, or nearly.
fn document() -> impl Strategy<Value = String> {
    const PIECES: [&str; 44] = [
        "a",
        "b: ",
        ": ",
        "- ",
        "? ",
        "\n",
        "\n  ",
        "\n    ",
        "{",
        "}",
        "[",
        "]",
        ",",
        "&x ",
        "*x",
        "&y ",
        "*y",
        "<<: ",
        "!!set ",
        "!!omap ",
        "!!binary ",
        "!!str ",
        "!!int ",
        "!t ",
        "! ",
        "'",
        "\"",
        "|\n",
        ">+\n",
        "\\u00e9",
        "\\ud83d",
        "1",
        "yes",
        "~",
        ".5",
        "#",
        " #c",
        "---\n",
        "...\n",
        "%YAML 1.3\n",
        "\t",
        "é",
        "\u{2028}",
        "2013-05-23",
    ];
    vec(select(&PIECES[..]), 0..40).prop_map(|pieces| pieces.concat())
}

/// Lines that look like a template's, or nearly.
fn lines() -> impl Strategy<Value = Vec<String>> {
    const ENTRIES: [&str; 32] = [
        "a:",
        "b: c",
        "OS::Heat::None: d",
        "'e': 'f g'",
        "\"h\" : \"i: #j\"",
        "- k",
        "-",
        "- l: m",
        "- - n",
        "-  o:",
        "p: [q, 1, {r: s}]",
        "t: {u: [], 'v': {}, w: 2013-05-23}  # x",
        "y: |",
        "z: |-  ",
        "a: >",
        "b: >-",
        "- |",
        "# a comment",
        "",
        "  ",
        "text  # with a comment",
        "a:  # b",
        "a: http://b/#c",
        "a: -1.5",
        "yes: 1",
        "c: ''",
        "d: [a: b]",
        "e: {f: g,}",
        "h: [i:j, k::, 'l' ]",
        "m : n",
        "...",
        "--- o",
    ];
    let line = (select(&[0_usize, 0, 0, 2, 2, 2, 4, 1][..]), select(&ENTRIES[..]));
    let line = line.prop_map(|(depth, entry)| " ".repeat(depth) + entry);
    vec(line, 1..12)
}

/// One entry whose value is nearly a plain scalar or a flow collection.
fn inline() -> impl Strategy<Value = String> {
    "a: [\\[{]{0,2}[-a1 ,:'\"#?|&*!%@`~=<.\\]}\\[{]{0,12}[\\]}]{0,2}\n?"
}

proptest! {
    #[test]
    fn what_is_emitted_reads_back_the_same(value in value()) {
        let text = emit(&value);
        let read = read(&text).map_err(|error| error.message(&text));
        let expected = match &value {
            Datum::Null => Datum::Map(Default::default()),
            other => other.clone(),
        };
        prop_assert_eq!(read.map(|node| python::repr(&node.to_datum())), Ok(python::repr(&expected)));
    }

    #[test]
    fn a_plain_document_is_read_as_its_graph_is(
        text in document(), lines in lines(), inline in inline(),
        value in value(),
    ) {
        for text in [text, lines.join("\n"), lines.join("\n") + "\n", inline, emit(&value)] {
            if let Some(node) = direct::read(&text) {
                let by_graph = read_by_graph(&text).ok().flatten();
                prop_assert_eq!(format!("{by_graph:?}"), format!("{:?}", Some(node)));
            }
        }
    }

    #[test]
    fn json_of_a_value_reads_back_the_same(value in value()) {
        let text = python::json_text(&value, false);
        let read = json::parse(&text).map(|node| python::repr(&node.to_datum()));
        prop_assert_eq!(read, Ok(python::repr(&value)));
    }

    #[test]
    fn what_is_read_is_emitted_and_read_again(text in document()) {
        if let Ok(node) = read(&text) {
            let value = node.to_datum();
            prop_assume!(!matches!(value, Datum::Null));
            let again = emit(&value);
            let read = read(&again).map_err(|error| error.message(&again));
            prop_assert_eq!(read.map(|node| python::repr(&node.to_datum())), Ok(python::repr(&value)));
        }
    }
}
