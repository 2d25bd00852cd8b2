//! Signals at addresses that were signed in advance.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::desk::{Desk, now, within};
use super::signer::{query, quoted};
use crate::api::app::Answered;
use crate::support::wait::until;

const WAITING: &str = r#"{
    "heat_template_version": "2018-08-31",
    "resources": {
        "handle": { "type": "OS::Heat::WaitConditionHandle" },
        "wait": { "type": "OS::Heat::WaitCondition", "properties": {
            "handle": { "get_resource": "handle" }, "timeout": 60, "count": 4 } }
    },
    "outputs": { "got": { "value": { "get_attr": ["wait", "data"] } } }
}"#;

/// Creates the stack `web`, and waits until its handle is there; the handle's ARN.
async fn waiting(desk: &Desk) -> String {
    let web = [("StackName", "web"), ("TemplateBody", WAITING)];
    let created = desk.post("CreateStack", &web).await;
    let arn = within(&created.text, "StackId").to_owned();
    let handle = [("StackName", "web"), ("LogicalResourceId", "handle")];
    let is_there =
        async || desk.get("DescribeStackResource", &handle).await.text.contains("CREATE_COMPLETE");
    until(&[&desk.app], "the handle is there", is_there).await;
    format!("{arn}/resources/handle")
}

impl Desk {
    async fn signal(
        &self,
        verb: &str,
        (door, arn): (&str, &str),
        body: Option<Value>,
        at: Option<DateTime<Utc>>,
    ) -> Answered {
        self.signal_text(verb, (door, arn), body.map(|body| body.to_string()), at).await
    }

    async fn signal_text(
        &self,
        verb: &str,
        (door, arn): (&str, &str),
        body: Option<String>,
        at: Option<DateTime<Utc>>,
    ) -> Answered {
        // As curl sends what it is told to send.
        self.send(verb, &self.address(verb, (door, arn), &[], at), &[], body).await
    }

    /// A signed address of a resource, with parameters that are signed with it.
    fn address(
        &self,
        verb: &str,
        (door, arn): (&str, &str),
        params: &[(&str, &str)],
        at: Option<DateTime<Utc>>,
    ) -> String {
        let path = format!("/v1/{door}/{arn}");
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let params = self.key.version_2(verb, &self.host, &path, &params.collect(), at);
        let arn = quoted(arn).replace("%2F", "/");
        format!("/v1/{door}/{arn}?{}", query(&params))
    }
}

#[actix::test]
async fn a_condition_waits_for_signals_at_a_signed_address() {
    let desk = Desk::open().await;
    let arn = waiting(&desk).await;
    let condition = ("waitcondition", arn.as_str());
    // An address is good for as long as Keystone takes its time, or for ever without any.
    let long_ago = Some(now() - TimeDelta::minutes(16));
    let late = desk.signal("PUT", condition, Some(json!({})), long_ago).await;
    assert_eq!((late.status, within(&late.text, "Code")), (403, "AccessDenied"));
    let first = Some(json!({ "status": "SUCCESS", "id": "a", "data": "one" }));
    let heard = desk.signal("PUT", condition, first, None).await;
    assert_eq!((heard.status, heard.text.as_str()), (200, "<resource>handle</resource>"));
    let second = Some(json!({ "status": "SUCCESS", "id": "b", "data": "two" }));
    let heard = desk.signal("POST", ("signal", &arn), second, Some(now())).await;
    assert_eq!((heard.status, heard.text.as_str()), (200, ""));
    // As a browser asks, with nothing to say; and with all that was heard in the answer.
    let heard = desk.signal("GET", ("signal", &arn), None, None).await;
    assert_eq!((heard.status, heard.text.as_str()), (200, ""));
    assert_eq!(heard.header("content-type"), "text/html; charset=UTF-8");
    let address = desk.address("GET", condition, &[("ContentType", "JSON")], None);
    let last = json!({ "id": "d", "data": "four" }).to_string();
    let heard = desk.send("GET", &address, &[], Some(last)).await;
    assert_eq!(heard.header("content-type"), "application/json", "{}", heard.text);
    let signal =
        |data: Value, reason: &str| json!({ "status": "SUCCESS", "reason": reason, "data": data });
    let metadata = json!({
        "a": signal("one".into(), "Signal 1 received"),
        "b": signal("two".into(), "Signal 2 received"),
        "3": signal(Value::Null, "Signal 3 received"),
        "d": signal("four".into(), "Signal 4 received"),
    });
    assert_eq!(heard.json(), json!({ "resource": "handle", "metadata": metadata }));
    assert_eq!(desk.settled("web").await, "CREATE_COMPLETE");
    let shown = desk.get("DescribeStacks", &[("StackName", "web")]).await;
    let got = r#"{"a": "one", "b": "two", "3": null, "d": "four"}"#;
    assert_eq!(within(&shown.text, "OutputValue"), got);
    desk.app.stop().await;
}

