//! Handles of wait conditions: they take signals and keep them in their metadata, by id.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::signal_queue;
use super::temp_url::{self, Takes};
use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::model::python::is_truthy;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{
    Beat, Learned, LocalOutcome, Said, SignalOutcome, Signaled, Signals, StackUser, Subject, Work,
};
use crate::resource_types::presigned::{self, Door};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, ResourceType};
use crate::resource_types::signal_entries::SignalEntries;
use crate::resource_types::stack_user::{self, Proof};
use crate::resource_types::stage::{Stages, stages};

/// Where a signed address is kept that is a reference, in Heat's word for it.
pub(super) const ADDRESS: &str = "ec2_signed_url";

/// Resource data of OS::Heat::WaitConditionHandle: the address of an object; a token of its user's, and where it is good.
const OBJECT: &str = "swift_signal_url";
const TOKEN: &str = "token";
const ENDPOINT: &str = "endpoint";

/// A handle, whichever its type.
pub(crate) struct WaitHandle(pub(crate) HandleKind);

/// The data and attributes by which anybody may signal, beside those of the user.
const SECRETS: [&str; 5] = [TOKEN, ADDRESS, OBJECT, "curl_cli", "signal"];

/// The transport by which signals are put to an object in Swift.
const TEMP_URL: &str = "TEMP_URL_SIGNAL";
/// The transport by which they are posted to a queue in Zaqar.
const ZAQAR: &str = "ZAQAR_SIGNAL";

/// How a handle is signaled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HandleKind {
    /// By a user of its own, in Heat's words.
    Own,
    /// In CloudFormation's words, at an address that is its reference.
    Aws,
}

/// The names of a signal's parts: data, reason, status, id.
type Parts = [&'static str; 4];
const OWN_PARTS: Parts = ["data", "reason", "status", "id"];
const AWS_PARTS: Parts = ["Data", "Reason", "Status", "UniqueId"];

/// A part of a signal as its handle kept it, whichever its type.
pub(in crate::resource_types) fn part<'a>(entry: &'a Value, name: &str) -> &'a Value {
    let found = OWN_PARTS.iter().zip(AWS_PARTS).find(|(own, _)| **own == name);
    let Some((own, aws)) = found else { return &Value::Null };
    entry.get(own).or_else(|| entry.get(aws)).unwrap_or(&Value::Null)
}

impl WaitHandle {
    fn parts(&self) -> Parts {
        if self.0 == HandleKind::Own { OWN_PARTS } else { AWS_PARTS }
    }

    fn transport<'a>(&self, properties: &'a JsonMap) -> &'a str {
        properties.get("signal_transport").and_then(Value::as_str).unwrap_or("TOKEN_SIGNAL")
    }

    /// By what whoever signals is let in.
    fn proof(&self, properties: &JsonMap) -> Proof {
        match (self.0, self.transport(properties)) {
            (HandleKind::Aws, _) | (HandleKind::Own, "CFN_SIGNAL") => Proof::Key,
            (HandleKind::Own, _) => Proof::Password,
        }
    }

    /// A signal as it is kept, by its id; `None` where it cannot be read. `known` came before it.
    fn read(&self, known: usize, details: &Value) -> Option<(String, JsonMap)> {
        let mut signal = match details {
            Value::Object(parts) => parts.clone(),
            // As in Python, what is empty is as good as nothing.
            _ if !is_truthy(details) => JsonMap::new(),
            _ => return None,
        };
        if self.0 == HandleKind::Own {
            let number = known + 1;
            // Its sender may leave these out.
            let defaults = [
                ("reason", Value::from(format!("Signal {number} received"))),
                ("data", Value::Null),
                ("id", number.into()),
                ("status", "SUCCESS".into()),
            ];
            for (name, default) in defaults {
                signal.entry(name).or_insert(default);
            }
        }
        let [_, _, status, id] = self.parts();
        let is_whole = signal.len() == self.parts().len()
            && self.parts().iter().all(|part| signal.contains_key(*part));
        if !is_whole || !["SUCCESS", "FAILURE"].iter().any(|known| signal[status] == **known) {
            return None;
        }
        let id = signal.shift_remove(id).unwrap_or_default();
        Some((python::text(&id), signal))
    }
}

