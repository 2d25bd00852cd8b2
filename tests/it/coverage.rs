//! Documents say what the code does: every resource type is named, and every command that is shown
//! is one that the command line takes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use hearth::config::{OptionDefault, known_options};
use hearth::resource_types::Registry;

#[test]
fn every_resource_type_is_in_the_page_on_compatibility() {
    let page = include_str!("../../docs/compatibility.md");
    let registry = Registry::built_in().unwrap();
    for declaration in registry.declarations() {
        let row = format!("| `{}` |", declaration.type_name);
        assert!(page.contains(&row), "docs/compatibility.md has no row that begins with {row}");
    }
}

/// The types of the first release that make something.
const FIRST_TYPES: [&str; 51] = [
    "AWS::AutoScaling::AutoScalingGroup",
    "AWS::AutoScaling::LaunchConfiguration",
    "AWS::AutoScaling::ScalingPolicy",
    "AWS::CloudFormation::Stack",
    "AWS::CloudFormation::WaitCondition",
    "AWS::CloudFormation::WaitConditionHandle",
    "OS::Cinder::Volume",
    "OS::Cinder::VolumeAttachment",
    "OS::Glance::WebImage",
    "OS::Heat::AutoScalingGroup",
    "OS::Heat::CloudConfig",
    "OS::Heat::Delay",
    "OS::Heat::HARestarter",
    "OS::Heat::InstanceGroup",
    "OS::Heat::MultipartMime",
    "OS::Heat::None",
    "OS::Heat::RandomString",
    "OS::Heat::ResourceChain",
    "OS::Heat::ResourceGroup",
    "OS::Heat::ScalingPolicy",
    "OS::Heat::SoftwareComponent",
    "OS::Heat::SoftwareConfig",
    "OS::Heat::SoftwareDeployment",
    "OS::Heat::SoftwareDeploymentGroup",
    "OS::Heat::SoftwareDeployments",
    "OS::Heat::Stack",
    "OS::Heat::StructuredConfig",
    "OS::Heat::StructuredDeployment",
    "OS::Heat::StructuredDeploymentGroup",
    "OS::Heat::StructuredDeployments",
    "OS::Heat::SwiftSignal",
    "OS::Heat::SwiftSignalHandle",
    "OS::Heat::TestResource",
    "OS::Heat::UpdateWaitConditionHandle",
    "OS::Heat::Value",
    "OS::Heat::WaitCondition",
    "OS::Heat::WaitConditionHandle",
    "OS::Neutron::FloatingIP",
    "OS::Neutron::FloatingIPAssociation",
    "OS::Neutron::Net",
    "OS::Neutron::Port",
    "OS::Neutron::Router",
    "OS::Neutron::RouterInterface",
    "OS::Neutron::SecurityGroup",
    "OS::Neutron::SecurityGroupRule",
    "OS::Neutron::Subnet",
    "OS::Nova::Flavor",
    "OS::Nova::KeyPair",
    "OS::Nova::Server",
    "OS::Nova::ServerGroup",
    "OS::Swift::Container",
];

#[test]
fn of_the_first_types_at_least_twenty_are_their_files_alone() {
    let registry = Registry::built_in().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/resource_types/types");
    let directories = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path());
    let files = directories.filter(|path| path.is_dir()).flat_map(|directory| {
        std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path())
    });
    let files = files.filter(|path| path.extension().is_some_and(|it| it == "yaml"));
    let texts: Vec<String> = files.map(|file| std::fs::read_to_string(file).unwrap()).collect();
    let of = |name: &&&str| {
        let head = format!("type: {name}\n");
        texts.iter().find(|text| text.starts_with(&head)).unwrap_or_else(|| panic!("{name}"))
    };
    let is_alone = |text: &str| !text.lines().any(|line| line.starts_with("program:"));
    assert!(FIRST_TYPES.iter().all(|name| registry.schema(name).is_some()));
    let alone: Vec<&&str> = FIRST_TYPES.iter().filter(|name| is_alone(of(name))).collect();
    assert!(alone.len() >= 20, "{} types need no program: {alone:?}", alone.len());
}