#[actix::test]
async fn a_signal_that_a_handle_cannot_read_is_refused_and_not_thrown_away() {
    let desk = Desk::open().await;
    let template = r#"{
        "heat_template_version": "2018-08-31",
        "resources": { "handle": { "type": "AWS::CloudFormation::WaitConditionHandle" } }
    }"#;
    let web = [("StackName", "web"), ("TemplateBody", template)];
    let created = desk.post("CreateStack", &web).await;
    assert_eq!(desk.settled("web").await, "CREATE_COMPLETE");
    let arn = format!("{}/resources/handle", within(&created.text, "StackId"));
    let condition = ("waitcondition", arn.as_str());
    let whole = json!({ "Status": "SUCCESS", "Reason": "r", "Data": "d", "UniqueId": "1" });
    let but = |name: &str, value: Value| {
        let mut other = whole.clone();
        other[name] = value;
        other.to_string()
    };
    let mut short = whole.clone();
    short.as_object_mut().unwrap().remove("Data");
    for wrong in [
        Some(but("Status", "foo".into())),
        Some(but("More", "x".into())),
        Some(short.to_string()),
        Some(format!("[{whole}]")),
        Some("{\"Status\"".to_owned()),
        Some(String::new()),
        None,
    ] {
        let refused = desk.signal_text("PUT", condition, wrong.clone(), None).await;
        let code = (refused.status, within(&refused.text, "Code"));
        assert_eq!(code, (400, "InvalidParameterValue"), "{wrong:?}");
        // Nobody waits for what becomes of one that comes by the other door.
        if wrong.as_ref().is_none_or(|text| text != "{\"Status\"") {
            let heard = desk.signal_text("POST", ("signal", &arn), wrong.clone(), None).await;
            assert_eq!(heard.status, 200, "{wrong:?}: {}", heard.text);
        }
    }
    for right in [whole.to_string(), format!("\u{feff} \n{}", but("UniqueId", 2.into()))] {
        let heard = desk.signal_text("PUT", condition, Some(right), None).await;
        assert_eq!(heard.status, 200, "{}", heard.text);
    }
    let handle = [("StackName", "web"), ("LogicalResourceId", "handle"), ("ContentType", "JSON")];
    let shown = desk.get("DescribeStackResource", &handle).await;
    assert!(shown.text.contains(r#""1":"#) && shown.text.contains(r#""2":"#), "{}", shown.text);
    desk.app.stop().await;
}

#[actix::test]
async fn a_signal_that_cannot_be_meant_is_refused() {
    let desk = Desk::open().await;
    let arn = waiting(&desk).await;
    let code = |answer: &Answered| (answer.status, within(&answer.text, "Code").to_owned());
    for wrong in [
        arn.replace("/handle", "/other"),
        arn.replace("stacks/web", "stacks/wep"),
        arn.replace(&desk.app.project, "other"),
        arn.replace("/resources/handle", ""),
        "handle".to_owned(),
    ] {
        let refused = desk.signal("PUT", ("waitcondition", &wrong), Some(json!({})), None).await;
        assert_eq!(code(&refused), (400, "InvalidParameterValue".to_owned()), "{wrong}");
    }
    let unsigned = desk.send("PUT", &format!("/v1/waitcondition/{arn}"), &[], None).await;
    assert_eq!(code(&unsigned), (400, "IncompleteSignature".to_owned()));
    let deleting = desk.signal("DELETE", ("signal", &arn), None, None).await;
    assert_eq!(deleting.status, 404);
    let long = Some(json!({ "data": "x".repeat(300_000) }));
    let long = desk.signal("POST", ("signal", &arn), long, None).await;
    assert_eq!(code(&long), (400, "RequestLimitExceeded".to_owned()));
    desk.app.stop().await;
}
