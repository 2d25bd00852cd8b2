//! The fuzz target on stable Rust: known templates, changed at random, are resolved or refused, in
//! their time and memory. The seed is printed; `FUZZ_SEED` and `FUZZ_ROUNDS` play it again or longer.

use std::io::{BufRead, BufReader, Write};
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use hearth::actors::resource::Resource;
use hearth::actors::shell::Aggregate;
use hearth::actors::stack::Stack;
use hearth::events::bundle::Bundle;
use hearth::events::{ResourceEvent, StackEvent};
use hearth::resource_types::Registry;
use hearth::template::yaml_text;
use serde_json::{Value, json};

#[path = "../../fuzz/resolve_input.rs"]
mod resolve_input;
mod sent;

/// How long one input may take; a debug build is some ten times slower than what is shipped.
const TIME_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 1 });

const MEMORY_MAX_KIB: u64 = 256 * 1024;

const ROUNDS: u64 = 2_000;

/// What is put into a text: whatever means something in YAML, JSON or the template language.
const PIECES: [&str; 62] = [
    "{",
    "}",
    "[",
    "]",
    ": ",
    ":",
    "- ",
    "&a ",
    "*a",
    "!!set ",
    "!!binary ",
    "!!omap ",
    "!!int ",
    "!",
    "\"",
    "'",
    "\n",
    "\n  ",
    "<<: ",
    "<<",
    "? ",
    "é",
    "\u{0}",
    "|",
    ">-2",
    "%YAML 1.3\n",
    "%TAG ! x\n",
    "---\n",
    "...\n",
    "\\ud83d",
    "\\x4",
    "\t",
    "\u{2028}",
    "\u{feff}",
    "#",
    " #",
    "=",
    "~",
    "0x",
    "1_0",
    "1:30",
    ".inf",
    ".nan",
    "-1",
    "99999999999999999999",
    "1e400",
    "2001-01-01",
    "if: ",
    "repeat: ",
    "yaql: ",
    "get_param: ",
    "get_attr: ",
    "get_resource: ",
    "list_join: ",
    "str_replace: ",
    "map_merge: ",
    "Fn::Select: ",
    "Ref: ",
    "conditions:\n  a: ",
    "OS::stack_name",
    "for_each: ",
    "%1%",
];

#[test]
fn every_text_is_resolved_or_refused() {
    let registry = Registry::built_in().unwrap();
    let seed = setting("FUZZ_SEED").unwrap_or(20_130_523);
    let rounds = setting("FUZZ_ROUNDS").unwrap_or(ROUNDS);
    println!("FUZZ_SEED={seed} FUZZ_ROUNDS={rounds}");
    let corpus = corpus();
    let mut chance = Chance(seed);
    for round in 0..rounds {
        let text = mutated(&corpus, &PIECES, &mut chance);
        let began = Instant::now();
        let run = AssertUnwindSafe(|| resolve_input::resolve(&registry, text.as_bytes()));
        let outcome = std::panic::catch_unwind(run);
        assert!(outcome.is_ok(), "round {round} of seed {seed} panics:\n{text}");
        assert!(began.elapsed() < TIME_MAX, "round {round} of seed {seed} takes too long:\n{text}");
    }
}

