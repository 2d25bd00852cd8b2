//! Generated templates, each beside what Heat makes of it: `hearth resolve --batch` must come to
//! the same documents and the same refusals.
//!
//! `HEARTH_CASES` names a directory with further cases (`cases.jsonl`, `answers.jsonl`) of real
//! templates.

use std::collections::HashMap;
use std::path::Path;

use fancy_regex::{Captures, Regex};
use serde_json::Value;

use crate::support::batch::resolve_batch;

/// How many of the refusals have Heat's text, in per cent.
const TEXTS_MIN: f64 = 95.0;

#[test]
fn generated_templates_come_to_what_heat_makes_of_them() {
    sit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/template/generated"));
}

#[test]
fn requests_that_found_a_difference_come_to_what_heat_makes_of_them() {
    sit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/template/random"));
}

#[test]
fn real_templates_come_to_what_heat_makes_of_them() {
    match std::env::var_os("HEARTH_CASES") {
        Some(directory) => sit(Path::new(&directory)),
        None => println!("no real templates are at hand"),
    }
}

/// Runs the cases of a directory and compares.
fn sit(directory: &Path) {
    let cases = std::fs::read(directory.join("cases.jsonl")).unwrap();
    let got = answers(&resolve_batch(cases));
    let wanted = answers(&std::fs::read(directory.join("answers.jsonl")).unwrap());
    assert!(wanted.len() > 100, "only {} cases in {}", wanted.len(), directory.display());

    let judge = Judge::new();
    let (mut wrong, mut refused, mut texts) = (Vec::new(), 0, 0);
    for (id, want) in &wanted {
        let verdicts: Vec<Verdict> = match got.get(id) {
            Some(got) => want.iter().map(|want| judge.verdict(want, &got[0])).collect(),
            None => vec![Verdict::Wrong("no answer".to_owned())],
        };
        refused += usize::from(want[0]["ok"] == false);
        if verdicts.contains(&Verdict::Same) {
            texts += usize::from(want[0]["ok"] == false);
        } else if !verdicts.contains(&Verdict::OtherText)
            && let Some(Verdict::Wrong(reason)) = verdicts.into_iter().next()
        {
            wrong.push(format!("{id}: {reason}"));
        }
    }
    let share = 100.0 * texts as f64 / refused.max(1) as f64;
    println!("{} cases, {refused} refusals, {share:.1} % with Heat's text", wanted.len());
    wrong.sort();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(share >= TEXTS_MIN, "{share:.1} % of the refusals have Heat's text");
}

/// The answers by id: the one, and those that come about under another order of Python's sets.
fn answers(lines: &[u8]) -> HashMap<String, Vec<Value>> {
    let lines = lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let parsed = lines.map(|line| {
        let mut line: Value = serde_json::from_slice(line).unwrap();
        let mut results = vec![line["result"].take()];
        if let Value::Array(others) = line["alternatives"].take() {
            results.extend(others);
        }
        (line["id"].as_str().unwrap().to_owned(), results)
    });
    parsed.collect()
}

#[derive(Debug, PartialEq)]
enum Verdict {
    Same,
    OtherText,
    Wrong(String),
}

/// Compares two results.
struct Judge {
    python_set: Regex,
}

impl Judge {
    fn new() -> Self {
        Self { python_set: Regex::new(r"\{('[^']*'(?:, '[^']*')+)\}").unwrap() }
    }

    fn verdict(&self, want: &Value, got: &Value) -> Verdict {
        let both = (want["ok"] == true, got["ok"] == true);
        match both {
            (true, true) => {
                let mut same_texts = true;
                match self.difference(want, got, "", &mut same_texts) {
                    Some(difference) => Verdict::Wrong(difference),
                    None if same_texts => Verdict::Same,
                    None => Verdict::OtherText,
                }
            }
            (true, false) => Verdict::Wrong(format!("refused: {} {}", got["type"], got["error"])),
            (false, true) => {
                Verdict::Wrong(format!("accepted: {} {}", want["type"], want["error"]))
            }
            // Heat fell over: any clear refusal will do.
            (false, false) if is_accident(want) => match got["error"].as_str() {
                Some(text) if !text.trim().is_empty() => Verdict::Same,
                _ => Verdict::Wrong("a refusal without a word".to_owned()),
            },
            (false, false) if want["type"] != got["type"] => {
                let (want, got) = (&want["type"], got);
                Verdict::Wrong(format!("{want} is wanted, not {} {}", got["type"], got["error"]))
            }
            (false, false) if self.same_text(&want["error"], &got["error"]) => Verdict::Same,
            (false, false) => Verdict::OtherText,
        }
    }

    /// The first place where two documents differ, but for the texts of errors in them.
    fn difference(
        &self,
        want: &Value,
        got: &Value,
        path: &str,
        same_texts: &mut bool,
    ) -> Option<String> {
        match (want, got) {
            (Value::Object(error), _) if error.contains_key("!error") => {
                let Some(class) = got.get("!error") else {
                    return Some(format!("{path}: {want} is wanted, not {got}"));
                };
                *same_texts &=
                    want["!error"] == *class && self.same_text(&want["text"], &got["text"]);
                None
            }
            (Value::Object(wanted), Value::Object(given)) => {
                if let Some(more) = given.keys().find(|key| !wanted.contains_key(*key)) {
                    return Some(format!("{path}.{more} is too much"));
                }
                wanted.iter().find_map(|(key, want)| match given.get(key) {
                    None => Some(format!("{path}.{key} is missing")),
                    Some(got) => self.difference(want, got, &format!("{path}.{key}"), same_texts),
                })
            }
            (Value::Array(wanted), Value::Array(given)) if wanted.len() == given.len() => {
                wanted.iter().zip(given).enumerate().find_map(|(index, (want, got))| {
                    self.difference(want, got, &format!("{path}.{index}"), same_texts)
                })
            }
            _ if want == got => None,
            _ => Some(format!("{path}: {want} is wanted, not {got}")),
        }
    }

    fn same_text(&self, want: &Value, got: &Value) -> bool {
        match (want.as_str(), got.as_str()) {
            (Some(want), Some(got)) => self.folded(want) == self.folded(got),
            _ => want == got,
        }
    }

    /// A text with single spaces, and with the sets in it in order.
    fn folded(&self, text: &str) -> String {
        let sorted = self.python_set.replace_all(text, |found: &Captures<'_>| {
            let mut items: Vec<&str> = found[1].split(", ").collect();
            items.sort_unstable();
            format!("{{{}}}", items.join(", "))
        });
        sorted.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn is_accident(want: &Value) -> bool {
    want["error"]
        .as_str()
        .is_none_or(|text| text.starts_with("The server could not comply with the request"))
}
