//! CloudWatch's API in the protocols of newer clients: JSON and CBOR.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::desk::{Desk, named, now};
use super::signer::{Pairs, query};

const SERVICE: &str = "GraniteServiceVersion20100801";

struct Told {
    status: u16,
    headers: reqwest::header::HeaderMap,
    body: Vec<u8>,
}

impl Told {
    fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Value {
        assert_eq!(self.header("content-type"), "application/x-amz-json-1.0");
        serde_json::from_slice(&self.body).unwrap()
    }

    fn has(&self, bytes: &[u8]) -> bool {
        assert_eq!(self.header("content-type"), "application/cbor");
        self.body.windows(bytes.len()).any(|part| part == bytes)
    }
}

impl Desk {
    /// Posts a body with headers, signed as it is.
    async fn call(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Told {
        let host = self.app.watch_url.trim_start_matches("http://");
        let targets: Vec<_> =
            headers.iter().copied().filter(|(name, _)| *name == "x-amz-target").collect();
        let signature = self.key.version_4_of(host, path, &targets, body, now());
        let signature = signature.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        self.post_signed(path, &signature.chain(headers.iter().copied()).collect::<Vec<_>>(), body)
            .await
    }

    async fn post_signed(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Told {
        let request = self.app.client.post(format!("{}{path}", self.app.watch_url));
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = request.body(body.to_vec()).send().await.unwrap();
        Told {
            status: answer.status().as_u16(),
            headers: answer.headers().clone(),
            body: answer.bytes().await.unwrap().into(),
        }
    }

    async fn in_json(&self, operation: &str, input: &Value) -> Told {
        let target = format!("{SERVICE}.{operation}");
        let headers = [("x-amz-target", target.as_str())];
        self.call("/v1/", &headers, input.to_string().as_bytes()).await
    }

    async fn in_cbor(&self, operation: &str, input: &[u8]) -> Told {
        let path = format!("/v1/service/{SERVICE}/operation/{operation}");
        let told = self.call(&path, &[("smithy-protocol", "rpc-v2-cbor")], input).await;
        assert_eq!(told.header("smithy-protocol"), "rpc-v2-cbor");
        told
    }
}

fn alarm() -> Value {
    json!({
        "AlarmName": "hot", "Namespace": "n", "MetricName": "cpu", "Statistic": "Average",
        "ComparisonOperator": "GreaterThanThreshold", "Threshold": 80.5, "Period": 60,
        "EvaluationPeriods": 1, "Dimensions": [{ "Name": "Group", "Value": "web" }],
    })
}

#[actix::test]
async fn an_alarm_that_is_made_in_json_is_seen_with_its_types() {
    let desk = Desk::open().await;
    let made = desk.in_json("PutMetricAlarm", &alarm()).await;
    assert_eq!((made.status, made.json()), (200, json!({})));
    let seen = desk.in_json("DescribeAlarms", &json!({ "AlarmNames": ["hot"] })).await.json();
    let seen = &seen["MetricAlarms"][0];
    assert_eq!((&seen["ActionsEnabled"], &seen["Threshold"]), (&json!(true), &json!(80.5)));
    assert_eq!(seen["Dimensions"], json!([{ "Name": "Group", "Value": "web" }]));
    let age = now().timestamp() - seen["StateUpdatedTimestamp"].as_i64().unwrap();
    assert!((0..60).contains(&age), "{seen}");
    assert!(seen.get("Unit").is_none(), "{seen}");
    let seen = desk.in_cbor("DescribeAlarms", b"\xbf\xff").await;
    assert_eq!(seen.status, 200);
    assert!(seen.has(b"\x6eActionsEnabled\xf5"));
    assert!(seen.has(b"\x65Value\x63web"));
    assert!(seen.has(b"\x75StateUpdatedTimestamp\xc1\x1a"));
    let disabled = desk.in_cbor("DisableAlarmActions", b"\xa1\x6aAlarmNames\x81\x63hot").await;
    assert_eq!((disabled.status, disabled.header("content-type")), (200, ""));
    assert!(disabled.body.is_empty());
    let seen = desk.in_cbor("DescribeAlarms", b"").await;
    assert!(seen.has(b"\x6eActionsEnabled\xf4"));
    desk.app.stop().await;
}

#[actix::test]
async fn an_alarm_that_would_be_another_than_asked_for_is_refused_in_each_protocol() {
    let desk = Desk::open().await;
    let metric = json!({ "Metric": { "MetricName": "cpu" }, "Period": 60, "Stat": "Sum" });
    for (name, value) in [
        ("Metrics", json!([{ "Id": "m1", "MetricStat": metric }])),
        ("Tags", json!([{ "Key": "team", "Value": "web" }])),
        ("TreatMissingData", json!("ignore")),
        ("DatapointsToAlarm", json!(2)),
    ] {
        let mut input = alarm();
        input[name] = value;
        let refused = desk.in_json("PutMetricAlarm", &input).await;
        let code = (refused.status, refused.header("x-amzn-query-error"));
        assert_eq!(code, (400, "InvalidParameterValue;Sender"), "{name}");
        let message = refused.json()["message"].as_str().unwrap().to_owned();
        assert!(message.contains(name), "{message}");
    }
    let tagged = b"\xa2\x69AlarmName\x63hot\x64Tags\x81\xa2\x63Key\x61a\x65Value\x61b";
    let refused = desk.in_cbor("PutMetricAlarm", tagged).await;
    assert_eq!(refused.header("x-amzn-query-error"), "InvalidParameterValue;Sender");
    assert!(refused.has(b"Tags is not supported"));
    let mut plain = alarm();
    plain["TreatMissingData"] = json!("missing");
    plain["DatapointsToAlarm"] = json!(1);
    plain["Tags"] = json!([]);
    assert_eq!(desk.in_json("PutMetricAlarm", &plain).await.status, 200);
    desk.app.stop().await;
}

#[actix::test]
async fn data_may_be_compressed() {
    let desk = Desk::open().await;
    desk.in_json("PutMetricAlarm", &alarm()).await;
    let datum = json!({
        "MetricName": "cpu", "Value": 90.5, "Dimensions": [{ "Name": "Group", "Value": "web" }],
        "Timestamp": now().timestamp(),
    });
    let input = json!({ "Namespace": "n", "MetricData": [datum] }).to_string();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(input.as_bytes()).unwrap();
    let body = encoder.finish().unwrap();
    let target = format!("{SERVICE}.PutMetricData");
    let headers = [("x-amz-target", target.as_str()), ("content-encoding", "gzip")];
    let put = desk.call("/v1/", &headers, &body).await;
    assert_eq!(put.status, 200, "{}", put.json());
    let asked = json!({
        "Namespace": "n", "MetricName": "cpu", "Dimensions": [{ "Name": "Group", "Value": "web" }],
        "StartTime": now().timestamp() - 3_600, "EndTime": now().timestamp() as f64 + 3_600.5,
        "Period": 3_600, "Statistics": ["Maximum"],
    });
    let seen = desk.in_json("GetMetricStatistics", &asked).await.json();
    assert_eq!(seen["Datapoints"][0]["Maximum"], 90.5);
    desk.app.stop().await;
}

#[actix::test]
async fn a_refusal_has_its_code_and_its_shape() {
    let desk = Desk::open().await;
    for (operation, input, code, shape) in [
        ("SetAlarmState", json!({}), "MissingParameter", "MissingRequiredParameterException"),
        (
            "DescribeAlarms",
            json!({ "MaxRecords": 101 }),
            "InvalidParameterValue",
            "InvalidParameterValueException",
        ),
        ("ListStacks", json!({}), "InvalidAction", "InvalidAction"),
        ("ListMetrics", json!([]), "InvalidParameterValue", "InvalidParameterValueException"),
    ] {
        let refused = desk.in_json(operation, &input).await;
        assert_eq!(refused.status, 400);
        assert_eq!(refused.header("x-amzn-query-error"), format!("{code};Sender"));
        let kind = format!("com.amazonaws.cloudwatch#{shape}");
        assert_eq!(refused.json()["__type"], Value::from(kind), "{operation}");
    }
    let refused = desk.in_cbor("SetAlarmState", b"\xa0").await;
    assert_eq!(refused.status, 400);
    assert_eq!(refused.header("x-amzn-query-error"), "MissingParameter;Sender");
    assert!(refused.has(b"cloudwatch#MissingRequiredParameterException"));
    let refused = desk.in_cbor("DescribeAlarms", b"\x9f").await;
    assert_eq!(refused.header("x-amzn-query-error"), "InvalidParameterValue;Sender");
    // Another service's operation, and CBOR that is sent as a form would be.
    let headers = [("x-amz-target", "Other.DescribeAlarms")];
    let refused = desk.call("/v1/", &headers, b"{}").await;
    assert_eq!(refused.header("x-amzn-query-error"), "InvalidAction;Sender");
    let headers = [("smithy-protocol", "rpc-v2-cbor")];
    let refused = desk.call("/v1/", &headers, b"\xa0").await;
    assert_eq!(refused.header("x-amzn-query-error"), "InvalidAction;Sender");
    desk.app.stop().await;
}

/// Nothing but a request as it was signed is done, whatever else is said of it.
#[actix::test]
async fn what_was_signed_cannot_be_made_another_request() {
    let desk = Desk::open().await;
    desk.in_json("PutMetricAlarm", &alarm()).await;
    let host = desk.app.watch_url.trim_start_matches("http://");
    let name = |operation: &str| format!("{SERVICE}.{operation}");
    let (delete, enable) = (name("DeleteAlarms"), name("EnableAlarmActions"));
    let delete = [("x-amz-target", delete.as_str())];
    let enable = [("x-amz-target", enable.as_str())];
    let body = br#"{"AlarmNames": ["hot"]}"#;
    let send = async |path: &str, signature: &Pairs, more: &[(&str, &str)], body: &[u8]| {
        let signature = signature.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let headers: Vec<_> = signature.chain(more.iter().copied()).collect();
        let told = desk.post_signed(path, &headers, body).await;
        (told.status, told.header("x-amzn-query-error").to_owned())
    };
    let denied = (403, "AccessDenied;Sender".to_owned());
    let incomplete = (400, "IncompleteSignature;Sender".to_owned());
    // Another body, which is not even read, and another operation.
    let signed = desk.key.version_4_of(host, "/v1/", &delete, b"{}", now());
    assert_eq!(send("/v1/", &signed, &delete, body).await, denied);
    assert_eq!(send("/v1/", &signed, &delete, b"{").await, denied);
    let signed = desk.key.version_4_of(host, "/v1/", &enable, body, now());
    assert_eq!(send("/v1/", &signed, &delete, body).await, denied);
    let signed = desk.key.version_4_of(host, "/v1/", &[], body, now());
    assert_eq!(send("/v1/", &signed, &delete, body).await, incomplete);
    // An operation is in the path of CBOR.
    let path = |operation: &str| format!("/v1/service/{SERVICE}/operation/{operation}");
    let cbor = [("smithy-protocol", "rpc-v2-cbor")];
    let body_of_cbor = b"\xa1\x6aAlarmNames\x81\x63hot";
    let enabling = path("EnableAlarmActions");
    let signed = desk.key.version_4_of(host, &enabling, &[], body_of_cbor, now());
    assert_eq!(send(&path("DeleteAlarms"), &signed, &cbor, body_of_cbor).await, denied);
    // Version 2 signs a query, whose parameters do not count where there is a document.
    let params = named("DescribeAlarms", &[]);
    let params = desk.key.version_2("POST", host, "/v1/", &params, Some(now()));
    let path = format!("/v1/?{}", query(&params));
    assert_eq!(send(&path, &Pairs::new(), &delete, body).await, incomplete);
    let seen = desk.in_json("DescribeAlarms", &json!({})).await.json();
    assert_eq!(seen["MetricAlarms"][0]["AlarmName"], "hot");
    desk.app.stop().await;
}
