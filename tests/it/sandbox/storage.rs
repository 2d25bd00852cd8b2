//! Volumes, images and objects.

use reqwest::Method;
use serde_json::{Value, json};

use super::{User, answered, instant};

#[tokio::test]
async fn a_volume_grows_and_is_snapshotted() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let base = format!("/volume/v3/{}", demo.project);
    let made = demo.post(&format!("{base}/volumes"), json!({"volume": {"size": 1}})).await.ok();
    let id = made["volume"]["id"].as_str().unwrap();
    let action = format!("{base}/volumes/{id}/action");
    let smaller = demo.post(&action, json!({"os-extend": {"new_size": 1}})).await.refused(400);
    let text = "Invalid input received: New size for extend must be greater than current size. (current: 1, extended: 1).";
    assert_eq!(smaller["badRequest"]["message"], text);
    demo.post(&action, json!({"os-extend": {"new_size": 3}})).await.ok();
    let snapshot = json!({"snapshot": {"volume_id": id, "name": "s"}});
    let snapshot = demo.post(&format!("{base}/snapshots"), snapshot).await.ok();
    let snapshot = snapshot["snapshot"]["id"].as_str().unwrap();
    demo.delete(&format!("{base}/volumes/{id}")).await.refused(400);
    let copy = json!({"volume": {"snapshot_id": snapshot}});
    let copy = demo.post(&format!("{base}/volumes"), copy).await.ok();
    assert_eq!(copy["volume"]["size"], 3);
    assert_eq!(demo.delete(&format!("{base}/snapshots/{snapshot}")).await.status, 202);
    assert_eq!(demo.delete(&format!("{base}/volumes/{id}")).await.status, 202);
    demo.get(&format!("{base}/volumes/{id}")).await.refused(404);
}

#[tokio::test]
async fn the_eleventh_volume_is_one_too_many() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let path = format!("/volume/v3/{}/volumes", demo.project);
    for _ in 0..10 {
        demo.post(&path, json!({"volume": {"size": 1}})).await.ok();
    }
    let over = demo.post(&path, json!({"volume": {"size": 1}})).await.refused(413);
    let text =
        "VolumeLimitExceeded: Maximum number of volumes allowed (10) exceeded for quota 'volumes'.";
    assert_eq!(over["overLimit"]["message"], text);
}

#[tokio::test]
async fn an_image_waits_for_its_data() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let path = "/image/v2/images";
    let image =
        json!({"name": "i", "disk_format": "raw", "container_format": "bare", "color": "red"});
    let made = demo.post(path, image).await.ok();
    assert_eq!((&made["status"], &made["color"]), (&json!("queued"), &json!("red")));
    let one = format!("{path}/{}", made["id"].as_str().unwrap());
    let method = json!({"name": "web-download", "uri": "http://example.test/image"});
    assert_eq!(demo.post(&format!("{one}/import"), json!({"method": method})).await.status, 202);
    let shown = demo.get(&one).await.ok();
    assert_eq!(shown["status"], "active");
    demo.post(&format!("{one}/import"), json!({"method": method})).await.refused(409);
    let patch = demo.ask(Method::PATCH, &one);
    let patch = patch.json(&json!([{"op": "replace", "path": "/protected", "value": true}]));
    assert_eq!(answered(patch).await.ok()["protected"], true);
    demo.delete(&one).await.refused(403);
    demo.post(path, json!({"name": "p", "visibility": "public"})).await.refused(403);
}

#[tokio::test]
async fn an_image_is_shared_with_those_it_names() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let other = User::of(&sandbox, "alt_demo").await;
    let made = demo.post("/image/v2/images", json!({"name": "i"})).await.ok();
    let one = format!("/image/v2/images/{}", made["id"].as_str().unwrap());
    other.get(&one).await.refused(404);
    demo.post(&format!("{one}/members"), json!({"member": other.project})).await.ok();
    other.get(&one).await.ok();
    other.delete(&one).await.refused(403);
    let accept = format!("{one}/members/{}", other.project);
    other.put(&accept, json!({"status": "accepted"})).await.ok();
    let listed = other.get("/image/v2/images?name=i").await.ok();
    assert_eq!(listed["images"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn a_container_holds_objects_and_then_stays() {
    let sandbox = instant();
    let demo = User::of(&sandbox, "demo").await;
    let other = User::of(&sandbox, "alt_demo").await;
    let container = format!("/object-store/v1/AUTH_{}/box", demo.project);
    let put = demo.ask(Method::PUT, &container).header("x-container-meta-color", "red");
    assert_eq!(answered(put).await.status, 201);
    assert_eq!(answered(demo.ask(Method::PUT, &container)).await.status, 202);
    let object = demo.ask(Method::PUT, &format!("{container}/a/b")).body("hello\n");
    assert_eq!(answered(object).await.header("etag"), "b1946ac92492d2347c6235b4d2611184");
    let head = answered(demo.ask(Method::HEAD, &container)).await;
    assert_eq!(head.header("x-container-object-count"), "1");
    assert_eq!(head.header("x-container-meta-color"), "red");
    let list = demo.get(&format!("{container}?format=json&delimiter=/")).await.ok();
    assert_eq!(list, json!([{"subdir": "a/"}]));
    let got = demo.get(&format!("{container}/a/b")).await.ok();
    assert_eq!(got, Value::String("hello\n".to_owned()));
    demo.delete(&container).await.refused(409);
    other.get(&container).await.refused(403);
    demo.delete(&format!("{container}/a/b")).await.ok();
    assert_eq!(demo.delete(&container).await.status, 204);
    demo.get(&container).await.refused(404);
}
