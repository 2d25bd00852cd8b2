//! The pages as who reads them works through them: every command that a page shows is run, in its
//! order and as it stands there, but for paths, ports and ids, in a directory of its own. What a page
//! shows and no test runs stands in the list of that page, with the reason.

mod bench;
mod operating;
mod others;
mod plans;
mod replay;
mod shown;

use std::path::{Path, PathBuf};

use self::bench::Bench;
use self::shown::{Shown, shown};

/// The pages that are played here.
const PLAYED: [&str; 6] = [
    "docs/adding-a-resource-type.md",
    "docs/operating.md",
    "docs/plans.md",
    "docs/replay.md",
    "docs/upgrades.md",
    "docs/validate.md",
];

/// The pages whose commands are run elsewhere, and where.
const PLAYED_ELSEWHERE: [(&str, &str); 3] = [
    ("README.md", "tests/client/readme.py: it needs the real client"),
    ("CONTRIBUTING.md", "its commands are what runs the tests"),
    ("docs/finding-your-way.md", "its commands are what runs the tests"),
];

/// A page, and what it takes to run what it shows.
#[derive(Default)]
struct Page<'a> {
    path: &'a str,
    /// Sections whose commands want no server to run.
    without_server: &'a [&'a str],
    /// What commands end with other than 0, by how they begin; the longest beginning counts.
    codes: &'a [(&'a str, i32)],
    /// Commands that are not run, and why.
    left_out: &'a [(&'a str, &'a str)],
}

impl Page<'_> {
    /// Runs the page from its top, with something to be done before each command.
    fn play(&self, bench: &mut Bench, mut before: impl FnMut(&mut Bench, &str)) {
        let all = shown(&std::fs::read_to_string(root().join(self.path)).unwrap());
        for section in all.chunk_by(|one, next| one.section == next.section) {
            let heading = section[0].section.as_str();
            let is_run = |shown: &&Shown| !self.left_out.iter().any(|it| it.0 == shown.line);
            let commands: Vec<&Shown> = section.iter().filter(is_run).collect();
            // A section that starts servers of its own does so where there is nothing yet.
            match commands.iter().any(|shown| bench::serves(&shown.line)) {
                true => bench.move_to_fresh(),
                false => bench.move_home(!self.without_server.contains(&heading)),
            }
            for command in commands {
                before(bench, &command.line);
                let code = self.code(&command.line);
                bench.run(&command.line, code, &command.output);
            }
        }
        bench.stop();
        for (line, _) in self.left_out {
            assert!(all.iter().any(|shown| shown.line == *line), "{} has no {line}", self.path);
        }
        for (beginning, _) in self.codes {
            let begins = |shown: &Shown| shown.line.starts_with(beginning);
            assert!(all.iter().any(begins), "{} has no {beginning}", self.path);
        }
    }

    fn code(&self, line: &str) -> i32 {
        let fitting = self.codes.iter().filter(|(beginning, _)| line.starts_with(beginning));
        fitting.max_by_key(|(beginning, _)| beginning.len()).map_or(0, |(_, code)| *code)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn the_commands_of_every_page_are_run() {
    let mut pages: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md"].map(PathBuf::from).into();
    for folder in ["docs", "docs/decisions"] {
        let entries = std::fs::read_dir(root().join(folder)).unwrap();
        pages.extend(entries.map(|entry| Path::new(folder).join(entry.unwrap().file_name())));
    }
    let is_page = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "md");
    let mut with_commands = Vec::new();
    for page in pages.into_iter().filter(is_page) {
        let text = std::fs::read_to_string(root().join(&page)).unwrap();
        // A block of another kind is not found, and so not run.
        for other in ["```sh", "```bash", "```shell"] {
            assert!(
                !text.contains(other),
                "{page:?}: commands stand in blocks of the kind console"
            );
        }
        if !shown(&text).is_empty() {
            with_commands.push(page.to_str().unwrap().to_owned());
        }
    }
    let elsewhere = PLAYED_ELSEWHERE.iter().map(|(page, _)| *page);
    let mut known: Vec<String> = PLAYED.into_iter().chain(elsewhere).map(str::to_owned).collect();
    known.sort();
    with_commands.sort();
    assert_eq!(with_commands, known);
}
