//! What the actions do and answer.

use hearth::api::Prices;
use serde_json::json;

use super::desk::{Desk, key, named, now, within};
use super::signer::{Key, query};
use crate::api::app::SetUp;
use crate::support::shelf::Shelf;

const TEMPLATE: &str = r#"{
    "AWSTemplateFormatVersion": "2010-09-09",
    "Description": "said & done",
    "Parameters": {
        "Text": { "Type": "String", "Default": "blue", "Description": "a <color>" },
        "Key": { "Type": "String", "Default": "k", "NoEcho": "true" }
    },
    "Resources": {
        "Said": { "Type": "OS::Heat::TestResource", "Metadata": { "a": [1] },
                  "Properties": { "value": { "Ref": "Text" } } },
        "Net": { "Type": "OS::Neutron::Net" }
    },
    "Outputs": {
        "Said": { "Value": { "Fn::GetAtt": ["Said", "output"] }, "Description": "what it says" }
    }
}"#;

#[actix::test]
async fn a_stack_lives_from_its_making_to_its_end() {
    let desk = Desk::open().await;
    let created = desk
        .post(
            "CreateStack",
            &[
                ("StackName", "web"),
                ("TemplateBody", TEMPLATE),
                ("TimeoutInMinutes", "7"),
                ("OnFailure", "ROLLBACK"),
                ("Parameters.member.1.ParameterKey", "Text"),
                ("Parameters.member.1.ParameterValue", "green"),
            ],
        )
        .await;
    assert_eq!(created.status, 200, "{}", created.text);
    assert_eq!(created.header("content-type"), "application/xml");
    assert!(created.header("x-openstack-request-id").starts_with("req-"));
    let arn = within(&created.text, "StackId");
    let id = arn.rsplit('/').next().unwrap();
    assert_eq!(arn, format!("arn:openstack:heat::{}:stacks/web/{id}", desk.app.project));
    assert_eq!(
        created.text,
        format!(
            "<CreateStackResponse><CreateStackResult><StackId>{arn}</StackId>\
                 </CreateStackResult></CreateStackResponse>"
        )
    );
    assert_eq!(desk.settled("web").await, "CREATE_COMPLETE");

    for name in ["web", id, arn] {
        let shown = desk.get("DescribeStacks", &[("StackName", name)]).await;
        assert_eq!(shown.status, 200, "{}", shown.text);
        let has = |text: &str| assert!(shown.text.contains(text), "{text} in {}", shown.text);
        has("<Capabilities/>");
        has("<Description>said &amp; done</Description>");
        has("<DisableRollback>False</DisableRollback>");
        has("<ParameterKey>Text</ParameterKey><ParameterValue>green</ParameterValue>");
        has("<ParameterKey>Key</ParameterKey><ParameterValue>******</ParameterValue>");
        has(&format!("<ParameterKey>AWS::StackId</ParameterKey><ParameterValue>{arn}<"));
        has("<TimeoutInMinutes>7</TimeoutInMinutes>");
        has("<StackStatus>CREATE_COMPLETE</StackStatus>");
        has("<member><Description>what it says</Description><OutputKey>Said</OutputKey>\
             <OutputValue>green</OutputValue></member>");
        assert!(!shown.text.contains("LastUpdatedTime"));
    }
    let listed = desk.get("ListStacks", &[]).await;
    assert_eq!(within(&listed.text, "StackName"), "web");
    assert!(!listed.text.contains("DeletionTime"), "{}", listed.text);

    let template = desk.get("GetTemplate", &[("StackName", "web"), ("ContentType", "JSON")]).await;
    let body = &template.json()["GetTemplateResponse"]["GetTemplateResult"]["TemplateBody"];
    assert_eq!(*body, serde_json::from_str::<serde_json::Value>(TEMPLATE).unwrap());

    let updated = desk.post("UpdateStack", &[("StackName", arn), ("TemplateBody", TEMPLATE)]).await;
    assert_eq!(within(&updated.text, "StackId"), arn);
    assert_eq!(desk.settled("web").await, "UPDATE_COMPLETE");
    let shown = desk.get("DescribeStacks", &[]).await;
    assert_eq!(within(&shown.text, "OutputValue"), "blue");
    assert!(shown.text.contains("<LastUpdatedTime>20"));

    let deleted = desk.post("DeleteStack", &[("StackName", "web")]).await;
    let empty = "<DeleteStackResponse><DeleteStackResult/></DeleteStackResponse>";
    assert_eq!((deleted.status, deleted.text.as_str()), (200, empty));
    desk.loses("web").await;
    // By what it is and not by its name it is still there to be looked at.
    for name in [arn, id] {
        let name = ("StackName", name);
        let shown = desk.get("DescribeStacks", &[name]).await;
        assert_eq!(within(&shown.text, "StackStatus"), "DELETE_COMPLETE");
        let events = desk.get("DescribeStackEvents", &[name]).await;
        assert_eq!(within(&events.text, "ResourceStatus"), "DELETE_COMPLETE");
        assert_eq!(desk.get("GetTemplate", &[name]).await.status, 200);
        assert_eq!(desk.get("ListStackResources", &[name]).await.status, 200);
        let said = ("LogicalResourceId", "Said");
        for (action, params) in [
            ("UpdateStack", vec![name, ("TemplateBody", TEMPLATE)]),
            ("DeleteStack", vec![name]),
            ("CancelUpdateStack", vec![name]),
            ("DescribeStackResources", vec![name]),
            ("DescribeStackResource", vec![name, said]),
        ] {
            let refused = desk.post(action, &params).await;
            let code = (refused.status, within(&refused.text, "Code"));
            assert_eq!(code, (400, "InvalidParameterValue"), "{action}");
        }
    }
    desk.app.stop().await;
}