#[test]
fn the_table_of_settings_has_every_option_with_its_default_and_no_other() {
    let rows = settings_rows(include_str!("../../docs/operating.md"));
    let mut wrong = Vec::new();
    let known = known_options();
    for option in &known {
        let key = (option.group.clone(), option.name.clone());
        match (rows.get(&key), &option.default) {
            (None, _) => wrong.push(format!("{key:?} is not in the table")),
            (Some(defaults), OptionDefault::Value(value))
                if !value.is_empty() && !value.contains(", ") && !defaults.contains(value) =>
            {
                wrong.push(format!("the default of {key:?} is {value}, not {defaults:?}"));
            }
            _ => {}
        }
    }
    for key in rows.keys() {
        if !known.iter().any(|it| (&it.group, &it.name) == (&key.0, &key.1)) {
            wrong.push(format!("{key:?} is in the table and has no effect"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_oldest_rust_is_the_same_wherever_it_is_told() {
    let told = format!("Rust {} or newer", env!("CARGO_PKG_RUST_VERSION"));
    for page in [include_str!("../../README.md"), include_str!("../../CONTRIBUTING.md")] {
        assert!(page.contains(&told), "{told} is missing");
    }
}

#[test]
fn every_command_in_the_documents_is_taken_by_the_command_line() {
    let mut seen = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for shown in commands_shown(&text) {
            seen += 1;
            let words: Vec<&str> = shown.split_whitespace().collect();
            if let Err(reason) = is_taken(&words) {
                panic!("{}: `{shown}`: {reason}", page.display());
            }
        }
    }
    assert!(seen > 0, "no command was found");
}

#[test]
fn every_command_that_a_unit_starts_is_taken_by_the_command_line() {
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("packaging/systemd");
    let mut seen = 0;
    for unit in std::fs::read_dir(units).unwrap().map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&unit).unwrap();
        for shown in text.lines().filter_map(|line| line.strip_prefix("ExecStart=/usr/bin/")) {
            seen += 1;
            let words: Vec<&str> = shown.split_whitespace().collect();
            if let Err(reason) = is_taken(&words) {
                panic!("{}: `{shown}`: {reason}", unit.display());
            }
        }
    }
    assert!(seen > 0, "no unit starts anything");
}

#[test]
fn the_container_is_made_of_the_package_and_starts_what_the_unit_starts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (container, manifest) = (read("Containerfile"), read("Cargo.toml"));
    let after = |word: &str| {
        let found = container.lines().find_map(|line| line.strip_prefix(word));
        found.unwrap_or_else(|| panic!("the Containerfile has no {word}")).trim().to_owned()
    };
    let words = |list: &str| serde_json::from_str::<Vec<String>>(list).unwrap();
    let started = [words(&after("ENTRYPOINT ")), words(&after("CMD "))].concat().join(" ");
    let unit = read("packaging/systemd/hearth.service");
    assert!(unit.contains(&format!("ExecStart={started}\n")), "the unit does not start {started}");
    assert!(unit.contains(&format!("User={}\n", after("USER "))));
    let rust = manifest.split("rust-version = \"").nth(1).unwrap().split('"').next().unwrap();
    assert!(after("FROM docker.io/library/rust:").starts_with(&format!("{rust}-")));
    let volume = after("VOLUME ");
    assert!(read("packaging/hearth.conf").contains(&format!("data = {volume}\n")));
    assert!(read("packaging/deb/scripts/postinst").contains(&format!(" {volume}\n")));
    assert!(container.contains("packaging/deb/build target/release/hearth /out"));
    // What is installed, and what of it is there before anything is built.
    for installed in ["usr/bin/", "etc/hearth/", "lib/systemd/system/"] {
        assert!(manifest.contains(&format!("\"{installed}\", \"")), "{installed}");
    }
    for line in manifest.lines().filter_map(|line| line.trim().strip_prefix("[\"")) {
        let source = line.split('"').next().unwrap();
        assert!(source.starts_with("target/") || root.join(source).exists(), "{source}");
    }
}

#[test]
fn every_path_in_the_documents_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut missing = Vec::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for path in paths_shown(&text) {
            if !root.join(path).exists() {
                missing.push(format!("{}: {path}", page.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn each_file_that_a_change_touches_has_the_word_of_one_made_before() {
    // A word is written in one way in code and in another in data.
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (mut changes, mut wrong) = (0, Vec::new());
    for row in include_str!("../../docs/finding-your-way.md").lines() {
        let [_, _, word, files, _] = row.split('|').collect::<Vec<_>>()[..] else { continue };
        let Some(word) = word.trim().strip_prefix('`').and_then(|it| it.strip_suffix('`')) else {
            continue;
        };
        changes += 1;
        for file in files.split('`').skip(1).step_by(2) {
            match std::fs::read_to_string(root.join(file)) {
                Ok(text) if plain(&text).contains(&plain(word)) => {}
                Ok(_) => wrong.push(format!("{file} does not have {word}")),
                Err(error) => wrong.push(format!("{file}: {error}")),
            }
        }
    }
    assert_eq!(changes, 12);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_shown_is_found_in_blocks_and_in_sentences() {
    let text = "Use `hearth serve --data DIR`.\n```console\n$ cargo run --release -- up a.yaml\n\
                $ hearth history web & # in words\n$ ls\n```\n`hearth/src` is no command.\n";
    assert_eq!(
        commands_shown(text),
        ["hearth serve --data DIR", "hearth up a.yaml", "hearth history web"]
    );
}

/// The README and all pages under `docs/`.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages: Vec<PathBuf> =
        ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"]
            .map(|name| root.join(name))
            .into();
    for folder in ["docs", "docs/decisions"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "md") {
                pages.push(path);
            }
        }
    }
    pages
}

/// Group and name of each option of the table of settings, with what stands for its default: a row
/// has one default for all of its options, or as many as there are options, or groups.
fn settings_rows(page: &str) -> BTreeMap<(String, String), Vec<String>> {
    let table = page.split("| Group | Option | Default | Effect |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut all = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let defaults: Vec<String> = cells[3].split(", ").map(str::to_owned).collect();
        for group in cells[1].split(", ") {
            for name in cells[2].split('`').skip(1).step_by(2) {
                let key = (group.to_owned(), name.to_owned());
                assert!(all.insert(key, defaults.clone()).is_none(), "twice: {row}");
            }
        }
    }
    all
}

/// The effect of each option, by the same table.
pub(super) fn settings_rows_by_effect(page: &str) -> BTreeMap<(String, String), String> {
    let table = page.split("| Group | Option | Default | Effect |").nth(1).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let effects = cells.flat_map(|cells| {
        let named = cells[2].split('`').skip(1).step_by(2);
        let keys = cells[1]
            .split(", ")
            .flat_map(|group| named.clone().map(move |name| (group.to_owned(), name.to_owned())));
        keys.map(|key| (key, cells[4].to_owned())).collect::<Vec<_>>()
    });
    effects.collect()
}

/// Paths of this repository between backticks; `NAME` and `*` stand for something else.
fn paths_shown(text: &str) -> Vec<&str> {
    const ROOTS: [&str; 6] = ["src/", "tests/", "docs/", "examples/", "packaging/", ".ci/"];
    text.lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|code| ROOTS.iter().any(|root| code.starts_with(root)))
        .filter(|path| {
            let plain =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "/._-".contains(c);
            path.chars().all(plain)
        })
        .collect()
}

/// `hearth …` as it stands in console blocks and between backticks.
fn commands_shown(text: &str) -> Vec<String> {
    let mut shown = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        } else if in_block {
            shown.extend(line.strip_prefix("$ ").and_then(hearth_command));
        } else {
            let code = line.split('`').skip(1).step_by(2);
            shown.extend(code.filter_map(hearth_command));
        }
    }
    shown
}

