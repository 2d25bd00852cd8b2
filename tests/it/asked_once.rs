//! One request asks the cloud for a name once, however many resources and parameters have it.

use serde_json::{Value, json};

use crate::support::world::{Ground, hot};

#[actix::test]
async fn a_request_asks_the_cloud_for_a_name_once() {
    let ground = Ground::new().await;
    let world = ground.start().await;
    let server = |image: &str| {
        json!({ "type": "OS::Nova::Server", "properties": { "image": image, "flavor": "m1.tiny",
            "networks": [{ "network": "private" }, { "network": "private" }] } })
    };
    let mut resources: serde_json::Map<String, Value> =
        (0..20).map(|index| (format!("r{index:02}"), server("cirros"))).collect();
    resources.insert("r20".to_owned(), server("no-such-image"));
    let mut template = hot(Value::Object(resources));
    let constraints = json!([{ "custom_constraint": "glance.image" }]);
    template["parameters"] = json!({
        "image": { "type": "string", "default": "cirros", "constraints": constraints },
    });
    let refused = world.create("web", template).await.unwrap_err();
    assert!(refused.message.contains("no-such-image"), "{}", refused.message);
    let requests = ground.sandbox.requests();
    let of_cloud = requests.iter().filter(|seen| !seen.path.contains("/v3"));
    let mut asked: Vec<String> =
        of_cloud.map(|seen| format!("{} {}", seen.method, seen.path)).collect();
    asked.sort();
    let times = |word: &str| asked.iter().filter(|line| line.contains(word)).count();
    assert_eq!((times("name=cirros"), times("/flavors/m1.tiny"), times("name=private")), (1, 1, 1));
    assert!(asked.is_sorted_by(|one, next| one < next), "{asked:#?}");
}