/// A signal that was posted to a handle's queue, as it would be kept had it been sent to the handle.
pub(in crate::resource_types) fn posted(
    known: usize,
    details: &Value,
) -> Option<(String, JsonMap)> {
    WaitHandle(HandleKind::Own).read(known, details)
}

stages! {
    /// What a handle goes through, besides what its user does.
    enum Stage {
        Settle = "settle" Looks,
        Address = "address" Looks,
        DropObject = "drop_object" Changes,
        DropContainer = "drop_container" Changes,
        DropQueue = "drop_queue" Changes,
    }
}

impl ResourceType for WaitHandle {
    fn local(
        &self,
        declared: &Declared,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, Failure>> {
        let has_beats = match work {
            Work::Create | Work::Delete => true,
            Work::Act(action) => declared.acts(*action) && StackUser::made(subject).is_some(),
            Work::Update { .. } => false,
        };
        (!has_beats).then(|| Ok(LocalOutcome::default()))
    }

    fn first(&self, _declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Create | Work::Update { .. } => stack_user::first(Value::Null),
            Work::Delete if self.transport(&subject.properties) == TEMP_URL => {
                Stage::DropObject.step()
            }
            Work::Delete if self.transport(&subject.properties) == ZAQAR => Stage::DropQueue.step(),
            Work::Delete => stack_user::removal(),
            Work::Act(_) => stack_user::enabling(),
        }
    }

    fn beat(&self, _declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        let Beating { cloud, work, subject, step, .. } = *beating;
        let end = || match self.0 {
            HandleKind::Own => Stage::Settle.step(),
            HandleKind::Aws => Stage::Address.step(),
        };
        let proof = self.proof(&subject.properties);
        if let Some(beat) = stack_user::make(cloud, subject, step, proof, end) {
            return beat;
        }
        if let Some(beat) = stack_user::keep(cloud, work, subject, step) {
            return beat;
        }
        match Stage::of(step) {
            Some(Stage::Settle) => self.settled(cloud, subject),
            Some(Stage::Address) => addressed(cloud, subject),
            Some(Stage::DropObject) if temp_url::delete_what_is_there(cloud, subject)? => {
                Ok(next(Stage::DropObject.step()))
            }
            Some(Stage::DropObject) => Ok(next(Stage::DropContainer.step())),
            Some(Stage::DropContainer) => {
                temp_url::delete_container(cloud, subject)?;
                Ok(next(stack_user::removal()))
            }
            Some(Stage::DropQueue) => {
                signal_queue::remove(cloud, subject)?;
                Ok(next(stack_user::removal()))
            }
            None => Ok(done()),
        }
    }

    fn is_secret(&self, _declared: &Declared, name: &str) -> bool {
        SECRETS.contains(&name)
    }

    fn signal(&self, subject: &Subject, details: &Value) -> Signaled {
        let why = match self.0 {
            HandleKind::Own => "it may have data, id, reason and status, SUCCESS or FAILURE",
            HandleKind::Aws => "it has Data, Reason, Status, SUCCESS or FAILURE, and UniqueId",
        };
        if self.0 != HandleKind::Own && details.is_null() {
            let outcome = SignalOutcome { said: Said::Details, ..SignalOutcome::default() };
            return Signaled::Unread { why, outcome };
        }
        let Some((id, signal)) = self.read(subject.signaled, details) else {
            return Signaled::Unread { why, outcome: SignalOutcome::default() };
        };
        let [_, reason, status, _] = self.parts();
        let (status, reason) = (python::text(&signal[status]), python::text(&signal[reason]));
        let said = Said::Result(format!("status:{status} reason:{reason}"));
        let metadata = JsonMap::from_iter([(id, Value::Object(signal))]);
        Signaled::Handled(SignalOutcome { said, metadata, ..SignalOutcome::default() })
    }

