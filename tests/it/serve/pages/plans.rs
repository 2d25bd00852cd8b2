//! `docs/plans.md`, with a stack that has something to change.

use serde_json::Value;

use super::Page;
use super::bench::Bench;

const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
parameters: { size: { type: number, default: 1 } }
resources:
  net: { type: OS::Neutron::Net, properties: { name: own-name } }
  server:
    type: OS::Heat::TestResource
    properties: { value: { get_param: size } }
";

/// Gives the stack's network another name behind its back.
fn rename(bench: &Bench, name: &str) {
    let stack = bench.json("hearth replay web --json");
    let is_net = |it: &&Value| it["resource_name"] == "net";
    let net = stack["resources"].as_array().unwrap().iter().find(is_net).unwrap();
    let id = net["physical_resource_id"].as_str().unwrap();
    let network = format!("http://127.0.0.1:5000/network/v2.0/networks/{id}");
    let (token, body) = ("X-Auth-Token: $TOKEN", format!(r#"{{"network":{{"name":"{name}"}}}}"#));
    bench.said(&format!("curl -X PUT -H \"{token}\" {network} -d '{body}'"));
}

#[test]
fn every_command_of_the_page_on_plans_works() {
    let mut bench = Bench::with(&[("web.yaml", TEMPLATE)]);
    bench.move_home(true);
    for size in 1..=2 {
        bench.said(&format!("hearth up web.yaml -P size={size}"));
    }
    let stack = bench.json("hearth replay web --until r1 --json");
    let first = stack["at"].as_str().unwrap().to_owned();
    bench.places = vec![("2026-01-31T12:00:00Z".to_owned(), first)];
    bench.sign_in(stack["stack"]["id"].as_str().unwrap());
    let changed = TEMPLATE.replace("resources:", "resources:\n  more: { type: OS::Neutron::Net }");
    std::fs::write(bench.path().join("web.yaml"), changed).unwrap();
    let page = Page {
        path: "docs/plans.md",
        // What would change something says so, and so does what has drifted.
        codes: &[
            ("hearth plan", 2),
            ("hearth drift web", 2),
            ("hearth drift web --repair", 0),
            ("hearth drift web --accept", 0),
        ],
        ..Page::default()
    };
    let mut drifts = 0;
    page.play(&mut bench, |bench, line| {
        if line.starts_with("hearth drift") {
            drifts += 1;
            rename(bench, &format!("their-name-{drifts}"));
        }
    });
    // The last one is what the stack says now.
    let shown = bench.said("hearth replay web --json");
    assert!(shown.contains(&format!("\"their-name-{drifts}\"")), "{shown}");
}
