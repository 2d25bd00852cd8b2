//! AWS::AutoScaling::LaunchConfiguration: what the instances of a group are made from. It is
//! nothing in the cloud.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::clock::Moment;
use crate::events::resource::Step;
use crate::model::JsonMap;
use crate::openstack::{Request, Service};
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::Declared;
use crate::resource_types::driver::{
    Attempt, Beat, Driver, DriverError, Learned, LocalOutcome, Subject, UpdateKind, Work,
};
use crate::resource_types::groups::FROM_INSTANCE;
use crate::resource_types::stage::{Stages, stages};

pub(crate) struct LaunchConfiguration(pub(crate) Arc<Declared>);

stages! {
    /// An instance is looked at.
    enum Stage {
        Look = "look" Looks,
    }
}

impl Driver for LaunchConfiguration {
    fn local(
        &self,
        work: &Work,
        subject: &Subject,
        _moment: &Moment<'_>,
    ) -> Option<Result<LocalOutcome, DriverError>> {
        let asks = *work == Work::Create && subject.properties.contains_key("InstanceId");
        (!asks).then(|| Ok(LocalOutcome::default()))
    }

    fn first(&self, _work: &Work, _subject: &Subject) -> Step {
        Stage::Look.step()
    }

    fn beat(
        &self,
        cloud: &Asks<'_>,
        _work: &Work,
        subject: &Subject,
        _step: &Step,
        _attempt: Attempt,
    ) -> Result<Beat, DriverError> {
        let id = subject.properties.get("InstanceId").and_then(Value::as_str).unwrap_or_default();
        let path = format!("/servers/{id}");
        let server: Value = cloud.send(Request::get(Service::Compute, path))?.json()?;
        let data = BTreeMap::from([(FROM_INSTANCE.to_owned(), taken(&server["server"]))]);
        Ok(Beat::Done { learned: Learned { data, ..Learned::default() } })
    }

    fn on_change(
        &self,
        subject: &Subject,
        _before: &JsonMap,
        changed: &BTreeSet<String>,
    ) -> UpdateKind {
        self.0.change_by_schema(subject, changed, true)
    }

    fn attributes(
        &self,
        _cloud: &Asks<'_>,
        _subject: &Subject,
        _wanted: &[String],
    ) -> Result<JsonMap, DriverError> {
        Ok(JsonMap::new())
    }

    /// Its name, though there is nothing of that name in the cloud.
    fn reference(&self, subject: &Subject) -> Value {
        subject.physical_name.as_str().into()
    }
}

/// What an instance says of what it was made from.
fn taken(server: &Value) -> Value {
    let groups = server["security_groups"].as_array();
    let groups: Vec<&Value> = groups.into_iter().flatten().map(|group| &group["name"]).collect();
    json!({
        "ImageId": server["image"]["id"],
        "InstanceType": server["flavor"]["id"],
        "KeyName": server["key_name"],
        "SecurityGroups": groups,
    })
}