    fn signals(&self, subject: &Subject) -> Option<Signals> {
        let unneeded = self.transport(&subject.properties) == "NO_SIGNAL";
        let is_put = self.transport(&subject.properties) == TEMP_URL;
        let object = is_put.then(|| subject.physical_name.clone());
        let is_posted = self.transport(&subject.properties) == ZAQAR;
        let queue = signal_queue::of(subject).filter(|_| is_posted);
        Some(Signals { entries: SignalEntries::default(), unneeded, object, queue })
    }

    fn attributes(&self, at: At<'_>, wanted: &[String]) -> Result<JsonMap, Failure> {
        let At { declared, cloud, subject, .. } = at;
        let names = declared.declaration().attributes.keys();
        let mut attributes = JsonMap::new();
        for name in names.filter(|name| wanted.is_empty() || wanted.contains(name)) {
            let value = match name.as_str() {
                "signal" => self.how_to_signal(cloud, subject)?,
                "curl_cli" => curl(subject),
                name => subject.data.get(name).cloned().unwrap_or_default(),
            };
            attributes.insert(name.clone(), value);
        }
        Ok(attributes)
    }

    fn reference(&self, declared: &Declared, subject: &Subject) -> Value {
        match subject.data.get(ADDRESS) {
            Some(address) => address.clone(),
            None => declared.plain_reference(subject),
        }
    }
}

