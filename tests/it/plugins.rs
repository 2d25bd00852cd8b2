//! A resource type that is a file and nothing else: put into a plugin directory, it is created,
//! updated, replaced, adopted and deleted.

use std::collections::BTreeSet;

use hearth::resource_types::{Registry, Subject, UpdateKind};
use hearth::sandbox::SandboxConfig;
use serde_json::json;

use crate::drivers::{Ground, Replies};

/// Nothing in Hearth knows of this type.
const GROUP: &str = r#"
type: Example::Network::Group
class: Group
description: A security group by another name.
service: network
properties:
  title: { type: string, update_allowed: true }
  about: { type: string, update_allowed: true }
  kind: { type: string, default: plain, constraints: [{ allowed_values: [plain, other] }] }
attributes:
  project_id: { type: string }
  rules: { type: list, field: security_group_rules }

wrap: security_group
name: title
token: description
body:
  fields: { title: name, about: description }
  omit: [kind]
create: { post: /v2.0/security-groups }
show: { get: "/v2.0/security-groups/{id}" }
update: { put: "/v2.0/security-groups/{id}" }
delete: { delete: "/v2.0/security-groups/{id}", gone: again }
"#;

/// Nothing in Hearth knows of this type, and nothing in the sandbox of its service.
const SHELF: &str = r#"
type: Example::Library::Shelf
class: Shelf
service: library
properties:
  name: { type: string, update_allowed: true }
  words: { type: string, update_allowed: true }
  room: { type: string, required: true }
  beside: { type: string, constraints: [{ custom_constraint: library.shelf }] }
attributes:
  state: { type: string }

translation:
  - { resolve: beside, finder: library.shelf }

wrap: shelf
list: shelves
name: name
token: words
create: { post: /v1/shelves }
show: { get: "/v1/shelves/{id}" }
ready: { field: state, ok: [READY], fail: [ERROR] }
update: { put: "/v1/shelves/{id}" }
delete: { delete: "/v1/shelves/{id}", gone: polled }
"#;

/// What a shelf may be beside.
const FINDERS: &str = "
library.shelf: { service: library, at: /v1/shelves, list: shelves, wrap: shelf, by: id_then_list, entity: Shelf }
";

const LIBRARY: &str = "
service: library
name: shelves
errors: keystone
collections:
  shelf:
    at: /v1/shelves
    list: shelves
    attributes:
      name: [text, put, '']
      words: [text, put, '']
      room: [text, post]
      beside: [text, post, '']
      state: [text, nobody, BUILDING]
    states: { field: state, made: [BUILDING, READY], dropped: GOING }
";

fn registry(file: &str) -> Result<Registry, hearth::resource_types::RegistryError> {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("group.yaml"), file).unwrap();
    std::fs::write(directory.path().join("finders.yaml"), FINDERS).unwrap();
    let mut registry = Registry::built_in()?;
    registry.add_plugins(directory.path())?;
    Ok(registry)
}

#[tokio::test]
async fn a_type_is_a_file_and_nothing_else() {
    for replies in [Replies::Arrive, Replies::AreLost] {
        let ground = Ground::of("demo").await;
        let before = ground.counts();
        let mut run = ground.runner(replies);
        run.registry = registry(GROUP).unwrap().into();
        let mut group = run.create("Example::Network::Group", "group", json!({})).await;
        let named = json!({"title": "named"});
        let named = run.create("Example::Network::Group", "named", named).await;
        let seen = run.attributes(&group).await;
        assert_eq!(seen["show"]["name"], json!(group.subject.physical_name));
        assert_eq!(seen["rules"].as_array().unwrap().len(), 2);
        assert_eq!(
            run.attributes(&named).await["show"]["description"],
            json!(named.subject.physical_name)
        );
        run.update(&mut group, json!({"title": "other", "about": "words"})).await;
        assert_eq!(run.attributes(&group).await["show"]["name"], "other");
        run.check(&mut group).await;
        run.delete(group).await;
        run.delete(named).await;
        assert_eq!(ground.counts(), before);
    }
}

#[tokio::test]
async fn a_type_and_its_service_are_two_files_and_nothing_else() {
    let services = tempfile::tempdir().unwrap();
    std::fs::write(services.path().join("library.yaml"), LIBRARY).unwrap();
    for replies in [Replies::Arrive, Replies::AreLost] {
        let services = Some(services.path().to_owned());
        let config = SandboxConfig { services, ..SandboxConfig::instant() };
        let ground = Ground::with(config, "demo").await;
        let before = ground.counts();
        let mut run = ground.runner(replies);
        run.registry = registry(SHELF).unwrap().into();
        let shelf = json!({"room": "east", "name": "first"});
        let mut shelf = run.create("Example::Library::Shelf", "shelf", shelf).await;
        let other = json!({"room": "west", "words": "of mine", "beside": "first"});
        let other = run.create("Example::Library::Shelf", "other", other).await;
        assert_eq!(
            run.attributes(&other).await["show"]["beside"],
            json!(shelf.subject.physical_id)
        );
        assert_eq!(run.attributes(&shelf).await["state"], "READY");
        run.update(&mut shelf, json!({"name": "second"})).await;
        assert_eq!(run.attributes(&shelf).await["show"]["name"], "second");
        run.check(&mut shelf).await;
        run.delete(shelf).await;
        run.delete(other).await;
        assert_eq!(ground.counts(), before);
    }
}