#[actix::test]
async fn the_events_of_a_project_are_those_of_nested_stacks_too() {
    let desk = Desk::open().await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "resources": { "group": { "type": "OS::Heat::ResourceGroup", "properties": {
            "count": 1, "resource_def": { "type": "OS::Heat::RandomString" } } } },
    });
    let template = template.to_string();
    let web = [("StackName", "web"), ("TemplateBody", template.as_str())];
    assert_eq!(desk.post("CreateStack", &web).await.status, 200);
    assert_eq!(desk.settled("web").await, "CREATE_COMPLETE");
    let all = desk.get("DescribeStackEvents", &[]).await;
    assert!(all.text.contains("<StackName>web-group-"), "{}", all.text);
    let own = desk.get("DescribeStackEvents", &[("StackName", "web")]).await;
    assert!(!own.text.contains("<StackName>web-group-"), "{}", own.text);
    desk.app.stop().await;
}

#[actix::test]
async fn resources_and_events_are_told_by_their_stack_or_what_they_are_in_the_cloud() {
    let desk = Desk::open().await;
    let web = [("StackName", "web"), ("TemplateBody", TEMPLATE)];
    assert_eq!(desk.post("CreateStack", &web).await.status, 200);
    assert_eq!(desk.settled("web").await, "CREATE_COMPLETE");

    let one = [("StackName", "web"), ("LogicalResourceId", "Said")];
    let detail = desk.get("DescribeStackResource", &one).await;
    let detail = within(&detail.text, "StackResourceDetail");
    assert_eq!(within(detail, "Metadata"), r#"{"a": [1]}"#);
    assert_eq!(within(detail, "ResourceStatus"), "CREATE_COMPLETE");
    let as_json =
        desk.get("DescribeStackResource", &[one[0], one[1], ("ContentType", "JSON")]).await;
    assert_eq!(as_json.header("content-type"), "application/json");
    let detail = &as_json.json()["DescribeStackResourceResponse"]["DescribeStackResourceResult"]["StackResourceDetail"];
    assert_eq!(detail["Metadata"], json!({ "a": [1] }));

    let listed = desk.get("ListStackResources", &[("StackName", "web")]).await;
    assert_eq!(listed.text.matches("<member>").count(), 2);
    let all = desk.get("DescribeStackResources", &[("StackName", "web")]).await;
    let (_, net) = all.text.split_once("<LogicalResourceId>Net<").unwrap();
    let physical = within(net, "PhysicalResourceId").to_owned();
    let by_id = desk.get("DescribeStackResources", &[("PhysicalResourceId", &physical)]).await;
    assert_eq!(by_id.text, all.text);
    let both = [("PhysicalResourceId", physical.as_str()), ("StackName", "web")];
    let refused = desk.get("DescribeStackResources", &both).await;
    assert_eq!(within(&refused.text, "Code"), "InvalidParameterCombination");
    let unknown = desk.get("DescribeStackResources", &[("PhysicalResourceId", "x")]).await;
    assert_eq!((unknown.status, within(&unknown.text, "Code")), (400, "InvalidParameterValue"));
    for absent in [vec![], vec![("PhysicalResourceId", "")]] {
        let refused = desk.get("DescribeStackResources", &absent).await;
        let code = (refused.status, within(&refused.text, "Code"));
        assert_eq!(code, (400, "MissingParameter"), "{absent:?}: {}", refused.text);
    }
    for of in [("StackName", "web"), ("PhysicalResourceId", &physical)] {
        for (name, names) in [("Said", ["Said"].as_slice()), ("Nobody", &[])] {
            let found =
                desk.get("DescribeStackResources", &[of, ("LogicalResourceId", name)]).await;
            assert_eq!(found.status, 200, "{}", found.text);
            assert_eq!(self::all(&found.text, "LogicalResourceId"), names, "{of:?}");
        }
    }

    let events = desk.get("DescribeStackEvents", &[("StackName", "web")]).await;
    assert_eq!(within(&events.text, "ResourceStatus"), "CREATE_COMPLETE");
    assert_eq!(within(&events.text, "ResourceProperties"), "{}");
    assert_eq!(desk.get("DescribeStackEvents", &[]).await.text, events.text);

    // A second stack has the same network.
    let same = json!({
        "heat_template_version": "2018-08-31",
        "resources": { "net": { "type": "OS::Neutron::Net", "external_id": physical } },
    });
    desk.app.create("same", same).await;
    let refused = desk.get("DescribeStackResources", &[("PhysicalResourceId", &physical)]).await;
    assert_eq!((refused.status, within(&refused.text, "Code")), (400, "InvalidParameterValue"));
    let message = format!("Multiple resources were found with the physical ID ({physical}).");
    assert!(within(&refused.text, "Message").ends_with(&message), "{}", refused.text);
    desk.app.stop().await;
}

#[actix::test]
async fn an_update_that_is_called_off_is_undone() {
    let desk = Desk::open().await;
    let of = |value: &str, secs: f64| {
        let properties = json!({ "value": value, "wait_secs": secs });
        json!({
            "heat_template_version": "2018-08-31",
            "resources": { "said": { "type": "OS::Heat::TestResource", "properties": properties } },
            "outputs": { "said": { "value": { "get_attr": ["said", "output"] } } },
        })
    };
    desk.app.create("web", of("one", 0.0)).await;
    let web = ("StackName", "web");
    let refused = desk.post("CancelUpdateStack", &[web]).await;
    let code = (refused.status, within(&refused.text, "Code"));
    assert_eq!(code, (400, "InvalidParameterValue"), "{}", refused.text);
    let slow = of("two", 5.0).to_string();
    let updated = desk.post("UpdateStack", &[web, ("TemplateBody", &slow)]).await;
    assert_eq!(updated.status, 200, "{}", updated.text);
    let cancelled = desk.post("CancelUpdateStack", &[web]).await;
    let empty = "<CancelUpdateStackResponse><CancelUpdateStackResult/></CancelUpdateStackResponse>";
    assert_eq!((cancelled.status, cancelled.text.as_str()), (200, empty));
    assert_eq!(desk.settled("web").await, "ROLLBACK_COMPLETE");
    let shown = desk.get("DescribeStacks", &[web]).await;
    assert_eq!(within(&shown.text, "OutputValue"), "one");
    desk.app.stop().await;
}

#[actix::test]
async fn what_becomes_of_a_failure_is_said_by_either_parameter_and_not_by_both() {
    let desk = Desk::open().await;
    let of = |fails: bool| {
        json!({
            "heat_template_version": "2018-08-31",
            "resources": { "said": { "type": "OS::Heat::TestResource",
                                     "properties": { "fail": fails } } },
        })
        .to_string()
    };
    let (good, bad) = (of(false), of(true));
    let (disable, on_failure) = ("DisableRollback", "OnFailure");
    let undone = ("False", "ROLLBACK_COMPLETE", "ROLLBACK_COMPLETE");
    let kept = ("True", "CREATE_FAILED", "UPDATE_FAILED");
    for (number, (name, value, (disabled, created, updated))) in [
        (on_failure, "DO_NOTHING", kept),
        (on_failure, "ROLLBACK", undone),
        // As in Heat, whose rollback of a creation leaves an empty stack.
        (on_failure, "DELETE", undone),
        // As in Heat, a word that is none of these is passed over.
        (on_failure, "SHRUG", kept),
        (disable, "true", kept),
        (disable, "False", undone),
    ]
    .into_iter()
    .enumerate()
    {
        let told = (name, value);
        let stacks = [format!("made{number}"), format!("changed{number}")];
        let [made, changed] = stacks.each_ref().map(|stack| ("StackName", stack.as_str()));
        let answer = desk.post("CreateStack", &[made, ("TemplateBody", &bad), told]).await;
        assert_eq!(answer.status, 200, "{told:?}: {}", answer.text);
        desk.post("CreateStack", &[changed, ("TemplateBody", &good)]).await;
        desk.settled(changed.1).await;
        let answer = desk.post("UpdateStack", &[changed, ("TemplateBody", &bad), told]).await;
        assert_eq!(answer.status, 200, "{told:?}: {}", answer.text);
        for (stack, status) in [(made, created), (changed, updated)] {
            assert_eq!(desk.settled(stack.1).await, status, "{told:?}");
            let shown = desk.get("DescribeStacks", &[stack]).await;
            assert_eq!(within(&shown.text, "DisableRollback"), disabled, "{told:?}");
        }
    }
    // What is left out of an update is as it was.
    let changed = ("StackName", "changed1");
    assert_eq!(desk.post("UpdateStack", &[changed, ("TemplateBody", &bad)]).await.status, 200);
    assert_eq!(desk.settled(changed.1).await, "ROLLBACK_COMPLETE");
    for action in ["CreateStack", "UpdateStack"] {
        let stack = if action == "CreateStack" { ("StackName", "other") } else { changed };
        let asked = [stack, ("TemplateBody", good.as_str()), (disable, "true")];
        let both = desk.post(action, &[&asked[..], &[(on_failure, "ROLLBACK")]].concat()).await;
        let code = (both.status, within(&both.text, "Code"));
        assert_eq!(code, (400, "InvalidParameterCombination"), "{action}: {}", both.text);
        let unread = desk.post(action, &[asked[0], asked[1], (disable, "perhaps")]).await;
        let code = (unread.status, within(&unread.text, "Code"));
        assert_eq!(code, (400, "InvalidParameterValue"), "{action}: {}", unread.text);
    }
    desk.app.stop().await;
}

#[actix::test]
async fn a_template_may_be_fetched() {
    let desk = Desk::open().await;
    let shelf = Shelf::new().await;
    let text = "heat_template_version: 2018-08-31\ndescription: from afar\n";
    let url = shelf.lay("/main.yaml", text);
    let far = ("StackName", "far");
    let described = async || {
        desk.settled("far").await;
        let shown = desk.get("DescribeStacks", &[far]).await;
        within(&shown.text, "Description").to_owned()
    };
    let created = desk.post("CreateStack", &[far, ("TemplateUrl", &url)]).await;
    assert_eq!(created.status, 200, "{}", created.text);
    assert_eq!(described().await, "from afar");
    // By Amazon's name of it, too.
    shelf.lay("/main.yaml", text.replace("afar", "nearby"));
    let updated = desk.post("UpdateStack", &[far, ("TemplateURL", &url)]).await;
    assert_eq!(updated.status, 200, "{}", updated.text);
    assert_eq!(described().await, "from nearby");
    let validated = desk.post("ValidateTemplate", &[("TemplateUrl", &url)]).await;
    assert_eq!(within(&validated.text, "Description"), "from nearby");
    // One that is sent is taken, and none fetched.
    let asked = shelf.asked();
    let here = text.replace("afar", "here");
    let both = [far, ("TemplateBody", &here), ("TemplateUrl", &url)];
    assert_eq!(desk.post("UpdateStack", &both).await.status, 200);
    assert_eq!((described().await.as_str(), shelf.asked()), ("from here", asked));
    shelf.clear();
    for action in ["CreateStack", "UpdateStack"] {
        let stack = if action == "CreateStack" { ("StackName", "other") } else { far };
        let gone = desk.post(action, &[stack, ("TemplateUrl", &url)]).await;
        let code = (gone.status, within(&gone.text, "Code"));
        assert_eq!(code, (400, "InvalidParameterValue"), "{action}: {}", gone.text);
        let none = desk.post(action, &[stack]).await;
        let code = (none.status, within(&none.text, "Code"));
        assert_eq!(code, (400, "MissingParameter"), "{action}: {}", none.text);
    }
    desk.app.stop().await;
}

/// What stands in each element of a name.
fn all(text: &str, element: &str) -> Vec<String> {
    let (begin, end) = (format!("<{element}>"), format!("</{element}>"));
    let parts = text.split(begin.as_str()).skip(1);
    parts.map(|part| part.split(end.as_str()).next().unwrap().to_owned()).collect()
}

#[actix::test]
async fn stacks_are_listed_by_what_they_are_at() {
    let desk = Desk::open().await;
    let of = |fails: bool| {
        json!({
            "heat_template_version": "2018-08-31",
            "resources": { "said": { "type": "OS::Heat::TestResource",
                                     "properties": { "fail": fails } } },
        })
    };
    for (name, fails) in [("web", false), ("broken", true), ("old", false)] {
        desk.app.create(name, of(fails)).await;
    }
    assert_eq!(desk.post("DeleteStack", &[("StackName", "old")]).await.status, 200);
    desk.loses("old").await;
    let (first, second) = ("StackStatusFilter.member.1", "StackStatusFilter.member.2");
    for (params, names) in [
        // As in Heat, none that is deleted where nothing is said of it.
        (vec![], vec!["broken", "web"]),
        (vec![(first, "CREATE_COMPLETE")], vec!["web"]),
        (vec![(first, "CREATE_FAILED"), (second, "CREATE_COMPLETE")], vec!["broken", "web"]),
        (vec![(first, "DELETE_COMPLETE")], vec!["old"]),
        (vec![(first, "CREATE_COMPLETE"), (second, "DELETE_COMPLETE")], vec!["old", "web"]),
        // Each status is taken as a whole.
        (vec![(first, "CREATE_COMPLETE"), (second, "DELETE_FAILED")], vec!["web"]),
        (vec![(first, "CREATE_FAILED"), (second, "SUSPEND_COMPLETE")], vec!["broken"]),
        // Amazon's own.
        (vec![(first, "UPDATE_ROLLBACK_COMPLETE")], vec![]),
        (vec![(first, "REVIEW_IN_PROGRESS"), (second, "CREATE_FAILED")], vec!["broken"]),
    ] {
        let listed = desk.get("ListStacks", &params).await;
        assert_eq!(listed.status, 200, "{}", listed.text);
        assert_eq!(all(&listed.text, "StackName"), names, "{params:?}");
        assert!(!listed.text.contains("NextToken"), "{}", listed.text);
    }
    for unknown in ["", "GONE", "COMPLETE", "create_complete", "CREATE_COMPLETE "] {
        let params = [(first, "CREATE_COMPLETE"), (second, unknown)];
        let refused = desk.get("ListStacks", &params).await;
        let code = (refused.status, within(&refused.text, "Code"));
        assert_eq!(code, (400, "ValidationError"), "{unknown}: {}", refused.text);
        assert!(refused.text.contains(&format!("{unknown} is no status of a stack.")));
    }
    desk.app.stop().await;
}

#[actix::test]
async fn stacks_are_listed_on_from_where_a_page_ended() {
    let mut desk = Desk::open().await;
    let template = r#"{"HeatTemplateFormatVersion": "2012-12-12"}"#;
    for name in ["s1", "s2", "s3"] {
        let params = [("StackName", name), ("TemplateBody", template)];
        let created = desk.post("CreateStack", &params).await;
        assert_eq!(created.status, 200, "{}", created.text);
        desk.app.settled(name).await;
    }
    let whole = desk.get("ListStacks", &[]).await.text;
    assert_eq!(all(&whole, "StackName"), ["s3", "s2", "s1"]);
    assert!(!whole.contains("NextToken"), "{whole}");
    // A token is the id of the last stack of its page.
    let arns = all(&whole, "StackId");
    let token = arns[1].rsplit('/').next().unwrap();
    let second = desk.get("ListStacks", &[("NextToken", token)]).await.text;
    assert_eq!(all(&second, "StackName"), ["s1"]);

    // What the page ended with may go, and what is filtered out is passed over.
    assert_eq!(desk.post("DeleteStack", &[("StackName", "s2")]).await.status, 200);
    desk.loses("s2").await;
    let second = desk.get("ListStacks", &[("NextToken", token)]).await.text;
    assert_eq!(all(&second, "StackName"), ["s1"]);
    let gone = [("StackStatusFilter.member.1", "DELETE_COMPLETE")];
    assert_eq!(all(&desk.get("ListStacks", &gone).await.text, "StackName"), ["s2"]);
    let failed = [("StackStatusFilter.member.1", "CREATE_FAILED"), ("NextToken", token)];
    assert!(desk.get("ListStacks", &failed).await.text.contains("<StackSummaries/>"));

    for wrong in ["x", "1", "00000000-0000-0000-0000-000000000001"] {
        let refused = desk.get("ListStacks", &[("NextToken", wrong)]).await;
        let code = (refused.status, within(&refused.text, "Code"));
        assert_eq!(code, (400, "ValidationError"), "{wrong}");
    }
    // Another project's token is none.
    let (admin, project) = desk.app.login("admin", "admin").await;
    desk.key = key(&desk.app, &admin, &project).await;
    let refused = desk.get("ListStacks", &[("NextToken", token)]).await;
    assert_eq!((refused.status, within(&refused.text, "Code")), (400, "ValidationError"));
    desk.app.stop().await;
}

#[actix::test]
async fn a_name_leads_an_administrator_to_a_stack_of_his_own() {
    let mut desk = Desk::open().await;
    let template = json!({ "heat_template_version": "2018-08-31", "resources": {
        "r": { "type": "OS::Heat::TestResource" } } });
    let theirs = desk.app.create("web", template.clone()).await["id"].as_str().unwrap().to_owned();
    let (admin, project) = desk.app.login("admin", "admin").await;
    desk.key = key(&desk.app, &admin, &project).await;
    let template = template.to_string();
    let named = [("StackName", "web")];
    for action in ["DescribeStacks", "DeleteStack", "UpdateStack"] {
        let params = [named[0], ("TemplateBody", &template)];
        let refused = desk.get(action, &params).await;
        let code = (refused.status, within(&refused.text, "Code"));
        assert_eq!(code, (400, "InvalidParameterValue"), "{action}");
    }
    let made = desk.post("CreateStack", &[named[0], ("TemplateBody", &template)]).await;
    let own = within(&made.text, "StackId").to_owned();
    assert_eq!(within(&desk.get("DescribeStacks", &named).await.text, "StackId"), own);
    // An id is good for any.
    let shown = desk.get("DescribeStacks", &[("StackName", &theirs)]).await.text;
    assert!(within(&shown, "StackId").ends_with(&theirs), "{shown}");
    desk.app.stop().await;
}

#[actix::test]
async fn more_than_a_thousand_events_are_told_by_pages() {
    let desk = Desk::open().await;
    let of = |count: usize| {
        let resources = (0..count)
            .map(|number| (format!("r{number}"), json!({ "type": "OS::Heat::TestResource" })));
        let resources: serde_json::Map<_, _> = resources.collect();
        json!({ "heat_template_version": "2018-08-31", "resources": resources })
    };
    let many = desk.app.create("many", of(520)).await;
    desk.app.create("few", of(1)).await;
    let pages = async |of: &[(&str, &str)]| {
        let (mut pages, mut token) = (Vec::new(), None);
        loop {
            let next = token.iter().map(|token: &String| ("NextToken", token.as_str()));
            let params: Vec<_> = of.iter().copied().chain(next).collect();
            let told = desk.get("DescribeStackEvents", &params).await;
            assert_eq!(told.status, 200, "{}", told.text);
            pages.push(all(&told.text, "EventId"));
            token = all(&told.text, "NextToken").pop();
            if token.is_none() {
                return pages;
            }
        }
    };
    let of_many = pages(&[("StackName", "many")]).await;
    assert_eq!((of_many.len(), of_many[0].len()), (2, 1_000));
    let path = format!("/stacks/many/{}/events", many["id"].as_str().unwrap());
    let events = desk.app.get(&path).await.json();
    let events = events["events"].as_array().unwrap().iter();
    let events: Vec<_> = events.map(|event| event["id"].as_str().unwrap()).collect();
    assert_eq!(of_many.concat(), events);
    // Those of all stacks together are one list, the newest first.
    let of_few = pages(&[("StackName", "few")]).await.concat();
    let of_all = pages(&[]).await;
    assert_eq!((of_all.len(), of_all[0].len()), (2, 1_000));
    assert_eq!(of_all.concat(), [of_few, of_many.concat()].concat());
    for wrong in ["x", "0", "-1", "99999999999999999999"] {
        let params = [("StackName", "many"), ("NextToken", wrong)];
        let refused = desk.get("DescribeStackEvents", &params).await;
        let code = (refused.status, within(&refused.text, "Code"));
        assert_eq!(code, (400, "ValidationError"), "{wrong}");
    }
    desk.app.stop().await;
}

#[actix::test]
async fn templates_are_looked_over_without_a_stack() {
    let desk = Desk::open().await;
    let valid = desk.post("ValidateTemplate", &[("TemplateBody", TEMPLATE)]).await;
    assert!(
        valid.text.contains(
            "<ParameterKey>Text</ParameterKey><DefaultValue>blue</DefaultValue>\
                                 <Description>a &lt;color&gt;</Description><NoEcho>false</NoEcho>"
        ),
        "{}",
        valid.text
    );
    let grouped = json!({
        "heat_template_version": "2018-08-31",
        "parameters": { "a": { "type": "string" }, "b": { "type": "string", "hidden": true } },
        "parameter_groups": [
            { "label": "first", "description": "of both", "parameters": ["b", "a"] },
        ],
    });
    let grouped = grouped.to_string();
    let grouped = [("TemplateBody", grouped.as_str()), ("ContentType", "JSON")];
    let shown = desk.post("ValidateTemplate", &grouped[..1]).await;
    assert_eq!(
        within(&shown.text, "ParameterGroups"),
        "<member><label>first</label><description>of both</description>\
         <parameters><member>b</member><member>a</member></parameters></member>"
    );
    let environment = within(&shown.text, "Environment");
    assert_eq!(within(environment, "resource_registry"), "<resources/>");
    assert_eq!(all(&shown.text, "NoEcho"), ["false", "true"]);
    assert!(!valid.text.contains("ParameterGroups"), "{}", valid.text);
    let shown = desk.post("ValidateTemplate", &grouped).await.json();
    let environment = &shown["ValidateTemplateResponse"]["ValidateTemplateResult"]["Environment"];
    let nothing = json!({
        "resource_registry": { "resources": {} },
        "parameters": {},
        "parameter_defaults": {},
        "event_sinks": [],
    });
    assert_eq!(*environment, nothing);
    // What can be read and does not hold together is an answer, as in Heat.
    let wrong = r#"{"HeatTemplateFormatVersion": "2012-12-12", "Resources":
        {"A": {"Type": "OS::Heat::TestResource", "Properties": {"none": 1}}}}"#;
    let invalid = desk.post("ValidateTemplate", &[("TemplateBody", wrong)]).await;
    assert_eq!(invalid.status, 200, "{}", invalid.text);
    assert!(within(&invalid.text, "ValidateTemplateResult").contains("Unknown Property none"));
    let unread = desk.post("ValidateTemplate", &[("TemplateBody", "{")]).await;
    assert!(within(&unread.text, "Message").ends_with("must be a JSON or YAML document."));
    for name in ["TemplateUrl", "TemplateURL"] {
        let gone = desk.post("ValidateTemplate", &[(name, "http://127.0.0.1:1/t")]).await;
        assert!(
            within(&gone.text, "Message").contains("Failed to fetch template"),
            "{}",
            gone.text
        );
    }
    let cost = desk.post("EstimateTemplateCost", &[("TemplateBody", TEMPLATE)]).await;
    assert_eq!(cost.status, 400);
    assert!(within(&cost.text, "Message").contains("this cloud has no prices"), "{}", cost.text);
    desk.app.stop().await;
}