impl WaitHandle {
    /// The end of the creation: a token of the user's or an object, where that is the way to signal.
    fn settled(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Beat, Failure> {
        let user = StackUser::made(subject);
        let mut data = BTreeMap::new();
        if let (Some(user), "TOKEN_SIGNAL") = (&user, self.transport(&subject.properties)) {
            let token = user.token(cloud)?;
            data.insert(TOKEN.to_owned(), Value::from(token.reveal().as_str()));
            let endpoint = stack_user::signal_url(cloud, subject, &user.project)?;
            data.insert(ENDPOINT.to_owned(), endpoint.into());
        }
        if self.transport(&subject.properties) == TEMP_URL {
            let address = temp_url::make(cloud, subject, Takes::Many)?;
            data.insert(OBJECT.to_owned(), address.into());
        }
        let physical_id = physical_id(subject);
        Ok(Beat::Done { learned: Learned { physical_id, data, ..Learned::default() } })
    }

    /// What a sender must know, as JSON in the form of Python's.
    fn how_to_signal(&self, cloud: &Asks<'_>, subject: &Subject) -> Result<Value, Failure> {
        match (self.transport(&subject.properties), StackUser::made(subject)) {
            ("NO_SIGNAL", _) => Ok("{}".into()),
            ("TOKEN_SIGNAL", Some(_)) => Ok("null".into()),
            (TEMP_URL, _) => {
                let address = subject.data.get(OBJECT);
                Ok(python::json(&json!({ "alarm_url": address })).into())
            }
            ("CFN_SIGNAL", Some(_)) => {
                let address = presigned::address(cloud, subject, Door::WaitCondition)?;
                Ok(python::json(&json!({ "alarm_url": address })).into())
            }
            ("HEAT_SIGNAL", Some(user)) => {
                let mut known = stack_user::credentials(cloud, subject, &user)?;
                let url = stack_user::signal_url(cloud, subject, &user.project)?;
                known["alarm_url"] = url.into();
                Ok(python::json(&known).into())
            }
            (ZAQAR, Some(user)) => {
                let mut known = stack_user::credentials(cloud, subject, &user)?;
                known["queue_id"] = signal_queue::of(subject).map(|queue| queue.name).into();
                Ok(python::json(&known).into())
            }
            _ => Ok(Value::Null),
        }
    }
}

fn next(step: Step) -> Beat {
    Beat::Next { learned: Learned::default(), next: step }
}

/// The beginning of a command that signals.
fn curl(subject: &Subject) -> Value {
    let text = |key: &str| subject.data.get(key).and_then(Value::as_str);
    let (Some(token), Some(endpoint)) = (text(TOKEN), text(ENDPOINT)) else { return Value::Null };
    format!(
        "curl -i -X POST -H 'X-Auth-Token: {token}' -H 'Content-Type: application/json' -H \
         'Accept: application/json' {endpoint}"
    )
    .into()
}

/// The end of the creation of a handle whose address is its reference.
fn addressed(cloud: &Asks<'_>, subject: &Subject) -> Result<Beat, Failure> {
    let physical_id = physical_id(subject);
    let address = match presigned::address(cloud, subject, Door::WaitCondition)? {
        Some(address) => address,
        // Each incarnation has an address of its own, also where nobody signs for it.
        None => presigned::unsigned(cloud, subject, physical_id.as_deref().unwrap_or_default())?,
    };
    let data = BTreeMap::from([(ADDRESS.to_owned(), Value::from(address))]);
    Ok(Beat::Done { learned: Learned { physical_id, data, ..Learned::default() } })
}

/// The user's id, or one of that form where there is no user.
fn physical_id(subject: &Subject) -> Option<String> {
    let own = || subject.resource_id.map(|id| id.0.simple().to_string());
    StackUser::made(subject).map(|user| user.id).or_else(own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource_types::Registry;

    fn signal(type_name: &str, known: Value, details: Value) -> SignalOutcome {
        let Value::Object(signals) = known else { panic!("signals are a map") };
        let driver = Registry::built_in().unwrap().driver(type_name).unwrap();
        let subject = Subject { signaled: signals.len(), ..Subject::default() };
        match driver.program().signal(&subject, &details) {
            Signaled::Handled(outcome) | Signaled::Unread { outcome, .. } => outcome,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_a_sender_leaves_out_is_filled_in() {
        let outcome = signal("OS::Heat::WaitConditionHandle", json!({"1": {}}), Value::Null);
        let said = Said::Result("status:SUCCESS reason:Signal 2 received".to_owned());
        assert_eq!(outcome.said, said);
        let entry = json!({ "reason": "Signal 2 received", "data": null, "status": "SUCCESS" });
        assert_eq!(Value::Object(outcome.metadata), json!({ "2": entry }));
    }

    #[test]
    fn what_is_empty_is_a_signal_of_success() {
        for details in [json!(null), json!({}), json!([]), json!(""), json!(0), json!(false)] {
            let outcome = signal("OS::Heat::WaitConditionHandle", json!({}), details);
            assert_eq!(outcome.metadata["1"]["status"], "SUCCESS");
        }
    }

    #[test]
    fn what_cannot_be_read_comes_to_nothing() {
        for details in [
            json!({ "status": "PERHAPS" }),
            json!({ "status": "failure" }),
            json!({ "status": null }),
            json!({ "other": 1 }),
            json!("PERHAPS"),
            json!(1),
            json!([1]),
        ] {
            let outcome = signal("OS::Heat::WaitConditionHandle", json!({}), details);
            assert_eq!(outcome, SignalOutcome::default());
        }
        let short = json!({ "Status": "SUCCESS", "UniqueId": "a" });
        let outcome = signal("AWS::CloudFormation::WaitConditionHandle", json!({}), short);
        assert_eq!(outcome, SignalOutcome::default());
    }

    #[test]
    fn a_signal_of_the_same_id_takes_the_place_of_the_first() {
        let details = json!({ "Status": "FAILURE", "UniqueId": "a", "Reason": "no", "Data": "x" });
        let known = json!({ "a": { "Status": "SUCCESS", "Reason": "", "Data": "" } });
        let outcome = signal("AWS::CloudFormation::WaitConditionHandle", known, details);
        let entry = json!({ "Status": "FAILURE", "Reason": "no", "Data": "x" });
        assert_eq!(Value::Object(outcome.metadata), json!({ "a": entry }));
    }
}
