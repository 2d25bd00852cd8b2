//! What a server's states mean.

use super::*;
use crate::clock::{Clock, SimulatedClock};
use crate::openstack::answered;
use crate::resource_types::asks::{Answer, Ask, Facts, Run};
use crate::resource_types::job::{Attempt, Reality};
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

/// A server whose port Nova never lets go is told so once, and the update fails in Heat's words.
#[test]
fn a_port_that_stays_is_detached_once() {
    let driver = Registry::built_in().unwrap().driver("OS::Nova::Server").unwrap();
    let map = |value: Value| value.as_object().cloned().unwrap();
    let before = map(json!({ "networks": [{ "port": "p1" }, { "port": "p2" }] }));
    let mut subject = Subject {
        physical_id: Some("s-1".to_owned()),
        properties: map(json!({ "networks": [{ "port": "p1" }] })),
        ..Subject::default()
    };
    let work = Work::Update { before, changed: ["networks".to_owned()].into() };
    let mut now = SimulatedClock::new(1).now();
    let mut step = driver.first(&work, &subject);
    let mut deletions = 0;
    let failure = loop {
        let mut run = Run::new(Facts::at(now));
        let beat = loop {
            let beat =
                |cloud: &Asks<'_>| driver.beat(cloud, &work, &subject, &step, Attempt::First);
            let ask = match run.go_on(beat) {
                Ok(beat) => break beat,
                Err(ask) => ask,
            };
            let answer = match &*ask {
                Ask::Call(request) => {
                    deletions += u32::from(request.method == Method::Delete);
                    let body = match request.path.split('/').nth(1) {
                        Some("servers") => json!({ "interfaceAttachments": [
                            { "port_id": "p1", "net_id": "n", "fixed_ips": [] },
                            { "port_id": "p2", "net_id": "n", "fixed_ips": [] },
                        ] }),
                        _ => {
                            let asked = request.query.first().map(|(_, asked)| asked.as_str());
                            let port = json!({ "id": asked.or(request.path.rsplit('/').next()) });
                            json!({ "port": port, "ports": [port] })
                        }
                    };
                    let body = body.to_string().into();
                    answered(request, "http://nova", 200, &[], body).map(Answer::Response)
                }
                Ask::Poll { .. } => Ok(Answer::Object(json!({ "status": "ACTIVE" }))),
                other => panic!("{other:?}"),
            };
            run.answered(ask, answer);
        };
        match beat {
            Ok(Beat::Next { learned, next }) => {
                subject.data.extend(learned.data);
                step = next;
            }
            Ok(Beat::Wait { after }) => now += after.unwrap_or_default(),
            Ok(Beat::Done { .. } | Beat::Replace { .. }) => panic!("{step:?}"),
            Err(failure) => break failure.to_string(),
        }
    };
    assert!(failure.contains("Failed to detach interface (p2) from server (s-1)"), "{failure}");
    assert_eq!(deletions, 1);
}
