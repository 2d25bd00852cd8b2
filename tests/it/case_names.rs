//! What `CASE` asks for.

use crate::support::case::named;

const CASES: [[&str; 2]; 3] = [
    ["octavia_pool", "OS::Octavia::Pool"],
    ["octavia_pool_member", "OS::Octavia::PoolMember"],
    ["heat_value", "OS::Heat::Value"],
];

fn asked(name: &str) -> Vec<&str> {
    let cases = named(CASES.to_vec(), name, |names| names.to_vec());
    cases.into_iter().map(|[file, _]| file).collect()
}

#[test]
fn a_whole_name_asks_for_its_case_alone_and_a_part_for_all_that_have_it() {
    assert_eq!(asked("octavia_pool"), ["octavia_pool"]);
    assert_eq!(asked("OS::Octavia::Pool"), ["octavia_pool"]);
    assert_eq!(asked("Octavia::"), ["octavia_pool", "octavia_pool_member"]);
    assert_eq!(asked("").len(), CASES.len());
}

#[test]
#[should_panic(expected = "CASE=octavia_pol names no case")]
fn a_name_that_no_case_has_fails() {
    asked("octavia_pol");
}
