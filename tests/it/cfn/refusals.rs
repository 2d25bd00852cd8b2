//! What is refused, in which words, and how much may be asked for.

use std::sync::Arc;

use chrono::TimeDelta;
use hearth::clock::SystemClock;
use hearth::policy::{Policy, PolicyPaths, PolicySettings};
use serde_json::json;

use super::desk::{Desk, named, now, within};
use super::signer::{Key, query};
use crate::api::app::{Answered, SetUp};

/// The code of an error, which has its request's id and nothing of the secret.
#[track_caller]
fn code<'a>(desk: &Desk, answer: &'a Answered) -> (u16, &'a str) {
    assert!(answer.header("x-openstack-request-id").starts_with("req-"), "{}", answer.text);
    assert!(!answer.text.contains(&desk.key.secret));
    (answer.status, within(&answer.text, "Code"))
}

#[actix::test]
async fn whoever_does_not_sign_well_gets_nothing() {
    let mut desk = Desk::open().await;
    let unsigned = desk.send("GET", "/v1/?Action=ListStacks", &[], None).await;
    assert_eq!(code(&desk, &unsigned), (400, "IncompleteSignature"));
    let halves = desk.send("GET", "/v1/?Action=ListStacks&Signature=x", &[], None).await;
    assert_eq!(code(&desk, &halves), (403, "MissingAuthenticationToken"));
    // A token alone is none here, as in Heat.
    let token = vec![("x-auth-token".to_owned(), desk.app.token.clone())];
    let token = desk.send("GET", "/v1/?Action=ListStacks", &token, None).await;
    assert_eq!(code(&desk, &token), (400, "IncompleteSignature"));

    let good = desk.key.clone();
    desk.key = Key { secret: "wrong".to_owned(), ..good.clone() };
    assert_eq!(code(&desk, &desk.get("ListStacks", &[]).await), (403, "AccessDenied"));
    assert_eq!(code(&desk, &desk.post("ListStacks", &[]).await), (403, "AccessDenied"));
    desk.key = Key { access: "nobody".to_owned(), ..good.clone() };
    assert_eq!(code(&desk, &desk.get("ListStacks", &[]).await), (403, "InvalidClientTokenId"));
    desk.key = good;

    for off in [TimeDelta::minutes(16), TimeDelta::minutes(-16)] {
        let late = desk.get_at("ListStacks", &[], Some(now() + off)).await;
        assert_eq!(code(&desk, &late), (400, "RequestExpired"));
    }
    let timeless = desk.get_at("ListStacks", &[], None).await;
    assert_eq!(code(&desk, &timeless), (400, "MissingParameter"));

    // A form is signed and the address is not: what is added to that does not count.
    let body = query(&named("ListStacks", &[]));
    let headers = desk.key.version_4(&desk.host, &body, now());
    let path = "/v1/?Action=DeleteStack&StackName=web";
    let added = desk.send("POST", path, &headers, Some(body)).await;
    assert!(added.text.starts_with("<ListStacksResponse>"), "{}", added.text);
    desk.app.stop().await;
}

#[actix::test]
async fn what_makes_no_sense_is_refused_in_heats_words() {
    let desk = Desk::open().await;
    let unknown = desk.get("Frobnicate", &[]).await;
    assert_eq!(code(&desk, &unknown), (400, "InvalidAction"));
    // Where the other API has its stacks.
    for path in ["/v1/stacks", "/v1/stacks/web/events"] {
        let params = named("ListStacks", &[]);
        let params = desk.key.version_2("GET", &desk.host, path, &params, Some(now()));
        let there = desk.send("GET", &format!("{path}?{}", query(&params)), &[], None).await;
        assert_eq!(code(&desk, &there), (400, "InvalidAction"));
        let unsigned = desk.send("GET", path, &[], None).await;
        assert_eq!(code(&desk, &unsigned), (400, "IncompleteSignature"));
    }
    let nameless = desk.get("GetTemplate", &[]).await;
    assert_eq!(code(&desk, &nameless), (400, "MissingParameter"));
    let missing = desk.get("DescribeStacks", &[("StackName", "web")]).await;
    assert_eq!(
        missing.text,
        "<ErrorResponse><Error><Type>Sender</Type><Code>InvalidParameterValue</Code><Message>A bad \
         or out-of-range value was supplied:The Stack (web) could not be found.</Message></Error>\
         </ErrorResponse>"
    );
    let as_json = [("StackName", "web"), ("ContentType", "JSON")];
    let as_json = desk.get("CancelUpdateStack", &as_json).await;
    assert_eq!(as_json.status, 400);
    assert_eq!(as_json.json()["ErrorResponse"]["Error"]["Code"], "InvalidParameterValue");
    let empty = desk.post("CreateStack", &[("StackName", "web")]).await;
    assert_eq!(code(&desk, &empty), (400, "MissingParameter"));

    let template = r#"{"HeatTemplateFormatVersion": "2012-12-12"}"#;
    let web = [("StackName", "web"), ("TemplateBody", template)];
    assert_eq!(desk.post("CreateStack", &web).await.status, 200);
    assert_eq!(desk.settled("web").await, "CREATE_COMPLETE");
    assert_eq!(code(&desk, &desk.post("CreateStack", &web).await), (400, "AlreadyExists"));
    let idle = desk.post("CancelUpdateStack", &[("StackName", "web")]).await;
    assert_eq!(code(&desk, &idle), (400, "InvalidParameterValue"));
    let both = [web[0], web[1], ("DisableRollback", "true"), ("OnFailure", "DELETE")];
    let both = desk.post("UpdateStack", &both).await;
    assert_eq!(code(&desk, &both), (400, "InvalidParameterCombination"));
    // Another project's stack is not there.
    let (token, project) = desk.app.login("admin", "admin").await;
    let other = super::desk::key(&desk.app, &token, &project).await;
    let arn = desk.get("ListStacks", &[]).await;
    let arn = within(&arn.text, "StackId").replace(&desk.app.project, &project);
    let taken = desk.get("GetTemplate", &[("StackName", &arn)]).await;
    assert_eq!(code(&desk, &taken), (400, "InvalidParameterValue"));
    let params = named("ListStacks", &[]);
    let params = other.version_2("GET", &desk.host, "/v1/", &params, Some(now()));
    let listed = desk.send("GET", &format!("/v1/?{}", query(&params)), &[], None).await;
    assert!(listed.text.contains("<StackSummaries/>"), "{}", listed.text);

    // What is beside the version is as at the other API.
    assert_eq!(desk.send("GET", "/", &[], None).await.status, 300);
    assert_eq!(desk.send("GET", "/healthcheck", &[], None).await.status, 200);
    desk.app.stop().await;
}

