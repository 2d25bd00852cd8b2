//! What a server's states mean.

use super::*;
use crate::clock::{Clock, SimulatedClock};
use crate::openstack::answered;
use crate::resource_types::asks::{Answer, Ask, Facts, Run};
use crate::resource_types::job::Reality;
use crate::resource_types::registry::Registry;

/// What there is of a server that Nova shows with a status.
fn reality(status: &str) -> Result<Reality, Failure> {
    let driver = Registry::built_in().unwrap().driver("OS::Nova::Server").unwrap();
    let subject = Subject { physical_id: Some("s-1".to_owned()), ..Subject::default() };
    let mut run = Run::new(Facts::at(SimulatedClock::new(1).now()));
    loop {
        let ask = match run.go_on(|cloud: &Asks<'_>| driver.reality(cloud, &subject)) {
            Ok(reality) => return reality,
            Err(ask) => ask,
        };
        let Ask::Call(request) = &*ask else { panic!("{ask:?}") };
        let body = json!({ "server": { "id": "s-1", "status": status } }).to_string();
        let answer = answered(request, "http://nova", 200, &[], body.into());
        run.answered(ask, answer.map(Answer::Response));
    }
}

#[test]
fn a_server_that_nova_shows_as_deleted_is_gone_and_one_at_work_tells_nothing() {
    assert_eq!(reality("ACTIVE"), Ok(Reality::Differs(JsonMap::new())));
    assert_eq!(reality("DELETED"), Ok(Reality::Gone));
    assert!(reality("REBUILD").is_err());
}
