//! The smaller pages.

use super::Page;
use super::bench::Bench;

const WRONG: &str = "\
heat_template_version: 2021-04-16

parameters:
  size: { type: number }

resources:
  count: { type: OS::Heat::TestResource, properties: { value: { get_param: size } } }

  net:
    type: OS::Neutron::Net
    properties:
      nmae: x
";

#[test]
fn every_command_of_the_page_on_validation_prints_what_is_shown() {
    let mut bench = Bench::with(&[("stack.yaml", WRONG), ("env.yaml", "parameters: {}\n")]);
    let page =
        Page { path: "docs/validate.md", codes: &[("hearth validate", 1)], ..Page::default() };
    page.play(&mut bench, |_, _| {});
}

#[test]
fn every_command_of_the_page_on_upgrades_works() {
    let mut bench = Bench::with(&[]);
    let page = Page { path: "docs/upgrades.md", ..Page::default() };
    page.play(&mut bench, |_, _| {});
    assert!(bench.path().join("hearth-data-of-before/log.db").is_file());
}

/// Two types, of which one has the mistakes that the page shows.
const GROUP: &str = "\
# A group of a service of one's own.
type: Example::Group
class: Group
properties:
  title: { type: string }
  size: { type: integer }
propertis:
  colour: { type: string }









rules:
  - at_most_one: [titel, size]
";

#[test]
fn every_command_of_the_page_on_types_prints_what_is_shown() {
    let mut bench = Bench::with(&[]);
    let types = bench.of_machine("/etc/hearth/types");
    std::fs::create_dir_all(&types).unwrap();
    std::fs::write(types.join("group.yaml"), GROUP).unwrap();
    let other = "type: Example::Other\nclass: Other\nproperties:\n  title: { type: string }\n";
    std::fs::write(types.join("other.yaml"), other).unwrap();
    let page = Page {
        path: "docs/adding-a-resource-type.md",
        codes: &[("hearth types check", 1)],
        ..Page::default()
    };
    page.play(&mut bench, |_, _| {});
}
