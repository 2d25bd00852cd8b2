//! AWS::*: CloudFormation's types.

pub(super) mod access_key;
pub(super) mod bucket;
pub(super) mod elastic_ip;
pub(super) mod elastic_ip_association;
pub(super) mod iam_user;
pub(super) mod instance;
pub(super) mod launch_configuration;
pub(super) mod load_balancer;
pub(super) mod security_group;
pub(super) mod volume;
pub(super) mod vpc;

use serde_json::Value;

use crate::model::JsonMap;

/// Tags as metadata: a map by their keys.
fn metadata(tags: &[Value]) -> Value {
    let pairs =
        tags.iter().filter_map(|tag| Some((tag["Key"].as_str()?.to_owned(), tag["Value"].clone())));
    Value::Object(pairs.collect())
}

/// A property's text, when it has one.
fn text<'a>(properties: &'a JsonMap, name: &str) -> Option<&'a str> {
    properties.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}
