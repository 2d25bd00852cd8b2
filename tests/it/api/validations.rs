//! Validations through HTTP, beside what the real Heat answers: `tests/data/template/validate`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::app::App;
use crate::support::shelf::Shelf;

/// A request, and what the real Heat makes of it.
#[derive(Deserialize)]
struct Case {
    id: String,
    template: Value,
    #[serde(default)]
    environments: Vec<String>,
    #[serde(default)]
    parameters: Map<String, Value>,
    #[serde(default)]
    files: Map<String, Value>,
    #[serde(default)]
    show_nested: bool,
    answer: Answer,
}

#[derive(Deserialize)]
struct Answer {
    body: Option<Value>,
    #[serde(rename = "type")]
    class: Option<String>,
    /// Heat falls over some requests without a word; any refusal is as good then.
    error: Option<String>,
    code: Option<u16>,
}

impl Case {
    fn body(&self) -> Value {
        let mut files = self.files.clone();
        let mut names = Vec::new();
        for (number, text) in self.environments.iter().enumerate() {
            names.push(format!("env-{number}.yaml"));
            files.insert(format!("env-{number}.yaml"), text.as_str().into());
        }
        json!({
            "template": self.template,
            "parameters": self.parameters,
            "files": files,
            "environment_files": names,
        })
    }
}

