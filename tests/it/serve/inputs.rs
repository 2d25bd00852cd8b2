//! What commands read of files, and say of what cannot be read.

use super::desk::Desk;

const SAYS_FILE: &str = "\
heat_template_version: 2018-08-31
outputs:
  said: { value: { get_file: script.sh } }
";

const ROOT: &str = "\
heat_template_version: 2018-08-31
resources:
  a: { type: a/main.yaml }
  b: { type: b/main.yaml }
  own: { type: child.yaml }
  mapped: { type: My::Type }
outputs:
  all:
    value:
      list_join:
      - '+'
      - - { get_attr: [a, said] }
        - { get_attr: [b, said] }
        - { get_attr: [own, said] }
        - { get_attr: [mapped, said] }
";

const ASKS: &str = "\
heat_template_version: 2018-08-31
parameters: { size: { type: number } }
outputs: { size: { value: { get_param: size } } }
";

fn says(word: &str) -> String {
    SAYS_FILE.replace("{ get_file: script.sh }", word)
}

fn lay(desk: &Desk, files: &[(&str, &[u8])]) {
    for (name, content) in files {
        let path = desk.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
}

#[test]
fn a_file_is_the_one_beside_the_document_that_names_it() {
    let desk = Desk::with(&[("root.yaml", ROOT)]);
    lay(
        &desk,
        &[
            ("a/main.yaml", SAYS_FILE.as_bytes()),
            ("a/script.sh", b"of-a"),
            ("b/main.yaml", SAYS_FILE.as_bytes()),
            ("b/script.sh", b"of-b"),
            ("child.yaml", says("of-root").as_bytes()),
            ("env/child.yaml", says("of-env").as_bytes()),
            ("env/reg.yaml", b"resource_registry: { \"My::Type\": child.yaml }"),
        ],
    );
    let said = desk.said("up root.yaml -e env/reg.yaml --data data");
    assert!(said.contains("of-a+of-b+of-root+of-env"), "{said}");
    let plan = desk.said("plan root.yaml -e env/reg.yaml --data data");
    assert!(plan.contains("4 unchanged"), "{plan}");
}

#[test]
fn a_file_that_is_no_text_is_sent_in_base64() {
    let desk = Desk::with(&[("says.yaml", SAYS_FILE)]);
    lay(&desk, &[("script.sh", b"\xff\xfe\x00ab")]);
    let said = desk.said("resolve says.yaml --format json");
    assert!(said.contains(r#""value": "//4AYWI=\n""#), "{said}");
}

#[test]
fn a_parameter_of_the_command_line_counts_above_that_of_an_environment() {
    let desk = Desk::with(&[
        ("asks.yaml", ASKS),
        ("env.yaml", "parameters: { size: 1 }"),
        ("wrong.yaml", "parameters: { size: many }"),
    ]);
    let size = |words: &str| {
        let said = desk.said(&format!("resolve asks.yaml --format json {words}"));
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        said["outputs"]["size"]["value"].clone()
    };
    assert_eq!(size("-e env.yaml"), 1);
    assert_eq!(size("-e env.yaml -P size=2"), 2);
    desk.said("validate asks.yaml -e wrong.yaml -P size=2");
    let up = desk.said("up asks.yaml -e env.yaml -P size=2 --data data");
    assert!(up.contains("size  2"), "{up}");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_ends_the_look() {
    let desk = Desk::with(&[
        ("typed.yaml", "heat_template_version: 2018-08-31\nresources: {x: {type: no/t.yaml}}"),
        ("reads.yaml", SAYS_FILE),
        ("env.yaml", "resource_registry: { \"My::Type\": none.yaml }"),
        ("asks.yaml", ASKS),
    ]);
    for (words, names, file) in [
        ("typed.yaml", "typed.yaml names no/t.yaml", "no/t.yaml"),
        ("reads.yaml", "reads.yaml names script.sh", "script.sh"),
        ("asks.yaml -e env.yaml", "env.yaml names none.yaml", "none.yaml"),
    ] {
        let output = desk.run(&format!("validate {words}"));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{words}: {said}");
        let wanted = format!("{names}, and {file} cannot be read: No such file");
        assert!(said.contains(&wanted), "{words}: {said}");
    }
}

#[test]
fn what_is_wrong_in_a_nested_template_is_told_with_its_file_and_resource() {
    let inner = "heat_template_version: 2018-08-31\nresources:\n  net: {type: OS::Neutron::Net, \
                 properties: {nmae: x}}\n";
    let outer = "heat_template_version: 2018-08-31\nresources:\n  out: {type: inner.yaml}\n";
    let desk = Desk::with(&[("outer.yaml", outer), ("inner.yaml", inner)]);
    let said = String::from_utf8(desk.run("validate outer.yaml").stdout).unwrap();
    let at = said.lines().find(|line| line.contains("= at: ")).unwrap_or_default();
    assert!(at.contains("resources.out<file://"), "{said}");
    assert!(at.contains("/inner.yaml>.resources.net"), "{said}");
    // The line is shown as it is written.
    assert!(said.contains("3 |   out: {type: inner.yaml}"), "{said}");
}

#[test]
fn what_is_asked_for_wrongly_is_said_with_what_is_right() {
    let desk = Desk::with(&[("par.yaml", ASKS)]);
    assert!(desk.refused("apply nope.json").contains("could not use nope.json: No such file"));
    let said = desk.refused("apply par.yaml");
    assert!(said.contains("par.yaml is no plan that `hearth plan --out` has kept"), "{said}");
    let said = desk.refused("log copy sqlite:nope.db sqlite:new.db");
    assert_eq!(said, "hearth log copy: there is no log at nope.db\n");
    assert!(!desk.path().join("new.db").exists());
    let output = desk.run("list --server 127.0.0.1:8004");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("it begins with http:// or https://"), "{said}");
    let said = desk.refused("at 57 -- server list");
    assert!(said.contains("`server list` is not about stacks"), "{said}");
}
