//! Inputs and outputs of operations as documents of JSON or CBOR: an input becomes the parameters
//! that the query protocol has for it, and an output gets its types.

use std::collections::BTreeMap;

use chrono::{DateTime, SecondsFormat, Utc};
use serde_json::{Number, Value};

use crate::api::cfn::asked::PARAMS_MAX;
use crate::api::cfn::fault::{CfnFault, REQUEST_LIMIT};
use crate::model::JsonMap;

/// Members of inputs and outputs that are times, which are seconds of Unix in documents.
const TIMES: [&str; 7] = [
    "AlarmConfigurationUpdatedTimestamp",
    "EndDate",
    "EndTime",
    "StartDate",
    "StartTime",
    "StateUpdatedTimestamp",
    "Timestamp",
];

/// Members of outputs that are true or false.
const BOOLEANS: [&str; 1] = ["ActionsEnabled"];

/// How long the name of a parameter may be. Each has those of all members that it is in.
const NAME_LENGTH_MAX: usize = 255;

/// Whether a member is a time.
pub(super) fn is_time(name: &str) -> bool {
    TIMES.contains(&name)
}

/// The parameters that an input is in the query protocol.
pub(in crate::api) fn parameters(input: JsonMap) -> Result<BTreeMap<String, String>, CfnFault> {
    let mut params = BTreeMap::new();
    for (name, value) in input {
        add(&mut params, &name, &name, value)?;
    }
    Ok(params)
}

/// Adds a member, whose parameters begin with `path`. What has no value is not there.
fn add(
    params: &mut BTreeMap<String, String>,
    path: &str,
    name: &str,
    value: Value,
) -> Result<(), CfnFault> {
    if path.len() > NAME_LENGTH_MAX {
        let text = format!("The name of a parameter has more than {NAME_LENGTH_MAX} bytes.");
        return Err(CfnFault::new(REQUEST_LIMIT, text));
    }
    let text = match value {
        Value::Null => return Ok(()),
        Value::Array(items) => {
            let mut items = items.into_iter().zip(1..);
            return items.try_for_each(|(item, at): (Value, usize)| {
                add(params, &format!("{path}.member.{at}"), name, item)
            });
        }
        Value::Object(members) => {
            let mut members = members.into_iter();
            return members.try_for_each(|(name, value)| {
                add(params, &format!("{path}.{name}"), &name, value)
            });
        }
        Value::Bool(is_true) => is_true.to_string(),
        Value::Number(number) if is_time(name) => time(&number),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text,
    };
    if params.len() >= PARAMS_MAX {
        let text = format!("There are more than {PARAMS_MAX} parameters.");
        return Err(CfnFault::new(REQUEST_LIMIT, text));
    }
    params.insert(path.to_owned(), text);
    Ok(())
}

/// A time as the query protocol has it; a number that is none stays one, which is refused there.
fn time(seconds: &Number) -> String {
    let whole = seconds.as_i64().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    let at = whole.or_else(|| {
        let millis = (seconds.as_f64()? * 1_000.0).round();
        // What is out of range becomes the last number that there is, which is no time.
        DateTime::<Utc>::from_timestamp_millis(millis as i64)
    });
    match at {
        Some(at) => at.to_rfc3339_opts(SecondsFormat::AutoSi, true),
        None => seconds.to_string(),
    }
}

/// An output with its types: times as seconds, truth values, and nothing that has no value.
pub(super) fn typed(output: &Value) -> Value {
    match output {
        Value::Array(items) => items.iter().map(typed).collect(),
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            let members = members.map(|(name, value)| (name.clone(), member(name, value)));
            Value::Object(members.collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => output.clone(),
    }
}

fn member(name: &str, value: &Value) -> Value {
    match value {
        Value::String(text) if BOOLEANS.contains(&name) => (text == "true").into(),
        Value::String(text) if is_time(name) => {
            let at = DateTime::parse_from_rfc3339(text);
            at.map_or_else(|_| value.clone(), |at| at.timestamp().into())
        }
        value => typed(value),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(input: Value) -> Result<BTreeMap<String, String>, &'static str> {
        let Value::Object(input) = input else { panic!("{input}") };
        parameters(input).map_err(|fault| fault.code())
    }

    #[test]
    fn an_input_becomes_the_parameters_of_the_query_protocol() {
        let input = json!({
            "Namespace": "n", "ActionsEnabled": false, "Threshold": 80.5, "Unit": null,
            "MetricData": [
                { "MetricName": "a", "Value": 1, "Dimensions": [{ "Name": "k", "Value": "v" }] },
                { "MetricName": "b", "Value": -1e300 },
            ],
            "AlarmNames": [],
        });
        let params = of(input).unwrap();
        let params: Vec<(&str, &str)> =
            params.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            params,
            [
                ("ActionsEnabled", "false"),
                ("MetricData.member.1.Dimensions.member.1.Name", "k"),
                ("MetricData.member.1.Dimensions.member.1.Value", "v"),
                ("MetricData.member.1.MetricName", "a"),
                ("MetricData.member.1.Value", "1"),
                ("MetricData.member.2.MetricName", "b"),
                ("MetricData.member.2.Value", "-1e+300"),
                ("Namespace", "n"),
                ("Threshold", "80.5"),
            ]
        );
    }

    #[test]
    fn a_time_is_seconds_of_unix() {
        let read =
            |seconds: Value| of(json!({ "StartTime": seconds })).unwrap()["StartTime"].clone();
        assert_eq!(read(json!(0)), "1970-01-01T00:00:00Z");
        assert_eq!(read(json!(-1)), "1969-12-31T23:59:59Z");
        assert_eq!(read(json!(1_700_000_000.25)), "2023-11-14T22:13:20.250Z");
        assert_eq!(read(json!("2023-11-14T22:13:20Z")), "2023-11-14T22:13:20Z");
        for seconds in [json!(1e300), json!(-1e300), json!(u64::MAX), json!(i64::MIN)] {
            assert!(DateTime::parse_from_rfc3339(&read(seconds)).is_err());
        }
    }

    #[test]
    fn an_input_has_bounds() {
        let many = |count: usize| json!({ "a": vec![1; count] });
        assert_eq!(of(many(PARAMS_MAX)).unwrap().len(), PARAMS_MAX);
        assert_eq!(of(many(PARAMS_MAX + 1)), Err("RequestLimitExceeded"));
        // A long name would stand before each value in it.
        let long = "x".repeat(NAME_LENGTH_MAX + 1);
        assert_eq!(of(json!({ long: [1, 2] })), Err("RequestLimitExceeded"));
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert_eq!(of(json!({ "a": deep })), Err("RequestLimitExceeded"));
    }

    #[test]
    fn an_output_gets_its_types() {
        let output = json!({
            "MetricAlarms": [{
                "ActionsEnabled": "true", "Threshold": 80.0, "Unit": null,
                "StateUpdatedTimestamp": "1970-01-01T00:01:00Z", "AlarmName": "true",
            }],
            "NextToken": null,
        });
        assert_eq!(
            typed(&output),
            json!({ "MetricAlarms": [{
                "ActionsEnabled": true, "Threshold": 80.0, "StateUpdatedTimestamp": 60,
                "AlarmName": "true",
            }] })
        );
    }
}