fn hearth_command(code: &str) -> Option<String> {
    let code = code.split([';', '|', '#', '>']).next()?.trim().trim_end_matches('&').trim();
    let arguments =
        code.strip_prefix("hearth ").or_else(|| code.strip_prefix("cargo run --release -- "))?;
    Some(format!("hearth {arguments}"))
}

/// Whether the subcommand is there and has every flag; values may be missing in a sentence.
fn is_taken(words: &[&str]) -> Result<(), String> {
    let command = hearth::cli::command();
    let name = words.get(1).ok_or("no subcommand")?;
    let mut subcommand = command.find_subcommand(name).ok_or("no such subcommand")?;
    let mut rest = &words[2..];
    // A subcommand may have some of its own.
    while let Some(inner) = rest.first().and_then(|word| subcommand.find_subcommand(word)) {
        (subcommand, rest) = (inner, &rest[1..]);
    }
    // What follows `--` is another program's.
    for word in rest.iter().take_while(|word| **word != "--") {
        let flag = word.trim_matches(['[', ']', '…']).split('=').next().unwrap_or_default();
        let known = match flag.strip_prefix("--") {
            Some(long) => subcommand.get_arguments().any(|a| a.get_long() == Some(long)),
            None => match flag.strip_prefix('-').and_then(|short| short.chars().next()) {
                Some(short) => subcommand.get_arguments().any(|a| a.get_short() == Some(short)),
                None => true,
            },
        };
        if !known && flag != "--help" {
            return Err(format!("no flag {flag}"));
        }
    }
    Ok(())
}
