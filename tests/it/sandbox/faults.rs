//! Faults to order, and the requests that were seen.

use serde_json::json;

use super::{User, count, instant};

#[tokio::test]
async fn a_dropped_reply_hides_what_was_done() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let networks = count(&sandbox, "networks");
    let rule = json!([{"method": "POST", "path": "/networks$", "count": 1, "fault": "drop_reply"}]);
    demo.put("/admin/faults", rule).await.ok();
    let post = demo.ask(reqwest::Method::POST, "/network/v2.0/networks");
    let lost = post.json(&json!({"network": {"name": "lost"}})).send().await;
    assert!(lost.is_err(), "no answer arrives");
    assert_eq!(count(&sandbox, "networks"), networks + 1);
    // The rule is spent.
    demo.post("/network/v2.0/networks", json!({"network": {}})).await.ok();
    let seen = sandbox.requests();
    let posts: Vec<(u16, bool)> = seen
        .iter()
        .filter(|request| request.method == "POST" && request.path.ends_with("/networks"))
        .map(|request| (request.status, request.carried_out))
        .collect();
    assert_eq!(posts, [(0, true), (201, true)]);
}

#[tokio::test]
async fn a_dropped_request_is_not_carried_out() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let networks = count(&sandbox, "networks");
    let rule = json!({"path": "/networks", "fault": "drop_request"});
    sandbox.set_faults(vec![serde_json::from_value(rule).unwrap()]).unwrap();
    let post = demo.ask(reqwest::Method::POST, "/network/v2.0/networks");
    assert!(post.json(&json!({"network": {}})).send().await.is_err());
    sandbox.set_faults(Vec::new()).unwrap();
    assert_eq!(count(&sandbox, "networks"), networks);
}

#[tokio::test]
async fn a_status_comes_with_its_pause() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let fault = json!({"status": {"code": 429, "retry_after": 3}});
    let rule = json!({"faults": [{"path": "^/compute", "fault": fault, "latency_ms": 20}]});
    demo.put("/admin/faults", rule).await.ok();
    let began = std::time::Instant::now();
    let refused = demo.get("/compute/v2.1/servers").await;
    assert!(began.elapsed().as_millis() >= 20);
    assert_eq!((refused.status, refused.header("retry-after")), (429, "3"));
    demo.get("/network/v2.0/networks").await.ok();
    let listed = demo.get("/admin/faults").await.ok();
    assert_eq!(listed["faults"][0]["met"], 1);
    demo.delete("/admin/faults").await.ok();
    demo.get("/compute/v2.1/servers").await.ok();
    demo.put("/admin/faults", json!([{"path": "("}])).await.refused(400);
}