#[test]
fn texts_made_to_grow_are_answered_in_time_and_memory() {
    for (name, text) in bombs() {
        let line = json!({ "id": name, "template": text }).to_string() + "\n";
        let mut child = Command::new(env!("CARGO_BIN_EXE_hearth"))
            .args(["resolve", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let began = Instant::now();
        input.write_all(line.as_bytes()).unwrap();
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        assert!(began.elapsed() < TIME_MAX, "{name} takes {:?}", began.elapsed());
        assert!(answer.contains("\"ok\""), "{name} is not answered: {answer}");
        if let Some(peak) = peak_kib(child.id()) {
            assert!(peak < MEMORY_MAX_KIB, "{name} takes {peak} KiB");
        }
        drop(input);
        child.wait().unwrap();
    }
}

/// How many histories in files are changed at random, and how many of them a command reads.
const BUNDLE_ROUNDS: u64 = 500;
const BUNDLES_REPLAYED: u64 = 40;

/// What is put into a history in a file.
const BUNDLE_PIECES: [&str; 16] = [
    "{",
    "}",
    "[[[[",
    "null",
    "\n",
    "\"",
    ":",
    ",",
    "-1",
    "18446744073709551615",
    "1e400",
    "true",
    "\"sealed\":",
    "\\u0000",
    "\\u001b[2J",
    "{\"end\":{\"events\":0,\"sources\":0}}\n",
];

#[actix::test]
async fn every_history_in_a_file_is_read_or_refused() {
    let seed = setting("FUZZ_SEED").unwrap_or(20_130_523);
    let rounds = setting("FUZZ_ROUNDS").unwrap_or(BUNDLE_ROUNDS);
    println!("FUZZ_SEED={seed} FUZZ_ROUNDS={rounds}");
    let whole = crate::histories::bundle_of("format-3").await;
    assert!(Bundle::read(whole.as_bytes()).unwrap().events().count() > 50);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("web.jsonl");
    let (mut chance, mut read) = (Chance(seed), 0);
    for round in 0..rounds {
        let text = mutated_lines(&whole, &mut chance);
        let run = AssertUnwindSafe(|| fold(text.as_bytes()));
        match std::panic::catch_unwind(run) {
            Ok(is_read) => read += u64::from(is_read),
            Err(_) => panic!("round {round} of seed {seed} panics:\n{text}"),
        }
        if round < BUNDLES_REPLAYED {
            std::fs::write(&path, &text).unwrap();
            for more in ["--json", "--step"] {
                let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
                let output = command.args(["replay", more, "--file"]).arg(&path).output().unwrap();
                let code = output.status.code();
                let errors = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(matches!(code, Some(0 | 1)), "round {round} of seed {seed}: {errors}");
                assert!(!errors.contains("panicked"), "round {round} of seed {seed}: {errors}");
            }
        }
    }
    assert!(read > 0, "nothing that was changed could be read");
}

/// Reads a history and folds what can be read of it; whether it was one.
fn fold(text: &[u8]) -> bool {
    let Ok(bundle) = Bundle::read(text) else { return false };
    let (mut stack, mut resource) = (Stack::default(), Resource::default());
    for event in bundle.events() {
        if let Ok(body) = event.decode::<StackEvent>() {
            stack.apply(&body, event.at);
        }
        if let Ok(body) = event.decode::<ResourceEvent>() {
            resource.apply(&body, event.at);
        }
    }
    true
}

/// A few lines of it changed, doubled, dropped or put elsewhere.
fn mutated_lines(whole: &str, chance: &mut Chance) -> String {
    let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
    for _ in 0..=chance.below(3) {
        let at = chance.below(lines.len());
        match chance.below(12) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[chance.below(lines.len())].clone()),
            2 => {
                let other = chance.below(lines.len());
                lines.swap(at, other);
            }
            _ => {
                let mut chars: Vec<char> = lines[at].chars().collect();
                let from = chance.below(chars.len() + 1);
                let to = (from + chance.below(8)).min(chars.len());
                let piece = BUNDLE_PIECES[chance.below(BUNDLE_PIECES.len())];
                // A letter for another leaves most of it to be read.
                let piece = if chance.below(2) == 0 { "7" } else { piece };
                chars.splice(from..to, piece.chars());
                lines[at] = chars.into_iter().collect();
            }
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// The most memory that a process had, where the system tells.
fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    peak.trim().trim_end_matches(" kB").parse().ok()
}

/// Texts of few bytes, or of as many as are allowed, that cost a careless reader more.
fn bombs() -> Vec<(&'static str, String)> {
    const FULL: usize = 500_000;
    let template = |value: &str| {
        format!("heat_template_version: 2021-04-16\noutputs: {{o: {{value: {value}}}}}\n")
    };
    let doubling = |kind: fn(usize) -> String| {
        let levels: Vec<String> = (1..40).map(kind).collect();
        format!("heat_template_version: 2021-04-16\nx:\n  a0: &a0 {{k: v}}\n{}", levels.concat())
    };
    let lists = |n| format!("  a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1);
    let merges = |n| format!("  a{n}: &a{n} {{<<: [*a{0}, *a{0}], k{n}: v}}\n", n - 1);
    let handles = |n| format!("%TAG !a{n}! x\n");
    let anchors = |n| format!("- &a{n} x\n");
    let parameter =
        format!("parameters: {{p: {{type: string, default: '{}'}}}}", "x".repeat(FULL / 2));
    let numbers: Vec<String> = (0..180).map(|number| format!("'{number}'")).collect();
    let numbers = numbers.join(",");
    vec![
        ("a list in a list", "[".repeat(FULL)),
        ("a map in a map", "{a: ".repeat(FULL / 4)),
        ("a list in a list of blocks", "- ".repeat(FULL / 2)),
        ("a key in a key", "? ".repeat(FULL / 2)),
        ("brackets closed", "]".repeat(FULL)),
        ("lists of aliases", doubling(lists)),
        ("merges of aliases", doubling(merges)),
        ("anchors", (0..FULL / 16).map(anchors).collect()),
        ("handles", (0..FULL / 20).map(handles).collect()),
        ("an open quote", format!("a: \"{}", " \n".repeat(FULL / 2))),
        ("a long line", template(&"x".repeat(FULL))),
        ("a long key", format!("{}: y\n", "x ".repeat(FULL / 2))),
        ("colons", "a:".repeat(FULL / 2)),
        ("sixties", template(&"1:".repeat(FULL / 2))),
        ("digits", template(&"1".repeat(FULL))),
        ("a tag", template(&format!("!{} x", "a".repeat(FULL)))),
        ("comments", "#\n".repeat(FULL / 2)),
        ("wide characters", template(&"😀".repeat(FULL / 2))),
        ("escapes", template(&format!("\"{}\"", "\\x41".repeat(FULL / 4)))),
        ("nulls", template(&format!("[{}]", "~,".repeat(FULL / 2)))),
        (
            "a long parameter, often",
            format!(
                "{parameter}\n{}",
                template(&format!("[{}]", "{get_param: p},".repeat(FULL / 2 / 15)))
            ),
        ),
        (
            "a long delimiter",
            template(&format!(
                "{{list_join: ['{}', {{str_split: [',', '{}']}}]}}",
                "x".repeat(FULL / 2),
                ",".repeat(FULL / 2)
            )),
        ),
        ("calls in calls", template(&format!("{}x", "{list_join: [a, [".repeat(40)))),
        (
            "a repeat over many lists",
            template(&format!(
                "{{repeat: {{template: [a, b, c, d], for_each: {{a: [{numbers}], b: [{numbers}], \
                 c: [{numbers}], d: [{numbers}]}}}}}}"
            )),
        ),
        (
            "text that replaces itself",
            template(&format!(
                "{{str_replace: {{template: '{}', params: {{a: '{}'}}}}}}",
                "a".repeat(FULL / 3),
                "b".repeat(FULL / 3)
            )),
        ),
        (
            "conditions in conditions",
            format!(
                "heat_template_version: 2021-04-16\nconditions:\n  c0: true\n{}",
                (1..30).fold(String::new(), |text, n| {
                    text + &format!("  c{n}: {{and: [c{0}, c{0}]}}\n", n - 1)
                }) + "outputs: {o: {value: {if: [c29, a, b]}}}\n"
            ),
        ),
    ]
}

/// One of the corpus, with up to six pieces of it replaced, dropped, doubled or joined by others.
fn mutated(corpus: &[String], pieces: &[&str], chance: &mut Chance) -> String {
    let mut chars: Vec<char> = corpus[chance.below(corpus.len())].chars().collect();
    for _ in 0..=chance.below(6) {
        let at = chance.below(chars.len() + 1);
        let end = (at + chance.below(12)).min(chars.len());
        let piece: Vec<char> = match chance.below(8) {
            0 => Vec::new(),
            1 => chars[at..end].repeat(2),
            2 => {
                let other: Vec<char> = corpus[chance.below(corpus.len())].chars().collect();
                let from = chance.below(other.len());
                other[from..(from + chance.below(60)).min(other.len())].to_vec()
            }
            _ => pieces[chance.below(pieces.len())].chars().collect(),
        };
        chars.splice(at..end, piece);
    }
    chars.into_iter().collect()
}

/// The templates among the data of the tests, those in files with their environments.
fn corpus() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/template");
    let mut paths: Vec<_> = ["resolve", "diagnose"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(root.join(folder)).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .collect();
    paths.sort();
    let (environments, templates): (Vec<_>, Vec<_>) =
        paths.into_iter().partition(|path| path.to_string_lossy().ends_with(".env.yaml"));
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let text = |template: &Path| {
        let environment = template.with_extension("env.yaml");
        match environments.contains(&environment) {
            true => format!("{}\0{}", read(template), read(&environment)),
            false => read(template),
        }
    };
    let mut corpus: Vec<String> = templates.iter().map(|template| text(template)).collect();
    let mut cases: Vec<_> =
        std::fs::read_dir(root.join("cases")).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for line in
        cases.iter().flat_map(|path| read(path).lines().map(str::to_owned).collect::<Vec<_>>())
    {
        let case: Value = serde_json::from_str(&line).unwrap();
        let template = &case["template"];
        corpus.push(template.as_str().map_or_else(|| yaml_text(template), str::to_owned));
    }
    corpus.retain(|text| !text.is_empty());
    corpus
}

#[expect(clippy::disallowed_methods, reason = "a test has no settings of its own")]
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Numbers that look random and are the same for a seed.
struct Chance(u64);

impl Chance {
    /// A number below a limit; 0 if there is none.
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % limit.max(1) as u64) as usize
    }
}