#[actix::test]
async fn a_template_costs_what_the_file_of_prices_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prices.yaml");
    let documented = include_str!("../../../docs/operating.md");
    let (_, file) = documented.split_once("```yaml\nurl: ").unwrap();
    let (file, _) = file.split_once("```").unwrap();
    std::fs::write(&path, format!("url: {file}")).unwrap();
    let prices = Some(Prices::read(&path).unwrap());
    let desk = Desk::set_up(SetUp { prices, ..SetUp::default() }).await;
    let template = json!({
        "heat_template_version": "2018-08-31",
        "parameters": { "size": { "type": "number" } },
        "resources": {
            "disks": { "type": "OS::Heat::ResourceGroup", "properties": {
                "count": 3,
                "resource_def": {
                    "type": "OS::Cinder::Volume",
                    "properties": { "size": { "get_param": "size" } },
                },
            } },
            "address": { "type": "OS::Neutron::FloatingIP", "properties": {
                "floating_network": "public",
            } },
        },
    });
    let template = template.to_string();
    let asked = [
        ("TemplateBody", template.as_str()),
        ("Parameters.member.1.ParameterKey", "size"),
        ("Parameters.member.1.ParameterValue", "10"),
    ];
    let cost = desk.post("EstimateTemplateCost", &asked).await;
    assert_eq!(
        within(&cost.text, "Url"),
        "https://cloud.example.org/prices?total=5.40&amp;currency=EUR&amp;per=month",
        "{}",
        cost.text
    );
    let without = desk.post("EstimateTemplateCost", &asked[..1]).await;
    assert!(within(&without.text, "Message").contains("size"), "{}", without.text);
    desk.app.stop().await;
}

