//! Alarms: what is the same for all kinds of them lies on top of the body, the rest in the rule of
//! the kind. Aodh takes whole alarms, so an update reads the alarm and puts it back changed.

use serde_json::{Value, json};

use crate::events::resource::Step;
use crate::model::{Action, JsonMap};
use crate::openstack::Method;
use crate::resource_types::asks::Asks;
use crate::resource_types::declared::{Beating, Declared, done};
use crate::resource_types::failure::Failure;
use crate::resource_types::job::{Beat, Subject, Work};
use crate::resource_types::python;
use crate::resource_types::resource_type::{At, Purpose, ResourceType};
use crate::resource_types::stage::{Stages, stages};

/// A kind of alarm, by Aodh's name for it.
pub(in crate::resource_types::types) struct Alarm(pub(crate) String);

/// What all kinds have on top.
const COMMON: [&str; 8] = [
    "alarm_actions",
    "description",
    "enabled",
    "insufficient_data_actions",
    "ok_actions",
    "repeat_actions",
    "severity",
    "time_constraints",
];
/// Actions, and the queues that are told as they are.
const ACTIONS: [(&str, &str); 3] = [
    ("alarm_actions", "alarm_queues"),
    ("ok_actions", "ok_queues"),
    ("insufficient_data_actions", "insufficient_data_queues"),
];
/// Properties of rules whose fields have other names.
const RENAMED: [(&str, &str); 2] = [("pool", "pool_id"), ("stack", "stack_id")];
/// Nova's meters, whose samples have a server's metadata under another name (Heat's NOVA_METERS);
/// those of traffic end in `.rate` as well.
const OF_SERVERS: [&str; 9] = [
    "cpu",
    "cpu_util",
    "disk.ephemeral.size",
    "disk.root.size",
    "instance",
    "memory",
    "memory.resident",
    "memory.usage",
    "vcpus",
];
const TRAFFIC: [&str; 12] = [
    "disk.device.read.bytes",
    "disk.device.read.requests",
    "disk.device.write.bytes",
    "disk.device.write.requests",
    "disk.read.bytes",
    "disk.read.requests",
    "disk.write.bytes",
    "disk.write.requests",
    "network.incoming.bytes",
    "network.incoming.packets",
    "network.outgoing.bytes",
    "network.outgoing.packets",
];

stages! {
    /// What an alarm does otherwise.
    enum Stage {
        Put = "put" Changes,
    }
}

impl ResourceType for Alarm {
    fn first(&self, declared: &Declared, work: &Work, subject: &Subject) -> Step {
        match work {
            Work::Update { .. } | Work::Act(Action::Suspend | Action::Resume) => Stage::Put.step(),
            Work::Create | Work::Delete | Work::Act(_) => declared.first_step(work, subject),
        }
    }

    fn beat(&self, declared: &Declared, beating: &Beating<'_>) -> Result<Beat, Failure> {
        if Stage::of(beating.step).is_none() {
            return declared.plain_beat(beating);
        }
        let Beating { cloud, work, subject, .. } = *beating;
        let mut alarm = declared.show(cloud, subject)?;
        let news = match work {
            Work::Act(action) => {
                JsonMap::from_iter([("enabled".to_owned(), (*action == Action::Resume).into())])
            }
            Work::Create | Work::Update { .. } | Work::Delete => {
                self.wanted(declared, cloud, subject, work)?
            }
        };
        self.change(&mut alarm, news);
        let put = declared.request(cloud, Method::Put, "/v2/alarms/{id}", subject, None)?;
        cloud.send(put.json(alarm))?;
        Ok(done())
    }

    fn body(&self, _purpose: Purpose, _subject: &Subject, body: &mut JsonMap) {
        let name = body.shift_remove("name");
        let mut alarm = self.fields(std::mem::take(body));
        alarm.insert("type".to_owned(), self.0.as_str().into());
        alarm.extend(name.map(|name| ("name".to_owned(), name)));
        *body = alarm;
    }

    fn live(
        &self,
        at: At<'_>,
        object: &Value,
        name: &str,
        wanted: &Value,
    ) -> Result<Option<Value>, Failure> {
        let At { declared, .. } = at;
        // Queues are among the actions, and metadata in the query.
        let is_mixed = ACTIONS.iter().any(|(actions, queues)| [*actions, *queues].contains(&name))
            || ["composite_rule", "matching_metadata", "query"].contains(&name);
        if is_mixed {
            return Ok(None);
        }
        let part = if COMMON.contains(&name) { object } else { &object[self.rule()] };
        Ok(declared.plain_live(part, name, wanted))
    }
}

impl Alarm {
    fn rule(&self) -> String {
        format!("{}_rule", self.0)
    }