#[test]
fn a_property_that_cannot_be_updated_replaces() {
    let registry = registry(GROUP).unwrap();
    let driver = registry.driver("Example::Network::Group").unwrap();
    let subject = Subject { name: Some("a".into()), ..Subject::default() };
    let changed = BTreeSet::from(["kind".to_owned()]);
    assert_eq!(
        driver.on_change(&subject, &serde_json::Map::new(), &changed),
        UpdateKind::Replace { reason: "The Resource a requires replacement.".into() }
    );
}

#[test]
fn a_word_that_the_format_does_not_have_is_refused() {
    let error = registry("type: A::B\nclass: B\ncreat: { post: /x }\n").err().unwrap();
    assert!(error.to_string().contains("group.yaml"), "{error}");
}

#[test]
fn a_file_may_say_that_nothing_is_done_and_name_no_program() {
    let of = |key: &str| registry(&format!("type: A::B\nclass: B\n{key}\n"));
    let nothing = of("id: { is: resource }\nlocal: { changes: ignored }").unwrap();
    assert!(nothing.driver("A::B").unwrap().declaration().is_kept());
    for (program, said) in [
        ("server", "3:10: programs are for Hearth's own types"),
        ("{ alarm: event }", "3:10: programs are for Hearth's own types"),
        ("{ wait_handle: ow }", "3:25: one of `own`, `aws` is wanted here, not `ow`"),
        ("{ delay: x }", "3:10: `delay` has no setting"),
        ("alarm", "3:10: `alarm` has to have a setting"),
        ("delai", "3:10: one of `access_key`, "),
        ("[delay]", "3:10: one of `access_key`, "),
    ] {
        let program = format!("program: {program}");
        let error = of(&program).err().unwrap().to_string();
        assert!(error.contains(&format!("group.yaml:{said}")), "{error}");
    }
}

#[test]
fn type_files_are_looked_over_by_themselves_and_against_the_others() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let check = || {
        let hearth = std::process::Command::new(env!("CARGO_BIN_EXE_hearth"));
        let output = { hearth }.args(["types", "check", path]).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let write = |name: &str, text: &str| std::fs::write(directory.path().join(name), text).unwrap();
    write("a.yaml", GROUP);
    assert_eq!(check(), (Some(0), "1 file, 0 mistakes\n".to_owned()));

    write("b.yaml", GROUP);
    write("c.yaml", "type: OS::Nova::Server\nclass: C\nsubstitute: Example::Network::Grop\n");
    write("d.yaml", "type: D::D\nclass: D\nshow: { gte: /x\n");
    let expected = format!(
        "{path}/b.yaml:2:7: `Example::Network::Group` is the type of {path}/a.yaml already\n\
         {path}/c.yaml:1:7: `OS::Nova::Server` is a type of Hearth's own\n\
         {path}/c.yaml:3:13: there is no type `Example::Network::Grop`, did you mean \
         `Example::Network::Group`?\n"
    );
    let (code, said) = check();
    assert_eq!(code, Some(1));
    assert!(said.starts_with(&expected), "{said}");
    assert!(said.contains("/d.yaml:4:1: "), "{said}");
    assert!(said.ends_with("4 files, 4 mistakes\n"), "{said}");

    std::fs::write(directory.path().join("e.yaml"), b"type: E::E\nclass: \xff\n").unwrap();
    let (code, said) = check();
    assert_eq!(code, Some(1));
    assert!(said.contains("/e.yaml:2:8: what begins here is not UTF-8\n"), "{said}");
    assert!(said.ends_with("5 files, 5 mistakes\n"), "{said}");

    let after = "after: [{ type: \"OS::Neutron::Subnet\", theirs: netwrk, ours: net }]";
    let file =
        format!("type: F::F\nclass: F\nproperties: {{ net: {{ type: string }} }}\n{after}\n");
    write("f.yaml", &file);
    let (_, said) = check();
    let expected =
        "/f.yaml:4:48: OS::Neutron::Subnet has no property `netwrk`, did you mean `network`?\n";
    assert!(said.contains(expected), "{said}");
}
