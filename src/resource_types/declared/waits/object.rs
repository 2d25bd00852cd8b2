//! Signals that are put as versions of an object in Swift, at an address that anybody may use who
//! has it.

use serde_json::Value;

use super::{Wanted, too_few};
use crate::model::decoded;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, done};
use crate::resource_types::failure::{Failure, Waiter};
use crate::resource_types::job::{Beat, Subject};
use crate::resource_types::python;
use crate::resource_types::types::heat::swift_signal::{Sent, sent_to};
use crate::resource_types::types::heat::temp_url;
use crate::resource_types::types::heat::wait::Wait;

/// The object that signals are put to, once the handle is known to be an address of this stack:
/// `/v1/AUTH_project/container/object`.
pub(super) fn named(wanted: &Wanted, subject: &Subject) -> Result<String, Failure> {
    let handle = python::text(&wanted.handle);
    let path = handle.split('?').next().unwrap_or_default();
    let path = path.find("/v1/").map_or(path, |start| &path[start..]);
    let parts: Vec<&str> = path.splitn(5, '/').collect();
    let wrong = |part: &str| {
        let text = format!("\"{path}\" is not a valid SwiftSignalHandle.  The {part} is invalid");
        Failure::Invalid(text)
    };
    let project = subject.project_id.as_ref().map(ToString::to_string).unwrap_or_default();
    match parts.as_slice() {
        ["", "v1", account, of, object]
            if account.ends_with(&project) && !object.trim_matches('/').is_empty() =>
        {
            match *of == temp_url::container(subject) {
                true => Ok(decoded(object)),
                false => Err(wrong("container name")),
            }
        }
        _ => Err(wrong("Swift TempURL path")),
    }
}

/// One look at the signals.
pub(super) fn look(beating: &Beating<'_>, wanted: &Wanted, wait: &Wait) -> Result<Beat, Failure> {
    let Beating { cloud, subject, .. } = *beating;
    let signals = sent(cloud, subject, wanted)?;
    // What has come counts, however late it is looked at.
    if verdict(&signals, wanted.count)? {
        return Ok(done());
    }
    match wait.remaining(cloud.now()) {
        Some(_) => Ok(Beat::Wait { after: None }),
        None => Err(too_few(Waiter::SwiftSignal, &reasons(&signals, "SUCCESS"), wanted.count)),
    }
}

/// The data of the signals, as JSON text.
pub(super) fn data(cloud: &Asks<'_>, subject: &Subject, wanted: &Wanted) -> Result<Value, Failure> {
    let signals = sent(cloud, subject, wanted)?;
    let data = match signals.is_empty() {
        true => Value::Null,
        false => {
            Value::Object(signals.into_iter().map(|it| (python::text(&it.id), it.data)).collect())
        }
    };
    Ok(python::json(&data).into())
}

/// The signals that have come, in the order of their versions.
fn sent(cloud: &Asks<'_>, subject: &Subject, wanted: &Wanted) -> Result<Vec<Sent>, Failure> {
    sent_to(cloud, subject, &named(wanted, subject)?)
}

fn reasons(signals: &[Sent], status: &str) -> Vec<String> {
    let of_status = signals.iter().filter(|signal| signal.status == status);
    of_status.map(|signal| signal.reason.clone()).collect()
}

/// Whether the signals are enough; an error where one says failure, or nothing that is known.
fn verdict(signals: &[Sent], count: usize) -> Result<bool, Failure> {
    for signal in signals {
        match signal.status.as_str() {
            "SUCCESS" => {}
            "FAILURE" => {
                let reasons = reasons(signals, "FAILURE").join(";");
                return Err(Failure::SignaledFailure { to: Waiter::SwiftSignal, reasons });
            }
            other => return Err(Failure::Failed(format!("Unknown status: {other}"))),
        }
    }
    Ok(!signals.is_empty() && signals.len() >= count)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;
    use uuid::Uuid;

    use super::*;
    use crate::model::{ProjectId, StackId};

    #[test]
    fn the_object_is_the_one_whose_name_the_address_encodes() {
        let stack = StackId(Uuid::from_u128(1));
        let subject = Subject {
            stack_id: Some(stack),
            project_id: Some(ProjectId::from("p")),
            ..Subject::default()
        };
        let of = |object: &str| {
            let handle = format!("http://s/object-store/v1/AUTH_p/{stack}/{object}?temp_url_sig=a");
            named(&Wanted { handle: handle.into(), timeout: Duration::ZERO, count: 1 }, &subject)
        };
        for (quoted, name) in [("s-h", "s-h"), ("h%C3%A4n%20dle%2Bx", "hän dle+x"), ("a/b", "a/b")]
        {
            assert_eq!(of(quoted).unwrap(), name);
        }
        assert!(of("/").is_err());
    }

    #[test]
    fn a_failure_counts_whatever_else_has_come() {
        let signal = |status: &str| Sent {
            id: Value::Null,
            status: status.to_owned(),
            reason: format!("it is {status}"),
            data: Value::Null,
        };
        assert_eq!(verdict(&[], 1), Ok(false));
        assert_eq!(verdict(&[signal("SUCCESS")], 1), Ok(true));
        assert_eq!(verdict(&[signal("SUCCESS")], 2), Ok(false));
        let failed = verdict(&[signal("SUCCESS"), signal("FAILURE")], 1).unwrap_err();
        assert_eq!(failed.told(), "SwiftSignalFailure: it is FAILURE");
        let unknown = verdict(&[signal("MAYBE")], 1).unwrap_err();
        assert_eq!(unknown.told(), "Error: Unknown status: MAYBE");
    }
}