    /// The whole alarm as the properties have it; what is not set is null. Of a composite one Heat
    /// sends what changes alone.
    fn wanted(
        &self,
        declared: &Declared,
        cloud: &Asks<'_>,
        subject: &Subject,
        work: &Work,
    ) -> Result<JsonMap, Failure> {
        let properties = declared.properties(&subject.properties);
        let mut properties = declared.declaration().resolved(cloud, properties)?;
        properties.retain(|_, value| !value.is_null());
        let is_said = |name: &String| match work {
            Work::Update { changed, .. } => self.0 != "composite" || changed.contains(name),
            Work::Create | Work::Delete | Work::Act(_) => false,
        };
        for name in declared.declaration().properties.keys().filter(|name| is_said(name)) {
            properties.entry(name.clone()).or_insert(Value::Null);
        }
        Ok(self.fields(properties))
    }

    /// Puts what is new into an alarm; of a rule, field by field.
    fn change(&self, alarm: &mut Value, news: JsonMap) {
        let Value::Object(alarm) = alarm else { return };
        let rule = self.rule();
        for (name, value) in news {
            match (alarm.get_mut(&name), value) {
                (Some(Value::Object(was)), Value::Object(now))
                    if name == rule && self.0 != "composite" =>
                {
                    was.extend(now);
                }
                (_, value) => {
                    alarm.insert(name, value);
                }
            }
        }
    }

    /// Properties as the fields of an alarm.
    fn fields(&self, mut properties: JsonMap) -> JsonMap {
        let mut alarm = JsonMap::new();
        for (actions, queues) in ACTIONS {
            let mut urls = list(properties.shift_remove(actions));
            urls.retain(|url| url.as_str() != Some(""));
            let queues = list(properties.shift_remove(queues));
            urls.extend(queues.iter().map(|queue| queue_url(&python::text(queue))));
            alarm.insert(actions.to_owned(), urls.into());
        }
        for name in COMMON {
            alarm.extend(properties.shift_remove(name).map(|value| (name.to_owned(), value)));
        }
        if let Some(Value::Array(times)) = alarm.get_mut("time_constraints") {
            for time in times.iter_mut().filter_map(Value::as_object_mut) {
                time.retain(|_, value| !value.is_null());
            }
        }
        let rule = match self.0.as_str() {
            "composite" => composite(&properties),
            "threshold" => threshold(properties),
            "event" => without_empty(properties),
            _ => renamed(properties),
        };
        alarm.insert(self.rule(), Value::Object(rule));
        alarm
    }
}

fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

/// Where an alarm tells a queue of Zaqar.
fn queue_url(name: &str) -> Value {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.append_pair("queue_name", name);
    format!("trust+zaqar://?{}", query.finish()).into()
}

fn composite(properties: &JsonMap) -> JsonMap {
    let rule = &properties.get("composite_rule").cloned().unwrap_or_default();
    let operator = rule["operator"].as_str().unwrap_or_default().to_owned();
    JsonMap::from_iter([(operator, rule["rules"].clone())])
}

fn without_empty(mut rule: JsonMap) -> JsonMap {
    rule.retain(|_, value| {
        let is_empty = matches!(value, Value::Array(items) if items.is_empty());
        !is_empty && !value.is_null() && value.as_str() != Some("")
    });
    rule
}

fn renamed(mut rule: JsonMap) -> JsonMap {
    for (property, field) in RENAMED {
        if let Some(value) = rule.shift_remove(property) {
            rule.insert(field.to_owned(), value);
        }
    }
    rule
}

/// The metadata that samples must have is part of the query.
fn threshold(mut rule: JsonMap) -> JsonMap {
    let mut query = list(rule.shift_remove("query"));
    let meter = rule.get("meter_name").and_then(Value::as_str).unwrap_or_default();
    let traffic = meter.strip_suffix(".rate").unwrap_or(meter);
    let is_of_servers = OF_SERVERS.contains(&meter) || TRAFFIC.contains(&traffic);
    let prefix = if is_of_servers { "user_metadata" } else { "metering" };
    if let Some(Value::Object(wanted)) = rule.shift_remove("matching_metadata") {
        for (key, value) in wanted {
            let key = key.strip_prefix("metadata.").unwrap_or(&key);
            let key = ["metering.", "user_metadata."]
                .iter()
                .find_map(|prefix| key.strip_prefix(prefix))
                .unwrap_or(key);
            let field = format!("metadata.{prefix}.{key}");
            query.push(json!({ "field": field, "op": "eq", "value": python::text(&value) }));
        }
    }
    if !query.is_empty() {
        rule.insert("query".to_owned(), query.into());
    }
    rule
}