#[actix::test]
async fn whoever_may_only_read_changes_nothing() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), r#"{"cloudformation:CreateStack": "!"}"#).unwrap();
    let paths = PolicyPaths { file: Some(file.path().into()), ..PolicyPaths::default() };
    let settings = PolicySettings { paths, ..PolicySettings::default() };
    let policy = Policy::load(settings, Arc::new(SystemClock)).unwrap();
    let desk = Desk::set_up(SetUp { policy, ..SetUp::default() }).await;
    let web = [("StackName", "web"), ("TemplateBody", "{}")];
    let refused = desk.post("CreateStack", &web).await;
    assert_eq!(code(&desk, &refused), (403, "AccessDenied"));
    let message =
        "User is not authorized to perform action:Action CreateStack not allowed for user";
    assert_eq!(within(&refused.text, "Message"), message);
    assert_eq!(desk.get("ListStacks", &[]).await.status, 200);
    desk.app.stop().await;
}

#[actix::test]
async fn everything_in_a_request_has_a_bound() {
    let desk = Desk::set_up(SetUp { json_body_size_max: 600_000, ..SetUp::default() }).await;
    let long = "x".repeat(700_000);
    let body = desk.post("CreateStack", &[("TemplateBody", &long)]).await;
    assert_eq!(code(&desk, &body), (400, "RequestLimitExceeded"));
    let template = "x".repeat(524_289);
    let web = [("StackName", "web"), ("TemplateBody", template.as_str())];
    assert_eq!(code(&desk, &desk.post("CreateStack", &web).await), (400, "RequestLimitExceeded"));
    let names: Vec<String> = (0..5000).map(|number| format!("a{number}")).collect();
    let many: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let many = desk.post("ListStacks", &many).await;
    assert_eq!(code(&desk, &many), (400, "RequestLimitExceeded"));
    let key = "k".repeat(256);
    let long =
        format!("/v1/?Action=ListStacks&SignatureVersion=2&AWSAccessKeyId={key}&Signature=x");
    let long = desk.send("GET", &long, &[], None).await;
    assert_eq!(code(&desk, &long), (400, "IncompleteSignature"));
    let line = format!("/v1/?Action=ListStacks&x={}", "x".repeat(20_000));
    let line = desk.send("GET", &line, &[], None).await;
    assert_eq!(code(&desk, &line), (400, "RequestLimitExceeded"));
    desk.app.stop().await;
}

#[actix::test]
async fn what_is_outside_of_a_version_is_told_of_the_versions_or_nothing() {
    let desk = Desk::open().await;
    for root in [&desk.app.cfn_url, &desk.app.watch_url] {
        let versions = json!({ "versions": [{
            "id": "v1.0",
            "status": "CURRENT",
            "links": [{ "rel": "self", "href": format!("{root}/v1/") }],
        }] });
        for path in ["", "/", "/versions", "/v2", "/v2/", "/v0.1/stacks", "/v3?Action=ListStacks"] {
            for verb in ["GET", "POST"] {
                let told = desk.app.send(verb, &format!("{root}{path}"), &[], None).await;
                assert_eq!((told.status, told.json()), (300, versions.clone()), "{verb} {path}");
            }
        }
        for path in ["/elsewhere", "/stacks", "/v", "/v1/elsewhere"] {
            let told = desk.app.send("GET", &format!("{root}{path}"), &[], None).await;
            assert_eq!(told.status, 404, "{path}");
        }
        // Both of its names are served.
        for path in ["/v1", "/v1/", "/v1.0/"] {
            let told = desk.app.send("GET", &format!("{root}{path}"), &[], None).await;
            assert_eq!(code(&desk, &told), (400, "IncompleteSignature"), "{path}");
        }
    }
    desk.app.stop().await;
}
