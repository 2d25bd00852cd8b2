//! The description of the API by itself.

use serde_json::Value;

use super::app::App;

#[actix::test]
async fn the_description_has_every_route_and_what_it_answers_and_needs_no_token() {
    let app = App::start().await;
    let answered = app.send("GET", "/v1/openapi.json", &[], None).await;
    assert_eq!(answered.status, 200, "{}", answered.text);
    let description = answered.json();
    assert_eq!(app.send("GET", "/v1.0/openapi.json", &[], None).await.json(), description);
    let mut names = std::collections::BTreeSet::new();
    for (verb, path) in hearth::api::routes() {
        if path.contains(':') {
            continue;
        }
        let operation = &description["paths"][&path][verb.to_lowercase()];
        let statuses = operation["responses"].as_object().unwrap();
        assert!(statuses.keys().any(|status| status.as_str() < "400"), "{verb} {path}");
        assert!(["400", "401", "403", "404"].iter().all(|it| statuses.contains_key(*it)));
        assert!(!statuses.contains_key("500"), "{verb} {path}");
        let named = operation["parameters"].as_array().unwrap();
        let named: Vec<&Value> = named.iter().filter(|it| it["in"] == "path").collect();
        assert_eq!(named.len(), path.matches('{').count(), "{verb} {path}");
        assert!(names.insert(operation["operationId"].to_string()), "{verb} {path}");
    }
    let of_no_stack =
        [("get", "detail", "stacks"), ("post", "preview", "stack"), ("post", "plan", "plan")];
    for (verb, word, answered) in of_no_stack {
        let operation = &description["paths"][format!("/{{project}}/stacks/{word}")][verb];
        let answer = &operation["responses"]["200"]["content"]["application/json"]["schema"];
        assert!(answer.to_string().contains(&format!("\"{answered}\"")), "{word}: {answer}");
        assert_eq!(operation["requestBody"].is_object(), verb == "post", "{word}");
    }
    let named = &description["paths"]["/{project}/stacks/{name}"];
    assert!(named["get"]["responses"]["200"].is_null(), "{named}");
    for path in ["/{project}/feed", "/{project}/stacks/{name}/{id}/feed"] {
        let content = &description["paths"][path]["get"]["responses"]["200"]["content"];
        let types: Vec<&String> = content.as_object().unwrap().keys().collect();
        assert_eq!(types, ["text/event-stream", "application/x-ndjson"], "{path}");
    }
    let changed = &description["paths"]["/{project}/stacks/{name}/{id}"]["put"]["parameters"];
    let headers = changed.as_array().unwrap().iter().filter(|it| it["in"] == "header");
    let headers: Vec<&Value> = headers.map(|it| &it["name"]).collect();
    assert_eq!(headers, ["If-Match", "Hearth-Plan", "Idempotency-Key"]);
    let schemas = &description["components"]["schemas"];
    references(&description).iter().for_each(|name| assert!(schemas[name].is_object(), "{name}"));
    app.stop().await;
}

#[actix::test]
async fn the_description_has_what_each_route_reads_of_its_query_and_its_body() {
    let app = App::start().await;
    let description = app.send("GET", "/v1/openapi.json", &[], None).await.json();
    let operation = |verb: &str, path: &str| description["paths"][path][verb].clone();
    let query = |verb: &str, path: &str| {
        let parameters = operation(verb, path)["parameters"].as_array().unwrap().clone();
        let of_query = parameters.into_iter().filter(|it| it["in"] == "query");
        of_query.map(|it| (it["name"].as_str().unwrap().to_owned(), it["schema"].clone()))
    };
    let stack = "/{project}/stacks/{name}/{id}";
    let names = |verb: &str, path: &str| query(verb, path).map(|it| it.0).collect::<Vec<_>>();
    assert_eq!(names("get", "/{project}/software_deployments"), ["server_id"]);
    assert_eq!(names("get", stack), ["resolve_outputs", "at"]);
    assert_eq!(names("put", stack), Vec::<String>::new());
    assert_eq!(names("get", &format!("{stack}/outputs")), ["at"]);
    assert_eq!(names("post", &format!("{stack}/plan")), ["at"]);
    let history: Value = query("get", &format!("{stack}/history")).collect();
    assert_eq!(history["marker"]["type"], "integer", "{history}");
    assert_eq!(history["resource"]["type"], "array", "{history}");
    for (verb, path) in hearth::api::routes() {
        if path.contains(':') {
            continue;
        }
        let takes_body = ["POST", "PUT", "PATCH"].contains(&verb) && !path.ends_with("/restore");
        let body = &operation(&verb.to_lowercase(), &path)["requestBody"];
        assert_eq!(body.is_object(), takes_body, "{verb} {path}");
    }
    app.stop().await;
}

/// The schemas that are referred to.
fn references(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, value)| match (key.as_str(), value.as_str()) {
                ("$ref", Some(to)) => vec![to.rsplit('/').next().unwrap_or_default().to_owned()],
                _ => references(value),
            })
            .collect(),
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => Vec::new(),
    }
}