#[actix::test]
async fn every_way_to_sign_is_taken() {
    let desk = Desk::open().await;
    let list = named("ListStacks", &[]);
    let now = now();
    let query_4 = desk.key.version_4_in_query(&desk.host, &list, now);
    let answers = [
        desk.get("ListStacks", &[]).await,
        desk.post("ListStacks", &[]).await,
        desk.send("GET", &format!("/v1/?{}", query(&query_4)), &[], None).await,
        {
            let form = desk.key.version_2("POST", &desk.host, "/v1/", &list, Some(now));
            desk.send("POST", "/v1/", &[], Some(query(&form))).await
        },
        {
            // A token counts where the client says that it has one.
            let headers = [("x-auth-user", "demo"), ("x-auth-token", desk.app.token.as_str())];
            let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
            desk.send("GET", "/v1/?Action=ListStacks", &headers, None).await
        },
    ];
    for (way, answer) in answers.iter().enumerate() {
        assert_eq!(answer.status, 200, "{way}: {}", answer.text);
    }
    desk.app.stop().await;
}

#[actix::test]
async fn whoever_has_a_users_key_reads_the_stacks_metadata() {
    let mut desk = Desk::open().await;
    let template = json!({
        "AWSTemplateFormatVersion": "2010-09-09",
        "Resources": {
            "User": { "Type": "AWS::IAM::User" },
            "Key": { "Type": "AWS::IAM::AccessKey",
                     "Properties": { "UserName": { "Ref": "User" } } },
            "Other": { "Type": "OS::Heat::TestResource", "Metadata": { "number": 7 } },
        },
        "Outputs": { "access": { "Value": { "Ref": "Key" } },
                     "secret": { "Value": { "Fn::GetAtt": ["Key", "SecretAccessKey"] } } },
    });
    desk.app.create("web", template).await;
    assert_eq!(desk.settled("web").await, "CREATE_COMPLETE");
    let web = desk.app.settled("web").await;
    let text = |name: &str| {
        let outputs = web["outputs"].as_array().unwrap();
        let output = outputs.iter().find(|output| output["output_key"] == name).unwrap();
        output["output_value"].as_str().unwrap().to_owned()
    };
    let key = Key { access: text("access"), secret: text("secret") };
    let forged = Key { secret: key.secret.to_uppercase(), ..key.clone() };
    let stack = format!(
        "arn:openstack:heat::{}:stacks/web/{}",
        desk.app.project,
        web["id"].as_str().unwrap()
    );
    let other = [("StackName", stack.as_str()), ("LogicalResourceId", "Other")];
    for (key, status) in [(key, 200), (forged, 403)] {
        desk.key = key;
        let read = desk.get("DescribeStackResource", &other).await;
        assert_eq!(read.status, status, "{}", read.text);
        assert_eq!(read.text.contains("number"), status == 200, "{}", read.text);
    }
    desk.app.stop().await;
}
