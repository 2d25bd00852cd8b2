//! Tokens that are for no project, and who administers the cloud.

use serde_json::{Value, json};

use super::people::{Keystone, password};
use crate::api::app::App;

fn template() -> Value {
    json!({ "heat_template_version": "2018-08-31",
            "resources": { "a": { "type": "OS::Heat::Value", "properties": { "value": "s3cret" } } },
            "outputs": { "o": { "value": "s3cret" } } })
}

#[actix::test]
async fn an_administrator_of_a_domain_reads_deletes_and_follows_no_ones_stacks() {
    let app = App::start().await;
    let stack = app.create("web", template()).await;
    let id = stack["id"].as_str().unwrap();
    let keystone = Keystone::of(&app).await;
    keystone.grant("domains/default", "alt_demo", "admin").await;
    let domain = json!({ "domain": { "id": "default" } });
    let token = keystone.token(password("alt_demo"), Some(domain)).await;
    let headers = [("x-auth-token", token.as_str())];
    for project in [app.project.as_str(), "default", "None", "null", "%20"] {
        for (verb, path) in [
            ("GET", "/stacks".to_owned()),
            ("GET", "/stacks?global_tenant=true".to_owned()),
            ("GET", "/stacks/web".to_owned()),
            ("GET", format!("/stacks/web/{id}")),
            ("GET", format!("/stacks/web/{id}/outputs/o")),
            ("DELETE", format!("/stacks/web/{id}")),
            ("GET", "/feed?all_projects=true".to_owned()),
            ("GET", "/services".to_owned()),
        ] {
            let path = format!("/v1/{project}{path}");
            let answered = app.send(verb, &path, &headers, None).await;
            assert_eq!(answered.status, 403, "{verb} {path}: {}", answered.text);
            let error = &answered.json()["error"];
            assert_eq!(error["type"], "HTTPForbidden", "{verb} {path}");
            assert_eq!(error["message"], "Access was denied to this resource.");
        }
    }
    assert_eq!(app.settled("web").await["stack_status"], "CREATE_COMPLETE");
    app.stop().await;
}

#[actix::test]
async fn an_administrator_in_a_project_administers_the_cloud_where_keystone_does_not_say_otherwise()
{
    let app = App::start().await;
    let stack = app.create("web", template()).await;
    let path = format!("/stacks/web/{}", stack["id"].as_str().unwrap());
    let (token, project) = app.login("admin", "admin").await;
    let headers = [("x-auth-token", token.as_str())];
    let shown = app.send("GET", &format!("/v1/{project}{path}"), &headers, None).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    let listed = app.send("GET", &format!("/v1/{project}/stacks"), &headers, None).await.json();
    assert_eq!(listed["stacks"][0]["project"], json!(app.project));
    app.stop().await;
}
