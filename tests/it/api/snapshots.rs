//! Snapshots through HTTP: Heat's shapes, codes and words.

use serde_json::json;

use super::app::{Answered, App};

#[actix::test]
async fn a_snapshot_is_taken_shown_restored_and_deleted() {
    let app = App::start().await;
    let template = json!({
        "heat_template_version": "2021-04-16",
        "parameters": { "secret": { "type": "string", "hidden": true, "default": "hunter2" } },
        "resources": { "a": { "type": "OS::Heat::TestResource",
                              "properties": { "value": { "get_param": "secret" } } } },
    });
    let body = json!({ "stack_name": "web", "template": template,
                       "parameters": { "secret": "hunter3" } });
    assert_eq!(app.ask("POST", "/stacks", Some(body)).await.status, 201);
    let stack = app.settled("web").await;
    let path = format!("/stacks/web/{}", stack["id"].as_str().unwrap());

    let refused = app.ask("POST", &format!("{path}/snapshots"), None).await;
    assert_eq!(refused.status, 400, "a body is needed");
    let taken = app.ask("POST", &format!("{path}/snapshots"), Some(json!({ "name": "s" }))).await;
    assert_eq!(taken.status, 200, "{}", taken.text);
    let taken = taken.json();
    let id = taken["id"].as_str().unwrap().to_owned();
    assert_eq!((&taken["name"], &taken["action"]), (&json!("s"), &json!("CREATE")));
    let before = (&taken["data"]["action"], &taken["data"]["status"]);
    assert_eq!(before, (&json!("CREATE"), &json!("COMPLETE")), "the stack as it was");
    assert_eq!(app.settled("web").await["stack_status"], "SNAPSHOT_COMPLETE");

    let one = app.get(&format!("{path}/snapshots/{id}")).await;
    assert!(!one.text.contains("hunter3"), "{}", one.text);
    let snapshot = &one.json()["snapshot"];
    assert_eq!(snapshot["status"], "COMPLETE");
    assert_eq!(snapshot["status_reason"], "Stack SNAPSHOT completed successfully");
    let data = &snapshot["data"];
    assert_eq!((&data["name"], &data["id"]), (&json!("web"), &stack["id"]));
    assert_eq!(data["resources"]["a"]["status"], "COMPLETE");
    assert_eq!(data["resources"]["a"]["type"], "OS::Heat::TestResource");
    assert_eq!(data["template"]["heat_template_version"], "2021-04-16");
    let all = app.get(&format!("{path}/snapshots")).await.json();
    assert_eq!(all["snapshots"], json!([snapshot]));

    let empty = json!({ "heat_template_version": "2021-04-16", "resources": {} });
    let other = app.create("other", empty).await;
    let others = format!("/stacks/other/{}", other["id"].as_str().unwrap());
    let before = app.log.durable_position();
    for (verb, rest) in [("GET", ""), ("DELETE", ""), ("POST", "/restore")] {
        let missing = app.ask(verb, &format!("{others}/snapshots/{id}{rest}"), None).await;
        assert_eq!(missing.status, 404, "{}", missing.text);
        let text = format!("The Snapshot ({id}) for Stack (other) could not be found.");
        let error = &missing.json()["error"];
        assert_eq!((&error["type"], &error["message"]), (&json!("SnapshotNotFound"), &json!(text)));
    }
    assert_eq!(app.log.durable_position(), before);

    let restored = app.ask("POST", &format!("{path}/snapshots/{id}/restore"), None).await;
    assert_eq!(restored.status, 202, "{}", restored.text);
    assert_eq!(app.settled("web").await["stack_status"], "RESTORE_COMPLETE");

    let gone = app.ask("DELETE", &format!("{path}/snapshots/{id}"), None).await;
    assert_eq!(gone.status, 204, "{}", gone.text);
    let is_empty = |shown: &Answered| shown.json()["snapshots"] == json!([]);
    app.shows(&format!("{path}/snapshots"), is_empty).await;
    for (verb, rest) in [("GET", ""), ("DELETE", ""), ("POST", "/restore")] {
        for unknown in [id.as_str(), "none"] {
            let missing = app.ask(verb, &format!("{path}/snapshots/{unknown}{rest}"), None).await;
            assert_eq!(missing.status, 404, "{}", missing.text);
            let text = format!("Snapshot with id {unknown} not found");
            let error = &missing.json()["error"];
            assert_eq!((&error["type"], &error["message"]), (&json!("NotFound"), &json!(text)));
        }
    }
    app.stop().await;
}
