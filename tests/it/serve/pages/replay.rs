//! `docs/replay.md`, with a stack to which the page's moments are made to fit.

use super::Page;
use super::bench::Bench;

const TEMPLATE: &str = "\
heat_template_version: 2021-04-16
parameters: { size: { type: number, default: 1 } }
resources:
  net: { type: OS::Neutron::Net }
  front:
    type: OS::Heat::TestResource
    depends_on: net
    properties: { value: { get_param: size } }
";

#[test]
fn every_command_of_the_page_on_histories_works() {
    let other = TEMPLATE.replace("  net:", "  other: { type: OS::Neutron::Net }\n  net:");
    let files = [("web.yaml", TEMPLATE), ("new.yaml", &other), ("env.yaml", "parameters: {}\n")];
    let mut bench = Bench::with(&files);
    // The client is somebody else's, and need not be there.
    bench.program("openstack", "exit 0");
    bench.move_home(true);
    for size in 1..=3 {
        bench.said(&format!("hearth up web.yaml -P size={size}"));
    }
    let checkpoint = bench.said("hearth checkpoint print");
    std::fs::write(bench.path().join("checkpoint-of-monday"), checkpoint).unwrap();
    let [first, last] =
        ["r1", "r2"].map(|at| bench.json(&format!("hearth replay web --until {at} --json")));
    let place = |theirs: &str, ours: String| (theirs.to_owned(), ours);
    bench.places = vec![
        place("2026-01-31T12:00:00Z", first["at"].as_str().unwrap().to_owned()),
        place(" 120", format!(" {}", first["position"])),
        place(" 180", format!(" {}", last["position"])),
    ];
    let id = first["stack"]["id"].as_str().unwrap().to_owned();
    let page = Page {
        path: "docs/replay.md",
        without_server: &["## Views made anew"],
        // What would change something says so.
        codes: &[("hearth what-if", 2)],
        ..Page::default()
    };
    page.play(&mut bench, |bench, line| {
        if line.starts_with("curl") {
            bench.sign_in(&id);
        }
    });
}
