//! What a page shows to be run: the lines of its blocks `console` that begin with `$ `.

/// A command as a page shows it.
pub(super) struct Shown {
    pub(super) section: String,
    pub(super) line: String,
    /// What it prints, where that is shown as well.
    pub(super) output: String,
}

/// What the blocks of a page show.
pub(super) fn shown(text: &str) -> Vec<Shown> {
    let (mut all, mut section, mut is_block) = (Vec::<Shown>::new(), String::new(), false);
    for line in text.lines() {
        if line.starts_with("```") {
            is_block = line == "```console";
        } else if !is_block && line.starts_with('#') {
            line.clone_into(&mut section);
        } else if is_block && let Some(line) = line.strip_prefix("$ ") {
            let (section, line) = (section.clone(), line.to_owned());
            all.push(Shown { section, line, output: String::new() });
        } else if is_block && let Some(command) = all.last_mut() {
            command.output.push_str(line);
            command.output.push('\n');
        }
    }
    all
}

#[test]
fn a_command_is_found_with_its_section_and_what_it_prints() {
    let text = "# A\n```console\n$ one\n$ two\nsays\n\nmore\n```\n```yaml\n# none\n$ none\n```\n## B\n\
                ```console\n$ three\n```\n";
    let all = shown(text);
    let lines = all.iter().map(|it| (it.section.as_str(), it.line.as_str(), it.output.as_str()));
    let lines: Vec<_> = lines.collect();
    assert_eq!(
        lines,
        [("# A", "one", ""), ("# A", "two", "says\n\nmore\n"), ("## B", "three", "")]
    );
}