#[actix::test]
async fn a_validation_answers_as_heat_does() {
    let app = App::start().await;
    let cases = include_str!("../../data/template/validate/cases.jsonl");
    let mut wrong = Vec::new();
    for line in cases.lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let path = format!("/validate?show_nested={}", case.show_nested);
        let found = app.ask("POST", &path, Some(case.body())).await;
        let error = &found.json()["error"];
        let is_same = match (&case.answer.body, &case.answer.error) {
            (Some(body), _) => found.status == 200 && found.json() == *body,
            (None, None) => found.status >= 400,
            (None, Some(text)) => {
                Some(found.status) == case.answer.code
                    && error["type"].as_str() == case.answer.class.as_deref()
                    && error["message"] == text.as_str()
            }
        };
        if !is_same {
            wrong.push(format!("{}: {}\n  case {line}", case.id, found.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    app.stop().await;
}

#[actix::test]
async fn codes_of_errors_to_pass_over_must_be_known() {
    let app = App::start().await;
    let body = json!({ "template": { "heat_template_version": "2018-08-31" } });
    let known = app.ask("POST", "/validate?ignore_errors=99001", Some(body.clone())).await;
    assert_eq!(known.status, 200, "{}", known.text);
    let unknown = app.ask("POST", "/validate?ignore_errors=99001,1", Some(body)).await;
    assert_eq!(unknown.status, 400);
    assert_eq!(unknown.json()["error"]["message"], "Invalid codes in ignore_errors : ['1']");
    app.stop().await;
}

#[actix::test]
async fn a_template_may_stand_at_a_url() {
    let app = App::start().await;
    let shelf = Shelf::new().await;
    let text = "heat_template_version: 2018-08-31\ndescription: from afar\n";
    let url = shelf.lay("/main.yaml", text);
    let body = |url: &str| Some(json!({ "template_url": url, "stack_name": "far" }));
    let validated = app.ask("POST", "/validate", body(&url)).await;
    assert_eq!(validated.json()["Description"], "from afar", "{}", validated.text);
    let created = app.ask("POST", "/stacks", body(&url)).await;
    assert_eq!(created.status, 201, "{}", created.text);
    shelf.lay("/main.yaml", text.replace("afar", "nearby"));
    let path = created.json()["stack"]["id"].as_str().unwrap().to_owned();
    let path = format!("/stacks/far/{path}");
    app.settled("far").await;
    let asked = shelf.asked();
    let updated = app.ask("PATCH", &path, Some(json!({ "template_url": url }))).await;
    assert_eq!(updated.status, 202, "{}", updated.text);
    assert_eq!(shelf.asked(), asked + 1);
    app.settled("far").await;
    assert_eq!(app.get(&path).await.json()["stack"]["description"], "from nearby");

    for (url, reason) in [
        ("ftp://h/x.yaml", "Invalid URL scheme ftp".to_owned()),
        (&*url.replace("main", "gone"), String::new()),
    ] {
        let refused = app.ask("POST", "/stacks", body(url)).await;
        let retrieved = format!("Failed to retrieve template from {url}");
        let reason = if reason.is_empty() { retrieved } else { reason };
        assert_eq!(refused.status, 400);
        let text = format!("Could not retrieve template: {reason}");
        let message = refused.json()["error"]["message"].as_str().unwrap().to_owned();
        assert!(message.ends_with(&text), "{message}");
    }
    app.stop().await;
}

#[actix::test]
async fn a_group_that_scales_is_validated_with_its_first_member() {
    let app = App::start().await;
    let child =
        "heat_template_version: 2018-08-31\nparameters: {size: {type: number, default: 1}}\n";
    let group = |size: u32, member: Value| {
        let properties = json!({ "min_size": size, "max_size": 3, "resource": member });
        json!({
            "heat_template_version": "2018-08-31",
            "resources": { "g": { "type": "OS::Heat::AutoScalingGroup", "properties": properties } },
        })
    };
    let instances = json!({
        "HeatTemplateFormatVersion": "2012-12-12",
        "Resources": {
            "l": {
                "Type": "AWS::AutoScaling::LaunchConfiguration",
                "Properties": { "ImageId": "i", "InstanceType": "t" },
            },
            "g": {
                "Type": "AWS::AutoScaling::AutoScalingGroup",
                "Properties": {
                    "AvailabilityZones": [], "MinSize": 1, "MaxSize": 3,
                    "LaunchConfigurationName": { "Ref": "l" },
                },
            },
        },
    });
    let of_type = |type_name: &str| json!({ "type": type_name });
    let with =
        |type_name: &str, properties: Value| json!({ "type": type_name, "properties": properties });
    let no_type = "KeyError: : resources.g<nested_stack>: : \
                   'Resource member is missing \"type\"'";
    let cases = [
        (
            group(1, of_type("My::Unknown")),
            "resources.g<nested_stack>: : The Resource Type (My::Unknown) could not be found.",
        ),
        (group(0, of_type("My::Unknown")), ""),
        (
            group(1, with("OS::Heat::TestResource", json!({ "valueX": 1 }))),
            "Property error: : resources.g<nested_stack>.resources.*.properties: : \
             Unknown Property valueX",
        ),
        (
            group(1, with("child.yaml", json!({ "sise": 1 }))),
            "Property error: : resources.g<nested_stack>.resources.*.properties: : \
             Unknown Property sise",
        ),
        (group(1, with("child.yaml", json!({ "size": "x" }))), ""),
        (group(1, json!({ "propertees": 1, "type": "OS::Heat::None" })), ""),
        (group(1, json!({ "properties": {} })), no_type),
        (group(1, json!({})), no_type),
        (
            instances,
            "Property error: : Resources.g<nested_stack>.Resources.*.Properties: : \
             Unknown Property ImageId",
        ),
    ];
    let mut wrong = Vec::new();
    for (number, (template, wanted)) in cases.into_iter().enumerate() {
        let body = json!({
            "stack_name": format!("s{number}"), "template": template,
            "files": { "child.yaml": child },
            "environment": { "resource_registry": { "AWS::EC2::Instance": "child.yaml" } },
        });
        let found = app.ask("POST", "/stacks", Some(body)).await;
        if wanted.is_empty() {
            if found.status != 201 {
                wrong.push(format!("{template}: {}", found.text));
            }
            continue;
        }
        let message = found.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        let (before, after) = wanted.split_once('*').unwrap_or((wanted, ""));
        let is_same = message.starts_with(before) && message.ends_with(after);
        if !(found.status == 400 && is_same) {
            wrong.push(format!("{template}: {}", found.text));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    app.stop().await;
}

#[actix::test]
async fn the_stack_of_a_group_shows_its_first_member() {
    let app = App::start().await;
    let body = json!({
        "template": {
            "heat_template_version": "2018-08-31",
            "resources": { "g": { "type": "OS::Heat::AutoScalingGroup", "properties": {
                "min_size": 2, "max_size": 3,
                "resource": { "type": "child.yaml", "properties": { "size": 7 } },
            } } },
        },
        "files": {
            "child.yaml": "heat_template_version: 2018-08-31\nparameters: {size: {type: number}}\n",
        },
    });
    let found = app.ask("POST", "/validate?show_nested=true", Some(body)).await.json();
    let group = &found["NestedParameters"]["g"];
    assert_eq!(group["Type"], "OS::Heat::AutoScalingGroup", "{found}");
    let members = group["NestedParameters"].as_object().unwrap();
    let sizes: Vec<&Value> =
        members.values().map(|it| &it["Parameters"]["size"]["Value"]).collect();
    assert_eq!(sizes, [7], "{found}");
    app.stop().await;
}

#[actix::test]
async fn files_of_a_container_are_read_with_the_callers_token_and_those_sent_come_first() {
    let app = App::start().await;
    let token = [("x-auth-token", app.token.as_str())];
    let catalog = format!("{}/auth/catalog", app.keystone.trim_end_matches('/'));
    let catalog = app.send("GET", &catalog, &token, None).await.json();
    let services = catalog["catalog"].as_array().unwrap();
    let swift = services.iter().find(|it| it["type"] == "object-store").unwrap();
    let swift = swift["endpoints"][0]["url"].as_str().unwrap().to_owned();
    let put = async |path: &str, content: Option<&str>| {
        let url = format!("{swift}/{path}");
        let sent = [token[0], ("content-type", "text/plain")];
        let answered = app.send("PUT", &url, &sent, content.map(str::to_owned)).await;
        assert!((200..300).contains(&answered.status), "{path}: {}", answered.text);
    };
    let part = |value: &str| {
        json!({
            "heat_template_version": "2021-04-16",
            "outputs": { "said": { "value": value } },
        })
        .to_string()
    };
    put("parts", None).await;
    put("parts/nested/part.yaml", Some(&part("of the container"))).await;
    put("parts/sent.yaml", Some("neither read nor a template")).await;
    let resources = json!({
        "part": { "type": "nested/part.yaml" },
        "sent": { "type": "sent.yaml" },
    });
    let body = |container: &str| {
        json!({
            "stack_name": "web",
            "template": { "heat_template_version": "2021-04-16", "resources": resources },
            "files": { "sent.yaml": part("of the request") },
            "files_container": container,
        })
    };
    for path in ["/validate", "/stacks/preview", "/stacks"] {
        let answered = app.ask("POST", path, Some(body("parts"))).await;
        assert!(answered.status < 300, "{path}: {}", answered.text);
    }
    let stack = app.settled("web").await;
    assert_eq!(stack["stack_status"], "CREATE_COMPLETE", "{stack:#}");
    let path = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    let files = app.get(&format!("{path}/files")).await.json();
    assert_eq!(files["nested/part.yaml"], part("of the container"));
    assert_eq!(files["sent.yaml"], part("of the request"));
    put("parts/nested/part.yaml", Some(&part("changed"))).await;
    let change = json!({
        "files": { "sent.yaml": part("of the request") },
        "files_container": "parts",
    });
    assert_eq!(app.ask("PATCH", &path, Some(change)).await.status, 202);
    app.settled("web").await;
    let files = app.get(&format!("{path}/files")).await.json();
    assert_eq!(files["nested/part.yaml"], part("changed"));

    for (container, status, says) in [
        ("nowhere", 404, "Could not fetch files from container nowhere, reason: "),
        ("..", 404, "it is no name"),
    ] {
        let answered = app.ask("POST", "/stacks/preview", Some(body(container))).await;
        assert_eq!(answered.status, status, "{container}: {}", answered.text);
        assert!(answered.text.contains(says), "{container}: {}", answered.text);
    }
    put("large", None).await;
    put("large/file", Some(&"a".repeat(1_100_000))).await;
    let answered = app.ask("POST", "/validate", Some(body("large"))).await;
    assert_eq!(answered.status, 400, "{}", answered.text);
    assert!(answered.text.contains("Total size of files to download"), "{}", answered.text);
    app.stop().await;
}
